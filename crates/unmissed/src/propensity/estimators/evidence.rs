//! [`PropensityEvidence`]: everything that is known about missing labels besides the training labels.

use super::PropensityEstimator;
use super::anchors::SureRows;
use crate::data::{KnownPair, LabelStats, Labels, Rate};
use crate::error::{Error, Result};
use crate::propensity::dag::Dag;
use crate::propensity::rows::MatchedRows;

/// A kind of evidence that an estimator needs; front ends have its fields among their options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimatorInput {
    /// A bias-controlled set and its rate.
    Controlled,
    /// A later snapshot of the training rows.
    Later,
    /// Which labels are kinds of which others.
    Hierarchy,
    /// Which items were bought with a label, and which rows were viewed with an item.
    Relation,
    /// Judged pairs of models' top lists.
    Judged,
    /// How often labels are observed on their surest rows, which follows from the training data and their features.
    SureRows,
}

/// A part of it: an option of the command line and a keyword in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputField {
    /// Its name, in lower case.
    pub name: &'static str,
    /// What it takes, as help shows it.
    pub value: &'static str,
    /// One line of help.
    pub help: &'static str,
}

impl EstimatorInput {
    /// All kinds.
    pub const ALL: [EstimatorInput; 6] = [
        EstimatorInput::Controlled,
        EstimatorInput::Later,
        EstimatorInput::Hierarchy,
        EstimatorInput::Relation,
        EstimatorInput::Judged,
        EstimatorInput::SureRows,
    ];

    /// The parts that it is made of.
    pub fn fields(self) -> &'static [InputField] {
        match self {
            EstimatorInput::Controlled => &[
                InputField {
                    name: "controlled",
                    value: "DATA",
                    help: "A bias-controlled set: its labels are the relevant ones among those that were shown",
                },
                InputField {
                    name: "rate",
                    value: "R/M",
                    help: "The rate at which labels were shown: 16/300, 0.05, or a csv 'label,rate'",
                },
            ],
            EstimatorInput::Later => {
                &[InputField { name: "later", value: "DATA", help: "A later snapshot of the training rows, in the same order" }]
            }
            EstimatorInput::Hierarchy => {
                &[InputField { name: "hierarchy", value: "TSV", help: "Lines 'child TAB parent' of label ids" }]
            }
            EstimatorInput::Judged => &[InputField {
                name: "judged",
                value: "CSV",
                help: "Judged pairs, beside the plan by which they were drawn ('unmissed annotate plan')",
            }],
            // Follows from the training data.
            EstimatorInput::SureRows => &[],
            EstimatorInput::Relation => &[
                InputField { name: "bought", value: "TSV", help: "Lines 'label TAB item': bought together" },
                InputField { name: "viewed", value: "TSV", help: "Lines 'item TAB row': viewed together; rows are items too" },
            ],
        }
    }
}

/// A set whose labels were shown at a known rate.
#[derive(Clone, Copy, Debug)]
pub struct ControlledSet<'a> {
    /// The relevant labels among those that were shown.
    pub labels: &'a Labels<'a>,
    /// At which rate labels were shown.
    pub rate: &'a Rate,
    /// Which pairs were shown, where that is known.
    pub shown: Option<&'a Labels<'a>>,
}

/// Pairs of labels, items and rows that were bought or viewed together.
#[derive(Clone, Copy, Debug)]
pub struct RelationPairs<'a> {
    /// `(label, item)`: bought together.
    pub bought: &'a [(u32, u32)],
    /// `(item, row)`: viewed together.
    pub viewed: &'a [(u32, u32)],
}

/// The training labels, and what tells more than they do.
///
/// ```
/// use unmissed::data::Labels;
/// use unmissed::propensity::estimators::{PropensityEstimatorSpec, PropensityEvidence};
/// let train = Labels::from_ids(2, [vec![0], vec![0, 1], vec![0], vec![1]])?;
/// let later = Labels::from_ids(2, [vec![0], vec![0, 1], vec![0], vec![0, 1]])?;
/// let timelapse: PropensityEstimatorSpec = "timelapse:curve=constant".parse()?;
/// let found = timelapse.estimate(&PropensityEvidence::new(&train).later(&later))?;
/// assert_eq!(found.into_propensities()?.values(), [0.75, 1.0]);
/// let error = timelapse.estimate(&PropensityEvidence::new(&train)).unwrap_err();
/// assert_eq!(error.to_string(), "'timelapse' needs evidence that is missing: expected 'later'");
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PropensityEvidence<'a> {
    train: &'a Labels<'a>,
    stats: LabelStats,
    controlled: Option<ControlledSet<'a>>,
    later: Option<&'a Labels<'a>>,
    hierarchy: Option<&'a Dag>,
    relation: Option<RelationPairs<'a>>,
    judged: Option<&'a [KnownPair]>,
    sure_rows: Option<&'a SureRows>,
}

impl<'a> PropensityEvidence<'a> {
    /// Only the training labels.
    pub fn new(train: &'a Labels<'a>) -> PropensityEvidence<'a> {
        PropensityEvidence {
            train,
            stats: LabelStats::of(train),
            controlled: None,
            later: None,
            hierarchy: None,
            relation: None,
            judged: None,
            sure_rows: None,
        }
    }

    /// Adds a bias-controlled set.
    #[must_use]
    pub fn controlled(mut self, controlled: ControlledSet<'a>) -> Self {
        self.controlled = Some(controlled);
        self
    }

    /// Adds a later snapshot of the training rows, in the same order.
    #[must_use]
    pub fn later(mut self, later: &'a Labels<'a>) -> Self {
        self.later = Some(later);
        self
    }

    /// Adds a hierarchy of labels.
    #[must_use]
    pub fn hierarchy(mut self, hierarchy: &'a Dag) -> Self {
        self.hierarchy = Some(hierarchy);
        self
    }

    /// Adds what was bought and viewed together.
    #[must_use]
    pub fn relation(mut self, pairs: RelationPairs<'a>) -> Self {
        self.relation = Some(pairs);
        self
    }

    /// Adds pairs of models' top lists whose relevance is known, by being observed or judged.
    #[must_use]
    pub fn judged(mut self, pairs: &'a [KnownPair]) -> Self {
        self.judged = Some(pairs);
        self
    }

    /// Adds how often labels are observed on their surest rows.
    #[must_use]
    pub fn sure_rows(mut self, sure_rows: &'a SureRows) -> Self {
        self.sure_rows = Some(sure_rows);
        self
    }

    /// The training labels.
    pub fn train(&self) -> &'a Labels<'a> {
        self.train
    }

    /// How often labels occur in training.
    pub fn stats(&self) -> &LabelStats {
        &self.stats
    }

    /// Whether evidence of a kind is available.
    pub fn has(&self, kind: EstimatorInput) -> bool {
        match kind {
            EstimatorInput::Controlled => self.controlled.is_some(),
            EstimatorInput::Later => self.later.is_some(),
            EstimatorInput::Hierarchy => self.hierarchy.is_some(),
            EstimatorInput::Relation => self.relation.is_some(),
            EstimatorInput::Judged => self.judged.is_some(),
            EstimatorInput::SureRows => self.sure_rows.is_some(),
        }
    }

    /// The names of what an estimator needs and is not there.
    pub fn missing(&self, estimator: &dyn PropensityEstimator) -> Vec<&'static str> {
        let inputs = estimator.inputs().iter().filter(|input| !self.has(**input));
        inputs.flat_map(|input| input.fields()).map(|field| field.name).collect()
    }

    /// Rejects evidence that is not about the training labels, or contradicts itself: sizes that differ, rates out of range, rows
    /// with more positives than labels were shown.
    pub fn check(&self) -> Result<()> {
        if let Some(controlled) = &self.controlled {
            same_labels(&self.stats, &LabelStats::of(controlled.labels))?;
            controlled.rate.check(self.stats.labels())?;
            controlled.rate.check_rows(controlled.labels)?;
        }
        if let Some(later) = self.later {
            same_shape(self.train, later)?;
            MatchedRows::new(self.train, later)?;
        }
        if let Some(sure) = self.sure_rows.filter(|sure| sure.observed.len() != self.train.cols()) {
            return Err(Error::value("the anchor counts do not match the training labels")
                .expected(self.train.cols().to_string())
                .found(sure.observed.len().to_string()));
        }
        Ok(())
    }

    pub(super) fn controlled_of(&self, estimator: &str) -> Result<ControlledSet<'a>> {
        let controlled = self.controlled.ok_or_else(|| lacks(estimator, EstimatorInput::Controlled))?;
        controlled.rate.check_rows(controlled.labels)?;
        Ok(controlled)
    }

    pub(super) fn later_of(&self, estimator: &str) -> Result<&'a Labels<'a>> {
        self.later.ok_or_else(|| lacks(estimator, EstimatorInput::Later))
    }

    pub(super) fn hierarchy_of(&self, estimator: &str) -> Result<&'a Dag> {
        self.hierarchy.ok_or_else(|| lacks(estimator, EstimatorInput::Hierarchy))
    }

    pub(super) fn judged_of(&self, estimator: &str) -> Result<&'a [KnownPair]> {
        self.judged.ok_or_else(|| lacks(estimator, EstimatorInput::Judged))
    }

    pub(super) fn sure_rows_of(&self, estimator: &str) -> Result<&'a SureRows> {
        self.sure_rows.ok_or_else(|| lacks(estimator, EstimatorInput::SureRows))
    }

    pub(super) fn relation_of(&self, estimator: &str) -> Result<RelationPairs<'a>> {
        self.relation.ok_or_else(|| lacks(estimator, EstimatorInput::Relation))
    }
}

fn lacks(estimator: &str, kind: EstimatorInput) -> Error {
    if kind == EstimatorInput::SureRows {
        return Error::value(format!("'{estimator}' needs evidence that is missing")).expected("the features of the training rows");
    }
    let names: Vec<String> = kind.fields().iter().map(|field| format!("'{}'", field.name)).collect();
    Error::value(format!("'{estimator}' needs evidence that is missing")).expected(names.join(" and "))
}

/// A controlled set has the labels of the training data, and both have rows.
pub(super) fn same_labels(train: &LabelStats, controlled: &LabelStats) -> Result<()> {
    if train.labels() != controlled.labels() {
        return Err(Error::value("training and controlled data have different numbers of labels")
            .expected(train.labels().to_string())
            .found(controlled.labels().to_string()));
    }
    if train.rows() == 0 || controlled.rows() == 0 {
        return Err(Error::value("no rows").expected("at least one training and one controlled row"));
    }
    Ok(())
}

/// Two snapshots are of the same rows and labels.
pub(super) fn same_shape(earlier: &Labels<'_>, later: &Labels<'_>) -> Result<()> {
    if (earlier.rows(), earlier.cols()) == (later.rows(), later.cols()) {
        return Ok(());
    }
    Err(Error::value("the snapshots have different shapes")
        .expected(format!("{} rows and {} labels, as in the earlier one", earlier.rows(), earlier.cols()))
        .found(format!("{} rows and {} labels", later.rows(), later.cols()))
        .hint("both must be of the same rows in the same order"))
}
