//! Values and variances under propensities per label.

use super::interval::{Measured, of_masked_ratio, of_mean, of_ratio};
use super::totals::{Best, Of};
use super::{Finish, Key};
use crate::evaluate::finish::gains::{self, Cell};
use crate::evaluate::plan::settings::{Kind, Term};
use crate::evaluate::tally::exact_layout::slot;
use crate::evaluate::tally::precise::Precise;
use crate::metrics::Estimator;

impl Finish<'_> {
    fn cell<'b>(&self, key: Key, term: &'b Term) -> Cell<'b> {
        Cell { term, ki: key.ki, group: key.group, column: key.column() }
    }

    /// How far too low a clipped value can be in expectation.
    pub(super) fn bias(&self, key: Key, model: usize) -> Option<f64> {
        let (_, term) = self.term(key).filter(|_| key.estimator == Estimator::Clipped)?;
        gains::clipping_bias(self.tally, self.n(), self.cell(key, term), model)
    }

    /// Whether there is a mask variance: for what is observed only with propensities, and not for products of labels that
    /// were shown without replacement.
    fn has_masked(&self, key: Key, term: &Term) -> bool {
        let without_replacement = matches!(term.kind, Kind::Product) && self.settings.controlled.is_some();
        key.column() != 0 || (!self.settings.propensity_columns().is_empty() && !without_replacement)
    }

    /// The value of one model with its variance.
    pub(super) fn measure_column(&self, key: Key, term: &Term, model: usize) -> Measured {
        if self.void(key, model) > 0.0 {
            return Measured::default();
        }
        let (n, is_mask) = (self.n(), self.settings.is_mask());
        let (x, xx) = (self.total(key, model, Of::X), self.total(key, model, Of::XX));
        match key.estimator {
            Estimator::Normalized => {
                let d = self.best(key, Best::D);
                let ratio = x / d;
                let variance = if is_mask {
                    let masked = (self.mask(key, model, slot::MASK), self.mask(key, model, slot::MASK_XD), self.mask_best(key));
                    of_masked_ratio(ratio, d, masked)
                } else {
                    of_ratio(n, ratio, d, (xx, self.total(key, model, Of::XD), self.best(key, Best::DD)))
                };
                Measured::new(ratio.value(), variance.map(|v| v + self.uncertainty(key, model, None)))
            }
            Estimator::Hajek => {
                let [h, hh, xh, slots] = [slot::H, slot::HH, slot::XH, slot::SLOTS].map(|slot| self.shown(key, model, slot));
                let (ratio, share) = (x / h, slots.value() / (n * term.scale(key.ki)));
                let variance = if is_mask {
                    // Shown hits are among the shown pairs: their squares are their covariances with the shown weight.
                    let hits = self.mask(key, model, slot::MASK);
                    of_masked_ratio(ratio, h, (hits, hits, self.shown(key, model, slot::MASK_H)))
                } else {
                    of_ratio(n, ratio, h, (xx, xh, hh))
                };
                Measured::new(ratio.value() * share, variance.map(|v| v * share * share))
            }
            _ => {
                let scale = term.scale(key.ki);
                let mean = (x / (n * scale).into()).value();
                let value = if matches!(term.kind, Kind::Product) { 1.0 - mean } else { mean };
                let variance = if !is_mask {
                    of_mean(n, x, xx)
                } else if self.has_masked(key, term) {
                    estimated(self.mask(key, model, slot::MASK).value(), 0.0).map(|v| v / (n * n))
                } else {
                    None
                };
                Measured::new(value, variance.map(|v| v / (scale * scale) + self.uncertainty(key, model, None)))
            }
        }
    }

    /// The variance of the difference of two models.
    pub(super) fn column_difference_variance(
        &self,
        key: Key,
        term: &Term,
        pair: usize,
        (a, b): (usize, usize),
        (of_a, of_b): (Measured, Measured),
    ) -> Option<f64> {
        let (n, is_mask, scale) = (self.n(), self.settings.is_mask(), term.scale(key.ki));
        let both = |of: Of| (self.total(key, a, of), self.total(key, b, of));
        let masks = |slot: usize| (self.mask(key, a, slot), self.mask(key, b, slot));
        // With the same denominator for both, the difference is one ratio.
        let cross = if is_mask { self.mask_cross(key, pair) } else { self.cross(key, pair) };
        let squares = |(x, y): (Precise, Precise)| x + y - cross - cross;
        let variance = match key.estimator {
            Estimator::Hajek => return self.hajek_difference_variance(key, term, pair, (a, b), (of_a, of_b)),
            Estimator::Normalized => {
                let (d, (x, y)) = (self.best(key, Best::D), both(Of::X));
                let variance = if is_mask {
                    let (ad, bd) = masks(slot::MASK_XD);
                    of_masked_ratio((x - y) / d, d, (squares(masks(slot::MASK)), ad - bd, self.mask_best(key)))
                } else {
                    let (ad, bd) = both(Of::XD);
                    of_ratio(n, (x - y) / d, d, (squares(both(Of::XX)), ad - bd, self.best(key, Best::DD)))
                };
                return variance.map(|v| v + self.uncertainty(key, a, Some(b)));
            }
            _ if !is_mask => {
                let (x, y) = both(Of::X);
                of_mean(n, x - y, squares(both(Of::XX)))
            }
            _ if self.has_masked(key, term) => {
                let (of_a, of_b) = masks(slot::MASK);
                estimated(squares((of_a, of_b)).value(), of_a.value().abs() + of_b.value().abs()).map(|v| v / (n * n))
            }
            _ => None,
        };
        variance.map(|v| v / (scale * scale) + self.uncertainty(key, a, Some(b)))
    }

    fn hajek_difference_variance(
        &self,
        key: Key,
        term: &Term,
        pair: usize,
        (a, b): (usize, usize),
        (of_a, of_b): (Measured, Measured),
    ) -> Option<f64> {
        let (n, scale) = (self.n(), term.scale(key.ki));
        let ratio = |model: usize| (self.total(key, model, Of::X) / self.shown(key, model, slot::H)).value();
        let share = |model: usize| (self.shown(key, model, slot::SLOTS) / self.shown(key, model, slot::H)).value() / (n * scale);
        let cross_of = |slot: usize| self.shown_cross(key, pair, slot);
        let (ra, rb) = (Precise::from(ratio(a)), Precise::from(ratio(b)));
        let products = if self.settings.is_mask() {
            let cross = self.mask_cross(key, pair);
            (cross - (ra + rb) * cross + ra * rb * cross_of(slot::CROSS_HH)).value()
        } else {
            let cross = self.cross(key, pair) - rb * cross_of(slot::CROSS_XH) - ra * cross_of(slot::CROSS_HX);
            (cross + ra * rb * cross_of(slot::CROSS_HH)).value() * n / (n - 1.0)
        };
        let covariance = products * share(a) * share(b);
        of_a.variance.zip(of_b.variance).map(|(a, b)| (a + b - 2.0 * covariance).max(0.0))
    }
}

/// A variance that was estimated without bias, and so can come out below 0: then it says nothing, unless that is rounding of terms of this
/// size.
fn estimated(variance: f64, size: f64) -> Option<f64> {
    (variance >= -1e-12 * size).then(|| variance.max(0.0))
}
