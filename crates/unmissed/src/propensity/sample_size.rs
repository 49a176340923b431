//! How many rows a useful interval needs.
//!
//! A label with n_j training positives among n rows and v_j positives among N controlled rows has an estimate of p_j whose
//! logarithm has variance `1/v_j + 1/n_j`, and `v_j` is about `N c_j n_j / (n p_j)`. So an interval from `p/f` to `p f` at a level
//! with normal quantile z takes `v = 1 / ((ln f / z)^2 - 1/n_j)` controlled positives, that is
//!
//! `N = v n p_j / (c_j n_j)` rows.
//!
//! Where `1/n_j >= (ln f / z)^2` no controlled set is large enough: the training count itself is too small. A mean over rows
//! whose interval is `+- h` with N rows is `+- t` with `N (h / t)^2` rows.
//!
//! # Assumes
//! Counts large enough for the normal approximation; new rows like the old ones.
//!
//! # Reference
//! The delta method for the logarithm of a ratio of two Poisson counts. By hand: n_j = 100 of n = 1000 rows, p = 1/2, c = 1/10,
//! f = 1.5 at 95 %: v = 1 / (0.04280 - 0.01) = 30.49, N = 30.49 * 1000 / 2 / 10 = 1524.6.
//!
//! ```
//! use unmissed::propensity::sample_size::{controlled_rows, rows_for};
//! let needed = controlled_rows(100, 1000, 0.5, 0.1, 1.5, 0.95).unwrap();
//! assert!((needed - 1524.6).abs() < 1.0, "{needed}");
//! assert_eq!(controlled_rows(5, 1000, 0.5, 0.1, 1.5, 0.95), None);
//! assert_eq!(rows_for(0.10, 400.0, 0.02), 10_000.0);
//! ```

use super::quantiles::normal_half_width;

/// Controlled rows for an interval of p within a factor; `None` where the training count is too small for any.
pub fn controlled_rows(count: u64, rows: u64, p: f64, rate: f64, factor: f64, level: f64) -> Option<f64> {
    let z = normal_half_width(level);
    let spare = (factor.ln() / z).powi(2) - 1.0 / count as f64;
    (spare > 0.0).then(|| rows as f64 * p / (spare * rate * count as f64))
}

/// Rows for an interval of `+- target`, when `rows` of them give `+- half_width`.
pub fn rows_for(half_width: f64, rows: f64, target: f64) -> f64 {
    rows * (half_width / target).powi(2)
}
