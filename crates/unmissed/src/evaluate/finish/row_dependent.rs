//! Values and variances under row-dependent propensities, and the ratio baseline that comes with their fit.
//!
//! The variance of a value is that of the rows (or masks) under the fit, and that of the means under the refits. A difference of two
//! models has the variance of the refits' differences: both were refitted to the same draws of rows. The ratio baseline is
//! `R x`, R later over observed hits and x the observed mean: `R^2 Var(x) + x^2 Var(R)`, with the spread of R over the refits.

use super::bootstrap::variance;
use super::interval::{Measured, of_mean};
use super::totals::Of;
use super::{Finish, Key};
use crate::evaluate::plan::settings::{Kind, RowFitted, Term};
use crate::evaluate::tally::exact_layout::slot;
use crate::evaluate::tally::precise::Precise;

/// How much numbers vary; 0 for fewer than two.
fn spread(values: &[f64]) -> f64 {
    variance(values.iter().copied()).unwrap_or(0.0)
}

/// How much the differences of paired numbers vary; those that have no partner are taken as independent.
fn paired_spread(a: &[f64], b: &[f64]) -> f64 {
    if a.len() == b.len() {
        return spread(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>());
    }
    spread(a) + spread(b)
}

impl Finish<'_> {
    fn fit(&self, of: usize, model: usize) -> Option<&RowFitted> {
        self.settings.row_dependent[of].fits[model].as_ref()
    }

    /// Means of the row terms under each refit.
    fn refits(&self, key: Key, term: &Term, of: usize, model: usize) -> Vec<f64> {
        let divisor = self.n() * term.scale(key.ki);
        let refits = self.fit(of, model).map_or(0, |fit| fit.refits);
        (1..=refits).map(|refit| self.by_row(key, of, model, slot::FITS + refit).value() / divisor).collect()
    }

    /// The inverse-propensity estimate of one model.
    pub(super) fn measure_by_row(&self, key: Key, term: &Term, of: usize, model: usize) -> Measured {
        let (n, scale) = (self.n(), term.scale(key.ki));
        let Some(fit) = self.fit(of, model) else { return Measured::default() };
        let x = self.by_row(key, of, model, slot::FITS);
        let of_rows = if self.settings.is_mask() {
            let mask = self.by_row(key, of, model, slot::ROW_MASK).value().max(0.0);
            Some(mask / (n * n) * fit.dependence[key.ki])
        } else {
            of_mean(n, x, self.by_row(key, of, model, slot::ROW_XX))
        };
        let mean = (x / (n * scale).into()).value();
        let value = if matches!(term.kind, Kind::Product) { 1.0 - mean } else { mean };
        let of_refits = spread(&self.refits(key, term, of, model));
        Measured::new(value, of_rows.map(|variance| variance / (scale * scale) + of_refits))
    }

    /// The variance of the difference of two models.
    pub(super) fn by_row_difference_variance(
        &self,
        key: Key,
        term: &Term,
        of: usize,
        pair: usize,
        (a, b): (usize, usize),
    ) -> Option<f64> {
        let (n, scale) = (self.n(), term.scale(key.ki));
        let of_rows = if self.settings.is_mask() {
            let cross = self.by_row_cross(key, of, pair, slot::ROW_MASK_CROSS);
            self.masked_difference(key, of, (a, b), slot::ROW_MASK, cross)
        } else {
            let total = |model: usize, slot: usize| self.by_row(key, of, model, slot);
            let cross = self.by_row_cross(key, of, pair, slot::ROW_CROSS);
            let squares = total(a, slot::ROW_XX) + total(b, slot::ROW_XX) - cross - cross;
            of_mean(n, total(a, slot::FITS) - total(b, slot::FITS), squares)
        };
        let of_refits = paired_spread(&self.refits(key, term, of, a), &self.refits(key, term, of, b));
        of_rows.map(|variance| variance / (scale * scale) + of_refits)
    }

    /// The mask variance of a difference of unscaled means.
    fn masked_difference(&self, key: Key, of: usize, (a, b): (usize, usize), slot: usize, cross: Precise) -> Option<f64> {
        let of_model = |model: usize| {
            let dependence = self.fit(of, model)?.dependence[key.ki];
            Some((self.by_row(key, of, model, slot).value() * dependence, dependence))
        };
        let ((x, of_x), (y, of_y)) = (of_model(a)?, of_model(b)?);
        Some((x + y - 2.0 * cross.value() * (of_x * of_y).sqrt()).max(0.0) / (self.n() * self.n()))
    }

    /// Later over observed hits, of the fit and of the refits.
    fn ratios(&self, key: Key, of: usize, model: usize) -> Option<(f64, &[f64])> {
        let ratios = &self.fit(of, model)?.ratios[key.metric][key.ki];
        ratios.split_first().map(|(fit, refits)| (*fit, refits))
    }

    /// The ratio baseline of one model.
    pub(super) fn measure_ratio(&self, key: Key, term: &Term, of: usize, model: usize) -> Measured {
        let (Some((ratio, refits)), Some(fit)) = (self.ratios(key, of, model), self.fit(of, model)) else {
            return Measured::default();
        };
        let (n, scale) = (self.n(), term.scale(key.ki));
        let x = self.total(key, model, Of::X);
        let of_rows = if self.settings.is_mask() {
            Some(self.by_row(key, of, model, slot::OBSERVED_MASK).value() / (n * n) * fit.dependence[key.ki])
        } else {
            of_mean(n, x, self.total(key, model, Of::XX))
        };
        let observed = (x / (n * scale).into()).value();
        let variance = of_rows.map(|v| ratio * ratio * v / (scale * scale) + observed * observed * spread(refits));
        Measured::new(observed * ratio, variance)
    }

    /// The variance of the difference of the ratio baselines of two models.
    pub(super) fn ratio_difference_variance(
        &self,
        key: Key,
        term: &Term,
        of: usize,
        pair: usize,
        (a, b): (usize, usize),
    ) -> Option<f64> {
        let ((ra, refits_a), (rb, refits_b)) = (self.ratios(key, of, a)?, self.ratios(key, of, b)?);
        let (n, scale) = (self.n(), term.scale(key.ki));
        let (x, y) = (self.total(key, a, Of::X), self.total(key, b, Of::X));
        let of_rows = if self.settings.is_mask() {
            let fits = (self.fit(of, a)?.dependence[key.ki], self.fit(of, b)?.dependence[key.ki]);
            let mask = |model: usize| self.by_row(key, of, model, slot::OBSERVED_MASK).value();
            let cross = self.by_row_cross(key, of, pair, slot::OBSERVED_MASK_CROSS).value() * (fits.0 * fits.1).sqrt();
            Some((ra * ra * mask(a) * fits.0 + rb * rb * mask(b) * fits.1 - 2.0 * ra * rb * cross).max(0.0) / (n * n))
        } else {
            let (pa, pb) = (Precise::from(ra), Precise::from(rb));
            let cross = pa * pb * self.cross(key, pair);
            let squares = pa * pa * self.total(key, a, Of::XX) + pb * pb * self.total(key, b, Of::XX) - cross - cross;
            of_mean(n, pa * x - pb * y, squares)
        };
        let mean = |total: Precise| (total / (n * scale).into()).value();
        let (mean_a, mean_b) = (mean(x), mean(y));
        let times = |refits: &[f64], mean: f64| refits.iter().map(|ratio| ratio * mean).collect::<Vec<f64>>();
        let of_refits = paired_spread(&times(refits_a, mean_a), &times(refits_b, mean_b));
        of_rows.map(|variance| variance / (scale * scale) + of_refits)
    }
}
