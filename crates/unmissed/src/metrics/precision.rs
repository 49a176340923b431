//! `precision`: the share of the top k that is relevant.
//!
//! `precision@k = k^-1 sum_{j in top k} y_j`, mean over rows. Unbiased: `y~_j / p_j` for `y_j`; normalized: that sum over all
//! rows, divided by the largest that any ranking could have had (the PSP@k of the literature).
//!
//! Rows without labels count 0 (left out with `empty-rows=skip`); fewer than k predictions: the open slots are misses; ties go to the smaller label; k may exceed
//! the number of labels. Normalized 0/0 is null.
//!
//! # Assumes
//! Unbiased: right per-label propensities, nothing more.
//!
//! # Reference
//! Jain, Prabhu and Varma, KDD 2016. By hand: one row with labels {0, 2}, ranked 0, 1, 2, p = (0.5, 1, 0.25): precision@3 is
//! 2/3 as observed, (2 + 4)/3 = 2 unbiased.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::Evaluation, propensity::Propensities};
//! let truth = Labels::from_ids(3, [vec![0, 2]])?;
//! let scores = Csr::from_rows(3, [[(0, 0.9f32), (1, 0.5), (2, 0.1)]])?;
//! let p = Propensities::new("mine", vec![0.5, 1.0, 0.25])?;
//! let result = Evaluation::new(&truth, &[("a", &scores)])?.metrics(&["precision"])?.ks(&[3])?.propensity(p).run()?;
//! let values: Vec<f64> = result.rows.iter().filter_map(|row| row.value).collect();
//! assert_eq!(values, [2.0 / 3.0, 2.0, 1.0]);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::estimator::of_precision;
use super::{Metric, ObservedBound, Offer, Shape, SumTerm};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Precision;

impl crate::sealed::Sealed for Precision {}

impl Named for Precision {
    fn name(&self) -> &'static str {
        "precision"
    }
    fn summary(&self) -> &'static str {
        "share of the top k that is relevant"
    }
}

impl Metric for Precision {
    fn observed_bound(&self) -> ObservedBound {
        ObservedBound::Floor
    }
    fn offers(&self) -> &'static [Offer] {
        of_precision()
    }
    fn shape(&self) -> Shape {
        Shape::Sum(&Precision)
    }
}

impl SumTerm for Precision {
    fn discount(&self, _rank: usize) -> f64 {
        1.0
    }
    fn scale(&self, k: usize) -> f64 {
        k as f64
    }
}
