//! The standard normal distribution.

use statrs::function::erf::{erf_inv, erfc, erfc_inv};
use std::f64::consts::SQRT_2;

/// How many standard errors the interval of a level reaches to each side of a normal estimate: 1.96 at 0.95. A negative level
/// gives the negative number, so that the quantile at a probability p is that of the level 2 p - 1.
///
/// ```
/// use unmissed::propensity::quantiles::normal_half_width;
/// assert!((normal_half_width(0.95) - 1.959963984540054).abs() < 1e-12);
/// assert_eq!(normal_half_width(-0.5), -normal_half_width(0.5));
/// ```
pub fn half_width(level: f64) -> f64 {
    SQRT_2 * erf_inv(level)
}

/// The probability of being farther from 0 than `z`.
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

/// The probability of being at most `z`.
pub(crate) fn at_most(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The number that is exceeded with probability 1 - `u`, finite also for 0 and 1. More exact than [`half_width`] for small `u`.
pub(crate) fn quantile(u: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * u.clamp(1e-300, 1.0 - 1e-16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_agree() {
        for z in [-6.0, -1.5, 0.0, 0.3, 2.0, 5.0] {
            assert!((quantile(at_most(z)) - z).abs() < 1e-6, "{z}");
            assert!((two_sided(z) - 2.0 * at_most(-f64::abs(z))).abs() < 1e-15, "{z}");
            assert!((half_width(1.0 - two_sided(z)) - f64::abs(z)).abs() < 1e-6, "{z}");
        }
        assert!(quantile(0.0).is_finite() && quantile(1.0).is_finite());
    }
}
