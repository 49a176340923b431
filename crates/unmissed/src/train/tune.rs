//! Which settings? Those that do best on rows that were not trained on.
//!
//! A search holds out a tenth of the rows, or takes a validation set, trains with each setting on the others, and keeps a table of
//! everything it saw: for Adam a line for each epoch (the best is where to stop), for Newton's method one for each setting. The
//! model is then trained on all rows with the setting, and the number of epochs, that did best.
//!
//! Newton's method goes through the decays of a block of labels from the largest to the smallest, each from where the one before
//! it ended, which costs little more than the smallest alone. Where there are very many labels, and a loss decides, a part of
//! them is tried. If the best decay is at either end of the grid, the grid is extended there.
//!
//! Held-out rows have the same labels missing as those that are trained on, so what decides is the loss that is trained, or a
//! metric estimated with the propensities of the training; only a validation set can tell whether these are right. There the log
//! loss of its labels decides unless a metric is asked for: precision from a few hits of a controlled set would choose noise.

use super::checked::CheckedTraining;
use super::fit::{KnownLabels, Others, blocks};
use super::judge::Judge;
use super::plan::SearchPlan;
use super::trainer::Trainer;
use crate::data::{Dataset, Labels, Rate, split_rows_for};
use crate::error::{Error, Result};
use crate::predict::file::{Setting, Trial, Tuning};
use crate::progress::Progress;
use crate::request::{Criterion, Solver, SolverChoice, TrainRequest};
use crate::rng::Purpose;
use std::ops::Range;
use std::time::Instant;

/// Blocks of labels that are tried when a loss decides: 1 024 labels say enough about one number.
const MOST_BLOCKS: usize = 32;

/// The step from one decay to the next where a grid is extended, and how often that happens.
const STEP: f64 = 3.0;
const EXTENSIONS: usize = 6;

/// A search for settings. See the module's page.
pub(super) struct Search<'a> {
    plan: &'a SearchPlan,
    validation: Option<Validation<'a>>,
}

/// A validation set.
#[derive(Clone, Copy)]
struct Validation<'a> {
    data: &'a Dataset<'a>,
    rate: Option<&'a Rate>,
    shown: Option<&'a Labels<'a>>,
}

impl<'a> Search<'a> {
    /// The search that a trainer asks for.
    pub(super) fn new(plan: &'a SearchPlan, trainer: &'a Trainer<'_>) -> Result<Search<'a>> {
        let validation = match (&trainer.request.validation, trainer.validation) {
            (None, _) => None,
            (Some(_), None) => return Err(Error::value("the request uses a validation set that was not passed")),
            (Some(validation), Some(data)) => {
                validation.rate.iter().try_for_each(|rate| rate.check_draw(data.labels().cols() as u64))?;
                let shown = trainer.validation_shown;
                check_shown(data, validation.rate.as_ref(), shown)?;
                Some(Validation { data, rate: validation.rate.as_ref(), shown })
            }
        };
        Ok(Search { plan, validation })
    }

    /// Tries the settings.
    pub(super) fn run(&self, training: &CheckedTraining<'_>) -> Result<Tuning> {
        let own = [Setting { learning_rate: training.solver.adam().map(|adam| adam.learning_rate), decay: training.decay }];
        let settings = self.plan.settings.as_deref().unwrap_or(&own);
        let data = training.data;
        let (rows, others, others_rows): (Vec<usize>, _, Vec<usize>) = match (&self.validation, self.plan.holdout) {
            (Some(validation), _) => ((0..data.rows()).collect(), validation.data, (0..validation.data.rows()).collect()),
            (None, share) => {
                let (rows, held_out) = split_rows_for(Purpose::HeldOut, data.rows(), share.unwrap_or(0.0), training.seed)
                    .map_err(|error| error.hint("hold out a different share, or nothing (a holdout of 0)"))?;
                (rows, data, held_out)
            }
        };
        if others_rows.is_empty() {
            return Err(Error::value("there are no rows to choose settings on").expected("at least one"));
        }
        let criterion = self.plan.criterion.clone().unwrap_or(Criterion::Loss);
        let judge = Judge {
            criterion: &criterion,
            truth: others.labels().select_rows(&others_rows),
            propensities: training.propensities.as_deref().filter(|_| self.validation.is_none()),
            rate: self.validation.and_then(|validation| validation.rate),
        };
        let labels = match self.validation {
            None => KnownLabels::AsTrained,
            Some(Validation { rate: None, .. }) => KnownLabels::Complete,
            Some(Validation { rate: Some(rate), shown, .. }) => KnownLabels::Shown(rate, shown),
        };
        let others = Others { data: others, rows: &others_rows, depth: judge.depth(), labels };
        let tried = tried(training, &criterion)?;
        let some = (tried.len() < blocks(training.labels())?.len()).then(|| tried.iter().map(|block| block.len() as u64).sum());
        let mut tuning = Tuning { criterion: criterion.clone(), rows: others_rows.len() as u64, labels: some, trials: Vec::new() };
        let place = Place { training, rows: &rows, others, blocks: &tried, judge: &judge };
        match training.solver {
            Solver::Newton(_) | Solver::Dual(_) => {
                place.path(settings.iter().map(|setting| setting.decay).collect(), &mut tuning)?;
                for _ in 0..EXTENSIONS {
                    let Some(more) = beyond(&tuning).filter(|_| self.plan.extends) else { break };
                    place.path(more, &mut tuning)?;
                }
                tuning.trials.sort_by(|a, b| a.setting.decay.total_cmp(&b.setting.decay));
            }
            Solver::Adam(_) | Solver::Joint(_) => place.each(settings, &mut tuning)?,
        }
        Ok(tuning)
    }
}

/// What trials share.
struct Place<'a, 'b> {
    training: &'a CheckedTraining<'b>,
    rows: &'a [usize],
    others: Others<'a>,
    blocks: &'a [Range<u32>],
    judge: &'a Judge<'a>,
}

impl Place<'_, '_> {
    /// Tries decays one after the other, the largest first.
    fn path(&self, mut decays: Vec<f64>, tuning: &mut Tuning) -> Result<()> {
        decays.sort_by(|a, b| b.total_cmp(a));
        decays.dedup();
        let stage = format!("{} decays", decays.len());
        let staged = Staged { progress: self.training.progress, stage };
        let start = Instant::now();
        let run = self.training.with_progress(&staged);
        let checkpoints = run.run(self.rows, Some(self.others), self.blocks, &decays, &|_| Ok(()))?;
        // They were trained together; each is given its share.
        let seconds = Some(start.elapsed().as_secs_f64() / decays.len().max(1) as f64);
        for (decay, checkpoint) in decays.iter().zip(&checkpoints) {
            let setting = Setting { learning_rate: None, decay: *decay };
            let (loss, metric) = (Some(checkpoint.loss), self.judge.metric(checkpoint)?);
            offer(tuning, Trial { setting, epoch: None, loss, metric, seconds, chosen: false }, self.judge);
        }
        Ok(())
    }

    /// Tries settings of Adam, each with all its epochs.
    fn each(&self, settings: &[Setting], tuning: &mut Tuning) -> Result<()> {
        for (number, setting) in settings.iter().enumerate() {
            let best = tuning.best().map_or(String::new(), |best| format!(", best so far {}", described(best)));
            let stage = format!("setting {} of {} ({setting}){best}", number + 1, settings.len());
            let staged = Staged { progress: self.training.progress, stage };
            let start = Instant::now();
            let tried = self.training.with_progress(&staged).with_setting(setting, None)?;
            let checkpoints = tried.run(self.rows, Some(self.others), self.blocks, &[setting.decay], &|_| Ok(()))?;
            let seconds = Some(start.elapsed().as_secs_f64());
            for (epoch, checkpoint) in checkpoints.iter().enumerate() {
                let (loss, metric) = (Some(checkpoint.loss), self.judge.metric(checkpoint)?);
                let trial = Trial { setting: *setting, epoch: Some(epoch + 1), loss, metric, seconds, chosen: false };
                offer(tuning, trial, self.judge);
            }
        }
        Ok(())
    }
}

/// The blocks of labels that are tried: all of them, or some from all over when a loss decides.
fn tried(training: &CheckedTraining<'_>, criterion: &Criterion) -> Result<Vec<Range<u32>>> {
    let all = blocks(training.labels())?;
    if *criterion != Criterion::Loss || all.len() <= MOST_BLOCKS {
        return Ok(all);
    }
    Ok((0..MOST_BLOCKS).map(|at| all[at * all.len() / MOST_BLOCKS].clone()).collect())
}

/// The decays that follow where the best is the last of all tried at one end; `None` when it is not.
fn beyond(tuning: &Tuning) -> Option<Vec<f64>> {
    let best = tuning.best()?.setting.decay;
    let decays = || tuning.trials.iter().map(|trial| trial.setting.decay);
    let (least, most) = (decays().fold(f64::INFINITY, f64::min), decays().fold(0.0, f64::max));
    if best == most {
        Some(vec![best * STEP, best * STEP * STEP])
    } else if best == least && least > f64::from(f32::MIN_POSITIVE) {
        Some(vec![best / STEP, best / STEP / STEP])
    } else {
        None
    }
}

/// Shown pairs belong to a controlled set, and contain its positives.
fn check_shown(data: &Dataset<'_>, rate: Option<&Rate>, shown: Option<&Labels<'_>>) -> Result<()> {
    let Some(shown) = shown else { return Ok(()) };
    if rate.is_none() {
        return Err(Error::value("shown pairs need a controlled set").expected("its rate as well"));
    }
    let labels = data.labels();
    if (shown.rows(), shown.cols()) != (labels.rows(), labels.cols()) {
        return Err(Error::value("the shown pairs are not those of the validation set")
            .expected(format!("{} rows and {} labels", labels.rows(), labels.cols()))
            .found(format!("{} and {}", shown.rows(), shown.cols())));
    }
    for row in 0..labels.rows() {
        if let Some(label) = labels.row_ids(row).iter().find(|label| !shown.row_ids(row).contains(label)) {
            return Err(Error::value(format!("label {label} of validation row {row} is positive, but was not shown")));
        }
    }
    Ok(())
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
