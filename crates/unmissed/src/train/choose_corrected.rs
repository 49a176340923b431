//! The loss, the decay and the calibration of a correction, chosen on held-out rows as in plain training (`choose.rs`).
//!
//! There are two ways to a model of relevant labels. The likelihood of the observed labels has the propensities in its loss. A plain
//! loss is fitted to the observed labels, and its scores are divided by the propensities afterwards. The second way loses where much is
//! missing and labels are nearly sure; but a squared hinge ranks better than a likelihood on some data, and where little is missing that
//! outweighs everything else. So both are tried.
//!
//! The scores of each candidate are calibrated (`calibrate.rs`) by the likelihood of what is observed, in which a relevant label is
//! observed with probability p. Decays of the likelihood are compared by its value, those of the plain loss as in plain training. Between
//! the two precision decides, in which an observed pair counts `1/p`: an unbiased estimate of precision on complete labels. With
//! propensities of 1 all of this is plain training. Everything folds into the weights: the model stays linear.

use super::calibrate::Scores;
use super::checked::CheckedTraining;
use super::choose::{SEARCH, descend};
use super::contest::{Contest, candidate};
use super::fit::Layout;
use super::plan::to_optimum;
use super::trials::{Sample, Trials};
use crate::error::{Result, digits};
use crate::losses;
use crate::predict::file::{Calibration, Candidate, Choice};
use crate::propensity::Propensities;
use std::time::Instant;

/// The labels on which decays are tried.
const SAMPLE: Sample = Sample { positives: 4_000, most: 1, labels: 384, most_labels: 1, least: 0, head: 2 };

/// The plain loss that is tried, with the decay to start from (for rows of norm 1). The other plain one, the logistic loss, is the
/// likelihood where nothing is missing.
const PLAIN: (&str, f64) = ("squared-hinge", 3e-4);

/// Where a smaller share of labels is missing, scores of a plain loss are calibrated to what is observed and then divided by propensities.
/// Fitting both together assumes how the surest labels are observed, and cost half a point of P@1 where a fifth was missing at random
/// (bibtex, three masks); where most was missing by a power law it gained one or two.
const FEW_MISSING: f64 = 0.3;

impl CheckedTraining<'_> {
    /// Chooses the decay and what makes log-odds of scores, and the loss if it is `open`; `None` when the held-out rows have too few
    /// labels to tell, or propensities depend on the row.
    pub(super) fn choose_corrected(&self, holdout: f64, open: bool) -> Result<Option<(Choice, Calibration)>> {
        if self.pairs.is_some() {
            return Ok(None);
        }
        let Some(trials) = self.corrected_trials(holdout, 0)? else { return Ok(None) };
        let mut contest = Contest::new(&trials);
        self.try_likelihood(&trials, &mut contest)?;
        if open && let Some(few) = Trials::new(self, holdout, SEARCH, 0)? {
            let loss = losses::find(PLAIN.0)?;
            let plain = self.uncorrected(loss, to_optimum(loss))?;
            if let Some(place) = plain.try_decays(&few, loss, PLAIN.1 * plain.squared_norm(), &mut contest)? {
                let start = Instant::now();
                if let Some((precision, calibration)) = self.divided(&trials, contest.candidate(place).decay)? {
                    contest.enter(place, precision, calibration, start);
                }
            }
        }
        contest.won(|candidate, round| {
            let Some(trials) = self.corrected_trials(holdout, round)? else { return Ok(None) };
            Ok(match candidate.loss == PLAIN.0 {
                true => self.divided(&trials, candidate.decay)?.map(|(precision, _)| precision),
                false => self.likelihood(&trials, candidate.decay, None)?.map(|found| found.precision(&trials)),
            })
        })
    }

    /// Rows and labels to try settings on, with the propensities that training on these rows would use.
    fn corrected_trials(&self, holdout: f64, round: u64) -> Result<Option<Trials>> {
        let trials = Trials::new(self, holdout, SAMPLE, round)?;
        Ok(trials.map(|mut trials| {
            let possible = self.possible(&trials.all_counts, trials.rows.len());
            trials.propensities = trials.labels.iter().map(|label| possible[*label]).collect();
            trials
        }))
    }

    /// Tries decays of the loss that corrects; the best takes part in the contest.
    fn try_likelihood(&self, trials: &Trials, contest: &mut Contest) -> Result<()> {
        let layout = self.with_labels(&trials.sampled).layout(&trials.rows)?;
        let mut best: Option<(usize, Likelihood)> = None;
        descend(self.decay, |decay| {
            let start = Instant::now();
            let Some(found) = self.likelihood(trials, decay, Some(&layout))? else { return Ok(f64::INFINITY) };
            let place = contest.push(Candidate { log_loss: Some(found.loss), ..candidate(self.loss, decay, start) });
            let loss = found.loss;
            if best.as_ref().is_none_or(|(_, best)| loss < best.loss) {
                best = Some((place, found));
            }
            Ok(loss)
        })?;
        if let Some((place, found)) = best {
            contest.enter(place, found.precision(trials), found.calibration, Instant::now());
        }
        Ok(())
    }

    /// Trains by the loss that corrects; `None` where its scores tell nothing.
    fn likelihood(&self, trials: &Trials, decay: f64, layout: Option<&Layout>) -> Result<Option<Likelihood>> {
        let propensities = Propensities::new("sample", trials.propensities.clone())?;
        let sampled = self.with_sample(&trials.sampled, &propensities, decay);
        let stage = format!("trying decay {}", digits(decay));
        let by_row = match layout {
            Some(layout) => trials.scores(&sampled, layout, stage)?,
            None => trials.scores(&sampled, &sampled.layout(&trials.rows)?, stage)?,
        };
        let scores = Scores::new(&by_row, &trials.observed, &trials.counts).with_propensities(&trials.propensities);
        let Some(calibration) = scores.calibrate()? else { return Ok(None) };
        let loss = scores.loss(&calibration) / trials.held_out.rows().max(1) as f64;
        Ok(Some(Likelihood { by_row, loss, calibration }))
    }

    /// Trains by the plain loss and divides its scores by the propensities: the precision of held-out rows, and what makes log-odds of
    /// the scores; `None` where they tell nothing.
    fn divided(&self, trials: &Trials, decay: f64) -> Result<Option<(Vec<f64>, Calibration)>> {
        let loss = losses::find(PLAIN.0)?;
        let plain = self.uncorrected(loss, to_optimum(loss))?.with_loss(loss, decay);
        let sampled = plain.with_labels(&trials.sampled);
        let stage = format!("trying {}, decay {}", PLAIN.0, digits(decay));
        let by_row = trials.scores(&sampled, &sampled.layout(&trials.rows)?, stage)?;
        let scores = Scores::new(&by_row, &trials.observed, &trials.counts);
        let calibration = match missing_share(trials) < FEW_MISSING {
            true => scores.calibrate()?.map(|calibration| Calibration { divides: true, ..calibration }),
            false => scores.of_observed_labels(&trials.propensities).calibrate()?,
        };
        Ok(calibration.map(|calibration| (trials.ranking(&by_row, &calibration).precision(), calibration)))
    }
}

/// The share of the relevant pairs of the sample that was not observed.
fn missing_share(trials: &Trials) -> f64 {
    let observed: f64 = trials.counts.iter().map(|count| *count as f64).sum();
    let relevant: f64 = trials.counts.iter().zip(&trials.propensities).map(|(count, p)| *count as f64 / p).sum();
    1.0 - observed / relevant
}

/// The loss that corrects with one decay, on held-out rows.
struct Likelihood {
    by_row: Vec<f32>,
    /// Per held-out row, calibrated.
    loss: f64,
    calibration: Calibration,
}

impl Likelihood {
    fn precision(&self, trials: &Trials) -> Vec<f64> {
        trials.ranking(&self.by_row, &self.calibration).precision()
    }
}
