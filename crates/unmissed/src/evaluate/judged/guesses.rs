//! Guesses: how likely unjudged pairs are relevant, from what was judged.
//!
//! `w = rate of the stratum + b' (x - mean of the stratum)`, cut to [0, 1]: rates are shrunken towards that of all judged pairs, b is a
//! ridge regression. Covariates are what is known of every pair: the best rank, the share of models that list it, how high its
//! scores are among those of each model, the label's training count, the row's observed labels, how many of the row's lists
//! are observed; and what a machine said, which is penalised less. Whatever the guesses are worth, estimates with cross-fitted
//! guesses are unbiased: bad ones cost variance only.

use super::pool::{Pool, UNLISTED};
use super::strata::NO_STRATUM;
use crate::data::{LabelStats, Labels};

/// Judged pairs that the rate of all pairs counts as in that of a stratum.
const PRIOR_PAIRS: f64 = 4.0;
/// Penalties: the variance of a judgement over that of a coefficient, in units of a covariate's standard deviation.
const PENALTY: f64 = 20.0;
const MACHINE_PENALTY: f64 = 1.0;
const WIDTH: usize = 7;
/// The column of what a machine said.
const MACHINE: usize = WIDTH - 1;

/// Covariates of pairs, centred within strata, with standard deviation 1.
pub(super) struct Covariates {
    x: Vec<[f64; WIDTH]>,
    has_machine: bool,
}

impl Covariates {
    /// Of `pairs`, which are in strata `of`; `pool` has what the evaluated models say.
    pub(super) fn new(
        pairs: &[(u32, u32)],
        of: &[u16],
        pool: &Pool,
        truth: &Labels<'_>,
        train: Option<&LabelStats>,
        machine: Option<&dyn Fn(u32, u32) -> Option<f64>>,
    ) -> Covariates {
        let heights = heights(pool);
        let mut hits = vec![0u32; truth.rows()];
        for (pair, _) in pool.observed.iter().enumerate().filter(|(_, observed)| **observed) {
            hits[pool.pairs[pair].0 as usize] += 1;
        }
        let counted;
        let counts = match train {
            Some(stats) => stats,
            None => {
                counted = LabelStats::of(truth);
                &counted
            }
        };
        let describe = |&(row, label): &(u32, u32)| {
            let mut x = [0.0; WIDTH];
            if let Some(pair) = pool.find(row, label) {
                x[0] = -(f64::from(pool.best_rank(pair)) + 1.0).ln();
                x[1] = pool.listed_by(pair) as f64 / pool.models as f64;
                x[2] = heights[pair];
            }
            x[3] = (counts.count(label) as f64).ln_1p();
            x[4] = (truth.row_ids(row as usize).len() as f64).ln_1p();
            x[5] = f64::from(hits[row as usize]).ln_1p();
            x[MACHINE] = machine.and_then(|machine| machine(row, label)).unwrap_or(f64::NAN);
            x
        };
        let mut x: Vec<[f64; WIDTH]> = pairs.iter().map(describe).collect();
        let strata = of.iter().filter(|stratum| **stratum != NO_STRATUM).max().map_or(0, |last| usize::from(*last) + 1);
        for column in 0..WIDTH {
            standardise(&mut x, of, strata, column);
        }
        Covariates { x, has_machine: machine.is_some() }
    }
}

/// For each pair of the pool, how high its scores are among all listed scores of the models that list it: 0 to 1, mean over models.
fn heights(pool: &Pool) -> Vec<f64> {
    let mut sums = vec![0.0; pool.len()];
    for model in 0..pool.models {
        let mut listed: Vec<usize> = (0..pool.len()).filter(|pair| pool.ranks(*pair)[model] != UNLISTED).collect();
        listed.sort_by(|a, b| pool.scores(*a)[model].total_cmp(&pool.scores(*b)[model]));
        let last = listed.len().saturating_sub(1).max(1) as f64;
        for of_score in
            listed.iter().enumerate().collect::<Vec<_>>().chunk_by(|a, b| pool.scores(*a.1)[model] == pool.scores(*b.1)[model])
        {
            let middle = (of_score[0].0 + of_score[of_score.len() - 1].0) as f64 / 2.0 / last;
            of_score.iter().for_each(|(_, pair)| sums[**pair] += middle);
        }
    }
    sums.iter().enumerate().map(|(pair, sum)| sum / pool.listed_by(pair).max(1) as f64).collect()
}

/// Centres a column within strata and divides by its standard deviation; what is unknown becomes 0.
fn standardise(x: &mut [[f64; WIDTH]], of: &[u16], strata: usize, column: usize) {
    let mut sums = vec![(0.0, 0.0); strata];
    for (x, stratum) in x.iter().zip(of).filter(|(x, stratum)| **stratum != NO_STRATUM && x[column].is_finite()) {
        let sum = &mut sums[usize::from(*stratum)];
        *sum = (sum.0 + x[column], sum.1 + 1.0);
    }
    let (mut squares, mut count) = (0.0, 0.0);
    for (x, stratum) in x.iter_mut().zip(of) {
        let mean = sums.get(usize::from(*stratum)).filter(|(_, count)| *count > 0.0).map(|(sum, count)| sum / count);
        x[column] = match mean {
            Some(mean) if x[column].is_finite() => x[column] - mean,
            _ => 0.0,
        };
        if x[column] != 0.0 {
            squares += x[column] * x[column];
            count += 1.0;
        }
    }
    let deviation = (squares / f64::max(count, 1.0)).sqrt();
    // What is constant up to rounding says nothing.
    let factor = if deviation > 1e-9 { 1.0 / deviation } else { 0.0 };
    x.iter_mut().for_each(|x| x[column] *= factor);
}

/// Fitted guesses.
#[derive(Clone)]
pub(super) struct Guess {
    rates: Vec<f64>,
    slopes: [f64; WIDTH],
}

impl Guess {
    /// Fitted to judged pairs: place, stratum, and 1, 0 or between.
    pub(super) fn fit(covariates: &Covariates, strata: usize, judged: impl Iterator<Item = (usize, usize, f64)> + Clone) -> Guess {
        let rates = shrunken_rates(strata, judged.clone().map(|(_, stratum, y)| (stratum, y)));
        let mut normal = [[0.0; WIDTH + 1]; WIDTH];
        for (place, stratum, y) in judged {
            let (x, residual) = (&covariates.x[place], y - rates[stratum]);
            for (i, row) in normal.iter_mut().enumerate() {
                for (cell, x_j) in row.iter_mut().zip(x) {
                    *cell += x[i] * x_j;
                }
                row[WIDTH] += x[i] * residual;
            }
        }
        for (i, row) in normal.iter_mut().enumerate() {
            row[i] += if i == MACHINE { MACHINE_PENALTY } else { PENALTY };
        }
        let mut slopes = solve(normal);
        if !covariates.has_machine {
            slopes[MACHINE] = 0.0;
        }
        Guess { rates, slopes }
    }

    /// How likely a pair is relevant.
    pub(super) fn of(&self, covariates: &Covariates, place: usize, stratum: usize) -> f64 {
        let lift: f64 = covariates.x[place].iter().zip(&self.slopes).map(|(x, b)| x * b).sum();
        (self.rates[stratum] + lift).clamp(0.0, 1.0)
    }
}

/// The share of relevant pairs by stratum, shrunken towards that of all.
pub(super) fn shrunken_rates(strata: usize, judged: impl Iterator<Item = (usize, f64)>) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); strata];
    for (stratum, y) in judged {
        sums[stratum] = (sums[stratum].0 + y, sums[stratum].1 + 1.0);
    }
    let (relevant, all) = sums.iter().fold((0.5, 1.0), |(relevant, all), (y, n)| (relevant + y, all + n));
    let overall = relevant / all;
    sums.iter().map(|(y, n)| (y + PRIOR_PAIRS * overall) / (n + PRIOR_PAIRS)).collect()
}

/// Solves a positive definite system by elimination; its last column is the right-hand side.
fn solve(mut normal: [[f64; WIDTH + 1]; WIDTH]) -> [f64; WIDTH] {
    for pivot in 0..WIDTH {
        let row = normal[pivot];
        for other in normal.iter_mut().skip(pivot + 1) {
            let factor = other[pivot] / row[pivot];
            other.iter_mut().zip(&row).for_each(|(cell, of_pivot)| *cell -= factor * of_pivot);
        }
    }
    let mut solution = [0.0; WIDTH];
    for pivot in (0..WIDTH).rev() {
        let known: f64 = (pivot + 1..WIDTH).map(|other| normal[pivot][other] * solution[other]).sum();
        solution[pivot] = (normal[pivot][WIDTH] - known) / normal[pivot][pivot];
    }
    solution
}
