//! Groups, weights and rates, as Python gives them.

use crate::matrix::Sparse;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use unmissed::data::{Labels, Rate};

/// Groups as users write them, or one name for each label.
#[derive(FromPyObject)]
pub(crate) enum Grouping {
    Spec(String),
    Names(Vec<Option<String>>),
}

/// Gains by a scheme, or one number for each label.
#[derive(FromPyObject)]
pub(crate) enum Weights<'py> {
    Scheme(String),
    Values(PyReadonlyArray1<'py, f64>),
}

/// The same without the interpreter.
pub(crate) enum Gains {
    Scheme(String),
    Values(Vec<f64>),
}

impl Weights<'_> {
    pub(crate) fn gains(&self) -> PyResult<Gains> {
        Ok(match self {
            Weights::Scheme(scheme) => Gains::Scheme(scheme.clone()),
            Weights::Values(array) => Gains::Values(array.as_slice()?.to_vec()),
        })
    }
}

/// How the labels of a controlled set were shown: r of m, or at a rate for each label.
#[derive(FromPyObject)]
pub(crate) enum Shown<'py> {
    Fraction(u32, u32),
    PerLabel(PyReadonlyArray1<'py, f64>),
}

impl Shown<'_> {
    pub(crate) fn rate(&self) -> PyResult<Rate> {
        Ok(match self {
            Shown::Fraction(shown, of) => Rate::Shown { shown: *shown, of: *of },
            Shown::PerLabel(array) => Rate::PerLabel(array.as_slice()?.to_vec()),
        })
    }
}

/// At which rates labels were shown to the rows of a controlled set.
#[derive(FromPyObject)]
pub(crate) enum RatesGiven<'py> {
    Common(f64),
    PerLabel(PyReadonlyArray1<'py, f64>),
}

/// A controlled set and its rates.
#[derive(FromPyObject)]
pub(crate) struct Controlled<'py>(Sparse<'py>, RatesGiven<'py>);

impl Controlled<'_> {
    /// The same without the interpreter.
    pub(crate) fn owned(&self, py: Python<'_>) -> PyResult<(Labels<'static>, Rate)> {
        let rates = match &self.1 {
            RatesGiven::Common(rate) => Rate::Common(*rate),
            RatesGiven::PerLabel(array) => Rate::PerLabel(array.as_slice()?.to_vec()),
        };
        Ok((self.0.owned(py)?, rates))
    }
}
