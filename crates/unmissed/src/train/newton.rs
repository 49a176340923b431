//! Newton's method with conjugate gradients, for a block of labels: to the optimum.
//!
//! Minimises `1/n sum_i loss(z_i) + decay/2 |w|^2` for each label; the bias has no penalty. The decay of a label is that of the
//! training times [`Loss::weight`](crate::losses::Loss::weight). Losses that are not convex are taken with curvatures that are
//! never negative, so that every step goes downhill; what is found is then a local optimum. Each step solves `H s = -g` by
//! conjugate gradients until the residual is a tenth of the gradient, then halves the step until the objective falls by
//! enough. All labels of a block go through the same passes over the data, each with step lengths of its own; a label whose
//! gradient has shrunk to `tolerance` times the gradient of the start waits for the others.

use super::fit::Finished;
use super::lines::{Line, Lines, add_gradients, add_products};
use super::objective::{Objective, Terms};
use super::problem::Problem;
use super::vectors::{dot, scaled_sum};
use crate::error::Result;
use crate::predict::Block;
use crate::request::Newton;

/// Rows that are worked on at a time: their logits stay in the second cache.
pub(super) const ROWS: usize = 2048;

/// The most conjugate gradient steps within one step.
const INNER_STEPS: usize = 50;

/// The residual at which conjugate gradients end, as a share of the gradient.
const FORCING: f64 = 0.1;

/// A vector of the size of the weights: lines by feature, and one for the bias.
struct Vector<const W: usize> {
    lines: Lines<W>,
    bias: Line<W>,
}

impl<const W: usize> Vector<W> {
    fn zeros(features: usize) -> Vector<W> {
        Vector { lines: Lines::zeros(features), bias: [0.0; W] }
    }

    fn dot(&self, other: &Vector<W>) -> [f64; W] {
        let mut sums = dot(self.lines.get(), other.lines.get());
        for column in 0..W {
            sums[column] += f64::from(self.bias[column]) * f64::from(other.bias[column]);
        }
        sums
    }

    /// `self <- keep self + factor other`, by column.
    fn combine(&mut self, keep: Line<W>, factor: Line<W>, other: &Vector<W>) {
        scaled_sum(self.lines.get_mut(), &keep, &factor, other.lines.get());
        scaled_sum(std::slice::from_mut(&mut self.bias), &keep, &factor, std::slice::from_ref(&other.bias));
    }
}

struct Descent<'a, const W: usize> {
    problem: &'a Problem<'a>,
    objective: Objective<'a, W>,
    decay: Line<W>,
}

impl<const W: usize> Descent<'_, W> {
    /// The products of all rows with the vector.
    fn products(&self, vector: &Vector<W>, logits: &mut Lines<W>) {
        let mut rest = logits.get_mut();
        for batch in self.problem.batches.iter() {
            let lines;
            (lines, rest) = rest.split_at_mut(batch.rows());
            lines.fill(vector.bias);
            add_products(batch, vector.lines.get(), lines);
        }
    }

    /// The sum of rows times their factors, plus decay times the weights.
    fn gather(&self, factors: &Lines<W>, weights: Option<&Vector<W>>, out: &mut Vector<W>) {
        match weights {
            Some(weights) => scaled_sum(out.lines.get_mut(), &[0.0; W], &self.decay, weights.lines.get()),
            None => out.lines.get_mut().fill([0.0; W]),
        }
        let mut start = 0;
        let mut bias = [0.0f64; W];
        for batch in self.problem.batches.iter() {
            let factors = &factors.get()[start..start + batch.rows()];
            add_gradients(batch, factors, out.lines.get_mut());
            factors.iter().for_each(|line| (0..W).for_each(|column| bias[column] += f64::from(line[column])));
            start += batch.rows();
        }
        out.bias = bias.map(|sum| sum as f32);
    }

    /// `H s = -g` for the columns that are open; the others stay where they are.
    fn direction(&self, terms: &Terms<W>, gradient: &Vector<W>, open: [bool; W], work: &mut Work<W>) {
        let features = self.problem.batches.features();
        let Work { step, residual, search, curved, logits } = work;
        *step = Vector::zeros(features);
        residual.combine([0.0; W], open.map(|open| if open { -1.0 } else { 0.0 }), gradient);
        search.combine([0.0; W], [1.0; W], residual);
        let start = residual.dot(residual);
        let mut norm = start;
        let floor = terms.floor.as_ref().map(|floor| {
            self.objective.irrelevant_gradients(terms, floor, logits);
            let mut slope = Vector::zeros(features);
            self.gather(logits, None, &mut slope);
            (slope, floor.bend())
        });
        for _ in 0..INNER_STEPS {
            let running: [bool; W] = std::array::from_fn(|column| norm[column] > FORCING * FORCING * start[column]);
            if !running.contains(&true) {
                break;
            }
            self.products(search, logits);
            for (line, curvatures) in logits.get_mut().iter_mut().zip(terms.curvatures.get()) {
                (0..W).for_each(|column| line[column] *= curvatures[column]);
            }
            self.gather(logits, Some(search), curved);
            if let Some((slope, bend)) = &floor {
                let across = slope.dot(search);
                curved.combine([1.0; W], std::array::from_fn(|column| (bend[column] * across[column]) as f32), slope);
            }
            let bend = search.dot(curved);
            let length: Line<W> =
                std::array::from_fn(
                    |column| if running[column] && bend[column] > 0.0 { (norm[column] / bend[column]) as f32 } else { 0.0 },
                );
            step.combine([1.0; W], length, search);
            residual.combine([1.0; W], length.map(|length| -length), curved);
            let next = residual.dot(residual);
            let turn = std::array::from_fn(|column| if norm[column] > 0.0 { (next[column] / norm[column]) as f32 } else { 0.0 });
            norm = next;
            search.combine(turn, [1.0; W], residual);
        }
    }
}

/// Room for the work of one step.
struct Work<const W: usize> {
    step: Vector<W>,
    residual: Vector<W>,
    search: Vector<W>,
    curved: Vector<W>,
    logits: Lines<W>,
}

/// Trains the labels from `first` on with each of the decays in turn, every one but the first from where the one before it ended, and
/// records each on the held-out rows. The last one's weights come back.
pub(super) fn train<const W: usize>(problem: &Problem<'_>, first: u32, newton: &Newton, decays: &[f64]) -> Result<Finished> {
    let (features, rows) = (problem.batches.features(), problem.batches.rows());
    let objective = Objective::<W>::new(problem, first);
    let factors = objective.part.exact_propensities().map(|p| problem.loss.weight(p));
    let mut descent = Descent { problem, objective, decay: [0.0; W] };
    let width = descent.objective.part.width;
    let mut weights = Vector::<W>::zeros(features);
    weights.bias = descent.objective.part.bias;
    let mut gradient = Vector::zeros(features);
    let mut terms = Terms::zeros(rows);
    let mut work = Work {
        step: Vector::zeros(features),
        residual: Vector::zeros(features),
        search: Vector::zeros(features),
        curved: Vector::zeros(features),
        logits: Lines::zeros(rows),
    };
    descent.products(&weights, &mut terms.logits);
    descent.objective.refresh(&mut terms);
    // Where the gradient is small is decided by the first of all, also for the decays that follow.
    let mut start = None;
    let mut open = [false; W];
    let mut iterations = 0;
    for (setting, decay) in decays.iter().enumerate() {
        descent.decay = factors.map(|factor| (decay * factor) as f32);
        open = std::array::from_fn(|column| column < width);
        for round in 0..=newton.max_steps {
            descent.gather(&terms.gradients, Some(&weights), &mut gradient);
            let norms = gradient.dot(&gradient);
            let start = *start.get_or_insert(norms);
            let small = newton.tolerance * newton.tolerance;
            (0..W).for_each(|column| open[column] &= norms[column] > small * start[column]);
            if !open.contains(&true) || round == newton.max_steps {
                break;
            }
            descent.direction(&terms, &gradient, open, &mut work);
            let lengths = search_line(&descent, &mut terms, &weights, &gradient, &mut work);
            (0..W).for_each(|column| open[column] &= lengths[column] > 0.0);
            weights.combine([1.0; W], lengths, &work.step);
            iterations = iterations.max(round + 1);
            problem.progress.advance(0)?;
        }
        if let Some(held_out) = problem.held_out {
            held_out.record(setting, &descent.objective.part, weights.lines.get(), &weights.bias)?;
        }
        problem.progress.advance(width as u64)?;
    }
    let lines = weights.lines.get().iter().flat_map(|line| &line[..width]).copied().collect();
    let block = Block { first, bias: weights.bias[..width].to_vec(), weights: lines };
    Ok(Finished { block, propensities: None, unconverged: open.iter().filter(|open| **open).count(), iterations })
}

/// How far to go along the step, by column: 1, or a half of it and so on until the objective falls by enough. Leaves `terms` at
/// the new place. 0 where no length helps, which is where rounding ends the descent.
fn search_line<const W: usize>(
    descent: &Descent<'_, W>,
    terms: &mut Terms<W>,
    weights: &Vector<W>,
    gradient: &Vector<W>,
    work: &mut Work<W>,
) -> Line<W> {
    const ENOUGH: f64 = 1e-4;
    const ROUNDING: f64 = 1e-7;
    const HALVINGS: usize = 12;
    descent.products(&work.step, &mut work.logits);
    let slope = gradient.dot(&work.step);
    let only_lines = |a: &Vector<W>, b: &Vector<W>| dot(a.lines.get(), b.lines.get());
    let (across, squared) = (only_lines(weights, &work.step), only_lines(&work.step, &work.step));
    let before = terms.values;
    let mut lengths: Line<W> = slope.map(|slope| if slope < 0.0 { 1.0 } else { 0.0 });
    let mut taken = [0.0f32; W];
    for halving in 0..=HALVINGS {
        for (line, step) in terms.logits.get_mut().iter_mut().zip(work.logits.get()) {
            (0..W).for_each(|column| line[column] += (lengths[column] - taken[column]) * step[column]);
        }
        taken = lengths;
        descent.objective.refresh(terms);
        let mut settled = true;
        for column in 0..W {
            let length = f64::from(lengths[column]);
            let decay = f64::from(descent.decay[column]) * (length * across[column] + 0.5 * length * length * squared[column]);
            let change = terms.values[column] - before[column] + decay;
            if length > 0.0 && change > ENOUGH * length * slope[column] + ROUNDING * before[column].abs() {
                lengths[column] = if halving + 1 < HALVINGS { lengths[column] / 2.0 } else { 0.0 };
                settled = false;
            }
        }
        if settled {
            break;
        }
    }
    lengths
}
