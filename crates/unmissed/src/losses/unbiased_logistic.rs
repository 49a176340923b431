//! `unbiased-logistic`: the log loss with `y/p` in place of y.
//!
//! `-(y/p) ln s - (1 - y/p) ln(1 - s)` with s the sigmoid of z, which is `ln(1 + e^z) - (y/p) z`. Its mean over what goes missing
//! is the log loss on the true labels. Convex. Where a label is observed it falls without end as z grows (slope `1 - 1/p`), so a
//! sample that can be separated, or propensities that are too small, have no optimum without decay or an early end.
//!
//! # Good for
//! Propensities that are known well and not too small; where they are uncertain, `plugin-logistic` makes more of the same data.
//!
//! # Assumes
//! Label-wise propensities. `p = 1` gives `logistic`.
//!
//! # Reference
//! Schultheis et al., KDD 2022. With p = 1/4 at z = 0: ln 2, slope 1/2 - 4.
//!
//! ```
//! let point = unmissed::losses::find("unbiased-logistic")?.at(0.0, true, 0.25);
//! assert_eq!((point.value, point.gradient), (2f64.ln(), -3.5));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Loss, Nature, Point, logistic};
use crate::spec::Named;

/// See the module's page.
pub struct UnbiasedLogistic;

impl crate::sealed::Sealed for UnbiasedLogistic {}

impl Named for UnbiasedLogistic {
    fn name(&self) -> &'static str {
        "unbiased-logistic"
    }
    fn summary(&self) -> &'static str {
        "log loss on the true labels, unbiased under missing ones"
    }
}

impl Loss for UnbiasedLogistic {
    fn nature(&self) -> Nature {
        Nature { convex: true, bounded: false, corrects: true, newton: true }
    }
    fn weight(&self, p: f64) -> f64 {
        1.0 / p
    }
    fn at(&self, z: f64, observed: bool, p: f64) -> Point {
        logistic::at(z, if observed { 1.0 / p } else { 0.0 })
    }
    fn gradients(&self, logits: &mut [f32], p: &[f32]) {
        logistic::gradients(logits, p);
    }
    fn values(&self, logits: &[f32], p: &[f32], values: &mut [f64]) {
        logistic::values(logits, p, values);
    }
    fn terms(&self, logits: &[f32], p: &[f32], gradients: &mut [f32], curvatures: &mut [f32], values: &mut [f64]) {
        logistic::terms(logits, p, gradients, curvatures, values);
    }
}
