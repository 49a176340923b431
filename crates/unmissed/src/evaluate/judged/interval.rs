//! Intervals of estimates from few judged pairs.
//!
//! A value that lies between two limits by its nature gets Wilson's score interval for its share of the way, with the number of
//! independent observations that would have the same variance, `share (1 - share) / variance`. It stays within the limits and has a width
//! also where all or none of the judged pairs were relevant. Where `value -+ t se` reaches farther within the limits, it is taken.
//! Differences get `value -+ t se`. Quantiles are those of Student's t, since
//! variances are estimated from few pairs.
//!
//! # Reference
//! Wilson, "Probable inference, the law of succession, and statistical inference", 1927; the effective number of observations is that of
//! Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts", 1998.
//!
//! ```
//! use unmissed::evaluate::judged::{t_quantile, wilson};
//! assert!((t_quantile(0.95, 10.0) - 2.2281388519649385).abs() < 1e-9);
//! // 8 of 10, z = 1.96 (R: prop.test(8, 10, correct = FALSE)).
//! let (low, high) = wilson(0.8, 0.016, (0.0, 1.0), 1.959963984540054);
//! assert!((low - 0.4901625).abs() < 1e-6 && (high - 0.9433178).abs() < 1e-6);
//! ```

use crate::normal::{half_width, two_sided};
use crate::propensity::quantiles::beta_quantile;
use statrs::function::beta::beta_reg;

/// How many standard errors the interval of a level reaches to each side, for so many degrees of freedom.
pub fn t_quantile(level: f64, freedom: f64) -> f64 {
    // From here on the normal quantile is as good, and the beta function is hard.
    if !freedom.is_finite() || freedom > 1e6 {
        return half_width(level);
    }
    let freedom = freedom.max(1.0);
    let x = beta_quantile(freedom / 2.0, 0.5, 1.0 - level);
    (freedom * (1.0 - x) / x).sqrt()
}

/// The probability that Student's t is farther from 0.
pub(super) fn t_two_sided(t: f64, freedom: f64) -> f64 {
    if !freedom.is_finite() || freedom > 1e6 {
        return two_sided(t);
    }
    let freedom = freedom.max(1.0);
    beta_reg(freedom / 2.0, 0.5, (freedom / (freedom + t * t)).clamp(0.0, 1.0))
}

/// The score interval of a value with this variance between two limits; `z` is the quantile.
pub fn wilson(value: f64, variance: f64, (lowest, highest): (f64, f64), z: f64) -> (f64, f64) {
    let width = highest - lowest;
    if !(width > 0.0 && variance > 0.0) {
        return (value, value);
    }
    let share = ((value - lowest) / width).clamp(0.0, 1.0);
    let variance = variance / (width * width);
    // At the limits the share says nothing about the number of observations. A share one standard error away has about the variance
    // that smoothed counts give to none of n, which is 1/n^2, and so about n observations.
    let away = variance.sqrt().min(0.5);
    let near = share.clamp(away, 1.0 - away);
    let count = near * (1.0 - near) / variance;
    let zz = z * z / count;
    let middle = (share + zz / 2.0) / (1.0 + zz);
    let half = z * (share * (1.0 - share) / count + zz / (4.0 * count)).sqrt() / (1.0 + zz);
    (lowest + width * (middle - half).max(0.0), lowest + width * (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_probabilities_belong_together() {
        for freedom in [1.0, 2.5, 30.0, 1e5, f64::INFINITY] {
            let t = t_quantile(0.9, freedom);
            assert!((t_two_sided(t, freedom) - 0.1).abs() < 1e-8, "{freedom}");
        }
        assert!((t_quantile(0.95, 1.0) - 12.706204736174698).abs() < 1e-6);
    }

    #[test]
    fn an_interval_has_a_width_at_the_limits_and_stays_within_them() {
        let (low, high) = wilson(0.0, 1e-4, (0.0, 1.0), 1.96);
        assert!(low == 0.0 && high > 0.005 && high < 0.1, "{high}");
        let (low, high) = wilson(1.2, 1e-4, (0.5, 1.0), 1.96);
        assert!(high == 1.0 && low < 0.995 && low > 0.9, "{low}");
        assert_eq!(wilson(0.3, 0.0, (0.0, 1.0), 1.96), (0.3, 0.3));
    }
}
