//! Audits: everything put together, and the page about it.

use crate::annotate::JudgedGiven;
use crate::choices::{Gains, Grouping, RateGiven, Weights};
use crate::errors::exception;
use crate::evaluate::json;
use crate::ignored::IgnoredGiven;
use crate::matrix::{Slices, Sparse};
use crate::propensities::Given;
use crate::run::{How, run};
use pyo3::prelude::*;
use std::path::PathBuf;
use unmissed::Result;
use unmissed::audit::{Audit, Baseline, Naming};
use unmissed::data::{Csr, Dataset, Names, NamesOf, Texts};
use unmissed::evaluate::Groups;
use unmissed::report::{label_csv, page, row_csv};
use unmissed::request::{AuditRequest, KList, Level, WeightsSpec};

/// What there is beside the test rows and their predictions, and what is asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AuditInputs<'py> {
    name: String,
    train: Option<Sparse<'py>>,
    models: Option<Vec<String>>,
    known: Vec<Given<'py>>,
    controlled: Option<Sparse<'py>>,
    later: Option<Sparse<'py>>,
    train_predictions: Vec<(String, Sparse<'py>)>,
    truth: Option<Sparse<'py>>,
    baseline: Option<String>,
    json: Option<String>,
    judged: Option<JudgedGiven>,
    rate: Option<RateGiven<'py>>,
    groups: Option<Grouping>,
    weights: Option<Weights<'py>>,
    ignore: Option<IgnoredGiven<'py>>,
    ks: Vec<usize>,
    level: f64,
    bootstrap: usize,
    seed: u64,
    label_names: Option<Vec<String>>,
    row_names: Option<Vec<String>>,
    row_texts: Option<Vec<String>>,
    labels_csv: Option<PathBuf>,
    rows_csv: Option<PathBuf>,
}

/// A request, with the groups and weights that only arrays describe.
struct Asked {
    request: AuditRequest,
    groups: Option<Groups>,
    weights: Option<Vec<f64>>,
}

impl AuditInputs<'_> {
    fn asked(&self) -> PyResult<Asked> {
        let (mut groups_spec, mut groups) = (None, None);
        match &self.groups {
            Some(Grouping::Names(names)) => groups = Some(Groups::from_names(names).map_err(exception)?),
            Some(Grouping::Spec(spec)) => groups_spec = Some(spec.parse().map_err(exception)?),
            None => {}
        }
        let (mut weights_spec, mut weights) = (None, None);
        match self.weights.as_ref().map(Weights::gains).transpose()? {
            Some(Gains::Values(values)) => weights = Some(values),
            Some(Gains::Scheme(scheme)) => weights_spec = Some(scheme.parse().map(WeightsSpec::Scheme).map_err(exception)?),
            None => {}
        }
        let models = self.models.as_ref().map(|texts| texts.iter().map(|text| text.parse()).collect::<Result<_>>()).transpose();
        let request = AuditRequest {
            name: self.name.clone(),
            propensities: models.map_err(exception)?,
            k: KList::new(&self.ks).map_err(exception)?,
            level: Level::new(self.level).map_err(exception)?,
            bootstrap: self.bootstrap,
            seed: self.seed,
            groups: groups_spec,
            weights: weights_spec,
            rate: self.rate.as_ref().map(RateGiven::rate).transpose()?,
            ..AuditRequest::default()
        };
        Ok(Asked { request, groups, weights })
    }
}

/// The result as JSON, and the page.
#[pyfunction]
pub(crate) fn audit(
    py: Python<'_>,
    test: Sparse<'_>,
    predictions: Vec<(String, Sparse<'_>)>,
    inputs: AuditInputs<'_>,
    how: How,
) -> PyResult<(String, String)> {
    let test = test.slices()?;
    let predictions =
        predictions.iter().map(|(name, scores)| Ok((name.as_str(), scores.slices()?))).collect::<PyResult<Vec<_>>>()?;
    let of_train = inputs
        .train_predictions
        .iter()
        .map(|(name, scores)| Ok((name.as_str(), scores.slices()?)))
        .collect::<PyResult<Vec<_>>>()?;
    let (train, controlled) = (slices(&inputs.train)?, slices(&inputs.controlled)?);
    let (later, truth) = (slices(&inputs.later)?, slices(&inputs.truth)?);
    let known = inputs.known.iter().map(|given| given.propensities()?.map_err(exception)).collect::<PyResult<Vec<_>>>()?;
    let asked = inputs.asked()?;
    let (baseline, json_file) = (inputs.baseline.clone(), inputs.json.clone());
    let names = |of, names: &Option<Vec<String>>| names.as_ref().map(|names| Names::new(of, names)).transpose().map_err(exception);
    let (label_names, row_names) = (names(NamesOf::Labels, &inputs.label_names)?, names(NamesOf::Rows, &inputs.row_names)?);
    let row_texts = inputs.row_texts.as_ref().map(Texts::new);
    let (labels_csv, rows_csv) = (inputs.labels_csv.as_deref(), inputs.rows_csv.as_deref());
    let judged = &inputs.judged;
    let ignored = inputs.ignore.as_ref().map(IgnoredGiven::slices).transpose()?;
    let result = run(py, &how, |watch| {
        let test = Dataset::new(None, test.labels()?)?;
        let (train, controlled, later, truth) = (part(train)?, part(controlled)?, part(later)?, part(truth)?);
        let scores = predictions.iter().map(|(name, slices)| Ok((*name, slices.scores()?))).collect::<Result<Vec<_>>>()?;
        let named: Vec<(&str, &Csr<'_, f32>)> = scores.iter().map(|(name, scores)| (*name, scores)).collect();
        let of_train = of_train.iter().map(|(name, slices)| Ok((*name, slices.scores()?))).collect::<Result<Vec<_>>>()?;
        let Asked { request, groups, weights } = asked;
        let naming = Naming { labels: label_names.as_ref(), rows: row_names.as_ref(), texts: row_texts.as_ref() };
        let audit = Audit::new(&test, &named)?.request(request).names(naming)?.progress(watch);
        let mut audit = known.into_iter().fold(audit, Audit::propensity);
        if let Some(train) = &train {
            audit = audit.train(train);
        }
        if let Some(controlled) = &controlled {
            audit = audit.controlled(controlled);
        }
        if let Some(later) = &later {
            audit = audit.later(later);
        }
        for (name, scores) in &of_train {
            audit = audit.train_predictions(*name, scores);
        }
        if let Some(judged) = judged {
            audit = audit.judged(judged.judged(test.rows(), test.labels().cols())?);
        }
        if let Some(truth) = &truth {
            audit = audit.truth(truth)?;
        }
        if let Some(groups) = groups {
            audit = audit.groups(groups)?;
        }
        if let Some(weights) = weights {
            audit = audit.weights("given", weights)?;
        }
        if let Some(ignored) = &ignored {
            audit = audit.ignore(ignored.pairs(test.rows(), test.labels().cols())?)?;
        }
        let baseline = baseline.map(Baseline::read).transpose()?;
        if let Some(baseline) = &baseline {
            audit = audit.baseline(baseline);
        }
        let mut result = audit.run()?;
        if let Some(path) = json_file {
            audit.write_json(&mut result, path)?;
        }
        let page = page::render(&result)?;
        labels_csv.map_or(Ok(()), |path| label_csv::write(&result, path))?;
        rows_csv.map_or(Ok(()), |path| row_csv::write(&result, path))?;
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
