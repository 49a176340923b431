//! The weights of a block while Adam moves them: each with the moments of its gradients.
//!
//! With gradient g at step t, `m <- b1 m + (1 - b1) g`, `v <- b2 v + (1 - b2) g^2`,
//! `w <- (1 - rate decay) w - rate (m / (1 - b1^t)) / sqrt(v / (1 - b2^t) + eps^2)`, with b1 = 0.9, b2 = 0.999, eps = 1e-8. Decay is
//! decoupled from the moments. A feature that does not occur in a batch is left alone, and catches up on its decay later.

use super::batches::Batch;
use super::lines::{AHEAD, Line, Lines, Weights, add, add_products};
use super::problem::{Part, Problem};
use crate::predict::Block;
use crate::prefetch::prefetch;
use crate::request::Adam;
use crate::rng::{Purpose, row_key, uniform_at};

const FIRST: f64 = 0.9;
const SECOND: f64 = 0.999;
const EPSILON: f32 = 1e-8;

/// A line of parameters, and both moments of their gradients.
pub(super) type Cell<const W: usize> = [Line<W>; 3];

impl<const W: usize> Weights<W> for [Cell<W>] {
    #[inline(always)]
    fn line(&self, feature: u32) -> &Line<W> {
        &self[feature as usize][0]
    }
}

/// One step: its factors, its number (the first is 1), and the logarithm of what decay leaves of a weight in a step.
#[derive(Clone, Copy)]
pub(super) struct Step {
    rate: f32,
    scale: f32,
    number: u32,
    kept: f64,
}

impl Step {
    pub(super) fn new(adam: &Adam, decay: f64, number: u32) -> Step {
        let correction = |base: f64| 1.0 / (1.0 - base.powi(number as i32));
        let rate = (adam.learning_rate * correction(FIRST)) as f32;
        Step { rate, scale: correction(SECOND) as f32, number, kept: (-adam.learning_rate * decay).ln_1p() }
    }

    /// What decay leaves of a weight after so many steps; exactly 1 without decay.
    fn keeps(self, steps: u32) -> f32 {
        (self.kept * f64::from(steps)).exp() as f32
    }

    /// Moves parameters that do not decay.
    pub(super) fn update<const W: usize>(self, cell: &mut Cell<W>, gradient: &Line<W>) {
        update(cell, gradient, self, 1.0);
    }
}

/// `1 / sqrt(x)` to 5e-6 of itself. A root and a quotient would take most of the time of a step; a guess from the exponent and
/// two of Newton's steps take a third of that and are the same on every processor.
#[inline(always)]
fn inverse_root(x: f32) -> f32 {
    let mut root = f32::from_bits(0x5f37_59df - (x.to_bits() >> 1));
    for _ in 0..2 {
        root *= 1.5 - 0.5 * x * root * root;
    }
    root
}

#[inline(always)]
fn update<const W: usize>(cell: &mut Cell<W>, gradient: &Line<W>, step: Step, keep: f32) {
    let [weights, first, second] = cell;
    for column in 0..W {
        let g = gradient[column];
        let m = FIRST as f32 * first[column] + (1.0 - FIRST) as f32 * g;
        let v = SECOND as f32 * second[column] + (1.0 - SECOND) as f32 * (g * g);
        first[column] = m;
        second[column] = v;
        weights[column] = keep * weights[column] - step.rate * m * inverse_root(v * step.scale + EPSILON * EPSILON);
    }
}

/// The weights of a block in training.
pub(super) struct State<const W: usize> {
    lines: Lines<W>,
    bias: Cell<W>,
    /// The last step at which each feature occurred.
    seen: Vec<u32>,
}

impl<const W: usize> State<W> {
    /// Weights uniform in +-1/sqrt(features), the bias where the part says.
    pub(super) fn new(problem: &Problem<'_>, part: &Part<'_, W>) -> State<W> {
        let features = problem.batches.features();
        let mut state = State { lines: Lines::zeros(3 * features), bias: [part.bias, [0.0; W], [0.0; W]], seen: vec![0; features] };
        let reach = 1.0 / (features.max(1) as f64).sqrt();
        let mut keys = [0; W];
        for column in 0..part.width {
            keys[column] = row_key(problem.seed, Purpose::Weights, u64::from(part.first) + column as u64);
        }
        for (feature, cell) in cells(&mut state.lines).iter_mut().enumerate() {
            for column in 0..part.width {
                cell[0][column] = ((2.0 * uniform_at(keys[column], feature as u32) - 1.0) * reach) as f32;
            }
        }
        state
    }

    /// The weights by feature.
    pub(super) fn weights(&self) -> &[Cell<W>] {
        self.lines.get().as_chunks().0
    }

    pub(super) fn bias(&self) -> &Line<W> {
        &self.bias[0]
    }

    /// The logits of a batch's rows.
    pub(super) fn logits(&self, batch: &Batch, logits: &mut [Line<W>]) {
        logits.fill(self.bias[0]);
        add_products(batch, self.weights(), logits);
    }

    /// One step along the gradients of a batch's mean loss in its logits.
    pub(super) fn step(&mut self, batch: &Batch, gradients: &[Line<W>], step: Step) {
        let mut sum = [0.0; W];
        for line in gradients {
            (0..W).for_each(|column| sum[column] += line[column]);
        }
        step_weights(batch, gradients, cells(&mut self.lines), &mut self.seen, step);
        step.update(&mut self.bias, &sum);
    }

    /// Catches up on the decay of features that did not occur of late.
    pub(super) fn catch_up(&mut self, step: Step) {
        for (cell, seen) in cells(&mut self.lines).iter_mut().zip(&mut self.seen) {
            let missed = step.number - std::mem::replace(seen, step.number);
            if missed > 0 && step.kept != 0.0 {
                let keep = step.keeps(missed);
                cell[0].iter_mut().for_each(|weight| *weight *= keep);
            }
        }
    }

    pub(super) fn into_block(self, part: &Part<'_, W>) -> Block {
        let weights = self.weights().iter().flat_map(|cell| &cell[0][..part.width]).copied().collect();
        Block { first: part.first, bias: self.bias[0][..part.width].to_vec(), weights }
    }
}

fn cells<const W: usize>(lines: &mut Lines<W>) -> &mut [Cell<W>] {
    lines.get_mut().as_chunks_mut().0
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn step_weights<const W: usize>(batch: &Batch, gradients: &[Line<W>], cells: &mut [Cell<W>], seen: &mut [u32], step: Step) {
    let usual = step.keeps(1);
    let features = batch.features();
    for (index, (feature, places, values)) in batch.by_feature().enumerate() {
        if let Some(&next) = features.get(index + AHEAD) {
            prefetch(&cells[next as usize]);
        }
        let mut sum = [0.0; W];
        for (&place, &value) in places.iter().zip(values) {
            add(&mut sum, value, &gradients[place as usize]);
        }
        let missed = step.number - std::mem::replace(&mut seen[feature as usize], step.number);
        let keep = if missed == 1 { usual } else { step.keeps(missed) };
        update(&mut cells[feature as usize], &sum, step, keep);
    }
}
