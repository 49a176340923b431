//! How well the data determine a fitted curve: standard errors, or the reason why there are none.

use super::Stop;
use super::coordinates::Coordinates;
use crate::error::digits;
use crate::propensity::{At, Phi};

/// Singular values of the scaled Jacobian below this share of the largest count as zero.
const RANK: f64 = 1e-5;

/// The covariance of the constants that are inside their bounds.
#[derive(Clone, Debug)]
pub(super) struct Quality {
    /// Places in theta.
    inside: Vec<usize>,
    /// Their covariance, row by row; `None` when the data do not determine them.
    covariance: Option<Vec<f64>>,
    /// Its Cholesky factor.
    lower: Option<Vec<f64>>,
    at_bound: Vec<String>,
}

impl Quality {
    /// `weights`: where labels are and how much information about p they carry (inverse variances of p).
    pub(super) fn new(phi: &Phi, coordinates: &Coordinates, weights: Vec<(At, f64)>) -> Quality {
        let point = coordinates.point(phi.theta());
        let (low, high) = coordinates.bounds();
        let (mut inside, mut at_bound) = (Vec::new(), Vec::new());
        for place in 0..point.len() {
            // Interior solvers stop a little short of a bound.
            let near = 1e-4 * (high[place] - low[place]).min(10.0);
            let parameter = coordinates.parameter(place);
            if point[place] - low[place] <= near {
                at_bound.push(format!("{} is at its lower bound {}", parameter.name, digits(parameter.low)));
            } else if high[place] - point[place] <= near {
                at_bound.push(format!("{} is at its upper bound {}", parameter.name, digits(parameter.high)));
            } else {
                inside.push(coordinates.free()[place]);
            }
        }
        let covariance = covariance(phi, &inside, &weights);
        let lower = covariance.as_ref().map(|covariance| cholesky(covariance, inside.len()));
        Quality { inside, covariance, lower, at_bound }
    }

    pub(super) fn standard_errors(&self, phi: &Phi) -> Vec<Option<f64>> {
        let k = self.inside.len();
        (0..phi.theta().len())
            .map(|place| {
                let row = self.inside.iter().position(|inside| *inside == place)?;
                self.covariance.as_ref().map(|c| c[row * k + row].sqrt())
            })
            .collect()
    }

    pub(super) fn faults(&self, stop: Stop) -> Vec<String> {
        let mut faults = self.at_bound.clone();
        if self.covariance.is_none() && !self.inside.is_empty() {
            faults.push(
                "the data do not determine the constants (the scaled Jacobian is rank-deficient): trust the curve, not its constants".into(),
            );
        }
        match stop {
            Stop::IterationLimit => faults.push("the search did not converge within its iteration limit".into()),
            Stop::Failed => faults.push("the search failed numerically".into()),
            Stop::Converged | Stop::NoProgress => {}
        }
        faults
    }

    /// Variance of 1/p at a place, by the delta method.
    pub(super) fn inverse_variance(&self, phi: &Phi, at: At) -> Option<f64> {
        let covariance = self.covariance.as_ref()?;
        let mut gradient = vec![0.0; phi.theta().len()];
        let p = phi.curve().gradient(phi.theta(), at, &mut gradient).clamp(1e-12, 1.0);
        let k = self.inside.len();
        let mut variance = 0.0;
        for (row, a) in self.inside.iter().enumerate() {
            for (column, b) in self.inside.iter().enumerate() {
                variance += gradient[*a] * gradient[*b] * covariance[row * k + column];
            }
        }
        Some(variance / p.powi(4))
    }

    /// Independent errors of 1/p that all places have in common, one for each constant: their squares add up to the variance.
    pub(super) fn inverse_errors(&self, phi: &Phi, at: At) -> Option<Vec<f64>> {
        let lower = self.lower.as_ref()?;
        let mut gradient = vec![0.0; phi.theta().len()];
        let p = phi.curve().gradient(phi.theta(), at, &mut gradient).clamp(1e-12, 1.0);
        let k = self.inside.len();
        let error = |column: usize| {
            let along = self.inside.iter().enumerate().map(|(row, a)| gradient[*a] * lower[row * k + column]);
            -along.sum::<f64>() / (p * p)
        };
        Some((0..k).map(error).collect())
    }
}

/// `L` with `matrix = L L'`, row by row. What rounding leaves of a number that should be 0 counts as 0.
fn cholesky(matrix: &[f64], k: usize) -> Vec<f64> {
    let mut lower = vec![0.0; k * k];
    for row in 0..k {
        for column in 0..=row {
            let known: f64 = (0..column).map(|at| lower[row * k + at] * lower[column * k + at]).sum();
            let rest = matrix[row * k + column] - known;
            lower[row * k + column] = if row == column {
                rest.max(0.0).sqrt()
            } else if lower[column * k + column] > 0.0 {
                rest / lower[column * k + column]
            } else {
                0.0
            };
        }
    }
    lower
}

/// Inverse of the information `sum w grad grad^T`, unless its scaled form is singular.
fn covariance(phi: &Phi, inside: &[usize], weights: &[(At, f64)]) -> Option<Vec<f64>> {
    let k = inside.len();
    let mut information = vec![0.0; k * k];
    let mut gradient = vec![0.0; phi.theta().len()];
    for (at, weight) in weights {
        phi.curve().gradient(phi.theta(), *at, &mut gradient);
        for (row, a) in inside.iter().enumerate() {
            for (column, b) in inside.iter().enumerate() {
                information[row * k + column] += weight * gradient[*a] * gradient[*b];
            }
        }
    }
    let norms: Vec<f64> = (0..k).map(|i| information[i * k + i].sqrt()).collect();
    if norms.iter().any(|norm| !(*norm > 0.0 && norm.is_finite())) {
        return None;
    }
    for row in 0..k {
        for column in 0..k {
            information[row * k + column] /= norms[row] * norms[column];
        }
    }
    let mut inverse = invert_symmetric(&information, k)?;
    for row in 0..k {
        for column in 0..k {
            inverse[row * k + column] /= norms[row] * norms[column];
        }
    }
    Some(inverse)
}

/// Inverse through the eigenvalues (cyclic Jacobi rotations), which tell the rank.
fn invert_symmetric(matrix: &[f64], k: usize) -> Option<Vec<f64>> {
    let mut a = matrix.to_vec();
    let mut vectors: Vec<f64> = (0..k * k).map(|i| f64::from(u8::from(i / k.max(1) == i % k.max(1)))).collect();
    for _ in 0..60 {
        let off: f64 = (0..k).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * k + j].powi(2)).sum();
        if off < 1e-30 {
            break;
        }
        for p in 0..k {
            for q in p + 1..k {
                if a[p * k + q] == 0.0 {
                    continue;
                }
                let theta = (a[q * k + q] - a[p * k + p]) / (2.0 * a[p * k + q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for i in 0..k {
                    let (x, y) = (a[i * k + p], a[i * k + q]);
                    (a[i * k + p], a[i * k + q]) = (c * x - s * y, s * x + c * y);
                }
                for i in 0..k {
                    let (x, y) = (a[p * k + i], a[q * k + i]);
                    (a[p * k + i], a[q * k + i]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (vectors[i * k + p], vectors[i * k + q]);
                    (vectors[i * k + p], vectors[i * k + q]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    let values: Vec<f64> = (0..k).map(|i| a[i * k + i]).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    // Eigenvalues of the information are squares of the Jacobian's singular values.
    if values.iter().any(|value| *value <= largest * RANK * RANK) {
        return None;
    }
    let mut inverse = vec![0.0; k * k];
    for i in 0..k {
        for j in 0..k {
            inverse[i * k + j] = (0..k).map(|e| vectors[i * k + e] * vectors[j * k + e] / values[e]).sum();
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_of_a_known_matrix_and_refusal_of_a_singular_one() {
        // [[2, 1], [1, 2]] has the inverse [[2, -1], [-1, 2]] / 3.
        let inverse = invert_symmetric(&[2.0, 1.0, 1.0, 2.0], 2).unwrap();
        for (found, expected) in inverse.iter().zip([2.0 / 3.0, -1.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0]) {
            assert!((found - expected).abs() < 1e-12);
        }
        assert!(invert_symmetric(&[1.0, 1.0, 1.0, 1.0], 2).is_none());
        assert_eq!(cholesky(&[4.0, 2.0, 2.0, 10.0], 2), [2.0, 0.0, 1.0, 3.0]);
    }
}
