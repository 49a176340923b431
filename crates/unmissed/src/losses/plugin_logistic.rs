//! `plugin-logistic`: the log loss of what is observed, with `p s(z)` as its probability.
//!
//! `-y ln(p s) - (1 - y) ln(1 - p s)`, s the sigmoid of z: a label is observed when it is relevant (s) and did not go missing
//! (p). The likelihood of the data, so not below 0, but not convex. With p learned as well it is joint learning.
//!
//! # Assumes
//! Label-wise propensities. `p = 1` gives `logistic`.
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

use super::vector::{collect, replace, sigmoid, softplus};
use super::{Loss, Nature, Point, logistic};
use crate::spec::Named;

/// See the module's page.
pub(super) struct PluginLogistic;

impl Named for PluginLogistic {
    fn name(&self) -> &'static str {
        "plugin-logistic"
    }
    fn summary(&self) -> &'static str {
        "likelihood of what is observed, p times the probability to be relevant; not convex"
    }
}

impl Loss for PluginLogistic {
    fn nature(&self) -> Nature {
        Nature { convex: false, bounded: true, corrects: true }
    }
    fn at(&self, z: f64, observed: bool, p: f64) -> Point {
        if observed {
            let point = logistic::at(z, 1.0);
            return Point { value: point.value - p.ln(), ..point };
        }
        // 1 - p s = (1 + (1 - p) e^z) / (1 + e^z), and its derivative is -p s (1 - s).
        let (s, t) = (logistic::probability(z), logistic::probability(-z));
        let rest = t + (1.0 - p) * s;
        let gradient = p * s * t / rest;
        Point { value: -rest.ln(), gradient, curvature: gradient * (t - s + gradient) }
    }
    fn gradients(&self, logits: &mut [f32], p: &[f32]) {
        replace(logits, p, |z, p| {
            let (s, t) = (sigmoid(z), sigmoid(-z));
            p * s * t / (t + (1.0 - p) * s)
        });
    }
    fn terms(&self, logits: &[f32], p: &[f32], gradients: &mut [f32], curvatures: &mut [f32], values: &mut [f64]) {
        collect(logits, p, gradients, curvatures, values, |z, p| {
            let (s, t) = (sigmoid(z), sigmoid(-z));
            let gradient = p * s * t / (t + (1.0 - p) * s);
            // -ln(t + (1 - p) s) = ln(1 + e^z) - ln(1 + (1 - p) e^z); the last is a softplus with a shifted argument.
            let shifted = if p < 1.0 { softplus(z + (1.0 - p).ln()) } else { 0.0 };
            (softplus(z) - shifted, gradient, gradient * (t - s + gradient))
        });
    }
}
