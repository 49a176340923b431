//! Real missing labels: two releases of the Human Phenotype Ontology, the later one as the judge.

use crate::rankers::RANKERS;
use crate::real_data;
use crate::simulation::{How, World, simulate};
use unmissed::data::formats::{ReadOptions, read_dataset};
use unmissed::data::{Folds, LabelStats};
use unmissed::evaluate::{Evaluation, IntervalKind};
use unmissed::metrics::Estimator;
use unmissed::propensity::rows::MatchedRows;
use unmissed::request::EvaluateRequest;
use unmissed::{Error, Result};

const FOLDS: u32 = 10;
/// Models that are quick to train in folds.
const MODELS: [&str; 2] = ["neighbours", "popularity"];

/// Interval widths of estimates from matched training rows and from judged pairs.
pub(crate) fn run(designs: u64) -> Result<()> {
    let Some(data) = real_data::data("hpo-timelapse") else { return Ok(()) };
    let read = |name: &str| read_dataset(data.join(name), &ReadOptions::default());
    let (train, train_late, test, test_late) =
        (read("train_early.txt")?, read("train_late.txt")?, read("test_early.txt")?, read("test_late.txt")?);
    let folds = Folds::new(train.rows(), FOLDS, 0)?;
    let (mut models, mut of_train) = (Vec::new(), Vec::new());
    for name in MODELS {
        let (_, ranker) = RANKERS.iter().find(|(other, _)| *other == name).ok_or_else(|| Error::value("no such model"))?;
        models.push((name.to_owned(), ranker(&train, &test)?));
        of_train.push(folds.predict(&train, |_, a, b| ranker(a, b))?);
    }
    let world = World {
        observed: test.labels().clone(),
        complete: test_late.labels().clone(),
        train: LabelStats::of(train.labels()),
        models,
    };
    let named = world.named();
    let truth = world.truth()?;
    let mut matched = MatchedRows::new(train.labels(), train_late.labels())?;
    for ((name, _), scores) in named.iter().zip(&of_train) {
        matched = matched.predictions(name, scores)?;
    }
    let request =
        EvaluateRequest { interval: IntervalKind::Mask, metrics: Some(vec!["precision".parse()?]), ..EvaluateRequest::default() };
    let result = Evaluation::new(&world.observed, &named)?.train(&world.train).request(request)?.later_snapshot(matched)?.run()?;
    println!("| estimate | k | model | half width, points | error, points | holds the later truth |\n|---|---|---|---|---|---|");
    for row in result.rows.iter().filter(|row| matches!(row.estimator, Estimator::Unbiased | Estimator::Ratio | Estimator::Omega)) {
        let at = named.iter().position(|(name, _)| *name == row.model).unwrap_or(0);
        let truth = truth[[1, 3, 5].iter().position(|k| *k == row.k).unwrap_or(0) * named.len() + at];
        let (Some(value), Some(low), Some(high)) = (row.value, row.low, row.high) else { continue };
        let name = if row.estimator == Estimator::Unbiased { "rows" } else { row.estimator.name() };
        let (half, error) = (100.0 * (high - low) / 2.0, 100.0 * (value - truth));
        println!("| {name} | {} | {} | {half:.2} | {error:+.2} | {} |", row.k, row.model, yes(low <= truth && truth <= high));
    }
    for budget in [100, 500, 2000] {
        for (at, cell) in
            simulate(&world, budget, designs, How::default())?.iter().enumerate().filter(|(_, cell)| !cell.is_difference)
        {
            let model = named[at % named.len()].0;
            let (half, sd) = (100.0 * cell.half_width, 100.0 * cell.sd);
            println!(
                "| judged, {budget} | {} | {model} | {half:.2} | sd {sd:.2} | {:.1} % of {designs} designs |",
                cell.k,
                100.0 * cell.coverage
            );
        }
    }
    Ok(())
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}
