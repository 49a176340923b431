//! The decay and the calibration of a correction, chosen on held-out rows as in plain training (`choose.rs`), by the likelihood of
//! their observed labels.
//!
//! A penalty shrinks the weights of rarely observed labels more than those of others, so their scores are not comparable, although a
//! ranking compares them. The scores of each candidate are calibrated (`calibrate.rs`) by the likelihood of what is observed, in which a
//! relevant label is observed with probability p. The decay whose calibrated scores have the smallest loss is chosen. All of it folds
//! into the weights: the model stays linear.

use super::calibrate::Scores;
use super::checked::CheckedTraining;
use super::fit::{Layout, blocks};
use super::label_sample::label_sample;
use super::tune::Staged;
use crate::data::{Dataset, Features, split_rows_for};
use crate::error::{Result, digits};
use crate::predict::file::{Calibration, Setting, Trial, Tuning};
use crate::propensity::Propensities;
use crate::request::Criterion;
use crate::rng::Purpose;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Held-out positives that the sample of labels should have, and the least number of labels.
const POSITIVES: usize = 4_000;
const LABELS: usize = 256;
/// One in so many labels of the sample is among the most frequent of all.
const HEAD: usize = 8;
/// With fewer held-out positives nothing is chosen.
const LEAST_POSITIVES: usize = 50;
/// The step from one decay to the next, and how many are tried at most.
const STEP: f64 = 3.162_277_660_168_379_5;
const MOST_DECAYS: usize = 5;

/// Rows and labels on which decays are tried.
struct Trials<'a, 'b> {
    training: &'a CheckedTraining<'b>,
    sampled: Dataset<'static>,
    propensities: Propensities,
    rows: Vec<usize>,
    held_out: Features<'static>,
    /// By label, the held-out rows on which it is observed.
    observed: Vec<Vec<u32>>,
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
                let Some((loss, calibration)) = trials.offer(&sampled(decay), &layout)? else { break };
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
        let sample = label_sample(&known, wanted, wanted / HEAD);
        let mut numbers = vec![None; labels.cols()];
        (0u32..).zip(&sample).for_each(|(number, label)| numbers[*label] = Some(number));
        let sampled = labels.filter_map(sample.len() as u64, |_, label, ()| numbers[label as usize])?;
        let mut observed = vec![Vec::new(); sample.len()];
        for (place, row) in (0u32..).zip(&held_out) {
            sampled.row_ids(*row).iter().for_each(|label| observed[*label as usize].push(place));
        }
        let possible = training.possible(&counts, rows.len());
        let propensities = Propensities::new("sample", sample.iter().map(|label| possible[*label]).collect())?;
        let counts = sample.iter().map(|label| counts[*label]).collect();
        let held_out = training.features.select_rows(&held_out);
        Ok(Some(Trials { training, sampled: Dataset::new(None, sampled)?, propensities, rows, held_out, observed, counts }))
    }

    /// Trains with a decay; the loss per held-out row of its scores as log-odds, and what makes them so.
    fn offer(&self, candidate: &CheckedTraining<'_>, layout: &Layout) -> Result<Option<(f64, Calibration)>> {
        let staged = Staged { progress: self.training.progress, stage: format!("trying decay {}", digits(candidate.decay)) };
        let candidate = candidate.with_progress(&staged);
        let finished = Mutex::new(Vec::new());
        candidate.run_on(layout, &self.rows, None, &blocks(self.counts.len())?, &[candidate.decay], &|block| {
            finished.lock().unwrap_or_else(PoisonError::into_inner).push(block);
            Ok(())
        })?;
        let model = candidate.assemble(finished.into_inner().unwrap_or_else(PoisonError::into_inner))?.model;
        let scores = model.logits(&self.held_out, 0..self.held_out.rows())?;
        let scores = Scores::new(&scores, &self.observed, &self.counts).with_propensities(self.propensities.values());
        let Some(calibration) = scores.calibrate()? else { return Ok(None) };
        Ok(Some((scores.loss(&calibration) / self.held_out.rows().max(1) as f64, calibration)))
    }
}
