//! Linear models as the experiments train them: settings are searched once for each method and data set, on a tenth of the biased
//! training rows, by the loss that is trained.

use super::context::Context;
use crate::data::{Csr, Dataset};
use crate::error::{Error, Result};
use crate::predict::file::fingerprint;
use crate::predict::{Model, PredictOptions};
use crate::propensity::Propensities;
use crate::request::{JointLearning, LossChoice, SolverChoice, TrainRequest};
use crate::train::{Trainer, Tuning};
use serde::Serialize;
use serde_json::json;

/// Labels of a row that models rank.
pub(super) const DEPTH: usize = 5;

/// Decays that are tried, as multiples of the usual one. Smaller ones only help losses without a lower bound to diverge: too small
/// propensities make a label more than always relevant on held-out rows, and the loss then praises whatever goes furthest.
const TIMES_USUAL: [f64; 3] = [1.0, 10.0, 100.0];
/// Learning rates that are tried for joint learning, which has no optimum to go to.
const RATES: [f64; 3] = [0.005, 0.02, 0.05];
/// Those that are tried where Adam is stopped early.
const EARLY_RATES: [f64; 2] = [0.01, 0.05];

/// How propensities are corrected with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Correction {
    /// By the loss that training takes by default, with propensities raised to what the data allow, to the optimum.
    Default,
    /// By the paper's loss, without raising propensities, to the optimum.
    Unbiased,
    /// By the paper's loss and its training: Adam, stopped at the epoch that does best on held-out rows.
    EarlyStopping,
}

/// What to train with.
#[derive(Clone, Copy)]
pub(super) struct Method<'a> {
    /// For people, and to tell searches apart.
    pub(super) name: &'a str,
    /// What is taken to be missing; nothing when `None`.
    pub(super) propensities: Option<&'a Propensities>,
    pub(super) correction: Correction,
}

impl<'a> Method<'a> {
    /// Training as the request says.
    fn trainer(&self, context: &Context<'a>, request: TrainRequest) -> Trainer<'a> {
        let trainer = Trainer::new(request).progress(context.progress);
        self.propensities.into_iter().fold(trainer, Trainer::propensity)
    }

    /// Searches for settings; the search is kept.
    pub(super) fn tune(&self, context: &Context<'a>, set: &str, data: &Dataset<'_>) -> Result<Tuning> {
        let plain = self.request(context.seed);
        let request = match self.correction {
            Correction::EarlyStopping => TrainRequest {
                tune: true,
                learning_rate: context.size.pick(&EARLY_RATES[1..], &EARLY_RATES, &EARLY_RATES).to_vec(),
                decay: vec![0.0],
                epochs: Some(context.size.pick(4, 20, 20)),
                ..plain
            },
            Correction::Default | Correction::Unbiased => {
                let usual = self.trainer(context, plain.clone()).check(data)?.decay();
                let times = context.size.pick(&TIMES_USUAL[..2], &TIMES_USUAL, &TIMES_USUAL);
                TrainRequest { tune: true, decay: times.iter().map(|times| times * usual).collect(), ..plain }
            }
        };
        let settings = json!([set, self.name, self.correction, request, marked(data)?, self.propensities.map(|p| p.values())]);
        context.part(&format!("settings for {set}, {}", self.name), &settings, || {
            let tuning = self.trainer(context, request.clone()).tune(data)?;
            tuning.ok_or_else(|| Error::value("no settings were tried"))
        })
    }

    /// Trains with settings that were found.
    pub(super) fn train(&self, context: &Context<'a>, tuning: &Tuning, data: &Dataset<'_>, seed: u64) -> Result<Model> {
        let trainer = self.trainer(context, tuning.apply(&self.request(seed)));
        match self.correction {
            Correction::Default => Ok(trainer.train(data)?.0),
            // Nothing is raised: wrong propensities are what these are about.
            Correction::Unbiased | Correction::EarlyStopping => Ok(trainer.check(data)?.fit()?.model),
        }
    }

    fn request(&self, seed: u64) -> TrainRequest {
        let loss = match (self.propensities, self.correction) {
            (None, _) => "logistic".into(),
            (Some(_), Correction::Default) => LossChoice::Auto,
            (Some(_), Correction::Unbiased | Correction::EarlyStopping) => "unbiased-logistic".into(),
        };
        let early = self.correction == Correction::EarlyStopping;
        let solver = if early { SolverChoice::Adam } else { SolverChoice::Auto };
        TrainRequest { loss, solver, seed, ..TrainRequest::default() }
    }
}

/// Joint learning by the likelihood of both: rate and number of epochs are those that do best on a tenth of the rows.
pub(super) fn joint_plugin(context: &Context<'_>, data: &Dataset<'_>) -> Result<(Model, Option<Propensities>)> {
    let request = TrainRequest {
        joint: Some(JointLearning::Plugin),
        epochs: Some(context.size.pick(5, 15, 30)),
        tune: true,
        learning_rate: context.size.pick(&RATES[1..2], &RATES, &RATES).to_vec(),
        decay: vec![0.0],
        seed: context.seed,
        ..TrainRequest::default()
    };
    let (model, trained) = Trainer::new(request).progress(context.progress).train(data)?;
    Ok((model, trained.learned))
}

/// What tells data from other data.
pub(super) fn marked(data: &Dataset<'_>) -> Result<String> {
    let features = data.features().ok_or_else(|| Error::value("the rows have no features").expected("features to train on"))?;
    Ok(fingerprint(features, data.labels()))
}

/// The first labels of each row.
pub(super) fn top(context: &Context<'_>, model: &Model, data: &Dataset<'_>) -> Result<Csr<'static, f32>> {
    let features = data.features().ok_or_else(|| Error::value("the rows have no features").expected("features to predict from"))?;
    model.predict(features, &PredictOptions { k: DEPTH, progress: context.progress, ..PredictOptions::default() })
}
