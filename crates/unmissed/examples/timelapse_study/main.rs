//! Estimates from a later snapshot against the later truth of real data: two releases of the Human Phenotype Ontology.
//!
//! `cargo run --release -p unmissed --example timelapse_study -- SPLITS FOLDER` prints the tables of `docs/row-propensities.md`: random splits of
//! the rows, five models with out-of-fold predictions from ten folds, precision at 1, 3 and 5 and ndcg at 5. Models predict from the early
//! labels; the truth is what the later labels of the test rows say. Predictions are kept in FOLDER, so that an interrupted study can be
//! resumed. Data are looked for in `UNMISSED_DATA`, or in `../shared/data` beside the checkout.

#![allow(clippy::print_stdout)]

mod rankers;
#[path = "../../tests/suite/common/real_data.rs"]
#[allow(dead_code, unreachable_pub)]
mod real_data;
mod summary;

use rankers::{RANKERS, Ranker};
use std::path::Path;
use summary::{Case, Summary};
use unmissed::data::formats::{Content, ReadOptions, read_dataset, read_scores, write};
use unmissed::data::{Csr, Dataset, Folds, LabelStats, merge, split_rows};
use unmissed::evaluate::{Evaluation, EvaluationResult, IntervalKind, ROWS};
use unmissed::metrics::Estimator;
use unmissed::propensity::estimators::timelapse::timelapse;
use unmissed::propensity::rows::MatchedRows;
use unmissed::propensity::{Ratio, models};
use unmissed::{Error, Result};

const FOLDS: u32 = 10;
const REFITS: usize = 100;
/// Models of the table of scores; differences are those of all.
const SCORED: usize = 3;

/// What training gives is read again where it is there.
fn kept(folder: &Path, name: &str, make: impl FnOnce() -> Result<Csr<'static, f32>>) -> Result<Csr<'static, f32>> {
    let path = folder.join(format!("{name}.npz"));
    if !path.exists() {
        write(&Content::Scores(make()?), &path, None)?;
    }
    read_scores(&path, &ReadOptions::default())
}

/// A split: labels as observed and later, and predictions of each model for test rows and, out of fold, for training rows.
fn split(early: &Dataset<'_>, late: &Dataset<'_>, seed: u64, folder: &Path, summary: &mut Summary) -> Result<()> {
    let (train_rows, test_rows) = split_rows(early.rows(), 0.3, seed)?;
    let (train, test) = (early.select_rows(&train_rows), early.select_rows(&test_rows));
    let (train_late, test_late) = (late.labels().select_rows(&train_rows), late.labels().select_rows(&test_rows));
    let folds = Folds::new(train.rows(), FOLDS, seed)?;
    let predict = |(name, ranker): &(&'static str, Ranker)| {
        let of_train = kept(folder, &format!("{name}-{seed}-train"), || folds.predict(&train, |_, a, b| ranker(a, b)))?;
        Ok((*name, of_train, kept(folder, &format!("{name}-{seed}-test"), || ranker(&train, &test))?))
    };
    let predictions = RANKERS.iter().map(predict).collect::<Result<Vec<_>>>()?;
    let mut matched = MatchedRows::new(train.labels(), &train_late)?;
    for (name, of_train, _) in &predictions {
        matched = matched.predictions(name, of_train)?;
    }
    let named: Vec<(&str, &Csr<'_, f32>)> = predictions.iter().map(|(name, _, scores)| (*name, scores)).collect();
    let stats = LabelStats::of(train.labels());
    let label_wise = timelapse(train.labels(), &train_late, &Ratio::new(models::family("power")?).shrunken())?.propensities;
    let estimate = |labels| -> Result<Evaluation<'_>> {
        let evaluation = Evaluation::new(labels, &named)?.train(&stats).metrics(&["precision", "ndcg"])?.ks(&[1, 3, 5])?;
        Ok(evaluation.interval(IntervalKind::Mask))
    };
    let truth = estimate(&test_late)?.estimators(&[Estimator::Observed]).run()?;
    let mut evaluation = estimate(test.labels())?.propensity(models::parse("jpv")?.propensities(&stats)?).propensity(label_wise);
    for (name, model) in matched.row_models(REFITS, seed) {
        evaluation = evaluation.row_propensity(ROWS, model.map_err(|error| error.hint(name))?);
    }
    let result = evaluation.matched(matched)?.run()?;
    collect(&result, &truth, summary);
    Ok(())
}

/// The name of an estimate in the tables.
fn kind(propensity: Option<&str>, estimator: Estimator) -> Option<&'static str> {
    match (propensity, estimator) {
        (None, Estimator::Observed) => Some("observed"),
        (None, Estimator::Omega) => Some("omega"),
        (Some(ROWS), Estimator::Unbiased) => Some("rows"),
        (Some(ROWS), Estimator::Ratio) => Some("ratio"),
        (Some(name), Estimator::Unbiased) if name.starts_with("timelapse") => Some("one per label"),
        (Some(name), Estimator::Unbiased) if name.starts_with("jpv") => Some("jpv"),
        _ => None,
    }
}

fn collect(result: &EvaluationResult, truth: &EvaluationResult, summary: &mut Summary) {
    let is_asked = |metric: &str, k: usize| metric == "precision" || k == 5;
    let value = |metric: &str, k: usize, model: &str| {
        let row = truth.rows.iter().find(|row| (row.metric.as_str(), row.k, row.model.as_str()) == (metric, k, model));
        row.and_then(|row| row.value)
    };
    let scored: Vec<&str> = RANKERS.iter().take(SCORED).map(|(name, _)| *name).collect();
    let mut se = std::collections::HashMap::new();
    for row in result.rows.iter().filter(|row| is_asked(&row.metric, row.k)) {
        let Some(kind) = kind(row.propensity.as_deref(), row.estimator) else { continue };
        se.insert((kind, row.metric.as_str(), row.k, row.model.as_str()), row.se.unwrap_or(f64::NAN));
        if let (Some(estimate), Some(truth)) = (row.value, value(&row.metric, row.k, &row.model))
            && scored.contains(&row.model.as_str())
        {
            let metric = format!("{}@{}", row.metric, row.k);
            let interval = row.low.zip(row.high);
            summary.score(&row.model, &metric, kind, Case { estimate, truth, interval, expected: row.expected_error });
        }
    }
    for c in result.comparisons.iter().filter(|c| is_asked(&c.metric, c.k)) {
        let Some(kind) = kind(c.propensity.as_deref(), c.estimator) else { continue };
        let both = value(&c.metric, c.k, &c.a).zip(value(&c.metric, c.k, &c.b));
        if let (Some(estimate), Some((a, b))) = (c.difference, both) {
            summary.difference(kind, Case { estimate, truth: a - b, interval: c.low.zip(c.high), expected: None });
            let alone = |model: &str| se.get(&(kind, c.metric.as_str(), c.k, model)).copied().unwrap_or(f64::NAN);
            summary.pairing(kind, c.se.unwrap_or(f64::NAN) / alone(&c.a).hypot(alone(&c.b)));
        }
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [splits, folder] = &arguments[..] else {
        return Err(Error::value("what to do?").expected("the number of splits, and a folder for predictions"));
    };
    let splits: u64 = splits.parse().map_err(|_| Error::value("the number of splits is not a number").found(splits.clone()))?;
    std::fs::create_dir_all(folder).map_err(|cause| Error::io("cannot make", folder, cause))?;
    let Some(data) = real_data::data("hpo-timelapse") else {
        println!("hpo-timelapse is not here: set UNMISSED_DATA to the folder that has it");
        return Ok(());
    };
    let read = |name: &str| read_dataset(data.join(name), &ReadOptions::default());
    let early = merge(&[&read("train_early.txt")?, &read("test_early.txt")?])?;
    let late = merge(&[&read("train_late.txt")?, &read("test_late.txt")?])?;
    let mut summary = Summary::default();
    for seed in 0..splits {
        let start = std::time::Instant::now();
        split(&early, &late, seed, Path::new(folder), &mut summary)?;
        println!("split {seed} in {:.0?}", start.elapsed());
    }
    summary.print();
    Ok(())
}
