//! Ratios of two sums over rows, hits and relevant labels: by the delta method.
//!
//! `R = X / D`, hits over relevant labels, each weighed by q. Over rows the variance is that of `(x_i - R d_i) / D`. Given the rows it is that of
//! the masks, `D^-2 sum over observed pairs of q (q - 1) (t - R)^2`, t being 1 in the top k and 0 elsewhere; of a difference of models with
//! `t_a - t_b - (R_a - R_b)`. It is taken over the rows that the tally has kept.

use super::interval::{Measured, of_ratio};
use super::totals::{Best, Of};
use super::uncertainty::RowSlopes;
use super::{Finish, Key};
use crate::evaluate::tally::row_sample::RowSample;
use crate::metrics::Estimator;

impl Finish<'_> {
    /// The value of one model with its variance.
    pub(super) fn measure_pooled(&self, key: Key, model: usize) -> Measured {
        let d = self.best(key, Best::D);
        let ratio = self.total(key, model, Of::X) / d;
        let squares = (self.total(key, model, Of::XX), self.total(key, model, Of::XD), self.best(key, Best::DD));
        let spread =
            if self.settings.is_mask() { self.pooled_masks(key, model, None) } else { of_ratio(self.n(), ratio, d, squares) };
        Measured::new(ratio.value(), spread.map(|v| v + self.uncertainty(key, model, None)))
    }

    /// The variance of the difference of two models, which is one ratio.
    pub(super) fn pooled_difference_variance(&self, key: Key, pair: usize, (a, b): (usize, usize)) -> Option<f64> {
        let both = |of: Of| (self.total(key, a, of), self.total(key, b, of));
        let spread = if self.settings.is_mask() {
            self.pooled_masks(key, a, Some(b))
        } else {
            let ((x, y), (xx, yy), (xd, yd)) = (both(Of::X), both(Of::XX), both(Of::XD));
            let (d, cross) = (self.best(key, Best::D), self.cross(key, pair));
            of_ratio(self.n(), (x - y) / d, d, (xx + yy - cross - cross, xd - yd, self.best(key, Best::DD)))
        };
        spread.map(|v| v + self.uncertainty(key, a, Some(b)))
    }

    /// The slopes of the ratio in the inverse propensities of the observed labels, row by row.
    pub(super) fn pooled_slopes(&self, key: Key, model: usize, rows: &RowSample) -> RowSlopes {
        let (d, k) = (self.best(key, Best::D), self.settings.ks()[key.ki]);
        let (ratio, weight) = ((self.total(key, model, Of::X) / d).value(), self.row_weight(rows) / d.value());
        let mut slopes = Vec::new();
        for row in 0..rows.len() {
            let labels = self.ranked(key, model, rows, row).into_iter();
            let is_top = |rank: u32| f64::from(u8::from((rank as usize) < k));
            slopes.extend(labels.map(|(label, rank)| (label, row as u32, weight * (is_top(rank) - ratio))));
        }
        slopes
    }

    /// The variance over masks; none of observed values, whose masks have no propensities.
    fn pooled_masks(&self, key: Key, a: usize, b: Option<usize>) -> Option<f64> {
        let rows = self.tally.sample.as_ref().filter(|rows| rows.len() > 0 && key.estimator == Estimator::Unbiased)?;
        let mut slopes = self.pooled_slopes(key, a, rows);
        if let Some(b) = b {
            // Both models have the labels of rows in the same order.
            slopes.iter_mut().zip(self.pooled_slopes(key, b, rows)).for_each(|(slope, other)| slope.2 -= other.2);
        }
        let variance = |(label, _, slope): &(u32, u32, f64)| {
            let q = self.inverse(key, *label);
            slope * slope * (q * (q - 1.0)).max(0.0)
        };
        Some(slopes.iter().map(variance).sum::<f64>() / self.row_weight(rows))
    }
}
