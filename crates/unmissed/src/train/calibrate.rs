//! Log-odds from scores: a factor and a summand for each label, found on rows that were not trained on.
//!
//! A penalty holds the weights of rare labels back more than those of frequent ones, and a loss on few positives leaves scores that
//! fall short on other rows. So the scores of different labels do not compare, which is what a ranking does with them. On held-out
//! rows, `logit P(y = 1) = scale(n) z + shift(n)` is fitted to all pairs by maximum likelihood, `scale` and `shift` linear in
//! `log2(n + 1)` between its whole numbers, n how often the label was observed in training. Labels have too few held-out positives
//! for numbers of their own; a penalty on second differences draws both functions to straight lines where there are few.
//!
//! The result folds into the weights: the model stays linear, its scores are log-odds.

use crate::error::{Error, Result};
use crate::predict::file::{Calibration, place};
use crate::sigmoid::sigmoid;
use rayon::prelude::*;

/// The weight of squared second differences, in units of the log likelihood.
const SMOOTHNESS: f64 = 1.0;

/// The most steps of Newton's method.
const STEPS: usize = 50;

/// The scores of held-out rows, label after label.
pub(super) struct Scores {
    rows: usize,
    scores: Vec<f32>,
    /// The held-out rows on which each label was observed.
    observed: Vec<Vec<u32>>,
    /// How often each label was observed on the rows that were trained on.
    counts: Vec<u64>,
}

/// The negative log likelihood of a label's pairs, with derivatives in its scale and shift.
#[derive(Clone, Copy, Default)]
struct Terms {
    value: f64,
    gradient: [f64; 2],
    hessian: [f64; 3],
}

impl Scores {
    /// From scores row by row.
    pub(super) fn new(by_row: &[f32], observed: Vec<Vec<u32>>, counts: Vec<u64>) -> Scores {
        let labels = counts.len().max(1);
        let rows = by_row.len() / labels;
        let mut scores = vec![0.0; by_row.len()];
        scores.par_chunks_exact_mut(rows.max(1)).enumerate().for_each(|(label, column)| {
            column.iter_mut().enumerate().for_each(|(row, score)| *score = by_row[row * labels + label]);
        });
        Scores { rows, scores, observed, counts }
    }

    /// Held-out positives.
    pub(super) fn positives(&self) -> usize {
        self.observed.iter().map(Vec::len).sum()
    }

    fn label(&self, label: usize) -> &[f32] {
        &self.scores[label * self.rows..(label + 1) * self.rows]
    }

    /// The labels that were observed in training: there is nothing to say about scores of others.
    fn known(&self) -> impl ParallelIterator<Item = usize> + '_ {
        (0..self.counts.len()).into_par_iter().filter(|label| self.counts[*label] > 0)
    }

    /// The calibration that fits best.
    pub(super) fn calibrate(&self) -> Result<Calibration> {
        let unit = self.unit()?;
        let knot = |count: u64| (count as f64 + 1.0).log2();
        let known = || self.counts.iter().filter(|count| **count > 0);
        let first = known().min().map_or(0.0, |count| knot(*count).floor());
        let last = known().max().map_or(1.0, |count| knot(*count).ceil()).max(first + 1.0);
        let knots = (last - first) as usize + 1;
        let mut fit = Fit { scores: self, unit, first: first as u32, knots };
        let found = fit.run()?;
        let (scales, shifts) = found.split_at(knots);
        // From standard units to those of the scores. Scores that tell nothing, or the opposite, rank nothing.
        let scales: Vec<f64> = scales.iter().map(|scale| scale.max(0.0) / unit.1).collect();
        let shifts = shifts.iter().zip(&scales).map(|(shift, scale)| shift - scale * unit.0).collect();
        Ok(Calibration { first: fit.first, scales, shifts })
    }

    /// The mean score, and how far above it those of positives are: losses leave scores of all sizes.
    fn unit(&self) -> Result<(f64, f64)> {
        let sums: Vec<[f64; 4]> = self
            .known()
            .map(|label| {
                let scores = self.label(label);
                let all: f64 = scores.iter().map(|score| f64::from(*score)).sum();
                let observed: f64 = self.observed[label].iter().map(|row| f64::from(scores[*row as usize])).sum();
                [all, scores.len() as f64, observed, self.observed[label].len() as f64]
            })
            .collect();
        let [all, pairs, observed, positives] =
            sums.iter().fold([0.0; 4], |sum, some| std::array::from_fn(|place| sum[place] + some[place]));
        let (mean, of_positives) = (all / pairs, observed / positives);
        match of_positives - mean {
            above if above > 0.0 => Ok((mean, above)),
            _ => Err(Error::value("the scores of held-out rows tell nothing about their labels")
                .hint("features that say something about labels, or a loss without calibration")),
        }
    }

    /// The log loss per row after the calibration and after the best common monotone function of what it gives: how well scores
    /// tell pairs apart, whatever shape the loss left them in.
    pub(super) fn log_loss(&self, calibration: &Calibration) -> f64 {
        // Pairs in narrow bins of log-odds: how many, and how many of them observed.
        const BINS: usize = 600;
        const RANGE: f64 = 15.0;
        let bin = |logit: f64| ((logit / RANGE + 1.0) * (BINS / 2) as f64).clamp(0.0, (BINS - 1) as f64) as usize;
        let counted: Vec<Vec<[u64; 2]>> = self
            .known()
            .map(|label| {
                let (scale, shift) = calibration.at(self.counts[label]);
                let place = |row: usize| bin(scale * f64::from(self.label(label)[row]) + shift);
                let mut bins = vec![[0, 0]; BINS];
                (0..self.rows).for_each(|row| bins[place(row)][0] += 1);
                self.observed[label].iter().for_each(|row| bins[place(*row as usize)][1] += 1);
                bins
            })
            .collect();
        let mut pooled: Vec<[f64; 2]> = Vec::new();
        for bin in 0..BINS {
            let [pairs, hits] = counted.iter().fold([0, 0], |sum, bins| [sum[0] + bins[bin][0], sum[1] + bins[bin][1]]);
            if pairs > 0 {
                pooled.push([pairs as f64, hits as f64]);
            }
            // Neighbours whose rates fall are pooled until all rise.
            while let [.., before, last] = pooled[..]
                && before[1] / before[0] >= last[1] / last[0]
            {
                pooled.truncate(pooled.len() - 2);
                pooled.push([before[0] + last[0], before[1] + last[1]]);
            }
        }
        // Half a pair more, a quarter of it observed, keeps rates away from 0 and 1.
        let loss = |[pairs, hits]: &[f64; 2]| {
            let rate = (hits + 0.25) / (pairs + 0.5);
            -(hits * rate.ln() + (pairs - hits) * (1.0 - rate).ln())
        };
        pooled.iter().map(loss).sum::<f64>() / self.rows.max(1) as f64
    }
}

/// The likelihood in standard units, over all knots: first the scales, then the shifts.
struct Fit<'a> {
    scores: &'a Scores,
    unit: (f64, f64),
    first: u32,
    knots: usize,
}

impl Fit<'_> {
    /// Newton's method: the likelihood is concave.
    fn run(&mut self) -> Result<Vec<f64>> {
        let size = 2 * self.knots;
        let base = self.scores.positives() as f64 / (self.scores.rows * self.scores.counts.len()).max(1) as f64;
        let start = (base / (1.0 - base)).ln();
        let mut point: Vec<f64> = (0..size).map(|place| if place < self.knots { 1.0 } else { start }).collect();
        let mut value = self.value(&point);
        for _ in 0..STEPS {
            let (gradient, mut hessian) = self.derivatives(&point);
            let step = solve(&mut hessian, gradient)?;
            let mut length = 1.0;
            let tried = loop {
                let tried: Vec<f64> = point.iter().zip(&step).map(|(at, step)| at - length * step).collect();
                let there = self.value(&tried);
                if there < value {
                    break Some((tried, there));
                }
                length /= 2.0;
                if length < 1e-6 {
                    break None;
                }
            };
            let Some((tried, there)) = tried else { break };
            let gain = value - there;
            (point, value) = (tried, there);
            if gain <= 1e-7 * value {
                break;
            }
        }
        Ok(point)
    }

    /// Where a label lies among the knots, with its scale and shift at a point.
    fn at(&self, point: &[f64], label: usize) -> (usize, f64, f64, f64) {
        let (knot, part) = place(self.scores.counts[label], self.first, self.knots);
        let between = |from: usize| point[from + knot] + part * (point[from + knot + 1] - point[from + knot]);
        (knot, part, between(0), between(self.knots))
    }

    fn value(&self, point: &[f64]) -> f64 {
        let values: Vec<f64> = self
            .scores
            .known()
            .map(|label| {
                let (_, _, scale, shift) = self.at(point, label);
                self.terms(label, scale, shift, false).value
            })
            .collect();
        values.iter().sum::<f64>() + self.bends(point).map(|(_, bend)| 0.5 * SMOOTHNESS * bend * bend).sum::<f64>()
    }

    fn derivatives(&self, point: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let size = 2 * self.knots;
        let (mut gradient, mut hessian) = (vec![0.0; size], vec![vec![0.0; size]; size]);
        let found: Vec<_> = self
            .scores
            .known()
            .map(|label| {
                let (knot, part, scale, shift) = self.at(point, label);
                (knot, part, self.terms(label, scale, shift, true))
            })
            .collect();
        for (knot, part, terms) in found {
            for (one, share) in [(knot, 1.0 - part), (knot + 1, part)] {
                gradient[one] += share * terms.gradient[0];
                gradient[self.knots + one] += share * terms.gradient[1];
                for (other, also) in [(knot, 1.0 - part), (knot + 1, part)] {
                    let both = share * also;
                    hessian[one][other] += both * terms.hessian[0];
                    hessian[one][self.knots + other] += both * terms.hessian[1];
                    hessian[self.knots + one][other] += both * terms.hessian[1];
                    hessian[self.knots + one][self.knots + other] += both * terms.hessian[2];
                }
            }
        }
        const DIFFERENCE: [f64; 3] = [1.0, -2.0, 1.0];
        for (place, bend) in self.bends(point) {
            for (one, factor) in DIFFERENCE.iter().enumerate() {
                gradient[place + one] += SMOOTHNESS * bend * factor;
                for (other, also) in DIFFERENCE.iter().enumerate() {
                    hessian[place + one][place + other] += SMOOTHNESS * factor * also;
                }
            }
        }
        // Knots far from all labels would leave the matrix singular.
        (0..size).for_each(|place| hessian[place][place] += 1e-6);
        (gradient, hessian)
    }

    /// The second differences of scales and shifts, each with the first place that it is made of.
    fn bends(&self, point: &[f64]) -> impl Iterator<Item = (usize, f64)> {
        let knots = self.knots;
        let places = [0, knots].into_iter().flat_map(move |from| (from..).take(knots.saturating_sub(2)));
        places.map(|place| (place, point[place] - 2.0 * point[place + 1] + point[place + 2]))
    }

    /// The terms of a label's pairs.
    fn terms(&self, label: usize, scale: f64, shift: f64, derivatives: bool) -> Terms {
        let (mean, above) = self.unit;
        let scores = self.scores.label(label);
        let mut terms = Terms::default();
        for score in scores {
            let score = (f64::from(*score) - mean) / above;
            let logit = scale * score + shift;
            let small = (-logit.abs()).exp();
            terms.value += logit.max(0.0) + small.ln_1p();
            if derivatives {
                let (chance, curvature) = (sigmoid(logit), small / ((1.0 + small) * (1.0 + small)));
                terms.gradient[0] += chance * score;
                terms.gradient[1] += chance;
                terms.hessian[0] += curvature * score * score;
                terms.hessian[1] += curvature * score;
                terms.hessian[2] += curvature;
            }
        }
        for row in &self.scores.observed[label] {
            let score = (f64::from(scores[*row as usize]) - mean) / above;
            terms.value -= scale * score + shift;
            terms.gradient[0] -= score;
            terms.gradient[1] -= 1.0;
        }
        terms
    }
}

/// Solves `matrix x = right` for a positive definite matrix, by Gauss elimination.
fn solve(matrix: &mut [Vec<f64>], mut right: Vec<f64>) -> Result<Vec<f64>> {
    let size = right.len();
    for pivot in 0..size {
        let (above, below) = matrix.split_at_mut(pivot + 1);
        let line = &above[pivot];
        if line[pivot].is_nan() || line[pivot] <= 0.0 {
            return Err(Error::value("scores cannot be calibrated: their likelihood has no maximum"));
        }
        for (row, other) in below.iter_mut().enumerate() {
            let factor = other[pivot] / line[pivot];
            (pivot..size).for_each(|column| other[column] -= factor * line[column]);
            right[pivot + 1 + row] -= factor * right[pivot];
        }
    }
    for row in (0..size).rev() {
        let rest: f64 = (row + 1..size).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - rest) / matrix[row][row];
    }
    Ok(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream, uniform};

    /// Scores of labels whose log-odds are `scale(n) z + shift(n)`, scale falling with n.
    fn scores(labels: usize, rows: usize) -> (Scores, impl Fn(u64) -> (f64, f64)) {
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
        (Scores::new(&by_row, observed, counts), truth)
    }

    #[test]
    fn the_functions_behind_the_labels_are_found() {
        let (scores, truth) = scores(64, 2_000);
        let found = scores.calibrate().unwrap();
        for count in [1, 4, 16, 64] {
            let ((scale, shift), (true_scale, true_shift)) = (found.at(count), truth(count));
            assert!((scale - true_scale).abs() < 0.4 && (shift - true_shift).abs() < 0.3, "{count}: {scale} {shift}");
        }
    }

    #[test]
    fn the_log_loss_is_that_of_the_truth_and_does_not_see_the_shape_of_scores() {
        let (scores, _) = scores(64, 2_000);
        let found = scores.calibrate().unwrap();
        let plain = scores.log_loss(&found);
        let doubled = Calibration {
            scales: found.scales.iter().map(|scale| 1.5 * scale).collect(),
            shifts: found.shifts.iter().map(|shift| 1.5 * shift).collect(),
            ..found.clone()
        };
        assert!((scores.log_loss(&doubled) / plain - 1.0).abs() < 2e-3);
        let flat = Calibration { scales: vec![5.0; found.scales.len()], shifts: vec![-2.0; found.scales.len()], ..found };
        assert!(scores.log_loss(&flat) > 1.01 * plain);
    }

    #[test]
    fn scores_that_tell_nothing_are_an_error() {
        let scores = Scores::new(&[0.0; 40], vec![vec![1, 2], vec![3]], vec![2, 2]);
        assert!(scores.calibrate().unwrap_err().to_string().contains("tell nothing"));
    }
}
