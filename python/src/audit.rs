//! Audits: everything put together, and the page about it.

use crate::choices::{Grouping, Shown, Weights};
use crate::errors::exception;
use crate::evaluate::json;
use crate::matrix::{Slices, Sparse};
use crate::propensities::Given;
use crate::run::{How, run};
use pyo3::prelude::*;
use unmissed::Result;
use unmissed::audit::Audit;
use unmissed::data::{Csr, Dataset, LabelStats, Rate};
use unmissed::propensity::models::PropensitySpec;
use unmissed::report::page;

/// What there is.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AuditRequest<'py> {
    name: String,
    train: Option<Sparse<'py>>,
    models: Option<Vec<String>>,
    known: Vec<Given<'py>>,
    controlled: Option<Sparse<'py>>,
    later: Option<Sparse<'py>>,
    train_predictions: Vec<(String, Sparse<'py>)>,
    truth: Option<Sparse<'py>>,
    rate: Option<Shown<'py>>,
    groups: Option<Grouping>,
    weights: Option<Weights<'py>>,
    ks: Vec<usize>,
    level: f64,
    bootstrap: usize,
    seed: u64,
}

/// The result as JSON, and the page.
#[pyfunction]
pub(crate) fn audit(
    py: Python<'_>,
    test: Sparse<'_>,
    predictions: Vec<(String, Sparse<'_>)>,
    request: AuditRequest<'_>,
    how: How,
) -> PyResult<(String, String)> {
    let test = test.slices()?;
    let predictions =
        predictions.iter().map(|(name, scores)| Ok((name.as_str(), scores.slices()?))).collect::<PyResult<Vec<_>>>()?;
    let of_train = request
        .train_predictions
        .iter()
        .map(|(name, scores)| Ok((name.as_str(), scores.slices()?)))
        .collect::<PyResult<Vec<_>>>()?;
    let (train, controlled) = (slices(&request.train)?, slices(&request.controlled)?);
    let (later, truth) = (slices(&request.later)?, slices(&request.truth)?);
    let parsed =
        request.models.as_ref().map(|texts| texts.iter().map(|text| text.parse()).collect::<Result<Vec<PropensitySpec>>>());
    let parsed = parsed.transpose().map_err(exception)?;
    let known = request.known.iter().map(|given| given.propensities()?.map_err(exception)).collect::<PyResult<Vec<_>>>()?;
    let rate = request.rate.as_ref().map(Shown::rate).transpose()?;
    let weights = request.weights.as_ref().map(Weights::gains).transpose()?;
    let AuditRequest { name, groups, ks, level, bootstrap, seed, .. } = &request;
    let result = run(py, &how, |watch| {
        let test = Dataset::new(None, test.labels()?)?;
        let (train, controlled, later, truth) = (part(train)?, part(controlled)?, part(later)?, part(truth)?);
        let scores = predictions.iter().map(|(name, slices)| Ok((*name, slices.scores()?))).collect::<Result<Vec<_>>>()?;
        let named: Vec<(&str, &Csr<'_, f32>)> = scores.iter().map(|(name, scores)| (*name, scores)).collect();
        let of_train = of_train.iter().map(|(name, slices)| Ok((*name, slices.scores()?))).collect::<Result<Vec<_>>>()?;
        let stats = train.as_ref().map(|train| LabelStats::of(train.labels()));
        let mut audit = Audit::new(&test, &named)?.name(name.clone()).ks(ks).level(*level).seed(*seed).bootstrap(*bootstrap);
        audit = known.into_iter().fold(audit.progress(watch), Audit::known);
        if let Some(parsed) = parsed {
            audit = audit.propensities(parsed);
        }
        if let Some(train) = &train {
            audit = audit.train(train);
        }
        if let Some(later) = &later {
            audit = audit.later(later);
        }
        for (name, scores) in &of_train {
            audit = audit.train_predictions(*name, scores);
        }
        if let Some(truth) = &truth {
            audit = audit.truth(truth);
        }
        match (&controlled, rate) {
            (Some(controlled), Some(rate)) => audit = audit.controlled(controlled, rates(rate)),
            (None, Some(rate)) => audit = audit.rate(rate),
            _ => {}
        }
        if let Some(groups) = groups {
            audit = audit.groups(groups.groups(stats.as_ref())?);
        }
        if let Some(weights) = weights {
            let (name, weights) = weights.of(stats.as_ref(), None)?;
            audit = audit.weights(name, weights);
        }
        let result = audit.run()?;
        let page = page::render(&result)?;
        Ok((result, page))
    })?;
    Ok((json(&result.0)?, result.1))
}

fn slices<'a>(part: &'a Option<Sparse<'_>>) -> PyResult<Option<Slices<'a>>> {
    part.as_ref().map(|part| part.slices()).transpose()
}

fn part(slices: Option<Slices<'_>>) -> Result<Option<Dataset<'_>>> {
    slices.map(|slices| Dataset::new(None, slices.labels()?)).transpose()
}

/// The rate of a controlled set as estimators take it.
fn rates(rate: unmissed::evaluate::Rate) -> Rate {
    match rate {
        unmissed::evaluate::Rate::Shown { shown, of } => Rate::Shown { shown, of },
        unmissed::evaluate::Rate::PerLabel(rates) => Rate::PerLabel(rates),
    }
}
