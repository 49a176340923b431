//! Is the stack better than the uncorrected model, as it is and recalibrated? Cross-validated log loss on the controlled pairs, over rows.

use super::pairs::Pairs;
use super::regression::Regression;
use crate::error::Result;
use crate::predict::file::StackLine;
use crate::rng::{Purpose, below, stream};
use rayon::prelude::*;

const FOLDS: u64 = 10;

/// What came out of the comparison.
pub(super) struct Compared {
    pub(super) lines: Vec<StackLine>,
    /// By how much the log loss of the stack is below that of the recalibrated model, with its standard error.
    pub(super) gain: f64,
    pub(super) gain_se: f64,
    /// Whether the stack is better than the recalibrated model and than the uncorrected one: a constant and a slope that are fitted to few rows can
    /// make probabilities worse than they were.
    pub(super) taken: bool,
}

/// Compares the models, each on rows that it was not fitted to.
pub(super) fn compare(pairs: &Pairs, seed: u64) -> Result<Compared> {
    let folds = folds(pairs, seed);
    let fits = (0..FOLDS).into_par_iter().map(|fold| {
        let kept = |row: u32| folds[row as usize] != fold;
        Ok((Regression::recalibrated(pairs, &kept)?, Regression::stack(pairs, &kept)?))
    });
    let fits = fits.collect::<Result<Vec<_>>>()?;
    let (uncorrected, joint) = (Regression::as_it_is(pairs, 1), Regression::as_it_is(pairs, 2));
    let mut losses = [(); 4].map(|()| vec![0.0; pairs.row_count]);
    for pair in 0..pairs.len() {
        let row = pairs.rows[pair] as usize;
        let (recalibrated, stack) = &fits[folds[row] as usize];
        for (losses, model) in losses.iter_mut().zip([&uncorrected, &joint, recalibrated, stack]) {
            losses[row] += model.loss(pairs, pair);
        }
    }
    let names = ["uncorrected", "joint", "recalibrated", "stack"];
    let lines = names.into_iter().zip(&losses).map(|(name, losses)| {
        let (loss, se) = mean_and_se(losses);
        StackLine { model: name.to_owned(), loss, se }
    });
    let gain_over =
        |other: &[f64]| mean_and_se(&other.iter().zip(&losses[3]).map(|(other, stack)| other - stack).collect::<Vec<_>>());
    let [(gain, gain_se), (over_uncorrected, its_se)] = [&losses[2], &losses[0]].map(|other| gain_over(other));
    let taken = gain > gain_se && over_uncorrected > its_se;
    Ok(Compared { lines: lines.collect(), gain, gain_se, taken })
}

/// The fold of each row. Rows with positives are dealt out in turn, so that every fit has some.
fn folds(pairs: &Pairs, seed: u64) -> Vec<u64> {
    let mut has_positive = vec![false; pairs.row_count];
    pairs.rows.iter().zip(&pairs.positive).for_each(|(row, positive)| has_positive[*row as usize] |= positive);
    let mut rng = stream(seed, Purpose::Folds, 0);
    let mut order: Vec<usize> = (0..pairs.row_count).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, below(&mut rng, last as u64 + 1) as usize);
    }
    let (some, none): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|row| has_positive[*row]);
    let mut folds = vec![0; pairs.row_count];
    some.into_iter().chain(none).enumerate().for_each(|(at, row)| folds[row] = at as u64 % FOLDS);
    folds
}

fn mean_and_se(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (square / (n - 1.0).max(1.0) / n).sqrt())
}
