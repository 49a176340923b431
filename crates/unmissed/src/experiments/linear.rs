//! Linear models as the experiments train them: settings are searched once for each method and data set, on a tenth of the biased
//! training rows, by the loss that is trained.

use super::context::Context;
use crate::data::{Csr, Dataset};
use crate::error::{Error, Result};
use crate::predict::file::fingerprint;
use crate::predict::{Model, PredictOptions};
use crate::propensity::Propensities;
use crate::train::{Adam, Grid, Joint, Recipe, Search, Solver, Trainer, Tuning};
use serde_json::json;

/// Labels of a row that models rank.
pub(super) const DEPTH: usize = 5;

/// Decays that are tried, as multiples of the usual one. Smaller ones only help losses without a lower bound to run away: too small
/// propensities make a label more than always relevant on held-out rows, and the loss then praises whatever goes furthest.
const TIMES_USUAL: [f64; 3] = [1.0, 10.0, 100.0];
/// Learning rates that are tried for joint learning, which has no optimum to go to.
const RATES: [f64; 3] = [0.005, 0.02, 0.05];

/// What to train with.
#[derive(Clone, Copy)]
pub(super) struct Method<'a> {
    /// For people, and to tell searches apart.
    pub(super) name: &'a str,
    /// What is taken to be missing; nothing when `None`.
    pub(super) propensities: Option<&'a Propensities>,
}

impl<'a> Method<'a> {
    /// The trainer before its settings are known.
    pub(super) fn trainer(&self, context: &Context<'a>, seed: u64) -> Result<Trainer<'a>> {
        let loss = if self.propensities.is_some() { "unbiased-logistic" } else { "logistic" };
        let trainer = Trainer::new(loss)?.propensities(self.propensities);
        Ok(trainer.seed(seed).progress(context.progress))
    }

    /// Searches for settings; the search is kept.
    pub(super) fn tune(&self, context: &Context<'a>, set: &str, data: &Dataset<'_>) -> Result<Tuning> {
        let trainer = self.trainer(context, context.seed)?;
        let usual = trainer.decay_on(data)?;
        let times = context.size.pick(&TIMES_USUAL[..2], &TIMES_USUAL, &TIMES_USUAL);
        let grid = Grid { rates: Vec::new(), decays: times.iter().map(|times| times * usual).collect() };
        let values = self.propensities.map(|p| p.values());
        let settings = json!([set, self.name, format!("{:?}", trainer.chosen_solver()), marked(data)?, values, grid.decays]);
        context.part(&format!("settings for {set}, {}", self.name), &settings, || Search::new(grid).run(&trainer, data))
    }

    /// Trains with settings that were found.
    pub(super) fn train(&self, context: &Context<'a>, tuning: &Tuning, data: &Dataset<'_>, seed: u64) -> Result<Model> {
        tuning.apply(&self.trainer(context, seed)?)?.fit(data)
    }
}

/// Joint learning by the likelihood of both: rate and number of epochs are those that do best on a tenth of the rows.
pub(super) fn joint_plugin(context: &Context<'_>, data: &Dataset<'_>) -> Result<(Model, Option<Propensities>)> {
    let adam = Adam { epochs: context.size.pick(5, 15, 30), ..Adam::default() };
    let grid = Grid { rates: context.size.pick(&RATES[1..2], &RATES, &RATES).to_vec(), decays: vec![0.0] };
    let trainer = Trainer::new("plugin-logistic")?.solver(Solver::Adam(adam))?.seed(context.seed).progress(context.progress);
    let recipe = Recipe::new(trainer).search(Some(Search::new(grid))).joint(Joint::Plugin)?;
    let (model, trained) = recipe.train(data)?;
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
