//! Values and variances of the omega estimate.
//!
//! A value is the mean of the row terms of the test rows plus the mean residual e of the matched rows. Its error against the later labels of
//! these test rows is the difference of two means of residuals: `s^2(e) (1/n + 1/N)`. Against other rows it is
//! `s^2(row terms)/n + s^2(e)/N`. Differences of models have the same with the differences of both models' terms and residuals.
//!
//! The first is also what can be expected of any estimate from the matched rows that knows no more than the regression: on
//! average it is off by `sqrt(2/pi)` standard errors, which is printed beside estimates from matched rows.

use super::interval::{Measured, of_mean};
use super::{Finish, Key, Source};
use crate::evaluate::plan::omega::Omega;
use crate::evaluate::plan::settings::Term;
use crate::evaluate::tally::exact_layout::slot;
use crate::evaluate::tally::precise::Precise;
use crate::metrics::Estimator;

/// The means of two samples, each of a size, a sum and a sum of squares, and their difference in standard errors.
pub(super) fn two_samples(a: (f64, Precise, Precise), b: (f64, Precise, Precise)) -> Option<(f64, f64, f64)> {
    let mean = |(n, sum, _): (f64, Precise, Precise)| sum.value() / n;
    let variance = |(n, sum, squares): (f64, Precise, Precise)| of_mean(n, sum, squares);
    let z = (mean(a) - mean(b)) / (variance(a)? + variance(b)?).sqrt();
    z.is_finite().then(|| (mean(a), mean(b), z))
}

impl Finish<'_> {
    fn omega_cell(&self, key: Key, model: usize) -> [usize; 4] {
        [key.group, model, self.term(key).map_or(0, |(place, _)| place), key.ki]
    }

    fn omega_total(&self, key: Key, model: usize, slot: usize) -> Precise {
        self.exact_total(self.exact.omega(self.omega_cell(key, model), slot))
    }

    /// The variance of the mean residuals, of unscaled terms: of one model, or of a difference.
    fn omega_residuals(&self, omega: &Omega, key: Key, a: usize, b: Option<(usize, usize)>) -> Option<f64> {
        let variance = |model: usize| omega.variance(self.settings, self.terms.len(), self.omega_cell(key, model));
        match b {
            None => variance(a),
            Some((pair, b)) => {
                let cell = self.omega_cell(key, pair);
                let covariance = omega.covariance(self.settings, self.terms.len(), cell, (a, b))?;
                Some((variance(a)? + variance(b)? - 2.0 * covariance).max(0.0))
            }
        }
    }

    /// What both parts of the estimate come to.
    fn omega_variance(&self, omega: &Omega, of_rows: Option<f64>, of_residuals: Option<f64>) -> Option<f64> {
        let (n, matched) = (self.n(), omega.rows as f64);
        let of_residuals = of_residuals?;
        if self.settings.is_mask() {
            Some(of_residuals * (1.0 / n + 1.0 / matched))
        } else {
            Some(of_rows? + of_residuals / matched)
        }
    }

    /// The value of one model with its variance.
    pub(super) fn measure_omega(&self, key: Key, term: &Term, model: usize) -> Measured {
        let Some(omega) = &self.settings.omega else { return Measured::default() };
        let (n, scale) = (self.n(), term.scale(key.ki));
        let x = self.omega_total(key, model, slot::OMEGA);
        let of_rows = of_mean(n, x, self.omega_total(key, model, slot::OMEGA_SQUARES));
        let variance = self.omega_variance(omega, of_rows, self.omega_residuals(omega, key, model, None));
        let residual = omega.mean(self.settings, self.terms.len(), self.omega_cell(key, model));
        Measured::new((x.value() / n + residual) / scale, variance.map(|v| v / (scale * scale)))
    }

    /// The variance of the difference of two models.
    pub(super) fn omega_difference_variance(&self, key: Key, term: &Term, pair: usize, (a, b): (usize, usize)) -> Option<f64> {
        let omega = self.settings.omega.as_ref()?;
        let (n, scale) = (self.n(), term.scale(key.ki));
        let total = |model: usize, slot: usize| self.omega_total(key, model, slot);
        let cross = self.exact_total(self.exact.omega_pair(self.omega_cell(key, pair)));
        let squares = total(a, slot::OMEGA_SQUARES) + total(b, slot::OMEGA_SQUARES) - cross - cross;
        let of_rows = of_mean(n, total(a, slot::OMEGA) - total(b, slot::OMEGA), squares);
        let of_residuals = self.omega_residuals(omega, key, a, Some((pair, b)));
        self.omega_variance(omega, of_rows, of_residuals).map(|v| v / (scale * scale))
    }

    /// How far an estimate from matched rows is expected to be from the later labels of these rows, in either direction: no
    /// estimate that knows no more is nearer on average.
    pub(super) fn expected_error(&self, key: Key, model: usize) -> Option<f64> {
        let is_matched = matches!(
            (key.estimator, key.source),
            (Estimator::Omega | Estimator::Ratio, _) | (Estimator::Unbiased, Source::RowDependent(_))
        );
        let omega = self.settings.omega.as_ref().filter(|omega| is_matched && omega.models[model])?;
        let (_, term) = self.term(key)?;
        let variance = self.omega_residuals(omega, key, model, None)? * (1.0 / self.n() + 1.0 / omega.rows as f64);
        Some((variance * std::f64::consts::FRAC_2_PI).sqrt() / term.scale(key.ki)).filter(|error| *error > 0.0)
    }
}
