//! Tallies of parts: wherever the rows are cut and in whatever order parts are merged, the same bytes.

use crate::common::evaluation::Rows;
use crate::common::rng::{Purpose, below, row_key, stream, uniform_at};
use unmissed::data::{Csr, Labels, Rate};
use unmissed::evaluate::{Evaluation, EvaluationResult, Groups, IntervalKind, Tally};
use unmissed::metrics::{Estimator, METRICS};
use unmissed::propensity::Propensities;
use unmissed::propensity::rows::{RowEvidence, RowFit, RowModel};

const LABELS: usize = 11;

fn groups() -> Groups {
    let of: Vec<Option<u16>> = (0..LABELS).map(|j| if j % 5 == 4 { None } else { Some((j % 2) as u16) }).collect();
    Groups::new(vec!["even".into(), "odd".into()], &of, "by hand").unwrap()
}

/// Observed labels, complete labels and the scores of two models.
struct World {
    observed: Labels<'static>,
    complete: Labels<'static>,
    scores: [Csr<'static, f32>; 2],
}

fn world(rows: usize, seed: u64) -> World {
    let complete = Rows::random(rows, LABELS, 0.7, 0.5, seed);
    let observed = complete.masked(&[0.6; LABELS], seed + 1);
    let other = Rows::random(rows, LABELS, 0.7, 0.2, seed);
    World { observed: observed.labels(), complete: complete.labels(), scores: [complete.scores(), other.scores()] }
}

/// A fit for each model, about its own predictions.
fn fits(world: &World) -> [RowModel; 2] {
    [("a", 0), ("b", 1)].map(|(name, place)| {
        let fit = RowFit::new(&world.observed, &world.complete, RowEvidence::Later).unwrap();
        fit.scores(name, &world.scores[place]).unwrap().replicates(3, 5).run().unwrap()
    })
}

/// Everything that rows with later labels allow.
fn everything<'a>(world: &'a World, fits: &[RowModel], kind: IntervalKind) -> Evaluation<'a> {
    let rows = world.observed.rows();
    let models = [("a", &world.scores[0]), ("b", &world.scores[1])];
    let p = Propensities::new("p", (0..LABELS).map(|j| 0.9 - 0.05 * j as f64).collect()).unwrap();
    let p = p.with_inverse_variances(vec![0.01; LABELS]).unwrap();
    let evaluation = Evaluation::new(&world.observed, &models).unwrap().propensity(p).groups(groups()).unwrap();
    let evaluation = evaluation.weights("w", (0..LABELS).map(|j| 0.5 + 0.3 * j as f64).collect()).unwrap();
    let counts = (0..rows).map(|row| world.complete.row_ids(row).len() as u32).collect();
    let evaluation = evaluation.label_counts(counts).unwrap().clip(1.5).unwrap().interval(kind);
    let has_later = (0..rows).map(|row| row % 3 != 0).collect();
    let evaluation = evaluation.later(&world.complete, has_later, vec![2.0 / 3.0; rows]).unwrap().ks(&[1, 3]).unwrap();
    fits.iter().fold(evaluation, |evaluation, fit| evaluation.row_propensity("rows", fit.clone()))
}

/// Cuts the rows at random places and merges the parts in a random order.
fn in_parts(evaluation: &Evaluation<'_>, rows: usize, seed: u64) -> Tally {
    let mut rng = stream(seed, Purpose::Split, 0);
    let mut cuts: Vec<usize> = (0..5).map(|_| below(&mut rng, rows as u64 + 1) as usize).chain([0, rows]).collect();
    cuts.sort_unstable();
    let mut parts: Vec<Tally> = cuts.windows(2).map(|pair| evaluation.tally_rows(pair[0]..pair[1]).unwrap()).collect();
    for place in (1..parts.len()).rev() {
        parts.swap(place, below(&mut rng, place as u64 + 1) as usize);
    }
    Tally::merge(parts).unwrap()
}

fn text(result: &EvaluationResult) -> String {
    serde_json::to_string(result).unwrap()
}

#[test]
fn parts_that_are_cut_anywhere_give_the_bytes_of_the_whole() {
    let world = world(257, 1);
    let fits = fits(&world);
    for (kind, replicates) in [(IntervalKind::Population, 0), (IntervalKind::Population, 5), (IntervalKind::Mask, 0)] {
        let evaluation = everything(&world, &fits, kind).bootstrap(replicates, 3);
        let whole = evaluation.tally().unwrap();
        let result = whole.finish().unwrap();
        for estimator in
            Estimator::ALL.into_iter().filter(|of| ![Estimator::Hajek, Estimator::Omega, Estimator::Judged].contains(of))
        {
            assert!(result.rows.iter().any(|row| row.estimator == estimator), "{estimator} is not tested");
        }
        for seed in 0..6 {
            let merged = in_parts(&evaluation, 257, seed);
            assert!(merged.to_bytes().unwrap() == whole.to_bytes().unwrap(), "{kind}, {seed}: other bytes");
            assert_eq!(text(&merged.finish().unwrap()), text(&result));
        }
        let read = Tally::from_bytes(&whole.to_bytes().unwrap()).unwrap();
        assert_eq!(text(&read.finish().unwrap()), text(&result));
    }
}

#[test]
fn parts_of_a_controlled_set_give_the_bytes_of_the_whole() {
    let complete = Rows::random(300, LABELS, 0.8, 0.5, 4);
    // Four labels of each row are shown.
    let shown: Vec<Vec<u32>> = (0..300u64)
        .map(|row| {
            let mut order: Vec<u32> = (0..LABELS as u32).collect();
            order.sort_by(|a, b| {
                uniform_at(row_key(8, Purpose::Shown, row), *a).total_cmp(&uniform_at(row_key(8, Purpose::Shown, row), *b))
            });
            order.truncate(4);
            order
        })
        .collect();
    let seen = complete
        .truth
        .iter()
        .zip(&shown)
        .map(|(row, shown)| row.iter().copied().filter(|j| shown.contains(j)).collect::<Vec<u32>>());
    let truth = Labels::from_ids(LABELS as u64, seen).unwrap();
    let pairs = Labels::from_ids(LABELS as u64, shown.clone()).unwrap();
    let (a, b) = (complete.scores(), Rows::random(300, LABELS, 0.8, 0.1, 4).scores());
    for kind in [IntervalKind::Population, IntervalKind::Mask] {
        let evaluation = Evaluation::new(&truth, &[("a", &a), ("b", &b)]).unwrap().groups(groups()).unwrap().interval(kind);
        let evaluation = evaluation.rate(Rate::Shown { shown: 4, of: LABELS as u32 }).unwrap().shown(&pairs).unwrap();
        let whole = evaluation.tally().unwrap();
        let result = whole.finish().unwrap();
        for estimator in [Estimator::Hajek, Estimator::DoublyRobust] {
            assert!(result.comparisons.iter().any(|row| row.estimator == estimator && row.se > Some(0.0)), "{estimator}");
            assert!(result.rows.iter().any(|row| row.estimator == estimator && row.group == "odd"), "{estimator}");
        }
        for seed in 0..3 {
            let merged = in_parts(&evaluation, 300, seed);
            assert!(merged.to_bytes().unwrap() == whole.to_bytes().unwrap(), "{kind}, {seed}: other bytes");
        }
    }
}

#[test]
fn parts_larger_than_a_chunk_and_threads_change_nothing() {
    let rows = 2 * 4096 + 777;
    let (truth, scores) = {
        let random = Rows::random(rows, LABELS, 0.4, 0.4, 9);
        (random.labels(), random.scores())
    };
    let p = Propensities::new("p", vec![0.37; LABELS]).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().propensity(p).bootstrap(3, 0);
    let names: Vec<&str> =
        METRICS.iter().map(|metric| metric.name()).filter(|name| !name.contains("known") && !name.contains("weighted")).collect();
    let evaluation = evaluation.metrics(&names).unwrap();
    let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let whole = pool(1).install(|| evaluation.tally()).unwrap().to_bytes().unwrap();
    assert!(pool(4).install(|| evaluation.tally()).unwrap().to_bytes().unwrap() == whole, "threads");
    assert!(pool(3).install(|| in_parts(&evaluation, rows, 1)).to_bytes().unwrap() == whole, "parts");
}

#[test]
fn parts_that_overlap_or_are_missing_are_found() {
    let world = world(100, 3);
    let evaluation = Evaluation::new(&world.observed, &[("a", &world.scores[0])]).unwrap();
    let part = |from: usize, to: usize| evaluation.tally_rows(from..to).unwrap();
    let message = |tallies: Vec<Tally>| match Tally::merge(tallies).and_then(|tally| tally.finish()) {
        Err(error) => error.to_string(),
        Ok(_) => "no error".into(),
    };
    assert!(message(vec![part(0, 60), part(59, 100)]).contains("row 59 in both"));
    assert!(message(vec![part(0, 60), part(61, 100)]).contains("some shards are missing: expected 100 rows, found 99"));
    assert!(message(vec![part(0, 50), part(50, 50), part(50, 100)]).contains("no error"));
    assert!(evaluation.tally_rows(50..101).unwrap_err().to_string().contains("within the 100 rows"));
    let other = evaluation.clone().level(0.5).unwrap().tally_rows(50..100).unwrap();
    assert!(message(vec![part(0, 50), other]).contains("different level"));
}

/// Mean and standard error, in two passes.
fn two_passes(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let first = values[0];
    let mean = values.iter().map(|value| value - first).sum::<f64>() / n;
    (first + mean, (values.iter().map(|value| (value - first - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt())
}

/// Gains of 1e8 that differ by a few units, on rows that all have a hit: squares of floats would leave nothing of their variance.
#[test]
fn standard_errors_stand_large_weights() {
    let labels = 40;
    let truth: Vec<Vec<u32>> = (0..500u32).map(|row| vec![row * 7 % labels]).collect();
    let scores = Csr::from_rows(u64::from(labels), truth.iter().map(|row| [(row[0], 1.0f32)])).unwrap();
    let truth = Labels::from_ids(u64::from(labels), truth).unwrap();
    for (base, tolerance) in [(1.0, 1e-12), (1e4, 1e-12), (1e8, 1e-9)] {
        let weights: Vec<f64> = (0..labels).map(|j| base + f64::from(j)).collect();
        let values: Vec<f64> = (0..500).map(|row| weights[truth.row_ids(row)[0] as usize]).collect();
        let (mean, se) = two_passes(&values);
        let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["weighted-precision:observed"]).unwrap();
        let result = evaluation.ks(&[1]).unwrap().weights("w", weights).unwrap().run().unwrap();
        let row = &result.rows[0];
        assert!((row.value.unwrap() / mean - 1.0).abs() < 1e-14, "{base}: {row:?} {mean}");
        assert!((row.se.unwrap() / se - 1.0).abs() < tolerance, "{base}: {row:?} {se}");
    }
}

/// One label with a propensity of 1e-9 that no row has makes the bound of row terms huge, and nothing less precise.
#[test]
fn labels_that_do_not_occur_cost_no_digits() {
    let rows = Rows::random(400, 6, 0.6, 0.5, 2);
    let truth = Labels::from_ids(7, rows.truth.iter().cloned()).unwrap();
    let scores = Csr::from_rows(7, rows.scores.iter().cloned()).unwrap();
    let run = |last: f64| {
        let p: Vec<f64> = (0..6).map(|j| 0.3 + 0.1 * f64::from(j)).chain([last]).collect();
        let evaluation =
            Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["precision", "ndcg", "abandonment"]).unwrap();
        evaluation.propensity(Propensities::new("p", p).unwrap()).run().unwrap()
    };
    for (usual, rare) in run(1.0).rows.iter().zip(&run(1e-9).rows) {
        let close = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() <= 1e-12 * a.unwrap().abs();
        assert!(close(usual.value, rare.value) && close(usual.se, rare.se), "{usual:?} {rare:?}");
    }
}
