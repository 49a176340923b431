//! Dual coordinate descent for squared hinges, for a block of labels: to the optimum.
//!
//! Minimises the objective of Newton's method, `1/n sum_i c_i max(0, 1 - s_i z_i)^2 + decay/2 |w|^2` with `z = w x + b`, `s_i` 1 where
//! the label was observed and else -1, and costs `c_i` for each of the two. Its dual has a number `a_i >= 0` for each row,
//! `w = sum_i a_i s_i x_i`, and at the optimum `a_i = max(0, 1 - s_i z_i) / d_i` with `d_i = n decay / (2 c_i)`. A step takes one row
//! and finds the best `a_i` given all others, which changes the weights of the row's features only. It costs what a row costs in
//! a product of Newton's method, but about ten passes lead to the optimum. All labels of a block take a step on the same row at
//! once: rows on which no label changes cost half, and those that stay away from all margins are left out of most passes.
//!
//! The bias is not penalised, which in the dual is the constraint `sum_i a_i s_i = 0`. It is met by the method of multipliers: the bias
//! is a feature like others whose weight is penalised for its distance from a centre, and after each pass the centre moves
//! to where the bias went. In the end the bias is set to the minimum for the weights that were found.
//!
//! # Reference
//! Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for large-scale linear SVM, ICML 2008.

use super::fit::Finished;
use super::lines::{Line, Lines};
use super::problem::{Part, Problem};
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::predict::Block;
use crate::prefetch::prefetch;
use crate::request::Dual;
use crate::rng::{Purpose, below, stream};

/// Passes over the rows near some margin between two passes over all rows.
const SHORT_PASSES: usize = 4;

/// The size of the bias's feature, as a share of that of rows. At 1 and 2 the bias overshoots and passes go into its way back.
const BIAS_SIZE: f64 = 0.5;

/// How far from its margin a row is near it.
const NEAR: f32 = 0.1;

/// The bits of the labels of a block.
type Bits = u16;

/// The dual problem of a block of labels, and its current solution.
struct State<const W: usize> {
    weights: Lines<W>,
    /// The dual variables: a line per row.
    alphas: Lines<W>,
    /// The labels that were observed on each row.
    observed: Vec<Bits>,
    /// Whether a row is near a margin of any label, or beyond.
    near: Vec<bool>,
    /// `d_i` where the label was observed, and where not.
    diagonals: [Line<W>; 2],
    /// The value towards which the bias is penalised.
    centre: Line<W>,
    /// The weight of the bias's feature.
    pull: Line<W>,
    /// The size of the bias's feature.
    size: f32,
    /// 1 for labels in work, 0 for those that are finished.
    open: Line<W>,
    /// Labels with something to learn.
    trained: [bool; W],
}

/// Trains the labels from `first` on with each of the decays in turn, and records each on the held-out rows. The last one's weights
/// come back.
pub(super) fn train<const W: usize>(problem: &Problem<'_>, first: u32, dual: &Dual, decays: &[f64]) -> Result<Finished> {
    let (last, others) = decays.split_last().ok_or_else(|| Error::value("the decay is missing"))?;
    for (round, decay) in others.iter().enumerate() {
        solve::<W>(problem, first, dual, *decay, round)?;
    }
    solve::<W>(problem, first, dual, *last, others.len())
}

fn solve<const W: usize>(problem: &Problem<'_>, first: u32, dual: &Dual, decay: f64, round: usize) -> Result<Finished> {
    let (rows, part) = (problem.rows, problem.part::<W>(first));
    let (mut state, starts) = State::new(problem, &part, decay)?;
    let mut rng = stream(problem.seed, Purpose::DualSteps, first.into());
    let mut all: Vec<u32> = (0u32..).take(rows.len()).collect();
    let mut shuffle = |rows: &mut [u32]| {
        for last in (1..rows.len()).rev() {
            rows.swap(last, below(&mut rng, last as u64 + 1) as usize);
        }
    };
    // The bias stays where it is while only the rows of the rarer class take part: each would move it.
    let mut some: Vec<u32> = all.iter().copied().filter(|&row| state.near[row as usize]).collect();
    shuffle(&mut some);
    let size = std::mem::replace(&mut state.size, 0.0);
    pass(rows, &some, &mut state);
    state.size = size;
    state.keep_bias();
    let (mut short, mut iterations) = (0, 0);
    for _ in 0..dual.max_passes {
        if !state.open.contains(&1.0) {
            break;
        }
        let full = short == 0 || 10 * some.len() > 7 * all.len();
        let order = if full { &mut all } else { &mut some };
        shuffle(order);
        let gradients = pass(rows, order, &mut state);
        let close = state.is_close(&gradients, &starts, dual.tolerance);
        state.move_centre();
        if full {
            (0..W).for_each(|lane| state.open[lane] = if close[lane] { 0.0 } else { state.open[lane] });
            some = (0u32..).zip(&state.near).filter(|(_, near)| **near).map(|(row, _)| row).collect();
            short = SHORT_PASSES;
        } else {
            let done = (0..W).all(|lane| close[lane] || state.open[lane] == 0.0);
            short = if done { 0 } else { short - 1 };
        }
        iterations += 1;
        problem.progress.advance(0)?;
    }
    let unconverged = state.open.iter().filter(|open| **open != 0.0).count();
    let bias = state.best_bias(rows);
    let mut lines = Lines::<W>::zeros(rows.features());
    rows.in_original_order(state.weights.get(), lines.get_mut());
    if let Some(held_out) = problem.held_out {
        held_out.record(round, &part, lines.get(), &bias)?;
    }
    problem.progress.advance(part.width as u64)?;
    let weights = lines.get().iter().flat_map(|line| &line[..part.width]).copied().collect();
    let block = Block { first, bias: bias[..part.width].to_vec(), weights };
    Ok(Finished { block, propensities: None, unconverged, iterations })
}

impl<const W: usize> State<W> {
    /// Everything at zero, with the bias at the margin of the more frequent class; and the squared norm of the gradient there.
    fn new(problem: &Problem<'_>, part: &Part<'_, W>, decay: f64) -> Result<(State<W>, [f64; W])> {
        let rows = problem.rows;
        let mut state = State {
            weights: Lines::zeros(rows.features()),
            alphas: Lines::zeros(rows.len()),
            observed: vec![0; rows.len()],
            near: vec![false; rows.len()],
            diagonals: [[1.0; W]; 2],
            centre: part.bias,
            pull: [0.0; W],
            size: (BIAS_SIZE * mean(rows.squares()).sqrt()) as f32,
            open: [0.0; W],
            trained: [false; W],
        };
        let mut starts = [1.0; W];
        for lane in 0..part.width {
            let label = part.first + lane as u32;
            let observed = rows.observed(label);
            observed.iter().for_each(|&row| state.observed[row as usize] |= 1 << lane);
            let (costs, weight) = (costs(part, lane)?, f64::from(part.weights[lane]));
            let decay = decay * problem.loss.weight(part.exact_propensities()[lane]);
            for (line, cost) in state.diagonals.iter_mut().zip(costs) {
                line[lane] = (rows.len() as f64 * decay / (2.0 * weight * cost)) as f32;
            }
            // Where one class is all there is, any bias beyond its margin is best, and where the loss counts nothing, any at all.
            let often = 2 * observed.len() > rows.len();
            let rare = if often { rows.len() - observed.len() } else { observed.len() };
            if often {
                state.centre[lane] = 1.0;
            }
            if rare > 0 && weight > 0.0 {
                state.centre[lane] = if often { 1.0 } else { -1.0 };
                (state.open[lane], state.trained[lane]) = (1.0, true);
                starts[lane] = 4.0 * rare as f64;
            }
            for (near, bits) in state.near.iter_mut().zip(&state.observed) {
                *near |= (bits >> lane & 1 == 1) != often;
            }
        }
        Ok((state, starts))
    }

    /// Whether the gradient of a label, and its share in the bias, have shrunk to `tolerance` times what they were at the start.
    fn is_close(&self, gradients: &[f64; W], starts: &[f64; W], tolerance: f64) -> [bool; W] {
        std::array::from_fn(|lane| {
            // At the start, each row of the rarer class would like to be 2 / d.
            let rare = starts[lane] / 4.0;
            let balance = f64::from(self.pull[lane] / self.size) * f64::from(self.diagonals[1][lane].max(self.diagonals[0][lane]));
            gradients[lane] <= tolerance * tolerance * starts[lane] && balance.abs() <= tolerance * 2.0 * rare
        })
    }

    /// The weight of the bias's feature as it follows from the dual variables, and the centre from which it gives the bias of before.
    fn keep_bias(&mut self) {
        let mut sums = [0.0f64; W];
        for (line, bits) in self.alphas.get().iter().zip(&self.observed) {
            (0..W).for_each(|lane| sums[lane] += f64::from(if bits >> lane & 1 == 1 { line[lane] } else { -line[lane] }));
        }
        for lane in 0..W {
            self.pull[lane] = self.size * sums[lane] as f32;
            self.centre[lane] -= self.size * self.pull[lane];
        }
    }

    /// A step of the method of multipliers.
    fn move_centre(&mut self) {
        for lane in 0..W {
            self.centre[lane] += self.open[lane] * self.size * self.pull[lane];
        }
    }

    /// The bias that is best for the weights, by Newton's method in one dimension: the loss is convex and made of parabolas.
    fn best_bias(&self, rows: &Rows) -> Line<W> {
        const STEPS: usize = 30;
        let mut products = Lines::<W>::zeros(rows.len());
        products_of_all(rows, self.weights.get(), products.get_mut());
        let mut bias: [f64; W] = std::array::from_fn(|lane| f64::from(self.centre[lane]));
        for _ in 0..STEPS {
            let (mut slopes, mut curvatures) = ([0.0f64; W], [0.0f64; W]);
            for (line, bits) in products.get().iter().zip(&self.observed) {
                for lane in 0..W {
                    let observed = bits >> lane & 1 == 1;
                    let sign = if observed { 1.0 } else { -1.0 };
                    let cost = 1.0 / f64::from(self.diagonals[usize::from(!observed)][lane]);
                    let slack = 1.0 - sign * (f64::from(line[lane]) + bias[lane]);
                    if slack > 0.0 {
                        slopes[lane] -= sign * cost * slack;
                        curvatures[lane] += cost;
                    }
                }
            }
            let mut moved = false;
            for lane in 0..W {
                if self.trained[lane] && curvatures[lane] > 0.0 {
                    let step = slopes[lane] / curvatures[lane];
                    bias[lane] -= step;
                    moved |= step.abs() > 1e-6;
                }
            }
            if !moved {
                break;
            }
        }
        bias.map(|bias| bias as f32)
    }
}

/// A step on each row in turn. The squared norm of each label's gradient, as each row saw it.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn pass<const W: usize>(rows: &Rows, order: &[u32], state: &mut State<W>) -> [f64; W] {
    let State { weights, alphas, observed, near, diagonals, centre, pull, size, open, .. } = state;
    let (weights, alphas) = (weights.get_mut(), alphas.get_mut());
    let mut norms = [0.0f64; W];
    for (place, &number) in order.iter().enumerate() {
        if let Some(&next) = order.get(place + 1) {
            rows.row(next).prefetch();
            prefetch(&alphas[next as usize]);
        }
        let (row, index) = (rows.row(number), number as usize);
        let product = row.product(weights);
        let (alpha, bits) = (&mut alphas[index], observed[index]);
        let square = rows.squares()[index] + *size * *size;
        let mut changes = [0.0f32; W];
        let mut gradients = [0.0f32; W];
        let (mut largest, mut nearest) = (0.0f32, f32::INFINITY);
        for lane in 0..W {
            let seen = bits >> lane & 1 == 1;
            let (sign, diagonal) = if seen { (1.0, diagonals[0][lane]) } else { (-1.0, diagonals[1][lane]) };
            let margin = sign * (product[lane] + centre[lane] + *size * pull[lane]) - 1.0;
            let gradient = margin + diagonal * alpha[lane];
            let best = (alpha[lane] - gradient / (square + diagonal)).max(0.0);
            let change = open[lane] * (best - alpha[lane]);
            // Where the variable is 0, only a gradient that would raise it counts.
            let free = if alpha[lane] > 0.0 { gradient } else { gradient.min(0.0) };
            gradients[lane] = free * free;
            changes[lane] = sign * change;
            alpha[lane] += change;
            largest = largest.max(change.abs());
            nearest = nearest.min(if open[lane] > 0.0 && alpha[lane] == 0.0 { margin } else { f32::INFINITY });
            nearest = nearest.min(if open[lane] * alpha[lane] > 0.0 { 0.0 } else { f32::INFINITY });
        }
        (0..W).for_each(|lane| norms[lane] += f64::from(gradients[lane]));
        near[index] = nearest < NEAR;
        if largest > 0.0 {
            (0..W).for_each(|lane| pull[lane] += *size * changes[lane]);
            row.add_to(weights, &changes);
        }
    }
    norms
}

/// The products of all rows with the weights.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn products_of_all<const W: usize>(rows: &Rows, weights: &[Line<W>], products: &mut [Line<W>]) {
    for (number, line) in (0u32..).zip(products) {
        *line = rows.row(number).product(weights);
    }
}

/// The costs of an observed and an unobserved pair of a label.
fn costs<const W: usize>(part: &Part<'_, W>, lane: usize) -> Result<[f64; 2]> {
    part.squared_hinge(lane)
        .ok_or_else(|| Error::value("the dual solver is for squared hinges").hint("use Newton's method or Adam"))
}

/// The mean squared norm of rows.
fn mean(squares: &[f32]) -> f64 {
    let sum: f64 = squares.iter().map(|square| f64::from(*square)).sum();
    // Without any feature, the bias is all there is; its size is then of no importance.
    if sum > 0.0 { sum / squares.len() as f64 } else { 1.0 }
}
