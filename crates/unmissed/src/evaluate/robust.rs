//! Doubly robust row terms: guesses for every pair, corrected by the pairs whose status is known.
//!
//! Observed labels alone allow no such estimate: `eta + (y~ - p eta)/p` is `y~/p` whatever eta is. Known pairs allow two:
//!
//! - [`shown_term`], (A): pairs shown at a known rate c, `(nk)^-1 sum [mu + (s/c)(y - mu)]`, s = 1 for pairs that were shown.
//!   Unbiased for any mu that was not fitted to the same rows.
//! - [`later_term`], (B): later labels on some rows, `(nk)^-1 sum [m + (V_i/rho_i)(y - m)]` with `m = y~ + (1 - y~) omega`,
//!   `omega = P(y = 1 | y~ = 0, x)` and `rho = P(V = 1 | x, y~)`. Consistent if omega or rho is right.
//!
//! An evaluation takes the guesses mu and omega by rank, each row's from the other parts of the rows (cross-fitting).
//!
//! # Assumes
//! (A) The rate is right. (B) V is independent of y given x and y~, rho > 0, omega comes from other rows, and the later labels are the
//! truth (else the target is what they say).
//!
//! # Reference
//! Robins, Rotnitzky and Zhao, "Estimation of regression coefficients when some regressors are not always observed", 1994. By hand:
//! a guess of 0.5 for a pair that was shown at rate 0.25 and is relevant becomes 0.5 + (1 - 0.5)/0.25.
//!
//! ```
//! use unmissed::evaluate::robust::{later_term, shown_term};
//! assert_eq!(shown_term(0.5, Some(true), 0.25), 2.5);
//! assert_eq!(shown_term(0.5, None, 0.25), 0.5);
//! assert_eq!(later_term(0.5, true, Some(true), 0.5), 1.0);
//! assert_eq!(later_term(0.5, false, Some(false), 0.5), -0.5);
//! ```

/// (A): `status` is whether the pair is relevant, known when it was shown, which happened with probability `rate`.
pub fn shown_term(guess: f64, status: Option<bool>, rate: f64) -> f64 {
    match status {
        Some(is_relevant) => guess + (f64::from(u8::from(is_relevant)) - guess) / rate,
        None => guess,
    }
}

/// (B): `guess` is omega, and `status` whether the later labels have the label, known on rows that have them, which happened with
/// probability `rho`.
pub fn later_term(guess: f64, is_observed: bool, status: Option<bool>, rho: f64) -> f64 {
    shown_term(if is_observed { 1.0 } else { guess }, status, rho)
}

/// `P(y = 1 | y~ = 0)` from `eta = P(y = 1)` and the propensity: `eta (1 - p) / (1 - p eta)`.
///
/// ```
/// use unmissed::evaluate::robust::omega;
/// assert!((omega(0.5, 0.5) - 1.0 / 3.0).abs() < 1e-15);
/// assert_eq!(omega(0.5, 1.0), 0.0);
/// ```
pub fn omega(eta: f64, p: f64) -> f64 {
    if eta == 1.0 && p == 1.0 { 0.0 } else { eta * (1.0 - p) / (1.0 - p * eta) }
}
