//! `plugin-logistic`: the log loss of what is observed, with `p s(z)` as its probability.
//!
//! `-y ln(p s) - (1 - y) ln(1 - p s)`, s the sigmoid of z: a label is observed when it is relevant (s) and did not go missing
//! (p). The likelihood of the data, so not below 0, but not convex. With p learned as well it is joint learning.
//!
//! Newton's method takes the Fisher information of an unobserved pair, `p s (1 - s)^2 / (1 - p s)`, for its curvature: never
//! negative, and never below the second derivative. Observed pairs have `s (1 - s)`.
//!
//! # Good for
//! Training with propensities of any origin: it uses the data as well as a likelihood can, and where p is too small it stops at
//! labels that are always relevant instead of falling without end.
//!
//! # Assumes
//! Propensities that depend on the label, or on row and label. `p = 1` gives `logistic`.
//!
//! # Reference
//! Schultheis et al., KDD 2022 (PEJL; its text swaps the names of p f and f). With p = 1/2 at z = 0: -ln(1/4) with slope -1/2
//! when observed, -ln(3/4) with slope (1/8) / (3/4) = 1/6 when not.
//!
//! ```
//! let loss = unmissed::losses::find("plugin-logistic")?;
//! assert!((loss.at(0.0, true, 0.5).value - 4f64.ln()).abs() < 1e-15);
//! assert!((loss.at(0.0, false, 0.5).gradient - 1.0 / 6.0).abs() < 1e-15);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::vector::{collect, minus_ln, replace, sigmoids, sum};
use super::{Loss, Nature, Point, logistic};
use crate::sigmoid::sigmoid as sigmoid_of;
use crate::spec::Named;

/// See the module's page.
pub struct PluginLogistic;

impl crate::sealed::Sealed for PluginLogistic {}

impl Named for PluginLogistic {
    fn name(&self) -> &'static str {
        "plugin-logistic"
    }
    fn summary(&self) -> &'static str {
        "likelihood of the observed labels, p times the probability of relevance; not convex"
    }
}

impl Loss for PluginLogistic {
    fn nature(&self) -> Nature {
        Nature { convex: false, bounded: true, corrects: true, newton: true }
    }
    fn at(&self, z: f64, observed: bool, p: f64) -> Point {
        if observed {
            let point = logistic::at(z, 1.0);
            return Point { value: point.value - p.ln(), ..point };
        }
        // 1 - p s = (1 + (1 - p) e^z) / (1 + e^z), and its derivative is -p s (1 - s).
        let (s, t) = (sigmoid_of(z), sigmoid_of(-z));
        let rest = t + (1.0 - p) * s;
        let gradient = p * s * t / rest;
        Point { value: -rest.ln(), gradient, curvature: gradient * (t - s + gradient) }
    }
    fn gradients(&self, logits: &mut [f32], p: &[f32]) {
        replace(logits, p, |z, p| {
            let (s, t) = sigmoids(z);
            p * s * t / (t + (1.0 - p) * s)
        });
    }
    fn values(&self, logits: &[f32], p: &[f32], values: &mut [f64]) {
        sum(logits, p, values, value);
    }
    fn terms(&self, logits: &[f32], p: &[f32], gradients: &mut [f32], curvatures: &mut [f32], values: &mut [f64]) {
        collect(logits, p, gradients, curvatures, values, |z, p| {
            let (s, t) = sigmoids(z);
            let rest = t + (1.0 - p) * s;
            let gradient = p * s * t / rest;
            (minus_ln(rest, p * s), gradient, gradient * t)
        });
    }
}

/// The value at a logit of an unobserved pair: `-ln(1 - p s) = -ln(t + (1 - p) s)`.
#[inline(always)]
fn value(z: f32, p: f32) -> f32 {
    let (s, t) = sigmoids(z);
    minus_ln(t + (1.0 - p) * s, p * s)
}

/// Replaces logits of unobserved pairs by gradients, as [`Loss::gradients`] does, and adds to `sums`, by label, the derivatives in
/// the parameter p' of `p = s(p')`: `p (1 - p) s / (1 - p s)`. That of an observed pair is `-(1 - p)`.
#[allow(clippy::needless_range_loop, reason = "columns of several lines at once")]
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(crate) fn joint_gradients<const W: usize>(logits: &mut [[f32; W]], p: &[f32; W], sums: &mut [f32; W]) {
    for line in logits {
        for column in 0..W {
            let ((s, t), p) = (sigmoids(line[column]), p[column]);
            let slope = p * s / (t + (1.0 - p) * s);
            line[column] = slope * t;
            sums[column] += slope * (1.0 - p);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central differences of the definition, in the logit and in the parameter of p.
    #[test]
    fn gradients_of_joint_learning_meet_differences() {
        for z in [-6.0, -1.5, 0.0, 0.7, 4.0] {
            for parameter in [-4.0, -0.5, 0.0, 2.0] {
                let value = |z: f64, parameter: f64, observed| PluginLogistic.at(z, observed, sigmoid_of(parameter)).value;
                let h = 1e-5;
                let in_z = |observed| (value(z + h, parameter, observed) - value(z - h, parameter, observed)) / (2.0 * h);
                let in_p = |observed| (value(z, parameter + h, observed) - value(z, parameter - h, observed)) / (2.0 * h);
                let p = sigmoid_of(parameter);
                let (mut logits, mut sums) = ([[z as f32; 2]], [0.0; 2]);
                joint_gradients(&mut logits, &[p as f32; 2], &mut sums);
                assert!((f64::from(logits[0][1]) - in_z(false)).abs() < 1e-6, "z {z}, p {p}");
                assert!((f64::from(sums[1]) - in_p(false)).abs() < 1e-6, "z {z}, p {p}");
                assert!((-(1.0 - p) - in_p(true)).abs() < 1e-6, "z {z}, p {p}");
            }
        }
    }
}
