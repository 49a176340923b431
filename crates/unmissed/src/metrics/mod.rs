//! Metrics: what we want to know, on the true labels. How to estimate it from observed labels is a separate choice, the
//! [`Estimator`].
//!
//! A metric is an entry of [`METRICS`], one file each. It declares its range, the estimators that exist for it with the
//! assumption of each, and its [`Shape`], which is all that an evaluation needs to compute it in one pass:
//!
//! - [`Shape::Sum`]: the mean over rows of a sum over the relevant labels in the top k. Any per-label propensity corrects it.
//! - [`Shape::Product`]: the mean over rows of a product over the labels in the top k.
//! - [`Shape::Set`]: the mean over rows of another function of the row's label set.
//! - [`Shape::Label`]: the mean over labels of a function of the label's counts.
//!
//! Adding a metric is one new file and one line in the list.
//!
//! # Conventions
//! All metrics agree on these: ranks go by score, ties by the smaller label; a row with fewer than k predictions has misses in
//! the open slots, so k may exceed the number of labels; rows without a relevant label stay in the mean. Where libraries differ
//! and there is a choice, it is a switch: see [`CONVENTIONS`](crate::evaluate::CONVENTIONS).

pub mod abandonment;
pub mod coverage;
mod estimator;
pub mod independent;
pub mod macro_f;
pub mod ndcg;
pub mod ndcg_min;
mod other_names;
pub mod precision;
pub mod recall;
pub mod recall_known;
pub mod recall_pooled;
pub mod weighted_precision;
pub mod weights;

pub use estimator::{Assumption, Estimator, Offer};
pub use independent::Work;

use crate::error::{Error, Result};
use crate::sealed::Sealed;
use crate::spec::{self, Named};
use std::sync::LazyLock;

/// All metrics, in the order of reports.
pub static METRICS: &[&dyn Metric] = &[
    &precision::Precision,
    &ndcg::Ndcg,
    &ndcg_min::NdcgMin,
    &recall::Recall,
    &recall_known::RecallKnown,
    &recall_pooled::RecallPooled,
    &weighted_precision::WeightedPrecision,
    &macro_f::MacroF,
    &abandonment::Abandonment,
    &coverage::Coverage,
];

/// Something worth knowing about a ranking of labels. Only this crate implements it.
pub trait Metric: Named + Sealed + Sync {
    /// The largest value on complete labels, given the largest weight; the smallest is 0.
    fn highest(&self, _largest_weight: f64) -> f64 {
        1.0
    }
    /// Whether a good ranking has a low value.
    fn lower_is_better(&self) -> bool {
        false
    }
    /// What the observed value says about that on complete labels, whatever is missing.
    fn observed_bound(&self) -> ObservedBound {
        ObservedBound::Neither
    }
    /// The estimators that exist, each with its assumption.
    fn offers(&self) -> &'static [Offer];
    /// How it is computed.
    fn shape(&self) -> Shape;
    /// The offer for an estimator, when there is one.
    fn offer(&self, estimator: Estimator) -> Option<&'static Offer> {
        self.offers().iter().find(|offer| offer.estimator == estimator)
    }
    /// Why an estimator that others have does not exist for this one.
    fn why_not(&self, _estimator: Estimator) -> &'static str {
        "it is not defined for this metric"
    }
}

/// What an observed value says about that on complete labels of the same rows, if labels are missing and none is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObservedBound {
    /// Missing labels can only add to it.
    Floor,
    /// Missing labels can only take away from it.
    Ceiling,
    /// Missing labels can do either.
    Neither,
}

impl ObservedBound {
    /// As a remark in tables.
    pub fn remark(self) -> &'static str {
        match self {
            ObservedBound::Floor => "at least this on complete labels",
            ObservedBound::Ceiling => "at most this on complete labels",
            ObservedBound::Neither => "no bound: missing labels can raise or lower it",
        }
    }
}

/// How a metric is computed. `y_j` is 1 for relevant labels; the evaluation puts `y~_j / p_j` in its place.
#[derive(Clone, Copy)]
pub enum Shape {
    /// Mean over rows of `scale(k)^-1 sum_{r <= k} w_j discount(r) y_j`, j the label at rank r.
    Sum(&'static dyn SumTerm),
    /// Mean over rows of `prod_{r <= k} (1 - y_j)`.
    Product,
    /// Mean over rows of a function of the set of relevant labels.
    Set(&'static dyn SetTerm),
    /// Mean over labels of a function of the label's counts.
    Label(&'static dyn LabelTerm),
}

/// A sum over the relevant labels in the top k. Only this crate implements it.
pub trait SumTerm: Sealed + Sync {
    /// What a relevant label at a rank is worth; ranks count from 0.
    fn discount(&self, rank: usize) -> f64;
    /// What the sum is divided by.
    fn scale(&self, k: usize) -> f64;
    /// Whether labels have weights.
    fn weighted(&self) -> bool {
        false
    }
    /// Whether the sum over all rows is divided by that of all relevant labels instead of the number of rows.
    fn pooled(&self) -> bool {
        false
    }
    /// Whether the sum is divided by the row's number of relevant labels too, which has to be given.
    fn by_relevant(&self) -> bool {
        false
    }
}

/// The rank of a label that is not in the top list.
pub const UNRANKED: u32 = u32::MAX;

/// A function of a row's set of relevant labels, implemented only in this crate; 0 for a row without any. `ranks` has the rank of each relevant label, or
/// [`UNRANKED`].
pub trait SetTerm: Sealed + Sync {
    /// The values at each k when all `relevant` labels of the row are known: at least one, of which `hits` are the ranks of those
    /// in the top list, ascending.
    fn values(&self, hits: &[u32], relevant: usize, ks: &[usize], out: &mut [f64]);
    /// How much an observed label with this inverse propensity enlarges the terms of an unbiased estimate: a product over the row's
    /// labels beyond [`independent::LIMIT`] leaves no digits of their sum.
    fn growth(&self, q: f64) -> f64;
    /// Unbiased estimates at each k under independent missingness, with the inverse propensity of each observed label. False
    /// when numbers of this size would cancel to nothing meaningful; `out` is then void.
    fn unbiased(&self, ranks: &[u32], q: &[f64], ks: &[usize], work: &mut Work, out: &mut [f64]) -> bool;
    /// An unbiased estimate of the product of the true values of two rankings of the same row: what their mask covariance
    /// needs.
    fn unbiased_product(&self, a: &[u32], b: &[u32], q: &[f64], k: usize, work: &mut Work) -> f64;
}

/// What is known of one label.
#[derive(Clone, Copy, Debug)]
pub struct LabelCounts {
    /// Rows that have it in the top k and observed.
    pub hits: f64,
    /// Rows that have it in the top k.
    pub predicted: f64,
    /// Rows that have it observed.
    pub positives: f64,
}

/// A function of the counts of one label. Only this crate implements it. It is 0 for a label without hits.
pub trait LabelTerm: Sealed + Sync {
    /// The label's part of the sum that is divided by the number of labels, under an inverse propensity (1 for the observed
    /// value); 0 for a label without a hit. `beta` is the metric's parameter.
    fn value(&self, counts: LabelCounts, inverse: f64, beta: f64) -> f64;
    /// Adds the value under each of several inverse propensities.
    fn add(&self, counts: LabelCounts, inverse: &[f64], beta: f64, out: &mut [f64]) {
        for (out, inverse) in out.iter_mut().zip(inverse) {
            *out += self.value(counts, *inverse, beta);
        }
    }
    /// Adds `times` the difference of the values with some counts and with others, for each of several inverse propensities.
    fn add_difference(&self, [more, less]: [LabelCounts; 2], times: f64, inverse: &[f64], beta: f64, out: &mut [f64]) {
        for (out, inverse) in out.iter_mut().zip(inverse) {
            *out += times * (self.value(more, *inverse, beta) - self.value(less, *inverse, beta));
        }
    }
    /// Whether the metric has the parameter beta.
    fn has_beta(&self) -> bool {
        false
    }
    /// Whether it is 0/0 for a label that is neither present nor predicted.
    fn is_open_when_absent(&self) -> bool {
        false
    }
    /// Whether it depends on the label's hits alone.
    fn is_of_hits(&self) -> bool {
        false
    }
    /// Whether it may be taken as a share of the labels that are present.
    fn may_be_of_present(&self) -> bool {
        false
    }
}

/// The metric called `name`, or an error that suggests near names.
///
/// ```
/// assert_eq!(unmissed::metrics::find("ndcg-min")?.offers().len(), 2);
/// let error = unmissed::metrics::find("precison").err().unwrap();
/// assert_eq!(error.to_string(), "unknown metric 'precison'; did you mean 'precision'?");
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn find(name: &str) -> Result<&'static dyn Metric> {
    spec::find(METRICS, "metric", name).map_err(|error| match other_names::advice(name) {
        Some(advice) => Error::value(format!("unknown metric '{name}'")).hint(advice),
        None => error,
    })
}

/// The metric that a spec such as `macro-f:beta=2` names, whatever its arguments.
pub(crate) fn of_spec(spec: &str) -> Result<&'static dyn Metric> {
    find(spec::split(spec).0)
}

/// The sum of the first discounts of DCG.
pub(crate) fn log_discounts(count: usize) -> f64 {
    static FIRST: LazyLock<[f64; 64]> = LazyLock::new(|| std::array::from_fn(computed));
    fn computed(count: usize) -> f64 {
        (0..count).map(log_discount).sum()
    }
    FIRST.get(count).copied().unwrap_or_else(|| computed(count))
}

/// `1 / log2(rank + 2)`, ranks from 0: the discount of DCG.
pub(crate) fn log_discount(rank: usize) -> f64 {
    static FIRST: LazyLock<[f64; 64]> = LazyLock::new(|| std::array::from_fn(computed));
    fn computed(rank: usize) -> f64 {
        1.0 / ((rank + 2) as f64).log2()
    }
    FIRST.get(rank).copied().unwrap_or_else(|| computed(rank))
}
