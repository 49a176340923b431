//! Which settings? Those that do best on rows that were not trained on.
//!
//! A [`Search`] holds out a tenth of the rows, or takes a controlled set, trains with each setting on the others, and keeps a
//! table of all it saw: for Adam a line for each epoch (the best is where to stop), for Newton's method one for each setting.
//! The model is then trained on all rows with the setting, and the number of epochs, that did best.
//!
//! Held-out rows have the same labels missing as those that are trained on, so what decides is the loss that is trained, or a
//! metric estimated with the propensities of the training; only a controlled set can tell whether these are right.

use super::criterion::{Criterion, Judge};
use super::fit::{Others, blocks};
use super::grid::{Grid, Setting};
use super::trainer::{Settled, Trainer};
use crate::data::{Dataset, split_rows_for};
use crate::error::{Error, Result, digits};
use crate::evaluate::Rate;
use crate::predict::file::fingerprint;
use crate::progress::Progress;
use crate::rng::Purpose;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Instant;

/// The share of rows that are held out unless told.
pub const HOLDOUT: f64 = 0.1;

/// A search for settings. See the module's page.
#[derive(Clone)]
pub struct Search<'a> {
    grid: Option<Grid>,
    criterion: Option<Criterion>,
    holdout: f64,
    validation: Option<(&'a Dataset<'a>, Option<Rate>)>,
}

impl Default for Search<'_> {
    /// The trainer's own setting, of which only the number of epochs is to be found.
    fn default() -> Self {
        Search { grid: None, criterion: None, holdout: HOLDOUT, validation: None }
    }
}

impl<'a> Search<'a> {
    /// Tries all settings of a grid.
    pub fn new(grid: Grid) -> Search<'a> {
        Search { grid: Some(grid), ..Search::default() }
    }

    /// What decides: unless given, the loss on held-out rows, or precision@1 on a set to validate on.
    #[must_use]
    pub fn criterion(mut self, criterion: Criterion) -> Self {
        self.criterion = Some(criterion);
        self
    }

    /// The share of rows that are held out; a tenth unless given.
    pub fn holdout(mut self, share: f64) -> Result<Self> {
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::value("the share of rows to hold out is out of range")
                .expected("a number above 0 and below 1")
                .found(digits(share)));
        }
        self.holdout = share;
        Ok(self)
    }

    /// Decides on a set of its own instead: complete, or a controlled one with the rate at which labels were shown.
    #[must_use]
    pub fn validation(mut self, data: &'a Dataset<'a>, rate: Option<Rate>) -> Self {
        self.validation = Some((data, rate));
        self
    }

    /// Tries the settings on the data.
    pub fn run(&self, trainer: &Trainer<'_>, data: &Dataset<'_>) -> Result<Tuning> {
        trainer.check(data.labels().cols(), data.rows())?;
        let Settled { trainer, decay, .. } = trainer.settled(data)?;
        let settings = match &self.grid {
            Some(grid) => grid.settings(trainer.solver),
            None => vec![Setting { rate: trainer.solver.adam().map(|adam| adam.rate), decay }],
        };
        if settings.is_empty() {
            return Err(Error::value("there is no setting to try").expected("rates and decays that the solver takes"));
        }
        let all: Vec<usize> = (0..data.rows()).collect();
        let (rows, others, others_rows) = match &self.validation {
            Some((validation, _)) => (all, *validation, (0..validation.rows()).collect()),
            None => {
                let (rows, held_out) = split_rows_for(Purpose::HeldOut, data.rows(), self.holdout, trainer.seed)
                    .map_err(|error| error.hint("hold out another share, or nothing (--holdout 0)"))?;
                (rows, data, held_out)
            }
        };
        let criterion = self.decides(&others_rows)?;
        let judge = Judge {
            criterion: &criterion,
            truth: others.labels().select_rows(&others_rows),
            propensities: trainer.propensities.filter(|_| self.validation.is_none()),
            rate: self.validation.as_ref().and_then(|(_, rate)| rate.as_ref()),
        };
        let place = Others { data: others, rows: &others_rows, depth: judge.depth() };
        let mut tuning = Tuning { criterion: criterion.to_string(), rows: others_rows.len() as u64, trials: Vec::new() };
        for (number, setting) in settings.iter().enumerate() {
            let best = tuning.best().map_or(String::new(), |best| format!(", best so far {}", best.said()));
            let stage = format!("setting {} of {} ({setting}){best}", number + 1, settings.len());
            let staged = Staged { progress: trainer.progress, stage };
            let start = Instant::now();
            let checkpoints =
                trainer
                    .progress(&staged)
                    .with(setting)?
                    .run(data, &rows, Some(place), &blocks(data.labels().cols()), &|_| Ok(()))?;
            let seconds = start.elapsed().as_secs_f64();
            for (epoch, checkpoint) in checkpoints.iter().enumerate() {
                let (loss, metric) = (self.validation.is_none().then_some(checkpoint.loss), judge.metric(checkpoint)?);
                let epoch = setting.rate.map(|_| epoch + 1);
                let trial = Trial { setting: *setting, epoch, loss, metric, seconds, chosen: false };
                tuning.offer(trial, &judge);
            }
        }
        Ok(tuning)
    }

    /// All that the outcome depends on, besides the data that are trained on.
    pub(super) fn request(&self) -> serde_json::Value {
        let grid = self.grid.as_ref().map(|grid| json!({ "rates": grid.rates, "decays": grid.decays }));
        let validation = self.validation.as_ref().map(|(data, rate)| {
            let marks = data.features().map(|features| fingerprint(features, data.labels()));
            json!({ "data": marks, "rate": rate.as_ref().map(Rate::name) })
        });
        json!({
            "grid": grid, "criterion": self.criterion.as_ref().map(Criterion::to_string), "holdout": self.holdout,
            "validation": validation,
        })
    }

    fn decides(&self, rows: &[usize]) -> Result<Criterion> {
        let criterion = match (&self.criterion, &self.validation) {
            (Some(Criterion::Loss), Some(_)) => {
                return Err(Error::value("the loss cannot decide on a set that is not part of the training data")
                    .expected("a metric, as in precision@1")
                    .found("loss"));
            }
            (Some(criterion), _) => criterion.clone(),
            (None, None) => Criterion::Loss,
            (None, Some(_)) => Criterion::Metric { metric: "precision".into(), k: 1, estimator: None },
        };
        match rows.is_empty() {
            true => Err(Error::value("there are no rows to decide on").expected("at least one")),
            false => Ok(criterion),
        }
    }
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The setting.
    #[serde(flatten)]
    pub setting: Setting,
    /// Epochs until then, for Adam.
    pub epoch: Option<usize>,
    /// The mean over held-out rows of the loss, summed over labels; not known on a set of its own.
    pub loss: Option<f64>,
    /// The metric that decides, if one does.
    pub metric: Option<f64>,
    /// How long the setting took, with all its epochs.
    pub seconds: f64,
    /// Whether it is the best.
    pub chosen: bool,
}

impl Trial {
    fn said(&self) -> String {
        let value = self.metric.or(self.loss).unwrap_or(f64::NAN);
        match self.epoch {
            Some(epoch) => format!("{value:.5} ({}, epoch {epoch})", self.setting),
            None => format!("{value:.5} ({})", self.setting),
        }
    }
}

/// All that was tried, and what did best.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// What decided.
    pub criterion: String,
    /// Rows that it was decided on.
    pub rows: u64,
    /// Everything that was tried, in order.
    pub trials: Vec<Trial>,
}

impl Tuning {
    /// What did best; the first of equals.
    pub fn best(&self) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.chosen)
    }

    fn offer(&mut self, mut trial: Trial, judge: &Judge<'_>) {
        let cost = |trial: &Trial| judge.cost(trial.loss, trial.metric);
        let better = self.best().is_none_or(|best| cost(&trial) < cost(best));
        if better {
            self.trials.iter_mut().for_each(|trial| trial.chosen = false);
            trial.chosen = true;
        }
        self.trials.push(trial);
    }

    /// The trainer with what did best.
    pub fn apply<'t>(&self, trainer: &Trainer<'t>) -> Result<Trainer<'t>> {
        let Some(best) = self.best() else { return Ok(*trainer) };
        let trainer = trainer.with(&best.setting)?;
        match (trainer.solver.adam(), best.epoch) {
            (Some(mut adam), Some(epochs)) => {
                adam.epochs = epochs;
                trainer.solver(trainer.solver.with_adam(adam))
            }
            _ => Ok(trainer),
        }
    }
}

impl<'a> Trainer<'a> {
    /// The same with another setting.
    fn with(&self, setting: &Setting) -> Result<Trainer<'a>> {
        let mut solver = self.solver;
        if let (Some(mut adam), Some(rate)) = (solver.adam(), setting.rate) {
            adam.rate = rate;
            solver = solver.with_adam(adam);
        }
        self.solver(solver)?.decay(setting.decay)
    }
}

/// Names the stage after what is tried.
struct Staged<'a> {
    progress: &'a dyn Progress,
    stage: String,
}

impl Progress for Staged<'_> {
    fn begin(&self, _stage: &str, total: u64) {
        self.progress.begin(&self.stage, total);
    }
    fn advance(&self, amount: u64) -> Result<()> {
        self.progress.advance(amount)
    }
}
