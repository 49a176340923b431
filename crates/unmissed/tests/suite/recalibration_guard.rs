//! Whether recalibrating trees on a small controlled set can do harm: in worlds whose truth is known, the guard must keep the mean
//! change of the log loss of complete labels from being a loss.

use crate::common::trees::{controlled, observed, request, words};
use unmissed::data::{Labels, Rate};
use unmissed::predict::{PredictOptions, TreeModel, TreeSearch};
use unmissed::request::{TrainControlled, TreeRequest};
use unmissed::train::TreeTrainer;

const LABELS: u32 = 40;
const FEATURES: u32 = 60;
const TEST_ROWS: usize = 600;

/// How labels go missing.
type World = (&'static str, fn(u32) -> f64);
const WORLDS: [World; 4] = [
    ("nothing is missing", |_| 1.0),
    ("all labels alike", |_| 0.4),
    ("half of the labels", |label| if label.is_multiple_of(2) { 0.2 } else { 0.9 }),
    ("a little", |label| if label.is_multiple_of(3) { 0.7 } else { 1.0 }),
];

/// The log loss per row of complete labels, and precision@1, on other rows.
fn quality(model: &TreeModel, seed: u64) -> [f64; 2] {
    let test = words(TEST_ROWS, FEATURES, LABELS, 10 * seed + 2);
    let everything = Labels::from_ids(LABELS.into(), vec![(0..LABELS).collect::<Vec<_>>(); TEST_ROWS]).unwrap();
    let scores = model.score(test.features().unwrap(), &everything).unwrap();
    let top = PredictOptions { k: 1, ..PredictOptions::default() };
    let top = model.predict(test.features().unwrap(), &top, TreeSearch::default()).unwrap().scores;
    let (mut loss, mut hits) = (0.0, 0.0);
    for row in 0..TEST_ROWS {
        let relevant = test.labels().row_ids(row);
        for (label, score) in (0u32..).zip(scores.row(row).1) {
            let p = f64::from(*score).clamp(1e-9, 1.0 - 1e-9);
            loss -= if relevant.contains(&label) { p.ln() } else { (1.0 - p).ln() };
        }
        hits += f64::from(u8::from(relevant.contains(&top.row_ids(row)[0])));
    }
    [loss / TEST_ROWS as f64, hits / TEST_ROWS as f64]
}

fn mean_and_se(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt())
}

#[test]
fn small_controlled_sets_do_no_harm() {
    let seeds = std::env::var("UNMISSED_TEST_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(12);
    let mut passed = 0;
    for (name, propensity) in WORLDS {
        for rows in [20, 100] {
            for (shown, known) in [(LABELS / 4, true), (LABELS / 2, false)] {
                let rate = Some(Rate::Shown { shown, of: LABELS });
                let asked = TrainControlled { rate, ..TrainControlled::default() };
                let plain = TreeRequest { cost: 3.0, ..request("kmeans:branch=4,leaf=6") };
                let (mut losses, mut hits, mut taken) = (Vec::new(), Vec::new(), 0);
                for seed in 1..=seeds {
                    let train = observed(&words(800, FEATURES, LABELS, 10 * seed), propensity, seed);
                    let (set, pairs) = controlled(&words(rows, FEATURES, LABELS, 10 * seed + 1), shown, seed);
                    let request = TreeRequest { controlled: Some(asked.clone()), ..plain.clone() };
                    let trainer = TreeTrainer::new(request).controlled(&set, known.then_some(&pairs));
                    // Too few positives are refused, which does no harm either.
                    let Ok((model, about)) = trainer.train(&train) else { continue };
                    if !about.recalibration.unwrap().taken {
                        losses.push(0.0);
                        hits.push(0.0);
                        continue;
                    }
                    taken += 1;
                    let before = quality(&TreeTrainer::new(plain.clone()).train(&train).unwrap().0, seed);
                    let after = quality(&model, seed);
                    losses.push(after[0] - before[0]);
                    hits.push(after[1] - before[1]);
                }
                passed += taken;
                let ((loss, loss_se), (hit, hit_se)) = (mean_and_se(&losses), mean_and_se(&hits));
                let worst = losses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                println!(
                    "{name:20} {rows:4} rows, shown {known:5}: taken {taken:2} of {}, log loss {loss:+.4} ({loss_se:.4}), at worst {worst:+.4}, \
                     P@1 {hit:+.4} ({hit_se:.4})",
                    losses.len()
                );
                assert!(loss <= 2.0 * loss_se + 1e-9, "{name}, {rows} rows: {losses:?}");
                assert!(hit >= -2.0 * hit_se - 1e-9, "{name}, {rows} rows: {hits:?}");
            }
        }
    }
    // A guard that lets nothing pass does no harm either, and is of no use.
    assert!(passed > 0);
}
