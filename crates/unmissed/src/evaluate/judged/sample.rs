//! The sample: judged pairs and how they were drawn, checked against each other.

use super::plan::{AnnotationPlan, OBSERVED};
use super::pool::Pool;
use super::strata::NO_STRATUM;
use crate::data::{Judgement, Judgements, Labels, Relevance};
use crate::error::{Error, Result, digits};
use std::collections::HashMap;

/// A judged pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampled {
    /// Where it is among all pairs.
    pub(super) place: u32,
    /// 1 or 0; 0.5 for what nobody could tell.
    pub(super) y: f64,
}

impl Sampled {
    fn new(place: usize, relevance: Relevance) -> Sampled {
        let (low, high) = relevance.bounds();
        Sampled { place: place as u32, y: (low + high) / 2.0 }
    }

    /// How far `y` may be off to each side.
    pub(super) fn slack(self) -> f64 {
        if self.y == 0.5 { 0.5 } else { 0.0 }
    }
}

/// The judged pairs of a stratum, a simple random sample of `size`.
#[derive(Clone, Debug, Default)]
pub(super) struct StratumSample {
    pub(super) size: f64,
    pub(super) pairs: Vec<Sampled>,
}

/// One round.
#[derive(Clone, Debug)]
pub(super) struct RoundSample {
    /// The weight with which it is combined with the others.
    pub(super) weight: f64,
    pub(super) strata: Vec<StratumSample>,
    /// The stratum of every pair that it could draw; [`NO_STRATUM`] for others. `None` when only the drawn ones are known.
    pub(super) of: Option<Vec<u16>>,
}

/// How pairs were drawn.
#[derive(Clone, Debug)]
pub(super) enum Design {
    /// Simple random samples from strata, in one or several rounds.
    Strata(Vec<RoundSample>),
    /// Independently, each with its probability.
    Poisson(Vec<(Sampled, f64)>),
}

/// Judged pairs among all that matter.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// Unobserved pairs of the plan and of the evaluated lists, ascending.
    pub(super) pairs: Vec<(u32, u32)>,
    pub(super) design: Design,
    /// Whether a pair could be drawn.
    pub(super) covered: Vec<bool>,
    /// Observed pairs that were judged: whether they are relevant, and with which probability they were drawn.
    pub(super) checks: Vec<(f64, f64)>,
    /// How many pairs were judged, and how many are still to be.
    pub(super) judged: usize,
    pub(super) open: usize,
}

impl Sample {
    pub(super) fn new(judged: &Judgements, plan: Option<&AnnotationPlan>, pool: &Pool, truth: &Labels<'_>) -> Result<Sample> {
        let mut pairs: Vec<(u32, u32)> =
            pool.pairs.iter().zip(&pool.observed).filter(|(_, observed)| !**observed).map(|(pair, _)| *pair).collect();
        let is_observed = |row: u32, label: u32| truth.row_ids(row as usize).contains(&label);
        match plan {
            Some(plan) => pairs.extend(plan.pool()),
            None => pairs
                .extend(judged.pairs().iter().map(|pair| (pair.row, pair.label)).filter(|(row, label)| !is_observed(*row, *label))),
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut sample = Sample {
            covered: vec![plan.is_none(); pairs.len()],
            pairs,
            design: Design::Poisson(Vec::new()),
            checks: Vec::new(),
            judged: 0,
            open: 0,
        };
        let is_check = |judgement: &Judgement| match plan {
            Some(_) => judgement.stratum.as_deref() == Some(OBSERVED),
            None => is_observed(judgement.row, judgement.label),
        };
        for judgement in judged.pairs().iter().filter(|judgement| is_check(judgement)) {
            if let Some((low, high)) = judgement.relevance.map(Relevance::bounds) {
                sample.checks.push(((low + high) / 2.0, judgement.probability));
            }
        }
        let drawn: Vec<&Judgement> = judged.pairs().iter().filter(|judgement| !is_check(judgement)).collect();
        sample.judged = drawn.iter().filter(|judgement| judgement.relevance.is_some()).count();
        sample.open = drawn.len() - sample.judged;
        sample.design = match plan {
            Some(plan) => Design::Strata(sample.planned(plan, judged, &drawn)?),
            None => sample.unplanned(judged, &drawn)?,
        };
        Ok(sample)
    }

    /// Where a pair is.
    pub(super) fn find(&self, row: u32, label: u32) -> Option<usize> {
        self.pairs.binary_search(&(row, label)).ok()
    }

    fn planned(&mut self, plan: &AnnotationPlan, all: &Judgements, drawn: &[&Judgement]) -> Result<Vec<RoundSample>> {
        let places: Vec<usize> = plan.pool().filter_map(|(row, label)| self.find(row, label)).collect();
        places.iter().for_each(|place| self.covered[*place] = true);
        let mut by_place: HashMap<usize, &Judgement> = HashMap::new();
        let mut round_of: HashMap<u32, usize> = HashMap::new();
        for (round, of) in plan.rounds.iter().enumerate() {
            round_of.extend(of.drawn.iter().map(|place| (*place, round)));
        }
        for judgement in drawn {
            let planned =
                plan.find(judgement.row, judgement.label).and_then(|place| Some((place, *round_of.get(&(place as u32))?)));
            let expected = planned.map(|(place, round)| {
                let (size, drawn) = plan.rounds[round].strata[usize::from(plan.of[place])];
                (round as u32 + 1, drawn as f64 / size as f64)
            });
            let is_planned = expected.is_some_and(|(round, probability)| {
                round == judgement.round && (probability - judgement.probability).abs() <= 1e-9 * probability
            });
            if !is_planned {
                let error =
                    Error::format(format!("the pair (row {}, label {}) is not from this plan", judgement.row, judgement.label));
                let error = match expected {
                    Some((round, probability)) => error
                        .expected(format!("round {round} with probability {}", digits(probability)))
                        .found(format!("round {} with probability {}", judgement.round, digits(judgement.probability))),
                    None => error.expected("a pair that the plan drew"),
                };
                return Err(all.located(error.hint("keep plan.json.zst and the csv of one plan together"), judgement));
            }
            if let Some((place, _)) = planned {
                by_place.insert(place, judgement);
            }
        }
        let mut samples = Vec::new();
        for (round, of) in plan.rounds.iter().enumerate() {
            let judged = |place: &u32| by_place.get(&(*place as usize)).is_some_and(|judgement| judgement.relevance.is_some());
            if !of.drawn.iter().any(judged) {
                // A round that nobody has judged yet; later ones cannot do without it, since they draw from what it left.
                if plan.rounds[round..].iter().any(|later| later.drawn.iter().any(judged)) {
                    return Err(Error::value(format!("round {} is not judged, but a later one is", round + 1))
                        .hint("give the judged files of all rounds: --judged may be repeated"));
                }
                break;
            }
            samples.push(self.planned_round(plan, round, &by_place, &places, all)?);
        }
        let total: f64 = samples.iter().flat_map(|sample| &sample.strata).map(|stratum| stratum.pairs.len() as f64).sum();
        for sample in &mut samples {
            sample.weight = sample.strata.iter().map(|stratum| stratum.pairs.len() as f64).sum::<f64>() / total;
        }
        Ok(samples)
    }

    fn planned_round(
        &self,
        plan: &AnnotationPlan,
        round: usize,
        by_place: &HashMap<usize, &Judgement>,
        places: &[usize],
        all: &Judgements,
    ) -> Result<RoundSample> {
        let of = &plan.rounds[round];
        let mut strata: Vec<StratumSample> =
            of.strata.iter().map(|(size, _)| StratumSample { size: *size as f64, pairs: Vec::new() }).collect();
        // Pairs are in random order: the first of them are a random sample too, whoever stops when.
        let mut open: Option<usize> = None;
        for place in of.order.iter().filter_map(|number| of.drawn.get(*number as usize)).map(|place| *place as usize) {
            let judgement = by_place.get(&place);
            match (judgement.and_then(|judgement| judgement.relevance), open) {
                (Some(relevance), None) => {
                    strata[usize::from(plan.of[place])].pairs.push(Sampled::new(places[place], relevance));
                }
                (None, None) => open = Some(place),
                (None, Some(_)) => {}
                (Some(_), Some(open)) => {
                    let (row, label) = (plan.pair_rows[open], plan.pair_labels[open]);
                    let error =
                        Error::format(format!("the pair (row {row}, label {label}) is not judged, but later ones of its file are"))
                            .expected("judgements in the order of the file, without gaps")
                            .hint("judge it, or write 'unsure'; skipping hard pairs would bias the estimate");
                    return Err(match by_place.get(&open) {
                        Some(judgement) => all.located(error, judgement),
                        None => error,
                    });
                }
            }
        }
        for (stratum, name) in strata.iter().zip(&plan.strata).filter(|_| open.is_some()) {
            if stratum.pairs.is_empty() && stratum.size > 0.0 {
                return Err(Error::value(format!("stratum '{name}' has no judged pair yet"))
                    .expected("at least one of each stratum")
                    .hint("judge more pairs, in the order of the file"));
            }
        }
        let left = plan.left(round);
        let mut of_place = vec![NO_STRATUM; self.pairs.len()];
        for (place, stratum) in plan.of.iter().enumerate().filter(|(place, _)| left[*place]) {
            of_place[places[place]] = *stratum;
        }
        Ok(RoundSample { weight: 1.0, strata, of: Some(of_place) })
    }

    /// A design that only the file tells: strata where they and their probabilities are given, independent draws otherwise.
    fn unplanned(&self, all: &Judgements, drawn: &[&Judgement]) -> Result<Design> {
        if let Some(open) = drawn.iter().find(|judgement| judgement.relevance.is_none()) {
            let error = Error::format(format!("the pair (row {}, label {}) is not judged", open.row, open.label))
                .expected("1, 0 or unsure")
                .hint("without the plan.json.zst that 'annotate plan' wrote, all pairs of the file must be judged");
            return Err(all.located(error, open));
        }
        if let Some(later) = drawn.iter().find(|judgement| judgement.round != drawn[0].round) {
            let error = Error::format("pairs of several rounds").hint("they need the plan.json.zst that 'annotate plan' wrote");
            return Err(all.located(error, later));
        }
        let sampled = |judgement: &Judgement| {
            let place = self.find(judgement.row, judgement.label)?;
            Some(Sampled::new(place, judgement.relevance?))
        };
        let mut strata: Vec<(&str, f64, Vec<Sampled>)> = Vec::new();
        for judgement in drawn {
            let Some(name) = judgement.stratum.as_deref() else { continue };
            match strata.iter_mut().find(|(other, _, _)| *other == name) {
                Some((_, probability, pairs)) if *probability == judgement.probability => pairs.extend(sampled(judgement)),
                Some(_) => {
                    strata.clear();
                    break;
                }
                None => strata.push((name, judgement.probability, sampled(judgement).into_iter().collect())),
            }
        }
        if strata.iter().map(|(_, _, pairs)| pairs.len()).sum::<usize>() != drawn.len() {
            let pairs = drawn.iter().filter_map(|judgement| Some((sampled(judgement)?, judgement.probability)));
            return Ok(Design::Poisson(pairs.collect()));
        }
        let strata =
            strata.into_iter().map(|(_, probability, pairs)| StratumSample { size: pairs.len() as f64 / probability, pairs });
        Ok(Design::Strata(vec![RoundSample { weight: 1.0, strata: strata.collect(), of: None }]))
    }
}
