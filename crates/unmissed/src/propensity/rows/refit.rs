//! Refits under a bootstrap over rows: one Newton step from the fit, with new cross-fitted logits and a new balance.
//!
//! Derivatives at the fit are the same for all refits but for the weights of rows. Sums by fold give the step of the whole and, by
//! subtraction, those that leave a fold out, so that a refit costs one pass over the pairs and its balance.

use super::arrow::Arrow;
use super::balance::Balance;
use super::matched::Matched;
use super::newton::{Parameters, Point, RIDGE};
use crate::error::{Error, Result};
use crate::rng::{Purpose, stream};
use rand_distr::{Distribution, Poisson};

/// What all refits have in common.
pub(super) struct Refits<'f> {
    pairs: &'f Matched,
    point: &'f Point,
    variance: f64,
    balance: &'f Balance,
    correction: &'f [f64],
    /// Fold of each row.
    fold_of: &'f [u64],
    folds: usize,
    /// `y - p` and `p (1 - p)` at the fit.
    derivatives: Vec<(f64, f64)>,
}

impl<'f> Refits<'f> {
    pub(super) fn new(
        pairs: &'f Matched,
        (point, variance): (&'f Point, f64),
        (balance, correction): (&'f Balance, &'f [f64]),
        (fold_of, folds): (&'f [u64], usize),
    ) -> Refits<'f> {
        let derivatives = (0..pairs.len()).map(|pair| pairs.derivatives(pair, point.logit(pairs, pair))).collect();
        Refits { pairs, point, variance, balance, correction, fold_of, folds, derivatives }
    }

    /// The model refitted with these weights of rows, and whether its balance was found.
    pub(super) fn run(&self, weights: &[f64]) -> Result<(Parameters, bool)> {
        let pairs = self.pairs;
        let mut parts = vec![Arrow::zero(pairs.width, pairs.labels.len()); self.folds];
        for (pair, (residual, spread)) in self.derivatives.iter().enumerate() {
            let row = pairs.rows[pair] as usize;
            if weights[row] != 0.0 {
                let part = &mut parts[self.fold_of[row] as usize];
                let weight = weights[row] * pairs.weight(pair);
                part.add(pairs.x(pair), pairs.effects[pair] as usize, weight * residual, weight * spread);
            }
        }
        let mut all = Arrow::zero(pairs.width, pairs.labels.len());
        parts.iter().for_each(|part| all.plus(part));
        let stepped = |arrow: &Arrow| -> Result<Point> {
            let step = arrow.step(&self.point.beta, &self.point.effects, self.variance, RIDGE)?;
            Ok(self.point.moved(&step.beta, &step.effects, 1.0))
        };
        let whole = stepped(&all)?;
        let by_fold = parts.iter().map(|part| stepped(&all.without(part))).collect::<Result<Vec<Point>>>()?;
        let logit = |pair: &usize| {
            let row = pairs.rows[*pair] as usize;
            if weights[row] == 0.0 { 0.0 } else { by_fold[self.fold_of[row] as usize].logit(pairs, *pair) }
        };
        let logits: Vec<f64> = self.balance.pairs().iter().map(logit).collect();
        let (correction, found) = self.balance.find(weights, &logits, self.correction)?;
        Ok((whole.parameters(&correction), found))
    }
}

/// Poisson(1) weights of rows, one list for each replicate.
pub(super) fn bootstrap_weights(rows: usize, replicates: usize, seed: u64) -> Result<Vec<Vec<f64>>> {
    let poisson = Poisson::new(1.0).map_err(|cause| Error::value(format!("cannot draw weights ({cause})")))?;
    let of_replicate = |replicate: usize| {
        let mut rng = stream(seed, Purpose::RowRefits, replicate as u64);
        (0..rows).map(|_| poisson.sample(&mut rng)).collect()
    };
    Ok((0..replicates).map(of_replicate).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Csr, Labels};
    use crate::propensity::rows::Covariate;
    use crate::propensity::rows::newton::{maximise, maximise_evidence};
    use crate::rng::uniform;

    #[test]
    fn one_step_is_as_good_as_a_search() {
        let (mut early, mut later, mut scores) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..500 {
            let mut rng = stream(1, Purpose::GenerateRows, row);
            later.push((0..6u32).collect::<Vec<_>>());
            early.push((0..6u32).filter(|label| uniform(&mut rng) < 0.9 - 0.1 * f64::from(*label)).collect::<Vec<_>>());
            scores.push((0..6u32).map(|label| (label, uniform(&mut rng) as f32)).collect::<Vec<_>>());
        }
        let labels = |rows| Labels::from_ids(6, rows).unwrap();
        let scores = Csr::from_rows(6, scores).unwrap();
        let covariates = [Covariate::LogCount, Covariate::Rank];
        let pairs = Matched::collect(&labels(early), &labels(later), Some(&scores), &covariates, &[], &[500; 6]);
        let (point, variance) = maximise_evidence(&pairs, &vec![1.0; 500]).unwrap();
        let balance = Balance::new(&pairs, &covariates);
        let fold_of: Vec<u64> = (0..500).map(|row| row % 5).collect();
        let weights = bootstrap_weights(500, 1, 3).unwrap().remove(0);
        let none = vec![0.0; pairs.width];
        let (stepped, found) = Refits::new(&pairs, (&point, variance), (&balance, &none), (&fold_of, 5)).run(&weights).unwrap();
        assert!(found);

        let searched = maximise(&pairs, &weights, variance, &point).unwrap();
        let without = |fold: u64| {
            let rest: Vec<f64> = weights.iter().zip(&fold_of).map(|(w, of)| if *of == fold { 0.0 } else { *w }).collect();
            maximise(&pairs, &rest, variance, &point).unwrap()
        };
        let by_fold: Vec<Point> = (0..5).map(without).collect();
        let logit = |pair: &usize| by_fold[fold_of[pairs.rows[*pair] as usize] as usize].logit(&pairs, *pair);
        let logits: Vec<f64> = balance.pairs().iter().map(logit).collect();
        let searched = searched.parameters(&balance.find(&weights, &logits, &none).unwrap().0);
        let before = point.parameters(&none);
        let (mut moved, mut apart) = (0.0f64, 0.0f64);
        for pair in 0..pairs.len() {
            let p = |parameters: &Parameters| parameters.propensity(pairs.x(pair), Some(pairs.effects[pair] as usize));
            moved = moved.max((p(&searched) - p(&before)).abs());
            apart = apart.max((p(&searched) - p(&stepped)).abs());
        }
        assert!(apart < moved / 10.0, "{apart} of {moved}");
    }
}
