//! Dual coordinate descent for the logistic loss, for a block of sibling lanes.
//!
//! Minimises `sum_i c_i (ln(1 + e^z_i) - t_i z_i) + |w|^2 / (2 C)` with `z = w x + b` for each lane: `t_i` is whether the row has labels
//! below the lane (or which share of them), `c_i` what the row counts. Its dual has a probability `p_i` for each row,
//! `w = C sum_i c_i (t_i - p_i) x_i`, and at the optimum `p_i = sigmoid(z_i)`. A step takes one row and finds the `p_i` that is best given
//! all others: the root of `s + Q sigmoid(s) = z + Q p_i` with `Q = C c_i |x_i|^2`, by few steps of Newton's method from a start that is
//! never far: at `Q / 2` both sides mirror each other, below it the left one is convex, and from the larger of its two arms
//! steps come down to the root; where `Q` is small, one is enough. All lanes of a block take a step on the same row at once, in vectors without branches.
//!
//! The bias is not penalised, which is met by the method of multipliers: it is a feature whose weight is drawn to a centre, and after
//! each pass the centre moves to where the bias went.
//!
//! # Reference
//! Yu, Huang, Lin: Dual coordinate descent methods for logistic regression and maximum entropy models, Machine Learning 2011.

use super::node::NodeRows;
use crate::losses::sigmoids;
use crate::predict::packed::Unpacked;
use crate::prefetch::prefetch;
use crate::rng::{Purpose, below, stream};
use crate::train::lines::{Line, Lines, add};
use std::ops::Range;

/// The size of the bias's feature, as a share of that of rows. At larger ones the bias overshoots where features say much the same.
const BIAS_SIZE: f64 = 0.1;

/// How many entries ahead of the present one memory is asked for.
const AHEAD: usize = 12;

/// What is the same for all blocks.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    /// `C`, for rows as they are.
    pub(super) cost: f32,
    pub(super) passes: usize,
    pub(super) tolerance: f32,
    pub(super) prune: f32,
    /// The mean squared length of rows.
    pub(super) square: f64,
    pub(super) seed: u64,
}

struct State<const W: usize> {
    weights: Lines<W>,
    /// The dual variables: a line per row.
    chances: Lines<W>,
    centre: Line<W>,
    /// The weight of the bias's feature.
    pull: Line<W>,
    size: f32,
    /// 1 for lanes with something to learn, else 0.
    open: Line<W>,
}

/// What comes out for a block.
pub(super) struct Solved {
    /// What is added to the score of each lane.
    pub(super) bias: Vec<f32>,
    pub(super) weights: Unpacked,
}

/// The weights of some lanes of a node, small ones dropped. `number` tells blocks apart.
pub(super) fn solve(rows: &NodeRows<'_>, lanes: Range<usize>, settings: &Settings, number: u64) -> Solved {
    match lanes.len() {
        0..=16 => solve_lanes::<16>(rows, lanes, settings, number),
        17..=32 => solve_lanes::<32>(rows, lanes, settings, number),
        33..=48 => solve_lanes::<48>(rows, lanes, settings, number),
        _ => solve_lanes::<64>(rows, lanes, settings, number),
    }
}

fn solve_lanes<const W: usize>(rows: &NodeRows<'_>, lanes: Range<usize>, settings: &Settings, number: u64) -> Solved {
    let mut state = State::<W>::new(rows, lanes.clone(), settings);
    let mut rng = stream(settings.seed, Purpose::TreeSteps, number);
    let mut all: Vec<u32> = (0u32..).take(rows.len()).collect();
    let mut shuffle = |order: &mut [u32]| {
        for last in (1..order.len()).rev() {
            order.swap(last, below(&mut rng, last as u64 + 1) as usize);
        }
    };
    shuffle(&mut all);
    // The bias starts at the log-odds of the lane, and stays there while each row moves it for the first time.
    let size = std::mem::replace(&mut state.size, 0.0);
    let mut moving = pass(rows, &all, settings, &mut state);
    state.size = size;
    state.keep_bias(rows, &lanes, settings);
    for round in 1..settings.passes {
        // Most rows soon stay where they are: two of three passes leave them out.
        let full = round % 3 == 1 || round + 1 == settings.passes;
        let order = if full { &mut all } else { &mut moving };
        shuffle(order);
        let moved = pass(rows, order, settings, &mut state);
        (0..W).for_each(|lane| state.centre[lane] += state.size * state.pull[lane]);
        // The bias may still be on its way when rows hardly move.
        let drifts = state.pull.iter().any(|pull| (state.size * pull).abs() > settings.tolerance);
        if full && moved.is_empty() && !drifts {
            break;
        }
        moving = moved;
    }
    let width = lanes.len();
    let bias = (0..width).map(|lane| state.centre[lane] + state.size * state.pull[lane]).collect();
    let mut weights = Unpacked::default();
    for (number, line) in (0u32..).zip(state.weights.get()) {
        weights.push(rows.feature(number), &line[..width], settings.prune);
    }
    Solved { bias, weights }
}

impl<const W: usize> State<W> {
    /// Weights at zero, where the dual variables are the targets, and the bias at the log-odds.
    fn new(rows: &NodeRows<'_>, lanes: Range<usize>, settings: &Settings) -> State<W> {
        let mut state = State {
            weights: Lines::zeros(rows.features()),
            chances: Lines::zeros(rows.len()),
            centre: [0.0; W],
            pull: [0.0; W],
            size: (BIAS_SIZE * settings.square.sqrt()) as f32,
            open: [0.0; W],
        };
        let total: f64 = (0..rows.len()).map(|row| f64::from(rows.factor(row))).sum();
        let mut sums = [0.0f64; W];
        for target in rows.targets().iter().filter(|target| lanes.contains(&(target.lane as usize))) {
            let lane = target.lane as usize - lanes.start;
            state.chances.get_mut()[target.row as usize][lane] = target.share;
            sums[lane] += f64::from(target.share) * f64::from(rows.factor(target.row as usize));
        }
        for (lane, sum) in sums.iter().enumerate().take(lanes.len()) {
            // Half a row more on both sides keeps it finite, and labels that were never seen improbable.
            state.centre[lane] = ((sum + 0.5) / ((total - sum).max(0.0) + 0.5)).ln() as f32;
            if *sum > 0.0 && *sum < total * (1.0 - 1e-9) {
                state.open[lane] = 1.0;
            }
        }
        state
    }

    /// The weight of the bias's feature as it follows from the dual variables, and the centre from which it gives the bias of before.
    fn keep_bias(&mut self, rows: &NodeRows<'_>, lanes: &Range<usize>, settings: &Settings) {
        let mut sums = [0.0f64; W];
        for (row, line) in self.chances.get().iter().enumerate() {
            (0..W).for_each(|lane| sums[lane] -= f64::from(rows.factor(row)) * f64::from(line[lane]));
        }
        for target in rows.targets().iter().filter(|target| lanes.contains(&(target.lane as usize))) {
            sums[target.lane as usize - lanes.start] += f64::from(rows.factor(target.row as usize)) * f64::from(target.share);
        }
        for lane in 0..W {
            self.pull[lane] = self.open[lane] * self.size * settings.cost * sums[lane] as f32;
            self.centre[lane] -= self.size * self.pull[lane];
        }
    }
}

/// A step on each row in turn; the rows that moved.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn pass<const W: usize>(rows: &NodeRows<'_>, order: &[u32], settings: &Settings, state: &mut State<W>) -> Vec<u32> {
    let State { weights, chances, centre, pull, size, open } = state;
    let (weights, chances) = (weights.get_mut(), chances.get_mut());
    let mut moved = Vec::new();
    for (place, &number) in order.iter().enumerate() {
        let index = number as usize;
        if let Some(&next) = order.get(place + 1) {
            prefetch(&chances[next as usize]);
            let (features, values) = rows.row(next as usize);
            if let (Some(feature), Some(value)) = (features.first(), values.first()) {
                prefetch(feature);
                prefetch(value);
            }
        }
        let (features, values) = rows.row(index);
        let product = product(features, values, weights);
        let cost = settings.cost * rows.factor(index);
        let q = cost * (rows.square(index) + *size * *size);
        let line = &mut chances[index];
        let mut sums = [0.0f32; W];
        let mut roots = [0.0f32; W];
        for lane in 0..W {
            let z = product[lane] + centre[lane] + *size * pull[lane];
            let sum = z + q * line[lane];
            sums[lane] = sum.min(q - sum);
            roots[lane] = sums[lane].min(0.0);
        }
        for _ in 0..newton_steps(q) {
            for lane in 0..W {
                let (s, t) = sigmoids(roots[lane]);
                roots[lane] -= (roots[lane] + q * s - sums[lane]) / (1.0 + q * s * t);
            }
        }
        let mut changes = [0.0f32; W];
        let mut largest = 0.0f32;
        for lane in 0..W {
            let z = product[lane] + centre[lane] + *size * pull[lane];
            let mirrored = z + q * line[lane] > 0.5 * q;
            let (below, above) = sigmoids(roots[lane]);
            let best = if mirrored { above } else { below };
            changes[lane] = open[lane] * (line[lane] - best);
            largest = largest.max(changes[lane].abs());
        }
        if largest > settings.tolerance {
            moved.push(number);
            for lane in 0..W {
                line[lane] -= changes[lane];
                changes[lane] *= cost;
                pull[lane] += *size * changes[lane];
            }
            for (feature, value) in features.iter().zip(values) {
                add(&mut weights[*feature as usize], *value, &changes);
            }
        }
    }
    moved
}

/// Steps to the root that do not end far beyond it: each gets nearer by about 1, and it is at most about `ln q` away.
#[inline(always)]
fn newton_steps(q: f32) -> usize {
    let (mut steps, mut enough) = (1, 16.0);
    while q > enough && steps < 12 {
        (steps, enough) = (steps + 1, 3.0 * enough);
    }
    steps
}

/// The product of a row with the weights of all lanes.
#[inline(always)]
fn product<const W: usize>(features: &[u32], values: &[f32], weights: &[Line<W>]) -> Line<W> {
    let mut sums = [[0.0; W]; 2];
    let (pairs, last) = features.as_chunks::<2>();
    let (value_pairs, last_value) = values.as_chunks::<2>();
    for (place, (pair, value)) in pairs.iter().zip(value_pairs).enumerate() {
        if let Some(next) = features.get(place * 2 + AHEAD..place * 2 + AHEAD + 2) {
            next.iter().for_each(|feature| prefetch(&weights[*feature as usize]));
        }
        add(&mut sums[0], value[0], &weights[pair[0] as usize]);
        add(&mut sums[1], value[1], &weights[pair[1] as usize]);
    }
    for (feature, value) in last.iter().zip(last_value) {
        add(&mut sums[0], *value, &weights[*feature as usize]);
    }
    std::array::from_fn(|lane| sums[0][lane] + sums[1][lane])
}
