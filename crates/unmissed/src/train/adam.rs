//! Adam, for a block of labels.
//!
//! With gradient g of the mean loss of a batch at step t, for each weight
//! `m <- b1 m + (1 - b1) g`, `v <- b2 v + (1 - b2) g^2`,
//! `w <- (1 - rate decay) w - rate (m / (1 - b1^t)) / sqrt(v / (1 - b2^t) + eps^2)`: decay is decoupled from the moments, and the
//! bias does not decay. b1 = 0.9, b2 = 0.999, eps = 1e-8.
//!
//! Weights of features that do not occur in a batch are left alone ("sparse Adam": their moments neither shrink nor move
//! them), except for decay, which is caught up on when the feature occurs again. On dense rows this is Adam itself.
//!
//! Weights start uniform in +-1/sqrt(features), as in the paper, and the bias at the log-odds of the label's corrected
//! frequency: a start at zero would spend most of training on finding out that labels are rare. Rows are shuffled into batches
//! once; every epoch takes the batches in another order.

use super::batches::Batch;
use super::lanes::{AHEAD, Line, Lines, Weights, add, add_products};
use super::prefetch::prefetch;
use super::problem::{Part, Problem};
use crate::error::Result;
use crate::predict::Block;
use crate::rng::{Purpose, below, row_key, stream, uniform_at};

/// How Adam goes about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// The learning rate.
    pub rate: f64,
    /// Rows of a batch.
    pub batch: usize,
    /// Times that all rows are seen.
    pub epochs: usize,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { rate: 0.02, batch: 512, epochs: 20 }
    }
}

const FIRST: f64 = 0.9;
const SECOND: f64 = 0.999;
const EPSILON: f32 = 1e-8;

/// Weights and both moments of a feature.
type Cell<const W: usize> = [Line<W>; 3];

impl<const W: usize> Weights<W> for [Cell<W>] {
    #[inline(always)]
    fn line(&self, feature: u32) -> &Line<W> {
        &self[feature as usize][0]
    }
}

/// The factors of one step.
#[derive(Clone, Copy)]
struct Step {
    rate: f32,
    scale: f32,
}

impl Step {
    fn new(rate: f64, step: i32) -> Step {
        Step { rate: (rate / (1.0 - FIRST.powi(step))) as f32, scale: (1.0 / (1.0 - SECOND.powi(step))) as f32 }
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

/// One step on the weights of a feature.
#[inline(always)]
fn update<const W: usize>(cell: &mut Cell<W>, gradient: &Line<W>, step: Step, keep: f32) {
    let [weights, first, second] = cell;
    for lane in 0..W {
        let g = gradient[lane];
        let m = FIRST as f32 * first[lane] + (1.0 - FIRST) as f32 * g;
        let v = SECOND as f32 * second[lane] + (1.0 - SECOND) as f32 * (g * g);
        first[lane] = m;
        second[lane] = v;
        weights[lane] = keep * weights[lane] - step.rate * m * inverse_root(v * step.scale + EPSILON * EPSILON);
    }
}

/// The weights of a block in training.
struct State<const W: usize> {
    lines: Lines<W>,
    bias: Cell<W>,
    /// The last step at which each feature occurred.
    seen: Vec<u32>,
}

impl<const W: usize> State<W> {
    fn new(problem: &Problem<'_>, part: &Part<'_, W>) -> State<W> {
        let features = problem.batches.features();
        let mut state = State { lines: Lines::zeros(3 * features), bias: [part.bias, [0.0; W], [0.0; W]], seen: vec![0; features] };
        let reach = 1.0 / (features.max(1) as f64).sqrt();
        let mut keys = [0; W];
        for lane in 0..part.width {
            keys[lane] = row_key(problem.seed, Purpose::Weights, u64::from(part.first) + lane as u64);
        }
        for (feature, cell) in state.cells().iter_mut().enumerate() {
            for lane in 0..part.width {
                cell[0][lane] = ((2.0 * uniform_at(keys[lane], feature as u32) - 1.0) * reach) as f32;
            }
        }
        state
    }

    fn cells(&mut self) -> &mut [Cell<W>] {
        self.lines.get_mut().as_chunks_mut().0
    }

    /// Catches up on the decay of features that did not occur of late.
    fn catch_up(&mut self, keeps: &Keeps, step: u32) {
        let State { lines, seen, .. } = self;
        let cells: &mut [Cell<W>] = lines.get_mut().as_chunks_mut().0;
        for (cell, seen) in cells.iter_mut().zip(seen) {
            let missed = step - std::mem::replace(seen, step);
            if missed > 0 && keeps.0 != 0.0 {
                let keep = keeps.after(missed);
                cell[0].iter_mut().for_each(|weight| *weight *= keep);
            }
        }
    }

    fn into_block(mut self, part: &Part<'_, W>) -> Block {
        let weights = self.cells().iter().flat_map(|cell| &cell[0][..part.width]).copied().collect();
        Block { first: part.first, bias: self.bias[0][..part.width].to_vec(), weights }
    }
}

/// What decay leaves of a weight after so many steps.
struct Keeps(f64);

impl Keeps {
    fn after(&self, steps: u32) -> f32 {
        // Without decay (ln 1 = 0) this is exactly 1.
        (self.0 * f64::from(steps)).exp() as f32
    }
}

/// Trains the labels from `first` on.
pub(super) fn train<const W: usize>(problem: &Problem<'_>, first: u32, adam: &Adam, decay: f64) -> Result<Block> {
    let part = problem.part::<W>(first);
    let mut state = State::new(problem, &part);
    let keeps = Keeps((-adam.rate * decay).ln_1p());
    let mut logits = Lines::<W>::zeros(problem.batches.largest());
    let mut step = 0;
    for epoch in 0..adam.epochs {
        for batch in order(problem, epoch) {
            step += 1;
            one_step(problem, &part, &mut state, batch, Step::new(adam.rate, step), (&keeps, step as u32), logits.get_mut());
        }
        state.catch_up(&keeps, step as u32);
        if let Some(held_out) = problem.held_out {
            let bias = state.bias[0];
            held_out.record(epoch, &part, &*state.cells(), &bias)?;
        }
        problem.progress.advance(part.width as u64)?;
    }
    Ok(state.into_block(&part))
}

/// The batches in the order of an epoch.
pub(super) fn order(problem: &Problem<'_>, epoch: usize) -> Vec<usize> {
    let mut rng = stream(problem.seed, Purpose::Batches, epoch as u64);
    let mut order: Vec<usize> = (0..problem.batches.len()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, below(&mut rng, last as u64 + 1) as usize);
    }
    order
}

fn one_step<const W: usize>(
    problem: &Problem<'_>,
    part: &Part<'_, W>,
    state: &mut State<W>,
    batch: usize,
    step: Step,
    (keeps, now): (&Keeps, u32),
    logits: &mut [Line<W>],
) {
    let batch = problem.batches.get(batch);
    let logits = &mut logits[..batch.rows()];
    logits.fill(state.bias[0]);
    add_products(batch, &*state.cells(), logits);

    // The few observed pairs are set apart before the sweep takes all for unobserved.
    let observed: Vec<(usize, usize, f32)> = part
        .positives(batch)
        .map(|(place, lane)| (place, lane, part.observed(lane, logits[place][lane]).gradient as f32))
        .collect();
    problem.loss.gradients(logits.as_flattened_mut(), &part.propensities);
    for (place, lane, gradient) in observed {
        logits[place][lane] = gradient;
    }

    let share = part.weights.map(|weight| weight / batch.rows() as f32);
    let mut sum = [0.0; W];
    for line in logits.iter_mut() {
        for lane in 0..W {
            line[lane] *= share[lane];
            sum[lane] += line[lane];
        }
    }
    let State { lines, bias, seen } = state;
    let cells: &mut [Cell<W>] = lines.get_mut().as_chunks_mut().0;
    step_weights(batch, logits, cells, seen, step, (keeps, now));
    update(bias, &sum, step, 1.0);
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn step_weights<const W: usize>(
    batch: &Batch,
    gradients: &[Line<W>],
    cells: &mut [Cell<W>],
    seen: &mut [u32],
    step: Step,
    (keeps, now): (&Keeps, u32),
) {
    let usual = keeps.after(1);
    let features = batch.features();
    for (index, (feature, places, values)) in batch.columns().enumerate() {
        if let Some(&next) = features.get(index + AHEAD) {
            prefetch(&cells[next as usize]);
        }
        let mut sum = [0.0; W];
        for (&place, &value) in places.iter().zip(values) {
            add(&mut sum, value, &gradients[place as usize]);
        }
        let missed = now - std::mem::replace(&mut seen[feature as usize], now);
        let keep = if missed == 1 { usual } else { keeps.after(missed) };
        update(&mut cells[feature as usize], &sum, step, keep);
    }
}
