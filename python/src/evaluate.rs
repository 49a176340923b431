//! Evaluation.

use crate::choices::{Grouping, Shown, Weights};
use crate::errors::exception;
use crate::matrix::Sparse;
use crate::propensities::Given;
use crate::run::{How, run};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use unmissed::Result;
use unmissed::data::{Csr, LabelStats};
use unmissed::evaluate::compat::{self, Library};
use unmissed::evaluate::{Conventions, Evaluation};
use unmissed::metrics::Estimator;
use unmissed::propensity::Propensities;

/// What to evaluate against, and how. Arrays and names are checked by the library.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Request<'py> {
    train: Option<Sparse<'py>>,
    propensities: Vec<Given<'py>>,
    metrics: Option<Vec<String>>,
    estimators: Option<Vec<String>>,
    ks: Vec<usize>,
    level: f64,
    interval: String,
    bootstrap: usize,
    seed: u64,
    groups: Option<Grouping>,
    weights: Option<Weights<'py>>,
    clip: Option<f64>,
    rate: Option<Shown<'py>>,
    shown: Option<Sparse<'py>>,
    label_counts: Option<PyReadonlyArray1<'py, u32>>,
    conventions: Option<String>,
}

/// Everything about the predictions of one or several models, as JSON.
#[pyfunction]
pub(crate) fn evaluate(
    py: Python<'_>,
    truth: Sparse<'_>,
    models: Vec<(String, Sparse<'_>)>,
    request: Request<'_>,
    how: How,
) -> PyResult<String> {
    let truth = truth.slices()?;
    let predictions = models.iter().map(|(name, scores)| Ok((name.as_str(), scores.slices()?))).collect::<PyResult<Vec<_>>>()?;
    let train = request.train.as_ref().map(|train| train.slices()).transpose()?;
    let shown = request.shown.as_ref().map(|shown| shown.slices()).transpose()?;
    let mut propensities: Vec<Propensities> = Vec::new();
    for given in &request.propensities {
        propensities.push(given.propensities()?.map_err(exception)?);
    }
    let gains = request.weights.as_ref().map(Weights::gains).transpose()?;
    let rate = request.rate.as_ref().map(Shown::rate).transpose()?;
    let estimators =
        request.estimators.as_ref().map(|names| names.iter().map(|name| Estimator::of_name(name)).collect::<Result<Vec<_>>>());
    let estimators = estimators.transpose().map_err(exception)?;
    let interval = request.interval.parse().map_err(exception)?;
    let conventions: Option<Conventions> = request.conventions.as_deref().map(str::parse).transpose().map_err(exception)?;
    let counts = request.label_counts.as_ref().map(|array| array.as_slice().map(<[u32]>::to_vec)).transpose()?;
    let Request { metrics, ks, level, bootstrap, seed, groups, clip, .. } = &request;
    let result = run(py, &how, |watch| {
        let truth = truth.labels()?;
        let train = train.map(|train| train.labels()).transpose()?;
        let stats = train.as_ref().map(LabelStats::of);
        let shown = shown.map(|shown| shown.labels()).transpose()?;
        let scores = predictions.iter().map(|(name, slices)| Ok((*name, slices.scores()?))).collect::<Result<Vec<_>>>()?;
        let models: Vec<(&str, &Csr<'_, f32>)> = scores.iter().map(|(name, scores)| (*name, scores)).collect();
        let mut evaluation = Evaluation::new(&truth, &models)?.ks(ks)?.level(*level)?.interval(interval);
        evaluation = evaluation.bootstrap(*bootstrap, *seed).progress(watch);
        let only = if let [only] = propensities.as_slice() { Some(only) } else { None };
        let gains = gains.map(|gains| gains.of(stats.as_ref(), only)).transpose()?;
        evaluation = propensities.into_iter().fold(evaluation, Evaluation::propensity);
        if let Some(stats) = &stats {
            evaluation = evaluation.train(stats);
        }
        if let Some(metrics) = metrics {
            evaluation = evaluation.metrics(&metrics.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        if let Some(estimators) = &estimators {
            evaluation = evaluation.estimators(estimators);
        }
        if let Some(groups) = groups {
            evaluation = evaluation.groups(groups.groups(stats.as_ref())?)?;
        }
        if let Some((name, weights)) = gains {
            evaluation = evaluation.weights(name, weights)?;
        }
        if let Some(tau) = clip {
            evaluation = evaluation.clip(*tau)?;
        }
        if let Some(rate) = rate {
            evaluation = evaluation.rate(rate)?;
        }
        if let Some(shown) = &shown {
            evaluation = evaluation.shown(shown)?;
        }
        if let Some(counts) = counts {
            evaluation = evaluation.label_counts(counts)?;
        }
        if let Some(conventions) = conventions {
            evaluation = evaluation.conventions(conventions);
        }
        evaluation.run()
    })?;
    json(&result)
}

/// The numbers of another library at 1, 2, ..., k, by its names.
#[pyfunction]
pub(crate) fn compat_values(
    py: Python<'_>,
    library: &str,
    truth: Sparse<'_>,
    scores: Sparse<'_>,
    inverse: Option<PyReadonlyArray1<'_, f64>>,
    k: usize,
    how: How,
) -> PyResult<Vec<(&'static str, Vec<f64>)>> {
    let library = Library::of_name(library).map_err(exception)?;
    let (truth, scores) = (truth.slices()?, scores.slices()?);
    let inverse = inverse.as_ref().map(|array| array.as_slice()).transpose()?;
    let values = run(py, &how, |_| compat::evaluate(library, &truth.labels()?, &scores.scores()?, inverse, k))?;
    Ok(values.into_iter().map(|function| (function.name, function.values)).collect())
}

/// Results are small; Python reads them back to the last digit.
pub(crate) fn json(result: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(result).map_err(|cause| exception(unmissed::Error::value(format!("cannot write the result: {cause}"))))
}
