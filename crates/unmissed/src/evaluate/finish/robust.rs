//! Doubly robust values: means over all rows, with standard errors over rows whatever the kind of interval.

use super::interval::{Measured, of_mean};
use super::{Finish, Key};
use crate::evaluate::plan::settings::Term;
use crate::evaluate::tally::exact_layout::slot;
use crate::evaluate::tally::precise::Precise;

impl Finish<'_> {
    fn robust_total(&self, key: Key, of: usize, model: usize, slot: usize) -> Precise {
        self.exact_total(self.exact.robust(of, key.group, model, key.ki, slot))
    }

    /// The value of one model with its variance.
    pub(super) fn measure_robust(&self, key: Key, term: &Term, of: usize, model: usize) -> Measured {
        let (n, scale) = (self.n_of(key), term.scale(key.ki));
        let x = self.robust_total(key, of, model, slot::ROBUST);
        let variance = of_mean(n, x, self.robust_total(key, of, model, slot::ROBUST_SQUARES));
        Measured::new((x / (n * scale).into()).value(), variance.map(|v| v / (scale * scale)))
    }

    /// The variance of the difference of two models.
    pub(super) fn robust_difference_variance(
        &self,
        key: Key,
        term: &Term,
        of: usize,
        pair: usize,
        (a, b): (usize, usize),
    ) -> Option<f64> {
        let scale = term.scale(key.ki);
        let total = |model: usize, slot: usize| self.robust_total(key, of, model, slot);
        let cross = self.exact_total(self.exact.robust_pair(of, key.group, pair, key.ki));
        let squares = total(a, slot::ROBUST_SQUARES) + total(b, slot::ROBUST_SQUARES) - cross - cross;
        of_mean(self.n_of(key), total(a, slot::ROBUST) - total(b, slot::ROBUST), squares).map(|v| v / (scale * scale))
    }
}
