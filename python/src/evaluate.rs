//! Evaluation.

use crate::annotate::JudgedGiven;
use crate::choices::{Gains, Grouping, RateGiven, Weights};
use crate::errors::exception;
use crate::ignored::IgnoredGiven;
use crate::matrix::Sparse;
use crate::propensities::Given;
use crate::rows::{Columns, Matrices, Rows, columns, matrices, read};
use crate::run::{How, run};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::sync::Arc;
use unmissed::Result;
use unmissed::data::{Csr, LabelStats, Names, NamesOf, Rate};
use unmissed::evaluate::compat::{self, Library};
use unmissed::evaluate::{Evaluation, Groups};
use unmissed::propensity::rows::{GivenCovariate, MatchedRows, RowModel};
use unmissed::propensity::{Propensities, RowPropensities};
use unmissed::request::{EvaluateRequest, KList, Level};

/// What to evaluate against, and how. What is not given takes the default of the library, which checks arrays and names too.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Request<'py> {
    train: Option<Sparse<'py>>,
    pub(crate) propensities: Vec<Given<'py>>,
    later: Option<Sparse<'py>>,
    train_predictions: Matrices<'py>,
    row_propensities: Vec<(String, Py<Rows>)>,
    row_covariates: Columns<'py>,
    pair_covariates: Matrices<'py>,
    metrics: Option<Vec<String>>,
    estimators: Option<Vec<String>>,
    ks: Option<Vec<usize>>,
    level: Option<f64>,
    interval: Option<String>,
    bootstrap: Option<usize>,
    seed: Option<u64>,
    pub(crate) groups: Option<Grouping>,
    pub(crate) weights: Option<Weights<'py>>,
    clip: Option<f64>,
    sensitivity: Option<String>,
    pub(crate) rate: Option<RateGiven<'py>>,
    shown: Option<Sparse<'py>>,
    label_counts: Option<PyReadonlyArray1<'py, u32>>,
    conventions: Option<String>,
    label_names: Option<Vec<String>>,
    judged: Option<JudgedGiven>,
    judged_method: Option<String>,
    ignore: Option<IgnoredGiven<'py>>,
}

impl Request<'_> {
    /// The library's request; data that are given as arrays come on their own.
    pub(crate) fn request(&self, rate: Option<Rate>, gains: Option<&Gains>) -> Result<EvaluateRequest> {
        let default = EvaluateRequest::default();
        let groups = match &self.groups {
            Some(Grouping::Spec(spec)) => Some(spec.parse()?),
            Some(Grouping::Names(_)) | None => None,
        };
        let weights = match gains {
            Some(Gains::Scheme(scheme)) => Some(scheme.parse()?),
            Some(Gains::Values(_)) | None => None,
        };
        fn all<T: std::str::FromStr<Err = unmissed::Error>>(texts: &Option<Vec<String>>) -> Result<Option<Vec<T>>> {
            texts.as_ref().map(|texts| texts.iter().map(|text| text.parse()).collect()).transpose()
        }
        Ok(EvaluateRequest {
            metrics: all(&self.metrics)?,
            estimators: all(&self.estimators)?,
            k: self.ks.as_ref().map_or(Ok(default.k), |ks| KList::new(ks))?,
            level: self.level.map_or(Ok(default.level), Level::new)?,
            interval: self.interval.as_ref().map_or(Ok(default.interval), |name| name.parse())?,
            bootstrap: self.bootstrap.unwrap_or(default.bootstrap),
            seed: self.seed.unwrap_or(default.seed),
            groups,
            weights,
            clip: self.clip,
            sensitivity: self.sensitivity.as_ref().map(|text| text.parse()).transpose()?,
            rate,
            judged_method: self.judged_method.as_ref().map_or(Ok(default.judged_method), |name| name.parse())?,
            conventions: self.conventions.as_ref().map_or(Ok(default.conventions), |text| text.parse())?,
            ..EvaluateRequest::default()
        })
    }
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
    let later = request.later.as_ref().map(|later| later.slices()).transpose()?;
    let of_train = matrices(&request.train_predictions)?;
    let shown = request.shown.as_ref().map(|shown| shown.slices()).transpose()?;
    let mut propensities: Vec<Propensities> = Vec::new();
    for given in &request.propensities {
        propensities.push(given.propensities()?.map_err(exception)?);
    }
    let row_models: Vec<(String, Arc<RowModel>)> =
        request.row_propensities.iter().map(|(name, rows)| (name.clone(), Arc::clone(&rows.get().model))).collect();
    let (of_rows, of_pairs) = (columns(&request.row_covariates)?, matrices(&request.pair_covariates)?);
    let gains = request.weights.as_ref().map(Weights::gains).transpose()?;
    let rate = request.rate.as_ref().map(RateGiven::rate).transpose()?;
    let wanted = request.request(rate, gains.as_ref()).map_err(exception)?;
    let counts = request.label_counts.as_ref().map(|array| array.as_slice().map(<[u32]>::to_vec)).transpose()?;
    let groups = &request.groups;
    let names = request.label_names.as_ref().map(|names| Names::new(NamesOf::Labels, names)).transpose().map_err(exception)?;
    let judged = &request.judged;
    let ignored = request.ignore.as_ref().map(IgnoredGiven::slices).transpose()?;
    let result = run(py, &how, |watch| {
        let truth = truth.labels()?;
        let train = train.map(|train| train.labels()).transpose()?;
        let stats = train.as_ref().map(LabelStats::of);
        let shown = shown.map(|shown| shown.labels()).transpose()?;
        let later = later.map(|later| later.labels()).transpose()?;
        let of_train = read(&of_train)?;
        let scores = predictions.iter().map(|(name, slices)| Ok((*name, slices.scores()?))).collect::<Result<Vec<_>>>()?;
        let models: Vec<(&str, &Csr<'_, f32>)> = scores.iter().map(|(name, scores)| (*name, scores)).collect();
        let pairs = read(&of_pairs)?;
        let mut evaluation = Evaluation::new(&truth, &models)?.progress(watch);
        if let Some(stats) = &stats {
            evaluation = evaluation.train(stats);
        }
        evaluation = propensities.into_iter().fold(evaluation, Evaluation::propensity);
        for (name, model) in row_models {
            evaluation = evaluation.propensity(RowPropensities::new(name, model));
        }
        evaluation = evaluation.request(wanted)?;
        if let Some(names) = &names {
            evaluation = evaluation.label_names(names)?;
        }
        for (name, values) in of_rows {
            evaluation = evaluation.row_covariate(&name, GivenCovariate::Rows(values))?;
        }
        for (name, matrix) in &pairs {
            evaluation = evaluation.row_covariate(name, GivenCovariate::Pairs(matrix))?;
        }
        if let Some(Grouping::Names(names)) = groups {
            evaluation = evaluation.groups(Groups::from_names(names)?)?;
        }
        if let Some(Gains::Values(weights)) = gains {
            evaluation = evaluation.weights("given", weights)?;
        }
        if let Some(shown) = &shown {
            evaluation = evaluation.shown(shown)?;
        }
        if let Some(counts) = counts {
            evaluation = evaluation.label_counts(counts)?;
        }
        if let Some(judged) = judged {
            evaluation = evaluation.judged(judged.judged(truth.rows(), truth.cols())?);
        }
        if let Some(ignored) = &ignored {
            evaluation = evaluation.ignore(ignored.pairs(truth.rows(), truth.cols())?)?;
        }
        match (&train, &later) {
            (Some(train), Some(later)) => {
                let matched = MatchedRows::new(train, later)?;
                let matched = of_train.iter().try_fold(matched, |rows, (name, scores)| rows.predictions(name, scores))?;
                evaluation = evaluation.later_snapshot(matched)?;
            }
            (None, Some(_)) => {
                return Err(unmissed::Error::value("a later snapshot without the training labels that it is compared with")
                    .hint("pass train="));
            }
            (_, None) if !of_train.is_empty() => {
                return Err(unmissed::Error::value("training predictions need a later snapshot").hint("pass later="));
            }
            (_, None) => {}
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
