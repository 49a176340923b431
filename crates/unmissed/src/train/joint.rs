//! Joint learning: the classifier and the propensities of its labels, from observed labels alone.
//!
//! Adam on the mean of `-y ln(p s(z)) - (1 - y) ln(1 - p s(z))`, with `p = s(p')` and one parameter p' per label, learned along with
//! the weights and at the same rate. Gradients: in z, `-(1 - s)` when observed and else `p s (1 - s) / (1 - p s)`; in p',
//! `-(1 - p)` when observed and else `p (1 - p) s / (1 - p s)`. Steps, decay and the start of the weights are those of
//! [Adam](super::adam); p' does not decay. It starts at the propensities that are given, or at p = 1/2 (the paper draws p' uniformly from
//! [-e, e]).
//!
//! # Assumes
//! What the data cannot say: that a label that is rare on some rows and never sure on any is so because it went missing.
//! Weights that cannot reach sure answers (few features, strong decay) leave p too large, and the reverse.
//!
//! # Reference
//! Teisseyre, Mielniczuk, Lazecka: *Different strategies of fitting logistic regression for positive and unlabelled data*,
//! ICCS 2020; the paper calls it PEJL.

use super::adam::descend;
use super::batches::Batch;
use super::checked::CheckedTraining;
use super::fit::Finished;
use super::lines::Line;
use super::moments::Cell;
use super::problem::{Part, Problem};
use crate::error::Result;
use crate::losses::joint_gradients;
use crate::propensity::{Bound, Learned, Propensities};
use crate::request::Adam;
use crate::sigmoid::sigmoid;

/// Where p starts when nothing is given.
const START: f64 = 0.5;

/// A start at 1 would never move.
const HIGHEST_START: f64 = 0.95;

/// Where the propensities start.
pub(super) fn starts(training: &CheckedTraining<'_>) -> Vec<f64> {
    match training.propensities {
        Some(_) => training.clipped().iter().map(|p| p.min(HIGHEST_START)).collect(),
        None => vec![START; training.labels()],
    }
}

/// What was learned, as propensities.
pub(super) fn learned(values: Vec<f64>) -> Result<Propensities> {
    let least = f64::from(f32::MIN_POSITIVE);
    let values = values.into_iter().map(|p| p.clamp(least, 1.0)).collect();
    Ok(Propensities::new(Learned::Plugin, values)?
        .with_bound(Bound::None)
        .with_note("learned along with the classifier from observed labels alone"))
}

/// Trains the labels from `first` on.
pub(super) fn train<const W: usize>(problem: &Problem<'_>, first: u32, adam: &Adam, decay: f64) -> Result<Finished> {
    let mut part = problem.part::<W>(first);
    let logit = |p: f64| (p / (1.0 - p).max(1e-9)).ln() as f32;
    let mut parameters: Cell<W> = [part.exact_propensities().map(logit), [0.0; W], [0.0; W]];
    let block = descend(problem, &mut part, adam, decay, |part, batch, logits, step| {
        let of_parameters = gradients(part, batch, logits);
        step.update(&mut parameters, &of_parameters);
        part.set_propensities(parameters[0].map(|p| sigmoid(f64::from(p))));
    })?;
    let propensities = part.exact_propensities()[..part.width].to_vec();
    Ok(Finished { block, propensities: Some(propensities), unconverged: 0 })
}

/// Turns the logits of a batch into gradients of its mean loss; gives those of p'.
fn gradients<const W: usize>(part: &Part<'_, W>, batch: &Batch, logits: &mut [Line<W>]) -> Line<W> {
    let observed: Vec<(usize, usize, f32)> =
        part.positives(batch).map(|(place, column)| (place, column, logits[place][column])).collect();
    let mut of_parameters = [0.0; W];
    joint_gradients(logits, &part.propensities, &mut of_parameters);
    for (place, column, logit) in observed {
        // The sweep took the pair for an unobserved one.
        let (s, p) = (sigmoid(f64::from(logit)), part.exact_propensities()[column]);
        of_parameters[column] -= (p * (1.0 - p) * s / (1.0 - p * s).max(1e-12) + (1.0 - p)) as f32;
        logits[place][column] = part.observed(column, logit).gradient as f32;
    }
    let share = part.share(batch);
    for line in logits {
        (0..W).for_each(|column| line[column] *= share[column]);
    }
    (0..W).for_each(|column| of_parameters[column] *= share[column]);
    of_parameters
}
