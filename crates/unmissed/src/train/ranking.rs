//! How well calibrated scores of held-out rows rank their labels.

use crate::predict::file::Calibration;
use crate::top_k::{NONE, top_k};
use rayon::prelude::*;

/// The ranks that count.
const DEPTH: usize = 5;

/// What a hit at each rank adds to the mean of precision at 1 to 5: at rank r, the sum of `1/k` for k from r on, divided by 5.
const SHARES: [f64; DEPTH] = {
    let mut shares = [0.0; DEPTH];
    let (mut rank, mut sum) = (DEPTH, 0.0);
    while rank > 0 {
        sum += 1.0 / rank as f64;
        shares[rank - 1] = sum / DEPTH as f64;
        rank -= 1;
    }
    shares
};

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

    /// For each row the mean, over k from 1 to 5, of precision at k, in which an observed pair stands for `1/p` relevant ones.
    pub(super) fn precision(&self) -> Vec<f64> {
        let ids: Vec<u32> = (0u32..).take(self.affine.len()).collect();
        self.relevant
            .par_iter()
            .enumerate()
            .map_init(Vec::new, |scratch, (row, relevant)| {
                let logits: Vec<f32> = (0..ids.len()).map(|label| self.logit(row, label) as f32).collect();
                let mut top = [NONE; DEPTH];
                let found = top_k(&ids, &logits, scratch, &mut top);
                let hits =
                    top[..found].iter().map(|label| *label as usize).enumerate().filter(|(_, label)| relevant.contains(label));
                hits.map(|(rank, label)| SHARES[rank] / self.propensities[label]).sum()
            })
            .collect()
    }

    /// The mean over observed pairs of `-ln(e^z / (e^z + sum e^z'))`, where the sum goes over the labels of the row that were not
    /// observed. A sample of labels tells decays apart by it, in the order of their precision on all labels; the log loss of pairs,
    /// most of which are far from all top ranks, need not.
    pub(super) fn loss(&self) -> f64 {
        let labels = 0..self.affine.len();
        let losses: Vec<(f64, f64)> = self
            .relevant
            .par_iter()
            .enumerate()
            .filter(|(_, relevant)| !relevant.is_empty())
            .map(|(row, relevant)| {
                let logit = |label: usize| self.logit(row, label);
                let highest = labels.clone().map(logit).fold(f64::NEG_INFINITY, f64::max);
                let share = |label: usize| (logit(label) - highest).exp();
                let all: f64 = labels.clone().map(share).sum();
                let others = (all - relevant.iter().map(|label| share(*label)).sum::<f64>()).max(0.0);
                // ln(1 + others / share), where the share may be too small for a number.
                let loss = |label: &usize| {
                    let ratio = others.ln() + highest - logit(*label);
                    ratio.max(0.0) + (-ratio.abs()).exp().ln_1p()
                };
                let known = relevant.iter().filter(|label| self.counts[**label] > 0);
                (known.clone().map(loss).sum(), known.count() as f64)
            })
            .collect();
        let (sum, pairs) = losses.iter().fold((0.0, 0.0), |sum, some| (sum.0 + some.0, sum.1 + some.1));
        sum / pairs.max(1.0)
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
    fn precision_is_that_of_its_formula() {
        // Two rows, four labels; the last was never observed in training, and the others have the same scale and shift.
        let (by_row, observed) = ([1.0, 3.0, 2.0, 9.0, 5.0, 5.0, 1.0, 9.0], [vec![0, 1], vec![], vec![0], vec![1]]);
        let found = |p: &[f64], divides| {
            let calibration = Calibration { divides, ..calibration() };
            Ranking::new(&by_row, &observed, &[1, 3, 2, 0], p, &calibration).precision()
        };
        let meets = |found: Vec<f64>, expected: [f64; 2]| {
            found
                .iter()
                .zip(expected)
                .for_each(|(found, expected)| assert!((found - expected).abs() < 1e-12, "{found}, not {expected}"));
        };
        // A hit at rank r is one in precision at r, r + 1, ..., 5.
        let hit = |rank: u32| (rank..=5).map(|k| 1.0 / f64::from(k)).sum::<f64>() / 5.0;
        // Row 0: label 1, then the relevant 2 and 0. Row 1: label 0 ties with 1 and is first; label 3 is last on both, and relevant on row 1.
        meets(found(&[1.0; 4], false), [hit(2) + hit(3), hit(1) + hit(4)]);
        // Each pair of label 0 stands for four.
        meets(found(&[0.25, 1.0, 1.0, 1.0], false), [hit(2) + 4.0 * hit(3), 4.0 * hit(1) + hit(4)]);
        // Divided by its propensity, label 0 is higher by ln 100: above label 1 on both rows.
        meets(found(&[0.01, 1.0, 1.0, 1.0], true), [100.0 * hit(1) + hit(3), 100.0 * hit(1) + hit(4)]);
    }
}
