//! Newton's method for a logistic regression with one shrunken effect for each label.
//!
//! Maximises `sum w [y log p + (1 - y) log(1 - p)] - |b|^2 / 2 - sum_j u_j^2 / (2 v)`, the constant column of b unpenalised.

use super::arrow::{Arrow, dot};
use super::matched::Matched;
use crate::error::Result;
use crate::sigmoid::sigmoid;
use serde::{Deserialize, Serialize};

/// Coefficients and label effects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Parameters {
    pub(super) beta: Vec<f64>,
    pub(super) effects: Vec<f32>,
}

/// Propensities are kept away from 0, where inverse ones would be infinite.
const LEAST: f64 = 1e-9;
/// The penalty of coefficients, whose columns have a standard deviation of 1.
pub(super) const RIDGE: f64 = 1.0;
/// Steps of Newton's method.
const STEPS: usize = 50;
/// Below this expected gain of a step, times two, the search is at its end.
const GAIN: f64 = 1e-8;
/// Rounds of the search for the variance of label effects.
const ROUNDS: usize = 200;
/// The range of the variance of label effects.
const VARIANCES: (f64, f64) = (1e-4, 10.0);

impl Parameters {
    /// The propensity of a pair with scaled columns `x` and the effect at a place.
    pub(super) fn propensity(&self, x: &[f64], effect: Option<usize>) -> f64 {
        let effect = effect.and_then(|at| self.effects.get(at)).copied().unwrap_or(0.0);
        propensity(dot(&self.beta, x) + f64::from(effect))
    }
}

/// The propensity at a logit.
pub(super) fn propensity(logit: f64) -> f64 {
    sigmoid(logit).max(LEAST)
}

/// A point of the search.
#[derive(Clone)]
pub(super) struct Point {
    pub(super) beta: Vec<f64>,
    pub(super) effects: Vec<f64>,
    /// Minus the second derivative by each effect.
    curvatures: Vec<f64>,
    /// Whether it is the end of a search that came to its end.
    pub(super) converged: bool,
}

impl Point {
    pub(super) fn zero(pairs: &Matched) -> Point {
        let labels = pairs.labels.len();
        Point { beta: vec![0.0; pairs.width], effects: vec![0.0; labels], curvatures: vec![1.0; labels], converged: false }
    }

    /// The point after a step of a length.
    pub(super) fn moved(&self, beta: &[f64], effects: &[f64], length: f64) -> Point {
        let add = |at: &[f64], by: &[f64]| at.iter().zip(by).map(|(at, by)| at + length * by).collect();
        Point { beta: add(&self.beta, beta), effects: add(&self.effects, effects), ..self.clone() }
    }

    /// As a model, with the coefficients moved by a correction.
    pub(super) fn parameters(&self, correction: &[f64]) -> Parameters {
        Parameters {
            beta: self.beta.iter().zip(correction).map(|(beta, by)| beta + by).collect(),
            effects: self.effects.iter().map(|effect| *effect as f32).collect(),
        }
    }

    pub(super) fn logit(&self, pairs: &Matched, pair: usize) -> f64 {
        dot(&self.beta, pairs.x(pair)) + self.effects[pairs.effects[pair] as usize]
    }
}

/// The maximum for a given variance of label effects; `weights` by row.
pub(super) fn maximise(pairs: &Matched, weights: &[f64], variance: f64, start: &Point) -> Result<Point> {
    let mut point = Point { converged: false, ..start.clone() };
    let mut value = objective(pairs, weights, variance, &point);
    for _ in 0..STEPS {
        let step = derivatives(pairs, weights, &point).step(&point.beta, &point.effects, variance, RIDGE)?;
        point.curvatures = step.curvatures;
        if step.decrement < GAIN {
            point.converged = true;
            return Ok(point);
        }
        let mut length = 1.0;
        loop {
            let moved = point.moved(&step.beta, &step.effects, length);
            let reached = objective(pairs, weights, variance, &moved);
            if reached >= value {
                (point, value) = (moved, reached);
                break;
            }
            length /= 2.0;
            if length < 1e-6 {
                // No step is better: the end, unless much was expected of it.
                point.converged = step.decrement < 1e-9 * (1.0 + value.abs());
                return Ok(point);
            }
        }
    }
    Ok(point)
}

/// The maximum with the variance of label effects by MacKay's fixed point: `v = sum u^2 / sum (1 - 1/(v h))`.
pub(super) fn maximise_evidence(pairs: &Matched, weights: &[f64]) -> Result<(Point, f64)> {
    let mut variance = 0.1;
    let mut point = maximise(pairs, weights, variance, &Point::zero(pairs))?;
    let mut settled = false;
    for _ in 0..ROUNDS {
        let squares: f64 = point.effects.iter().map(|effect| effect * effect).sum();
        let known: f64 = point.curvatures.iter().map(|h| 1.0 - 1.0 / (variance * h)).sum();
        let next = if known > 1e-9 { (squares / known).clamp(VARIANCES.0, VARIANCES.1) } else { VARIANCES.0 };
        settled = (next / variance).ln().abs() < 0.01;
        variance = next;
        point = maximise(pairs, weights, variance, &point)?;
        if settled {
            break;
        }
    }
    point.converged &= settled;
    Ok((point, variance))
}

fn objective(pairs: &Matched, weights: &[f64], variance: f64, point: &Point) -> f64 {
    let mut total = 0.0;
    for pair in 0..pairs.len() {
        let weight = weights[pairs.rows[pair] as usize] * pairs.weight(pair);
        if weight == 0.0 {
            continue;
        }
        let z = point.logit(pairs, pair);
        let z = if pairs.observed[pair] { z } else { -z };
        // log sigmoid(z), without overflow.
        total += weight * (z.min(0.0) - (-z.abs()).exp().ln_1p());
    }
    let ridge: f64 = point.beta.iter().skip(1).map(|b| b * b).sum();
    let shrinkage: f64 = point.effects.iter().map(|u| u * u).sum();
    total - ridge / 2.0 - shrinkage / (2.0 * variance)
}

fn derivatives(pairs: &Matched, weights: &[f64], point: &Point) -> Arrow {
    let mut arrow = Arrow::zero(pairs.width, pairs.labels.len());
    for pair in 0..pairs.len() {
        let weight = weights[pairs.rows[pair] as usize] * pairs.weight(pair);
        if weight == 0.0 {
            continue;
        }
        let (residual, spread) = pairs.derivatives(pair, point.logit(pairs, pair));
        arrow.add(pairs.x(pair), pairs.effects[pair] as usize, weight * residual, weight * spread);
    }
    arrow
}
