//! The decay and the calibration of a correction, chosen on held-out rows as in plain training (`choose.rs`), by the likelihood of
//! their observed labels.
//!
//! A penalty shrinks the weights of rarely observed labels more than those of others, so their scores are not comparable, although a
//! ranking compares them. The scores of each candidate are calibrated (`calibrate.rs`) by the likelihood of what is observed, in which a
//! relevant label is observed with probability p. The decay whose calibrated scores have the smallest loss is chosen. All of it folds
//! into the weights: the model stays linear.

use super::calibrate::Scores;
use super::checked::CheckedTraining;
use super::fit::Layout;
use super::trials::{Sample, Trials};
use crate::error::{Result, digits};
use crate::predict::file::{Calibration, Setting, Trial, Tuning};
use crate::propensity::Propensities;
use crate::request::Criterion;
use std::time::Instant;

/// The labels on which decays are tried.
const SAMPLE: Sample = Sample { positives: 4_000, most: 1, labels: 256, most_labels: 1, least: 0, head: 8 };
/// The step from one decay to the next, and how many are tried at most.
const STEP: f64 = 3.162_277_660_168_379_5;
const MOST_DECAYS: usize = 5;

impl CheckedTraining<'_> {
    /// Chooses the decay and what makes log-odds of scores; `None` when the held-out rows have too few labels to tell, or
    /// propensities depend on the row.
    pub(super) fn choose_corrected(&self, holdout: f64) -> Result<Option<(Tuning, Calibration)>> {
        if self.pairs.is_some() {
            return Ok(None);
        }
        let Some(trials) = Trials::new(self, holdout, SAMPLE)? else { return Ok(None) };
        let possible = self.possible(&trials.all_counts, trials.rows.len());
        let propensities = Propensities::new("sample", trials.labels.iter().map(|label| possible[*label]).collect())?;
        let sampled = |decay| self.with_sample(&trials.sampled, &propensities, decay);
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
                let Some((loss, calibration)) = offer(&trials, &propensities, &sampled(decay), &layout)? else { break };
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

/// Trains with a decay; the loss per held-out row of its scores as log-odds, and the calibration that makes them so.
fn offer(
    trials: &Trials,
    propensities: &Propensities,
    candidate: &CheckedTraining<'_>,
    layout: &Layout,
) -> Result<Option<(f64, Calibration)>> {
    let scores = trials.scores(candidate, layout, format!("trying decay {}", digits(candidate.decay)))?;
    let scores = Scores::new(&scores, &trials.observed, &trials.counts).with_propensities(propensities.values());
    let Some(calibration) = scores.calibrate()? else { return Ok(None) };
    Ok(Some((scores.loss(&calibration) / trials.held_out.rows().max(1) as f64, calibration)))
}
