//! Completed labels: a number for every unobserved pair, with which sums over pairs are estimates.
//!
//! In stratum h, N pairs of which n are judged in folds f of n_f pairs, with guesses w^(-f) that were fitted without fold f, the sum of
//! `g y` over the stratum is estimated without bias by
//!
//! `(N/n) sum_judged g y + sum_f (n_f/n) [sum_{u not judged in other folds} g w^(-f) - ((N - n + n_f)/n_f) sum_{judged in f} g w^(-f)]`:
//!
//! given the other folds, fold f is a simple random sample of what they left, so each bracket has mean 0. The coefficient of g is
//! `(N/n) y - ((N - n)/n) w^(-f)` for a judged pair of fold f, and `sum_f (n_f/n) w^(-f)` for a pair that is not judged. Pairs of earlier
//! rounds are known. Without guesses (Horvitz-Thompson) w is 0. Rounds are combined by their weights.
//!
//! Pairs that could not be drawn, and judgements that are unsure, count one half, with a slack of one half to each side.

use super::guesses::{Covariates, Guess, shrunken_rates};
use super::sample::{Design, RoundSample, Sample, Sampled};
use super::strata::NO_STRATUM;
use crate::rng::{Purpose, below, stream};
use std::collections::HashSet;

/// Parts of a cross-fit.
const FOLDS: usize = 5;

/// A judged pair with the guess that did not see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) place: u32,
    pub(super) y: f64,
    pub(super) guess: f64,
}

/// The judged pairs of a stratum.
#[derive(Clone, Debug)]
pub(super) struct StratumItems {
    pub(super) size: f64,
    pub(super) items: Vec<Item>,
    /// The share of relevant pairs, shrunken.
    pub(super) rate: f64,
}

/// A round.
#[derive(Clone, Debug)]
pub(super) struct RoundItems {
    pub(super) weight: f64,
    pub(super) strata: Vec<StratumItems>,
    pub(super) of: Option<Vec<u16>>,
}

/// Judged pairs by design.
#[derive(Clone, Debug)]
pub(super) enum Items {
    Strata(Vec<RoundItems>),
    /// Judged pairs with their probabilities, and the share of relevant ones.
    Poisson(Vec<(Item, f64)>, f64),
}

/// See the module's page.
#[derive(Clone, Debug)]
pub(super) struct Completed {
    /// By pair: the coefficient of its gain.
    pub(super) value: Vec<f64>,
    /// How far it may be off to each side for lack of a judgement.
    pub(super) slack: Vec<f64>,
    /// How likely the pair is relevant.
    pub(super) likely: Vec<f64>,
    pub(super) items: Items,
    /// Whether guesses were used.
    pub(super) is_calibrated: bool,
}

impl Completed {
    /// With guesses from covariates, or without.
    pub(super) fn new(sample: &Sample, covariates: Option<&Covariates>, seed: u64) -> Completed {
        let pairs = sample.pairs.len();
        let mut completed = Completed {
            value: vec![0.0; pairs],
            slack: vec![0.0; pairs],
            likely: vec![0.5; pairs],
            items: Items::Strata(Vec::new()),
            is_calibrated: false,
        };
        for (place, _) in sample.covered.iter().enumerate().filter(|(_, covered)| !**covered) {
            (completed.value[place], completed.slack[place]) = (0.5, 0.5);
        }
        match &sample.design {
            Design::Strata(rounds) => completed.add_rounds(rounds, covariates, seed),
            Design::Poisson(judged) => {
                let rate = shrunken_rates(1, judged.iter().map(|(pair, _)| (0, pair.y)))[0];
                completed.likely.fill(rate);
                for (pair, probability) in judged {
                    completed.value[pair.place as usize] = pair.y / probability;
                    completed.slack[pair.place as usize] = pair.slack() / probability;
                }
                let item = |&(pair, probability): &(Sampled, f64)| (Item { place: pair.place, y: pair.y, guess: 0.0 }, probability);
                completed.items = Items::Poisson(judged.iter().map(item).collect(), rate);
            }
        }
        completed
    }

    fn add_rounds(&mut self, rounds: &[RoundSample], covariates: Option<&Covariates>, seed: u64) {
        // Known from earlier rounds: place, stratum, y.
        let mut known: Vec<(usize, usize, f64, f64)> = Vec::new();
        let mut items = Vec::new();
        for (number, round) in rounds.iter().enumerate() {
            let strata = round.strata.len();
            let folds: Vec<Vec<usize>> = round
                .strata
                .iter()
                .enumerate()
                .map(|(stratum, of)| folds(of.pairs.len(), seed, (number as u64) << 32 | stratum as u64))
                .collect();
            let judged = || {
                let here =
                    round.strata.iter().enumerate().flat_map(|(stratum, of)| of.pairs.iter().map(move |pair| (stratum, pair)));
                here.map(|(stratum, pair)| (pair.place as usize, stratum, pair.y))
            };
            let fold_of: Vec<usize> = folds.iter().flatten().copied().collect();
            let rates = shrunken_rates(strata, judged().map(|(_, stratum, y)| (stratum, y)));
            let guesses: Vec<Option<Guess>> = (0..FOLDS)
                .map(|fold| {
                    let covariates = covariates.filter(|_| round.of.is_some())?;
                    let others = judged().zip(&fold_of).filter(|(_, of)| **of != fold).map(|(pair, _)| pair);
                    let earlier = known.iter().map(|(place, stratum, y, _)| (*place, *stratum, *y));
                    Some(Guess::fit(covariates, strata, earlier.chain(others).collect()))
                })
                .collect();
            let guess = |fold: usize, place: usize, stratum: usize| match (&guesses[fold], covariates) {
                (Some(guess), Some(covariates)) => guess.of(covariates, place, stratum),
                _ => 0.0,
            };
            if let Some(of) = &round.of {
                let is_judged: HashSet<usize> = judged().map(|(place, _, _)| place).collect();
                let shares: Vec<[f64; FOLDS]> = folds.iter().map(|folds| shares(folds)).collect();
                for (place, stratum) in of.iter().enumerate().filter(|(_, stratum)| **stratum != NO_STRATUM) {
                    let stratum = usize::from(*stratum);
                    let mean: f64 = (0..FOLDS)
                        .filter(|fold| shares[stratum][*fold] > 0.0)
                        .map(|fold| shares[stratum][fold] * guess(fold, place, stratum))
                        .sum();
                    if !is_judged.contains(&place) {
                        self.value[place] += round.weight * mean;
                    }
                    self.likely[place] = if covariates.is_some() { mean } else { rates[stratum] };
                }
            }
            for (place, _, y, slack) in &known {
                self.value[*place] += round.weight * y;
                self.slack[*place] += round.weight * slack;
            }
            let mut of_round = Vec::with_capacity(strata);
            for (stratum, of) in round.strata.iter().enumerate() {
                let n = of.pairs.len() as f64;
                let mut here = Vec::with_capacity(of.pairs.len());
                for (pair, fold) in of.pairs.iter().zip(&folds[stratum]) {
                    let place = pair.place as usize;
                    let guess = guess(*fold, place, stratum);
                    self.value[place] += round.weight * (of.size / n * pair.y - (of.size - n) / n * guess);
                    self.slack[place] += round.weight * of.size / n * pair.slack();
                    here.push(Item { place: pair.place, y: pair.y, guess });
                }
                known.extend(of.pairs.iter().map(|pair| (pair.place as usize, stratum, pair.y, pair.slack())));
                of_round.push(StratumItems { size: of.size, items: here, rate: rates[stratum] });
            }
            items.push(RoundItems { weight: round.weight, strata: of_round, of: round.of.clone() });
        }
        self.is_calibrated = covariates.is_some() && rounds.iter().all(|round| round.of.is_some());
        self.items = Items::Strata(items);
    }
}

/// The share of the pairs that is in each fold.
fn shares(folds: &[usize]) -> [f64; FOLDS] {
    let mut shares = [0.0; FOLDS];
    folds.iter().for_each(|fold| shares[*fold] += 1.0 / folds.len() as f64);
    shares
}

/// The folds of so many pairs: about as many in each, at random.
fn folds(count: usize, seed: u64, index: u64) -> Vec<usize> {
    let mut rng = stream(seed, Purpose::JudgedFolds, index);
    let start = below(&mut rng, FOLDS as u64) as usize;
    let mut folds: Vec<usize> = (0..count).map(|place| (start + place) % FOLDS).collect();
    for at in (1..folds.len()).rev() {
        folds.swap(at, below(&mut rng, at as u64 + 1) as usize);
    }
    folds
}
