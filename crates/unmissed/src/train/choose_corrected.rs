//! The loss, the decay and the calibration of a correction, chosen on held-out rows as in plain training (`choose.rs`).
//!
//! There are two ways to a model of relevant labels. The likelihood of the observed labels has the propensities in its loss. A plain
//! loss is fitted to the observed labels, and its scores are divided by the propensities afterwards. The second way loses where much is
//! missing and labels are nearly sure; but a squared hinge ranks better than a likelihood on some data, and where little is missing that
//! outweighs everything else. So both are tried.
//!
//! The scores of each candidate are calibrated (`calibrate.rs`) by the likelihood of what is observed, in which a relevant label is
//! observed with probability p. Decays of the likelihood are compared by its value, those of the plain loss as in plain training. Between
//! the two the mean reciprocal rank decides, in which an observed pair counts `1/p`: without bias, it is that of all relevant pairs. With
//! propensities of 1 all of this is plain training. Everything folds into the weights: the model stays linear.

use super::calibrate::Scores;
use super::checked::CheckedTraining;
use super::choose::{Contest, SEARCH, candidate, descend};
use super::plan::to_optimum;
use super::trials::{Sample, Trials};
use crate::error::{Result, digits};
use crate::losses;
use crate::predict::file::{Calibration, Candidate, Choice};
use crate::propensity::Propensities;
use std::time::Instant;

/// The labels on which decays are tried.
const SAMPLE: Sample = Sample { positives: 4_000, most: 1, labels: 256, most_labels: 1, least: 0, head: 8 };

/// The plain loss that is tried, with the decay to start from (for rows of norm 1). The other plain one, the logistic loss, is the
/// likelihood where nothing is missing.
const PLAIN: (&str, f64) = ("squared-hinge", 3e-4);

impl CheckedTraining<'_> {
    /// Chooses the decay and what makes log-odds of scores, and the loss if it is `open`; `None` when the held-out rows have too few
    /// labels to tell, or propensities depend on the row.
    pub(super) fn choose_corrected(&self, holdout: f64, open: bool) -> Result<Option<(Choice, Calibration)>> {
        if self.pairs.is_some() {
            return Ok(None);
        }
        let Some(mut trials) = Trials::new(self, holdout, SAMPLE)? else { return Ok(None) };
        let possible = self.possible(&trials.all_counts, trials.rows.len());
        trials.propensities = trials.labels.iter().map(|label| possible[*label]).collect();
        let mut contest = Contest::new(&trials);
        self.try_likelihood(&trials, &mut contest)?;
        if open && let Some(few) = Trials::new(self, holdout, SEARCH)? {
            self.try_plain(&few, &trials, &mut contest)?;
        }
        Ok(contest.won())
    }

    /// Tries decays of the loss that corrects; the best takes part in the contest.
    fn try_likelihood(&self, trials: &Trials, contest: &mut Contest) -> Result<()> {
        let propensities = Propensities::new("sample", trials.propensities.clone())?;
        let sampled = |decay| self.with_sample(&trials.sampled, &propensities, decay);
        let layout = sampled(self.decay).layout(&trials.rows)?;
        let mut best: Option<(f64, usize, f64, Calibration)> = None;
        descend(self.decay, |decay| {
            let (clock, tried) = (Instant::now(), sampled(decay));
            let by_row = trials.scores(&tried, &layout, format!("trying decay {}", digits(decay)))?;
            let scores = Scores::new(&by_row, &trials.observed, &trials.counts).with_propensities(&trials.propensities);
            let Some(calibration) = scores.calibrate()? else { return Ok(f64::INFINITY) };
            let loss = scores.loss(&calibration) / trials.held_out.rows().max(1) as f64;
            let place = contest.push(Candidate { log_loss: Some(loss), ..candidate(&tried, clock) });
            if best.as_ref().is_none_or(|(least, ..)| loss < *least) {
                let rank = trials.ranking(&by_row, &calibration).reciprocal_rank();
                best = Some((loss, place, rank, calibration));
            }
            Ok(loss)
        })?;
        if let Some((_, place, rank, calibration)) = best {
            contest.enter(place, rank, calibration);
        }
        Ok(())
    }

    /// Tries decays of a plain loss on a few labels, as plain training does; the scores of the best, divided by propensities, take part in
    /// the contest.
    fn try_plain(&self, few: &Trials, trials: &Trials, contest: &mut Contest) -> Result<()> {
        let (name, decay) = PLAIN;
        let loss = losses::find(name)?;
        let plain = self.uncorrected(loss, to_optimum(loss))?;
        let Some(place) = plain.try_decays(few, loss, decay * plain.squared_norm(), contest)? else { return Ok(()) };
        let clock = Instant::now();
        let finalist = plain.with_loss(loss, contest.candidate(place).decay).with_labels(&trials.sampled);
        let stage = format!("trying {name}, decay {}", digits(finalist.decay));
        let by_row = trials.scores(&finalist, &finalist.layout(&trials.rows)?, stage)?;
        let scores = Scores::new(&by_row, &trials.observed, &trials.counts).of_observed_labels(&trials.propensities);
        if let Some(calibration) = scores.calibrate()? {
            contest.took(place, clock);
            contest.enter(place, trials.ranking(&by_row, &calibration).reciprocal_rank(), calibration);
        }
        Ok(())
    }
}
