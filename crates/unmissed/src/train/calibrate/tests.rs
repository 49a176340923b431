use super::*;
use crate::rng::{Purpose, stream, uniform};
use crate::sigmoid::sigmoid;
use crate::train::ranking::Ranking;

/// Scores of labels whose log-odds are `scale(n) z + shift(n)`, scale falling with n.
#[allow(clippy::type_complexity, reason = "a tuple that is taken apart at once")]
fn drawn(labels: usize, rows: usize) -> (Vec<f32>, Vec<Vec<u32>>, Vec<u64>, impl Fn(u64) -> (f64, f64)) {
    let truth = |count: u64| {
        let knot = (count as f64 + 1.0).log2();
        (9.0 - knot, 0.5 * knot - 4.0)
    };
    let counts: Vec<u64> = (0..labels).map(|label| 1 << (label % 8)).collect();
    let (mut by_row, mut observed) = (vec![0.0; labels * rows], vec![Vec::new(); labels]);
    for row in 0..rows {
        let mut rng = stream(5, Purpose::Statistics, row as u64);
        for label in 0..labels {
            let score = 2.0 * uniform(&mut rng) - 1.0;
            let (scale, shift) = truth(counts[label]);
            by_row[row * labels + label] = score as f32;
            if uniform(&mut rng) < sigmoid(scale * score + shift) {
                observed[label].push(row as u32);
            }
        }
    }
    (by_row, observed, counts, truth)
}

#[test]
fn the_functions_behind_the_labels_are_found() {
    let (by_row, observed, counts, truth) = drawn(64, 2_000);
    let found = Scores::new(&by_row, &observed, &counts).calibrate().unwrap().unwrap();
    for count in [1, 4, 16, 64] {
        let ((scale, shift), (true_scale, true_shift)) = (found.at(count), truth(count));
        assert!((scale - true_scale).abs() < 0.4 && (shift - true_shift).abs() < 0.3, "{count}: {scale} {shift}");
    }
}

/// Labels are removed with known propensities: the functions of relevance are found all the same.
#[test]
fn what_is_missing_is_allowed_for() {
    let (by_row, observed, counts, truth) = drawn(64, 6_000);
    let p: Vec<f64> = (0..64).map(|label| 0.3 + 0.2 * (label % 3) as f64).collect();
    let kept = |label: usize, row: &u32| uniform(&mut stream(6, Purpose::Mask, u64::from(*row) * 64 + label as u64)) < p[label];
    let masked: Vec<Vec<u32>> =
        observed.iter().enumerate().map(|(label, rows)| rows.iter().copied().filter(|row| kept(label, row)).collect()).collect();
    let scores = Scores::new(&by_row, &masked, &counts).with_propensities(&p);
    let found = scores.calibrate().unwrap().unwrap();
    for count in [1, 4, 16, 64] {
        let ((scale, shift), (true_scale, true_shift)) = (found.at(count), truth(count));
        assert!((scale - true_scale).abs() < 0.6 && (shift - true_shift).abs() < 0.4, "{count}: {scale} {shift}");
    }
    let plain = Scores::new(&by_row, &masked, &counts).calibrate().unwrap().unwrap();
    assert!(scores.loss(&found) < scores.loss(&plain));
}

#[test]
fn a_calibration_improves_the_ranking() {
    let (by_row, observed, counts, _) = drawn(64, 2_000);
    let found = Scores::new(&by_row, &observed, &counts).calibrate().unwrap().unwrap();
    let same = Calibration { scales: vec![5.0; found.scales.len()], shifts: vec![-2.0; found.scales.len()], ..found.clone() };
    let ones = vec![1.0; counts.len()];
    let loss = |calibration: &Calibration| Ranking::new(&by_row, &observed, &counts, &ones, calibration).loss();
    assert!(loss(&found) < 0.98 * loss(&same), "{}, {}", loss(&found), loss(&same));
}

#[test]
fn scores_that_tell_nothing_are_not_calibrated() {
    let scores = Scores::new(&[0.0; 40], &[vec![1, 2], vec![3]], &[2, 2]);
    assert!(scores.calibrate().unwrap().is_none());
}

/// Scores are the log-odds of what is observed, and propensities have nothing to do with counts: dividing by them gives relevance.
#[test]
fn scores_of_observed_labels_are_divided() {
    let (by_row, observed, counts, truth) = drawn(64, 6_000);
    let p: Vec<f64> = (0..64).map(|label| 0.1 + 0.3 * (label % 3) as f64).collect();
    let kept = |label: usize, row: &u32| uniform(&mut stream(7, Purpose::Mask, u64::from(*row) * 64 + label as u64)) < p[label];
    let masked: Vec<Vec<u32>> =
        observed.iter().enumerate().map(|(label, rows)| rows.iter().copied().filter(|row| kept(label, row)).collect()).collect();
    let seen: Vec<f32> = (0..by_row.len())
        .map(|pair| {
            let (scale, shift) = truth(counts[pair % 64]);
            let chance = p[pair % 64] * sigmoid(scale * f64::from(by_row[pair]) + shift);
            (chance / (1.0 - chance)).ln() as f32
        })
        .collect();
    let of = |scores: Scores| scores.loss(&scores.calibrate().unwrap().unwrap());
    let divided = of(Scores::new(&seen, &masked, &counts).of_observed_labels(&p));
    let undivided = of(Scores::new(&seen, &masked, &counts).with_propensities(&p));
    let best = of(Scores::new(&by_row, &masked, &counts).with_propensities(&p));
    assert!(divided < 0.5 * (best + undivided), "{best}, {divided}, {undivided}");
}
