//! `shrunken`: the direct estimate, pulled towards a fitted curve as far as the data are thin (empirical Bayes).
//!
//! `v_j ~ Poisson(E_j q_j)` with `E_j = N c_j pi~_j`, and `q_j ~ Gamma(mean 1/phi(pi~_j), shape kappa)`. The marginal of v_j is
//! negative binomial; the constants of phi and kappa are those under which the counts are most likely. Then
//! `q_j | v_j` has mean `(kappa + v_j) / (kappa phi_j + E_j)` and variance `(kappa + v_j) / (kappa phi_j + E_j)^2`, floored at
//! `q = 1`. Rich data: the direct estimate; no data: the curve.
//!
//! # Assumes
//! What `direct` assumes, and that true inverse propensities scatter around the curve like a Gamma. With few controlled rows
//! no scatter can be seen (kappa goes to infinity) and the curve is the answer. A label that was never observed has no
//! exposure: it takes no part in the likelihood and gets the curve at half a positive.
//!
//! # Reference
//! Ours; the Gamma-Poisson shrinkage is Robbins 1956, and Efron and Morris 1973. With kappa = 2, phi = 1/2, v = 6 and E = 1
//! the posterior mean is (2 + 6) / (1 + 1) = 4:
//!
//! ```
//! use unmissed::propensity::estimators::shrunken::posterior;
//! let (mean, variance) = posterior(Some(2.0), 0.5, 6, 1.0);
//! assert_eq!((mean, variance), (4.0, 2.0));
//! assert_eq!(posterior(None, 0.5, 6, 1.0).0, 2.0);
//! ```

use super::{Direct, entry};
use crate::error::Result;
use crate::propensity::fit::{Fit, Loss, Options, fit};
use crate::propensity::models::{Phi, seen};
use crate::propensity::quantiles::gamma_quantile;
use crate::propensity::{Interval, Propensities, Source};
use rayon::prelude::*;
use serde::Serialize;

entry!("shrunken", "the direct estimate, pulled towards a fitted curve as far as the controlled data are thin", Exact);

/// Propensities of all labels, and the curve and scatter behind them.
#[derive(Clone, Debug, Serialize)]
pub struct Shrunken {
    /// The estimate.
    pub propensities: Propensities,
    /// The curve, fitted by maximum likelihood; its `kappa` is the shape of the scatter.
    pub fit: Fit,
}

/// Mean and variance of the inverse propensity given `v` controlled positives; `kappa` `None` is infinite.
pub fn posterior(kappa: Option<f64>, phi: f64, v: u64, exposure: f64) -> (f64, f64) {
    match kappa {
        Some(kappa) => {
            let (shape, rate) = (kappa + v as f64, kappa * phi + exposure);
            (shape / rate, shape / (rate * rate))
        }
        None => (1.0 / phi, 0.0),
    }
}

/// One label's estimate.
struct Estimate {
    p: f64,
    interval: Option<Interval>,
    variance: f64,
    source: Source,
}

/// Shrinks a direct estimate towards a curve of `family`; intervals at `level`.
pub fn shrunken(direct: &Direct, family: &Phi, options: &Options, level: f64) -> Result<Shrunken> {
    let options = Options { loss: Loss::NegativeBinomial, ..options.clone() };
    let fit = fit(family, &direct.evidence(), &options)?;
    let estimates: Vec<Estimate> =
        (0..direct.len()).into_par_iter().with_min_len(256).map(|label| estimate(direct, &fit, label, level)).collect();
    let values = estimates.iter().map(|e| e.p).collect();
    let sources = estimates.iter().map(|e| e.source).collect();
    let mut propensities = Propensities::clipping(format!("shrunken({})", fit.spec), values, sources)?
        .with_intervals(estimates.iter().map(|e| e.interval).collect())?
        .with_inverse_variances(estimates.iter().map(|e| e.variance).collect())?;
    if fit.kappa.is_none() {
        propensities = propensities.with_note("no scatter around the curve can be seen: the estimate is the curve");
    }
    if direct.never_observed() > 0 {
        propensities =
            propensities.with_note(format!("{} labels were never observed: the curve stands for them", direct.never_observed()));
    }
    if !fit.degenerate.is_empty() {
        propensities = propensities.with_note(format!("the fitted curve is degenerate: {}", fit.degenerate.join("; ")));
    }
    Ok(Shrunken { propensities, fit })
}

fn estimate(direct: &Direct, fit: &Fit, label: usize, level: f64) -> Estimate {
    let count = direct.count(label);
    let phi = fit.at(seen(count as f64));
    let curve_variance = fit.inverse_variance(seen(count as f64));
    let tail = (1.0 - level) / 2.0;
    if count == 0 || fit.kappa.is_none() {
        // Only the curve speaks: its own uncertainty, and what the scatter adds for a label that was not looked at.
        let scatter = fit.kappa.map_or(0.0, |kappa| 1.0 / (kappa * phi * phi));
        let variance = curve_variance.map_or(f64::NAN, |v| v + scatter);
        let half = std::f64::consts::SQRT_2 * statrs::function::erf::erf_inv(level) * variance.sqrt() * phi;
        // The logarithm of q has standard error se(q) phi.
        let interval = half.is_finite().then(|| Interval { low: phi * (-half).exp(), high: (phi * half.exp()).min(1.0) });
        let source = if count == 0 { Source::Curve } else { Source::Estimated };
        return Estimate { p: phi, interval, variance, source };
    }
    let v = direct.positives(label);
    let (mean, variance) = posterior(fit.kappa, phi, v, direct.exposure(label));
    let shape = mean * mean / variance;
    let quantile = |probability| gamma_quantile(shape, probability) * variance / mean;
    let end = |q: f64| (1.0 / q).clamp(0.0, 1.0);
    let interval = Interval { low: end(quantile(1.0 - tail)), high: end(quantile(tail)) };
    // What the curve's own error leaves after shrinking: the weight of the curve, squared.
    let weight = mean / (1.0 / phi) * (fit.kappa.unwrap_or(0.0) * phi / (fit.kappa.unwrap_or(0.0) * phi + direct.exposure(label)));
    let from_curve = curve_variance.map_or(0.0, |v| v * weight * weight);
    Estimate { p: 1.0 / mean, interval: Some(interval), variance: variance + from_curve, source: Source::Estimated }
}
