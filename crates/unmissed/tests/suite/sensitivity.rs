//! Bounds for wrong propensities, against every combination of factors on small problems.

use crate::common::rng::{Purpose, stream, uniform};
use unmissed::data::{Csr, Labels};
use unmissed::evaluate::sensitivity::{SensitivityBounds, Slack};
use unmissed::evaluate::{Evaluation, EvaluationResult, Tally};
use unmissed::metrics::Estimator;
use unmissed::propensity::Propensities;

const LABELS: usize = 5;

struct World {
    observed: Labels<'static>,
    scores: [Csr<'static, f32>; 2],
    inverse: Vec<f64>,
}

fn world(seed: u64, rows: usize) -> World {
    let mut rng = stream(seed, Purpose::GenerateRows, 0);
    let observed =
        (0..rows).map(|_| (0..LABELS as u32).filter(|_| uniform(&mut rng) < 0.4).collect::<Vec<u32>>()).collect::<Vec<_>>();
    let mut scores = || {
        let row = |_| (0..LABELS as u32).map(|label| (label, uniform(&mut rng) as f32)).collect::<Vec<_>>();
        Csr::from_rows(LABELS as u64, (0..rows).map(row).collect::<Vec<_>>()).unwrap()
    };
    let scores = [scores(), scores()];
    // The last label is never missing.
    let inverse = (0..LABELS).map(|label| if label + 1 < LABELS { 1.0 + 3.0 * uniform(&mut rng) } else { 1.0 }).collect();
    World { observed: Labels::from_ids(LABELS as u64, observed).unwrap(), scores, inverse }
}

impl World {
    fn evaluation(&self, inverse: &[f64]) -> Evaluation<'_> {
        let p = Propensities::new("p", inverse.iter().map(|q| 1.0 / q).collect()).unwrap();
        let models = [("a", &self.scores[0]), ("b", &self.scores[1])];
        let evaluation = Evaluation::new(&self.observed, &models).unwrap().propensity(p).ks(&[1, 3]).unwrap();
        let evaluation = evaluation.weights("w", (0..LABELS).map(|label| 1.0 + label as f64).collect()).unwrap();
        evaluation.metrics(&["precision", "ndcg", "weighted-precision"]).unwrap().estimators(&[Estimator::Unbiased]).bootstrap(0, 0)
    }

    /// The labels' inverse propensities when their odds are off by one of two factors each.
    fn corners(&self, gamma: f64) -> impl Iterator<Item = Vec<f64>> + '_ {
        (0..1u32 << LABELS).map(move |bits| {
            let factor = |label: usize| if bits >> label & 1 == 1 { gamma } else { 1.0 / gamma };
            self.inverse.iter().enumerate().map(|(label, q)| 1.0 + (q - 1.0) * factor(label)).collect()
        })
    }
}

/// Values of all rows, then differences of all comparisons.
fn numbers(result: &EvaluationResult) -> Vec<f64> {
    let values = result.rows.iter().map(|row| row.value.unwrap());
    values.chain(result.comparisons.iter().map(|c| c.difference.unwrap())).collect()
}

fn bounds(result: &EvaluationResult) -> Vec<SensitivityBounds> {
    let values = result.rows.iter().map(|row| row.sensitivity.unwrap());
    values.chain(result.comparisons.iter().map(|c| c.sensitivity.unwrap())).collect()
}

#[test]
fn bounds_by_label_are_those_of_the_worst_combination() {
    for seed in 0..6 {
        let world = world(seed, 8);
        let gamma = 1.7;
        let result = world.evaluation(&world.inverse).sensitivity("1.7".parse().unwrap()).run().unwrap();
        let all: Vec<Vec<f64>> = world.corners(gamma).map(|inverse| numbers(&world.evaluation(&inverse).run().unwrap())).collect();
        for (at, bounds) in bounds(&result).iter().enumerate() {
            let values = || all.iter().map(|numbers| numbers[at]);
            let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
            assert!((bounds.low - low).abs() < 1e-12 && (bounds.high - high).abs() < 1e-12, "{bounds:?} {low} {high}");
        }
    }
}

/// Just below the factor at which the winner flips no combination flips it, just above one does.
#[test]
fn winners_flip_where_it_says() {
    let mut flips = 0;
    for seed in 0..6 {
        let world = world(seed, 8);
        let result = world.evaluation(&world.inverse).sensitivity("1.5".parse().unwrap()).run().unwrap();
        for (at, c) in result.comparisons.iter().enumerate() {
            let (place, difference) = (result.rows.len() + at, c.difference.unwrap());
            let flipped = |gamma: f64| {
                let values = world.corners(gamma).map(|inverse| numbers(&world.evaluation(&inverse).run().unwrap())[place]);
                values.into_iter().any(|value| value * difference < -1e-12)
            };
            match c.sensitivity.unwrap().flips_at {
                Some(gamma) if difference != 0.0 => {
                    flips += 1;
                    assert!(gamma >= 1.0 && !flipped((gamma * 0.999).max(1.0)) && flipped(gamma * 1.001), "{c:?}");
                }
                Some(gamma) => assert_eq!(gamma, 1.0),
                None => assert!(!flipped(1e6), "{c:?}"),
            }
        }
    }
    assert!(flips > 10, "{flips}");
}

/// One factor for each observed pair: bounds of precision@1 by hand.
#[test]
fn bounds_by_pair_are_wider() {
    let mut wider = 0;
    for seed in 0..6 {
        let world = world(seed, 8);
        let evaluation = world.evaluation(&world.inverse);
        let by_label = evaluation.clone().sensitivity("2".parse().unwrap()).run().unwrap();
        let asked = evaluation.sensitivity("2:pair".parse().unwrap());
        let by_pair = asked.run().unwrap();
        for (label, pair) in by_label.comparisons.iter().zip(&by_pair.comparisons) {
            let (label, pair) = (label.sensitivity.unwrap(), pair.sensitivity.unwrap());
            assert!(pair.low <= label.low + 1e-12 && pair.high >= label.high - 1e-12, "{pair:?} {label:?}");
            wider += u32::from(pair.low < label.low - 1e-9);
        }
        let first = |model: usize, row: usize| {
            let (ids, values) = world.scores[model].row(row);
            let best = (0..ids.len()).max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap();
            ids[best]
        };
        let mut gains = Vec::new();
        for row in 0..8 {
            let hit = |label: u32| world.observed.row_ids(row).contains(&label);
            let (a, b) = (first(0, row), first(1, row));
            if a != b {
                gains.extend(hit(a).then(|| (1.0, world.inverse[a as usize])));
                gains.extend(hit(b).then(|| (-1.0, world.inverse[b as usize])));
            }
        }
        let (low, high) = Slack::of(gains).scaled(8.0).bounds(2.0);
        let found = by_pair.comparisons.iter().find(|c| c.metric == "precision" && c.k == 1).unwrap().sensitivity.unwrap();
        assert!((found.low - low).abs() < 1e-12 && (found.high - high).abs() < 1e-12, "{found:?} {low} {high}");
        let parts = [0..3, 3..8].map(|rows| asked.tally_rows(rows).unwrap());
        assert_eq!(Tally::merge(parts).unwrap().finish().unwrap(), by_pair);
    }
    assert!(wider > 0);
}

#[test]
fn labels_that_are_never_missing_have_no_slack() {
    let world = world(3, 8);
    let result = world.evaluation(&[1.0; LABELS]).sensitivity("5".parse().unwrap()).run().unwrap();
    for (row, bounds) in result.rows.iter().zip(bounds(&result)) {
        let value = row.value.unwrap();
        assert!((bounds.low - value).abs() < 1e-12 && bounds.low == bounds.high, "{row:?}");
    }
    for c in result.comparisons.iter().filter(|c| c.difference.unwrap().abs() > 1e-12) {
        assert_eq!(c.sensitivity.unwrap().flips_at, None, "{c:?}");
    }
    assert!(result.notes.iter().any(|note| note.contains("have a propensity of 1")), "{:?}", result.notes);
}
