//! What was asked for, resolved: the part of an evaluation that is small and goes into tally files.
//!
//! Two tallies can be merged when their settings are the same; the finish needs nothing else but the tallies themselves.

use super::table::BLOCK;
use crate::error::Result;
use crate::evaluate::findings::Finding;
use crate::metrics::{self, Estimator, Metric, SetTerm, Shape};
use crate::request::IntervalKind;
use crate::request::{ABSENT_LABELS, Conventions};
use serde::{Deserialize, Serialize};

/// One way to weigh what was observed; its place is its number in the table of inverse propensities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::evaluate) struct Column {
    /// Where the propensities came from; `None` for the observed column.
    pub(in crate::evaluate) origin: Option<String>,
    /// For a clipped column: the column it is made from, and the largest inverse propensity.
    pub(in crate::evaluate) clip: Option<(usize, f64)>,
    /// Whether the propensities carry variances.
    pub(in crate::evaluate) uncertain: bool,
}

/// A metric that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::evaluate) struct ChosenMetric {
    pub(in crate::evaluate) metric: String,
    pub(in crate::evaluate) beta: f64,
    pub(in crate::evaluate) estimators: Vec<Estimator>,
}

impl ChosenMetric {
    pub(in crate::evaluate) fn metric(&self) -> Result<&'static dyn Metric> {
        metrics::find(&self.metric)
    }

    pub(in crate::evaluate) fn wants(&self, estimator: Estimator) -> bool {
        self.estimators.contains(&estimator)
    }

    /// The name in reports: with the parameter where it is not the usual one.
    pub(in crate::evaluate) fn name(&self) -> String {
        if self.beta == 1.0 { self.metric.clone() } else { format!("{}:beta={}", self.metric, self.beta) }
    }
}

/// A group of labels as reports show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupShare {
    /// Its name; the first group is `all`.
    pub name: String,
    /// How many labels it has.
    pub labels: u64,
    /// Its share of all labels.
    pub share_of_labels: f64,
    /// Its share of the observed test positives.
    pub share_of_positives: f64,
}

/// How the labels of a controlled set were chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// `shown` of `of` labels were shown to each row, drawn uniformly without replacement.
    Shown {
        /// How many were shown, r.
        shown: u32,
        /// Of how many, m.
        of: u32,
    },
    /// Each label was shown at a rate of its own, independently.
    PerLabel(Vec<f64>),
}

impl Rate {
    /// As reports name it.
    pub fn name(&self) -> String {
        match self {
            Rate::Shown { shown, of } => format!("rate:{shown}/{of}"),
            Rate::PerLabel(_) => "rate:per-label".into(),
        }
    }
}

/// See the module's page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::evaluate) struct Settings {
    pub(in crate::evaluate) rows: u64,
    pub(in crate::evaluate) labels: u64,
    /// Length of the top lists that are held: the largest k, or the longest list that is stored.
    pub(in crate::evaluate) depth: usize,
    pub(in crate::evaluate) ks: Vec<usize>,
    pub(in crate::evaluate) metrics: Vec<ChosenMetric>,
    pub(in crate::evaluate) models: Vec<String>,
    pub(in crate::evaluate) columns: Vec<Column>,
    /// Names and numbers of labels; the first is all labels.
    pub(in crate::evaluate) groups: Vec<(String, u64)>,
    pub(in crate::evaluate) level: f64,
    pub(in crate::evaluate) interval: IntervalKind,
    pub(in crate::evaluate) bootstrap: usize,
    pub(in crate::evaluate) seed: u64,
    /// Whether labels have weights, which then take the column after the last.
    pub(in crate::evaluate) weighted: bool,
    pub(in crate::evaluate) largest_weight: f64,
    /// `(shown, of)` of a controlled set drawn without replacement.
    pub(in crate::evaluate) controlled: Option<(u32, u32)>,
    pub(in crate::evaluate) is_controlled: bool,
    pub(in crate::evaluate) hajek: bool,
    /// The sum of the given numbers of relevant labels, when they are given.
    pub(in crate::evaluate) relevant: Option<u64>,
    pub(in crate::evaluate) conventions: Conventions,
    pub(in crate::evaluate) findings: Vec<Finding>,
    pub(in crate::evaluate) notes: Vec<String>,
}

impl Settings {
    pub(in crate::evaluate) fn kmax(&self) -> usize {
        self.ks.last().copied().unwrap_or(1)
    }

    /// The column of the propensities, when there is one set of them: only then is it clear how what is observed varies with what is
    /// missing.
    pub(in crate::evaluate) fn only_column(&self) -> Option<usize> {
        let given = self.columns_of(Estimator::Unbiased);
        (given.len() == 1).then(|| given[0])
    }

    /// Whether labels are looked up that are predicted but nowhere positive: for the bias of clipping, and for the groups of
    /// labels that are not absent.
    pub(in crate::evaluate) fn weighs_predicted(&self) -> bool {
        self.columns.iter().any(|column| column.clip.is_some())
            || (self.groups.len() > 1 && self.conventions.differs(&ABSENT_LABELS))
    }

    /// Columns with that of the weights and padding.
    pub(in crate::evaluate) fn width(&self) -> usize {
        (self.columns.len() + usize::from(self.weighted)).next_multiple_of(BLOCK)
    }

    /// Columns that an estimator is computed on.
    pub(in crate::evaluate) fn columns_of(&self, estimator: Estimator) -> Vec<usize> {
        let chosen = |(place, column): (usize, &Column)| {
            let fits = match estimator {
                Estimator::Observed => column.origin.is_none(),
                Estimator::Clipped => column.clip.is_some(),
                Estimator::Unbiased | Estimator::Normalized | Estimator::Hajek => column.origin.is_some() && column.clip.is_none(),
                Estimator::Ratio | Estimator::DoublyRobust => false,
            };
            fits.then_some(place)
        };
        self.columns.iter().enumerate().filter_map(chosen).collect()
    }

    /// How many columns a metric needs, from the first: only one for what is observed.
    pub(in crate::evaluate) fn columns_needed(&self, metric: usize) -> usize {
        if self.metrics[metric].estimators == [Estimator::Observed] { 1 } else { self.columns.len() }
    }

    /// Pairs of models that are compared.
    pub(in crate::evaluate) fn pairs(&self) -> Vec<(usize, usize)> {
        (0..self.models.len()).flat_map(|a| (a + 1..self.models.len()).map(move |b| (a, b))).collect()
    }

    /// The metrics that are means over rows, in order, as the pass computes them.
    pub(in crate::evaluate) fn terms(&self) -> Result<Vec<Term>> {
        let mut terms = Vec::new();
        for (metric, chosen) in self.metrics.iter().enumerate() {
            let kind = match chosen.metric()?.shape() {
                Shape::Sum(term) => Kind::Sum {
                    discounts: (0..self.kmax()).map(|rank| term.discount(rank)).collect(),
                    scales: self.ks.iter().map(|k| 1.0 / term.scale(*k)).collect(),
                    weighted: term.weighted(),
                    by_relevant: term.by_relevant(),
                },
                Shape::Product => Kind::Product,
                Shape::Set(term) => Kind::Set { term, unbiased: chosen.wants(Estimator::Unbiased) },
                Shape::Label(_) => continue,
            };
            terms.push(Term { metric, kind });
        }
        Ok(terms)
    }
}

/// A metric that is a mean over rows.
pub(in crate::evaluate) struct Term {
    pub(in crate::evaluate) metric: usize,
    pub(in crate::evaluate) kind: Kind,
}

/// How its row terms are computed.
pub(in crate::evaluate) enum Kind {
    /// Discounts by rank, 1 / scale for each k, and whether rows are divided by their given number of relevant labels.
    Sum { discounts: Vec<f64>, scales: Vec<f64>, weighted: bool, by_relevant: bool },
    /// `1 - prod (1 - y)`: the complement, which is 0 for the many rows without hits.
    Product,
    /// Any function of the label set.
    Set { term: &'static dyn SetTerm, unbiased: bool },
}
