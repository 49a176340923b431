use super::*;
use crate::rng::{Purpose, stream, uniform};
use crate::sigmoid::sigmoid;

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
fn the_ranking_loss_is_that_of_its_formula() {
    // Two rows, three labels; the last was never observed in training.
    let (by_row, observed) = ([1.0, 0.0, 9.0, -1.0, 2.0, 9.0], [vec![0, 1], vec![1], vec![]]);
    let calibration = Calibration { first: 1, scales: vec![2.0, 2.0], shifts: vec![0.5, 0.5] };
    let found = ranking_loss(&by_row, &observed, &[1, 3, 0], &calibration);
    // Row 0: label 0 (2.5) against label 1 (0.5). Row 1 has both labels, and nothing against them.
    let expected = (-(2.5f64.exp() / (2.5f64.exp() + 0.5f64.exp())).ln()) / 3.0;
    assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
}

#[test]
fn the_reciprocal_rank_is_that_of_its_formula() {
    // Two rows, four labels; the last was never observed in training, and the others have the same scale and shift.
    let (by_row, observed) = ([1.0, 3.0, 2.0, 9.0, 5.0, 5.0, 1.0, 9.0], [vec![0, 1], vec![], vec![0], vec![1]]);
    let calibration = Calibration { first: 1, scales: vec![2.0, 2.0], shifts: vec![0.5, 0.5] };
    let found = reciprocal_rank(&by_row, &observed, &[1, 3, 2, 0], &calibration);
    // Row 0: labels 0 and 2 are below label 1. Row 1: label 0 ties with label 1; label 3 does not count.
    let expected = (0.5 + 0.5 + 1.0 / 1.5) / 3.0;
    assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
}

#[test]
fn a_calibration_improves_the_ranking() {
    let (by_row, observed, counts, _) = drawn(64, 2_000);
    let found = Scores::new(&by_row, &observed, &counts).calibrate().unwrap().unwrap();
    let same = Calibration { scales: vec![5.0; found.scales.len()], shifts: vec![-2.0; found.scales.len()], ..found.clone() };
    let loss = |calibration: &Calibration| ranking_loss(&by_row, &observed, &counts, calibration);
    assert!(loss(&found) < 0.98 * loss(&same), "{}, {}", loss(&found), loss(&same));
}

#[test]
fn scores_that_tell_nothing_are_not_calibrated() {
    let scores = Scores::new(&[0.0; 40], &[vec![1, 2], vec![3]], &[2, 2]);
    assert!(scores.calibrate().unwrap().is_none());
}
