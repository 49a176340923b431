//! Which loss, and how strong a penalty? Those whose scores rank held-out labels best.
//!
//! No loss and no decay is best everywhere: the squared hinge can lose to the logistic loss or beat it by many points, and so can one
//! decay to the next. So plain training tries both losses at a few decays on a tenth of the rows, held out, and on a sample of the
//! labels from the most frequent to the rarest, calibrates what each leaves (`calibrate.rs`), and takes what has the least
//! ranking loss. That one compares losses whose scores mean different things, and a sample of labels is enough for it, which it is
//! not for the precision of rankings of all labels.
//!
//! The search works on few labels and solutions that are not quite optimal; what is chosen is then calibrated on more labels. It
//! starts at the usual decay of each loss and follows the ranking loss downhill.

use super::calibrate::{Scores, ranking_loss};
use super::checked::CheckedTraining;
use super::fit::{Layout, blocks};
use super::label_sample::label_sample;
use super::tune::Staged;
use crate::data::{Dataset, Features, split_rows_for};
use crate::error::{Error, Result, digits};
use crate::losses::{self, Loss};
use crate::predict::file::{Calibration, Candidate, Choice};
use crate::rng::Purpose;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The losses that are tried, with the decay to start from (for rows of norm 1).
const LOSSES: [(&str, f64); 2] = [("squared-hinge", 3e-4), ("logistic", 3e-5)];

/// Decays that are tried for one loss at most.
const MOST_DECAYS: usize = 5;

/// The step from one decay to the next.
const STEP: f64 = 3.162_277_660_168_379_5;

/// How many labels are tried.
#[derive(Clone, Copy)]
struct Sample {
    /// Held-out positives that they should have.
    positives: usize,
    /// How many labels there should be: each has a scale and a shift of its own around those of its frequency.
    labels: usize,
    /// The most of them, as a part of all.
    most: usize,
    /// The least of them, whatever the rest says.
    least: usize,
    /// One in so many of them is among the most frequent of all labels; 0 for none.
    head: usize,
}

/// Candidates are told apart by few labels: all of them together take about as long as the training that follows.
const SEARCH: Sample = Sample { positives: 500, labels: 0, most: 6, least: 32, head: 0 };

/// What is chosen is calibrated on more: from 80 of its labels, delicious lost up to a point of precision that 256 do not cost. The most
/// frequent labels are among them: where a label had half of the rows and none of the sample more than a sixth, P@1 lost ten points.
const CALIBRATION: Sample = Sample { positives: 2_000, labels: 256, most: 2, least: 64, head: 8 };

/// Solutions to tell candidates apart need not be as close as the one that is kept.
const LOOSER: f64 = 3.0;

/// With fewer held-out positives nothing can be chosen or calibrated.
const LEAST_POSITIVES: usize = 50;

/// Rows and labels on which candidates are tried.
struct Trials<'a, 'b> {
    training: &'a CheckedTraining<'b>,
    sampled: Dataset<'static>,
    rows: Vec<usize>,
    held_out: Features<'static>,
    observed: Vec<Vec<u32>>,
    counts: Vec<u64>,
}

impl CheckedTraining<'_> {
    /// Chooses a loss and a decay, and calibrates its scores; `None` when the held-out rows have too few labels to tell, or none of the
    /// scores tells them apart.
    pub(super) fn choose(&self, holdout: f64) -> Result<Option<(Choice, Calibration)>> {
        let Some(trials) = Trials::new(self, holdout, SEARCH)? else { return Ok(None) };
        let mut search = Search { trials: &trials, choice: trials.open_choice(), best: None };
        for (loss, decay) in LOSSES {
            search.descend(losses::find(loss)?, decay * self.squared_norm())?;
        }
        let Some(best) = search.choice.best() else { return Ok(None) };
        let found = self.with_loss(losses::find(&best.loss)?, best.decay).calibrated(holdout)?;
        Ok(found.map(|(_, calibration)| (search.choice, calibration)))
    }

    /// Calibrates the scores of the loss and the decay that were asked for.
    pub(super) fn calibrate_on(&self, holdout: f64) -> Result<(Choice, Calibration)> {
        self.calibrated(holdout)?.ok_or_else(|| {
            Error::value("scores cannot be calibrated: held-out rows have too few labels, or scores are not informative")
                .expected(format!("at least {LEAST_POSITIVES} observed labels on held-out rows"))
                .hint("hold out more rows, or leave the calibration out")
        })
    }

    fn calibrated(&self, holdout: f64) -> Result<Option<(Choice, Calibration)>> {
        let Some(trials) = Trials::new(self, holdout, CALIBRATION)? else { return Ok(None) };
        let mut search = Search { trials: &trials, choice: trials.open_choice(), best: None };
        let sampled = self.with_labels(&trials.sampled);
        search.offer(&sampled, &sampled.layout(&trials.rows)?)?;
        Ok(search.best.map(|calibration| (search.choice, calibration)))
    }
}

impl<'a, 'b> Trials<'a, 'b> {
    fn new(training: &'a CheckedTraining<'b>, holdout: f64, sample: Sample) -> Result<Option<Trials<'a, 'b>>> {
        let labels = training.data.labels();
        let Ok((rows, held_out)) = split_rows_for(Purpose::HeldOut, labels.rows(), holdout, training.seed) else { return Ok(None) };
        let mut counts = [vec![0u64; labels.cols()], vec![0; labels.cols()]];
        for (counts, rows) in counts.iter_mut().zip([&rows, &held_out]) {
            rows.iter().flat_map(|row| labels.row_ids(*row)).for_each(|label| counts[*label as usize] += 1);
        }
        let [counts, held_counts] = counts;
        let mut known: Vec<usize> = (0..labels.cols()).filter(|label| counts[*label] > 0).collect();
        known.sort_by_key(|label| std::cmp::Reverse(counts[*label]));
        let positives = known.iter().map(|label| held_counts[*label]).sum::<u64>() as usize;
        if positives < LEAST_POSITIVES {
            return Ok(None);
        }
        let Sample { positives: enough, labels: wanted, most, least, head } = sample;
        let wanted = (known.len() * enough).div_ceil(positives).max(wanted);
        let wanted = wanted.min(known.len() / most).max(least).min(known.len());
        let sample = label_sample(&known, wanted, wanted.checked_div(head).unwrap_or(0));
        let mut numbers = vec![None; labels.cols()];
        (0u32..).zip(&sample).for_each(|(number, label)| numbers[*label] = Some(number));
        let sampled = labels.filter_map(sample.len() as u64, |_, label, ()| numbers[label as usize])?;
        let mut observed = vec![Vec::new(); sample.len()];
        for (place, row) in (0u32..).zip(&held_out) {
            sampled.row_ids(*row).iter().for_each(|label| observed[*label as usize].push(place));
        }
        let counts = sample.iter().map(|label| counts[*label]).collect();
        let held_out = training.features.select_rows(&held_out);
        Ok(Some(Trials { training, sampled: Dataset::new(None, sampled)?, rows, held_out, observed, counts }))
    }

    fn open_choice(&self) -> Choice {
        let positives = self.observed.iter().map(Vec::len).sum::<usize>() as u64;
        Choice { rows: self.held_out.rows() as u64, labels: self.counts.len() as u64, positives, candidates: Vec::new() }
    }
}

/// What was tried so far.
struct Search<'a, 'b, 'c> {
    trials: &'a Trials<'b, 'c>,
    choice: Choice,
    /// The calibration of the best.
    best: Option<Calibration>,
}

impl Search<'_, '_, '_> {
    /// Tries decays of a loss, from the given one to where the ranking loss is least.
    fn descend(&mut self, loss: &'static dyn Loss, start: f64) -> Result<()> {
        let trials = self.trials;
        let sampled = |decay| trials.training.with_loss(loss, decay).with_labels(&trials.sampled).with_looser_tolerance(LOOSER);
        let layout = sampled(start).layout(&trials.rows)?;
        let mut at = (start, self.offer(&sampled(start), &layout)?);
        let mut tried = 1;
        // First up, where training is faster, then down unless up was better.
        for step in [STEP, 1.0 / STEP] {
            let mut better = false;
            while tried < MOST_DECAYS {
                let decay = at.0 * step;
                let found = self.offer(&sampled(decay), &layout)?;
                tried += 1;
                if found >= at.1 {
                    break;
                }
                at = (decay, found);
                better = true;
            }
            if better {
                break;
            }
        }
        Ok(())
    }

    /// Tries a candidate and returns its ranking loss, which is infinite where scores tell nothing.
    fn offer(&mut self, candidate: &CheckedTraining<'_>, layout: &Layout) -> Result<f64> {
        let Trials { rows, held_out, observed, counts, .. } = self.trials;
        let stage = format!("trying {}, decay {}", candidate.loss.name(), digits(candidate.decay));
        let staged = Staged { progress: candidate.progress, stage };
        let candidate = candidate.with_progress(&staged);
        let start = Instant::now();
        let finished = Mutex::new(Vec::new());
        candidate.run_on(layout, rows, None, &blocks(counts.len())?, &[candidate.decay], &|block| {
            finished.lock().unwrap_or_else(PoisonError::into_inner).push(block);
            Ok(())
        })?;
        let model = candidate.assemble(finished.into_inner().unwrap_or_else(PoisonError::into_inner))?.model;
        let scores = model.logits(held_out, 0..held_out.rows())?;
        let Some(calibration) = Scores::new(&scores, observed, counts).calibrate()? else { return Ok(f64::INFINITY) };
        let ranking_loss = ranking_loss(&scores, observed, counts, &calibration);
        let chosen = self.choice.best().is_none_or(|best| ranking_loss < best.ranking_loss);
        if chosen {
            self.choice.candidates.iter_mut().for_each(|candidate| candidate.chosen = false);
            self.best = Some(calibration);
        }
        self.choice.candidates.push(Candidate {
            loss: candidate.loss.name().to_owned(),
            decay: candidate.decay,
            ranking_loss,
            seconds: Some(start.elapsed().as_secs_f64()),
            chosen,
        });
        Ok(ranking_loss)
    }
}
