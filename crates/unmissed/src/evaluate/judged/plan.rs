//! The plan: which pairs are judged, drawn with known probabilities.
//!
//! The pool is all pairs of the models' top lists. Observed pairs count as relevant; the others are put into strata (`strata.rs`) and a
//! simple random sample is drawn from each (`allocation.rs` decides how many), so that a pair of stratum h is drawn with probability
//! `n_h / N_h`. Later rounds draw from what is left: their probabilities are conditional on the earlier rounds, whose judgements may
//! decide about the allocation. Rounds are combined with weights proportional to their sizes, which are fixed before anybody judges;
//! weights that depend on judgements would bias the estimate.

use super::allocation::allocate;
use super::expected::{ExpectedInterval, expected};
use super::gains::{Places, SumOf};
use super::guesses::shrunken_rates;
use super::pool::{Pool, labels_mark, lists_mark};
use super::strata::{NO_STRATUM, Strata};
use super::target::Target;
use crate::data::{Csr, Judgements, LabelStats, Labels};
use crate::error::{Error, Result};
use crate::evaluate::builder::{Evaluation, same};
use crate::metrics::{self, Shape};
use crate::request::AnnotateRequest;
use crate::rng::{Purpose, below, stream};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What observed pairs that are checked have for a stratum.
pub const OBSERVED: &str = "observed";

/// Pairs to judge, with all that an estimate needs to know about how they were drawn. See the module's page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnnotationPlan {
    pub(super) version: u32,
    /// What was asked for in the last round.
    pub(super) request: AnnotateRequest,
    pub(super) rows: u64,
    pub(super) labels: u64,
    /// What the test labels and the lists of each model were.
    pub(super) test: String,
    pub(super) models: Vec<(String, String)>,
    /// The unobserved pairs of the pool, ascending: rows and labels.
    pub(super) pair_rows: Vec<u32>,
    pub(super) pair_labels: Vec<u32>,
    /// The observed pairs of the pool.
    pub(super) observed: Vec<(u32, u32)>,
    pub(super) strata: Vec<String>,
    /// The stratum of each pair.
    pub(super) of: Vec<u16>,
    pub(super) rounds: Vec<Round>,
}

/// One round of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Round {
    /// By stratum: how many pairs were left, and how many of them are drawn.
    pub(super) strata: Vec<(u64, u64)>,
    /// Places of drawn pairs.
    pub(super) drawn: Vec<u32>,
    /// Observed pairs that are drawn too, and of how many.
    pub(super) checks: Vec<(u32, u32)>,
    pub(super) checked_of: u64,
    /// The random order in which all of them are judged: numbers of `drawn`, then of `checks`.
    pub(super) order: Vec<u32>,
}

/// A pair to judge.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPair<'p> {
    /// The round, from 1.
    pub round: u32,
    /// The row.
    pub row: u32,
    /// The label.
    pub label: u32,
    /// The probability of being drawn, given the earlier rounds.
    pub probability: f64,
    /// The stratum, or [`OBSERVED`].
    pub stratum: &'p str,
}

/// Version of the file.
pub(super) const VERSION: u32 = 1;

/// The models and labels that a plan is made from.
#[derive(Clone, Copy)]
pub struct PlanData<'a> {
    /// Observed test labels.
    pub truth: &'a Labels<'a>,
    /// Predictions by name.
    pub models: &'a [(&'a str, &'a Csr<'a, f32>)],
    /// How often labels occur in training, when it is known.
    pub train: Option<&'a LabelStats>,
}

impl PlanData<'_> {
    fn check(&self) -> Result<()> {
        Evaluation::new(self.truth, self.models)?;
        if let Some(stats) = self.train {
            same("the training labels", "labels", self.truth.cols(), stats.labels() as usize)?;
        }
        match u32::try_from(self.truth.rows()) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::value("too many rows for one plan").expected(format!("at most {}", u32::MAX))),
        }
    }

    /// The pairs of the lists, few enough for numbers of 32 bits, which plans have.
    fn pool(&self, depth: usize) -> Result<Pool> {
        let scores: Vec<&Csr<'_, f32>> = self.models.iter().map(|(_, scores)| *scores).collect();
        let pool = Pool::new(self.truth, &scores, depth);
        match u32::try_from(pool.len()) {
            Ok(_) => Ok(pool),
            Err(_) => Err(Error::value("too many pairs for one plan")
                .expected(format!("at most {}", u32::MAX))
                .found(pool.len().to_string())
                .hint("lower k, or plan for some of the rows")),
        }
    }
}

/// Brings the first two pairs of each stratum to the front, in the order that they have: who stops early has judged some of every
/// stratum. Within strata the order stays random, so that what is judged stays a random sample of each.
fn lead_with_each_stratum(order: &mut Vec<u32>, counts: &[u64]) {
    let ends: Vec<u64> = counts.iter().scan(0, |end, count| Some(std::mem::replace(end, *end + count) + count)).collect();
    let mut taken = vec![0u8; counts.len()];
    let mut leads = |number: &u32| {
        let stratum = ends.partition_point(|end| *end <= u64::from(*number));
        // Beyond the last are observed pairs that are checked.
        let Some(taken) = taken.get_mut(stratum) else { return false };
        *taken = taken.saturating_add(1);
        *taken <= 2
    };
    let (first, rest): (Vec<u32>, Vec<u32>) = order.iter().copied().partition(&mut leads);
    *order = first;
    order.extend(rest);
}

impl AnnotationPlan {
    /// Draws the first round.
    pub fn new(data: &PlanData<'_>, request: &AnnotateRequest) -> Result<AnnotationPlan> {
        request.check()?;
        data.check()?;
        let pool = data.pool(request.k.largest())?;
        let Strata { names, of } = Strata::new(&pool, request.k.as_slice(), data.train, request.budget);
        let open: Vec<usize> = (0..pool.len()).filter(|pair| of[*pair] != NO_STRATUM).collect();
        if open.is_empty() {
            return Err(Error::value("there is nothing to judge")
                .found("top lists whose labels are all observed")
                .hint("every prediction is known to be right; raise k to judge further down the lists"));
        }
        let mut plan = AnnotationPlan {
            version: VERSION,
            request: request.clone(),
            rows: data.truth.rows() as u64,
            labels: data.truth.cols() as u64,
            test: labels_mark(data.truth),
            models: data.models.iter().enumerate().map(|(at, (name, _))| ((*name).to_owned(), lists_mark(&pool, at))).collect(),
            pair_rows: open.iter().map(|pair| pool.pairs[*pair].0).collect(),
            pair_labels: open.iter().map(|pair| pool.pairs[*pair].1).collect(),
            observed: pool.pairs.iter().zip(&pool.observed).filter(|(_, observed)| **observed).map(|(pair, _)| *pair).collect(),
            of: open.iter().map(|pair| of[*pair]).collect(),
            strata: names,
            rounds: Vec::new(),
        };
        let rates = vec![request.assumed; plan.strata.len()];
        plan.draw(&pool, &rates);
        Ok(plan)
    }

    /// Draws another round from what is left, for the same data; what was judged so far decides how many pairs each stratum gets.
    pub fn next_round(&self, data: &PlanData<'_>, judged: &Judgements, request: &AnnotateRequest) -> Result<AnnotationPlan> {
        request.check()?;
        data.check()?;
        let request = AnnotateRequest { k: self.request.k.clone(), ..request.clone() };
        let pool = data.pool(request.k.largest())?;
        let marks: Vec<(String, String)> =
            data.models.iter().enumerate().map(|(at, (name, _))| ((*name).to_owned(), lists_mark(&pool, at))).collect();
        if labels_mark(data.truth) != self.test || marks != self.models {
            return Err(Error::value("these are not the data that the earlier rounds used")
                .expected(format!("the same test labels and the same predictions of {}", self.model_names()))
                .hint("start a new plan for other data"));
        }
        let mut sums = Vec::new();
        for judgement in judged.pairs() {
            let place = self.find(judgement.row, judgement.label);
            if let (Some(place), Some(relevance)) = (place, judgement.relevance) {
                let (low, high) = relevance.bounds();
                sums.push((usize::from(self.of[place]), (low + high) / 2.0));
            }
        }
        let rates = shrunken_rates(self.strata.len(), sums.into_iter());
        let mut plan = AnnotationPlan { request, ..self.clone() };
        if plan.left(plan.rounds.len()).iter().all(|left| !left) {
            return Err(Error::value("there is nothing left to judge").found("earlier rounds that have all pairs of the pool"));
        }
        plan.draw(&pool, &rates);
        Ok(plan)
    }

    fn model_names(&self) -> String {
        self.models.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Adds a round.
    fn draw(&mut self, pool: &Pool, rates: &[f64]) {
        let (seed, round) = (self.request.seed, self.rounds.len() as u64);
        let left = self.left(self.rounds.len());
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.strata.len()];
        for (place, stratum) in self.of.iter().enumerate().filter(|(place, _)| left[*place]) {
            members[usize::from(*stratum)].push(place as u32);
        }
        let importance = self.importance(pool);
        let spread = |members: &Vec<u32>, rate: f64| {
            let squares: f64 = members.iter().map(|place| importance[*place as usize]).sum();
            (members.len() as f64 * squares * rate * (1.0 - rate)).sqrt()
        };
        let sizes: Vec<(u64, f64)> =
            members.iter().zip(rates).map(|(members, rate)| (members.len() as u64, spread(members, *rate))).collect();
        let counts = allocate(&sizes, self.request.budget);
        let mut drawn = Vec::new();
        for (stratum, (members, count)) in members.iter_mut().zip(&counts).enumerate() {
            let mut rng = stream(seed, Purpose::Annotate, round << 32 | stratum as u64);
            for at in 0..*count as usize {
                let other = at + below(&mut rng, (members.len() - at) as u64) as usize;
                members.swap(at, other);
            }
            drawn.extend(&members[..*count as usize]);
        }
        let mut observed = self.observed.clone();
        let earlier: HashSet<(u32, u32)> = self.rounds.iter().flat_map(|round| round.checks.iter().copied()).collect();
        observed.retain(|pair| !earlier.contains(pair));
        let mut rng = stream(seed, Purpose::Annotate, round << 32 | u64::from(NO_STRATUM));
        let checks = (self.request.check_observed as usize).min(observed.len());
        for at in 0..checks {
            let other = at + below(&mut rng, (observed.len() - at) as u64) as usize;
            observed.swap(at, other);
        }
        let checked_of = observed.len() as u64;
        observed.truncate(checks);
        let mut order: Vec<u32> = (0..(drawn.len() + checks) as u32).collect();
        let mut rng = stream(seed, Purpose::Annotate, u64::MAX - round);
        for at in (1..order.len()).rev() {
            order.swap(at, below(&mut rng, at as u64 + 1) as usize);
        }
        lead_with_each_stratum(&mut order, &counts);
        let strata = sizes.iter().zip(&counts).map(|((size, _), count)| (*size, *count)).collect();
        self.rounds.push(Round { strata, drawn, checks: observed, checked_of, order });
    }

    /// Which pairs are left before a round.
    pub(super) fn left(&self, round: usize) -> Vec<bool> {
        let mut left = vec![true; self.of.len()];
        self.rounds[..round].iter().flat_map(|round| &round.drawn).for_each(|place| left[*place as usize] = false);
        left
    }

    /// What the judgement of a pair is worth: the sum of its squared gains over precision of all models and of all pairs of models,
    /// at each k.
    fn importance(&self, pool: &Pool) -> Vec<f64> {
        let mut importance = vec![0.0; self.of.len()];
        for (_, target) in self.targets(pool).into_iter().filter(|(of, _)| of.metric == "precision") {
            target.gains.iter().for_each(|(place, gain)| importance[*place as usize] += gain * gain);
        }
        importance
    }

    /// What a plan forecasts intervals for.
    pub(super) fn targets(&self, pool: &Pool) -> Vec<(ExpectedInterval, Target)> {
        let places: Places = pool.pairs.iter().map(|(row, label)| self.find(*row, *label).map(|place| place as u32)).collect();
        let mut all = Vec::new();
        for name in ["precision", "ndcg"] {
            let Some(Shape::Sum(term)) = metrics::find(name).ok().map(|metric| metric.shape()) else { continue };
            for k in self.request.k.as_slice() {
                let sum = SumOf { term, k: *k, rows: self.rows as f64, worth: &|_| 1.0 };
                let of_models: Vec<Target> = (0..self.models.len()).map(|model| sum.of_model(pool, &places, model)).collect();
                let about = |a: usize, b: Option<usize>| ExpectedInterval {
                    metric: name.to_owned(),
                    k: *k,
                    model: self.models[a].0.clone(),
                    other: b.map(|b| self.models[b].0.clone()),
                    half_width: 0.0,
                    budget: None,
                };
                for (a, target) in of_models.iter().enumerate() {
                    all.push((about(a, None), target.clone()));
                }
                for a in 0..of_models.len() {
                    for b in a + 1..of_models.len() {
                        all.push((about(a, Some(b)), of_models[a].combined(1.0, &of_models[b], -1.0)));
                    }
                }
            }
        }
        all
    }

    /// The intervals to expect, before anybody judges: what earlier rounds said of the pairs decides where they are given.
    pub fn expected(&self, data: &PlanData<'_>, judged: Option<&Judgements>) -> Result<Vec<ExpectedInterval>> {
        data.check()?;
        expected(self, &data.pool(self.request.k.largest())?, judged)
    }

    /// Where an unobserved pair of the pool is.
    pub(super) fn find(&self, row: u32, label: u32) -> Option<usize> {
        let start = self.pair_rows.partition_point(|other| *other < row);
        let end = start + self.pair_rows[start..].partition_point(|other| *other == row);
        self.pair_labels[start..end].binary_search(&label).ok().map(|at| start + at)
    }

    /// The number of rounds.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Strata of the last round: name, pairs that were left, pairs that are drawn.
    pub fn strata(&self) -> Vec<(&str, u64, u64)> {
        let last = self.rounds.last().map_or(&[][..], |round| &round.strata);
        self.strata.iter().zip(last).map(|(name, (size, drawn))| (name.as_str(), *size, *drawn)).collect()
    }

    /// Unobserved pairs of the pool, as (row, label).
    pub fn pool(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.pair_rows.iter().copied().zip(self.pair_labels.iter().copied())
    }

    /// The number of rows and labels of the data that it is about.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows as usize, self.labels as usize)
    }

    /// The request of the last round.
    pub fn request(&self) -> &AnnotateRequest {
        &self.request
    }

    /// The pairs of the last round, in the random order in which they are judged.
    pub fn pairs(&self) -> Vec<PlannedPair<'_>> {
        let Some(last) = self.rounds.last() else { return Vec::new() };
        let round = self.rounds.len() as u32;
        let pair = |number: &u32| match last.drawn.get(*number as usize) {
            Some(place) => {
                let place = *place as usize;
                let (size, drawn) = last.strata[usize::from(self.of[place])];
                PlannedPair {
                    round,
                    row: self.pair_rows[place],
                    label: self.pair_labels[place],
                    probability: drawn as f64 / size as f64,
                    stratum: &self.strata[usize::from(self.of[place])],
                }
            }
            None => {
                let (row, label) = last.checks[*number as usize - last.drawn.len()];
                PlannedPair { round, row, label, probability: last.checks.len() as f64 / last.checked_of as f64, stratum: OBSERVED }
            }
        };
        last.order.iter().map(pair).collect()
    }
}
