//! What an audit finds, as plain data: pages, tables and files are drawn from it and compute nothing.

use super::assumptions::EstimatorAssumption;
use super::baseline::{KeptLists, TestRows};
use super::gates::GateResult;
use super::label_table::{LabelLine, LabelTable};
use super::order_map::OrderMap;
use super::provenance::Provenance;
use super::recall_by_frequency::RecallByFrequency;
use super::reference::Reference;
use super::row_dependent::{RowDependentReport, short_name};
use super::rows_needed::RowsNeeded;
use super::rows_to_check::RowsToCheck;
use super::standings::audited;
use super::verdict::Verdict;
use crate::data::{DataStats, RankCount};
use crate::evaluate::{EvaluationResult, Finding, HitsByCount, Row};
use crate::propensity::bands::Band;
use crate::propensity::contradiction::Contradiction;
use crate::propensity::points::LabelPoint;
use crate::propensity::{Bound, Sample};
use serde::Serialize;

/// Everything that an audit found.
#[derive(Clone, Debug, Serialize)]
pub struct AuditResult {
    /// What the data are called.
    pub name: String,
    /// Lengths of top lists.
    pub ks: Vec<usize>,
    /// Level of intervals.
    pub level: f64,
    /// Who wins, under what, and what that is worth.
    pub verdict: Verdict,
    /// What came of the gates of the request.
    pub gates: Vec<GateResult>,
    /// Models that are not audited but compared with.
    pub references: Vec<Reference>,
    /// What to know before believing the numbers: those of the evaluation and those of the evidence, by code.
    pub findings: Vec<Finding>,
    /// The data sets.
    pub data: Vec<DataPart>,
    /// The training data as curves see them.
    pub sample: Option<TrainingSize>,
    /// The propensity models.
    pub propensities: Vec<PropensityReport>,
    /// Propensities that depend on the row, by audited model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_row: Vec<RowDependentReport>,
    /// Models without such propensities although their predictions for training rows are given, and why.
    pub left_out_by_row: Vec<String>,
    /// What a controlled set says label by label.
    pub direct: Option<DirectReport>,
    /// Candidates that could not be fitted or estimated, and why.
    pub left_out: Vec<String>,
    /// How labels are grouped, when they are.
    pub grouping: Option<String>,
    /// The scores.
    pub evaluation: EvaluationResult,
    /// The scores on complete labels, when those were given.
    pub truth: Option<EvaluationResult>,
    /// Hits by training count: what unbiased scores under any curve follow from.
    pub tallies: Option<HitsByCount>,
    /// Share of observed positives found, by training frequency.
    pub recall_by_frequency: Vec<RecallByFrequency>,
    /// The labels that matter most.
    pub labels: Vec<LabelLine>,
    /// All labels; files have them, results for programs only the ones above.
    #[serde(skip)]
    pub all_labels: LabelTable,
    /// Rows worth a look.
    pub rows_to_check: RowsToCheck,
    /// Where in the plane of JPV's constants which model is ahead.
    #[serde(rename = "flips")]
    pub order_map: Option<OrderMap>,
    /// How many rows useful intervals need.
    #[serde(rename = "needs")]
    pub rows_needed: Vec<RowsNeeded>,
    /// What each kind of number rests on.
    pub assumptions: Vec<EstimatorAssumption>,
    /// How the run can be repeated.
    pub provenance: Provenance,
    /// The test rows, for a later audit to be compared with this one.
    pub test_rows: TestRows,
    /// The top lists that were written beside the result, when they were.
    pub top_lists: Option<KeptLists>,
}

impl AuditResult {
    /// The short name of the propensities of a row; `observed` where there are none.
    pub fn short_name<'a>(&'a self, row: &'a Row) -> &'a str {
        let origin = row.propensity.as_deref();
        let report = || self.propensities.iter().find(|report| Some(&*report.origin) == origin).map(|report| report.name.as_str());
        short_name(origin, row.estimator).or_else(report).or(origin).unwrap_or("observed")
    }

    /// A text in which fitted curves have their names instead of all digits of their constants.
    pub fn with_names(&self, text: &str) -> String {
        named(&self.propensities, text)
    }

    /// The names of the audited models.
    pub fn models(&self) -> Vec<&str> {
        audited(&self.evaluation, &self.references)
    }

    /// Whether a model is audited, and not only compared with.
    pub fn is_audited(&self, model: &str) -> bool {
        self.references.iter().all(|reference| reference.name != model)
    }
}

/// See [`AuditResult::with_names`].
pub(super) fn named(propensities: &[PropensityReport], text: &str) -> String {
    let differs = propensities.iter().filter(|report| report.origin != report.name);
    differs.fold(text.to_owned(), |text, report| text.replace(&report.origin, &report.name))
}

/// A data set that took part.
#[derive(Clone, Debug, Serialize)]
pub struct DataPart {
    /// What it was used for: `train`, `test`, `controlled`, `later`, `truth`.
    pub role: &'static str,
    /// Its statistics.
    pub statistics: DataStats,
    /// Points of its rank-frequency plot.
    pub frequencies: Vec<RankCount>,
}

/// Rows and largest label of the training data.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TrainingSize {
    /// Number of rows, n.
    pub rows: f64,
    /// Positives of the most frequent label.
    pub largest: f64,
}

impl From<Sample> for TrainingSize {
    fn from(sample: Sample) -> Self {
        TrainingSize { rows: sample.rows, largest: sample.largest }
    }
}

/// How propensities came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateKind {
    /// Somebody else's constants, or values from a file.
    Assumed,
    /// A curve fitted to the evidence of this audit.
    Fitted,
    /// Estimated from the evidence of this audit.
    Estimated,
}

impl CandidateKind {
    /// The word for tables.
    pub fn name(self) -> &'static str {
        match self {
            CandidateKind::Assumed => "assumed",
            CandidateKind::Fitted => "fitted",
            CandidateKind::Estimated => "estimated",
        }
    }
}

/// One propensity model with its checks.
#[derive(Clone, Debug, Serialize)]
pub struct PropensityReport {
    /// The spec with all constants, or the estimator: the `propensity` of the scores' rows.
    pub origin: String,
    /// The same for people.
    pub name: String,
    /// How it came about.
    pub kind: CandidateKind,
    /// Whether the audit added it itself, because readers know it.
    pub is_added: bool,
    /// In which sense it bounds the truth.
    pub bound: Bound,
    /// What everybody who uses it should know.
    pub notes: Vec<String>,
    /// Propensity of the rarest label that occurs.
    pub rarest: Option<f64>,
    /// Propensity of the most frequent label.
    pub most_frequent: Option<f64>,
    /// Relevant labels per row that it implies.
    pub labels_per_row: Option<f64>,
    /// Labels whose implied prior is above 1.
    pub impossible: u64,
    /// The worst of them, with its implied prior.
    pub worst: Option<(u32, f64)>,
    /// Effective share of the observed positives under the weights 1/p.
    pub effective_share: Option<f64>,
    /// The largest factor by which ten copies of the data change a propensity; curves only.
    pub change_by_copies: Option<f64>,
    /// Pooled propensities by training count.
    pub bands: Vec<Band>,
    /// The curve, at counts that occur.
    pub curve: Vec<(f64, f64)>,
    /// Labels with an estimate of their own: count, propensity, and the ends of its interval.
    pub estimates: Vec<LabelPoint>,
    /// Mean squared difference of 1/p from the evidence.
    pub mse: Option<f64>,
    /// Held against the evidence.
    pub against: Option<Contradiction>,
}

/// What a controlled set says label by label.
#[derive(Clone, Debug, Serialize)]
pub struct DirectReport {
    /// Labels with an estimate.
    pub estimated: usize,
    /// Observed labels without a controlled positive.
    pub without_controlled_positive: usize,
    /// Labels never observed in training.
    pub never_observed: usize,
    /// Labels with an estimate: count, propensity, and the ends of its interval; some of many.
    pub estimates: Vec<LabelPoint>,
}
