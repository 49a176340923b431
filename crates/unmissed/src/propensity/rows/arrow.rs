//! The derivatives of the penalised likelihood, and the Newton step that they give.
//!
//! The second derivative is an arrow: dense in the coefficients, diagonal in the label effects, so that a step costs no more than one
//! without label effects (Schur complement). Sums over parts of the rows add up, so that leaving a part out is a subtraction.

use crate::error::{Error, Result};

/// First and (minus) second derivatives of the likelihood, without penalties.
#[derive(Clone)]
pub(crate) struct Arrow {
    width: usize,
    slope: Vec<f64>,
    /// Lower triangle, row by row in a full square.
    curvature: Vec<f64>,
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
    /// By label and coefficient.
    cross: Vec<f64>,
}

/// A step of Newton's method.
pub(crate) struct Step {
    pub(crate) beta: Vec<f64>,
    pub(crate) effects: Vec<f64>,
    /// What the step is expected to gain, times two.
    pub(crate) decrement: f64,
    /// Minus the second derivative by each effect, penalty included.
    pub(crate) curvatures: Vec<f64>,
}

impl Arrow {
    pub(crate) fn zero(width: usize, labels: usize) -> Arrow {
        Arrow {
            width,
            slope: vec![0.0; width],
            curvature: vec![0.0; width * width],
            slopes: vec![0.0; labels],
            curvatures: vec![0.0; labels],
            cross: vec![0.0; labels * width],
        }
    }

    /// Adds a pair with its `y - p` and `p (1 - p)`, both times its weight.
    pub(crate) fn add(&mut self, x: &[f64], label: usize, residual: f64, spread: f64) {
        let d = self.width;
        self.slopes[label] += residual;
        self.curvatures[label] += spread;
        let cross = &mut self.cross[label * d..(label + 1) * d];
        for (a, xa) in x.iter().enumerate() {
            // Steps of ranks are 0 for most pairs.
            if *xa == 0.0 {
                continue;
            }
            self.slope[a] += residual * xa;
            let share = spread * xa;
            cross[a] += share;
            self.curvature[a * d..=a * d + a].iter_mut().zip(x).for_each(|(into, xb)| *into += share * xb);
        }
    }

    pub(crate) fn plus(&mut self, other: &Arrow) {
        self.combine(other, 1.0);
    }

    /// All but a part.
    pub(super) fn without(&self, part: &Arrow) -> Arrow {
        let mut rest = self.clone();
        rest.combine(part, -1.0);
        // What is left of a label that only the part has is 0, not what rounding leaves.
        rest.curvatures.iter_mut().for_each(|curvature| *curvature = curvature.max(0.0));
        rest
    }

    fn combine(&mut self, other: &Arrow, sign: f64) {
        let add = |into: &mut [f64], from: &[f64]| into.iter_mut().zip(from).for_each(|(into, from)| *into += sign * from);
        add(&mut self.slope, &other.slope);
        add(&mut self.curvature, &other.curvature);
        add(&mut self.slopes, &other.slopes);
        add(&mut self.curvatures, &other.curvatures);
        add(&mut self.cross, &other.cross);
    }

    /// The step from `beta` and `effects`, where the derivatives were taken, with the penalties `ridge |b|^2 / 2` (but for the
    /// constant column) and `sum u^2 / (2 v)`.
    pub(crate) fn step(&self, beta: &[f64], effects: &[f64], variance: f64, ridge: f64) -> Result<Step> {
        let d = self.width;
        let mut slope = self.slope.clone();
        let mut curvature = self.curvature.clone();
        for (a, beta) in beta.iter().enumerate().skip(1) {
            slope[a] -= ridge * beta;
            curvature[a * d + a] += ridge;
        }
        let slopes: Vec<f64> = self.slopes.iter().zip(effects).map(|(slope, effect)| slope - effect / variance).collect();
        let curvatures: Vec<f64> = self.curvatures.iter().map(|curvature| curvature + 1.0 / variance).collect();
        let mut right = slope.clone();
        for (label, c) in self.cross.chunks_exact(d).enumerate() {
            let h = curvatures[label];
            for a in (0..d).filter(|a| c[*a] != 0.0) {
                right[a] -= c[a] * slopes[label] / h;
                let share = c[a] / h;
                curvature[a * d..=a * d + a].iter_mut().zip(c).for_each(|(into, cb)| *into -= share * cb);
            }
        }
        let beta = solve(&mut curvature, right, d)?;
        let of_label = |(label, c): (usize, &[f64])| (slopes[label] - dot(c, &beta)) / curvatures[label];
        let effects: Vec<f64> = self.cross.chunks_exact(d).enumerate().map(of_label).collect();
        let decrement = dot(&slope, &beta) + dot(&slopes, &effects);
        Ok(Step { beta, effects, decrement, curvatures })
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves by Cholesky's method; `matrix` has its lower triangle filled.
// Indices are those of the matrices in the formulas.
#[allow(clippy::needless_range_loop)]
pub(super) fn solve(matrix: &mut [f64], mut right: Vec<f64>, d: usize) -> Result<Vec<f64>> {
    for a in 0..d {
        for b in 0..=a {
            let known: f64 = (0..b).map(|c| matrix[a * d + c] * matrix[b * d + c]).sum();
            let rest = matrix[a * d + b] - known;
            matrix[a * d + b] = if a != b {
                rest / matrix[b * d + b]
            } else if rest > 0.0 {
                rest.sqrt()
            } else {
                return Err(Error::value("the matched pairs do not identify the covariates")
                    .hint("all pairs were observed, or none; or leave covariates out"));
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

    #[test]
    fn steps_solve_the_whole_system() {
        // One coefficient and one label: [[4, 1], [1, 2 + 1/v]] (b, u) = (3, 1 - u0/v), by hand.
        let mut arrow = Arrow::zero(1, 1);
        arrow.slope = vec![3.0];
        arrow.curvature = vec![4.0];
        arrow.slopes = vec![1.0];
        arrow.curvatures = vec![2.0];
        arrow.cross = vec![1.0];
        let step = arrow.step(&[0.0], &[0.5], 0.5, 1.0).unwrap();
        // [[4, 1], [1, 4]] (b, u) = (3, 0): b = 12/15, u = -3/15.
        assert!((step.beta[0] - 0.8).abs() < 1e-12 && (step.effects[0] + 0.2).abs() < 1e-12);
        assert!((step.decrement - 2.4).abs() < 1e-12);
    }
}
