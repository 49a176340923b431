//! Numbers with twice the digits of a float: what differences of large totals need.
//!
//! A variance is a small difference of large sums, `sum x^2 - (sum x)^2 / n`. Totals are kept without rounding, and here the few
//! operations that follow keep about 106 bits, so that nothing is lost where 1e8 squared is subtracted from 1e8 squared.
//!
//! # Reference
//! Dekker, "A floating-point technique for extending the available precision", 1971.

use std::ops::{Add, Div, Mul, Sub};

/// The unevaluated sum of two floats, the second at most half a unit in the last place of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::evaluate) struct Precise {
    high: f64,
    low: f64,
}

impl Precise {
    /// A sum of two floats, of which the first is the larger one.
    pub(in crate::evaluate) fn new(high: f64, low: f64) -> Precise {
        let sum = high + low;
        Precise { high: sum, low: low - (sum - high) }
    }

    /// The nearest float.
    pub(in crate::evaluate) fn value(self) -> f64 {
        self.high
    }

    /// Multiplied by two to a power.
    pub(in crate::evaluate) fn scaled(self, power: i32) -> Precise {
        // Two steps, so that neither factor leaves the range of floats.
        let (first, second) = (power / 2, power - power / 2);
        let times = |x: f64| x * power_of_two(first) * power_of_two(second);
        Precise { high: times(self.high), low: times(self.low) }
    }
}

/// `2^power` for powers that floats have.
pub(in crate::evaluate) fn power_of_two(power: i32) -> f64 {
    f64::from_bits(((power.clamp(-1022, 1023) + 1023) as u64) << 52)
}

impl From<f64> for Precise {
    fn from(value: f64) -> Precise {
        Precise { high: value, low: 0.0 }
    }
}

impl From<u64> for Precise {
    fn from(value: u64) -> Precise {
        let high = value as f64;
        // The difference is at most half a unit in the last place of 64 bits.
        Precise::new(high, (i128::from(value) - high as i128) as f64)
    }
}

impl Add for Precise {
    type Output = Precise;

    fn add(self, other: Precise) -> Precise {
        let sum = self.high + other.high;
        let part = sum - self.high;
        let rest = (self.high - (sum - part)) + (other.high - part);
        Precise::new(sum, rest + self.low + other.low)
    }
}

impl Sub for Precise {
    type Output = Precise;

    fn sub(self, other: Precise) -> Precise {
        self + Precise { high: -other.high, low: -other.low }
    }
}

impl Mul for Precise {
    type Output = Precise;

    fn mul(self, other: Precise) -> Precise {
        let product = self.high * other.high;
        let rest = self.high.mul_add(other.high, -product);
        Precise::new(product, rest + self.high * other.low + self.low * other.high)
    }
}

impl Div for Precise {
    type Output = Precise;

    fn div(self, other: Precise) -> Precise {
        let first = self.high / other.high;
        if !first.is_finite() {
            return first.into();
        }
        let rest = self - other * first.into();
        Precise::new(first, rest.high / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_floats_lose_is_kept() {
        let large = Precise::from(1e8) + Precise::from(1e-8);
        let difference = large * large - Precise::from(1e16);
        assert_eq!(difference.value(), 2.0 + 1e-16, "(1e8 + 1e-8)^2 - 1e16");
        assert_eq!((Precise::from(1.0) / Precise::from(3.0)).value(), 1.0 / 3.0);
        let third = Precise::from(1.0) / Precise::from(3.0);
        assert!((third * Precise::from(3.0) - Precise::from(1.0)).value().abs() < 1e-31);
        assert_eq!(Precise::from(u64::MAX) - Precise::from(u64::MAX - 1), Precise::from(1.0));
        assert_eq!(Precise::from(3.0).scaled(-1500).scaled(1500).value(), 0.0, "beyond the range of floats");
        assert_eq!(Precise::from(3.0).scaled(700).scaled(-700).value(), 3.0);
        assert!((Precise::from(1.0) / Precise::from(0.0)).value().is_infinite());
    }
}
