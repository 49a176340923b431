//! What is computed: the part of a plan that is small and goes into tally files.
//!
//! Two tallies can be merged when their settings are the same; the finish needs nothing else but the tallies themselves.

use super::omega::Omega;
use crate::data::IgnoredDigest;
use crate::error::Result;
use crate::evaluate::findings::Finding;
use crate::evaluate::tally::fixed::BLOCK;
use crate::metrics::{self, Estimator, Metric, SetTerm, Shape};
use crate::request::{ABSENT_LABELS, Conventions, EvaluateRequest, IntervalKind};
use serde::{Deserialize, Serialize};

/// A column of the table of inverse propensities; the first is what is observed, with an inverse propensity of 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::evaluate) struct Column {
    /// Where the propensities came from; `None` for the observed column.
    pub(in crate::evaluate) origin: Option<String>,
    /// For a clipped column: the column it is made from, and the largest inverse propensity.
    pub(in crate::evaluate) clip: Option<(usize, f64)>,
    /// Whether it is known how uncertain the propensities are.
    pub(in crate::evaluate) uncertain: bool,
    /// How many errors labels have in common.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(in crate::evaluate) common_errors: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A metric that is computed, with its estimators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::evaluate) struct ChosenMetric {
    pub(in crate::evaluate) metric: String,
    pub(in crate::evaluate) beta: f64,
    pub(in crate::evaluate) estimators: Vec<Estimator>,
    /// Columns on which the unbiased estimate is left out, since it would be numerically meaningless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::evaluate) left_out: Vec<usize>,
}

impl ChosenMetric {
    pub(in crate::evaluate) fn metric(&self) -> Result<&'static dyn Metric> {
        metrics::find(&self.metric)
    }

    pub(in crate::evaluate) fn wants(&self, estimator: Estimator) -> bool {
        self.estimators.contains(&estimator)
    }

    /// Whether it is a ratio of sums over all rows.
    pub(in crate::evaluate) fn is_pooled(&self) -> bool {
        self.metric().is_ok_and(|metric| matches!(metric.shape(), Shape::Sum(term) if term.pooled()))
    }

    /// The name in reports: with the parameter where it is not the usual one.
    pub(in crate::evaluate) fn name(&self) -> String {
        if self.beta == 1.0 { self.metric.clone() } else { format!("{}:beta={}", self.metric, self.beta) }
    }
}

/// Row-dependent propensities under one name: a fit for each model that has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::evaluate) struct RowDependent {
    pub(in crate::evaluate) origin: String,
    /// Which metrics have an unbiased estimate, by place among the metrics.
    pub(in crate::evaluate) metrics: Vec<bool>,
    /// By model; `None` for predictions that the fit is not about.
    pub(in crate::evaluate) fits: Vec<Option<RowFitted>>,
}

impl RowDependent {
    /// Room for the refits of every model.
    pub(in crate::evaluate) fn refits(&self) -> usize {
        self.fits.iter().flatten().map(|fit| fit.refits).max().unwrap_or(0)
    }
}

/// What the finish needs to know of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::evaluate) struct RowFitted {
    pub(in crate::evaluate) refits: usize,
    /// By k: how much larger the variance of a row's labels is than it would be if they went missing independently.
    pub(in crate::evaluate) dependence: Vec<f64>,
    /// By metric and k: later over observed hits, then the same of each refit; empty where there is none.
    pub(in crate::evaluate) ratios: Vec<Vec<Vec<f64>>>,
}

/// Pairs of known status, from which doubly robust estimates are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::evaluate) enum KnownPairs {
    /// Shown at a known rate.
    Shown,
    /// Later labels of some rows.
    Later,
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

/// See the module's page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::evaluate) struct Settings {
    /// What was asked for, for all rows.
    pub(in crate::evaluate) request: EvaluateRequest,
    pub(in crate::evaluate) rows: u64,
    pub(in crate::evaluate) labels: u64,
    /// Length of the top lists that are held: the largest k, or the longest list that is stored.
    pub(in crate::evaluate) depth: usize,
    pub(in crate::evaluate) metrics: Vec<ChosenMetric>,
    pub(in crate::evaluate) models: Vec<String>,
    pub(in crate::evaluate) columns: Vec<Column>,
    pub(in crate::evaluate) row_dependent: Vec<RowDependent>,
    pub(in crate::evaluate) robust: Vec<KnownPairs>,
    /// What matched rows say about missed labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::evaluate) omega: Option<Omega>,
    /// Names and numbers of labels; the first is all labels.
    pub(in crate::evaluate) groups: Vec<(String, u64)>,
    /// Whether labels have weights, which then take the column after the last.
    pub(in crate::evaluate) weighted: bool,
    pub(in crate::evaluate) largest_weight: f64,
    /// `(shown, of)` of a controlled set drawn without replacement.
    pub(in crate::evaluate) controlled: Option<(u32, u32)>,
    pub(in crate::evaluate) is_controlled: bool,
    pub(in crate::evaluate) hajek: bool,
    /// The sum of the given numbers of relevant labels, when they are given.
    pub(in crate::evaluate) relevant: Option<u64>,
    /// The pairs that were taken out of the predictions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::evaluate) ignored: Option<IgnoredDigest>,
    /// By term, then by k and column: the power of two that no row term exceeds. Empty for terms without such a bound.
    pub(in crate::evaluate) bounds: Vec<Vec<i32>>,
    pub(in crate::evaluate) findings: Vec<Finding>,
    pub(in crate::evaluate) notes: Vec<String>,
}

impl Settings {
    pub(in crate::evaluate) fn ks(&self) -> &[usize] {
        self.request.k.as_slice()
    }

    pub(in crate::evaluate) fn kmax(&self) -> usize {
        self.request.k.largest()
    }

    pub(in crate::evaluate) fn level(&self) -> f64 {
        self.request.level.get()
    }

    pub(in crate::evaluate) fn is_mask(&self) -> bool {
        self.request.interval == IntervalKind::Mask
    }

    pub(in crate::evaluate) fn conventions(&self) -> &Conventions {
        &self.request.conventions
    }

    /// Whether the best row terms are needed, or all relevant labels of a row, which take their place where rows are pooled.
    pub(in crate::evaluate) fn has_best(&self) -> bool {
        self.metrics.iter().any(|chosen| chosen.wants(Estimator::Normalized) || chosen.is_pooled())
    }

    /// The columns of propensities. How what is observed varies with what is missing depends on them: with several, it goes by the
    /// smallest propensity of each label.
    pub(in crate::evaluate) fn propensity_columns(&self) -> Vec<usize> {
        self.columns_of(Estimator::Unbiased)
    }

    /// Whether labels are looked up that are predicted but nowhere positive: for the bias of clipping, and for the groups of
    /// labels that are not absent.
    pub(in crate::evaluate) fn weighs_predicted(&self) -> bool {
        self.columns.iter().any(|column| column.clip.is_some())
            || (self.groups.len() > 1 && self.conventions().differs(&ABSENT_LABELS))
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
                Estimator::Omega | Estimator::Ratio | Estimator::DoublyRobust => false,
            };
            fits.then_some(place)
        };
        self.columns.iter().enumerate().filter_map(chosen).collect()
    }

    /// How many columns a metric needs, from the first: only one for what is observed.
    pub(in crate::evaluate) fn columns_needed(&self, metric: usize) -> usize {
        if self.metrics[metric].estimators == [Estimator::Observed] { 1 } else { self.columns.len() }
    }

    /// How many pairs of models are compared.
    pub(in crate::evaluate) fn pair_count(&self) -> usize {
        let models = self.models.len();
        models.saturating_mul(models.saturating_sub(1)) / 2
    }

    /// Pairs of models that are compared.
    pub(in crate::evaluate) fn pairs(&self) -> Vec<(usize, usize)> {
        (0..self.models.len()).flat_map(|a| (a + 1..self.models.len()).map(move |b| (a, b))).collect()
    }

    /// Whether anything needs counts by label.
    pub(in crate::evaluate) fn by_label(&self) -> Result<bool> {
        let uses_counts = self.columns.iter().any(|column| column.uncertain || column.clip.is_some());
        Ok(uses_counts || self.request.sensitivity.is_some() || self.has_label_metrics()?)
    }

    /// Whether the finish needs single rows: for the variance of means over labels, and for what uncertain propensities do to estimates
    /// that are no sums over labels.
    pub(in crate::evaluate) fn has_sample(&self) -> Result<bool> {
        // Mask intervals need them for what two models have in common, and for ratios of sums over rows.
        let is_needed = if self.is_mask() { self.models.len() > 1 } else { self.request.bootstrap == 0 };
        let is_pooled = self.is_mask() && self.metrics.iter().any(ChosenMetric::is_pooled);
        Ok((is_needed && self.has_label_metrics()?) || is_pooled || self.columns.iter().any(|column| column.uncertain))
    }

    /// Where the common errors of a column start among those of all columns.
    pub(in crate::evaluate) fn errors_of(&self, column: usize) -> std::ops::Range<usize> {
        let start = self.columns[..column].iter().map(|column| column.common_errors).sum();
        start..start + self.columns[column].common_errors
    }

    /// How many common errors all columns have together.
    pub(in crate::evaluate) fn error_width(&self) -> usize {
        self.columns.iter().map(|column| column.common_errors).fold(0, usize::saturating_add)
    }

    /// Whether a metric is a mean over labels.
    pub(in crate::evaluate) fn has_label_metrics(&self) -> Result<bool> {
        for chosen in &self.metrics {
            if matches!(chosen.metric()?.shape(), Shape::Label(_)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The metrics that are means over rows, in order, as the pass computes them.
    pub(in crate::evaluate) fn terms(&self) -> Result<Vec<Term>> {
        let mut terms = Vec::new();
        for (metric, chosen) in self.metrics.iter().enumerate() {
            let kind = match chosen.metric()?.shape() {
                Shape::Sum(term) => Kind::Sum {
                    discounts: (0..self.kmax()).map(|rank| term.discount(rank)).collect(),
                    scales: self.ks().iter().map(|k| term.scale(*k)).collect(),
                    weighted: term.weighted(),
                    by_relevant: term.by_relevant(),
                    pooled: term.pooled(),
                },
                Shape::Product => Kind::Product,
                Shape::Set(term) => {
                    Kind::Set { term, unbiased: chosen.wants(Estimator::Unbiased), left_out: chosen.left_out.clone() }
                }
                Shape::Label(_) => continue,
            };
            let bounds = self.bounds.get(terms.len()).cloned().unwrap_or_default();
            terms.push(Term { metric, kind, bounds });
        }
        Ok(terms)
    }
}

/// A metric that is a mean over rows.
pub(in crate::evaluate) struct Term {
    pub(in crate::evaluate) metric: usize,
    pub(in crate::evaluate) kind: Kind,
    /// By k and column: the power of two that no row term exceeds; empty when there is none. Of functions of the label set, only the observed
    /// column has a bound.
    pub(in crate::evaluate) bounds: Vec<i32>,
}

/// How its row terms are computed.
pub(in crate::evaluate) enum Kind {
    /// Discounts by rank, what the sum at each k is divided by, and whether rows are divided by their given number of relevant
    /// labels, and all of them by all relevant labels.
    Sum { discounts: Vec<f64>, scales: Vec<f64>, weighted: bool, by_relevant: bool, pooled: bool },
    /// `1 - prod (1 - y)`: the complement, which is 0 for the many rows without hits.
    Product,
    /// Any function of the label set, and columns on which its unbiased estimate is left out.
    Set { term: &'static dyn SetTerm, unbiased: bool, left_out: Vec<usize> },
}

impl Term {
    /// What the mean over rows of the terms at a k is divided by.
    pub(in crate::evaluate) fn scale(&self, ki: usize) -> f64 {
        match &self.kind {
            Kind::Sum { scales, .. } => scales[ki],
            Kind::Product | Kind::Set { .. } => 1.0,
        }
    }

    /// The columns whose row terms have no bound.
    pub(in crate::evaluate) fn unbounded(&self, columns: usize) -> std::ops::Range<usize> {
        match &self.kind {
            _ if self.bounds.is_empty() => 0..columns,
            Kind::Set { unbiased: true, .. } => 1..columns,
            _ => columns..columns,
        }
    }

    /// The columns whose row terms have a bound.
    pub(in crate::evaluate) fn bounded(&self, columns: usize) -> std::ops::Range<usize> {
        match &self.kind {
            _ if self.bounds.is_empty() => 0..0,
            Kind::Set { .. } => 0..1,
            _ => 0..columns,
        }
    }

    /// The power of two that no row term of a column exceeds.
    pub(in crate::evaluate) fn bound(&self, ki: usize, column: usize, columns: usize) -> i32 {
        match &self.kind {
            Kind::Set { .. } => self.bounds[0],
            _ => self.bounds[ki * columns + column],
        }
    }
}
