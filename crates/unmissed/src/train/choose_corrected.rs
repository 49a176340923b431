//! The decay and the calibration of a correction, chosen on held-out rows as in plain training (`choose.rs`), by the likelihood of
//! their observed labels.
//!
//! A penalty holds the weights of rarely observed labels back more than those of others, so their scores do not compare, which is what a
//! ranking does with them. On held-out rows the log-odds of relevance are taken to be `z + a + b f + (c + d f) z`, with z the score and
//! `f = ln(n + 1)` (centred), n how often the label was observed in training. The four numbers maximise the likelihood of what is
//! observed, in which a relevant label is observed with probability p. The decay whose scores then have the least loss is taken. All of
//! it folds into the weights: the model stays linear.

use super::checked::CheckedTraining;
use super::fit::{Layout, blocks};
use super::label_sample::label_sample;
use super::stack::point;
use super::tune::Staged;
use crate::data::{Dataset, Features, split_rows_for};
use crate::error::{Result, digits};
use crate::predict::file::{Calibration, Setting, Trial, Tuning};
use crate::propensity::Propensities;
use crate::propensity::rows::arrow::Arrow;
use crate::request::Criterion;
use crate::rng::Purpose;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Held-out positives that the sample of labels should have, and the least number of labels.
const POSITIVES: usize = 4_000;
const LABELS: usize = 256;
/// With fewer held-out positives nothing is chosen.
const LEAST_POSITIVES: usize = 50;
/// The step from one decay to the next, and how many are tried at most.
const STEP: f64 = 3.162_277_660_168_379_5;
const MOST_DECAYS: usize = 5;

/// The number of fitted parameters, their penalty, and the number of steps.
const WIDTH: usize = 4;
const RIDGE: f64 = 1.0;
const STEPS: usize = 30;
/// A variance that leaves no effects of labels.
const NONE: f64 = 1e-12;

/// Rows and labels on which decays are tried.
struct Trials<'a, 'b> {
    training: &'a CheckedTraining<'b>,
    sampled: Dataset<'static>,
    propensities: Propensities,
    rows: Vec<usize>,
    held_out: Features<'static>,
    /// By label, whether it is observed on the held-out rows.
    observed: Vec<Vec<bool>>,
    counts: Vec<u64>,
}

impl CheckedTraining<'_> {
    /// Chooses the decay and what makes log-odds of scores; `None` when the held-out rows have too few labels to tell, or
    /// propensities depend on the row.
    pub(super) fn choose_corrected(&self, holdout: f64) -> Result<Option<(Tuning, Calibration)>> {
        if self.pairs.is_some() {
            return Ok(None);
        }
        let Some(trials) = Trials::new(self, holdout)? else { return Ok(None) };
        let sampled = |decay| self.with_sample(&trials.sampled, &trials.propensities, decay);
        let layout = sampled(self.decay).layout(&trials.rows)?;
        let some = (trials.counts.len() < self.labels()).then_some(trials.counts.len() as u64);
        let rows = trials.held_out.rows() as u64;
        let mut tuning = Tuning { criterion: Criterion::Loss, rows, labels: some, trials: Vec::new() };
        let mut best: Option<(f64, Calibration)> = None;
        let mut at = self.decay;
        // First up, where training is faster, then down unless up was better.
        for step in [STEP, 1.0 / STEP] {
            let mut better = false;
            loop {
                let decay = if best.is_none() { at } else { at * step };
                if tuning.trials.len() == MOST_DECAYS {
                    break;
                }
                let start = Instant::now();
                let (loss, calibration) = trials.offer(&sampled(decay), &layout)?;
                let chosen = best.as_ref().is_none_or(|(least, _)| loss < *least);
                let first = best.is_none();
                let seconds = Some(start.elapsed().as_secs_f64());
                if chosen {
                    tuning.trials.iter_mut().for_each(|trial| trial.chosen = false);
                    (best, at) = (Some((loss, calibration)), decay);
                }
                let setting = Setting { learning_rate: None, decay };
                tuning.trials.push(Trial { setting, epoch: None, loss: Some(loss), metric: None, seconds, chosen });
                better |= chosen && !first;
                if !chosen {
                    break;
                }
            }
            if better {
                break;
            }
        }
        tuning.trials.sort_by(|a, b| a.setting.decay.total_cmp(&b.setting.decay));
        Ok(best.map(|(_, calibration)| (tuning, calibration)))
    }
}

impl<'a, 'b> Trials<'a, 'b> {
    fn new(training: &'a CheckedTraining<'b>, holdout: f64) -> Result<Option<Trials<'a, 'b>>> {
        let labels = training.data.labels();
        let Ok((rows, held_out)) = split_rows_for(Purpose::HeldOut, labels.rows(), holdout, training.seed) else { return Ok(None) };
        let count = |rows: &[usize]| {
            let mut counts = vec![0u64; labels.cols()];
            rows.iter().flat_map(|row| labels.row_ids(*row)).for_each(|label| counts[*label as usize] += 1);
            counts
        };
        let (counts, held_counts) = (count(&rows), count(&held_out));
        let mut known: Vec<usize> = (0..labels.cols()).filter(|label| counts[*label] > 0).collect();
        known.sort_by_key(|label| std::cmp::Reverse(counts[*label]));
        let positives = known.iter().map(|label| held_counts[*label]).sum::<u64>() as usize;
        if positives < LEAST_POSITIVES {
            return Ok(None);
        }
        let wanted = (known.len() * POSITIVES).div_ceil(positives).max(LABELS).min(known.len());
        let sample = label_sample(&known, wanted, 0);
        let mut numbers = vec![None; labels.cols()];
        (0u32..).zip(&sample).for_each(|(number, label)| numbers[*label] = Some(number));
        let sampled = labels.filter_map(sample.len() as u64, |_, label, ()| numbers[label as usize])?;
        let mut observed = vec![vec![false; held_out.len()]; sample.len()];
        for (place, row) in held_out.iter().enumerate() {
            sampled.row_ids(*row).iter().for_each(|label| observed[*label as usize][place] = true);
        }
        let possible = training.possible(&counts, rows.len());
        let propensities = Propensities::new("sample", sample.iter().map(|label| possible[*label]).collect())?;
        let counts = sample.iter().map(|label| counts[*label]).collect();
        let held_out = training.features.select_rows(&held_out);
        Ok(Some(Trials { training, sampled: Dataset::new(None, sampled)?, propensities, rows, held_out, observed, counts }))
    }

    /// Trains with a decay; the loss per held-out row of its scores as log-odds, and what makes them so.
    fn offer(&self, candidate: &CheckedTraining<'_>, layout: &Layout) -> Result<(f64, Calibration)> {
        let staged = Staged { progress: self.training.progress, stage: format!("trying decay {}", digits(candidate.decay)) };
        let candidate = candidate.with_progress(&staged);
        let finished = Mutex::new(Vec::new());
        candidate.run_on(layout, &self.rows, None, &blocks(self.counts.len())?, &[candidate.decay], &|block| {
            finished.lock().unwrap_or_else(PoisonError::into_inner).push(block);
            Ok(())
        })?;
        let model = candidate.assemble(finished.into_inner().unwrap_or_else(PoisonError::into_inner))?.model;
        let scores = model.logits(&self.held_out, 0..self.held_out.rows())?;
        let centre = self.counts.iter().map(|count| (*count as f64 + 1.0).ln()).sum::<f64>() / self.counts.len().max(1) as f64;
        let fit = Fit { trials: self, scores: &scores, centre };
        let found = fit.run()?;
        Ok((fit.loss(&found) / self.held_out.rows().max(1) as f64, fit.calibration(&found)))
    }
}

/// The regression of what is observed on held-out rows on their scores.
struct Fit<'a> {
    trials: &'a Trials<'a, 'a>,
    /// By row, then label.
    scores: &'a [f32],
    /// The mean of `ln(n + 1)`.
    centre: f64,
}

impl Fit<'_> {
    /// The numbers a, b, c and d.
    fn run(&self) -> Result<[f64; WIDTH]> {
        let mut at = [0.0; WIDTH];
        let mut value = self.objective(&at);
        for _ in 0..STEPS {
            let step = self.derivatives(&at).step(&at, &[0.0], NONE, RIDGE)?;
            let lengths = (0..20).map(|halvings| 0.5f64.powi(halvings));
            let moved = |length: f64| -> [f64; WIDTH] { std::array::from_fn(|a| at[a] + length * step.beta[a]) };
            let better = lengths.map(moved).map(|next| (self.objective(&next), next)).find(|(reached, _)| *reached < value);
            let Some((reached, next)) = better else { break };
            let gain = value - reached;
            (at, value) = (next, reached);
            if gain < 1e-7 * value {
                break;
            }
        }
        Ok(at)
    }

    fn objective(&self, at: &[f64; WIDTH]) -> f64 {
        self.loss(at) + RIDGE / 2.0 * at[1..].iter().map(|b| b * b).sum::<f64>()
    }

    /// The negative log likelihood of all pairs.
    fn loss(&self, at: &[f64; WIDTH]) -> f64 {
        let of_label = |label: usize| self.pairs(label, at).map(|(_, (value, _, _))| value).sum::<f64>();
        let losses: Vec<f64> = (0..self.trials.counts.len()).into_par_iter().map(of_label).collect();
        losses.iter().sum()
    }

    fn derivatives(&self, at: &[f64; WIDTH]) -> Arrow {
        let of_label = |label: usize| {
            let mut arrow = Arrow::zero(WIDTH, 1);
            self.pairs(label, at).for_each(|(x, (_, slope, curvature))| arrow.add(&x, 0, -slope, curvature));
            arrow
        };
        let parts: Vec<Arrow> = (0..self.trials.counts.len()).into_par_iter().map(of_label).collect();
        let mut sum = Arrow::zero(WIDTH, 1);
        parts.iter().for_each(|part| sum.plus(part));
        sum
    }

    /// What each held-out pair of a label contributes: covariates, and value, slope and curvature of its loss.
    fn pairs(&self, label: usize, at: &[f64; WIDTH]) -> impl Iterator<Item = ([f64; WIDTH], (f64, f64, f64))> {
        let (labels, p) = (self.trials.counts.len(), self.trials.propensities.values()[label]);
        let frequency = (self.trials.counts[label] as f64 + 1.0).ln() - self.centre;
        let at = *at;
        self.trials.observed[label].iter().enumerate().map(move |(row, observed)| {
            let z = f64::from(self.scores[row * labels + label]);
            let x = [1.0, frequency, z, z * frequency];
            let logit = z + x.iter().zip(at).map(|(x, b)| x * b).sum::<f64>();
            (x, point(logit, *observed, p))
        })
    }

    /// The same as a factor and a summand for each count.
    fn calibration(&self, [a, b, c, d]: &[f64; WIDTH]) -> Calibration {
        let most = self.trials.counts.iter().max().map_or(1.0, |count| (*count as f64 + 1.0).log2().ceil());
        // One knot more: all rows have more of a label than those that were not held out.
        let frequencies = (0..=most as u32 + 1).map(|knot| f64::from(knot) * std::f64::consts::LN_2 - self.centre);
        let (scales, shifts) = frequencies.map(|f| ((1.0 + c + d * f).max(0.0), a + b * f)).unzip();
        Calibration { first: 0, scales, shifts }
    }
}
