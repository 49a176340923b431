//! Which settings? Those that do best on rows that were not trained on.
//!
//! A search holds out a tenth of the rows, or takes a validation set, trains with each setting on the others, and keeps a table of
//! everything it saw: for Adam a line for each epoch (the best is where to stop), for Newton's method one for each setting. The
//! model is then trained on all rows with the setting, and the number of epochs, that did best.
//!
//! Held-out rows have the same labels missing as those that are trained on, so what decides is the loss that is trained, or a
//! metric estimated with the propensities of the training; only a controlled set can tell whether these are right.

use super::checked::CheckedTraining;
use super::fit::{Others, blocks};
use super::judge::Judge;
use super::plan::SearchPlan;
use super::trainer::Trainer;
use crate::data::{Dataset, Rate, split_rows_for};
use crate::error::{Error, Result};
use crate::predict::file::{Setting, Trial, Tuning};
use crate::progress::Progress;
use crate::request::{Criterion, SolverChoice, TrainRequest};
use crate::rng::Purpose;
use std::time::Instant;

/// A search for settings. See the module's page.
pub(super) struct Search<'a> {
    plan: &'a SearchPlan,
    validation: Option<(&'a Dataset<'a>, Option<&'a Rate>)>,
}

impl<'a> Search<'a> {
    /// The search that a trainer asks for.
    pub(super) fn new(plan: &'a SearchPlan, trainer: &'a Trainer<'_>) -> Result<Search<'a>> {
        let validation = match (&trainer.request.validation, trainer.validation) {
            (None, _) => None,
            (Some(_), None) => return Err(Error::value("the request takes a validation set that was not passed along")),
            (Some(validation), Some(data)) => {
                validation.rate.iter().try_for_each(|rate| rate.check_draw(data.labels().cols() as u64))?;
                Some((data, validation.rate.as_ref()))
            }
        };
        Ok(Search { plan, validation })
    }

    /// Tries the settings.
    pub(super) fn run(&self, training: &CheckedTraining<'_>) -> Result<Tuning> {
        let own = [Setting { learning_rate: training.solver.adam().map(|adam| adam.learning_rate), decay: training.decay }];
        let settings = self.plan.settings.as_deref().unwrap_or(&own);
        let data = training.data;
        let (rows, others, others_rows) = match (&self.validation, self.plan.holdout) {
            (Some((validation, _)), _) => ((0..data.rows()).collect(), *validation, (0..validation.rows()).collect()),
            (None, share) => {
                let (rows, held_out) = split_rows_for(Purpose::HeldOut, data.rows(), share.unwrap_or(0.0), training.seed)
                    .map_err(|error| error.hint("hold out another share, or nothing (a holdout of 0)"))?;
                (rows, data, held_out)
            }
        };
        let rows: Vec<usize> = rows;
        let others_rows: Vec<usize> = others_rows;
        if others_rows.is_empty() {
            return Err(Error::value("there are no rows to decide on").expected("at least one"));
        }
        let criterion = self.criterion();
        let judge = Judge {
            criterion: &criterion,
            truth: others.labels().select_rows(&others_rows),
            propensities: training.propensities.as_deref().filter(|_| self.validation.is_none()),
            rate: self.validation.and_then(|(_, rate)| rate),
        };
        let place = Others { data: others, rows: &others_rows, depth: judge.depth() };
        let mut tuning = Tuning { criterion: criterion.clone(), rows: others_rows.len() as u64, trials: Vec::new() };
        for (number, setting) in settings.iter().enumerate() {
            let best = tuning.best().map_or(String::new(), |best| format!(", best so far {}", described(best)));
            let stage = format!("setting {} of {} ({setting}){best}", number + 1, settings.len());
            let staged = Staged { progress: training.progress, stage };
            let start = Instant::now();
            let tried = training.with_progress(&staged).with_setting(setting, None)?;
            let checkpoints = tried.run(&rows, Some(place), &blocks(training.labels())?, &|_| Ok(()))?;
            let seconds = Some(start.elapsed().as_secs_f64());
            for (epoch, checkpoint) in checkpoints.iter().enumerate() {
                let (loss, metric) = (self.validation.is_none().then_some(checkpoint.loss), judge.metric(checkpoint)?);
                let epoch = setting.learning_rate.map(|_| epoch + 1);
                let trial = Trial { setting: *setting, epoch, loss, metric, seconds, chosen: false };
                offer(&mut tuning, trial, &judge);
            }
        }
        Ok(tuning)
    }

    fn criterion(&self) -> Criterion {
        match (&self.plan.criterion, &self.validation) {
            (Some(criterion), _) => criterion.clone(),
            (None, None) => Criterion::Loss,
            (None, Some(_)) => Criterion::Metric { metric: "precision".into(), k: 1, estimator: None },
        }
    }
}

/// Adds a trial, which is chosen when it is better than all before.
fn offer(tuning: &mut Tuning, mut trial: Trial, judge: &Judge<'_>) {
    let cost = |trial: &Trial| judge.cost(trial.loss, trial.metric);
    if tuning.best().is_none_or(|best| cost(&trial) < cost(best)) {
        tuning.trials.iter_mut().for_each(|trial| trial.chosen = false);
        trial.chosen = true;
    }
    tuning.trials.push(trial);
}

fn described(trial: &Trial) -> String {
    let value = trial.metric.or(trial.loss).unwrap_or(f64::NAN);
    match trial.epoch {
        Some(epoch) => format!("{value:.5} ({}, epoch {epoch})", trial.setting),
        None => format!("{value:.5} ({})", trial.setting),
    }
}

impl Tuning {
    /// The request with what did best instead of a search.
    pub fn apply(&self, request: &TrainRequest) -> TrainRequest {
        let Some(best) = self.best() else { return request.clone() };
        let default = TrainRequest::default();
        TrainRequest {
            solver: if best.setting.learning_rate.is_some() { SolverChoice::Adam } else { request.solver },
            decay: vec![best.setting.decay],
            learning_rate: best.setting.learning_rate.into_iter().collect(),
            epochs: best.epoch,
            tune: false,
            grid: default.grid,
            criterion: None,
            // Newton's method has nothing to decide, and Adam's epochs are known.
            holdout: if best.epoch.is_some() { 0.0 } else { default.holdout },
            validation: None,
            ..request.clone()
        }
    }
}

/// Names the stage after what is tried.
pub(super) struct Staged<'a> {
    pub(super) progress: &'a dyn Progress,
    pub(super) stage: String,
}

impl Progress for Staged<'_> {
    fn begin(&self, _stage: &str, total: u64) {
        self.progress.begin(&self.stage, total);
    }
    fn advance(&self, amount: u64) -> Result<()> {
        self.progress.advance(amount)
    }
}
