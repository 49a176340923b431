//! `squared-hinge`: the loss of the L2 support vector machine, which treats observed labels as the truth.
//!
//! `l(1, z) = max(0, 1 - z)^2`, `l(0, z) = max(0, 1 + z)^2`. Convex, not below 0.
//!
//! # Good for
//! Labels that are complete and rankings that need no probabilities.
//!
//! # Assumes
//! Nothing is missing.
//!
//! # Reference
//! At z = 0 the value is 1 and the slope -2 when observed, 2 when not.
//!
//! ```
//! let loss = unmissed::losses::find("squared-hinge")?;
//! assert_eq!((loss.at(0.0, true, 1.0).gradient, loss.at(0.0, false, 1.0).gradient), (-2.0, 2.0));
//! assert_eq!(loss.at(1.5, true, 1.0).value, 0.0);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::vector::{collect, replace, sum};
use super::{Loss, Nature, Point};
use crate::spec::Named;

/// See the module's page.
pub struct SquaredHinge;

impl crate::sealed::Sealed for SquaredHinge {}

impl Named for SquaredHinge {
    fn name(&self) -> &'static str {
        "squared-hinge"
    }
    fn summary(&self) -> &'static str {
        "squared hinge loss, as if nothing were missing"
    }
}

impl Loss for SquaredHinge {
    fn nature(&self) -> Nature {
        Nature { convex: true, bounded: true, corrects: false, newton: true }
    }
    fn at(&self, z: f64, observed: bool, _p: f64) -> Point {
        if observed { relevant(z) } else { irrelevant(z) }
    }
    fn squared_hinge(&self, _p: f64) -> Option<[f64; 2]> {
        Some([1.0, 1.0])
    }
    fn gradients(&self, logits: &mut [f32], p: &[f32]) {
        gradients(logits, p);
    }
    fn values(&self, logits: &[f32], p: &[f32], values: &mut [f64]) {
        self::values(logits, p, values);
    }
    fn terms(&self, logits: &[f32], p: &[f32], gradients: &mut [f32], curvatures: &mut [f32], values: &mut [f64]) {
        terms(logits, p, gradients, curvatures, values);
    }
}

/// `max(0, 1 - z)^2`.
pub(super) fn relevant(z: f64) -> Point {
    let mirrored = irrelevant(-z);
    Point { gradient: -mirrored.gradient, ..mirrored }
}

/// `max(0, 1 + z)^2`.
pub(super) fn irrelevant(z: f64) -> Point {
    let excess = (1.0 + z).max(0.0);
    Point { value: excess * excess, gradient: 2.0 * excess, curvature: if excess > 0.0 { 2.0 } else { 0.0 } }
}

/// Sweep over unobserved pairs: see [`Loss::gradients`].
pub(super) fn gradients(logits: &mut [f32], p: &[f32]) {
    replace(logits, p, |z, _| 2.0 * (1.0 + z).max(0.0));
}

/// Sweep over unobserved pairs: see [`Loss::values`].
pub(super) fn values(logits: &[f32], p: &[f32], values: &mut [f64]) {
    sum(logits, p, values, |z, _| {
        let excess = (1.0 + z).max(0.0);
        excess * excess
    });
}

/// Sweep over unobserved pairs: see [`Loss::terms`].
pub(super) fn terms(logits: &[f32], p: &[f32], gradients: &mut [f32], curvatures: &mut [f32], values: &mut [f64]) {
    collect(logits, p, gradients, curvatures, values, |z, _| {
        let excess = (1.0 + z).max(0.0);
        (excess * excess, 2.0 * excess, if excess > 0.0 { 2.0 } else { 0.0 })
    });
}
