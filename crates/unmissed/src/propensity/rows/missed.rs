//! Missed labels: how likely a label of the top list is relevant although it was not observed.
//!
//! `omega(i, j) = P(y = 1 | y~ = 0, x) = sigmoid(b'x(i, j) + u_j)`, a logistic regression with a shrunken effect of each label, fitted to
//! the unobserved labels in the top lists of rows with two snapshots. Since everything is conditional on `y~ = 0`, any function of
//! observed labels may be a covariate: the rank, the score's distance from the best of the row, the label's observed count, the number of
//! observed labels of the row, and how many of its first 5 and 50 predictions were observed.
//!
//! Rows are in folds, and there is one fit for each fold that is left out. The matched rows take the fit that did not see them, other
//! rows the mean of all fits. So the mean residual `y - omega` of the matched rows corrects the mean of other rows whatever
//! the regression is worth: a bad one costs variance, not truth.

use super::covariates::{Covariate, Place, describe, score_unit};
use super::matched::{Matched, scales};
use super::newton::{Parameters, maximise, maximise_evidence};
use crate::data::{Csr, LabelStats, Labels};
use crate::error::Result;
use crate::rng::{Purpose, below, stream};
use crate::top_k::Key;
use rayon::prelude::*;

/// Parts of the matched rows.
const FOLDS: u64 = 10;
/// Fewer missed labels than this do not make a regression; the guess is then 0, and the residuals are all there is.
const LEAST_MISSED: usize = 30;
/// Pairs that a fit looks at, of an even selection of the rows; more do not make its few coefficients better.
const MOST_PAIRS: usize = 500_000;
/// How far down observed hits of a row are counted.
const DEPTHS: [usize; 2] = [5, 50];
const COVARIATES: [Covariate; 4] = [Covariate::LogCount, Covariate::OtherLabels, Covariate::Rank, Covariate::ScoreDifference];

/// The first labels of a row, and which of them were observed. Buffers are reused from row to row.
#[derive(Clone, Default)]
pub(crate) struct RankedRow {
    keys: Vec<Key>,
    sorted: Vec<u32>,
    /// Labels by rank, with whether they were observed.
    pub(crate) labels: Vec<(u32, bool)>,
    differences: Vec<f64>,
    observed: usize,
    hits: [usize; 2],
    x: Vec<f64>,
}

impl RankedRow {
    /// Ranks a row. `unit` is that of score differences.
    pub(crate) fn fill(&mut self, (ids, scores): (&[u32], &[f32]), observed: &[u32], unit: f64) {
        self.keys.clear();
        self.keys.extend(ids.iter().zip(scores).map(|(id, score)| Key::new(*score, *id)));
        self.keys.sort_unstable();
        self.sorted.clear();
        self.sorted.extend_from_slice(observed);
        self.sorted.sort_unstable();
        let is_observed = |label: u32| self.sorted.binary_search(&label).is_ok();
        self.labels.clear();
        self.labels.extend(self.keys.iter().map(|key| (key.label(), is_observed(key.label()))));
        let best = self.keys.first().map_or(0.0, |key| f64::from(key.score()));
        self.differences.clear();
        self.differences.extend(self.keys.iter().map(|key| (best - f64::from(key.score())) / unit));
        self.observed = observed.len();
        self.hits = DEPTHS.map(|depth| self.labels.iter().take(depth).filter(|(_, is_observed)| *is_observed).count());
    }

    /// Appends the covariates of the label at a rank.
    fn describe(&self, rank: usize, count: u64, out: &mut Vec<f64>) {
        let place = Place { rank, difference: self.differences[rank] };
        describe(&COVARIATES, count, self.observed, Some(place), out);
        out.extend(self.hits.map(|hits| (hits as f64).ln_1p()));
    }
}

/// The fitted regressions of one audited model.
#[derive(Clone)]
pub(crate) struct MissedModel {
    seed: u64,
    /// Observed labels of the matched rows, by label.
    counts: Vec<u64>,
    scales: Vec<f64>,
    /// Labels that have an effect of their own, ascending.
    labels: Vec<u32>,
    /// By the fold that was left out; empty when too little was missed for a regression.
    fits: Vec<Parameters>,
    /// Whether the searches came to their ends.
    pub(crate) converged: bool,
}

impl MissedModel {
    /// Fits to the unobserved labels among the first `depth` of each row.
    pub(crate) fn fit(
        early: &Labels<'_>,
        later: &Labels<'_>,
        scores: &Csr<'_, f32>,
        depth: usize,
        seed: u64,
    ) -> Result<MissedModel> {
        let counts = LabelStats::of(early).dense_counts()?;
        let mut model = MissedModel { seed, counts, scales: Vec::new(), labels: Vec::new(), fits: Vec::new(), converged: true };
        let pairs = model.collect(early, later, scores, depth);
        let missed = pairs.observed.iter().filter(|is_missed| **is_missed).count();
        if missed < LEAST_MISSED || pairs.len() - missed < LEAST_MISSED {
            return Ok(model);
        }
        let once = vec![1.0; early.rows()];
        let (point, variance) = maximise_evidence(&pairs, &once)?;
        let fold_of: Vec<usize> = (0..early.rows()).map(|row| model.fold(row)).collect();
        let fits = (0..FOLDS as usize)
            .into_par_iter()
            .map(|fold| {
                let weights: Vec<f64> = fold_of.iter().map(|of| f64::from(u8::from(*of != fold))).collect();
                maximise(&pairs, &weights, variance, &point)
            })
            .collect::<Result<Vec<_>>>()?;
        model.converged = point.converged && fits.iter().all(|fit| fit.converged);
        let none = vec![0.0; pairs.width];
        model.fits = fits.iter().map(|fit| fit.parameters(&none)).collect();
        (model.scales, model.labels) = (pairs.scales, pairs.labels);
        Ok(model)
    }

    /// The fold of a matched row.
    pub(crate) fn fold(&self, row: usize) -> usize {
        below(&mut stream(self.seed, Purpose::Folds, row as u64), FOLDS) as usize
    }

    /// Unobserved labels of the top lists. What the fit calls observed is here whether the label was missed.
    fn collect(&self, early: &Labels<'_>, later: &Labels<'_>, scores: &Csr<'_, f32>, depth: usize) -> Matched {
        let step = (early.rows().saturating_mul(depth)).div_ceil(MOST_PAIRS).max(1);
        let unit = score_unit(scores);
        let (mut x, mut of_label, mut rows, mut ranks, mut missed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut ranked = RankedRow::default();
        for row in (0..early.rows()).step_by(step) {
            ranked.fill(scores.row(row), early.row_ids(row), unit);
            let relevant = later.row_ids(row);
            for (rank, (label, is_observed)) in ranked.labels.iter().copied().enumerate().take(depth) {
                if !is_observed {
                    ranked.describe(rank, self.counts[label as usize], &mut x);
                    of_label.push(label);
                    rows.push(row as u32);
                    ranks.push(rank);
                    missed.push(relevant.contains(&label));
                }
            }
        }
        let mut labels = of_label.clone();
        labels.sort_unstable();
        labels.dedup();
        let effects = of_label.iter().map(|label| labels.partition_point(|other| other < label) as u32).collect();
        let width = x.len().checked_div(of_label.len()).unwrap_or(1).max(1);
        let scales = scales(&x, width);
        x.chunks_exact_mut(width).for_each(|x| x.iter_mut().zip(&scales).for_each(|(x, scale)| *x /= scale));
        Matched { width, x, effects, rows, ranks, observed: missed, labels, scales, stands_for: Vec::new(), unit: 1.0 }
    }

    /// The probability that the unobserved label at a rank is relevant: by the fit that left a fold out, or the mean of all.
    pub(crate) fn expected(&self, row: &mut RankedRow, rank: usize, left_out: Option<usize>) -> f64 {
        if self.fits.is_empty() {
            return 0.0;
        }
        let label = row.labels[rank].0;
        let mut x = std::mem::take(&mut row.x);
        x.clear();
        row.describe(rank, self.counts[label as usize], &mut x);
        x.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x /= scale);
        let effect = self.labels.binary_search(&label).ok();
        let of = |fit: &Parameters| fit.propensity(&x, effect);
        let expected = match left_out {
            Some(fold) => of(&self.fits[fold]),
            None => self.fits.iter().map(of).sum::<f64>() / self.fits.len() as f64,
        };
        row.x = x;
        expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::uniform;

    /// Two labels of which the first is missed in a third of the rows where it was not observed.
    #[test]
    fn regressions_find_the_rate_of_missed_labels() {
        let (mut early, mut later) = (Vec::new(), Vec::new());
        for row in 0..3000u64 {
            let mut rng = stream(5, Purpose::GenerateRows, row);
            let is_observed = uniform(&mut rng) < 0.4;
            let is_missed = !is_observed && uniform(&mut rng) < 1.0 / 3.0;
            early.push(if is_observed { vec![0] } else { vec![] });
            later.push(if is_observed || is_missed { vec![0] } else { vec![] });
        }
        let labels = |rows| Labels::from_ids(2, rows).unwrap();
        let (early, later) = (labels(early), labels(later));
        let scores = Csr::from_rows(2, (0..3000).map(|_| [(0, 2.0f32), (1, 1.0)])).unwrap();
        let model = MissedModel::fit(&early, &later, &scores, 2, 1).unwrap();
        let mut ranked = RankedRow::default();
        ranked.fill(scores.row(0), &[], score_unit(&scores));
        for left_out in [None, Some(0), Some(9)] {
            let (first, second) = (model.expected(&mut ranked, 0, left_out), model.expected(&mut ranked, 1, left_out));
            assert!((first - 1.0 / 3.0).abs() < 0.04, "{first}");
            assert!(second < 0.02, "{second}");
        }
    }

    #[test]
    fn nothing_missed_means_no_guesses() {
        let labels = Labels::from_ids(2, vec![vec![0]; 50]).unwrap();
        let scores = Csr::from_rows(2, (0..50).map(|_| [(0, 2.0f32), (1, 1.0)])).unwrap();
        let model = MissedModel::fit(&labels, &labels, &scores, 2, 1).unwrap();
        let mut ranked = RankedRow::default();
        ranked.fill(scores.row(0), &[0], 1.0);
        assert_eq!(ranked.labels, [(0, true), (1, false)]);
        assert_eq!(model.expected(&mut ranked, 1, None), 0.0);
    }
}
