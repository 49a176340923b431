//! Losses: what training minimises, by label, on the logit `z` of a row, given whether the label was observed on it and its
//! propensity `p`.
//!
//! A loss is an entry of [`LOSSES`], one file each. [`Loss::at`] is the definition, in double precision: value, gradient and
//! curvature in `z`. Nearly all (row, label) pairs are unobserved, so a loss also has sweeps over many logits of unobserved
//! pairs in single precision, which the compiler turns into vector code ([`Loss::gradients`], [`Loss::values`], [`Loss::terms`]); tests hold the
//! two together. A weight for each label (re-balancing) multiplies any of them, in the trainer.
//!
//! Adding a loss is one new file and one line in the list.

pub mod bounded_logistic;
pub mod bounded_squared_hinge;
pub mod logistic;
pub mod nonnegative_logistic;
pub mod plugin_logistic;
pub mod squared_hinge;
pub mod unbiased_logistic;
pub mod unbiased_squared_hinge;
mod vector;

pub(crate) use plugin_logistic::joint_gradients;
pub(crate) use vector::sigmoids;

use crate::error::Result;
use crate::sealed::Sealed;
use crate::spec::{self, Named};

/// All losses.
pub static LOSSES: &[&dyn Loss] = &[
    &logistic::Logistic,
    &unbiased_logistic::UnbiasedLogistic,
    &bounded_logistic::BoundedLogistic,
    &plugin_logistic::PluginLogistic,
    &nonnegative_logistic::NonnegativeLogistic,
    &squared_hinge::SquaredHinge,
    &unbiased_squared_hinge::UnbiasedSquaredHinge,
    &bounded_squared_hinge::BoundedSquaredHinge,
];

/// A loss at one logit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Its value.
    pub value: f64,
    /// Its first derivative in the logit.
    pub gradient: f64,
    /// Its second derivative in the logit (where it jumps, that of the right side).
    pub curvature: f64,
}

impl Point {
    /// The point of the loss times `factor`.
    pub fn times(self, factor: f64) -> Point {
        Point { value: factor * self.value, gradient: factor * self.gradient, curvature: factor * self.curvature }
    }

    /// The point of the sum of two losses.
    pub fn plus(self, other: Point) -> Point {
        Point {
            value: self.value + other.value,
            gradient: self.gradient + other.gradient,
            curvature: self.curvature + other.curvature,
        }
    }
}

/// What a loss is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// Whether it is convex in the logit, so that training has one optimum.
    pub convex: bool,
    /// Whether it has a lower bound on every sample; without one, training needs decay or an early end.
    pub bounded: bool,
    /// Whether it makes use of propensities.
    pub corrects: bool,
    /// Whether Newton's method may take it: [`Loss::terms`] has curvatures that are never negative, and there is an optimum.
    pub newton: bool,
}

/// Something to minimise. See the module's page. Only this crate implements it.
pub trait Loss: Named + Sealed + Sync {
    /// What it is like.
    fn nature(&self) -> Nature;
    /// What an observed pair weighs against one of the plain loss. The noise of the gradient of a label grows with it, and so does
    /// the decay that the label needs: training takes decay times this weight.
    fn weight(&self, _p: f64) -> f64 {
        1.0
    }
    /// The part of the loss whose mean over rows estimates the loss of irrelevant pairs, and which training keeps from falling below
    /// 0 for each label; `None` for losses that are taken as they are.
    fn irrelevant(&self, _z: f64, _observed: bool, _p: f64) -> Option<Point> {
        None
    }
    /// Value, gradient and curvature at logit `z`.
    fn at(&self, z: f64, observed: bool, p: f64) -> Point;
    /// What `max(0, 1 - z)^2` of an observed and `max(0, 1 + z)^2` of an unobserved pair count for, when that is all there is to the
    /// loss: then it can be minimised in the dual.
    fn squared_hinge(&self, _p: f64) -> Option<[f64; 2]> {
        None
    }
    /// Replaces logits of unobserved pairs by gradients. `logits` has those of a block's labels, one row after the other; `p` has a
    /// number for each label of the block, or for each pair.
    fn gradients(&self, logits: &mut [f32], p: &[f32]);
    /// Adds the values at logits of unobserved pairs to those of their labels, of which there are as many as the block has.
    fn values(&self, logits: &[f32], p: &[f32], values: &mut [f64]);
    /// Gradients and curvatures at logits of unobserved pairs; values are added to those of their labels. Curvatures are for the steps
    /// of Newton's method: second derivatives where the loss is convex, and else what its page says, never below them.
    fn terms(&self, logits: &[f32], p: &[f32], gradients: &mut [f32], curvatures: &mut [f32], values: &mut [f64]);
}

/// The loss called `name`.
///
/// ```
/// let loss = unmissed::losses::find("unbiased-logistic")?;
/// assert!(loss.nature().convex && !loss.nature().bounded);
/// assert!(unmissed::losses::find("logistik").is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn find(name: &str) -> Result<&'static dyn Loss> {
    spec::find(LOSSES, "loss", name)
}
