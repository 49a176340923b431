//! The last step of a fit: coefficients are adjusted until the estimate is right on the matched rows.
//!
//! A likelihood makes `sum x (y - p)` vanish. An evaluation needs `sum x (y/p - 1)` to vanish: then the inverse-propensity
//! estimate of how many relevant labels the audited model has among its first k is what the evidence says, for each k at which the
//! rank has a step and enough pairs were observed (without ranks: of how many relevant labels there are). The correction c of these columns solves
//! `sum w x (y/p - 1) = c` with `p = sigmoid(z + c'x)`, where the right-hand side comes from the penalty `|c|^2 / 2` (none for the
//! constant column): the minimum of the convex `sum w [y exp(-z - c'x) + (1 - y) c'x] + |c|^2 / 2`. The logits z come from fits that
//! left the pair's row out, since a label's effect knows the outcomes that it was fitted to.
//!
//! # Reference
//! Tan, "Regularized calibrated estimation of propensity scores with model misspecification and high-dimensional data", 2020.

use super::arrow::{dot, solve};
use super::covariates::{Covariate, rank_columns};
use super::matched::Matched;
use crate::error::Result;

const STEPS: usize = 50;
/// Observed pairs that a correction of its own takes.
const LEAST_OBSERVED: usize = 30;

/// The pairs and columns that are balanced.
pub(super) struct Balance {
    columns: Vec<usize>,
    /// Pairs where one of the columns is not 0: the others stay as they are.
    pairs: Vec<usize>,
    x: Vec<f64>,
    rows: Vec<u32>,
    observed: Vec<bool>,
    /// What each counts.
    weights: Vec<f64>,
}

/// The steps of the rank between which enough pairs were observed, or else the constant: from a few pairs, of which perhaps none was
/// observed, nothing follows.
fn columns(pairs: &Matched, covariates: &[Covariate]) -> Vec<usize> {
    let mut chosen = Vec::new();
    let mut before = 0;
    for column in rank_columns(covariates).into_iter().flatten() {
        let is_observed = |pair: &usize| pairs.observed[*pair] && pairs.x(*pair)[column] != 0.0;
        let observed = (0..pairs.len()).filter(is_observed).count();
        if observed >= before + LEAST_OBSERVED {
            before = observed;
            chosen.push(column);
        }
    }
    if chosen.is_empty() { vec![0] } else { chosen }
}

/// A correction of all columns, and whether the search for it came to its end.
pub(super) type Correction = (Vec<f64>, bool);

impl Balance {
    pub(super) fn new(pairs: &Matched, covariates: &[Covariate]) -> Balance {
        let columns = columns(pairs, covariates);
        let is_part = |pair: &usize| columns.iter().any(|column| pairs.x(*pair)[*column] != 0.0);
        let part: Vec<usize> = (0..pairs.len()).filter(is_part).collect();
        let x = part.iter().flat_map(|pair| columns.iter().map(|column| pairs.x(*pair)[*column])).collect();
        let rows = part.iter().map(|pair| pairs.rows[*pair]).collect();
        let observed = part.iter().map(|pair| pairs.observed[*pair]).collect();
        let weights = part.iter().map(|pair| pairs.weight(*pair)).collect();
        Balance { columns, pairs: part, x, rows, observed, weights }
    }

    /// The pairs that take part.
    pub(super) fn pairs(&self) -> &[usize] {
        &self.pairs
    }

    /// Finds the correction. `weights` are by row, `logits` by pair that takes part, `start` and the result by column of all.
    pub(super) fn find(&self, weights: &[f64], logits: &[f64], start: &[f64]) -> Result<Correction> {
        let mut at: Vec<f64> = self.columns.iter().map(|column| start[*column]).collect();
        let mut value = self.objective(weights, logits, &at);
        let mut found = false;
        'search: for _ in 0..STEPS {
            let (step, decrement) = self.direction(weights, logits, &at)?;
            if decrement < 1e-8 {
                found = true;
                break;
            }
            let mut length = 1.0;
            loop {
                let moved: Vec<f64> = at.iter().zip(&step).map(|(at, by)| at + length * by).collect();
                let reached = self.objective(weights, logits, &moved);
                if reached <= value {
                    (at, value) = (moved, reached);
                    break;
                }
                length /= 2.0;
                if length < 1e-6 {
                    // No step is better: the end, unless much was expected of it.
                    found = decrement < 1e-9 * (1.0 + value.abs());
                    break 'search;
                }
            }
        }
        let mut correction = vec![0.0; start.len()];
        self.columns.iter().zip(at).for_each(|(column, value)| correction[*column] = value);
        Ok((correction, found))
    }

    /// The constant column has no penalty.
    fn penalty(&self, place: usize) -> f64 {
        if self.columns[place] == 0 { 0.0 } else { 1.0 }
    }

    fn x(&self, place: usize) -> &[f64] {
        let width = self.columns.len();
        &self.x[place * width..(place + 1) * width]
    }

    fn objective(&self, weights: &[f64], logits: &[f64], at: &[f64]) -> f64 {
        let mut total = 0.0;
        for place in 0..self.pairs.len() {
            let weight = weights[self.rows[place] as usize] * self.weights[place];
            if weight != 0.0 {
                let moved = dot(at, self.x(place));
                total += weight * if self.observed[place] { (-logits[place] - moved).exp() } else { moved };
            }
        }
        total + at.iter().enumerate().map(|(place, c)| self.penalty(place) * c * c).sum::<f64>() / 2.0
    }

    /// The Newton step and what it is expected to gain, times two.
    fn direction(&self, weights: &[f64], logits: &[f64], at: &[f64]) -> Result<(Vec<f64>, f64)> {
        let d = self.columns.len();
        let mut slope = vec![0.0; d];
        let mut curvature = vec![0.0; d * d];
        for place in 0..self.pairs.len() {
            let weight = weights[self.rows[place] as usize] * self.weights[place];
            if weight == 0.0 {
                continue;
            }
            let x = self.x(place);
            if !self.observed[place] {
                slope.iter_mut().zip(x).for_each(|(slope, x)| *slope -= weight * x);
                continue;
            }
            let odds = weight * (-logits[place] - dot(at, x)).exp();
            for (a, xa) in x.iter().enumerate().filter(|(_, xa)| **xa != 0.0) {
                let share = odds * xa;
                slope[a] += share;
                curvature[a * d..=a * d + a].iter_mut().zip(x).for_each(|(into, xb)| *into += share * xb);
            }
        }
        for (place, at) in at.iter().enumerate() {
            slope[place] -= self.penalty(place) * at;
            curvature[place * d + place] += self.penalty(place);
        }
        let step = solve(&mut curvature, slope.clone(), d)?;
        let decrement = dot(&slope, &step);
        Ok((step, decrement))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Csr, Labels};
    use crate::propensity::rows::newton::propensity;

    #[test]
    fn inverse_propensities_add_up_to_what_is_relevant() {
        // 200 rows with two relevant labels, ranked 1 and 2; the first is observed in 150 rows, the second in 50.
        let later = Labels::from_ids(2, (0..200).map(|_| [0, 1])).unwrap();
        let early = Labels::from_ids(
            2,
            (0..200u32).map(|row| {
                if row < 50 {
                    vec![0, 1]
                } else if row < 150 {
                    vec![0]
                } else {
                    vec![]
                }
            }),
        );
        let scores = Csr::from_rows(2, (0..200).map(|_| [(0, 2.0f32), (1, 1.0)])).unwrap();
        let covariates = [Covariate::Rank];
        let pairs = Matched::collect(&early.unwrap(), &later, Some(&scores), &covariates, &[], &[200, 200]);
        let balance = Balance::new(&pairs, &covariates);
        let logits = vec![0.3; balance.pairs().len()];
        let (correction, found) = balance.find(&vec![1.0; 200], &logits, &vec![0.0; pairs.width]).unwrap();
        assert!(found && correction[0] == 0.0, "{correction:?}");
        assert_eq!(balance.columns, [1, 2]);
        for (rank, observed) in [(0, 150.0), (1, 50.0)] {
            let pair = pairs.ranks.iter().position(|at| *at == rank).unwrap();
            let sum = observed / propensity(0.3 + dot(&correction, pairs.x(pair)));
            // But for the penalty.
            assert!((sum - 200.0).abs() < 4.0, "rank {rank}: {sum}");
        }
    }

    #[test]
    fn nothing_follows_from_a_few_pairs() {
        // The first label is never observed and ranked first in 20 rows only; the second is observed in 100 of 200.
        let later = Labels::from_ids(2, (0..200u32).map(|row| if row < 20 { vec![0, 1] } else { vec![1] })).unwrap();
        let early = Labels::from_ids(2, (0..200u32).map(|row| if row % 2 == 0 { vec![1] } else { vec![] })).unwrap();
        let scores =
            Csr::from_rows(2, (0..200u32).map(|row| if row < 20 { [(0, 2.0f32), (1, 1.0)] } else { [(0, -1.0), (1, -2.0)] }));
        let pairs = Matched::collect(&early, &later, Some(&scores.unwrap()), &[Covariate::Rank], &[], &[20, 200]);
        let balance = Balance::new(&pairs, &[Covariate::Rank]);
        assert_eq!(balance.columns, [2]);
        let (correction, found) =
            balance.find(&vec![1.0; 200], &vec![0.0; balance.pairs().len()], &vec![0.0; pairs.width]).unwrap();
        assert!(found);
        let never = pairs.ranks.iter().position(|rank| *rank == 0).unwrap();
        assert!(propensity(dot(&correction, pairs.x(never))) > 0.3, "{correction:?}");
    }
}
