//! Quantiles behind all intervals: normal, beta, gamma, and the Clopper-Pearson interval.
//!
//! Clopper-Pearson, for v successes of t trials at level 1 - delta: from the delta/2 quantile of Beta(v, t - v + 1) to the
//! 1 - delta/2 quantile of Beta(v + 1, t - v); 0 and 1 at the ends.
//!
//! # Assumes
//! Independent trials. The interval is exact in the sense that it covers at least as often as it says, often more.
//!
//! # Reference
//! Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 1934.
//! None of 10 gives 1 - 0.025^(1/10) as the upper end:
//!
//! ```
//! use unmissed::propensity::quantiles::clopper_pearson;
//! let interval = clopper_pearson(0, 10, 0.95);
//! assert_eq!(interval.low, 0.0);
//! assert!((interval.high - (1.0 - 0.025f64.powf(0.1))).abs() < 1e-9);
//! ```

use super::Interval;
use statrs::function::{beta, gamma};

pub use crate::normal::half_width as normal_half_width;

/// The interval for the success probability of `successes` out of `trials`.
pub fn clopper_pearson(successes: u64, trials: u64, level: f64) -> Interval {
    let (v, rest) = (successes as f64, trials.saturating_sub(successes) as f64);
    let tail = (1.0 - level) / 2.0;
    Interval {
        low: if successes == 0 { 0.0 } else { beta_quantile(v, rest + 1.0, tail) },
        high: if rest == 0.0 { 1.0 } else { beta_quantile(v + 1.0, rest, 1.0 - tail) },
    }
}

/// The quantile of Beta(a, b) at `probability`. NaN unless both shapes are positive.
pub fn beta_quantile(a: f64, b: f64, probability: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite()) {
        return f64::NAN;
    }
    let start = beta::inv_beta_reg(a, b, probability);
    refine(start, 0.0, 1.0, probability, |x| beta::beta_reg(a, b, x))
}

/// The quantile of Gamma(shape, rate 1) at `probability`. NaN unless the shape is positive.
pub fn gamma_quantile(shape: f64, probability: f64) -> f64 {
    if !(shape > 0.0 && shape.is_finite()) {
        return f64::NAN;
    }
    // Wilson and Hilferty: the cube root is nearly normal.
    let z = normal_half_width(2.0 * probability - 1.0);
    let spread = 1.0 / (9.0 * shape);
    let start = shape * (1.0 - spread + z * spread.sqrt()).max(0.0).powi(3);
    let far = shape + 40.0 * shape.sqrt() + 200.0;
    refine(start, 0.0, far, probability, |x| if x > 0.0 { gamma::gamma_lr(shape, x) } else { 0.0 })
}

/// Solves `cdf(x) = probability` between `low` and `high`: secant steps from `start` while they stay inside, and a halving of
/// the bracket in every third step, so that a flat stretch cannot hold it up.
fn refine(start: f64, mut low: f64, mut high: f64, probability: f64, cdf: impl Fn(f64) -> f64) -> f64 {
    let mut x = if start > low && start < high { start } else { 0.5 * (low + high) };
    let mut last: Option<(f64, f64)> = None;
    for step in 1..300 {
        let gap = cdf(x) - probability;
        if gap < 0.0 {
            low = x
        } else {
            high = x
        }
        if gap.abs() <= 1e-15 || high - low <= 1e-14 * high {
            break;
        }
        let secant = match last {
            _ if step % 3 == 0 => f64::NAN,
            Some((other, other_gap)) => x - gap * (x - other) / (gap - other_gap),
            // A first guess is good to several digits: step a little past it to bracket the root.
            None => x * if gap < 0.0 { 1.0 + 1e-6 } else { 1.0 - 1e-6 },
        };
        last = Some((x, gap));
        x = if secant > low && secant < high { secant } else { 0.5 * (low + high) };
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `scipy.stats.binomtest(k, n).proportion_ci(0.95, 'exact')`.
    #[test]
    fn clopper_pearson_matches_scipy() {
        for (successes, trials, low, high) in CLOPPER_PEARSON {
            let interval = clopper_pearson(successes, trials, 0.95);
            assert!((interval.low - low).abs() < 1e-10, "{successes}/{trials}: {interval:?}");
            assert!((interval.high - high).abs() < 1e-10, "{successes}/{trials}: {interval:?}");
        }
    }
    const CLOPPER_PEARSON: [(u64, u64, f64, f64); 5] = [
        (1, 10, 0.00252857854446257, 0.445016117028195),
        (5, 10, 0.187086028447404, 0.812913971552595),
        (10, 10, 0.691502892181237, 1.0),
        (3, 1000, 0.000619099931649917, 0.00874202323865765),
        (250, 1000, 0.223430406264679, 0.278050006223756),
    ];

    /// scipy 1.17.1: `scipy.stats.gamma.ppf(probability, shape)`.
    #[test]
    fn gamma_quantiles_match_scipy() {
        for (shape, probability, expected) in GAMMA {
            let found = gamma_quantile(shape, probability);
            assert!((found / expected - 1.0).abs() < 1e-9, "{shape} {probability}: {found}");
        }
    }
    const GAMMA: [(f64, f64, f64); 6] = [
        (0.5, 0.025, 0.000491034558587628),
        (0.5, 0.975, 2.511943093657444),
        (1.0, 0.5, std::f64::consts::LN_2),
        (7.5, 0.025, 3.1310688975216263),
        (400.0, 0.975, 440.13766844657533),
        (1e5, 0.025, 99381.15266374472),
    ];
}
