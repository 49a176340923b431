//! What the library's registries hold: what Python's functions and their documentation are made from.

use crate::errors::exception;
use pyo3::prelude::*;
use unmissed::data::formats::FORMATS;
use unmissed::data::generators::GENERATORS;
use unmissed::experiments::EXPERIMENTS;
use unmissed::losses::LOSSES;
use unmissed::metrics::{self, Estimator, METRICS, Shape};
use unmissed::optimize::methods::METHODS;
use unmissed::optimize::objectives::OBJECTIVES;
use unmissed::propensity::estimators::PROPENSITY_ESTIMATORS;
use unmissed::propensity::models::{PROPENSITY_MODELS, PropensityModel};
use unmissed::spec::{self, Named};
use unmissed::tree::TREE_BUILDERS;

fn entries<T: Named + ?Sized>(entries: &[&'static T]) -> Vec<(&'static str, &'static str)> {
    entries.iter().map(|entry| (entry.name(), entry.summary())).collect()
}

/// Names and summaries of a registry.
#[pyfunction]
pub(crate) fn registry(name: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    Ok(match name {
        "formats" => entries(FORMATS),
        "generators" => entries(GENERATORS),
        "models" => entries(PROPENSITY_MODELS),
        "curves" => {
            let curves = |model: &&'static dyn PropensityModel| model.curves().iter().map(|curve| (curve.name(), model.summary()));
            PROPENSITY_MODELS.iter().flat_map(curves).collect()
        }
        "propensity-estimators" => entries(PROPENSITY_ESTIMATORS),
        "estimators" => Estimator::ALL.iter().map(|estimator| (estimator.name(), estimator.summary())).collect(),
        "metrics" => entries(METRICS),
        "losses" => entries(LOSSES),
        "trees" => entries(TREE_BUILDERS),
        "objectives" => entries(OBJECTIVES),
        "methods" => entries(METHODS),
        "experiments" => entries(EXPERIMENTS),
        _ => {
            let names = [
                "formats",
                "generators",
                "models",
                "curves",
                "propensity-estimators",
                "metrics",
                "estimators",
                "losses",
                "objectives",
                "methods",
                "trees",
                "experiments",
            ];
            return Err(exception(spec::unknown("registry", name, &names)));
        }
    })
}

/// The estimators of a metric and what each assumes.
#[pyfunction]
pub(crate) fn offers(metric: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    let metric = metrics::find(metric).map_err(exception)?;
    Ok(metric.offers().iter().map(|offer| (offer.estimator.name(), offer.assumption.sentence())).collect())
}

/// What a metric takes beyond what all take, in the words of Python's keywords, and whether a low value is good.
#[pyfunction]
pub(crate) fn nature(metric: &str) -> PyResult<(Vec<&'static str>, bool)> {
    let metric = metrics::find(metric).map_err(exception)?;
    let asks = match metric.shape() {
        Shape::Sum(term) => vec![("weights", term.weighted()), ("label_counts", term.by_relevant())],
        Shape::Label(term) => vec![("beta", term.has_beta())],
        Shape::Product | Shape::Set(_) => vec![],
    };
    let asked = asks.into_iter().filter(|(_, asked)| *asked).map(|(name, _)| name).collect();
    Ok((asked, metric.lower_is_better()))
}

/// How the spec string of each propensity model is written.
#[pyfunction]
pub(crate) fn syntaxes() -> Vec<(&'static str, &'static str)> {
    PROPENSITY_MODELS.iter().map(|model| (model.name(), model.syntax())).collect()
}

/// Name, default and help of the parameters of a generator.
#[pyfunction]
pub(crate) fn parameters(generator: &str) -> PyResult<Vec<(&'static str, &'static str, &'static str)>> {
    let generator = spec::find(GENERATORS, "generator", generator).map_err(exception)?;
    Ok(generator.parameters().iter().map(|parameter| (parameter.name, parameter.default, parameter.help)).collect())
}

/// Value, gradient and curvature of a loss at one logit.
#[pyfunction]
pub(crate) fn loss_at(loss: &str, logit: f64, observed: bool, propensity: f64) -> PyResult<(f64, f64, f64)> {
    let point = unmissed::losses::find(loss).map_err(exception)?.at(logit, observed, propensity);
    Ok((point.value, point.gradient, point.curvature))
}
