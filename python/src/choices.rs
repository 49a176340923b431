//! Groups, weights and rates, as Python gives them.

use crate::errors::exception;
use crate::matrix::Sparse;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use unmissed::data::{Labels, Rate};
use unmissed::predict::Weighting;

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

/// A line for each label: slopes and constants.
#[derive(FromPyObject)]
pub(crate) struct Lines<'py>(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

impl Lines<'_> {
    pub(crate) fn weighting(&self) -> PyResult<Weighting> {
        let lines = self.0.as_slice()?.iter().zip(self.1.as_slice()?).map(|(a, b)| [*a, *b]).collect();
        Weighting::new(lines).map_err(exception)
    }
}

/// How the labels of a controlled set were shown: r of m, at one rate, at a rate for each label, or as the library reads it.
#[derive(FromPyObject)]
pub(crate) enum RateGiven<'py> {
    Shown(u32, u32),
    Common(f64),
    PerLabel(PyReadonlyArray1<'py, f64>),
    Text(String),
}

impl RateGiven<'_> {
    pub(crate) fn rate(&self) -> PyResult<Rate> {
        Ok(match self {
            RateGiven::Shown(shown, of) => Rate::Shown { shown: *shown, of: *of },
            RateGiven::Common(rate) => Rate::Common(*rate),
            RateGiven::PerLabel(array) => Rate::PerLabel(array.as_slice()?.to_vec()),
            RateGiven::Text(text) => text.parse().map_err(exception)?,
        })
    }
}

/// A controlled set and its rate.
#[derive(FromPyObject)]
pub(crate) struct Controlled<'py>(Sparse<'py>, RateGiven<'py>);

impl Controlled<'_> {
    /// The same without the interpreter.
    pub(crate) fn owned(&self, py: Python<'_>) -> PyResult<(Labels<'static>, Rate)> {
        Ok((self.0.owned(py)?, self.1.rate()?))
    }
}
