//! How well calibrated scores of held-out rows rank their labels.

use crate::predict::file::Calibration;
use rayon::prelude::*;

/// Calibrated scores of the held-out rows.
pub(super) struct Ranking<'a> {
    by_row: &'a [f32],
    /// How often each label was observed on the rows that were trained on.
    counts: &'a [u64],
    /// How likely it is observed where it is relevant.
    propensities: &'a [f64],
    /// The factor and the summand of each label; labels that were never observed in training are below all others.
    affine: Vec<(f64, f64)>,
    /// The labels that were observed on each row.
    relevant: Vec<Vec<usize>>,
}

impl<'a> Ranking<'a> {
    /// From scores row by row, the held-out rows on which each label was observed, and what is known about labels.
    pub(super) fn new(
        by_row: &'a [f32],
        observed: &[Vec<u32>],
        counts: &'a [u64],
        propensities: &'a [f64],
        calibration: &Calibration,
    ) -> Ranking<'a> {
        let of_label = |(count, p): (&u64, &f64)| match *count {
            0 => (0.0, f64::NEG_INFINITY),
            count => calibration.of_label(count, *p),
        };
        let affine: Vec<(f64, f64)> = counts.iter().zip(propensities).map(of_label).collect();
        let mut relevant = vec![Vec::new(); by_row.len() / affine.len().max(1)];
        for (label, rows) in observed.iter().enumerate() {
            rows.iter().for_each(|row| relevant[*row as usize].push(label));
        }
        Ranking { by_row, counts, propensities, affine, relevant }
    }

    fn logit(&self, row: usize, label: usize) -> f64 {
        let (scale, shift) = self.affine[label];
        scale * f64::from(self.by_row[row * self.affine.len() + label]) + shift
    }

    /// The mean over observed pairs of what a row makes of each of its own, every pair standing for `1/p` relevant ones.
    fn mean<'b, F: Fn(usize) -> f64 + 'b>(&'b self, of_row: impl Fn(usize, &'b [usize]) -> F + Sync) -> f64 {
        let sums: Vec<(f64, f64)> = self
            .relevant
            .par_iter()
            .enumerate()
            .filter(|(_, relevant)| !relevant.is_empty())
            .map(|(row, relevant)| {
                let value = of_row(row, relevant);
                let known = relevant.iter().filter(|label| self.counts[**label] > 0);
                let weighted = known.map(|label| (value(*label), 1.0 / self.propensities[*label]));
                weighted.fold((0.0, 0.0), |sum, (value, weight)| (sum.0 + weight * value, sum.1 + weight))
            })
            .collect();
        let (sum, pairs) = sums.iter().fold((0.0, 0.0), |sum, some| (sum.0 + some.0, sum.1 + some.1));
        if pairs > 0.0 { sum / pairs } else { 0.0 }
    }

    /// How high observed pairs rank: the mean of `1 / (1 + a)`, where a is the number of labels of the row that were not
    /// observed and have a higher score (an equal one counts half). Positives far from the top hardly matter, as in precision.
    pub(super) fn reciprocal_rank(&self) -> f64 {
        self.mean(|row, relevant| {
            let others = (0..self.affine.len()).filter(|label| !relevant.contains(label));
            let others: Vec<f64> = others.map(|label| self.logit(row, label)).collect();
            move |label| {
                let logit = self.logit(row, label);
                let above = |other: &f64| f64::from(u8::from(*other > logit)) + 0.5 * f64::from(u8::from(*other == logit));
                1.0 / (1.0 + others.iter().map(above).sum::<f64>())
            }
        })
    }

    /// The mean of `-ln(e^z / (e^z + sum e^z'))`, where the sum goes over the labels of the row that were not observed. A sample of
    /// labels tells decays apart by it, in the order of their precision on all labels; the log loss of pairs, most of which
    /// are far from all top ranks, need not.
    pub(super) fn loss(&self) -> f64 {
        self.mean(|row, relevant| {
            let logit = move |label: usize| self.logit(row, label);
            let labels = 0..self.affine.len();
            let highest = labels.clone().map(logit).fold(f64::NEG_INFINITY, f64::max);
            let share = |label: usize| (logit(label) - highest).exp();
            let all: f64 = labels.map(share).sum();
            let others = (all - relevant.iter().map(|label| share(*label)).sum::<f64>()).max(0.0);
            // ln(1 + others / share), where the share may be too small for a number.
            move |label| {
                let ratio = others.ln() + highest - logit(label);
                ratio.max(0.0) + (-ratio.abs()).exp().ln_1p()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration() -> Calibration {
        Calibration { first: 1, scales: vec![2.0, 2.0], shifts: vec![0.5, 0.5], divides: false }
    }

    #[test]
    fn the_loss_is_that_of_its_formula() {
        // Two rows, three labels; the last was never observed in training.
        let (by_row, observed) = ([1.0, 0.0, 9.0, -1.0, 2.0, 9.0], [vec![0, 1], vec![1], vec![]]);
        let found = Ranking::new(&by_row, &observed, &[1, 3, 0], &[1.0; 3], &calibration()).loss();
        // Row 0: label 0 (2.5) against label 1 (0.5). Row 1 has both labels, and nothing against them.
        let expected = (-(2.5f64.exp() / (2.5f64.exp() + 0.5f64.exp())).ln()) / 3.0;
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn the_reciprocal_rank_is_that_of_its_formula() {
        // Two rows, four labels; the last was never observed in training, and the others have the same scale and shift.
        let (by_row, observed) = ([1.0, 3.0, 2.0, 9.0, 5.0, 5.0, 1.0, 9.0], [vec![0, 1], vec![], vec![0], vec![1]]);
        let found = |p: &[f64], divides| {
            let calibration = Calibration { divides, ..calibration() };
            Ranking::new(&by_row, &observed, &[1, 3, 2, 0], p, &calibration).reciprocal_rank()
        };
        let meets = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        // Row 0: labels 0 and 2 are below label 1. Row 1: label 0 ties with label 1; label 3 does not count.
        meets(found(&[1.0; 4], false), (0.5 + 0.5 + 1.0 / 1.5) / 3.0);
        // Each pair of label 0 stands for four, that of label 2 for one.
        meets(found(&[0.25, 1.0, 1.0, 1.0], false), (4.0 * 0.5 + 0.5 + 4.0 / 1.5) / 9.0);
        // Divided by its propensity, label 0 is higher by ln 100: above label 1 on both rows.
        meets(found(&[0.01, 1.0, 1.0, 1.0], true), (100.0 + 0.5 + 100.0) / 201.0);
    }
}
