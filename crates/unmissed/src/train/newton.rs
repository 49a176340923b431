//! Newton's method with conjugate gradients, for a block of labels and a convex loss: to the optimum.
//!
//! Minimises `1/n sum_i loss(z_i) + decay/2 |w|^2` for each label; the bias has no penalty. Each step solves `H s = -g` by
//! conjugate gradients until the residual is a tenth of the gradient, then halves the step until the objective falls by
//! enough. All labels of a block go through the same passes over the data, each with step lengths of its own; a label whose
//! gradient has shrunk to `tolerance` times the gradient of the start waits for the others.

use super::fit::Finished;
use super::lines::{Line, Lines, add_gradients, add_products};
use super::problem::{Part, Problem};
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

/// The loss of all rows at some logits.
struct Terms<const W: usize> {
    logits: Lines<W>,
    gradients: Lines<W>,
    curvatures: Lines<W>,
    /// The mean loss of each label.
    values: [f64; W],
}

struct Objective<'a, const W: usize> {
    problem: &'a Problem<'a>,
    part: Part<'a, W>,
    decay: f64,
}

impl<const W: usize> Objective<'_, W> {
    /// What a row counts for, by column.
    fn shares(&self) -> Line<W> {
        self.part.weights.map(|weight| weight / self.problem.batches.rows().max(1) as f32)
    }

    /// Gradients, curvatures and values at the logits.
    fn refresh(&self, terms: &mut Terms<W>) {
        let Terms { logits, gradients, curvatures, values } = terms;
        let shares = self.shares();
        let (logits, gradients, curvatures) = (logits.get(), gradients.get_mut(), curvatures.get_mut());
        *values = [0.0; W];
        let p = &self.part.propensities;
        self.problem.loss.terms(logits.as_flattened(), p, gradients.as_flattened_mut(), curvatures.as_flattened_mut(), values);
        let mut start = 0;
        for batch in self.problem.batches.iter() {
            for (place, column) in self.part.positives(batch) {
                let logit = logits[start + place][column];
                let point = self.part.observed(column, logit);
                values[column] += point.value - self.part.unobserved(column, logit).value;
                gradients[start + place][column] = point.gradient as f32;
                curvatures[start + place][column] = point.curvature as f32;
            }
            start += batch.rows();
        }
        for lines in [gradients, curvatures] {
            for line in lines {
                (0..W).for_each(|column| line[column] *= shares[column]);
            }
        }
        (0..W).for_each(|column| values[column] *= f64::from(shares[column]));
    }

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
    fn gather(&self, factors: &Lines<W>, weights: &Vector<W>, out: &mut Vector<W>) {
        let decay = [self.decay as f32; W];
        scaled_sum(out.lines.get_mut(), &[0.0; W], &decay, weights.lines.get());
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
        for _ in 0..INNER_STEPS {
            let running: [bool; W] = std::array::from_fn(|column| norm[column] > FORCING * FORCING * start[column]);
            if !running.contains(&true) {
                break;
            }
            self.products(search, logits);
            for (line, curvatures) in logits.get_mut().iter_mut().zip(terms.curvatures.get()) {
                (0..W).for_each(|column| line[column] *= curvatures[column]);
            }
            self.gather(logits, search, curved);
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

/// Trains the labels from `first` on.
pub(super) fn train<const W: usize>(problem: &Problem<'_>, first: u32, newton: &Newton, decay: f64) -> Result<Finished> {
    let (features, rows) = (problem.batches.features(), problem.batches.rows());
    let objective = Objective { problem, part: problem.part::<W>(first), decay };
    let mut weights = Vector::<W>::zeros(features);
    weights.bias = objective.part.bias;
    let mut gradient = Vector::zeros(features);
    let mut terms =
        Terms { logits: Lines::zeros(rows), gradients: Lines::zeros(rows), curvatures: Lines::zeros(rows), values: [0.0; W] };
    let mut work = Work {
        step: Vector::zeros(features),
        residual: Vector::zeros(features),
        search: Vector::zeros(features),
        curved: Vector::zeros(features),
        logits: Lines::zeros(rows),
    };
    objective.products(&weights, &mut terms.logits);
    objective.refresh(&mut terms);
    let mut open: [bool; W] = std::array::from_fn(|column| column < objective.part.width);
    let mut start = [0.0; W];
    for round in 0..=newton.max_steps {
        objective.gather(&terms.gradients, &weights, &mut gradient);
        let norms = gradient.dot(&gradient);
        if round == 0 {
            start = norms;
        }
        let small = newton.tolerance * newton.tolerance;
        (0..W).for_each(|column| open[column] &= norms[column] > small * start[column]);
        if !open.contains(&true) || round == newton.max_steps {
            break;
        }
        objective.direction(&terms, &gradient, open, &mut work);
        let lengths = search_line(&objective, &mut terms, &weights, &gradient, &mut work);
        (0..W).for_each(|column| open[column] &= lengths[column] > 0.0);
        weights.combine([1.0; W], lengths, &work.step);
        problem.progress.advance(0)?;
    }
    if let Some(held_out) = problem.held_out {
        held_out.record(0, &objective.part, weights.lines.get(), &weights.bias)?;
    }
    problem.progress.advance(objective.part.width as u64)?;
    let width = objective.part.width;
    let lines = weights.lines.get().iter().flat_map(|line| &line[..width]).copied().collect();
    let block = Block { first, bias: weights.bias[..width].to_vec(), weights: lines };
    Ok(Finished { block, propensities: None, unconverged: open.iter().filter(|open| **open).count() })
}

/// How far to go along the step, by column: 1, or a half of it and so on until the objective falls by enough. Leaves `terms` at
/// the new place. 0 where no length helps, which is where rounding ends the descent.
fn search_line<const W: usize>(
    objective: &Objective<'_, W>,
    terms: &mut Terms<W>,
    weights: &Vector<W>,
    gradient: &Vector<W>,
    work: &mut Work<W>,
) -> Line<W> {
    const ENOUGH: f64 = 1e-4;
    const ROUNDING: f64 = 1e-7;
    const HALVINGS: usize = 12;
    objective.products(&work.step, &mut work.logits);
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
        objective.refresh(terms);
        let mut settled = true;
        for column in 0..W {
            let length = f64::from(lengths[column]);
            let decay = objective.decay * (length * across[column] + 0.5 * length * length * squared[column]);
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
