//! `mismatch`: labels go missing by one model, training and scoring correct for another.
//!
//! Noise A removes labels from training and test rows; models are trained with propensities B by the unbiased logistic loss; clean
//! precision is on the complete test labels, PSP@1 is the unbiased (not normalised) estimate from the biased ones. Propensities of
//! both models are those of the complete training counts: where A = B, they are the right ones.
//!
//! PSP@1 of a compatible cell has the exact standard error `(1/n) sqrt(sum_i y (1/p - 1))` over the first labels of the rows, computed
//! from the complete labels: estimated ones miss rare large weights. Cells whose hits have an effective sample size below 100 are
//! reported, not asserted.

use super::biased::{Biased, Complete, NOISES, balls, benchmark, benchmarks, labels_per_row, mean_se};
use super::linear::{Method, marked, top};
use super::{Context, Experiment, Outcome};
use crate::cells;
use crate::data::{Csr, Features, Labels};
use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::metrics::Estimator;
use crate::predict::Normalize;
use crate::report::{Column, Table};
use crate::spec::Named;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// See the module's page.
pub(super) struct Mismatch;

/// Exact standard errors that an unbiased estimate may be off.
const ERRORS: f64 = 4.0;
/// Cells that rest on fewer hits are not asserted.
const EFFECTIVE: f64 = 100.0;
/// Points (of 1) by which a wrong estimate is off somewhere on artificial data.
const OFF: f64 = 0.1;
/// Dimensions and radii of the artificial sets: the paper's labels a row, and a set on which the wrong model is preferred.
const BALLS: [(usize, &str); 2] = [(6, "0.1,0.8"), (10, "0.2,0.88")];

/// One model on one repetition of one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) noise: usize,
    pub(super) method: usize,
    pub(super) seed: u64,
    /// Clean precision at 1, 3 and 5.
    pub(super) precision: [f64; 3],
    /// The unbiased estimate by each model's propensities, at 1, 3 and 5.
    pub(super) unbiased: [[f64; 3]; 2],
    /// The same, normalised.
    pub(super) normalized: [[f64; 3]; 2],
    /// The exact standard error of the compatible estimate at 1.
    exact_se: f64,
    /// The effective sample size of the hits at 1 under compatible weights.
    effective: f64,
    /// Observed labels a training row.
    observed: f64,
}

impl Cell {
    /// Exact standard errors between the compatible estimate and clean precision.
    fn deviation(&self) -> f64 {
        let difference = self.unbiased[self.noise][0] - self.precision[0];
        if difference == 0.0 { 0.0 } else { difference.abs() / self.exact_se }
    }
}

/// All cells of one data set, with the name of the set.
pub(super) struct Set {
    pub(super) name: String,
    pub(super) artificial: Option<usize>,
    pub(super) cells: Vec<Cell>,
}

impl Named for Mismatch {
    fn name(&self) -> &'static str {
        "mismatch"
    }
    fn summary(&self) -> &'static str {
        "labels go missing by one model while training and scoring correct for another"
    }
}

impl Experiment for Mismatch {
    fn reproduces(&self) -> &'static str {
        "the table 'Mismatch of propensity models'"
    }

    fn needs(&self) -> &'static str {
        "hyper-balls; any data sets that are given (merged, labels with at least 20 positives, split again)"
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let words = ["data set", "labels missing by", "trained with"].map(Column::new).into_iter();
        let numbers = ["P@1", "SE", "P@3", "P@5", "PSP@1 jpv", "PSP@1 power"];
        let printed = ["paper: P@1", "paper: P@3", "paper: P@5", "paper: PSP@1 jpv", "paper: PSP@1 power"];
        let shown = numbers.into_iter().chain(printed).map(|name| Column::new(name).fixed(2));
        let columns = words.chain(["right PSP"].map(Column::new)).chain(shown);
        let mut table = Table::new("mismatch", columns)
            .titled("Mismatch of propensity models (%): clean precision, and the estimates from biased test labels");
        let sets = sets(context)?;
        for set in &sets {
            for noise in 0..2 {
                for method in 0..2 {
                    row(&mut table, set, noise, method);
                }
            }
            claims(&mut outcome, set);
        }
        outcome.tables.push(table);
        if sets.iter().all(|set| set.artificial.is_some()) {
            outcome.not_run("the modified benchmarks (bibtex, delicious, EUR-Lex, AmazonCat, Wiki10, ...)", "their files (--data)");
        }
        outcome.notes.push(format!(
            "SE is over {} repetitions on artificial data (new data, new masks). PSP@1 stands for the true P@1 where the column is the one that \
             'right PSP' names, and nowhere else.",
            repetitions(context, true)
        ));
        outcome.notes.push(
            "The paper does not print the dimension and radii of its hyper-balls. Six dimensions with radii from 0.1 to 0.8 have its number of \
             labels a row before and after noise; precision of linear models falls with the dimension, which is why ours is below \
             the paper's 78 %. What the table is about, which columns agree, does not depend on it."
                .into(),
        );
        outcome.notes.push(
            "Models are trained to the optimum (Newton's method, decay searched on a tenth of the biased rows of the first repetition by the \
             loss); the paper stops Adam early. The power model is relative to the most frequent label (beta = n / max n_j): only this \
             explains the paper's labels a row; its text has the inverse."
                .into(),
        );
        Ok(outcome)
    }
}

fn repetitions(context: &Context<'_>, artificial: bool) -> u64 {
    if artificial { context.size.pick(1, 3, 5) } else { context.size.pick(1, 1, 3) }
}

/// All data sets that there are.
pub(super) fn sets(context: &Context<'_>) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    for (dim, radius) in BALLS {
        let name = format!("hyper-balls, {dim} dimensions");
        let make = |seed| balls(context.size, dim, radius, seed).map(Some);
        sets.extend(set(context, &name, Some(dim), &make)?);
    }
    for given in benchmarks(context) {
        sets.extend(set(context, &given.name, None, &|seed| benchmark(given, seed))?);
    }
    Ok(sets)
}

/// A data set in all repetitions; `None` when there is no such set.
fn set(
    context: &Context<'_>,
    name: &str,
    artificial: Option<usize>,
    make: &dyn Fn(u64) -> Result<Option<Complete>>,
) -> Result<Option<Set>> {
    let mut cells = Vec::new();
    let Some(first) = make(context.seed)? else { return Ok(None) };
    for repetition in 0..repetitions(context, artificial.is_some()) {
        let seed = context.seed + repetition;
        let what = format!("mismatch on {name}, repetition {repetition}");
        let settings = json!([marked(&first.train)?, marked(&first.test)?]);
        let found: Vec<Cell> = context.part(&what, &settings, || {
            let complete = make(seed)?.ok_or_else(|| Error::value("the data set is gone"))?;
            let mut cells = Vec::new();
            for noise in 0..2 {
                // Settings are those of the first repetition.
                let tuned_on = first.biased(noise, context.seed)?;
                let biased = complete.biased(noise, seed)?;
                for method in 0..2 {
                    cells.push(cell(context, name, &complete, &tuned_on, &biased, (noise, method, seed))?);
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
    name: &str,
    complete: &Complete,
    tuned_on: &Biased,
    biased: &Biased,
    (noise, method, seed): (usize, usize, u64),
) -> Result<Cell> {
    let normalize = match biased.train.features() {
        Some(Features::Sparse(_)) => Normalize::L2,
        _ => Normalize::None,
    };
    let with = |p| Method { name: NOISES[method], propensities: Some(p), normalize };
    let tuning = with(&tuned_on.propensities[method]).tune(context, &format!("{name} by {}", NOISES[noise]), &tuned_on.train)?;
    let model = with(&biased.propensities[method]).train(context, &tuning, &biased.train, seed)?;
    let ranked = top(context, &model, &biased.test)?;
    let clean = values(complete.test.labels(), &ranked, biased, Estimator::Observed)?[0];
    let unbiased = values(biased.test.labels(), &ranked, biased, Estimator::Unbiased)?;
    let normalized = values(biased.test.labels(), &ranked, biased, Estimator::Normalized)?;
    let p = biased.propensities[noise].values();
    let (exact_se, effective) = certainty(complete.test.labels(), biased.test.labels(), &ranked, p);
    let observed = labels_per_row(&biased.train);
    Ok(Cell { noise, method, seed, precision: clean, unbiased, normalized, exact_se, effective, observed })
}

/// Precision at 1, 3 and 5 by both propensities; without propensities, both are the same.
fn values(truth: &Labels<'_>, ranked: &Csr<'_, f32>, biased: &Biased, estimator: Estimator) -> Result<[[f64; 3]; 2]> {
    let mut found = [[0.0; 3]; 2];
    for (place, p) in biased.propensities.iter().enumerate() {
        let mut evaluation = Evaluation::new(truth, &[("model", ranked)])?
            .metrics(&["precision"])?
            .estimators(&[estimator])
            .ks(&[1, 3, 5])?
            .bootstrap(0, 0);
        if estimator != Estimator::Observed {
            evaluation = evaluation.propensity(p.clone());
        }
        let result = evaluation.run()?;
        for (k, value) in [1, 3, 5].into_iter().zip(&mut found[place]) {
            let row = result.find("precision", k, estimator).and_then(|row| row.value);
            *value = row.ok_or_else(|| Error::value(format!("precision@{k} has no value")))?;
        }
    }
    Ok(found)
}

/// The exact mask standard error of precision@1, and the effective sample size of its observed hits.
fn certainty(clean: &Labels<'_>, observed: &Labels<'_>, ranked: &Csr<'_, f32>, p: &[f64]) -> (f64, f64) {
    let (mut variance, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for row in 0..clean.rows() {
        let (labels, scores) = ranked.row(row);
        let best = labels.iter().zip(scores).reduce(|best, next| if next.1 > best.1 { next } else { best });
        let Some((&label, _)) = best else { continue };
        let q = 1.0 / p[label as usize];
        if clean.row_ids(row).contains(&label) {
            variance += q - 1.0;
        }
        if observed.row_ids(row).contains(&label) {
            sum += q;
            squares += q * q;
        }
    }
    (variance.sqrt() / clean.rows() as f64, if squares > 0.0 { sum * sum / squares } else { 0.0 })
}

fn row(table: &mut Table, set: &Set, noise: usize, method: usize) {
    let cells: Vec<&Cell> = set.cells.iter().filter(|cell| (cell.noise, cell.method) == (noise, method)).collect();
    let percent = |value: &dyn Fn(&Cell) -> f64| {
        let (mean, se) = mean_se(&cells.iter().map(|cell| 100.0 * value(cell)).collect::<Vec<_>>());
        (mean, se)
    };
    let first = percent(&|cell| cell.precision[0]);
    let mean = |value: &dyn Fn(&Cell) -> f64| percent(value).0;
    let ours = [
        first.0.into(),
        first.1.into(),
        mean(&|cell| cell.precision[1]).into(),
        mean(&|cell| cell.precision[2]).into(),
        mean(&|cell| cell.unbiased[0][0]).into(),
        mean(&|cell| cell.unbiased[1][0]).into(),
    ];
    let paper = super::paper::mismatch(&set.name, set.artificial.is_some(), noise, method);
    let paper = (0..5).map(|place| crate::report::Cell::from(paper.map(|line| line[place])));
    let words = cells![set.name.clone(), NOISES[noise], NOISES[method], NOISES[noise]];
    table.row(words.into_iter().chain(ours).chain(paper));
}

fn claims(outcome: &mut Outcome, set: &Set) {
    let asserted: Vec<&Cell> = set.cells.iter().filter(|cell| cell.effective >= EFFECTIVE).collect();
    let worst = asserted.iter().map(|cell| cell.deviation()).fold(0.0, f64::max);
    let few = set.cells.len() - asserted.len();
    outcome.must(
        format!("{}: the compatible PSP@1 is clean P@1 within {ERRORS} exact mask SE", set.name),
        worst <= ERRORS,
        format!(
            "at most {worst:.2} SE in {} cells; {few} with an effective sample size below {EFFECTIVE} not asserted",
            asserted.len()
        ),
    );
    let off = |cell: &Cell| (cell.unbiased[1 - cell.noise][0] - cell.precision[0]).abs();
    let largest = set.cells.iter().map(off).fold(0.0, f64::max);
    let found = format!("by up to {:.1} points", 100.0 * largest);
    let what = format!("{}: the incompatible PSP@1 is off by more than {:.0} points somewhere", set.name, 100.0 * OFF);
    match set.artificial {
        Some(_) => outcome.must(what, largest > OFF, found),
        None => outcome.reports(what, found),
    }
    for (noise, name) in NOISES.iter().enumerate() {
        let of = |method: usize| set.cells.iter().filter(move |cell| (cell.noise, cell.method) == (noise, method));
        let differences: Vec<f64> =
            of(noise).zip(of(1 - noise)).map(|(right, wrong)| 100.0 * (right.precision[0] - wrong.precision[0])).collect();
        let (mean, se) = mean_se(&differences);
        let found = match se {
            Some(se) => format!("P@1 differs by {mean:+.2} points, SE {se:.2}, over {} repetitions", differences.len()),
            None => format!("P@1 differs by {mean:+.2} points in one repetition"),
        };
        let what = format!("{}, labels missing by {}: training with {} wins", set.name, name, name);
        match (set.artificial, se) {
            (Some(_), Some(se)) => outcome.must(what, mean > 2.0 * se, found),
            _ => outcome.reports(what, found),
        }
    }
    let order = |metric: usize| {
        let wrong = set.cells.iter().filter(|cell| cell.method != metric && cell.noise != metric);
        let right = set.cells.iter().filter(|cell| cell.method == metric && cell.noise != metric);
        right
            .zip(wrong)
            .filter(|(fits, other)| fits.unbiased[metric][0] > other.unbiased[metric][0] && fits.precision[0] < other.precision[0])
            .count()
    };
    for metric in 0..2 {
        outcome.reports(
            format!("{}, labels missing by {}: PSP@1 {} prefers the worse model", set.name, NOISES[1 - metric], NOISES[metric]),
            format!("in {} of {} repetitions", order(metric), set.cells.len() / 4),
        );
    }
}
