//! Logistic regression with one shrunken effect for each label, on pairs that are positive with probability `c s(f)`.
//!
//! Maximises `sum w [y ln(c s) + (1 - y) ln(1 - c s)] - ridge/2 sum_a b_a^2 - sum_j u_j^2 / (2 v)` with `s = s(b'x + u_j)`, the
//! constant unpenalised. Where c < 1 steps take the Fisher information of pairs that are not positive, as in `plugin-logistic`.
//! The variance v of label effects is chosen by empirical Bayes: `v = sum u_j^2 / sum (1 - 1/(v h_j))`, h_j the curvature.

use super::pairs::Pairs;
use crate::error::{Error, Result};
use crate::propensity::rows::arrow::Arrow;
use crate::sigmoid::sigmoid;

/// A constant, two logits and a log frequency.
pub(super) const WIDTH: usize = 4;

/// The penalty of coefficients on the scale of standardised columns: a prior of standard deviation 10.
const RIDGE: f64 = 0.01;
/// Steps of Newton's method.
const STEPS: usize = 50;
/// Below this expected gain of a step, times two, the search has converged.
const GAIN: f64 = 1e-7;
/// Rounds of the search for the variance.
const ROUNDS: usize = 50;
/// The range of the variance; the lower end stands for no effects at all.
const VARIANCES: (f64, f64) = (1e-4, 10.0);
/// A variance that leaves no effects.
const NONE: f64 = 1e-12;

/// Coefficients and label effects.
#[derive(Clone)]
pub(super) struct Regression {
    beta: [f64; WIDTH],
    /// By label.
    pub(super) effects: Vec<f64>,
    pub(super) variance: f64,
    /// How many columns it uses: those from the first on.
    columns: usize,
}

impl Regression {
    /// All columns and label effects, fitted to the rows that are kept.
    pub(super) fn stack(pairs: &Pairs, kept: &dyn Fn(u32) -> bool) -> Result<Regression> {
        let start = Regression { beta: [0.0; WIDTH], effects: vec![0.0; pairs.rates.len()], variance: 0.1, columns: WIDTH };
        let (mut fitted, mut curvatures) = start.maximise(pairs, kept)?;
        for _ in 0..ROUNDS {
            let squares: f64 = fitted.effects.iter().map(|effect| effect * effect).sum();
            let known: f64 = curvatures.iter().map(|h| 1.0 - 1.0 / (fitted.variance * h)).sum();
            let next = if known > 1e-9 { (squares / known).clamp(VARIANCES.0, VARIANCES.1) } else { VARIANCES.0 };
            let settled = (next / fitted.variance).ln().abs() < 0.01;
            (fitted, curvatures) = Regression { variance: next, ..fitted }.maximise(pairs, kept)?;
            if settled {
                break;
            }
        }
        Ok(fitted)
    }

    /// The uncorrected model's logit with another constant and slope.
    pub(super) fn recalibrated(pairs: &Pairs, kept: &dyn Fn(u32) -> bool) -> Result<Regression> {
        let start = Regression { beta: [0.0; WIDTH], effects: vec![0.0; pairs.rates.len()], variance: NONE, columns: 2 };
        Ok(start.maximise(pairs, kept)?.0)
    }

    /// A logit as it is: that of a column, unscaled.
    pub(super) fn as_it_is(pairs: &Pairs, column: usize) -> Regression {
        let mut beta = [0.0; WIDTH];
        beta[column] = pairs.scales[column];
        Regression { beta, effects: vec![0.0; pairs.rates.len()], variance: NONE, columns: WIDTH }
    }

    /// The coefficients on the scale of the columns themselves.
    pub(super) fn coefficients(&self, scales: &[f64; WIDTH]) -> [f64; WIDTH] {
        std::array::from_fn(|column| self.beta[column] / scales[column])
    }

    fn logit(&self, pairs: &Pairs, pair: usize) -> f64 {
        let sum: f64 = self.beta[..self.columns].iter().zip(&pairs.x[pair]).map(|(beta, x)| beta * x).sum();
        sum + self.effects[pairs.labels[pair] as usize]
    }

    /// The log loss of a pair, times what it stands for.
    pub(super) fn loss(&self, pairs: &Pairs, pair: usize) -> f64 {
        pairs.weights[pair] * point(self.logit(pairs, pair), pairs.positive[pair], pairs.rates[pairs.labels[pair] as usize]).0
    }

    /// The maximum at this variance, and the curvature in each effect.
    fn maximise(mut self, pairs: &Pairs, kept: &dyn Fn(u32) -> bool) -> Result<(Regression, Vec<f64>)> {
        let mut value = self.objective(pairs, kept);
        let mut curvatures = vec![1.0 / self.variance; self.effects.len()];
        for _ in 0..STEPS {
            let arrow = self.derivatives(pairs, kept);
            let step = arrow.step(&self.beta[..self.columns], &self.effects, self.variance, RIDGE).map_err(|_| {
                Error::value("the controlled pairs do not distinguish the two models").hint("give more controlled rows")
            })?;
            curvatures = step.curvatures;
            if step.decrement < GAIN {
                break;
            }
            let moved = |length: f64| {
                let mut next = self.clone();
                next.beta.iter_mut().zip(&step.beta).for_each(|(beta, by)| *beta += length * by);
                next.effects.iter_mut().zip(&step.effects).for_each(|(effect, by)| *effect += length * by);
                next
            };
            let lengths = (0..20).map(|halvings| 0.5f64.powi(halvings));
            let better = lengths.map(moved).map(|next| (next.objective(pairs, kept), next)).find(|(reached, _)| *reached > value);
            // Where no step is better, rounding ends the search.
            let Some((reached, next)) = better else { break };
            (self, value) = (next, reached);
        }
        Ok((self, curvatures))
    }

    fn objective(&self, pairs: &Pairs, kept: &dyn Fn(u32) -> bool) -> f64 {
        let loss: f64 = (0..pairs.len()).filter(|pair| kept(pairs.rows[*pair])).map(|pair| self.loss(pairs, pair)).sum();
        let ridge: f64 = self.beta[1..].iter().map(|b| b * b).sum();
        let shrinkage: f64 = self.effects.iter().map(|u| u * u).sum();
        -loss - RIDGE * ridge / 2.0 - shrinkage / (2.0 * self.variance)
    }

    fn derivatives(&self, pairs: &Pairs, kept: &dyn Fn(u32) -> bool) -> Arrow {
        let mut arrow = Arrow::zero(self.columns, self.effects.len());
        for pair in (0..pairs.len()).filter(|pair| kept(pairs.rows[*pair])) {
            let (label, weight) = (pairs.labels[pair] as usize, pairs.weights[pair]);
            let (_, slope, curvature) = point(self.logit(pairs, pair), pairs.positive[pair], pairs.rates[label]);
            arrow.add(&pairs.x[pair][..self.columns], label, -weight * slope, weight * curvature);
        }
        arrow
    }
}

/// The log loss of a pair at a logit: value, slope, and a curvature that is never negative.
pub(in crate::train) fn point(logit: f64, positive: bool, rate: f64) -> (f64, f64, f64) {
    let (s, t) = (sigmoid(logit), sigmoid(-logit));
    if positive {
        // -ln(c s)
        let softplus = (-logit).max(0.0) + (-logit.abs()).exp().ln_1p();
        return (softplus - rate.ln(), -t, s * t);
    }
    if rate == 1.0 {
        let softplus = logit.max(0.0) + (-logit.abs()).exp().ln_1p();
        return (softplus, s, s * t);
    }
    let rest = t + (1.0 - rate) * s;
    let slope = rate * s * t / rest;
    (-(-rate * s).ln_1p(), slope, slope * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_meet_differences_and_curvatures_are_not_negative() {
        for rate in [1.0, 0.3, 0.01] {
            for logit in [-7.0, -1.0, 0.0, 0.5, 6.0] {
                for positive in [true, false] {
                    let h = 1e-6;
                    let at = |logit| point(logit, positive, rate);
                    let difference = (at(logit + h).0 - at(logit - h).0) / (2.0 * h);
                    let (value, slope, curvature) = at(logit);
                    assert!(value >= 0.0 && curvature >= 0.0);
                    assert!((difference - slope).abs() < 1e-7, "{rate} {logit} {positive}: {difference} and {slope}");
                    let bend = (at(logit + h).1 - at(logit - h).1) / (2.0 * h);
                    assert!(curvature >= bend - 1e-7, "{rate} {logit} {positive}");
                }
            }
        }
    }
}
