//! What predictions can be expected to score: labels are drawn from the probabilities many times, and each time the metric is computed.
//!
//! The search puts expected counts into the metric. The expected metric is another number where labels have few positives: the mean of
//! ratios is not the ratio of means. So hits are drawn for the pairs that either list has, by the same numbers for both lists; the
//! other positives of a label are a Poisson number. Propensities that are known with an error are drawn along with the labels.
//! The spread of the draws is that of the metric on rows like these, and the interval of the difference says what a measurement should find.
//!
//! # Assumes
//! Right probabilities, and labels that are independent given the features. Estimated probabilities are optimistic exactly where they
//! are chosen for being high: only `--test` says by how much.

use super::candidates::Candidates;
use super::choices::Choices;
use super::objectives::{Counted, Mixture, ObjectiveInputs};
use crate::error::Result;
use crate::progress::Progress;
use crate::propensity::Propensities;
use crate::propensity::quantiles::normal_half_width;
use crate::rng::{Purpose, row_key, stream, uniform_at};
use crate::top_k::NONE;
use rand_distr::{Distribution, Poisson, StandardNormal};
use rayon::prelude::*;
use serde::Serialize;

/// A metric of both lists.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BeforeAfter {
    /// The metric.
    pub metric: String,
    /// Of the most probable labels.
    pub before: f64,
    /// Of the optimised ones.
    pub after: f64,
    /// After minus before.
    pub difference: f64,
    /// Lower end of the interval of the difference.
    pub low: Option<f64>,
    /// Upper end of the interval of the difference.
    pub high: Option<f64>,
}

/// What draws are made of.
pub(super) struct Draws<'a> {
    pub(super) candidates: &'a Candidates<'a>,
    pub(super) setting: ObjectiveInputs<'a>,
    pub(super) before: &'a Choices,
    pub(super) after: &'a Choices,
    /// Propensities that divided the scores, when it is known how uncertain they are.
    pub(super) uncertain: Option<&'a Propensities>,
    pub(super) count: usize,
    pub(super) level: f64,
    pub(super) seed: u64,
    pub(super) progress: &'a dyn Progress,
}

/// Spreads draws over the numbers of a row.
const STEP: u64 = 0xD134_2543_DE82_EF95;

impl Draws<'_> {
    /// Both lists by each metric.
    pub(super) fn expected(&self, metrics: &[(String, &Mixture)]) -> Result<Vec<BeforeAfter>> {
        self.progress.begin("drawing labels", self.count as u64);
        let keys: Vec<u64> =
            (0..self.candidates.rows() as u64).into_par_iter().map(|row| row_key(self.seed, Purpose::OptimizeDraws, row)).collect();
        let values: Vec<Vec<[f64; 2]>> = (0..self.count as u64)
            .into_par_iter()
            .map(|draw| {
                let values = self.draw(draw, &keys, metrics);
                self.progress.advance(1)?;
                Ok(values)
            })
            .collect::<Result<_>>()?;
        let half = normal_half_width(self.level);
        let count = values.len() as f64;
        Ok(metrics
            .iter()
            .enumerate()
            .map(|(place, (name, _))| {
                let mean = |of: fn([f64; 2]) -> f64| values.iter().map(|draw| of(draw[place])).sum::<f64>() / count;
                let (before, after) = (mean(|[before, _]| before), mean(|[_, after]| after));
                let difference = after - before;
                let deviation = |draw: &Vec<[f64; 2]>| (draw[place][1] - draw[place][0] - difference).powi(2);
                // The mean of the draws is itself uncertain.
                let variance = values.iter().map(deviation).sum::<f64>() / (count - 1.0) * (1.0 + 1.0 / count);
                let (low, high) = (Some(difference - half * variance.sqrt()), Some(difference + half * variance.sqrt()));
                BeforeAfter { metric: name.clone(), before, after, difference, low, high }
            })
            .collect())
    }

    fn draw(&self, draw: u64, keys: &[u64], metrics: &[(String, &Mixture)]) -> Vec<[f64; 2]> {
        let (labels, rows) = (self.candidates.labels(), self.candidates.rows());
        let factors = self.factors(draw);
        let probability = |row: usize, place: u32| {
            let (label, p) = self.candidates.at(row, place);
            (label, factors.as_ref().map_or(f64::from(p), |factors| (f64::from(p) * factors[label as usize]).min(1.0)))
        };
        let mut counted = [vec![Counted::default(); labels], vec![Counted::default(); labels]];
        // Hits in either list, and their expected number.
        let mut of_both = vec![[0.0f64; 2]; labels];
        let mut rows_hit = [0u64; 2];
        for (row, key) in keys.iter().enumerate() {
            let key = key.wrapping_add((draw + 1).wrapping_mul(STEP));
            let (before, after) = (self.before.row(row), self.after.row(row));
            let mut is_hit = [false; 2];
            let mut look = |place: u32, in_lists: [bool; 2]| {
                let (label, p) = probability(row, place);
                let hit = uniform_at(key, label) < p;
                for list in (0..2).filter(|list| in_lists[*list]) {
                    counted[list][label as usize].predicted += 1.0;
                    counted[list][label as usize].hits += f64::from(u8::from(hit));
                    is_hit[list] |= hit;
                }
                of_both[label as usize][0] += f64::from(u8::from(hit));
                of_both[label as usize][1] += p;
            };
            before.iter().filter(|place| **place != NONE).for_each(|place| look(*place, [true, after.contains(place)]));
            after.iter().filter(|place| **place != NONE && !before.contains(place)).for_each(|place| look(*place, [false, true]));
            rows_hit[0] += u64::from(is_hit[0]);
            rows_hit[1] += u64::from(is_hit[1]);
        }
        let mut rng = stream(self.seed, Purpose::OptimizeLabels, 2 * draw);
        for label in 0..labels {
            let [hits, expected] = of_both[label];
            let all = self.setting.positives[label] * factors.as_ref().map_or(1.0, |factors| factors[label]);
            let others = Poisson::new(all - expected).map_or(0.0, |others| others.sample(&mut rng));
            counted.iter_mut().for_each(|list| list[label].positives = hits + others);
        }
        let value = |mixture: &Mixture, list: usize| {
            let of_labels: f64 =
                counted[list].iter().enumerate().map(|(label, counts)| mixture.of_label(label, *counts, &self.setting)).sum();
            let share = rows_hit[list] as f64 / rows as f64;
            of_labels + share * mixture.of_row(true) + (1.0 - share) * mixture.of_row(false)
        };
        metrics.iter().map(|(_, mixture)| [value(mixture, 0), value(mixture, 1)]).collect()
    }

    /// What a draw of uncertain inverse propensities multiplies probabilities with.
    fn factors(&self, draw: u64) -> Option<Vec<f64>> {
        let propensities = self.uncertain?;
        let mut rng = stream(self.seed, Purpose::OptimizeLabels, 2 * draw + 1);
        let normal = |rng: &mut _| -> f64 { StandardNormal.sample(rng) };
        let common: Vec<f64> = propensities.common_errors().iter().map(|_| normal(&mut rng)).collect();
        let factor = |label: usize| {
            let q = 1.0 / propensities.values()[label];
            let own = propensities.inverse_variance(label as u32).unwrap_or(0.0).sqrt() * normal(&mut rng);
            let shared: f64 = propensities.common_errors().iter().zip(&common).map(|(error, z)| error[label] * z).sum();
            // No propensity is above 1.
            (q + own + shared).max(1.0) / q
        };
        Some((0..propensities.len()).map(factor).collect())
    }
}
