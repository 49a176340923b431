//! Matched pairs: those that the evidence shows to be relevant, and whether they were observed.

use super::GivenCovariate;
use super::covariates::{Covariate, Place, describe, score_unit};
use super::newton::propensity;
use crate::data::{Csr, Labels};

/// Matched pairs, row after row.
pub(super) struct Matched {
    /// Columns of a pair.
    pub(super) width: usize,
    pub(super) x: Vec<f64>,
    /// Place among `labels`.
    pub(super) effects: Vec<u32>,
    pub(super) rows: Vec<u32>,
    /// Rank in the audited model's predictions, or `usize::MAX`.
    pub(super) ranks: Vec<usize>,
    pub(super) observed: Vec<bool>,
    /// Labels with a matched pair, ascending.
    pub(super) labels: Vec<u32>,
    /// What columns were divided by.
    pub(super) scales: Vec<f64>,
    /// How many pairs each stands for; empty when each stands for itself.
    pub(super) stands_for: Vec<f64>,
    /// How many pairs stand for one piece of evidence: judging a pair that stands for twenty is one judgement.
    pub(super) unit: f64,
}

impl Matched {
    /// Collects the pairs. Shapes have been checked.
    pub(super) fn collect(
        early: &Labels<'_>,
        later: &Labels<'_>,
        scores: Option<&Csr<'_, f32>>,
        covariates: &[Covariate],
        given: &[(String, GivenCovariate<'_>)],
        counts: &[u64],
    ) -> Matched {
        let mut x = Vec::new();
        let (mut of_label, mut rows, mut ranks, mut observed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let unit = scores.map_or(1.0, score_unit);
        let mut marks = vec![usize::MAX; early.cols()];
        for row in 0..later.rows() {
            early.row_ids(row).iter().for_each(|label| marks[*label as usize] = row);
            let seen = early.row_ids(row).len();
            for label in later.row_ids(row) {
                let was = marks[*label as usize] == row;
                let own = usize::from(was);
                let place = scores.and_then(|scores| {
                    let (ids, values) = scores.row(row);
                    Place::find(ids, values, *label, unit)
                });
                describe(covariates, counts[*label as usize], seen - own, place, &mut x);
                x.extend(given.iter().map(|(_, given)| given.value(row, *label)));
                of_label.push(*label);
                rows.push(row as u32);
                ranks.push(place.map_or(usize::MAX, |place| place.rank));
                observed.push(was);
            }
        }
        let mut labels = of_label.clone();
        labels.sort_unstable();
        labels.dedup();
        let effects = of_label.iter().map(|label| labels.partition_point(|other| other < label) as u32).collect();
        let width = x.len().checked_div(of_label.len()).unwrap_or(1).max(1);
        let scales = scales(&x, width);
        x.chunks_exact_mut(width).for_each(|x| x.iter_mut().zip(&scales).for_each(|(x, scale)| *x /= scale));
        Matched { width, x, effects, rows, ranks, observed, labels, scales, stands_for: Vec::new(), unit: 1.0 }
    }

    pub(super) fn len(&self) -> usize {
        self.observed.len()
    }

    /// How many pairs a pair stands for.
    pub(super) fn stands_for(&self, pair: usize) -> f64 {
        self.stands_for.get(pair).copied().unwrap_or(1.0)
    }

    /// What a pair counts in a likelihood.
    pub(super) fn weight(&self, pair: usize) -> f64 {
        self.stands_for(pair) / self.unit
    }

    /// `y - p` and `p (1 - p)` of a pair at a logit.
    pub(super) fn derivatives(&self, pair: usize, logit: f64) -> (f64, f64) {
        let p = propensity(logit);
        (f64::from(u8::from(self.observed[pair])) - p, p * (1.0 - p))
    }

    pub(super) fn x(&self, pair: usize) -> &[f64] {
        &self.x[pair * self.width..(pair + 1) * self.width]
    }
}

/// Standard deviations, so that one penalty suits all columns; 1 for what does not vary.
pub(super) fn scales(x: &[f64], width: usize) -> Vec<f64> {
    let n = (x.len() / width).max(1) as f64;
    let (mut sums, mut squares) = (vec![0.0; width], vec![0.0; width]);
    for x in x.chunks_exact(width) {
        for (at, x) in x.iter().enumerate() {
            sums[at] += x;
            squares[at] += x * x;
        }
    }
    let scale = |(sum, square): (&f64, &f64)| {
        let variance = square / n - (sum / n).powi(2);
        if variance > 1e-12 * (square / n) { variance.sqrt() } else { 1.0 }
    };
    sums.iter().zip(&squares).map(scale).collect()
}
