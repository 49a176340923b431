//! `unbiased-squared-hinge`: the squared hinge with `y/p` in place of y.
//!
//! `(y/p) max(0, 1 - z)^2 + (1 - y/p) max(0, 1 + z)^2`. Its mean over what goes missing is the squared hinge on the true labels.
//! Not convex: where a label with p < 1 is observed, the second term has a negative factor, and the loss falls quadratically
//! for z > 1. Only a strong decay or early stopping keeps training from diverging.
//!
//! # Good for
//! Reproducing the literature.
//!
//! # Assumes
//! Label-wise propensities. `p = 1` gives `squared-hinge`.
//!
//! # Reference
//! Schultheis et al., KDD 2022. With p = 1/2: at z = 0, 2 - 1 = 1, slope -4 - 2; at z = 2, 0 - 9.
//!
//! ```
//! let loss = unmissed::losses::find("unbiased-squared-hinge")?;
//! assert_eq!((loss.at(0.0, true, 0.5).value, loss.at(0.0, true, 0.5).gradient), (1.0, -6.0));
//! assert_eq!(loss.at(2.0, true, 0.5).value, -9.0);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Loss, Nature, Point, squared_hinge};
use crate::spec::Named;

/// See the module's page.
pub struct UnbiasedSquaredHinge;

impl crate::sealed::Sealed for UnbiasedSquaredHinge {}

impl Named for UnbiasedSquaredHinge {
    fn name(&self) -> &'static str {
        "unbiased-squared-hinge"
    }
    fn summary(&self) -> &'static str {
        "squared hinge on the true labels, unbiased under missing ones; not convex"
    }
}

impl Loss for UnbiasedSquaredHinge {
    fn nature(&self) -> Nature {
        Nature { convex: false, bounded: false, corrects: true, newton: false }
    }
    fn weight(&self, p: f64) -> f64 {
        1.0 / p
    }
    fn at(&self, z: f64, observed: bool, p: f64) -> Point {
        let y = if observed { 1.0 / p } else { 0.0 };
        squared_hinge::relevant(z).times(y).plus(squared_hinge::irrelevant(z).times(1.0 - y))
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
