//! Masks: labels removed the way that observation would.

use crate::errors::exception;
use crate::matrix::{Arrays, Sparse, labels_out};
use crate::run::{How, run};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use unmissed::Error;
use unmissed::data::{MaskBy, MaskShape};

/// How labels go missing.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MaskRequest<'py> {
    propensities: PyReadonlyArray1<'py, f64>,
    correlation: f64,
    by: Option<String>,
    strength: f64,
    groups: u32,
    scores: Option<Sparse<'py>>,
    seed: u64,
}

/// What is left, and the mean propensity of each label.
#[pyfunction]
pub(crate) fn mask<'py>(
    py: Python<'py>,
    labels: Sparse<'py>,
    request: MaskRequest<'py>,
    how: How,
) -> PyResult<(Arrays<'py>, Bound<'py, PyArray1<f64>>)> {
    let labels = labels.slices()?;
    let propensities = request.propensities.as_slice()?;
    let scores = request.scores.as_ref().map(Sparse::slices).transpose()?;
    if !matches!(request.by.as_deref(), None | Some("row" | "group" | "rank")) {
        let name = request.by.as_deref().unwrap_or_default();
        return Err(exception(unmissed::spec::unknown("dependence", name, &["row", "group", "rank"])));
    }
    let MaskRequest { correlation, by, strength, groups, seed, .. } = &request;
    let masked = run(py, &how, |_| {
        let (labels, scores) = (labels.labels()?, scores.map(|scores| scores.scores()).transpose()?);
        let by = match (by.as_deref(), &scores) {
            (Some("row"), _) => Some(MaskBy::Row),
            (Some("group"), _) => Some(MaskBy::Group(*groups)),
            (Some("rank"), Some(scores)) => Some(MaskBy::Rank(scores)),
            (Some("rank"), None) => return Err(Error::value("nothing ranks the labels").expected("predictions for these rows")),
            _ => None,
        };
        MaskShape { correlation: *correlation, by, strength: *strength }.mask(&labels, propensities, *seed)
    })?;
    Ok((labels_out(py, masked.labels), masked.propensities.into_pyarray(py)))
}
