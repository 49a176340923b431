//! Propensities that are curves in how often labels occur: with given constants, fitted, or kept in a table.

use crate::choices::Controlled;
use crate::errors::exception;
use crate::matrix::Sparse;
use crate::propensities::{Given, Made, arrays, found};
use crate::run::{How, alone, run_owned};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use unmissed::Error;
use unmissed::data::LabelStats;
use unmissed::propensity::estimators::direct;
use unmissed::propensity::fit::{CurveEvidence, FitOptions, fit};
use unmissed::propensity::models::{self, PropensitySpec};
use unmissed::propensity::table_file;

/// Propensities of a model, such as `jpv:a=0.5,b=0.4`.
#[pyfunction]
pub(crate) fn model_propensities<'py>(py: Python<'py>, spec: &str, train: Sparse<'_>, how: How) -> PyResult<Bound<'py, PyDict>> {
    let parsed = models::parse(spec).map_err(exception)?;
    let train = train.owned(py)?;
    let (made, counts) = run_owned(py, &how, move || {
        let stats = LabelStats::of(&train);
        Ok((parsed.propensities(&stats)?, stats.dense_counts()?))
    })?;
    found(py, Made::Whole(&made), counts, None)
}

/// The same from the number of rows and the training positives of each label.
#[pyfunction]
pub(crate) fn count_propensities<'py>(
    py: Python<'py>,
    spec: &str,
    rows: u64,
    counts: PyReadonlyArray1<'_, u64>,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let parsed = models::parse(spec).map_err(exception)?;
    let counts = counts.as_slice()?.to_vec();
    let (made, counts) = run_owned(py, &how, move || {
        let made = parsed.propensities(&LabelStats::from_counts(rows, &counts)?)?;
        Ok((made, counts))
    })?;
    found(py, Made::Whole(&made), counts, None)
}

/// Propensities of a table, which needs no training labels, however many labels it has unless their number is given.
#[pyfunction]
pub(crate) fn table_propensities<'py>(py: Python<'py>, spec: &str, labels: Option<u64>) -> PyResult<Bound<'py, PyDict>> {
    let parsed = models::parse(spec).map_err(exception)?;
    arrays(
        py,
        &alone(py, || match &parsed {
            PropensitySpec::Table(path) => table_file::read(path, labels),
            other => other.per_label(None, 0),
        })?,
    )
}

/// Writes propensities into a csv.
#[pyfunction]
pub(crate) fn write_propensities(py: Python<'_>, given: Given<'_>, path: PathBuf) -> PyResult<()> {
    let made = given.propensities()?.map_err(exception)?;
    alone(py, || table_file::write(&made, path))
}

/// What a fit goes by, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FitRequest<'py> {
    controlled: Option<Controlled<'py>>,
    known: Option<Given<'py>>,
    loss: String,
    starts: usize,
    seed: u64,
}

/// A curve fitted to a controlled set, or to propensities that are known.
#[pyfunction]
pub(crate) fn fit_propensity<'py>(
    py: Python<'py>,
    model: &str,
    train: Sparse<'_>,
    request: FitRequest<'_>,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let family = models::family(model).map_err(exception)?;
    let options = FitOptions { loss: request.loss.parse().map_err(exception)?, starts: request.starts, seed: request.seed };
    let train = train.owned(py)?;
    let controlled = request.controlled.as_ref().map(|controlled| controlled.owned(py)).transpose()?;
    let known = request.known.as_ref().map(|given| given.propensities()).transpose()?.transpose().map_err(exception)?;
    let (made, counts, fit) = run_owned(py, &how, move || {
        let stats = LabelStats::of(&train);
        let evidence = match (controlled, known) {
            // The level is that of intervals, which a fit does not look at.
            (Some((set, rates)), None) => {
                rates.check_rows(&set)?;
                direct::direct(&stats, &LabelStats::of(&set), &rates, 0.95)?.evidence()
            }
            (None, Some(known)) => CurveEvidence::from_propensities(&known, &stats)?,
            _ => {
                return Err(
                    Error::value("a fit needs evidence of one kind").expected("either controlled= with rate=, or propensities=")
                );
            }
        };
        let fit = fit(&family, &evidence, &options)?;
        Ok((fit.propensities(&stats)?, stats.dense_counts()?, fit))
    })?;
    found(py, Made::Whole(&made), counts, Some(&fit))
}
