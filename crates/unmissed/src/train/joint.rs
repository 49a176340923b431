//! Joint learning: the classifier and the propensities of its labels, from observed labels alone.
//!
//! Adam on the mean of `-y ln(p s(z)) - (1 - y) ln(1 - p s(z))`, with `p = s(p')` and one parameter p' a label, learned along with
//! the weights and at the same rate. Gradients: in z, `-(1 - s)` when observed and else `p s (1 - s) / (1 - p s)`; in p',
//! `-(1 - p)` when observed and else `p (1 - p) s / (1 - p s)`. Steps, decay and the start of the weights are those of
//! [`Adam`]; p' does not decay. It starts at the propensities that are given, or at p = 1/2 (the paper draws p' uniformly from
//! [-e, e]).
//!
//! # Assumes
//! What the data cannot say: that a label that is rare on some rows and never sure on any is so because it went missing.
//! Weights that cannot reach sure answers (few features, strong decay) leave p too large, and the reverse.
//!
//! # Reference
//! Teisseyre, Mielniczuk, Lazecka: *Different strategies of fitting logistic regression for positive and unlabelled data*,
//! ICCS 2020; the paper calls it PEJL.

use super::adam::{Adam, order};
use super::batches::Batch;
use super::fit::Finished;
use super::lanes::{Line, Lines, Weights, add, add_products};
use super::problem::{Part, Problem};
use super::trainer::Trainer;
use crate::error::Result;
use crate::losses::joint_gradients;
use crate::predict::Block;
use crate::propensity::{Bound, Propensities};
use crate::rng::{Purpose, row_key, uniform_at};
use crate::sigmoid::sigmoid;

/// Where p starts when nothing is given.
const START: f64 = 0.5;

/// A start at 1 would never move.
const HIGHEST_START: f64 = 0.95;

const FIRST: f32 = 0.9;
const SECOND: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// Where the propensities start.
pub(super) fn starts(trainer: &Trainer<'_>, labels: usize) -> Vec<f64> {
    match trainer.propensities {
        Some(_) => trainer.clipped(labels).iter().map(|p| p.min(HIGHEST_START)).collect(),
        None => vec![START; labels],
    }
}

/// What was learned, as propensities.
pub(super) fn learned(values: Vec<f64>) -> Result<Propensities> {
    let least = f64::from(f32::MIN_POSITIVE);
    let values = values.into_iter().map(|p| p.clamp(least, 1.0)).collect();
    Ok(Propensities::new("joint:plugin", values)?
        .with_bound(Bound::None)
        .with_note("learned along with the classifier from observed labels alone"))
}

/// A line of parameters and both moments of their gradients.
type Cell<const W: usize> = [Line<W>; 3];

impl<const W: usize> Weights<W> for Cells<W> {
    #[inline(always)]
    fn line(&self, feature: u32) -> &Line<W> {
        &self.lines.get()[3 * feature as usize]
    }
}

/// The weights of a block, and the last step at which each feature occurred.
struct Cells<const W: usize> {
    lines: Lines<W>,
    seen: Vec<u32>,
}

/// One step: its factors, its number, and the logarithm of what decay leaves in a step.
#[derive(Clone, Copy)]
struct Step {
    rate: f32,
    scale: f32,
    number: u32,
    keep: f64,
}

impl Step {
    fn new(adam: &Adam, decay: f64, number: u32) -> Step {
        let power = |base: f32| 1.0 - f64::from(base).powi(number as i32);
        let keep = (-adam.rate * decay).ln_1p();
        Step { rate: (adam.rate / power(FIRST)) as f32, scale: (1.0 / power(SECOND)).sqrt() as f32, number, keep }
    }

    /// What decay leaves after so many steps.
    fn keeps(self, steps: u32) -> f32 {
        (self.keep * f64::from(steps)).exp() as f32
    }

    fn update<const W: usize>(self, cell: &mut Cell<W>, gradient: &Line<W>, keep: f32) {
        let [values, first, second] = cell;
        for lane in 0..W {
            let g = gradient[lane];
            first[lane] = FIRST * first[lane] + (1.0 - FIRST) * g;
            second[lane] = SECOND * second[lane] + (1.0 - SECOND) * g * g;
            values[lane] = keep * values[lane] - self.rate * first[lane] / (second[lane].sqrt() * self.scale + EPSILON);
        }
    }
}

impl<const W: usize> Cells<W> {
    fn new(problem: &Problem<'_>, part: &Part<'_, W>) -> Cells<W> {
        let features = problem.batches.features();
        let mut cells = Cells { lines: Lines::zeros(3 * features), seen: vec![0; features] };
        let reach = 1.0 / (features.max(1) as f64).sqrt();
        for lane in 0..part.width {
            let key = row_key(problem.seed, Purpose::Weights, u64::from(part.first) + lane as u64);
            for (feature, cell) in cells.get().iter_mut().enumerate() {
                cell[0][lane] = ((2.0 * uniform_at(key, feature as u32) - 1.0) * reach) as f32;
            }
        }
        cells
    }

    fn get(&mut self) -> &mut [Cell<W>] {
        self.lines.get_mut().as_chunks_mut().0
    }

    fn step(&mut self, batch: &Batch, gradients: &[Line<W>], step: Step) {
        for (feature, places, values) in batch.columns() {
            let mut sum = [0.0; W];
            for (&place, &value) in places.iter().zip(values) {
                add(&mut sum, value, &gradients[place as usize]);
            }
            let missed = step.number - std::mem::replace(&mut self.seen[feature as usize], step.number);
            step.update(&mut self.get()[feature as usize], &sum, step.keeps(missed));
        }
    }

    /// Catches up on the decay of features that did not occur of late.
    fn catch_up(&mut self, step: Step) {
        for feature in 0..self.seen.len() {
            let keep = step.keeps(step.number - std::mem::replace(&mut self.seen[feature], step.number));
            self.get()[feature][0].iter_mut().for_each(|weight| *weight *= keep);
        }
    }
}

/// Trains the labels from `first` on.
pub(super) fn train<const W: usize>(problem: &Problem<'_>, first: u32, adam: &Adam, decay: f64) -> Result<Finished> {
    let mut part = problem.part::<W>(first);
    let mut cells = Cells::new(problem, &part);
    let mut bias: Cell<W> = [part.bias, [0.0; W], [0.0; W]];
    let logit = |p: f64| (p / (1.0 - p).max(1e-9)).ln() as f32;
    let mut parameters: Cell<W> = [part.exact_propensities().map(logit), [0.0; W], [0.0; W]];
    let mut logits = Lines::<W>::zeros(problem.batches.largest());
    let mut step = Step::new(adam, decay, 1);
    let mut steps = 0;
    for epoch in 0..adam.epochs {
        for batch in order(problem, epoch) {
            steps += 1;
            step = Step::new(adam, decay, steps);
            let batch = problem.batches.get(batch);
            part.set_propensities(parameters[0].map(|p| sigmoid(f64::from(p))));
            let logits = &mut logits.get_mut()[..batch.rows()];
            logits.fill(bias[0]);
            add_products(batch, &cells, logits);
            let (of_bias, of_parameters) = gradients(&part, batch, logits);
            cells.step(batch, logits, step);
            step.update(&mut bias, &of_bias, 1.0);
            step.update(&mut parameters, &of_parameters, 1.0);
        }
        cells.catch_up(step);
        part.set_propensities(parameters[0].map(|p| sigmoid(f64::from(p))));
        if let Some(held_out) = problem.held_out {
            held_out.record(epoch, &part, &cells, &bias[0])?;
        }
        problem.progress.advance(part.width as u64)?;
    }
    let width = part.width;
    let weights = cells.get().iter().flat_map(|cell| &cell[0][..width]).copied().collect();
    let block = Block { first, bias: bias[0][..width].to_vec(), weights };
    Ok(Finished { block, propensities: Some(part.exact_propensities()[..width].to_vec()) })
}

/// Turns the logits of a batch into gradients of its mean loss; gives those of the bias and of p'.
fn gradients<const W: usize>(part: &Part<'_, W>, batch: &Batch, logits: &mut [Line<W>]) -> (Line<W>, Line<W>) {
    let observed: Vec<(usize, usize, f32)> =
        part.positives(batch).map(|(place, lane)| (place, lane, logits[place][lane])).collect();
    let (mut of_bias, mut of_parameters) = ([0.0; W], [0.0; W]);
    joint_gradients(logits, &part.propensities, &mut of_parameters);
    for (place, lane, logit) in observed {
        // The sweep took the pair for an unobserved one.
        let (s, p) = (sigmoid(f64::from(logit)), part.exact_propensities()[lane]);
        of_parameters[lane] -= (p * (1.0 - p) * s / (1.0 - p * s).max(1e-12) + (1.0 - p)) as f32;
        logits[place][lane] = part.observed(lane, logit).gradient as f32;
    }
    let share = part.weights.map(|weight| weight / batch.rows() as f32);
    for line in logits.iter_mut() {
        for lane in 0..W {
            line[lane] *= share[lane];
            of_bias[lane] += line[lane];
        }
    }
    (0..W).for_each(|lane| of_parameters[lane] *= share[lane]);
    (of_bias, of_parameters)
}
