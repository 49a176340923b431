//! What was asked for, resolved: the part of an evaluation that is small and goes into tally files.
//!
//! Two tallies can be merged when their settings are the same; the finish needs nothing else but the tallies themselves.

use super::conventions::{ABSENT_LABELS, Conventions};
use super::findings::Finding;
use super::interval::IntervalKind;
use super::table::BLOCK;
use crate::error::Result;
use crate::metrics::{self, Estimator, Metric, SetTerm, Shape};
use serde::{Deserialize, Serialize};

/// One way to weigh what was observed; its place is its number in the table of inverse propensities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Lane {
    /// Where the propensities came from; `None` for the observed lane.
    pub(super) origin: Option<String>,
    /// For a clipped lane: the lane it is made from, and the largest inverse propensity.
    pub(super) clip: Option<(usize, f64)>,
    /// Whether the propensities carry variances.
    pub(super) uncertain: bool,
}

/// A metric that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) metric: String,
    pub(super) beta: f64,
    pub(super) estimators: Vec<Estimator>,
}

impl Asked {
    pub(super) fn metric(&self) -> Result<&'static dyn Metric> {
        metrics::find(&self.metric)
    }

    pub(super) fn wants(&self, estimator: Estimator) -> bool {
        self.estimators.contains(&estimator)
    }

    /// The name in reports: with the parameter where it is not the usual one.
    pub(super) fn name(&self) -> String {
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
pub(super) struct Settings {
    pub(super) rows: u64,
    pub(super) labels: u64,
    /// Length of the top lists that are held: the largest k, or the longest list that is stored.
    pub(super) depth: usize,
    pub(super) ks: Vec<usize>,
    pub(super) asked: Vec<Asked>,
    pub(super) models: Vec<String>,
    pub(super) lanes: Vec<Lane>,
    /// Names and numbers of labels; the first is all labels.
    pub(super) groups: Vec<(String, u64)>,
    pub(super) level: f64,
    pub(super) interval: IntervalKind,
    pub(super) bootstrap: usize,
    pub(super) seed: u64,
    /// Whether labels have weights, which then take the lane after the last.
    pub(super) weighted: bool,
    pub(super) largest_weight: f64,
    /// `(shown, of)` of a controlled set drawn without replacement.
    pub(super) controlled: Option<(u32, u32)>,
    pub(super) is_controlled: bool,
    pub(super) hajek: bool,
    /// The sum of the given numbers of relevant labels, when they are given.
    pub(super) relevant: Option<u64>,
    pub(super) conventions: Conventions,
    pub(super) findings: Vec<Finding>,
    pub(super) notes: Vec<String>,
}

impl Settings {
    pub(super) fn kmax(&self) -> usize {
        self.ks.last().copied().unwrap_or(1)
    }

    /// The lane of the propensities, when there is one set of them: only then is it clear how what is observed varies with what is
    /// missing.
    pub(super) fn only_lane(&self) -> Option<usize> {
        let given = self.lanes_of(Estimator::Unbiased);
        (given.len() == 1).then(|| given[0])
    }

    /// Whether labels are looked up that are predicted but nowhere positive: for the bias of clipping, and for the groups of
    /// labels that are not absent.
    pub(super) fn weighs_predicted(&self) -> bool {
        self.lanes.iter().any(|lane| lane.clip.is_some()) || (self.groups.len() > 1 && self.conventions.differs(&ABSENT_LABELS))
    }

    /// Lanes with that of the weights and padding.
    pub(super) fn width(&self) -> usize {
        (self.lanes.len() + usize::from(self.weighted)).next_multiple_of(BLOCK)
    }

    /// Lanes that an estimator is computed on.
    pub(super) fn lanes_of(&self, estimator: Estimator) -> Vec<usize> {
        let chosen = |(place, lane): (usize, &Lane)| {
            let fits = match estimator {
                Estimator::Observed => lane.origin.is_none(),
                Estimator::Clipped => lane.clip.is_some(),
                Estimator::Unbiased | Estimator::Normalized | Estimator::Hajek => lane.origin.is_some() && lane.clip.is_none(),
            };
            fits.then_some(place)
        };
        self.lanes.iter().enumerate().filter_map(chosen).collect()
    }

    /// How many lanes a metric needs, from the first: only one for what is observed.
    pub(super) fn lanes_needed(&self, asked: usize) -> usize {
        if self.asked[asked].estimators == [Estimator::Observed] { 1 } else { self.lanes.len() }
    }

    /// Pairs of models that are compared.
    pub(super) fn pairs(&self) -> Vec<(usize, usize)> {
        (0..self.models.len()).flat_map(|a| (a + 1..self.models.len()).map(move |b| (a, b))).collect()
    }

    /// The metrics that are means over rows, in order, as the pass computes them.
    pub(super) fn terms(&self) -> Result<Vec<Term>> {
        let mut terms = Vec::new();
        for (asked, request) in self.asked.iter().enumerate() {
            let kind = match request.metric()?.shape() {
                Shape::Sum(term) => Kind::Sum {
                    discounts: (0..self.kmax()).map(|rank| term.discount(rank)).collect(),
                    scales: self.ks.iter().map(|k| 1.0 / term.scale(*k)).collect(),
                    weighted: term.weighted(),
                    by_relevant: term.by_relevant(),
                },
                Shape::Product => Kind::Product,
                Shape::Set(term) => Kind::Set { term, unbiased: request.wants(Estimator::Unbiased) },
                Shape::Label(_) => continue,
            };
            terms.push(Term { asked, kind });
        }
        Ok(terms)
    }
}

/// A metric that is a mean over rows.
pub(super) struct Term {
    pub(super) asked: usize,
    pub(super) kind: Kind,
}

/// How its row terms are computed.
pub(super) enum Kind {
    /// Discounts by rank, 1 / scale for each k, and whether rows are divided by their given number of relevant labels.
    Sum { discounts: Vec<f64>, scales: Vec<f64>, weighted: bool, by_relevant: bool },
    /// `1 - prod (1 - y)`: the complement, which is 0 for the many rows without hits.
    Product,
    /// Any function of the label set.
    Set { term: &'static dyn SetTerm, unbiased: bool },
}
