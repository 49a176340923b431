//! `logistic`: the log loss, which treats observed labels as the truth.
//!
//! `l(y, z) = ln(1 + e^z) - y z`, y 1 when the label was observed and else 0. Convex, not below 0.
//!
//! # Good for
//! Complete labels, or labels about whose missingness nothing is known; ranking observed labels.
//!
//! # Assumes
//! Nothing is missing: otherwise the minimiser is the probability of being observed, `p eta`, not the probability of relevance
//! `eta` (dividing predictions by p corrects that).
//!
//! # Reference
//! At z = 0 the value is ln 2 and the slope 1/2 - y.
//!
//! ```
//! let point = unmissed::losses::find("logistic")?.at(0.0, true, 1.0);
//! assert_eq!((point.value, point.gradient, point.curvature), (2f64.ln(), -0.5, 0.25));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::vector::{collect, replace, sigmoids, softplus_and_sigmoids, sum};
use super::{Loss, Nature, Point};
use crate::sigmoid::sigmoid as sigmoid_of;
use crate::spec::Named;

/// See the module's page.
pub struct Logistic;

impl crate::sealed::Sealed for Logistic {}

impl Named for Logistic {
    fn name(&self) -> &'static str {
        "logistic"
    }
    fn summary(&self) -> &'static str {
        "log loss, as if nothing were missing"
    }
}

impl Loss for Logistic {
    fn nature(&self) -> Nature {
        Nature { convex: true, bounded: true, corrects: false, newton: true }
    }
    fn at(&self, z: f64, observed: bool, _p: f64) -> Point {
        at(z, if observed { 1.0 } else { 0.0 })
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

/// `ln(1 + e^z) - y z` for any y, also one above 1.
pub(super) fn at(z: f64, y: f64) -> Point {
    let s = sigmoid_of(z);
    // The two forms are equal; each is exact where its terms do not cancel.
    let value = if z > 0.0 { (1.0 - y) * z + (-z).exp().ln_1p() } else { z.exp().ln_1p() - y * z };
    Point { value, gradient: s - y, curvature: s * sigmoid_of(-z) }
}

/// Sweep over unobserved pairs: see [`Loss::gradients`].
pub(super) fn gradients(logits: &mut [f32], p: &[f32]) {
    replace(logits, p, |z, _| sigmoids(z).0);
}

/// Sweep over unobserved pairs: see [`Loss::values`].
pub(super) fn values(logits: &[f32], p: &[f32], values: &mut [f64]) {
    sum(logits, p, values, |z, _| softplus_and_sigmoids(z).0);
}

/// Sweep over unobserved pairs: see [`Loss::terms`].
pub(super) fn terms(logits: &[f32], p: &[f32], gradients: &mut [f32], curvatures: &mut [f32], values: &mut [f64]) {
    collect(logits, p, gradients, curvatures, values, |z, _| {
        let (softplus, s, t) = softplus_and_sigmoids(z);
        (softplus, s, s * t)
    });
}
