//! Adam, for a block of labels.
//!
//! With gradient g of the mean loss of a batch at step t, for each weight
//! `m <- b1 m + (1 - b1) g`, `v <- b2 v + (1 - b2) g^2`,
//! `w <- (1 - rate decay) w - rate (m / (1 - b1^t)) / sqrt(v / (1 - b2^t) + eps^2)`: decay is decoupled from the moments, and the
//! bias does not decay. b1 = 0.9, b2 = 0.999, eps = 1e-8 (`moments.rs`).
//!
//! Weights of features that do not occur in a batch are left alone ("sparse Adam": their moments neither shrink nor move
//! them), except for decay, which is caught up on when the feature occurs again. On dense rows this is Adam itself.
//!
//! Weights start uniform in +-1/sqrt(features), as in the paper, and the bias at the log-odds of the label's corrected
//! frequency: a start at zero would spend most of training on finding out that labels are rare. Rows are shuffled into batches
//! once; every epoch takes the batches in another order.

use super::batches::{Batch, Batches};
use super::floor;
use super::lines::{Line, Lines};
use super::moments::{State, Step};
use super::problem::{Part, Problem};
use crate::error::{Error, Result};
use crate::predict::Block;
use crate::request::Adam;
use crate::rng::{Purpose, below, stream};

/// Rejects more steps than can be counted.
pub(super) fn check_steps(epochs: usize, batches: &Batches) -> Result<()> {
    let steps = epochs.checked_mul(batches.len()).filter(|steps| i32::try_from(*steps).is_ok());
    match steps {
        Some(_) => Ok(()),
        None => Err(Error::value("there are too many steps")
            .expected(format!("epochs times batches of at most {}", i32::MAX))
            .found(format!("{epochs} epochs of {} batches", batches.len()))
            .hint("use fewer epochs or larger batches")),
    }
}

/// Trains the labels from `first` on.
pub(super) fn train<const W: usize>(problem: &Problem<'_>, first: u32, adam: &Adam, decay: f64) -> Result<Block> {
    let mut part = problem.part::<W>(first);
    descend(problem, &mut part, adam, decay, |part, batch, logits, _| gradients(problem, part, batch, logits))
}

/// Steps over all batches, in every epoch. `gradients` turns the logits of a batch's rows into gradients of its mean loss, and may
/// move what else the part has.
pub(super) fn descend<const W: usize>(
    problem: &Problem<'_>,
    part: &mut Part<'_, W>,
    adam: &Adam,
    decay: f64,
    mut gradients: impl FnMut(&mut Part<'_, W>, &Batch, &mut [Line<W>], Step),
) -> Result<Block> {
    let mut state = State::new(problem, part);
    let mut logits = Lines::<W>::zeros(problem.batches.largest());
    let mut steps = 0;
    for epoch in 0..adam.epochs {
        for batch in order(problem, epoch) {
            steps += 1;
            let step = Step::new(adam, decay, steps);
            let batch = problem.batches.get(batch);
            let logits = &mut logits.get_mut()[..batch.rows()];
            state.logits(batch, logits);
            gradients(part, batch, logits, step);
            state.step(batch, logits, step);
        }
        state.catch_up(Step::new(adam, decay, steps));
        if let Some(held_out) = problem.held_out {
            held_out.record(epoch, part, state.weights(), state.bias())?;
        }
        problem.progress.advance(part.width as u64)?;
    }
    Ok(state.into_block(part))
}

/// The batches in the order of an epoch.
fn order(problem: &Problem<'_>, epoch: usize) -> Vec<usize> {
    let mut rng = stream(problem.seed, Purpose::Batches, epoch as u64);
    let mut order: Vec<usize> = (0..problem.batches.len()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, below(&mut rng, last as u64 + 1) as usize);
    }
    order
}

/// Turns the logits of a batch into gradients of its mean loss.
fn gradients<const W: usize>(problem: &Problem<'_>, part: &Part<'_, W>, batch: &Batch, logits: &mut [Line<W>]) {
    let below = floor::below(problem.loss, part, batch, logits);
    // The few observed pairs are set apart before the sweep takes all for unobserved.
    let observed: Vec<(usize, usize, f32)> = part
        .positives(batch)
        .map(|(place, column)| {
            let gradient = match part.irrelevant(column, logits[place][column]).filter(|_| below[column]) {
                Some(irrelevant) => -irrelevant.gradient,
                None => part.observed(column, logits[place][column]).gradient,
            };
            (place, column, gradient as f32)
        })
        .collect();
    problem.loss.gradients(logits.as_flattened_mut(), &part.propensities);
    if below.contains(&true) {
        // Back up, along the part that has fallen too far.
        logits.iter_mut().for_each(|line| (0..W).filter(|column| below[*column]).for_each(|column| line[column] = -line[column]));
    }
    for (place, column, gradient) in observed {
        logits[place][column] = gradient;
    }
    let share = part.share(batch);
    for line in logits {
        (0..W).for_each(|column| line[column] *= share[column]);
    }
}
