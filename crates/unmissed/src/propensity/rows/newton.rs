//! Newton's method for a logistic regression with one shrunken effect for each label.
//!
//! Maximises `sum w [y log p + (1 - y) log(1 - p)] - |b|^2 / 2 - sum_j u_j^2 / (2 v)`, the constant column of b unpenalised. The
//! second derivative is an arrow: diagonal in u, so that a step costs no more than one without label effects (Schur complement).

use super::matched::Matched;
use crate::error::{Error, Result};
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
/// Steps of Newton's method.
const STEPS: usize = 50;
/// The range of the variance of label effects.
const VARIANCES: (f64, f64) = (1e-4, 10.0);

impl Parameters {
    /// The propensity of a pair with scaled columns `x` and the effect at a place.
    pub(super) fn propensity(&self, x: &[f64], effect: Option<usize>) -> f64 {
        let effect = effect.and_then(|at| self.effects.get(at)).copied().unwrap_or(0.0);
        sigmoid(dot(&self.beta, x) + f64::from(effect)).max(LEAST)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A point of the search.
#[derive(Clone)]
pub(super) struct Point {
    beta: Vec<f64>,
    effects: Vec<f64>,
    /// Minus the second derivative by each effect.
    curvatures: Vec<f64>,
}

impl Point {
    pub(super) fn zero(pairs: &Matched) -> Point {
        let labels = pairs.labels.len();
        Point { beta: vec![0.0; pairs.width], effects: vec![0.0; labels], curvatures: vec![1.0; labels] }
    }

    pub(super) fn parameters(&self) -> Parameters {
        Parameters { beta: self.beta.clone(), effects: self.effects.iter().map(|effect| *effect as f32).collect() }
    }
}

/// The maximum for a given variance of label effects; `weights` by row.
pub(super) fn maximise(pairs: &Matched, weights: &[f64], variance: f64, start: &Point) -> Result<Point> {
    let mut point = start.clone();
    let mut value = objective(pairs, weights, variance, &point);
    for _ in 0..STEPS {
        let (step, decrement) = direction(pairs, weights, variance, &mut point)?;
        if decrement < 1e-8 {
            return Ok(point);
        }
        let mut length = 1.0;
        loop {
            let moved = Point {
                beta: point.beta.iter().zip(&step.0).map(|(at, by)| at + length * by).collect(),
                effects: point.effects.iter().zip(&step.1).map(|(at, by)| at + length * by).collect(),
                curvatures: point.curvatures.clone(),
            };
            let reached = objective(pairs, weights, variance, &moved);
            if reached >= value {
                (point, value) = (moved, reached);
                break;
            }
            length /= 2.0;
            if length < 1e-6 {
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
    for _ in 0..40 {
        let squares: f64 = point.effects.iter().map(|effect| effect * effect).sum();
        let known: f64 = point.curvatures.iter().map(|h| 1.0 - 1.0 / (variance * h)).sum();
        let next = if known > 1e-9 { (squares / known).clamp(VARIANCES.0, VARIANCES.1) } else { VARIANCES.0 };
        let done = (next / variance).ln().abs() < 0.01;
        variance = next;
        point = maximise(pairs, weights, variance, &point)?;
        if done {
            break;
        }
    }
    Ok((point, variance))
}

fn logit(pairs: &Matched, point: &Point, pair: usize) -> f64 {
    dot(&point.beta, pairs.x(pair)) + point.effects[pairs.effects[pair] as usize]
}

fn objective(pairs: &Matched, weights: &[f64], variance: f64, point: &Point) -> f64 {
    let mut total = 0.0;
    for pair in 0..pairs.len() {
        let z = logit(pairs, point, pair);
        let z = if pairs.observed[pair] { z } else { -z };
        // log sigmoid(z), without overflow.
        total += weights[pairs.rows[pair] as usize] * (z.min(0.0) - (-z.abs()).exp().ln_1p());
    }
    let ridge: f64 = point.beta.iter().skip(1).map(|b| b * b).sum();
    let shrinkage: f64 = point.effects.iter().map(|u| u * u).sum();
    total - ridge / 2.0 - shrinkage / (2.0 * variance)
}

type Step = (Vec<f64>, Vec<f64>);

/// The Newton step and what it is expected to gain, times two.
// Indices are those of the matrices in the formulas.
#[allow(clippy::needless_range_loop)]
fn direction(pairs: &Matched, weights: &[f64], variance: f64, point: &mut Point) -> Result<(Step, f64)> {
    let (d, labels) = (pairs.width, point.effects.len());
    let mut slope = vec![0.0; d];
    let mut curvature = vec![0.0; d * d];
    let mut slopes: Vec<f64> = point.effects.iter().map(|effect| -effect / variance).collect();
    let mut curvatures = vec![1.0 / variance; labels];
    let mut cross = vec![0.0; labels * d];
    for pair in 0..pairs.len() {
        let weight = weights[pairs.rows[pair] as usize];
        if weight == 0.0 {
            continue;
        }
        let (x, label) = (pairs.x(pair), pairs.effects[pair] as usize);
        let p = sigmoid(logit(pairs, point, pair));
        let residual = weight * (f64::from(u8::from(pairs.observed[pair])) - p);
        let spread = weight * p * (1.0 - p);
        slopes[label] += residual;
        curvatures[label] += spread;
        for a in 0..d {
            slope[a] += residual * x[a];
            let share = spread * x[a];
            cross[label * d + a] += share;
            for b in 0..=a {
                curvature[a * d + b] += share * x[b];
            }
        }
    }
    for a in 1..d {
        slope[a] -= point.beta[a];
        curvature[a * d + a] += 1.0;
    }
    let mut right = slope.clone();
    for label in 0..labels {
        let (c, h) = (&cross[label * d..(label + 1) * d], curvatures[label]);
        for a in 0..d {
            right[a] -= c[a] * slopes[label] / h;
            for b in 0..=a {
                curvature[a * d + b] -= c[a] * c[b] / h;
            }
        }
    }
    let beta = solve(&mut curvature, right, d)?;
    let of_label = |label: usize| (slopes[label] - dot(&cross[label * d..(label + 1) * d], &beta)) / curvatures[label];
    let effects: Vec<f64> = (0..labels).map(of_label).collect();
    let decrement = dot(&slope, &beta) + dot(&slopes, &effects);
    point.curvatures = curvatures;
    Ok(((beta, effects), decrement))
}

/// Solves by Cholesky's method; `matrix` has its lower triangle filled.
#[allow(clippy::needless_range_loop)]
fn solve(matrix: &mut [f64], mut right: Vec<f64>, d: usize) -> Result<Vec<f64>> {
    for a in 0..d {
        for b in 0..=a {
            let known: f64 = (0..b).map(|c| matrix[a * d + c] * matrix[b * d + c]).sum();
            let rest = matrix[a * d + b] - known;
            matrix[a * d + b] = if a != b {
                rest / matrix[b * d + b]
            } else if rest > 0.0 {
                rest.sqrt()
            } else {
                return Err(Error::value("the matched pairs do not tell the covariates apart")
                    .hint("all of them were observed, or none; or leave covariates out"));
            };
        }
    }
    for a in 0..d {
        let known: f64 = (0..a).map(|c| matrix[a * d + c] * right[c]).sum();
        right[a] = (right[a] - known) / matrix[a * d + a];
    }
    for a in (0..d).rev() {
        let known: f64 = (a + 1..d).map(|c| matrix[c * d + a] * right[c]).sum();
        right[a] = (right[a] - known) / matrix[a * d + a];
    }
    Ok(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_solved() {
        let mut matrix = [4.0, 0.0, 2.0, 3.0];
        let x = solve(&mut matrix, vec![10.0, 8.0], 2).unwrap();
        assert!((x[0] - 1.75).abs() < 1e-12 && (x[1] - 1.5).abs() < 1e-12, "{x:?}");
        assert!(solve(&mut [0.0], vec![1.0], 1).is_err());
    }
}
