//! Propensities: how likely it is that a relevant label was observed, and how far that number can be trusted.
//!
//! The per-label model says `P[y~_j = 1 | y_j = 1] = p_j`: each label has one propensity, whatever the row. There are two
//! ways to get it:
//!
//! - assume a curve in the label's frequency ([`models`]: `jpv`, `power`, `richards`, ...), with constants from the literature, or
//!   that [`fit`] fits to an estimate;
//! - estimate it ([`estimators`]) from a bias-controlled sample, a later snapshot, a hierarchy or a relation of labels.
//!
//! Either way the result is a [`Propensities`]: a number in (0, 1] for every label, with its origin, its uncertainty if known, and
//! whether it bounds the truth. A curve is a [`Curve`] (value, gradient, bounds) and with numbers for its
//! constants a [`Phi`], the paper's phi. [`checks`] tests it against the data, [`table_file`] reads and writes it,
//! and [`noise`] has the general observation model, for few labels, of which the per-label one is a case.
//!
//! A [`Propensity`] is what evaluation takes: propensities per label, or [`rows`]: row-dependent ones.
//!
//! # Assumes
//! Labels only go missing, nothing false is observed. One number per label means that missingness does not depend on the row.

pub mod bands;
mod calibration;
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
mod origin;
pub mod pairs;
mod phi;
pub mod points;
mod propensities;
pub mod quantiles;
mod ratio;
mod row_ids;
pub mod rows;
pub mod sample_size;
pub mod table_file;
pub mod together;

pub use curve::{At, Curve, CurveParameter, Hint, ParameterScale, Sample};
pub use origin::{Learned, Origin};
pub use phi::Phi;
pub use propensities::{Bound, Interval, Propensities, ValueSource};
pub use ratio::Ratio;

use rows::RowModel;
use std::sync::Arc;

/// Propensities of either kind: what a [`PropensitySpec`](models::PropensitySpec) stands for, and what evaluation takes.
///
/// ```
/// use unmissed::propensity::{Propensities, Propensity};
/// let p: Propensity = Propensities::new("example", vec![0.5, 1.0])?.into();
/// assert_eq!((p.labels(), p.origin().to_string()), (2, "example".to_owned()));
/// assert!(p.per_label().is_some());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Propensity {
    /// One number for each label, whatever the row.
    PerLabel(Propensities),
    /// A number for each pair of a row and a label.
    RowDependent(RowPropensities),
}

impl Propensity {
    /// Where they came from.
    pub fn origin(&self) -> &Origin {
        match self {
            Propensity::PerLabel(propensities) => propensities.origin(),
            Propensity::RowDependent(rows) => rows.origin(),
        }
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        match self {
            Propensity::PerLabel(propensities) => propensities.len(),
            Propensity::RowDependent(rows) => rows.model().label_count(),
        }
    }

    /// The propensities by label, when they do not depend on the row.
    pub fn per_label(&self) -> Option<&Propensities> {
        match self {
            Propensity::PerLabel(propensities) => Some(propensities),
            Propensity::RowDependent(_) => None,
        }
    }
}

impl From<Propensities> for Propensity {
    fn from(propensities: Propensities) -> Propensity {
        Propensity::PerLabel(propensities)
    }
}

impl From<RowPropensities> for Propensity {
    fn from(rows: RowPropensities) -> Propensity {
        Propensity::RowDependent(rows)
    }
}

/// A fitted model of row-dependent propensities, and where it came from.
#[derive(Clone, Debug)]
pub struct RowPropensities {
    origin: Origin,
    model: Arc<RowModel>,
}

impl RowPropensities {
    /// A model that was read from a file (`origin` is its spec), or one that the user fitted and named.
    pub fn new(origin: impl Into<Origin>, model: impl Into<Arc<RowModel>>) -> RowPropensities {
        RowPropensities { origin: origin.into(), model: model.into() }
    }

    /// Where the model came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The model.
    pub fn model(&self) -> &RowModel {
        &self.model
    }
}
