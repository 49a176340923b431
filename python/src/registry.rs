//! What the library's registries hold, for documentation and tests.

use pyo3::prelude::*;
use unmissed::data::formats::FORMATS;
use unmissed::data::generators::GENERATORS;
use unmissed::losses::LOSSES;
use unmissed::metrics::METRICS;
use unmissed::propensity::estimators::ESTIMATORS;
use unmissed::propensity::models::MODELS;
use unmissed::spec::{self, Named};

use crate::errors::exception;

fn entries<T: Named + ?Sized>(entries: &[&'static T]) -> Vec<(&'static str, &'static str)> {
    entries.iter().map(|entry| (entry.name(), entry.summary())).collect()
}

/// Names and summaries of a registry.
#[pyfunction]
pub(crate) fn registry(name: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    Ok(match name {
        "formats" => entries(FORMATS),
        "generators" => entries(GENERATORS),
        "models" => entries(MODELS),
        "estimators" => entries(ESTIMATORS),
        "metrics" => entries(METRICS),
        "losses" => entries(LOSSES),
        _ => {
            let names = ["formats", "generators", "models", "estimators", "metrics", "losses"];
            return Err(exception(spec::unknown("registry", name, &names)));
        }
    })
}

/// The estimators of a metric and what each assumes.
#[pyfunction]
pub(crate) fn offers(metric: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    let metric = unmissed::metrics::find(metric).map_err(exception)?;
    Ok(metric.offers().iter().map(|offer| (offer.estimator.name(), offer.assumption.sentence())).collect())
}

/// Name, default and help of the parameters of a generator.
#[pyfunction]
pub(crate) fn parameters(generator: &str) -> PyResult<Vec<(&'static str, &'static str, &'static str)>> {
    let generator = spec::find(GENERATORS, "generator", generator).map_err(exception)?;
    Ok(generator.parameters().iter().map(|parameter| (parameter.name, parameter.default, parameter.help)).collect())
}
