//! The space in which searches move: the free constants of a curve, each on its own scale.

use crate::propensity::{At, CurveParameter, ParameterScale, Phi};

/// Maps between the constants of a curve and the coordinates of a search.
pub(super) struct Coordinates {
    base: Phi,
    /// Places of the free parameters in theta.
    free: Vec<usize>,
}

impl Coordinates {
    pub(super) fn new(family: &Phi) -> Self {
        let free = family.curve().parameters().iter().enumerate().filter(|(_, p)| p.free).map(|(place, _)| place).collect();
        Coordinates { base: family.clone(), free }
    }

    pub(super) fn family(&self) -> &Phi {
        &self.base
    }

    /// Number of free constants.
    pub(super) fn len(&self) -> usize {
        self.free.len()
    }

    pub(super) fn free(&self) -> &[usize] {
        &self.free
    }

    pub(super) fn parameter(&self, place: usize) -> &'static CurveParameter {
        &self.base.curve().parameters()[self.free[place]]
    }

    pub(super) fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        (0..self.len())
            .map(|place| {
                let p = self.parameter(place);
                (p.scale.forward(p.low), p.scale.forward(p.high))
            })
            .unzip()
    }

    /// The constants at a point.
    pub(super) fn theta(&self, x: &[f64]) -> Vec<f64> {
        let mut theta = self.base.theta().to_vec();
        for (place, &at) in self.free.iter().enumerate() {
            let p = self.parameter(place);
            let value = p.scale.back(x[place]);
            // Interior solvers come as close to a bound as 1e-200: that is the bound.
            let near = 1e-12 * (p.high - p.low).min(1.0);
            let snapped = if p.scale != ParameterScale::Log && value - p.low < near { p.low } else { value };
            theta[at] = snapped.clamp(p.low, p.high);
        }
        theta
    }

    /// The point of some constants.
    pub(super) fn point(&self, theta: &[f64]) -> Vec<f64> {
        self.free
            .iter()
            .enumerate()
            .map(|(place, &at)| {
                let p = self.parameter(place);
                p.scale.forward(theta[at].clamp(p.low, p.high))
            })
            .collect()
    }

    /// The propensity at `at`, clipped to what inverses can bear, and its derivatives by the coordinates.
    pub(super) fn value(&self, theta: &[f64], at: At, scratch: &mut [f64], gradient: &mut [f64]) -> f64 {
        /// Inverse propensities beyond this are no help to a search.
        const LEAST: f64 = 1e-12;
        let p = self.base.curve().gradient(theta, at, scratch);
        if p < LEAST || p.is_nan() {
            gradient.fill(0.0);
            return LEAST;
        }
        for (place, &from) in self.free.iter().enumerate() {
            gradient[place] = scratch[from] * self.parameter(place).scale.slope(theta[from]);
        }
        p.min(1.0)
    }
}
