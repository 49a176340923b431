//! Predictions for a metric.

use crate::choices::{Gains, Lines, Weights};
use crate::errors::exception;
use crate::evaluate::json;
use crate::matrix::{Arrays, Sparse, scores_out};
use crate::propensities::Given;
use crate::rows::Rows;
use crate::run::{How, run};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use std::sync::Arc;
use unmissed::data::LabelStats;
use unmissed::optimize::Optimization;
use unmissed::propensity::{Propensity, RowPropensities};
use unmissed::request::{Level, ObjectiveSpec, OptimizeRequest, WeightsSpec};
use unmissed::{Error, Result};

/// What to optimise, and what is known about the labels.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct OptimizeGiven<'py> {
    metric: String,
    k: usize,
    at_most: bool,
    method: String,
    sweeps: usize,
    tolerance: f64,
    positives: String,
    propensity: Option<Given<'py>>,
    row_propensity: Option<(String, Py<Rows>)>,
    corrected: bool,
    weights: Option<Weights<'py>>,
    draws: usize,
    level: f64,
    seed: u64,
    train: Option<Sparse<'py>>,
    test: Option<Sparse<'py>>,
}

impl OptimizeGiven<'_> {
    fn request(&self, gains: Option<&Gains>) -> Result<OptimizeRequest> {
        let (metric, at) = ObjectiveSpec::parse_at(&self.metric)?;
        // The number of labels may stand in either place; that of the signature is no choice of anybody's.
        let k = match at {
            Some(at) if at != self.k && self.k != OptimizeRequest::default().k => {
                return Err(Error::value("two different numbers of labels per row").found(format!("@{at} and k={}", self.k)));
            }
            Some(at) => at,
            None => self.k,
        };
        let weights = match gains {
            Some(Gains::Scheme(scheme)) => Some(scheme.parse()?),
            Some(Gains::Values(_)) | None => None,
        };
        Ok(OptimizeRequest {
            metric,
            k,
            at_most: self.at_most,
            method: self.method.parse()?,
            sweeps: self.sweeps,
            tolerance: self.tolerance,
            positives: self.positives.parse()?,
            propensity: None,
            corrected: self.corrected,
            weights,
            draws: self.draws,
            level: Level::new(self.level)?,
            seed: self.seed,
        })
    }

    fn propensity(&self) -> PyResult<Option<Propensity>> {
        Ok(match (&self.propensity, &self.row_propensity) {
            (Some(given), _) => Some(given.propensities()?.map_err(exception)?.into()),
            (None, Some((name, rows))) => Some(RowPropensities::new(name.clone(), Arc::clone(&rows.get().model)).into()),
            (None, None) => None,
        })
    }
}

/// Chosen labels, most probable labels, a and b of each label's line, and the report as JSON.
type Outcome<'py> = (Arrays<'py>, Arrays<'py>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, String);

/// Chooses labels for a metric.
#[pyfunction]
pub(crate) fn optimize<'py>(py: Python<'py>, scores: Sparse<'_>, given: OptimizeGiven<'_>, how: How) -> PyResult<Outcome<'py>> {
    let scores = scores.slices()?;
    let train = given.train.as_ref().map(|train| train.slices()).transpose()?;
    let test = given.test.as_ref().map(|test| test.slices()).transpose()?;
    let gains = given.weights.as_ref().map(Weights::gains).transpose()?;
    let propensity = given.propensity()?;
    let request = given.request(gains.as_ref()).map_err(exception)?;
    let found = run(py, &how, |watch| {
        let scores = scores.scores()?;
        let stats = train.map(|train| train.labels()).transpose()?.as_ref().map(LabelStats::of);
        let test = test.map(|test| test.labels()).transpose()?;
        let mut optimization = Optimization::new(&scores, request)?.progress(watch);
        optimization = stats.iter().fold(optimization, Optimization::train);
        optimization = propensity.into_iter().fold(optimization, Optimization::propensity);
        if let Some(Gains::Values(weights)) = gains {
            optimization = optimization.weights("given", weights)?;
        }
        if let Some(test) = &test {
            optimization = optimization.test(test)?;
        }
        optimization.run()
    })?;
    let line = |at: usize| found.weighting.lines().iter().map(|line| line[at]).collect::<Vec<f64>>();
    let (a, b) = (line(0).into_pyarray(py), line(1).into_pyarray(py));
    let report = json(&found.report)?;
    Ok((scores_out(py, found.predictions), scores_out(py, found.most_probable), a, b, report))
}

/// Gives rows labels by the lines of an earlier search.
#[pyfunction]
pub(crate) fn apply_lines<'py>(
    py: Python<'py>,
    scores: Sparse<'_>,
    lines: Lines<'_>,
    given: OptimizeGiven<'_>,
    how: How,
) -> PyResult<Arrays<'py>> {
    let scores = scores.slices()?;
    let weighting = lines.weighting()?;
    let propensity = given.propensity()?;
    let request = given.request(None).map_err(exception)?;
    let found = run(py, &how, |watch| {
        let scores = scores.scores()?;
        let optimization = Optimization::new(&scores, request)?.progress(watch);
        propensity.into_iter().fold(optimization, Optimization::propensity).apply(&weighting)
    })?;
    Ok(scores_out(py, found))
}

/// What to say about a scheme of weights beside propensities, if anything.
#[pyfunction]
pub(crate) fn corrects_twice(weights: &str) -> PyResult<Option<String>> {
    Ok(weights.parse::<WeightsSpec>().map_err(exception)?.corrects_twice())
}
