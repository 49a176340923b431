//! Propensities that depend on the row: fitted, kept in files, and what an evaluation adds with them.

use crate::choices::{Grouping, Weights};
use crate::errors::exception;
use crate::evaluate::json;
use crate::matrix::{Slices, Sparse};
use crate::run::{How, run};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use unmissed::data::{Csr, LabelStats};
use unmissed::evaluate::{Conventions, Evaluation};
use unmissed::propensity::rows::{Covariate, GivenCovariate, RowEvidence, RowFit, RowModel};
use unmissed::{Error, Result};

/// A fitted model of propensities by row and label.
#[pyclass(frozen, module = "unmissed._core")]
pub(crate) struct Rows {
    model: Arc<RowModel>,
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

type Columns<'py> = Vec<(String, PyReadonlyArray1<'py, f64>)>;
type Matrices<'py> = Vec<(String, Sparse<'py>)>;

fn columns(given: &Columns<'_>) -> PyResult<Vec<(String, Vec<f64>)>> {
    given.iter().map(|(name, values)| Ok((name.clone(), values.as_slice()?.to_vec()))).collect()
}

fn matrices<'a>(given: &'a Matrices<'_>) -> PyResult<Vec<(&'a str, Slices<'a>)>> {
    given.iter().map(|(name, matrix)| Ok((name.as_str(), matrix.slices()?))).collect()
}

fn read<'a>(slices: &[(&'a str, Slices<'a>)]) -> Result<Vec<(&'a str, Csr<'a, f32>)>> {
    slices.iter().map(|(name, slices)| Ok((*name, slices.scores()?))).collect()
}

/// What to fit to.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RowRequest<'py> {
    known: Sparse<'py>,
    is_later: bool,
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
    let (train, known) = (train.slices()?, request.known.slices()?);
    let (scores, pairs) = (matrices(&request.scores)?, matrices(&request.of_pairs)?);
    let (of_labels, of_rows) = (columns(&request.of_labels)?, columns(&request.of_rows)?);
    let named = |names: &Vec<String>| names.iter().map(|name| Covariate::of_name(name)).collect::<Result<Vec<_>>>();
    let covariates = request.covariates.as_ref().map(named).transpose().map_err(exception)?;
    let evidence = if request.is_later { RowEvidence::Later } else { RowEvidence::Controlled };
    let RowRequest { refits, seed, .. } = &request;
    let model = run(py, &how, |_| {
        let (train, known) = (train.labels()?, known.labels()?);
        let (scores, pairs) = (read(&scores)?, read(&pairs)?);
        let mut fit = RowFit::new(&train, &known, evidence)?.replicates(*refits, *seed);
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

/// How to evaluate with row models.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RowEvaluation<'py> {
    train: Option<Sparse<'py>>,
    metrics: Option<Vec<String>>,
    ks: Vec<usize>,
    level: f64,
    interval: String,
    groups: Option<Grouping>,
    weights: Option<Weights<'py>>,
    rate: bool,
    conventions: Option<String>,
    of_rows: Columns<'py>,
    of_pairs: Matrices<'py>,
}

/// The rows that an evaluation adds, and notes, as JSON.
#[pyfunction]
pub(crate) fn evaluate_rows(
    py: Python<'_>,
    truth: Sparse<'_>,
    models: Matrices<'_>,
    row_models: Vec<(String, PyRef<'_, Rows>)>,
    request: RowEvaluation<'_>,
    how: How,
) -> PyResult<String> {
    let (truth, predictions, pairs) = (truth.slices()?, matrices(&models)?, matrices(&request.of_pairs)?);
    let train = request.train.as_ref().map(|train| train.slices()).transpose()?;
    let of_rows = columns(&request.of_rows)?;
    let gains = request.weights.as_ref().map(Weights::gains).transpose()?;
    let row_models: Vec<(String, Arc<RowModel>)> =
        row_models.into_iter().map(|(name, rows)| (name, Arc::clone(&rows.model))).collect();
    let interval = request.interval.parse().map_err(exception)?;
    let conventions: Option<Conventions> = request.conventions.as_deref().map(str::parse).transpose().map_err(exception)?;
    if request.rate {
        let error = Error::value("a controlled set has a known rate, so it needs no propensities");
        return Err(exception(error.hint("leave the row model out")));
    }
    let RowEvaluation { metrics, ks, level, groups, .. } = &request;
    let (rows, notes) = run(py, &how, |_| {
        let (truth, scores, pairs) = (truth.labels()?, read(&predictions)?, read(&pairs)?);
        let stats = train.map(|train| train.labels()).transpose()?.as_ref().map(LabelStats::of);
        let models: Vec<(&str, &Csr<'_, f32>)> = scores.iter().map(|(name, scores)| (*name, scores)).collect();
        let mut evaluation = Evaluation::new(&truth, &models)?.ks(ks)?.level(*level)?.interval(interval);
        if let Some(metrics) = metrics {
            evaluation = evaluation.metrics(&metrics.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        if let Some(groups) = groups {
            evaluation = evaluation.groups(groups.groups(stats.as_ref())?)?;
        }
        if let Some(gains) = gains {
            let (name, weights) = gains.of(stats.as_ref(), None)?;
            evaluation = evaluation.weights(name, weights)?;
        }
        if let Some(conventions) = conventions {
            evaluation = evaluation.conventions(conventions);
        }
        for (name, values) in of_rows {
            evaluation = evaluation.row_covariate(&name, GivenCovariate::Rows(values))?;
        }
        for (name, matrix) in &pairs {
            evaluation = evaluation.row_covariate(name, GivenCovariate::Pairs(matrix))?;
        }
        for (name, model) in &row_models {
            evaluation = evaluation.row_propensity(name.clone(), RowModel::clone(model));
        }
        evaluation.by_row()
    })?;
    json(&serde_json::json!({"rows": rows, "notes": notes}))
}
