//! What is tried in a world: models with the propensities of every origin, by every loss, each with the defaults of training.

use super::worlds::World;
use crate::data::{LabelStats, Rate};
use crate::error::Result;
use crate::experiments::Context;
use crate::experiments::measures::{Seen, precision};
use crate::predict::{Model, PredictOptions};
use crate::propensity::estimators::direct::direct;
use crate::propensity::estimators::shrunken::shrunken;
use crate::propensity::fit::{FitOptions, fit};
use crate::propensity::{Propensities, models};
use crate::request::{JointLearning, TrainRequest};
use crate::train::{Stack, Trainer};
use serde::{Deserialize, Serialize};

/// Training without a correction, as `train` does it by default: the loss and its decay are chosen on held-out rows.
pub(super) const UNCORRECTED: &str = "none";
/// The same by the logistic loss with its usual decay.
pub(super) const LOGISTIC: &str = "none, logistic";
/// The stack with the pairs that were shown, and without.
pub(super) const STACK: &str = "stack";
pub(super) const STACK_POSITIVES: &str = "stack, positives only";
/// The loss that training takes with propensities unless told.
pub(super) const DEFAULT: &str = "plugin-logistic";
/// Losses that are tried with every estimate.
const LOSSES: [&str; 2] = [DEFAULT, "unbiased-logistic"];
/// Losses that are tried with the true propensities as well.
const MORE_LOSSES: [&str; 2] = ["nonnegative-logistic", "bounded-logistic"];

/// Precision on complete labels of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tried {
    /// Where propensities came from, or what else was done.
    pub(super) method: String,
    /// The loss, where there is a choice.
    pub(super) loss: Option<String>,
    /// Precision at 1, 3 and 5, in percent.
    pub(super) precision: [f64; 3],
}

/// Everything that is tried in a world of a seed.
pub(super) fn tried(context: &Context<'_>, world: &World, seed: u64) -> Result<Vec<Tried>> {
    let mut found = Vec::new();
    let plain = TrainRequest { seed, ..TrainRequest::default() };
    let trainer = |request: TrainRequest| Trainer::new(request).progress(context.progress);
    let mut add = |method: &str, loss: Option<&str>, model: &Model| -> Result<()> {
        let precision = at_1_3_5(model, world)?;
        found.push(Tried { method: method.to_owned(), loss: loss.map(str::to_owned), precision });
        Ok(())
    };
    let uncorrected = trainer(plain.clone()).train(&world.train)?.0;
    add(UNCORRECTED, None, &uncorrected)?;
    let logistic = TrainRequest { loss: "logistic".into(), ..plain.clone() };
    add(LOGISTIC, None, &trainer(logistic).train(&world.train)?.0)?;
    let joint = TrainRequest { joint: Some(JointLearning::Plugin), ..plain.clone() };
    let joint = trainer(joint).train(&world.train)?.0;
    add("joint", None, &joint)?;
    // What `train --controlled` does with these two models.
    let counts = LabelStats::of(world.train.labels()).dense_counts()?;
    for (name, shown) in [(STACK, Some(&world.shown)), (STACK_POSITIVES, None)] {
        let stack = Stack {
            uncorrected: &uncorrected,
            joint: &joint,
            counts: &counts,
            rows: world.train.rows(),
            controlled: &world.controlled,
            rate: &world.rate,
            shown,
            weights: None,
            seed,
        };
        add(name, None, &stack.fit()?.model)?;
    }
    for (name, propensities) in estimates(world, seed)? {
        for loss in LOSSES.into_iter().chain(MORE_LOSSES).filter(|loss| name == "true" || LOSSES.contains(loss)) {
            let named = if loss == DEFAULT { plain.loss.clone() } else { loss.into() };
            let request = TrainRequest { loss: named, ..plain.clone() };
            add(name, Some(loss), &trainer(request).propensity(&propensities).train(&world.train)?.0)?;
        }
    }
    Ok(found)
}

/// Propensities of every origin.
fn estimates(world: &World, seed: u64) -> Result<Vec<(&'static str, Propensities)>> {
    let train = LabelStats::of(world.train.labels());
    let share = Rate::Common(world.rate.of(0));
    let found = direct(&train, &LabelStats::of(world.controlled.labels()), &share, 0.95)?;
    let options = FitOptions { seed, ..FitOptions::default() };
    let mut all = vec![("true", world.truth.clone())];
    all.push(("direct", found.propensities()?));
    all.push(("shrunken", shrunken(&found, &models::family("power")?, &options, 0.95)?.propensities));
    for (name, family) in [("jpv, fitted", "jpv"), ("power, fitted", "power"), ("richards, fitted", "richards")] {
        let fitted = fit(&models::family(family)?, &found.evidence(), &options)?;
        all.push((name, fitted.propensities(&train)?));
    }
    all.push(("jpv, assumed", models::parse("jpv")?.propensities(&train)?));
    Ok(all)
}

fn at_1_3_5(model: &Model, world: &World) -> Result<[f64; 3]> {
    let features = world.test.features().ok_or_else(|| crate::error::Error::value("the test rows have no features"))?;
    let top = model.predict(features, &PredictOptions { k: 5, logits: true, ..PredictOptions::default() })?;
    Ok(precision(world.test.labels(), &top, &Seen::Complete)?.map(|(value, _)| 100.0 * value))
}
