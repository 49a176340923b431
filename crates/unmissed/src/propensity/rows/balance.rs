//! The last step of a fit: coefficients are moved until the estimate is right on the matched rows.
//!
//! A likelihood makes `sum x (y - p)` vanish. What an evaluation needs is that `sum x (y/p - 1)` does: then the inverse-propensity
//! estimate of how many relevant pairs there are, in all and among the first labels of the audited model, is what the evidence says. c solves
//! `sum w x (y/p - 1) = c` with `p = sigmoid(z + c'x)` (the constant column without the right-hand side, which is the derivative of the penalty
//! `|c|^2 / 2`), the minimum of the convex `sum w [y exp(-z) + (1 - y) z] + |c|^2 / 2`. The logits z come from fits that left the pair's row
//! out: a label's effect knows the outcomes that it was fitted to.
//!
//! # Reference
//! Tan, "Regularized calibrated estimation of propensity scores with model misspecification and high-dimensional data", 2020.

use super::arrow::{dot, solve};
use super::matched::Matched;
use crate::error::Result;

const STEPS: usize = 50;

/// The correction of the coefficients, and whether the search came to its end. `logits` are by pair, `weights` by row.
pub(super) fn balance(pairs: &Matched, weights: &[f64], logits: &[f64], start: &[f64]) -> Result<(Vec<f64>, bool)> {
    let mut at = start.to_vec();
    let mut value = objective(pairs, weights, logits, &at);
    for _ in 0..STEPS {
        let (step, decrement) = direction(pairs, weights, logits, &at)?;
        if decrement < 1e-8 {
            return Ok((at, true));
        }
        let mut length = 1.0;
        loop {
            let moved: Vec<f64> = at.iter().zip(&step).map(|(at, by)| at + length * by).collect();
            let reached = objective(pairs, weights, logits, &moved);
            if reached <= value {
                (at, value) = (moved, reached);
                break;
            }
            length /= 2.0;
            if length < 1e-6 {
                return Ok((at, decrement < 1e-9 * (1.0 + value.abs())));
            }
        }
    }
    Ok((at, false))
}

fn objective(pairs: &Matched, weights: &[f64], logits: &[f64], at: &[f64]) -> f64 {
    let mut total = 0.0;
    for pair in 0..pairs.len() {
        let weight = weights[pairs.rows[pair] as usize];
        if weight == 0.0 {
            continue;
        }
        let z = logits[pair] + dot(at, pairs.x(pair));
        total += weight * if pairs.observed[pair] { (-z).exp() } else { z };
    }
    total + at.iter().skip(1).map(|c| c * c).sum::<f64>() / 2.0
}

/// The Newton step and what it is expected to gain, times two.
fn direction(pairs: &Matched, weights: &[f64], logits: &[f64], at: &[f64]) -> Result<(Vec<f64>, f64)> {
    let d = pairs.width;
    let mut slope = vec![0.0; d];
    let mut curvature = vec![0.0; d * d];
    for pair in 0..pairs.len() {
        let weight = weights[pairs.rows[pair] as usize];
        if weight == 0.0 {
            continue;
        }
        let x = pairs.x(pair);
        if !pairs.observed[pair] {
            slope.iter_mut().zip(x).for_each(|(slope, x)| *slope -= weight * x);
            continue;
        }
        let odds = weight * (-logits[pair] - dot(at, x)).exp();
        for (a, xa) in x.iter().enumerate().filter(|(_, xa)| **xa != 0.0) {
            let share = odds * xa;
            slope[a] += share;
            curvature[a * d..=a * d + a].iter_mut().zip(x).for_each(|(into, xb)| *into += share * xb);
        }
    }
    for a in 1..d {
        slope[a] -= at[a];
        curvature[a * d + a] += 1.0;
    }
    let step = solve(&mut curvature, slope.clone(), d)?;
    let decrement = dot(&slope, &step);
    Ok((step, decrement))
}
