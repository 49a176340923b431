//! Guesses: how likely unjudged pairs are relevant, from the judged ones.
//!
//! `w = sigmoid(u_h + b' (x - mean of the stratum))`, a logistic regression: the effect of stratum h is shrunken towards the logit of all
//! judged pairs, b towards 0. On logits the same evidence moves a stratum where nearly all pairs are relevant less than one
//! where half of them are, as it should. Covariates are what is known of every pair: the best rank, the share of models that list it and which they are, how
//! high its scores are among those of each model, the label's training count, the row's observed labels, how many of the row's lists
//! are observed; and what a machine said, which is penalised less. Whatever the guesses are worth, estimates with cross-fitted
//! guesses are unbiased: bad ones cost variance only.

use super::pool::{Pool, UNLISTED};
use super::strata::NO_STRATUM;
use crate::data::{LabelStats, Labels};
use crate::sigmoid::sigmoid;

/// Judged pairs that the rate of all pairs counts as in that of a stratum.
const PRIOR_PAIRS: f64 = 4.0;
/// Penalties: one over the variance of a coefficient, in units of a covariate's standard deviation.
const PENALTY: f64 = 4.0;
const MACHINE_PENALTY: f64 = 0.2;
/// The same for the effect of a stratum.
const STRATUM_PENALTY: f64 = 0.2;
/// Newton steps of a fit, and how often a step is halved that does not improve it.
const STEPS: usize = 20;
const HALVINGS: usize = 10;
/// Models of which it is a covariate whether they list a pair: where one is worse than the others, its pairs are.
const MODELS: usize = 6;
/// The first of these columns.
const LISTED: usize = 6;
const WIDTH: usize = LISTED + MODELS + 1;
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
                let ranks = pool.ranks(pair).iter().take(MODELS);
                x[LISTED..].iter_mut().zip(ranks).for_each(|(x, rank)| *x = f64::from(u8::from(*rank != UNLISTED)));
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
    /// Effects of strata.
    effects: Vec<f64>,
    slopes: [f64; WIDTH],
}

/// What a fit minimises: half the deviance of judged pairs, and penalties.
struct Objective<'a> {
    covariates: &'a Covariates,
    /// Place, stratum, and 1, 0 or between.
    judged: Vec<(usize, usize, f64)>,
    /// The logit of all judged pairs.
    overall: f64,
    penalties: [f64; WIDTH],
}

impl Guess {
    /// Fitted to judged pairs: place, stratum, and 1, 0 or between.
    pub(super) fn fit(covariates: &Covariates, strata: usize, judged: Vec<(usize, usize, f64)>) -> Guess {
        let relevant = 0.5 + judged.iter().map(|(_, _, y)| y).sum::<f64>();
        let overall = (relevant / (1.0 + judged.len() as f64 - relevant)).ln();
        let mut penalties = [PENALTY; WIDTH];
        // A column of zeros keeps its slope at 0 under any penalty.
        penalties[MACHINE] = if covariates.has_machine { MACHINE_PENALTY } else { PENALTY };
        let objective = Objective { covariates, judged, overall, penalties };
        let mut guess = Guess { effects: vec![overall; strata], slopes: [0.0; WIDTH] };
        let mut loss = objective.value(&guess);
        for _ in 0..STEPS {
            let step = objective.step(&guess);
            let tried = (0..HALVINGS).map(|halving| guess.moved(&step, 0.5f64.powi(halving as i32)));
            let improved = tried.map(|moved| (objective.value(&moved), moved)).find(|(now, _)| *now < loss);
            let Some((now, moved)) = improved else { break };
            let gain = loss - now;
            (guess, loss) = (moved, now);
            if gain < 1e-9 * loss {
                break;
            }
        }
        guess
    }

    fn moved(&self, step: &Guess, length: f64) -> Guess {
        Guess {
            effects: self.effects.iter().zip(&step.effects).map(|(u, step)| u + length * step).collect(),
            slopes: std::array::from_fn(|i| self.slopes[i] + length * step.slopes[i]),
        }
    }

    fn logit(&self, covariates: &Covariates, place: usize, stratum: usize) -> f64 {
        self.effects[stratum] + covariates.x[place].iter().zip(&self.slopes).map(|(x, b)| x * b).sum::<f64>()
    }

    /// How likely a pair is relevant.
    pub(super) fn of(&self, covariates: &Covariates, place: usize, stratum: usize) -> f64 {
        sigmoid(self.logit(covariates, place, stratum))
    }
}

impl Objective<'_> {
    fn value(&self, guess: &Guess) -> f64 {
        let slopes: f64 = guess.slopes.iter().zip(&self.penalties).map(|(b, penalty)| penalty * b * b / 2.0).sum();
        let effects: f64 = guess.effects.iter().map(|u| STRATUM_PENALTY * (u - self.overall).powi(2) / 2.0).sum();
        let of_pair = |(place, stratum, y): &(usize, usize, f64)| {
            let logit = guess.logit(self.covariates, *place, *stratum);
            // log(1 + exp(z)) - y z without overflow.
            logit.max(0.0) + (-logit.abs()).exp().ln_1p() - y * logit
        };
        slopes + effects + self.judged.iter().map(of_pair).sum::<f64>()
    }

    /// Newton's step for slopes and for effects as if the other were fixed: covariates are centred within strata, so it nearly is.
    fn step(&self, guess: &Guess) -> Guess {
        let mut effects: Vec<(f64, f64)> =
            guess.effects.iter().map(|u| (-STRATUM_PENALTY * (u - self.overall), STRATUM_PENALTY)).collect();
        let mut normal = [[0.0; WIDTH + 1]; WIDTH];
        for (place, stratum, y) in &self.judged {
            let (x, share) = (&self.covariates.x[*place], guess.of(self.covariates, *place, *stratum));
            let curvature = share * (1.0 - share);
            let effect = &mut effects[*stratum];
            *effect = (effect.0 + y - share, effect.1 + curvature);
            for (i, row) in normal.iter_mut().enumerate() {
                for (cell, x_j) in row.iter_mut().zip(x) {
                    *cell += curvature * x[i] * x_j;
                }
                row[WIDTH] += x[i] * (y - share);
            }
        }
        for (i, (row, penalty)) in normal.iter_mut().zip(&self.penalties).enumerate() {
            row[i] += penalty;
            row[WIDTH] -= penalty * guess.slopes[i];
        }
        Guess { effects: effects.iter().map(|(gradient, curvature)| gradient / curvature).collect(), slopes: solve(normal) }
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
