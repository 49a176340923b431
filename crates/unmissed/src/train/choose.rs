//! Which loss, and how strong a penalty? Those whose scores rank held-out labels best.
//!
//! No loss and no decay is best everywhere: the squared hinge can lose to the logistic loss or beat it by many points, and so can one
//! decay to the next. So plain training tries both losses at a few decays on a tenth of the rows, held out, and on a sample of the
//! labels from the most frequent to the rarest, and calibrates the scores of each (`calibrate.rs`).
//!
//! Decays of a loss are compared by their ranking loss, which is smooth, so that few labels and solutions that are not quite optimal
//! tell them apart. The search starts at the usual decay of each loss and goes downhill. It does not tell losses apart: it is dominated
//! by positives far from the top, where a squared hinge is worse even if its first ranks are better (on bibtex, 1.9 points of P@1 on held-out
//! rows). So the best of each loss is calibrated on more labels, and there the mean reciprocal rank decides.

use super::calibrate::{Scores, ranking_loss, reciprocal_rank};
use super::checked::CheckedTraining;
use super::fit::Layout;
use super::trials::{LEAST_POSITIVES, Sample, Trials};
use crate::error::{Error, Result, digits};
use crate::losses::{self, Loss};
use crate::predict::file::{Calibration, Candidate, Choice};
use std::time::Instant;

/// The losses that are tried, with the decay to start from (for rows of norm 1).
const LOSSES: [(&str, f64); 2] = [("squared-hinge", 3e-4), ("logistic", 3e-5)];

/// Decays that are tried for one loss at most.
const MOST_DECAYS: usize = 5;

/// The step from one decay to the next.
const STEP: f64 = 3.162_277_660_168_379_5;

/// Decays are told apart by few labels: all of them together take about as long as the training that follows.
const SEARCH: Sample = Sample { positives: 500, most: 6, labels: 0, most_labels: 1, least: 32, head: 8 };

/// The best of each loss is calibrated, and compared with that of the other, on more: from 80 of its labels, delicious lost up to a point
/// of precision that 256 do not cost. The most frequent labels are among them: where a label had half of the rows and none of the
/// sample more than a sixth, P@1 lost ten points.
const CALIBRATION: Sample = Sample { positives: 2_000, most: 1, labels: 256, most_labels: 2, least: 64, head: 8 };

/// Solutions to tell candidates apart need not be as close as the one that is kept.
const LOOSER: f64 = 3.0;

impl CheckedTraining<'_> {
    /// Chooses a loss and a decay, and calibrates its scores; `None` when the held-out rows have too few labels to tell, or none of the
    /// scores tells them apart.
    pub(super) fn choose(&self, holdout: f64) -> Result<Option<(Choice, Calibration)>> {
        let (Some(few), Some(more)) = (Trials::new(self, holdout, SEARCH)?, Trials::new(self, holdout, CALIBRATION)?) else {
            return Ok(None);
        };
        let mut choice = open_choice(&few);
        let mut best: Option<(f64, usize, Calibration)> = None;
        for (loss, decay) in LOSSES {
            let Some(place) = self.descend(&few, losses::find(loss)?, decay * self.squared_norm(), &mut choice)? else { continue };
            let candidate = &mut choice.candidates[place];
            let start = Instant::now();
            let finalist = self.with_loss(losses::find(loss)?, candidate.decay);
            let Some(offered) = offer(&more, &finalist.with_labels(&more.sampled), None)? else { continue };
            candidate.reciprocal_rank = Some(offered.reciprocal_rank);
            candidate.seconds = candidate.seconds.map(|seconds| seconds + start.elapsed().as_secs_f64());
            if best.as_ref().is_none_or(|(highest, ..)| offered.reciprocal_rank > *highest) {
                best = Some((offered.reciprocal_rank, place, offered.calibration));
            }
        }
        Ok(best.map(|(_, place, calibration)| {
            choice.candidates[place].chosen = true;
            (choice, calibration)
        }))
    }

    /// Calibrates the scores of the loss and the decay that were asked for.
    pub(super) fn calibrate_on(&self, holdout: f64) -> Result<(Choice, Calibration)> {
        let start = Instant::now();
        let offered = match Trials::new(self, holdout, CALIBRATION)? {
            Some(trials) => {
                offer(&trials, &self.with_labels(&trials.sampled), None)?.map(|offered| (open_choice(&trials), offered))
            }
            None => None,
        };
        let Some((mut choice, offered)) = offered else {
            return Err(Error::value(
                "scores cannot be calibrated: held-out rows have too few labels, or scores are not informative",
            )
            .expected(format!("at least {LEAST_POSITIVES} observed labels on held-out rows"))
            .hint("hold out more rows, or leave the calibration out"));
        };
        choice.candidates.push(Candidate {
            reciprocal_rank: Some(offered.reciprocal_rank),
            chosen: true,
            ..candidate(self, offered.ranking_loss, start)
        });
        Ok((choice, offered.calibration))
    }

    /// Tries decays of a loss, from the given one to where the ranking loss is least; the place of that one among the candidates.
    fn descend(&self, trials: &Trials, loss: &'static dyn Loss, start: f64, choice: &mut Choice) -> Result<Option<usize>> {
        let sampled = |decay| self.with_loss(loss, decay).with_labels(&trials.sampled).with_looser_tolerance(LOOSER);
        let layout = sampled(start).layout(&trials.rows)?;
        let first = choice.candidates.len();
        let mut attempt = |decay: f64| -> Result<f64> {
            let (clock, tried) = (Instant::now(), sampled(decay));
            let offered = offer(trials, &tried, Some(&layout))?;
            if let Some(offered) = &offered {
                choice.candidates.push(candidate(&tried, offered.ranking_loss, clock));
            }
            // Infinite where scores tell nothing.
            Ok(offered.map_or(f64::INFINITY, |offered| offered.ranking_loss))
        };
        let mut at = (start, attempt(start)?);
        let mut tried = 1;
        // First up, where training is faster, then down unless up was better.
        for step in [STEP, 1.0 / STEP] {
            let mut better = false;
            while tried < MOST_DECAYS {
                let decay = at.0 * step;
                let found = attempt(decay)?;
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
        let of_loss = choice.candidates.iter().enumerate().skip(first);
        Ok(of_loss.min_by(|a, b| a.1.ranking_loss.total_cmp(&b.1.ranking_loss)).map(|(place, _)| place))
    }
}

fn open_choice(trials: &Trials) -> Choice {
    let (rows, labels) = (trials.held_out.rows() as u64, trials.counts.len() as u64);
    Choice { rows, labels, positives: trials.positives(), candidates: Vec::new() }
}

fn candidate(tried: &CheckedTraining<'_>, ranking_loss: f64, start: Instant) -> Candidate {
    let (loss, seconds) = (tried.loss.name().to_owned(), Some(start.elapsed().as_secs_f64()));
    Candidate { loss, decay: tried.decay, ranking_loss, reciprocal_rank: None, seconds, chosen: false }
}

/// What a candidate is worth on a sample.
struct Offered {
    ranking_loss: f64,
    reciprocal_rank: f64,
    calibration: Calibration,
}

/// Tries a candidate; `None` where its scores tell nothing.
fn offer(trials: &Trials, candidate: &CheckedTraining<'_>, layout: Option<&Layout>) -> Result<Option<Offered>> {
    let stage = format!("trying {}, decay {}", candidate.loss.name(), digits(candidate.decay));
    let scores = match layout {
        Some(layout) => trials.scores(candidate, layout, stage)?,
        None => trials.scores(candidate, &candidate.layout(&trials.rows)?, stage)?,
    };
    let Trials { observed, counts, .. } = trials;
    let Some(calibration) = Scores::new(&scores, observed, counts).calibrate()? else { return Ok(None) };
    let ranking_loss = ranking_loss(&scores, observed, counts, &calibration);
    let reciprocal_rank = reciprocal_rank(&scores, observed, counts, &calibration);
    Ok(Some(Offered { ranking_loss, reciprocal_rank, calibration }))
}
