//! Training of one-vs-all models: seconds per epoch, and quality on test rows after each round.
//!
//! `cargo bench -p unmissed --bench training -- TRAIN TEST [solver=adam] [rate=0.01] [tolerance=0.01] [decay=0] [epochs=3]
//! [loss=unbiased-logistic] [propensity=jpv] [normalize=none] [watch=1]` prints a JSON line for each round; `watch=0` times
//! training alone. `scripts/bench_torch.py` runs PyTorch on the same files.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::collections::HashMap;
use std::time::Instant;
use unmissed::data::{LabelStats, formats};
use unmissed::evaluate::Evaluation;
use unmissed::propensity::models;
use unmissed::request::{SolverChoice, TrainRequest};
use unmissed::train::Trainer;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.len() < 2 {
        println!("skipped: needs TRAIN and TEST");
        return;
    }
    let settings: HashMap<&str, &str> = arguments[2..].iter().map(|pair| pair.split_once('=').unwrap()).collect();
    let text = |key, default| *settings.get(key).unwrap_or(&default);
    let number = |key, default: &'static str| text(key, default).parse::<f64>().unwrap();
    let train = formats::read_dataset(&arguments[0], &Default::default()).unwrap();
    let test = formats::read_dataset(&arguments[1], &Default::default()).unwrap();
    let stats = LabelStats::of(train.labels());
    let propensities = models::parse(text("propensity", "jpv")).unwrap().propensities(&stats).unwrap();
    let mut request = TrainRequest {
        solver: text("solver", "adam").parse().unwrap(),
        normalize: text("normalize", "none").parse().unwrap(),
        decay: vec![number("decay", "0")],
        ..TrainRequest::by_loss(text("loss", "unbiased-logistic"))
    };
    if request.solver == SolverChoice::Adam {
        request.learning_rate = vec![number("rate", "0.01")];
        request.batch_size = Some(number("batch", "512") as usize);
        request.epochs = Some(number("epochs", "3") as usize);
    } else {
        request.tolerance = Some(number("tolerance", "0.01"));
    }
    let trainer = Trainer::new(request).propensity(&propensities);
    let training = trainer.check(&train).unwrap();
    let (rows, others): (Vec<usize>, Vec<usize>) = ((0..train.rows()).collect(), (0..test.rows()).collect());
    let start = Instant::now();
    if text("watch", "1") == "0" {
        let peak = common::peak_anonymous(|| {
            training.fit().unwrap();
        });
        println!(
            "{}",
            serde_json::json!({"task": "train", "seconds": start.elapsed().as_secs_f64(), "epochs": number("epochs", "3"), "peak_mb": peak / 1_000_000})
        );
        return;
    }
    let (_, checkpoints) = training.fit_watching(&rows, (&test, &others), 5).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    for (round, checkpoint) in checkpoints.iter().enumerate() {
        let result = Evaluation::new(test.labels(), &[("model", &checkpoint.predictions)])
            .unwrap()
            .metrics(&["precision"])
            .unwrap()
            .run()
            .unwrap();
        let precision: Vec<f64> = result.rows.iter().map(|row| row.value.unwrap()).collect();
        println!(
            "{}",
            serde_json::json!({"round": round + 1, "loss": checkpoint.loss, "precision": precision, "seconds_of_all": seconds})
        );
    }
}
