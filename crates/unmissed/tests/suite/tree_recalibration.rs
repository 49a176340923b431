//! Trees that are recalibrated on a controlled set or on judged pairs.

use crate::common::rng::uniform_at;
use crate::common::trees::{self, request, words};
use unmissed::data::{Dataset, KnownPair, Labels, Rate};
use unmissed::predict::{PredictOptions, TreeModel, TreeSearch, file};
use unmissed::request::{TrainControlled, TreeRequest};
use unmissed::train::{TreeDestination, TreeTrainer};

const LABELS: u32 = 60;
const SHOWN: u32 = 20;

/// Frequent labels are seldom observed, so that order is not what it seems.
fn propensity(label: u32) -> f64 {
    if label.is_multiple_of(2) { 0.15 } else { 0.9 }
}

/// Training rows from which labels are missing.
fn observed(rows: usize) -> Dataset<'static> {
    trees::observed(&words(rows, 80, LABELS, 1), propensity, 31)
}

/// Other rows, on each of which some labels were shown: what is relevant of them, and what was shown.
fn controlled(rows: usize) -> (Dataset<'static>, Labels<'static>) {
    trees::controlled(&words(rows, 80, LABELS, 2), SHOWN, 31)
}

fn asked(trees: usize) -> TreeRequest {
    let rate = Some(Rate::Shown { shown: SHOWN, of: LABELS });
    let controlled = Some(TrainControlled { rate, ..TrainControlled::default() });
    TreeRequest { trees, controlled, cost: 3.0, ..request("kmeans:branch=4,leaf=6") }
}

fn everything(rows: usize) -> Labels<'static> {
    Labels::from_ids(LABELS.into(), vec![(0..LABELS).collect::<Vec<_>>(); rows]).unwrap()
}

/// The mean over rows of the difference between probabilities and complete labels, by whether labels are seldom observed.
fn off(model: &TreeModel) -> [f64; 2] {
    let test = words(1500, 80, LABELS, 3);
    let scores = model.score(test.features().unwrap(), &everything(1500)).unwrap();
    let mut off = [0.0; 2];
    for row in 0..1500 {
        for (label, score) in (0u32..).zip(scores.row(row).1) {
            let truth = f64::from(u8::from(test.labels().row_ids(row).contains(&label)));
            off[label as usize % 2] += (f64::from(*score) - truth) / 1500.0;
        }
    }
    off
}

fn precision(model: &TreeModel) -> f64 {
    let test = words(1500, 80, LABELS, 3);
    let options = PredictOptions { k: 1, ..PredictOptions::default() };
    let top = model.predict(test.features().unwrap(), &options, TreeSearch::default()).unwrap().scores;
    (0..1500).filter(|row| test.labels().row_ids(*row).contains(&top.row_ids(*row)[0])).count() as f64 / 1500.0
}

#[test]
fn a_controlled_set_makes_probabilities_of_complete_labels() {
    let (train, (set, shown)) = (observed(3000), controlled(1500));
    let plain = TreeTrainer::new(TreeRequest { controlled: None, ..asked(2) }).train(&train).unwrap().0;
    for known in [Some(&shown), None] {
        let (model, about) = TreeTrainer::new(asked(2)).controlled(&set, known).train(&train).unwrap();
        let table = about.recalibration.unwrap();
        assert!(table.taken && table.shown == known.is_some(), "{table:?}");
        assert_eq!(
            table.lines.iter().map(|line| line.model.as_str()).collect::<Vec<_>>(),
            ["uncorrected", "recalibrated", "stack"]
        );
        // Half of the labels have 0.15 of what is relevant, so that about 0.4 per row are missing.
        let (before, after) = (off(&plain), off(&model));
        assert!(before[0] < -0.2 && after[0].abs() < 0.08 && after[1].abs() < 0.08, "{before:?} {after:?}");
        assert!(precision(&model) > precision(&plain) + 0.01, "{} {}", precision(&model), precision(&plain));
    }
}

#[test]
fn searches_stay_exact() {
    let (train, (set, shown)) = (observed(1500), controlled(600));
    let features = set.features().unwrap();
    for trees in [1, 3] {
        let (model, about) = TreeTrainer::new(asked(trees)).controlled(&set, Some(&shown)).train(&train).unwrap();
        assert!(about.recalibration.unwrap().taken);
        let all = model.score(features, &everything(600)).unwrap();
        let weights: Vec<f64> = (0..LABELS).map(|label| 10f64.powf(4.0 * uniform_at(5, label) - 2.0)).collect();
        for weights in [None, Some(&weights)] {
            let options = PredictOptions { k: 4, weights: weights.map(Vec::as_slice), ..PredictOptions::default() };
            let found = model.predict(features, &options, TreeSearch::default()).unwrap().scores;
            for row in 0..600 {
                let weight = |label: usize| weights.map_or(1.0, |weights| weights[label]);
                let mut expected: Vec<f64> =
                    all.row(row).1.iter().enumerate().map(|(label, score)| f64::from(*score) * weight(label)).collect();
                expected.sort_by(|a, b| b.total_cmp(a));
                for (found, expected) in found.row(row).1.iter().zip(&expected) {
                    assert!((f64::from(*found) - expected).abs() <= 1e-5 * expected + 1e-12, "row {row}: {found} not {expected}");
                }
            }
        }
    }
}

#[test]
fn the_guard_decides_and_files_keep_what_was_decided() {
    let (train, (set, shown)) = (observed(1500), controlled(600));
    let folder = tempfile::tempdir().unwrap();
    let to = |name: &str| TreeDestination { path: folder.path().join(name), resume: false, max_size: None };
    let trainer = TreeTrainer::new(asked(1)).controlled(&set, Some(&shown));
    let trained = trainer.train_to(&train, &to("m"), &|_| {}).unwrap();
    let (model, about) = trainer.train(&train).unwrap();
    assert_eq!((&trained.model, &trained.about), (&model, &about));
    assert!(model.recalibration().is_some() && model.summary().recalibrated);
    file::write_tree(&model, &about, folder.path().join("again")).unwrap();
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("m") == bytes("again"));
    // On few rows, too, the guard decides, and where it does not let the regression pass, the trees stay as they are.
    let rows: Vec<usize> = (0..12).collect();
    let (few, few_shown) = (set.select_rows(&rows), shown.select_rows(&rows));
    let (kept, about) = TreeTrainer::new(asked(1)).controlled(&few, Some(&few_shown)).train(&train).unwrap();
    let table = about.recalibration.unwrap();
    assert_eq!(table.taken, kept.recalibration().is_some());
    assert!(!table.taken || table.gain > table.gain_se);
    let plain = TreeTrainer::new(TreeRequest { controlled: None, ..asked(1) }).train(&train).unwrap().0;
    assert_eq!(kept == plain, !table.taken);
    // Without the set, or with one of other labels, there is an error.
    assert!(TreeTrainer::new(asked(1)).train(&train).unwrap_err().to_string().contains("not passed"));
    let other = words(50, 80, LABELS + 1, 5);
    assert!(TreeTrainer::new(asked(1)).controlled(&other, None).train(&train).is_err());
}

#[test]
fn judged_pairs_take_the_place_of_a_controlled_set() {
    let (train, (set, shown)) = (observed(1500), controlled(900));
    let pairs = (0..900u32).flat_map(|row| {
        let relevant = set.labels().row_ids(row as usize);
        shown.row_ids(row as usize).iter().map(move |&label| KnownPair {
            row,
            label,
            relevant: relevant.contains(&label),
            observed: false,
            weight: 1.0 + f64::from(label % 2),
        })
    });
    let known: Vec<KnownPair> = pairs.collect();
    let without = TreeRequest { controlled: None, ..asked(1) };
    let (model, about) = TreeTrainer::new(without).judged(&set, &known).train(&train).unwrap();
    assert!(about.recalibration.unwrap().taken);
    assert!(off(&model)[0].abs() < 0.1, "{:?}", off(&model));
}
