//! Log-odds from scores: a factor and a summand for each label, found on rows that were not trained on.
//!
//! A penalty shrinks the weights of rare labels more than those of frequent ones, and a loss on few positives leaves scores that
//! fall short on other rows. So the scores of different labels are not comparable, although a ranking compares them. On held-out
//! rows, `logit P(y = 1) = scale(n) z + shift(n)` is fitted to all pairs by maximum likelihood, `scale` and `shift` linear in
//! `log2(n + 1)` between its whole numbers, n how often the label was observed in training. Labels have too few held-out positives
//! for numbers of their own; a penalty on second differences draws both functions to straight lines where there are few.
//!
//! Where relevant labels are observed with a propensity p only, the likelihood is that of what is observed, `p sigmoid(.)`, and log-odds are
//! those of relevance. Scores of a loss that knows nothing of propensities are about observed labels; those of relevance are higher by
//! `-ln p` where they are low, so that summand is added first.
//!
//! The result folds into the weights: the model stays linear, its scores are log-odds.

use super::stack::point;
use crate::error::{Error, Result};
use crate::predict::file::{Calibration, place};
use rayon::prelude::*;

/// The weight of squared second differences, in units of the log likelihood. At 1 the functions follow the few labels around each
/// knot; at 300 they are too straight for data with many rare labels.
const SMOOTHNESS: f64 = 30.0;

/// The most steps of Newton's method.
const STEPS: usize = 50;

/// Scores of a label that lie together count as their mean: bins between the lowest and the highest.
const BINS: usize = 128;

/// The scores of held-out rows, label after label.
pub(super) struct Scores {
    rows: usize,
    labels: Vec<LabelScores>,
    /// Whether they are about observed labels although log-odds of relevance are wanted.
    divides: bool,
}

/// The scores of a label.
struct LabelScores {
    /// How often it was observed on the rows that were trained on.
    count: u64,
    /// How likely it is observed where it is relevant.
    propensity: f64,
    /// What is added to its log-odds: `-ln p` where scores are about observed labels.
    offset: f64,
    bins: Vec<Bin>,
    /// On how many held-out rows it was observed, and the sum of their scores.
    observed: (f64, f64),
}

/// Rows with about the same score.
#[derive(Clone, Copy, Default)]
struct Bin {
    score: f64,
    rows: f64,
    /// On how many of them the label was observed.
    hits: f64,
}

impl Bin {
    /// The negative log likelihood of its rows at a logit, its slope, and the curvature that is expected, which is never negative.
    fn loss(&self, logit: f64, propensity: f64) -> (f64, f64, f64) {
        let (hit, miss) = (point(logit, true, propensity), point(logit, false, propensity));
        let misses = self.rows - self.hits;
        (self.hits * hit.0 + misses * miss.0, self.hits * hit.1 + misses * miss.1, self.rows * miss.2)
    }
}

/// The negative log likelihood of a label's pairs, with derivatives in its scale and shift.
#[derive(Clone, Copy, Default)]
struct Terms {
    value: f64,
    gradient: [f64; 2],
    hessian: [f64; 3],
}

impl LabelScores {
    fn new(scores: impl Iterator<Item = f32> + Clone, observed: impl Iterator<Item = f32>, count: u64) -> LabelScores {
        let (low, high) = scores.clone().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), z| (low.min(z), high.max(z)));
        let width = f64::from(high - low) / BINS as f64;
        let place = |score: f32| if width > 0.0 { ((f64::from(score - low) / width) as usize).min(BINS - 1) } else { 0 };
        let mut bins = vec![Bin::default(); BINS];
        for score in scores {
            let bin = &mut bins[place(score)];
            bin.score += f64::from(score);
            bin.rows += 1.0;
        }
        let mut sums = (0.0, 0.0);
        for score in observed {
            bins[place(score)].hits += 1.0;
            sums = (sums.0 + 1.0, sums.1 + f64::from(score));
        }
        bins.retain(|bin| bin.rows > 0.0);
        bins.iter_mut().for_each(|bin| bin.score /= bin.rows);
        LabelScores { count, propensity: 1.0, offset: 0.0, bins, observed: sums }
    }

    fn rows(&self) -> f64 {
        self.bins.iter().map(|bin| bin.rows).sum()
    }
}

impl Scores {
    /// From scores row by row, the held-out rows on which each label was observed, and how often each was on those trained on.
    pub(super) fn new(by_row: &[f32], observed: &[Vec<u32>], counts: &[u64]) -> Scores {
        let width = counts.len().max(1);
        let labels = (0..counts.len()).into_par_iter().map(|label| {
            let of_rows = by_row.iter().skip(label).step_by(width).copied();
            let of_observed = observed[label].iter().map(|row| by_row[*row as usize * width + label]);
            LabelScores::new(of_rows, of_observed, counts[label])
        });
        Scores { rows: by_row.len() / width, labels: labels.collect(), divides: false }
    }

    /// The same where relevant labels are observed with these probabilities only: log-odds are those of relevance.
    pub(super) fn with_propensities(mut self, propensities: &[f64]) -> Scores {
        self.labels.iter_mut().zip(propensities).for_each(|(label, p)| label.propensity = *p);
        self
    }

    /// The same for scores of a loss that knew nothing of these probabilities.
    pub(super) fn of_observed_labels(self, propensities: &[f64]) -> Scores {
        let mut scores = self.with_propensities(propensities);
        scores.labels.iter_mut().for_each(|label| label.offset = -label.propensity.ln());
        scores.divides = true;
        scores
    }

    /// The negative log likelihood of calibrated scores.
    pub(super) fn loss(&self, calibration: &Calibration) -> f64 {
        let of_label = |label: &LabelScores| {
            let (scale, shift) = calibration.of_label(label.count, label.propensity);
            label.bins.iter().map(|bin| bin.loss(scale * bin.score + shift, label.propensity).0).sum::<f64>()
        };
        self.known().map(of_label).collect::<Vec<_>>().iter().sum()
    }

    /// The labels that were observed in training: there is nothing to say about scores of others.
    fn known(&self) -> impl ParallelIterator<Item = &LabelScores> {
        self.labels.par_iter().filter(|label| label.count > 0)
    }

    /// The calibration that fits best; `None` when scores tell nothing about labels.
    pub(super) fn calibrate(&self) -> Result<Option<Calibration>> {
        let Some(unit) = self.unit() else { return Ok(None) };
        let knot = |count: u64| (count as f64 + 1.0).log2();
        let counts: Vec<u64> = self.known().map(|label| label.count).collect();
        let first = counts.iter().min().map_or(0.0, |count| knot(*count).floor());
        let last = counts.iter().max().map_or(1.0, |count| knot(*count).ceil()).max(first + 1.0);
        let knots = (last - first) as usize + 1;
        let mut fit = Fit { scores: self, unit, first: first as u32, knots };
        let found = fit.run()?;
        let (scales, shifts) = found.split_at(knots);
        // From standard units to those of the scores. Scores that tell nothing, or the opposite, rank nothing.
        let scales: Vec<f64> = scales.iter().map(|scale| scale.max(0.0) / unit.1).collect();
        let shifts = shifts.iter().zip(&scales).map(|(shift, scale)| shift - scale * unit.0).collect();
        Ok(Some(Calibration { first: fit.first, scales, shifts, divides: self.divides }))
    }

    /// The mean score, and how far above it those of positives are: losses leave scores of all sizes.
    fn unit(&self) -> Option<(f64, f64)> {
        let sums: Vec<[f64; 4]> = self
            .known()
            .map(|label| {
                let all = label.bins.iter().map(|bin| bin.score * bin.rows).sum();
                [all, label.rows(), label.observed.1, label.observed.0]
            })
            .collect();
        let [all, pairs, observed, positives] =
            sums.iter().fold([0.0; 4], |sum, some| std::array::from_fn(|place| sum[place] + some[place]));
        let (mean, of_positives) = (all / pairs, observed / positives);
        let above = of_positives - mean;
        (above > 0.0).then_some((mean, above))
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
    /// Newton's method: the likelihood is concave where nothing is missing, and its expected curvature is positive anyway.
    fn run(&mut self) -> Result<Vec<f64>> {
        let size = 2 * self.knots;
        let expected = self.scores.known().map(|label| label.observed.0 / label.propensity).collect::<Vec<_>>().iter().sum::<f64>();
        let base = (expected / (self.scores.rows * self.scores.labels.len()).max(1) as f64).clamp(1e-9, 0.5);
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
    fn at(&self, point: &[f64], label: &LabelScores) -> (usize, f64, f64, f64) {
        let (knot, part) = place(label.count, self.first, self.knots);
        let between = |from: usize| point[from + knot] + part * (point[from + knot + 1] - point[from + knot]);
        (knot, part, between(0), between(self.knots))
    }

    fn value(&self, point: &[f64]) -> f64 {
        let values: Vec<f64> = self
            .scores
            .known()
            .map(|label| {
                let (_, _, scale, shift) = self.at(point, label);
                self.terms(label, scale, shift).value
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
                (knot, part, self.terms(label, scale, shift))
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
    fn terms(&self, label: &LabelScores, scale: f64, shift: f64) -> Terms {
        let (mean, above) = self.unit;
        let mut terms = Terms::default();
        for bin in &label.bins {
            let score = (bin.score - mean) / above;
            let (value, slope, curvature) = bin.loss(scale * score + shift + label.offset, label.propensity);
            terms.value += value;
            terms.gradient[0] += slope * score;
            terms.gradient[1] += slope;
            terms.hessian[0] += curvature * score * score;
            terms.hessian[1] += curvature * score;
            terms.hessian[2] += curvature;
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
mod tests;
