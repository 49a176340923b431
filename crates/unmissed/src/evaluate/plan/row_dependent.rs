//! Row-dependent propensities in a plan: which predictions a fit is about, which metrics it can estimate, and what the pass needs.

use super::settings::{ChosenMetric, RowDependent, RowFitted};
use crate::error::{Error, Result};
use crate::evaluate::builder::{Evaluation, same};
use crate::metrics::{Estimator, Metric, Shape};
use crate::propensity::rows::{CovariateLevel, GivenCovariate, GivenName, RowModel, score_unit};
use crate::request::EMPTY_ROWS;

/// What the pass needs of one fit.
pub(in crate::evaluate) struct RowFitPlan<'a> {
    pub(in crate::evaluate) model: &'a RowModel,
    /// The given covariates of rows and pairs, in the model's order.
    pub(in crate::evaluate) given: Vec<&'a GivenCovariate<'a>>,
    /// The unit of score differences.
    pub(in crate::evaluate) unit: f64,
}

/// Why row-dependent propensities give no estimate of a metric; `None` when they do.
fn why_not(metric: &dyn Metric, models: &[&RowModel]) -> Option<&'static str> {
    match metric.shape() {
        Shape::Sum(term) if term.by_relevant() => Some("the numbers of relevant labels would have to be given"),
        Shape::Sum(term) if term.pooled() => {
            Some("it is a ratio of sums over all observed labels, including those that no model predicts")
        }
        Shape::Sum(_) => None,
        Shape::Product if models.iter().any(|model| model.uses_observed_labels()) => {
            Some("it is not a sum, and a covariate uses other observed labels of the row, so labels are not independent")
        }
        Shape::Product => None,
        Shape::Set(_) => Some("it is not a sum over labels: its terms need labels that go missing independently"),
        Shape::Label(_) => Some("it is computed from counts by label, to which row-dependent propensities do not apply"),
    }
}

impl<'a> Evaluation<'a> {
    /// Whether row-dependent propensities allow an unbiased estimate of a metric.
    pub(super) fn check_row_dependent(&self, metric: &dyn Metric) -> Result<()> {
        let models: Vec<&RowModel> = self.row_models.iter().map(|(_, model)| model).collect();
        match why_not(metric, &models) {
            None => Ok(()),
            Some(reason) => Err(Error::value(format!("'{}' has no estimate under row-dependent propensities", metric.name()))
                .expected("sums over labels, such as precision, ndcg or weighted-precision")
                .hint(reason)),
        }
    }

    /// The places of the predictions that a fit is about.
    fn predictions_of(&self, model: &RowModel, notes: &mut Vec<String>) -> Result<Vec<usize>> {
        let all = || (0..self.models.len()).collect();
        let Some(audited) = model.audited().filter(|_| model.uses_scores()) else { return Ok(all()) };
        if let Some(place) = self.models.iter().position(|(name, _)| name == audited) {
            return Ok(vec![place]);
        }
        if let [(name, _)] = &self.models[..] {
            notes.push(format!("the row model was fitted with predictions called '{audited}'; it is applied to '{name}'"));
            return Ok(all());
        }
        let names: Vec<&str> = self.models.iter().map(|(name, _)| name.as_str()).collect();
        Err(Error::value("the row model was fitted to other predictions")
            .expected(format!("predictions called '{audited}'"))
            .found(names.join(", "))
            .hint("its ranks are those of one audited model: use the same name, NAME=FILE, in both commands"))
    }

    /// The fits by name and predictions: places among the row models.
    fn row_fits(&self, notes: &mut Vec<String>) -> Result<Vec<(String, Vec<Option<usize>>)>> {
        let mut all: Vec<(String, Vec<Option<usize>>)> = Vec::new();
        for (place, (origin, model)) in self.row_models.iter().enumerate() {
            same("the row model", "labels", self.truth.cols(), model.label_count())?;
            let at = all.iter().position(|(other, _)| other == origin).unwrap_or_else(|| {
                all.push((origin.clone(), vec![None; self.models.len()]));
                all.len() - 1
            });
            for of in self.predictions_of(model, notes)? {
                if all[at].1[of].replace(place).is_some() {
                    return Err(Error::value(format!(
                        "two row-dependent propensity models of the same predictions are called '{origin}'"
                    ))
                    .hint("give each its own name"));
                }
            }
        }
        Ok(all)
    }

    /// What is computed under row-dependent propensities.
    pub(super) fn choose_row_dependent(&self, metrics: &[ChosenMetric], notes: &mut Vec<String>) -> Result<Vec<RowDependent>> {
        if self.row_models.is_empty() {
            return Ok(Vec::new());
        }
        if self.request.rate.is_some() {
            return Err(
                Error::value("a controlled set has a known rate, so it needs no propensities").hint("leave the row model out")
            );
        }
        if self.request.conventions.differs(&EMPTY_ROWS) {
            return Err(Error::value("rows without labels cannot be left out under row-dependent propensities")
                .hint("which rows have no label depends on which labels are missing: leave empty-rows out"));
        }
        let mut all = Vec::new();
        let mut left_out: Vec<String> = Vec::new();
        for (origin, fits) in self.row_fits(notes)? {
            let models: Vec<&RowModel> = fits.iter().flatten().map(|place| &self.row_models[*place].1).collect();
            let mut has = Vec::new();
            for chosen in metrics {
                let is_possible = why_not(chosen.metric()?, &models).is_none();
                if !is_possible && !left_out.contains(&chosen.name()) {
                    left_out.push(chosen.name());
                }
                has.push(is_possible && chosen.wants(Estimator::Unbiased));
            }
            let fitted = fits.iter().enumerate().map(|(of, place)| {
                let Some(place) = place else { return Ok(None) };
                self.fitted(&self.row_models[*place].1, of, metrics).map(Some)
            });
            let fits: Vec<Option<RowFitted>> = fitted.collect::<Result<_>>()?;
            if fits.len() > 1 && fits.contains(&None) {
                notes.push(format!(
                    "{origin}: differences between models are not computed with predictions that it was not fitted to"
                ));
            }
            all.push(RowDependent { origin, metrics: has, fits });
        }
        if !left_out.is_empty() {
            notes.push(format!("not available under row-dependent propensities: {}", left_out.join(", ")));
        }
        if self.groups.is_some() && metrics.iter().any(|chosen| chosen.wants(Estimator::Ratio)) {
            notes.push("the ratio of later and observed hits is the same for all labels: it has no values by group".into());
        }
        for (origin, model) in &self.row_models {
            let (matched, pairs, observed) = model.sizes();
            notes.push(format!(
                "{origin}: fitted to {pairs} relevant pairs of {matched} rows, {observed} of them observed; in {} of {} bins of \
                 the reliability curve the prediction is outside the 95 % interval; {} refits. Labels that are missing from the \
                 later snapshot too are not accounted for.",
                model.calibration().outside(),
                model.calibration().bins.len(),
                model.replicates(),
            ));
            notes.extend(model.unfinished().map(|what| format!("{origin}: {what}")));
        }
        Ok(all)
    }

    fn fitted(&self, model: &RowModel, of: usize, metrics: &[ChosenMetric]) -> Result<RowFitted> {
        let ks = self.request.k.as_slice();
        // Hits by rank are those of the audited predictions, also where the propensities do not depend on them.
        let is_audited = self.models.len() == 1 || model.audited().is_some_and(|name| name == self.models[of].0);
        let mut ratios = Vec::new();
        for chosen in metrics {
            let hits = model.hits().filter(|_| is_audited && chosen.wants(Estimator::Ratio));
            ratios.push(match (chosen.metric()?.shape(), hits) {
                (Shape::Sum(term), Some(hits)) => {
                    let discounts = |k: usize| (0..k).map(|rank| term.discount(rank)).collect::<Vec<f64>>();
                    ks.iter().map(|k| hits.ratios(&discounts(*k)).unwrap_or_default()).collect()
                }
                _ => vec![Vec::new(); ks.len()],
            });
        }
        Ok(RowFitted { refits: model.replicates(), dependence: ks.iter().map(|k| model.dependence(*k)).collect(), ratios })
    }

    /// What the pass needs of the fits, by name and predictions.
    pub(super) fn plan_row_dependent(&'a self) -> Result<Vec<Vec<Option<RowFitPlan<'a>>>>> {
        let plan = |place: &Option<usize>, of: usize| {
            let Some(place) = place else { return Ok(None) };
            let model = &self.row_models[*place].1;
            Ok(Some(RowFitPlan { model, given: self.given_for(model)?, unit: score_unit(self.models[of].1) }))
        };
        let fits = self.row_fits(&mut Vec::new())?;
        fits.iter().map(|(_, fits)| fits.iter().enumerate().map(|(of, place)| plan(place, of)).collect()).collect()
    }

    /// The given covariates of rows and pairs that a fit needs, in its order.
    fn given_for(&'a self, model: &RowModel) -> Result<Vec<&'a GivenCovariate<'a>>> {
        let needed = model.given().iter().filter(|given| given.level != CovariateLevel::Label);
        let find = |given: &GivenName| {
            let found = self.row_covariates.iter().find(|(name, values)| *name == given.name && values.level() == given.level);
            found.map(|(_, values)| values).ok_or_else(|| {
                let (what, hint) = match given.level {
                    CovariateLevel::Row => ("row", "pass --row-covariates with a column of this name"),
                    _ => ("pair", "pass --pair-covariate NAME=FILE with this name"),
                };
                Error::value(format!("the row model needs the covariate '{}' of the test rows", given.name))
                    .expected(format!("a value for each {what}"))
                    .hint(hint)
            })
        };
        needed.map(find).collect()
    }
}
