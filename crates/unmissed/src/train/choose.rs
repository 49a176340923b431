//! Which loss, and how strong a penalty? Those whose scores rank held-out labels best.
//!
//! No loss and no decay is best everywhere: the squared hinge can lose to the logistic loss or beat it by many points, and so can one
//! decay to the next. So plain training tries both losses at a few decays on a tenth of the rows, held out, and on a sample of the
//! labels from the most frequent to the rarest, and calibrates the scores of each (`calibrate.rs`).
//!
//! Decays of a loss are compared by their ranking loss, which is smooth, so that few labels and solutions that are not quite optimal
//! tell them apart. The search starts at the usual decay of each loss and goes downhill. It does not tell losses apart: it is dominated
//! by positives far from the top, where a squared hinge is worse even if its first ranks are better (on bibtex, 1.9 points of P@1 on held-out
//! rows). So the best of each loss is calibrated on more labels, and there precision decides (`contest.rs`). Half of these labels are the most frequent
//! ones, which compete for the first ranks: among labels drawn evenly, a loss can look better that is two points worse among all.

use super::calibrate::Scores;
use super::checked::CheckedTraining;
use super::contest::{Contest, candidate};
use super::fit::Layout;
use super::ranking::Ranking;
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
pub(super) const SEARCH: Sample = Sample { positives: 500, most: 6, labels: 0, most_labels: 1, least: 32, head: 8 };

/// The best of each loss is calibrated, and compared with that of the other, on more: from 80 of its labels, delicious lost up to a point
/// of precision that 256 do not cost. The most frequent labels are among them: where a label had half of the rows and none of the
/// sample more than a sixth, P@1 lost ten points.
const CALIBRATION: Sample = Sample { positives: 2_000, most: 1, labels: 384, most_labels: 2, least: 64, head: 2 };

/// Solutions to tell candidates apart need not be as close as the one that is kept.
const LOOSER: f64 = 3.0;

impl CheckedTraining<'_> {
    /// Chooses a loss and a decay, and calibrates its scores; `None` when the held-out rows have too few labels to tell, or none of the
    /// scores tells them apart.
    pub(super) fn choose(&self, holdout: f64) -> Result<Option<(Choice, Calibration)>> {
        let (Some(few), Some(more)) = (Trials::new(self, holdout, SEARCH, 0)?, Trials::new(self, holdout, CALIBRATION, 0)?) else {
            return Ok(None);
        };
        let finalist = |trials: &Trials, candidate: &Candidate| {
            let training = self.with_loss(losses::find(&candidate.loss)?, candidate.decay);
            offer(trials, &training.with_labels(&trials.sampled), None)
        };
        let mut contest = Contest::new(&few);
        for (loss, decay) in LOSSES {
            let Some(place) = self.try_decays(&few, losses::find(loss)?, decay * self.squared_norm(), &mut contest)? else {
                continue;
            };
            let start = Instant::now();
            let Some(offered) = finalist(&more, contest.candidate(place))? else { continue };
            contest.enter(place, offered.ranking(&more).precision(), offered.calibration, start);
        }
        contest.won(|candidate, round| {
            let Some(trials) = Trials::new(self, holdout, CALIBRATION, round)? else { return Ok(None) };
            Ok(finalist(&trials, candidate)?.map(|offered| offered.ranking(&trials).precision()))
        })
    }

    /// Calibrates the scores of the loss and the decay that were asked for.
    pub(super) fn calibrate_on(&self, holdout: f64) -> Result<(Choice, Calibration)> {
        let start = Instant::now();
        let offered = match Trials::new(self, holdout, CALIBRATION, 0)? {
            Some(trials) => offer(&trials, &self.with_labels(&trials.sampled), None)?.map(|offered| (trials, offered)),
            None => None,
        };
        let won = match offered {
            Some((trials, offered)) => {
                let mut contest = Contest::new(&trials);
                let ranking = offered.ranking(&trials);
                let place =
                    contest.push(Candidate { ranking_loss: Some(ranking.loss()), ..candidate(self.loss, self.decay, start) });
                contest.enter(place, ranking.precision(), offered.calibration.clone(), start);
                contest.won(|_, _| Ok(None))?
            }
            None => None,
        };
        won.ok_or_else(|| {
            Error::value("scores cannot be calibrated: held-out rows have too few labels, or scores are not informative")
                .expected(format!("at least {LEAST_POSITIVES} observed labels on held-out rows"))
                .hint("hold out more rows, or leave the calibration out")
        })
    }

    /// Tries decays of a plain loss, from the given one to where the ranking loss is least; the place of that one among the candidates.
    pub(super) fn try_decays(
        &self,
        trials: &Trials,
        loss: &'static dyn Loss,
        start: f64,
        contest: &mut Contest,
    ) -> Result<Option<usize>> {
        let sampled = |decay| self.with_loss(loss, decay).with_labels(&trials.sampled).with_looser_tolerance(LOOSER);
        let layout = sampled(start).layout(&trials.rows)?;
        let mut best: Option<(f64, usize)> = None;
        descend(start, |decay| {
            let (clock, tried) = (Instant::now(), sampled(decay));
            let Some(offered) = offer(trials, &tried, Some(&layout))? else { return Ok(f64::INFINITY) };
            let ranking_loss = offered.ranking(trials).loss();
            let place = contest.push(Candidate { ranking_loss: Some(ranking_loss), ..candidate(loss, decay, clock) });
            if best.is_none_or(|(least, _)| ranking_loss < least) {
                best = Some((ranking_loss, place));
            }
            Ok(ranking_loss)
        })?;
        Ok(best.map(|(_, place)| place))
    }
}

/// Goes from a decay to where what `attempt` gives is least, in steps; infinite where scores tell nothing.
pub(super) fn descend(start: f64, mut attempt: impl FnMut(f64) -> Result<f64>) -> Result<()> {
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
    Ok(())
}

/// The scores of a candidate on a sample.
struct Offered {
    by_row: Vec<f32>,
    calibration: Calibration,
}

impl Offered {
    fn ranking<'a>(&'a self, trials: &'a Trials) -> Ranking<'a> {
        trials.ranking(&self.by_row, &self.calibration)
    }
}

/// Tries a candidate; `None` where its scores tell nothing.
fn offer(trials: &Trials, candidate: &CheckedTraining<'_>, layout: Option<&Layout>) -> Result<Option<Offered>> {
    let stage = format!("trying {}, decay {}", candidate.loss.name(), digits(candidate.decay));
    let by_row = match layout {
        Some(layout) => trials.scores(candidate, layout, stage)?,
        None => trials.scores(candidate, &candidate.layout(&trials.rows)?, stage)?,
    };
    let calibration = Scores::new(&by_row, &trials.observed, &trials.counts).calibrate()?;
    Ok(calibration.map(|calibration| Offered { by_row, calibration }))
}
