//! `bounded-squared-hinge`: the squared hinge with observed labels weighted by `2/p - 1`.
//!
//! `(2/p - 1) y max(0, 1 - z)^2 + (1 - y) max(0, 1 + z)^2`: up to the
//! constant `1 - 1/p` on observed pairs an upper bound of the unbiased 0-1 loss `(y/p) [z < 0] + (1 - y/p) [z > 0]`. Convex and
//! not below 0, at the price of a bias.
//!
//! # Good for
//! Propensities that are only roughly known, where a wrong weight of at most `2/p - 1` does less harm than a loss without a lower
//! bound. Its minimiser is not the probability of being relevant: for ranking, not for probabilities.
//!
//! # Assumes
//! Label-wise propensities. `p = 1` gives `squared-hinge`.
//!
//! # Reference
//! Qaraei, Schultheis, Gupta, Babbar: *Convex surrogates for unbiased loss functions in extreme classification with missing
//! labels*, WWW 2021. With p = 1/2 at z = 0: 3, slope -6.
//!
//! ```
//! let point = unmissed::losses::find("bounded-squared-hinge")?.at(0.0, true, 0.5);
//! assert_eq!((point.value, point.gradient), (3.0, -6.0));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Loss, Nature, Point, squared_hinge};
use crate::spec::Named;

/// See the module's page.
pub struct BoundedSquaredHinge;

impl crate::sealed::Sealed for BoundedSquaredHinge {}

impl Named for BoundedSquaredHinge {
    fn name(&self) -> &'static str {
        "bounded-squared-hinge"
    }
    fn summary(&self) -> &'static str {
        "squared hinge with observed labels weighted by 2/p - 1: bounded, but biased"
    }
}

impl Loss for BoundedSquaredHinge {
    fn nature(&self) -> Nature {
        Nature { convex: true, bounded: true, corrects: true, newton: true }
    }
    fn weight(&self, p: f64) -> f64 {
        2.0 / p - 1.0
    }
    fn at(&self, z: f64, observed: bool, p: f64) -> Point {
        if observed { squared_hinge::relevant(z).times(2.0 / p - 1.0) } else { squared_hinge::irrelevant(z) }
    }
    fn squared_hinge(&self, p: f64) -> Option<[f64; 2]> {
        Some([2.0 / p - 1.0, 1.0])
    }
    fn gradients(&self, logits: &mut [f32], p: &[f32]) {
        squared_hinge::gradients(logits, p);
    }
    fn values(&self, logits: &[f32], p: &[f32], values: &mut [f64]) {
        squared_hinge::values(logits, p, values);
    }
    fn terms(&self, logits: &[f32], p: &[f32], gradients: &mut [f32], curvatures: &mut [f32], values: &mut [f64]) {
        squared_hinge::terms(logits, p, gradients, curvatures, values);
    }
}
