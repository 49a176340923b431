//! Two studies of training that no experiment of `unmissed reproduce` has.
//!
//! `cargo run --release -p unmissed --example training_study -- PART` prints a table of `docs/training.md`. PART: `real` (bibtex and
//! delicious, tuned on held-out training rows), `decay` (a generated survey at several decays). Real data are looked for in
//! `UNMISSED_DATA`, or in `../shared/data` beside the checkout.

#![allow(clippy::print_stdout)]

#[path = "../tests/suite/common/real_data.rs"]
#[allow(dead_code, unreachable_pub)]
mod real_data;

use std::time::Instant;
use unmissed::data::formats::{ReadOptions, read_dataset};
use unmissed::data::generators::generate;
use unmissed::data::{Dataset, split_rows};
use unmissed::evaluate::Evaluation;
use unmissed::metrics::Estimator;
use unmissed::predict::{Model, PredictOptions};
use unmissed::propensity::Propensities;
use unmissed::request::TrainRequest;
use unmissed::train::Trainer;
use unmissed::{Error, Result};

/// Precision at 1, 3 and 5.
pub type Precision = [f64; 3];

/// Precision on complete labels.
pub fn precision(model: &Model, data: &Dataset<'_>) -> Result<Precision> {
    let features = data.features().ok_or_else(|| Error::value("no features"))?;
    let top = model.predict(features, &PredictOptions { logits: true, ..PredictOptions::default() })?;
    let evaluation = Evaluation::new(data.labels(), &[("model", &top)])?.metrics(&["precision"])?;
    let result = evaluation.estimators(&[Estimator::Observed]).run()?;
    let value = |k| result.find("precision", k, Estimator::Observed).ok().and_then(|row| row.value).unwrap_or(f64::NAN);
    Ok([1, 3, 5].map(value))
}

/// Plain training with the defaults.
pub fn fitted(train: &Dataset<'_>) -> Result<Model> {
    Ok(Trainer::new(TrainRequest::default()).train(train)?.0)
}

/// One survey, trained on nine tenths of the rows at several decays: plain and with the true propensities, each with its loss on
/// the tenth that was held out.
fn decays() -> Result<()> {
    let data = generate::<&str>("survey", &[], 0)?;
    let (train, test) = (data.part("train")?, data.part("test_clean")?);
    let truth = data.table("propensities")?.rows.iter().map(|row| row[0]).collect();
    let truth = Propensities::new("true", truth)?;
    let (rows, held_out) = split_rows(train.rows(), 0.1, 5)?;
    println!("| decay | loss | P@1 | P@3 | P@5 | held-out loss |\n|---|---|---|---|---|---|");
    for decay in [1e-6, 1e-4, 1e-3, 3e-3, 1e-2] {
        for (loss, p) in [("logistic", None), ("unbiased-logistic", Some(&truth))] {
            let request = TrainRequest { decay: vec![decay], ..TrainRequest::by_loss(loss) };
            let trainer = p.into_iter().fold(Trainer::new(request), Trainer::propensity);
            let (model, seen) = trainer.check(train)?.fit_watching(&rows, (train, &held_out), 1)?;
            let [a, b, c] = precision(&model, test)?.map(|value| 100.0 * value);
            println!("| {decay:e} | {loss} | {a:.2} | {b:.2} | {c:.2} | {:.1} |", seen[0].loss);
        }
    }
    Ok(())
}

/// A benchmark's training and test part.
pub fn benchmark(name: &str) -> Result<(Dataset<'static>, Dataset<'static>)> {
    let folder = real_data::data(name).ok_or_else(|| Error::value(format!("no data set '{name}'")))?;
    let read = |part: &str| read_dataset(folder.join(format!("{name}_{part}.txt")), &ReadOptions::default());
    Ok((read("train")?, read("test")?))
}

/// Logistic loss, tuned on held-out training rows: precision on the test rows, the decay, seconds of tuning and of one setting.
pub fn tuned(name: &str) -> Result<(Precision, f64, f64, f64)> {
    let (train, test) = benchmark(name)?;
    let request = TrainRequest { tune: true, ..TrainRequest::default() };
    let start = Instant::now();
    let tuning = Trainer::new(request.clone()).tune(&train)?.ok_or_else(|| Error::value("nothing was tried"))?;
    let searched = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let model = Trainer::new(tuning.apply(&request)).check(&train)?.fit()?.model;
    let seconds = start.elapsed().as_secs_f64();
    let decay = tuning.best().map_or(f64::NAN, |best| best.setting.decay);
    Ok((precision(&model, &test)?, decay, searched, seconds))
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("real") => {
            println!("| data | P@1 | P@3 | P@5 | decay | tuning, seconds | one setting, seconds |\n|---|---|---|---|---|---|---|");
            for name in ["bibtex", "delicious"] {
                let ([a, b, c], decay, searched, seconds) = tuned(name)?;
                let [a, b, c] = [a, b, c].map(|value| 100.0 * value);
                println!("| {name} | {a:.2} | {b:.2} | {c:.2} | {decay:e} | {searched:.2} | {seconds:.2} |");
            }
        }
        Some("decay") => decays()?,
        _ => println!("which part? real or decay"),
    }
    Ok(())
}
