//! Row-dependent propensities: fitted, and kept in files.

use crate::annotate::JudgedGiven;
use crate::errors::exception;
use crate::evaluate::json;
use crate::matrix::{Slices, Sparse};
use crate::run::{How, run};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use unmissed::Result;
use unmissed::data::Csr;
use unmissed::propensity::rows::{Covariate, GivenCovariate, RowEvidence, RowFit, RowModel};

/// A fitted model of propensities by row and label.
#[pyclass(frozen, module = "unmissed._core")]
pub(crate) struct Rows {
    pub(crate) model: Arc<RowModel>,
}

#[pymethods]
impl Rows {
    /// What there is to know about it, as JSON.
    fn about(&self) -> PyResult<String> {
        let model = &self.model;
        let (rows, pairs, observed) = model.sizes();
        json(&serde_json::json!({
            "evidence": model.evidence(), "audited": model.audited(), "labels": model.label_count(), "rows": rows, "pairs": pairs,
            "observed": observed, "coefficients": model.coefficients(), "effect_variance": model.effect_variance(),
            "calibration": model.calibration(), "refits": model.replicates(), "unfinished": model.unfinished(),
            "given": model.given().iter().map(|given| (&given.name, given.level)).collect::<Vec<_>>(),
        }))
    }

    /// Writes the file that `unmissed evaluate --propensity rows:FILE` reads.
    fn write(&self, path: PathBuf) -> PyResult<()> {
        self.model.write(path).map_err(exception)
    }
}

/// Reads such a file.
#[pyfunction]
pub(crate) fn read_rows(path: PathBuf) -> PyResult<Rows> {
    Ok(Rows { model: Arc::new(RowModel::read(path).map_err(exception)?) })
}

pub(crate) type Columns<'py> = Vec<(String, PyReadonlyArray1<'py, f64>)>;
pub(crate) type Matrices<'py> = Vec<(String, Sparse<'py>)>;

pub(crate) fn columns(given: &Columns<'_>) -> PyResult<Vec<(String, Vec<f64>)>> {
    given.iter().map(|(name, values)| Ok((name.clone(), values.as_slice()?.to_vec()))).collect()
}

pub(crate) fn matrices<'a>(given: &'a Matrices<'_>) -> PyResult<Vec<(&'a str, Slices<'a>)>> {
    given.iter().map(|(name, matrix)| Ok((name.as_str(), matrix.slices()?))).collect()
}

pub(crate) fn read<'a>(slices: &[(&'a str, Slices<'a>)]) -> Result<Vec<(&'a str, Csr<'a, f32>)>> {
    slices.iter().map(|(name, slices)| Ok((*name, slices.scores()?))).collect()
}

/// What to fit to.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RowRequest<'py> {
    known: Option<Sparse<'py>>,
    is_later: bool,
    judged: Option<JudgedGiven>,
    scores: Matrices<'py>,
    covariates: Option<Vec<String>>,
    of_labels: Columns<'py>,
    of_rows: Columns<'py>,
    of_pairs: Matrices<'py>,
    refits: usize,
    seed: u64,
}

/// Fits.
#[pyfunction]
pub(crate) fn fit_rows(py: Python<'_>, train: Sparse<'_>, request: RowRequest<'_>, how: How) -> PyResult<Rows> {
    let (train, known) = (train.slices()?, request.known.as_ref().map(Sparse::slices).transpose()?);
    let judged = request.judged.as_ref().map(JudgedGiven::known_pairs).transpose().map_err(exception)?;
    let (scores, pairs) = (matrices(&request.scores)?, matrices(&request.of_pairs)?);
    let (of_labels, of_rows) = (columns(&request.of_labels)?, columns(&request.of_rows)?);
    let named = |names: &Vec<String>| names.iter().map(|name| Covariate::of_name(name)).collect::<Result<Vec<_>>>();
    let covariates = request.covariates.as_ref().map(named).transpose().map_err(exception)?;
    let evidence = if request.is_later { RowEvidence::Later } else { RowEvidence::Controlled };
    let RowRequest { refits, seed, .. } = &request;
    let model = run(py, &how, |_| {
        let (train, known) = (train.labels()?, known.map(|known| known.labels()).transpose()?);
        let (scores, pairs) = (read(&scores)?, read(&pairs)?);
        let fit = match (&known, &judged) {
            (Some(known), _) => RowFit::new(&train, known, evidence)?,
            (None, judged) => RowFit::judged(&train, judged.as_deref().unwrap_or_default())?,
        };
        let mut fit = fit.replicates(*refits, *seed);
        for (name, scores) in &scores {
            fit = fit.scores(name, scores)?;
        }
        if let Some(covariates) = &covariates {
            fit = fit.covariates(covariates);
        }
        for (name, values) in of_labels {
            fit = fit.given(&name, GivenCovariate::Labels(values))?;
        }
        for (name, values) in of_rows {
            fit = fit.given(&name, GivenCovariate::Rows(values))?;
        }
        for (name, matrix) in &pairs {
            fit = fit.given(name, GivenCovariate::Pairs(matrix))?;
        }
        fit.run()
    })?;
    Ok(Rows { model: Arc::new(model) })
}
