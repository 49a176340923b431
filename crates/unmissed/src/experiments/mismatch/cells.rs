//! The cells of the table: one model on one repetition of one data set.

use crate::data::{Csr, Dataset, Labels};
use crate::error::{Error, Result};
use crate::experiments::Context;
use crate::experiments::biased_data::{Biased, Complete, NOISES, balls, benchmark};
use crate::experiments::linear_models::{Correction, Method, marked, top};
use crate::experiments::measures::{Seen, precision};
use crate::metrics::Estimator;
use crate::train::Tuning;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What models are trained with: the propensities of either noise, or none.
pub(in crate::experiments) const METHODS: [&str; 3] = [NOISES[0], NOISES[1], "none (vanilla)"];

/// Dimensions and radii of the artificial sets: the paper's labels per row, and a set on which the wrong model is preferred.
pub(super) const BALLS: [(usize, &str); 2] = [(6, "0.1,0.8"), (10, "0.2,0.88")];

/// Real sets with more pairs of training row and label than this are done once, which takes as long as many repetitions of others.
const LARGE: usize = 100_000_000;

/// One model on one repetition of one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::experiments) struct Cell {
    pub(in crate::experiments) noise: usize,
    pub(in crate::experiments) method: usize,
    /// Clean precision at 1, 3 and 5.
    pub(in crate::experiments) precision: [f64; 3],
    /// The unbiased estimate by each noise's propensities, at 1, 3 and 5.
    pub(in crate::experiments) unbiased: [[f64; 3]; 2],
    /// The same, normalised.
    pub(in crate::experiments) normalized: [[f64; 3]; 2],
    /// The decay that was found for the method.
    pub(super) decay: f64,
    /// The exact standard error of the compatible estimate at 1.
    exact_se: f64,
    /// The effective sample size of the hits at 1 under compatible weights.
    pub(super) effective: f64,
}

impl Cell {
    /// Exact standard errors between the compatible estimate and precision on complete labels.
    pub(super) fn deviation(&self) -> f64 {
        let difference = self.unbiased[self.noise][0] - self.precision[0];
        if difference == 0.0 { 0.0 } else { difference.abs() / self.exact_se }
    }
}

/// All cells of one data set, with the name of the set.
pub(in crate::experiments) struct Set {
    pub(in crate::experiments) name: String,
    pub(in crate::experiments) artificial: bool,
    cells: Vec<Cell>,
}

impl Set {
    /// The cells of a noise and a method, one a repetition.
    pub(in crate::experiments) fn of(&self, noise: usize, method: usize) -> Vec<&Cell> {
        self.cells.iter().filter(|cell| (cell.noise, cell.method) == (noise, method)).collect()
    }

    /// All cells.
    pub(super) fn all(&self) -> &[Cell] {
        &self.cells
    }
}

/// All data sets that there are.
pub(in crate::experiments) fn sets(context: &Context<'_>) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    for (dim, radius) in BALLS {
        let name = format!("hyper-balls, {dim} dimensions");
        sets.extend(set(context, &name, true, &|seed| balls(context.size, dim, radius, seed).map(Some))?);
    }
    for given in &context.data {
        sets.extend(set(context, &given.name, false, &|seed| benchmark(given, seed))?);
    }
    Ok(sets)
}

/// How often a set is done.
fn repetitions(context: &Context<'_>, artificial: bool, train: &Dataset<'_>) -> u64 {
    match artificial {
        true => context.size.pick(3, 3, 10),
        false => context.size.pick(1, 1, if train.rows().saturating_mul(train.labels().cols()) > LARGE { 1 } else { 3 }),
    }
}

/// A data set in all repetitions; `None` when there is no such set.
fn set(context: &Context<'_>, name: &str, artificial: bool, make: &dyn Fn(u64) -> Result<Option<Complete>>) -> Result<Option<Set>> {
    let mut cells = Vec::new();
    let Some(first) = make(context.seed)? else { return Ok(None) };
    let settings = json!([marked(&first.train)?, marked(&first.test)?]);
    // Settings are those of the first repetition.
    let mut tunings = Vec::new();
    for (noise, by) in NOISES.into_iter().enumerate() {
        let biased = first.biased(noise, context.seed)?;
        for (method, with) in METHODS.into_iter().enumerate() {
            let method = Method { name: with, propensities: biased.propensities.get(method), correction: Correction::Unbiased };
            tunings.push(method.tune(context, &format!("{name} by {by}"), &biased.train)?);
        }
    }
    for repetition in 0..repetitions(context, artificial, &first.train) {
        let seed = context.seed + repetition;
        let what = format!("mismatch on {name}, repetition {repetition}");
        let found: Vec<Cell> = context.part(&what, &settings, || {
            let complete = make(seed)?.ok_or_else(|| Error::value("the data set no longer exists"))?;
            let mut cells = Vec::new();
            for noise in 0..NOISES.len() {
                let biased = complete.biased(noise, seed)?;
                for method in 0..METHODS.len() {
                    let tuning = &tunings[noise * METHODS.len() + method];
                    cells.push(cell(context, tuning, &complete, &biased, (noise, method, seed))?);
                }
            }
            Ok(cells)
        })?;
        cells.extend(found);
    }
    Ok(Some(Set { name: name.to_owned(), artificial, cells }))
}

fn cell(
    context: &Context<'_>,
    tuning: &Tuning,
    complete: &Complete,
    biased: &Biased,
    (noise, method, seed): (usize, usize, u64),
) -> Result<Cell> {
    let with = Method { name: METHODS[method], propensities: biased.propensities.get(method), correction: Correction::Unbiased };
    let model = with.train(context, tuning, &biased.train, seed)?;
    let ranked = top(context, &model, &biased.test)?;
    let on_complete = precision(complete.test.labels(), &ranked, &Seen::Complete)?.map(|(value, _)| value);
    let estimates = |estimator| -> Result<[[f64; 3]; 2]> {
        let mut found = [[0.0; 3]; 2];
        for (p, found) in biased.propensities.iter().zip(&mut found) {
            *found = precision(biased.test.labels(), &ranked, &Seen::Missing(p, estimator))?.map(|(value, _)| value);
        }
        Ok(found)
    };
    let p = biased.propensities[noise].values();
    let (exact_se, effective) = certainty(complete.test.labels(), biased.test.labels(), &ranked, p);
    Ok(Cell {
        noise,
        method,
        precision: on_complete,
        unbiased: estimates(Estimator::Unbiased)?,
        normalized: estimates(Estimator::Normalized)?,
        decay: tuning.best().map_or(f64::NAN, |best| best.setting.decay),
        exact_se,
        effective,
    })
}

/// The exact mask standard error of precision@1, and the effective sample size of its observed hits.
fn certainty(complete: &Labels<'_>, observed: &Labels<'_>, ranked: &Csr<'_, f32>, p: &[f64]) -> (f64, f64) {
    let (mut variance, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for row in 0..complete.rows() {
        let (labels, scores) = ranked.row(row);
        let best = labels.iter().zip(scores).reduce(|best, next| if next.1 > best.1 { next } else { best });
        let Some((&label, _)) = best else { continue };
        let q = 1.0 / p[label as usize];
        if complete.row_ids(row).contains(&label) {
            variance += q - 1.0;
        }
        if observed.row_ids(row).contains(&label) {
            sum += q;
            squares += q * q;
        }
    }
    (variance.sqrt() / complete.rows() as f64, if squares > 0.0 { sum * sum / squares } else { 0.0 })
}
