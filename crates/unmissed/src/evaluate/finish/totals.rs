//! Looks up totals of a tally. They are sums of row terms before the division by k or by a sum of discounts.

use super::{Finish, Key};
use crate::evaluate::plan::settings::Term;
use crate::evaluate::tally::exact_layout::slot;
use crate::evaluate::tally::fixed::{Degree, Scale};
use crate::evaluate::tally::layout::{D, DD, X, XD, XX};
use crate::evaluate::tally::precise::Precise;

/// What is summed of the row terms of a model.
#[derive(Clone, Copy)]
pub(super) enum Of {
    /// Row terms.
    X,
    /// Their squares.
    XX,
    /// Products with the best row terms.
    XD,
}

/// What is summed of the best row terms.
#[derive(Clone, Copy)]
pub(super) enum Best {
    /// Row terms.
    D,
    /// Their squares.
    DD,
}

impl Finish<'_> {
    /// The term of a metric that is a mean over rows, with its place.
    pub(super) fn term(&self, key: Key) -> Option<(usize, &Term)> {
        self.terms.iter().enumerate().find(|(_, term)| term.metric == key.metric)
    }

    fn place(&self, key: Key) -> usize {
        self.term(key).map_or(0, |(place, _)| place)
    }

    /// A total of a column: in fixed point where the term has a bound, exact where it has none.
    fn column_total(&self, key: Key, degree: Degree, bounded: usize, exact: impl Fn() -> usize) -> Precise {
        let (column, columns) = (key.column(), self.settings.columns.len());
        let Some((_, term)) = self.term(key) else { return f64::NAN.into() };
        if term.bounded(columns).contains(&column) {
            let scale = Scale::new(term.bound(key.ki, column, columns));
            return scale.value(degree, self.tally.totals.bounded[bounded + column]);
        }
        self.exact_total(exact())
    }

    pub(super) fn exact_total(&self, place: usize) -> Precise {
        self.tally.totals.exact[place].value()
    }

    /// A total of the row terms of a model.
    pub(super) fn total(&self, key: Key, model: usize, of: Of) -> Precise {
        let (degree, bounded, exact) = match of {
            Of::X => (Degree::Linear, X, slot::X),
            Of::XX => (Degree::Product, XX, slot::XX),
            Of::XD => (Degree::Product, XD, slot::XD),
        };
        let at = [key.group, model, self.place(key), key.ki];
        let start = self.layout.model(at[0], at[1], at[2], at[3]) + bounded * self.layout.width;
        self.column_total(key, degree, start, || self.exact.model(at, exact, key.column()))
    }

    /// A total of the best row terms.
    pub(super) fn best(&self, key: Key, of: Best) -> Precise {
        let (degree, bounded, exact) = match of {
            Best::D => (Degree::Linear, D, slot::D),
            Best::DD => (Degree::Product, DD, slot::DD),
        };
        let place = self.place(key);
        let start = self.layout.best(key.group, place, key.ki) + bounded * self.layout.width;
        self.column_total(key, degree, start, || self.exact.best(key.group, place, key.ki, exact, key.column()))
    }

    /// The total of products of row terms of two models.
    pub(super) fn cross(&self, key: Key, pair: usize) -> Precise {
        let at = [key.group, pair, self.place(key), key.ki];
        let start = self.layout.pair(at[0], at[1], at[2], at[3]);
        self.column_total(key, Degree::Product, start, || self.exact.pair(at, key.column()))
    }

    /// Rows whose term is numerically meaningless.
    pub(super) fn void(&self, key: Key, model: usize) -> f64 {
        let Some((place, term)) = self.term(key) else { return 0.0 };
        if !term.unbounded(self.settings.columns.len()).contains(&key.column()) {
            return 0.0;
        }
        self.exact_total(self.exact.model([key.group, model, place, key.ki], slot::VOID, key.column())).value()
    }

    /// A total of estimated mask variances of a model.
    pub(super) fn mask(&self, key: Key, model: usize, slot: usize) -> Precise {
        self.exact_total(self.exact.mask([key.group, model, self.place(key), key.ki], slot, key.column()))
    }

    /// The total of estimated mask variances of the best row terms.
    pub(super) fn mask_best(&self, key: Key) -> Precise {
        self.exact_total(self.exact.mask_best(key.group, self.place(key), key.ki, key.column()))
    }

    /// The total of estimated mask covariances of two models.
    pub(super) fn mask_cross(&self, key: Key, pair: usize) -> Precise {
        self.exact_total(self.exact.mask_pair([key.group, pair, self.place(key), key.ki], key.column()))
    }

    /// A total of shown weights of a model.
    pub(super) fn shown(&self, key: Key, model: usize, slot: usize) -> Precise {
        self.exact_total(self.exact.shown([key.group, model, self.place(key), key.ki], slot))
    }

    /// A total of shown weights of two models.
    pub(super) fn shown_cross(&self, key: Key, pair: usize, slot: usize) -> Precise {
        self.exact_total(self.exact.shown_pair([key.group, pair, self.place(key), key.ki], slot))
    }

    /// A total under row-dependent propensities.
    pub(super) fn by_row(&self, key: Key, of: usize, model: usize, slot: usize) -> Precise {
        self.exact_total(self.exact.row(of, [key.group, model, self.place(key), key.ki], slot))
    }

    /// A total of two models under row-dependent propensities.
    pub(super) fn by_row_cross(&self, key: Key, of: usize, pair: usize, slot: usize) -> Precise {
        self.exact_total(self.exact.row_pair(of, [key.group, pair, self.place(key), key.ki], slot))
    }
}
