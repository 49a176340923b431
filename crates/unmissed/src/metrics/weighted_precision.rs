//! `weighted-precision`: precision with a gain for each label.
//!
//! `weighted-precision@k = k^-1 sum_{j in top k} w_j y_j`, mean over rows. Weights come from the user or from training
//! frequencies (see [`weights`](super::weights)). Weights say what matters, propensities what is missing: they are two things,
//! and the unbiased estimate uses both, `w_j y~_j / p_j`.
//!
//! Conventions are those of `precision`, `empty-rows=skip` included. The range ends at the largest weight.
//!
//! # Assumes
//! Unbiased: right per-label propensities, nothing more.
//!
//! # Reference
//! Schultheis et al., KDD 2022, who note that tail-weighted and propensity-scored at once is never evaluated. By hand: one row
//! with labels {0, 2} ranked 0, 1, 2, weights (1, 1, 3), p = (0.5, 1, 0.25): (1*2 + 3*4)/3 = 14/3.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::Evaluation, propensity::Propensities};
//! let truth = Labels::from_ids(3, [vec![0, 2]])?;
//! let scores = Csr::from_rows(3, [[(0, 0.9f32), (1, 0.5), (2, 0.1)]])?;
//! let p = Propensities::new("mine", vec![0.5, 1.0, 0.25])?;
//! let evaluation = Evaluation::new(&truth, &[("a", &scores)])?.metrics(&["weighted-precision"])?.ks(&[3])?;
//! let result = evaluation.weights("mine", vec![1.0, 1.0, 3.0])?.propensity(p).run()?;
//! assert!((result.rows[1].value.unwrap() - 14.0 / 3.0).abs() < 1e-15);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::estimator::of_sums;
use super::{Estimator, Metric, ObservedBound, Offer, Shape, SumTerm};
use crate::spec::Named;

/// See the module's page.
pub(super) struct WeightedPrecision;

impl crate::sealed::Sealed for WeightedPrecision {}

impl Named for WeightedPrecision {
    fn name(&self) -> &'static str {
        "weighted-precision"
    }
    fn summary(&self) -> &'static str {
        "precision with a gain for each label; needs weights"
    }
}

impl Metric for WeightedPrecision {
    fn highest(&self, largest_weight: f64) -> f64 {
        largest_weight
    }
    fn observed_bound(&self) -> ObservedBound {
        ObservedBound::Floor
    }
    fn offers(&self) -> &'static [Offer] {
        of_sums()
    }
    fn why_not(&self, _estimator: Estimator) -> &'static str {
        "hits by rank say nothing about the weights of the labels that were hit; 'precision' has this estimator"
    }
    fn shape(&self) -> Shape {
        Shape::Sum(&WeightedPrecision)
    }
}

impl SumTerm for WeightedPrecision {
    fn discount(&self, _rank: usize) -> f64 {
        1.0
    }
    fn scale(&self, k: usize) -> f64 {
        k as f64
    }
    fn weighted(&self) -> bool {
        true
    }
}
