//! Labels by lines `a p + b`: both kinds of models against the plainest way to do it.

use crate::common::rng::uniform_at;
use crate::common::trees::{request, train, words};
use proptest::prelude::*;
use unmissed::data::{Csr, IgnoredPairs, Labels, Scores};
use unmissed::predict::{PredictOptions, TreeSearch, Weighting};
use unmissed::propensity::Propensities;
use unmissed::request::{TrainRequest, TreeRequest};
use unmissed::train::Trainer;

/// Lines whose slopes and constants have either sign and any size.
fn lines(labels: u32, seed: u64) -> Weighting {
    let signed = |at: u32| {
        let sign = if uniform_at(seed, 3 * at) < 0.3 { -1.0 } else { 1.0 };
        sign * 10f64.powf(4.0 * uniform_at(seed, 3 * at + 1) - 2.0)
    };
    // Constants are small enough that slopes matter, too, and for some seeds all have the same sign.
    let constant = |label: u32| match seed % 3 {
        0 => 0.05 * signed(label + 7919),
        1 => -0.05 * signed(label + 7919).abs(),
        _ => 0.0,
    };
    Weighting::new((0..labels).map(|label| [signed(label), constant(label)]).collect()).unwrap()
}

/// The values of the labels that are best by the lines, of those that are allowed; the probabilities of all labels are given.
fn best_values(all: &[f32], lines: &Weighting, k: usize, at_most: bool, allowed: impl Fn(u32) -> bool) -> Vec<f64> {
    let value = |(label, p): (u32, &f32)| {
        let [a, b] = lines.lines()[label as usize];
        a * f64::from(*p) + b
    };
    let mut values: Vec<f64> = (0u32..).zip(all).filter(|(label, _)| allowed(*label)).map(value).collect();
    values.retain(|value| !at_most || *value > 0.0);
    values.sort_by(|x, y| y.total_cmp(x));
    values.truncate(k);
    values
}

/// The found labels have these values, and their probabilities as scores, highest first.
fn assert_best(found: (&[u32], &[f32]), all: &[f32], lines: &Weighting, expected: &[f64]) {
    let (ids, scores) = found;
    assert!(scores.is_sorted_by(|x, y| x >= y), "{scores:?}");
    let mut values = Vec::new();
    for (label, score) in ids.iter().zip(scores) {
        let p = all[*label as usize];
        assert!((score - p).abs() <= 1e-6 * p, "label {label}: {score} not {p}");
        let [a, b] = lines.lines()[*label as usize];
        values.push(a * f64::from(p) + b);
    }
    values.sort_by(|x, y| y.total_cmp(x));
    assert_eq!(values.len(), expected.len());
    for (found, expected) in values.iter().zip(expected) {
        // Slopes have at most two digits before the point, probabilities seven.
        assert!((found - expected).abs() <= 2e-5, "{values:?} not {expected:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn trees_find_what_scoring_everything_finds(
        labels in 1u32..60,
        branch in 2usize..6,
        leaf in 1usize..12,
        trees in 1usize..4,
        k in 1usize..8,
        seed in 0u64..1000,
        at_most in any::<bool>(),
        divided in any::<bool>(),
        ignoring in any::<bool>(),
    ) {
        let data = words(60, 40, labels, seed);
        let model = train(TreeRequest { trees, seed, passes: 3, ..request(&format!("random:branch={branch},leaf={leaf}")) }, &data);
        let features = data.features().unwrap();
        let lines = lines(labels, seed);
        let p = Propensities::new("known", (0..labels).map(|label| 0.05 + 0.95 * uniform_at(seed, label)).collect()).unwrap();
        let seen = |row: usize, label: u32| ignoring && (row + label as usize).is_multiple_of(3);
        let pairs = (0..60).flat_map(|row| (0..labels).filter(move |label| seen(row, *label)).map(move |label| (row, label)));
        let ignored = IgnoredPairs::from_pairs(60, labels.into(), pairs).unwrap();
        let options = PredictOptions {
            k,
            at_most,
            weighting: Some(&lines),
            propensities: divided.then_some(&p),
            ignored: Some(&ignored),
            ..PredictOptions::default()
        };
        let found = model.predict(features, &options, TreeSearch::default()).unwrap().scores;
        let everything = Labels::from_ids(labels.into(), vec![(0..labels).collect::<Vec<_>>(); 60]).unwrap();
        let all = model.score(features, &everything).unwrap();
        for row in 0..60 {
            let inverse = |label: u32| if divided { 1.0 / p.get(label) } else { 1.0 };
            let corrected = |(label, score): (u32, &f32)| (f64::from(*score) * inverse(label)).min(1.0) as f32;
            let of_row: Vec<f32> = (0u32..).zip(all.row(row).1).map(corrected).collect();
            let expected = best_values(&of_row, &lines, k, at_most, |label| !seen(row, label));
            assert_best(found.row(row), &of_row, &lines, &expected);
        }
        // Single rows are looked up in another way than many.
        let options = PredictOptions { ignored: None, ..options };
        let together = model.predict(features, &options, TreeSearch::default()).unwrap().scores;
        for row in 0..3 {
            let alone = model.predict(&features.select_rows(&[row]), &options, TreeSearch::default()).unwrap();
            prop_assert_eq!(alone.scores.row(0), together.row(row));
        }
    }
}

#[test]
fn one_scorer_for_each_label_goes_by_lines_too() {
    let data = words(200, 50, 70, 3);
    let features = data.features().unwrap();
    let request = TrainRequest { decay: vec![1e-3], ..TrainRequest::by_loss("logistic") };
    let (model, _) = Trainer::new(request).train(&data).unwrap();
    let all = model.probabilities(features, 0..200).unwrap();
    for seed in 0..6 {
        let lines = lines(70, seed);
        for at_most in [false, true] {
            let options = PredictOptions { k: 4, weighting: Some(&lines), at_most, ..PredictOptions::default() };
            let found = model.predict(features, &options).unwrap();
            for (row, of_row) in all.chunks_exact(70).enumerate() {
                assert_best(found.row(row), of_row, &lines, &best_values(of_row, &lines, 4, at_most, |_| true));
            }
            // What lines choose from probabilities of all labels is the same.
            let rows = all.chunks_exact(70).map(|row| (0u32..).zip(row.iter().copied()).collect::<Vec<_>>());
            let stored: Scores<'static> = Csr::from_rows(70, rows.collect::<Vec<_>>()).unwrap();
            let chosen = lines.apply(&stored, 4, at_most).unwrap();
            let same = (0..200).filter(|row| chosen.row_ids(*row) == found.row_ids(*row)).count();
            assert!(same >= 198, "{same}");
        }
    }
}

#[test]
fn what_lines_do_not_go_with_is_refused() {
    let data = words(50, 30, 10, 3);
    let model = train(request("kmeans:branch=3,leaf=3"), &data);
    let (fits, short) = (lines(10, 1), lines(9, 1));
    let usual = PredictOptions::default();
    let refused = |options: PredictOptions<'_>| {
        model.predict(data.features().unwrap(), &options, TreeSearch::default()).unwrap_err().to_string()
    };
    assert!(refused(PredictOptions { weighting: Some(&short), ..usual }).contains("the number of lines"));
    assert!(refused(PredictOptions { weighting: Some(&fits), weights: Some(&[1.0; 10]), ..usual }).contains("neither weights"));
    assert!(refused(PredictOptions { weighting: Some(&fits), logits: true, ..usual }).contains("neither weights"));
    assert!(refused(PredictOptions { at_most: true, ..usual }).contains("only lines"));
}
