//! Evaluation with propensities that depend on the row, and doubly robust estimates from pairs whose status is known.
//!
//! `row_results` adds to an evaluation what a row model says: sums over
//! labels with `y~ / p(i, j)`, and beside them the ratio baseline. [`robust`] has estimates that need some pairs of known status.

mod cells;
mod known;
pub mod robust;

pub(in crate::evaluate) use known::{LaterRows, known_results};

use super::builder::{Evaluation, same};
use super::report::Row;
use crate::data::Csr;
use crate::error::{Error, Result};
use crate::evaluate::finish::interval::{Measured, of_mean};
use crate::metrics::{self, Assumption, Estimator, Metric, Shape};
use crate::propensity::rows::{CovariateLevel, GivenCovariate, Pair, Place, RowModel, score_unit};
use crate::request::EMPTY_ROWS;
use crate::request::IntervalKind;
use cells::{Cell, Part, Sums};
use rayon::prelude::*;

/// Rows that are summed together: fixed, so that sums do not depend on threads.
const CHUNK: usize = 256;

/// Rows for the row-dependent propensities of an evaluation, and notes.
pub(in crate::evaluate) fn row_results(evaluation: &Evaluation<'_>) -> Result<(Vec<Row>, Vec<String>)> {
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for (origin, model) in &evaluation.row_models {
        check(evaluation, model)?;
        let cells = chosen(evaluation, model, &mut notes)?;
        for (name, scores) in predictions(evaluation, model, &mut notes)? {
            let sums = pass(evaluation, model, scores, &cells)?;
            for (at, cell) in cells.iter().enumerate() {
                let row = |estimator: Estimator, assumption: Assumption, measured: Measured| {
                    let (low, high) = measured.ends(evaluation.level);
                    Row {
                        metric: cell.metric.clone(),
                        k: cell.k,
                        estimator,
                        propensity: Some(origin.clone()),
                        group: cell.part.map_or("all", |part| part.name()).into(),
                        model: name.to_owned(),
                        value: measured.value,
                        se: measured.se(),
                        low,
                        high,
                        n: evaluation.truth.rows() as u64,
                        assumption: assumption.sentence().into(),
                        bias: None,
                    }
                };
                let assumption = if cell.product { Assumption::RowDependentIndependent } else { Assumption::RowDependent };
                rows.push(row(Estimator::Unbiased, assumption, weighted(evaluation, model, cell, &sums, at)));
                if let Some(measured) = by_ratio(evaluation, model, cell, &sums, at) {
                    rows.push(row(Estimator::Ratio, Assumption::SameRatio, measured));
                }
            }
        }
        let (matched, pairs, observed) = model.sizes();
        notes.push(format!(
            "{origin}: fitted to {pairs} relevant pairs of {matched} rows, {observed} of them observed; {} of {} parts of the \
             reliability curve have their prediction outside the 95 % interval; {} refits. What the later labels miss stays unseen.",
            model.calibration().outside(),
            model.calibration().bins.len(),
            model.replicates(),
        ));
        notes.extend(model.unfinished().map(|what| format!("{origin}: {what}")));
    }
    if !evaluation.row_models.is_empty() && evaluation.models.len() > 1 {
        notes
            .push("differences of models are not computed under propensities that depend on the row: compare the intervals".into());
    }
    if !evaluation.row_models.is_empty() && evaluation.groups.is_some() {
        notes.push("the ratio of later and observed hits is one for all labels: it has no values by group".into());
    }
    Ok((rows, notes))
}

fn check(evaluation: &Evaluation<'_>, model: &RowModel) -> Result<()> {
    same("the row model", "labels", evaluation.truth.cols(), model.label_count())?;
    if evaluation.rate.is_some() {
        return Err(Error::value("a controlled set has a known rate, so it needs no propensities").hint("leave the row model out"));
    }
    if evaluation.conventions.differs(&EMPTY_ROWS) {
        return Err(Error::value("rows without labels cannot be left out under propensities that depend on the row")
            .hint("which rows have no label is itself a matter of what is missing: leave empty-rows out"));
    }
    Ok(())
}

/// The predictions that a model of propensities is about.
fn predictions<'e>(
    evaluation: &'e Evaluation<'_>,
    model: &RowModel,
    notes: &mut Vec<String>,
) -> Result<Vec<(&'e str, &'e Csr<'e, f32>)>> {
    let all = || evaluation.models.iter().map(|(name, scores)| (name.as_str(), *scores));
    let Some(audited) = model.audited().filter(|_| model.uses_scores()) else { return Ok(all().collect()) };
    let of_name: Vec<_> = all().filter(|(name, _)| *name == audited).collect();
    if of_name.is_empty() && evaluation.models.len() == 1 {
        let name = &evaluation.models[0].0;
        notes.push(format!("the row model was fitted with predictions called '{audited}'; it is taken to be of '{name}'"));
        return Ok(all().collect());
    }
    if of_name.is_empty() {
        let names: Vec<&str> = all().map(|(name, _)| name).collect();
        return Err(Error::value("the row model is of other predictions")
            .expected(format!("predictions called '{audited}'"))
            .found(names.join(", "))
            .hint("its ranks are those of one audited model: name predictions alike, NAME=FILE, in both commands"));
    }
    Ok(of_name)
}

/// The cells that row-dependent propensities can fill. Metrics that were asked for by name and have none are an error.
fn chosen<'e>(evaluation: &'e Evaluation<'_>, model: &RowModel, notes: &mut Vec<String>) -> Result<Vec<Cell<'e>>> {
    let mut cells = Vec::new();
    let mut left_out = Vec::new();
    let metrics: Vec<(&'static dyn Metric, bool)> = match &evaluation.metrics {
        Some(specs) => specs.iter().map(|spec| Ok((metrics::find(spec.name())?, true))).collect::<Result<_>>()?,
        None => metrics::METRICS.iter().map(|metric| (*metric, false)).collect(),
    };
    for (metric, by_name) in metrics {
        let reason = match metric.shape() {
            Shape::Sum(term) if term.by_relevant() => Some("the numbers of relevant labels would have to be given"),
            Shape::Sum(term) if term.weighted() && evaluation.weights.is_none() => {
                left_out.push(metric.name());
                continue;
            }
            Shape::Sum(_) => None,
            Shape::Product if model.uses_observed_labels() => {
                Some("it is not a sum, and a covariate is made of other observed labels of the row, so labels are not independent")
            }
            Shape::Product => None,
            Shape::Set(_) => Some("it is not a sum over labels: its terms need labels that go missing independently"),
            Shape::Label(_) => Some("it is computed from counts by label, to which propensities of rows do not apply"),
        };
        match reason {
            None => {
                let weights = evaluation.weights.as_ref().map(|w| &*w.1);
                for k in &evaluation.ks {
                    let parts = evaluation.groups.iter().flat_map(Part::all).map(Some);
                    cells.extend(std::iter::once(None).chain(parts).map(|part| Cell::new(metric, *k, weights, part)));
                }
            }
            Some(reason) if by_name => {
                return Err(Error::value(format!("'{}' has no estimate under propensities that depend on the row", metric.name()))
                    .expected("sums over labels, such as precision, ndcg or weighted-precision")
                    .hint(reason));
            }
            Some(_) => left_out.push(metric.name()),
        }
    }
    if !left_out.is_empty() {
        notes.push(format!("not available under propensities that depend on the row: {}", left_out.join(", ")));
    }
    Ok(cells)
}

/// Sums over the rows of the test set.
fn pass(evaluation: &Evaluation<'_>, model: &RowModel, scores: &Csr<'_, f32>, cells: &[Cell<'_>]) -> Result<Sums> {
    let truth = evaluation.truth;
    let deepest = evaluation.ks.iter().copied().max().unwrap_or(1);
    let columns = model.replicates() + 1;
    let given = given(evaluation, model)?;
    let unit = score_unit(scores);
    let of_chunk = |chunk: usize| {
        let mut sums = Sums::new(cells.len(), columns);
        let (mut p, mut values_given) = (Vec::with_capacity(columns), Vec::new());
        for row in chunk * CHUNK..((chunk + 1) * CHUNK).min(truth.rows()) {
            let labels = truth.row_ids(row);
            let (ids, values) = scores.row(row);
            let mut hits = Vec::new();
            for label in labels {
                if let Some(place) = Place::find(ids, values, *label, unit).filter(|place| place.rank < deepest) {
                    values_of(&given, row, *label, &mut values_given);
                    let pair = Pair { label: *label, other_labels: labels.len() - 1, place: Some(place), given: &values_given };
                    model.at(&pair, &mut p);
                    hits.push((place.rank, *label, p.iter().map(|p| 1.0 / p).collect::<Vec<f64>>()));
                }
            }
            // In the order of ranks, so that equal sets of hits add up to the same bits.
            hits.sort_by_key(|hit| hit.0);
            sums.add_row(cells, &hits);
        }
        sums
    };
    let parts: Vec<Sums> = (0..truth.rows().div_ceil(CHUNK)).into_par_iter().map(of_chunk).collect();
    let mut all = Sums::new(cells.len(), columns);
    parts.iter().for_each(|part| all.merge(part));
    Ok(all)
}

/// The given covariates of rows and pairs that the model needs, in its order.
fn given<'e>(evaluation: &'e Evaluation<'_>, model: &RowModel) -> Result<Vec<&'e GivenCovariate<'e>>> {
    let needed = model.given().iter().filter(|given| given.level != CovariateLevel::Label);
    let find = |given: &crate::propensity::rows::GivenName| {
        let found = evaluation.row_covariates.iter().find(|(name, values)| *name == given.name && values.level() == given.level);
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

fn values_of(given: &[&GivenCovariate<'_>], row: usize, label: u32, out: &mut Vec<f64>) {
    out.clear();
    out.extend(given.iter().map(|given| given.value(row, label)));
}

fn spread(values: &[f64]) -> f64 {
    crate::evaluate::finish::bootstrap::variance(values.iter().copied()).unwrap_or(0.0)
}

/// The inverse-propensity estimate: the variance of the rows or masks, and that of the refits.
fn weighted(evaluation: &Evaluation<'_>, model: &RowModel, cell: &Cell<'_>, sums: &Sums, at: usize) -> Measured {
    let n = evaluation.truth.rows() as f64;
    let means: Vec<f64> = sums.values(at).iter().map(|sum| sum / n).collect();
    let of_rows = match evaluation.interval {
        IntervalKind::Population => of_mean(n, sums.values(at)[0], sums.squares[at]),
        IntervalKind::Mask => Some(sums.masks[at].max(0.0) / (n * n) * model.dependence(cell.k)),
    };
    Measured::new(means[0], of_rows.map(|variance| variance + spread(&means[1..])))
}

/// The ratio baseline, where hits by rank are known.
fn by_ratio(evaluation: &Evaluation<'_>, model: &RowModel, cell: &Cell<'_>, sums: &Sums, at: usize) -> Option<Measured> {
    if cell.product || cell.weights.is_some() || cell.part.is_some() {
        return None;
    }
    let ratios = model.hits()?.ratios(&cell.gains)?;
    let n = evaluation.truth.rows() as f64;
    let observed = sums.observed[at] / n;
    let of_rows = match evaluation.interval {
        IntervalKind::Population => of_mean(n, sums.observed[at], sums.observed_squares[at]),
        IntervalKind::Mask => Some(sums.observed_masks[at] / (n * n) * model.dependence(cell.k)),
    };
    let variance = of_rows.map(|variance| ratios[0] * ratios[0] * variance + observed * observed * spread(&ratios[1..]));
    Some(Measured::new(observed * ratios[0], variance))
}
