//! Ratios of two sums over rows, hits and relevant labels: by the delta method. Masks have no formula for them.

use super::interval::{Measured, of_ratio};
use super::totals::{Best, Of};
use super::{Finish, Key};

impl Finish<'_> {
    /// The value of one model with its variance.
    pub(super) fn measure_pooled(&self, key: Key, model: usize) -> Measured {
        let d = self.best(key, Best::D);
        let ratio = self.total(key, model, Of::X) / d;
        let squares = (self.total(key, model, Of::XX), self.total(key, model, Of::XD), self.best(key, Best::DD));
        Measured::new(ratio.value(), if self.settings.is_mask() { None } else { of_ratio(self.n(), ratio, d, squares) })
    }

    /// The variance of the difference of two models, which is one ratio.
    pub(super) fn pooled_difference_variance(&self, key: Key, pair: usize, (a, b): (usize, usize)) -> Option<f64> {
        if self.settings.is_mask() {
            return None;
        }
        let both = |of: Of| (self.total(key, a, of), self.total(key, b, of));
        let ((x, y), (xx, yy), (xd, yd)) = (both(Of::X), both(Of::XX), both(Of::XD));
        let (d, cross) = (self.best(key, Best::D), self.cross(key, pair));
        of_ratio(self.n(), (x - y) / d, d, (xx + yy - cross - cross, xd - yd, self.best(key, Best::DD)))
    }
}
