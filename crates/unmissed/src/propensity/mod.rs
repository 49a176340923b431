//! Propensities: how likely it is that a relevant label was observed, and what that belief is worth.
//!
//! The label-wise model says `P[y~_j = 1 | y_j = 1] = p_j`: each label has one propensity, whatever the row. There are two
//! ways to come by it:
//!
//! - assume a curve in the label's frequency ([`models`]: `jpv`, `power`, `richards`, ...), with constants that somebody
//!   else fitted, or that [`fit`] fits to an estimate;
//! - estimate it ([`estimators`]) from a bias-controlled sample, a later snapshot, a hierarchy or a relation of labels.
//!
//! Either way the result is a [`Propensities`]: a number in (0, 1] for every label, with its origin, its uncertainty where
//! there is one, and whether it bounds the truth. A curve is a [`Curve`] (value, gradient, bounds) and with numbers for its
//! constants a [`Phi`], the paper's phi. [`checks`] puts it to the test against what the data say, [`table_file`]
//! keeps it in files, and [`noise`] has the general observation model, for few labels, of which the label-wise one is a case.
//!
//! # Assumes
//! Labels only go missing, nothing false is observed. One number a label means that missingness does not depend on the row;
//! [`Propensity`] is what callers should take, so that propensities that do depend on the row can stand in later.

pub mod bands;
pub mod checks;
pub mod contradiction;
mod curve;
pub mod dag;
mod distinct;
pub mod estimators;
pub mod fit;
pub mod impute;
pub mod models;
pub mod noise;
pub mod pairs;
mod phi;
pub mod points;
mod propensities;
pub mod quantiles;
mod ratio;
pub mod rows;
pub mod sample_size;
pub mod table_file;

pub use curve::{At, Curve, Hint, Parameter, Sample, Scale};
pub use phi::Phi;
pub use propensities::{Bound, Interval, Propensities, Source};
pub use ratio::Ratio;

/// The probability that a relevant label of a row was observed.
///
/// Callers that go over rows take this; those that can only work label by label ask [`Propensity::label_wise`] and say so
/// when the answer is `None`.
///
/// ```
/// use unmissed::propensity::{Propensities, Propensity};
/// let p = Propensities::new("example", vec![0.5, 1.0])?;
/// let any: &dyn Propensity = &p;
/// assert_eq!((any.at(17, 0), any.at(3, 1)), (0.5, 1.0));
/// assert!(any.label_wise().is_some());
/// # Ok::<(), unmissed::Error>(())
/// ```
pub trait Propensity: Send + Sync {
    /// The propensity of `label` in `row`, in (0, 1].
    fn at(&self, row: usize, label: u32) -> f64;
    /// Number of labels.
    fn labels(&self) -> usize;
    /// The propensities by label, when they do not depend on the row.
    fn label_wise(&self) -> Option<&Propensities> {
        None
    }
}

impl Propensity for Propensities {
    fn at(&self, _row: usize, label: u32) -> f64 {
        self.get(label)
    }
    fn labels(&self) -> usize {
        self.len()
    }
    fn label_wise(&self) -> Option<&Propensities> {
        Some(self)
    }
}
