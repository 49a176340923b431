//! `nonnegative-logistic`: the unbiased log loss, with the part of irrelevant labels kept from falling below 0.
//!
//! The mean of `unbiased-logistic` over n rows is `A + B` with `A = 1/n sum (y/p) l(1, z)` and `B = 1/n sum (1 - y/p) l(0, z)`, l the
//! log loss. B estimates the loss of the pairs in which the label is irrelevant, which is never below 0; on a sample, or with
//! too small a p, it can fall without end. Training minimises `A + max(0, B)` for each label instead: convex, not below 0, and
//! the unbiased loss wherever B is positive. Newton's method takes `tau ln(1 + e^(B / tau))` for `max(0, B)`, with tau a twentieth
//! of the label's estimated frequency; Adam goes back along B on batches on which B is negative, as in the reference.
//!
//! For a single pair, this is `unbiased-logistic` itself.
//!
//! # Good for
//! Propensities that may be too small, where `unbiased-logistic` follows a label to infinity. `plugin-logistic` bounds the same
//! risk and uses the data better.
//!
//! # Assumes
//! Label-wise propensities. `p = 1` gives `logistic`.
//!
//! # Reference
//! Kiryo, Niu, du Plessis, Sugiyama: *Positive-unlabeled learning with non-negative risk estimator*, NIPS 2017. With p = 1/4 at
//! z = 0: ln 2, of which (1 - 4) ln 2 belongs to B.
//!
//! ```
//! let loss = unmissed::losses::find("nonnegative-logistic")?;
//! assert_eq!(loss.at(0.0, true, 0.25).value, 2f64.ln());
//! assert_eq!(loss.irrelevant(0.0, true, 0.25).map(|part| part.value), Some(-3.0 * 2f64.ln()));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Loss, Nature, Point, logistic};
use crate::spec::Named;

/// See the module's page.
pub(super) struct NonnegativeLogistic;

impl crate::sealed::Sealed for NonnegativeLogistic {}

impl Named for NonnegativeLogistic {
    fn name(&self) -> &'static str {
        "nonnegative-logistic"
    }
    fn summary(&self) -> &'static str {
        "unbiased log loss whose part for irrelevant labels cannot fall below 0"
    }
}

impl Loss for NonnegativeLogistic {
    fn nature(&self) -> Nature {
        Nature { convex: true, bounded: true, corrects: true, newton: true }
    }
    fn weight(&self, p: f64) -> f64 {
        1.0 / p
    }
    fn at(&self, z: f64, observed: bool, p: f64) -> Point {
        logistic::at(z, if observed { 1.0 / p } else { 0.0 })
    }
    fn irrelevant(&self, z: f64, observed: bool, p: f64) -> Option<Point> {
        Some(logistic::at(z, 0.0).times(if observed { 1.0 - 1.0 / p } else { 1.0 }))
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
