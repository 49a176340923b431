//! `anchors`: propensities from observed labels alone, on the rows with a label's highest scores.
//!
//! `p^_j = h_j / t`: of the t rows with the highest scores of label j (1 % of the rows, at least 30), h_j have the label. Scores come
//! from a plain model that was not trained on these rows. A label is observed with probability `p_j eta_j(x) <= p_j`, so the rate
//! on any rows that were chosen without using their labels is a lower bound of the propensity, up to sampling noise; the interval
//! is that of Clopper and Pearson.
//!
//! # Assumes
//! Nothing, as a lower bound. As an estimate: that the label is certainly relevant on these rows (anchors). If a label is never
//! certain, or the model cannot recognise it, the value is far too low: do not divide by it.
//!
//! # Reference
//! Elkan, Noto: *Learning classifiers from only positive and unlabeled data*, KDD 2008, whose estimator e3 is the maximum of
//! fitted probabilities. 24 of 30 observed:
//!
//! ```
//! use unmissed::propensity::estimators::anchors::{SureRows, anchors};
//! let found = anchors(&SureRows { rows: 30, observed: vec![24, 0] }, 0.95)?;
//! assert_eq!(found.get(0), 0.8);
//! assert!(found.interval(0).is_some_and(|interval| (interval.low - 0.6143).abs() < 1e-4));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Estimate, EstimatorInput, EstimatorOption, LEVEL, PropensityEstimator, PropensityEstimatorSpec, PropensityEvidence};
use crate::error::Result;
use crate::propensity::quantiles::clopper_pearson;
use crate::propensity::{Bound, Interval, Propensities};
use crate::spec::Named;
use serde::{Deserialize, Serialize};

/// How often labels are observed on the rows with their highest scores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SureRows {
    /// The number of rows that were taken for each label.
    pub rows: u64,
    /// On how many of them each label is observed.
    pub observed: Vec<u64>,
}

impl SureRows {
    /// What each label's propensity is at least: the lower ends of intervals at a level.
    pub fn lower_limits(&self, level: f64) -> Vec<f64> {
        self.observed.iter().map(|observed| clopper_pearson(*observed, self.rows, level).low).collect()
    }
}

/// The rate on the surest rows, as propensities. A label that is on none of them has the smallest rate that would be one.
pub fn anchors(sure: &SureRows, level: f64) -> Result<Propensities> {
    let rows = sure.rows.max(1) as f64;
    // 0 is no propensity: less than half an observation.
    let values = sure.observed.iter().map(|observed| (*observed as f64).max(0.5) / rows).collect();
    let intervals = sure.observed.iter().map(|observed| {
        let found = clopper_pearson(*observed, sure.rows, level);
        Some(Interval { low: found.low, high: found.high })
    });
    Propensities::new("anchors", values)?
        .with_bound(Bound::Lower)
        .with_intervals(intervals.collect())
        .map(|found| found.with_note("a lower bound: labels that are never certain have a larger propensity"))
}

/// The entry in the list of propensity estimators.
pub(super) struct Entry;

impl crate::sealed::Sealed for Entry {}

impl Named for Entry {
    fn name(&self) -> &'static str {
        "anchors"
    }
    fn summary(&self) -> &'static str {
        "from observed labels alone: how often a label is observed on the rows with its highest scores"
    }
}

impl PropensityEstimator for Entry {
    fn bound(&self) -> Bound {
        Bound::Lower
    }
    fn inputs(&self) -> &'static [EstimatorInput] {
        &[EstimatorInput::SureRows]
    }
    fn options(&self) -> &'static [EstimatorOption] {
        &[LEVEL]
    }
    fn estimate(&self, evidence: &PropensityEvidence<'_>, spec: &PropensityEstimatorSpec) -> Result<Estimate> {
        let sure = evidence.sure_rows_of(self.name())?;
        let never = sure.observed.iter().filter(|observed| **observed == 0).count() as u64;
        Ok(Estimate::without_curve(anchors(sure, spec.level()?)?)
            .count("sure_rows", sure.rows)
            .count("never_observed_there", never)
            .remark(format!(
                "A lower bound: the rate at which a label is observed on the {} rows with its highest scores. {never} labels are observed on none of them.",
                sure.rows
            )))
    }
}
