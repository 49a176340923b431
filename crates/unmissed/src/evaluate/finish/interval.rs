//! From sums of row terms to standard errors and intervals.
//!
//! Two questions, two standard errors. `population`: rows are a sample, and another sample would have given other values:
//! `SE^2 = sum (x_i - mean)^2 / (n (n - 1))`, for ratios `N / D` by the delta method with `x_i - R d_i` for `x_i`. `mask`: these
//! rows, and only which labels are missing is random: `SE^2 = n^-2 sum of estimated row variances`, see `evaluate/mask.rs` for those. Intervals are
//! `value -+ z SE` with z the normal quantile of the level.

use crate::evaluate::tally::precise::Precise;
use crate::normal::half_width;

/// A value with its standard error, where there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) value: Option<f64>,
    pub(super) variance: Option<f64>,
}

impl Measured {
    /// Numbers that are not finite are no numbers.
    pub(super) fn new(value: f64, variance: Option<f64>) -> Measured {
        let value = Some(value).filter(|v| v.is_finite());
        Measured { value, variance: variance.filter(|v| value.is_some() && v.is_finite()).map(|v| v.max(0.0)) }
    }

    pub(super) fn se(&self) -> Option<f64> {
        self.variance.map(f64::sqrt)
    }

    /// The ends of the interval.
    pub(super) fn ends(&self, level: f64) -> (Option<f64>, Option<f64>) {
        match (self.value, self.se()) {
            (Some(value), Some(se)) => (Some(value - half_width(level) * se), Some(value + half_width(level) * se)),
            _ => (None, None),
        }
    }
}

/// The variance of a mean over rows from the sum and the sum of squares; unknown for a single row. Both are totals without
/// rounding, so that their difference is right where it is small.
pub(super) fn of_mean(n: f64, sum: Precise, squares: Precise) -> Option<f64> {
    (n > 1.0).then(|| (squares - sum * sum / n.into()).value().max(0.0) / (n * (n - 1.0)))
}

/// `nn - 2 R nd + R^2 dd`, the sum of squares of `x - R d`.
fn of_residuals(ratio: Precise, (nn, nd, dd): (Precise, Precise, Precise)) -> f64 {
    (nn - ratio * nd - ratio * nd + ratio * ratio * dd).value().max(0.0)
}

/// The variance of `N / D` when only masks are random, from estimated variances and covariance of N and D.
pub(super) fn of_masked_ratio(ratio: Precise, d: Precise, squares: (Precise, Precise, Precise)) -> Option<f64> {
    let d = d.value();
    (d > 0.0).then(|| of_residuals(ratio, squares) / (d * d))
}

/// The variance of `N / D` by the delta method, from sums of squares and products over rows.
pub(super) fn of_ratio(n: f64, ratio: Precise, d: Precise, squares: (Precise, Precise, Precise)) -> Option<f64> {
    let d = d.value();
    (n > 1.0 && d > 0.0).then(|| of_residuals(ratio, squares) * n / (n - 1.0) / (d * d))
}
