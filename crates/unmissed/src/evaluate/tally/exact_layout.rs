//! Where the sums are that have no bound, or that few evaluations have: they are added up exactly, one by one.
//!
//! Each kind of sum is a [`Region`], an array with several indices. Kinds that an evaluation does not have take no room.

use crate::evaluate::plan::settings::{Settings, Term};

/// Where products of row terms of two models start among what is summed by pair.
pub(in crate::evaluate) mod slot {
    /// Best row terms, of unbounded terms.
    pub(in crate::evaluate) const D: usize = 0;
    /// Their squares.
    pub(in crate::evaluate) const DD: usize = 1;
    pub(super) const BEST: usize = 2;

    /// Row terms, of unbounded terms.
    pub(in crate::evaluate) const X: usize = 0;
    /// Their squares.
    pub(in crate::evaluate) const XX: usize = 1;
    /// Row terms times best row terms.
    pub(in crate::evaluate) const XD: usize = 2;
    /// Rows whose term is numerically meaningless.
    pub(in crate::evaluate) const VOID: usize = 3;
    pub(super) const MODEL: usize = 4;

    /// Estimated mask variances of row terms.
    pub(in crate::evaluate) const MASK: usize = 0;
    /// Estimated mask covariances of row terms and best row terms.
    pub(in crate::evaluate) const MASK_XD: usize = 1;
    pub(super) const MASKED: usize = 2;

    /// Shown weight in the top k.
    pub(in crate::evaluate) const H: usize = 0;
    /// Its squares.
    pub(in crate::evaluate) const HH: usize = 1;
    /// Row terms times shown weight.
    pub(in crate::evaluate) const XH: usize = 2;
    /// What the shown weight is an estimate of: predicted slots.
    pub(in crate::evaluate) const SLOTS: usize = 3;
    /// Estimated mask variances of the shown weight.
    pub(in crate::evaluate) const MASK_H: usize = 4;
    pub(super) const SHOWN: usize = 5;

    /// Row terms of the first model times shown weight of the second.
    pub(in crate::evaluate) const CROSS_XH: usize = 0;
    /// Shown weight of the first times row terms of the second.
    pub(in crate::evaluate) const CROSS_HX: usize = 1;
    /// Products of the shown weights; for mask intervals, estimated covariances.
    pub(in crate::evaluate) const CROSS_HH: usize = 2;
    pub(super) const SHOWN_PAIR: usize = 3;

    /// Squares of row terms under row-dependent propensities.
    pub(in crate::evaluate) const ROW_XX: usize = 0;
    /// Their estimated mask variances.
    pub(in crate::evaluate) const ROW_MASK: usize = 1;
    /// Estimated mask variances of what is observed.
    pub(in crate::evaluate) const OBSERVED_MASK: usize = 2;
    /// Row terms under the fit; those under each refit follow.
    pub(in crate::evaluate) const FITS: usize = 3;

    /// Products of row terms of two models under row-dependent propensities.
    pub(in crate::evaluate) const ROW_CROSS: usize = 0;
    /// Their estimated mask covariances.
    pub(in crate::evaluate) const ROW_MASK_CROSS: usize = 1;
    /// Estimated mask covariances of what is observed.
    pub(in crate::evaluate) const OBSERVED_MASK_CROSS: usize = 2;
    pub(super) const ROW_PAIR: usize = 3;

    /// Doubly robust row terms.
    pub(in crate::evaluate) const ROBUST: usize = 0;
    /// Their squares.
    pub(in crate::evaluate) const ROBUST_SQUARES: usize = 1;
    pub(super) const ROBUST_SLOTS: usize = 2;

    /// Row terms of the omega estimate.
    pub(in crate::evaluate) const OMEGA: usize = 0;
    /// Their squares.
    pub(in crate::evaluate) const OMEGA_SQUARES: usize = 1;
    pub(super) const OMEGA_SLOTS: usize = 2;

    /// What the odds of pairs add to a difference of models.
    pub(in crate::evaluate) const SLACK_UP: usize = 0;
    /// What they take away.
    pub(in crate::evaluate) const SLACK_DOWN: usize = 1;
    pub(super) const SLACK_SLOTS: usize = 2;
}

/// An array with several indices.
#[derive(Clone, Copy, Debug)]
struct Region<const N: usize> {
    start: usize,
    sizes: [usize; N],
}

impl<const N: usize> Default for Region<N> {
    fn default() -> Region<N> {
        Region { start: 0, sizes: [0; N] }
    }
}

impl<const N: usize> Region<N> {
    /// The next free places; nothing when there would be more than can be counted.
    fn after(next: &mut Option<usize>, sizes: [usize; N]) -> Region<N> {
        let start = next.unwrap_or(0);
        let count = sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
        *next = next.zip(count).and_then(|(next, count)| next.checked_add(count));
        Region { start, sizes }
    }

    #[inline(always)]
    fn at(&self, indices: [usize; N]) -> usize {
        self.start + indices.iter().zip(&self.sizes).fold(0, |place, (index, size)| place * size + index)
    }
}

/// See the module's page. Indices are those of the functions' names, in order.
#[derive(Clone, Debug, Default)]
pub(in crate::evaluate) struct ExactLayout {
    /// The place of each term among those that have unbounded columns.
    unbounded: Vec<Option<usize>>,
    best: Region<5>,
    model: Region<6>,
    pair: Region<5>,
    mask_best: Region<4>,
    mask: Region<6>,
    mask_pair: Region<5>,
    shown: Region<5>,
    shown_pair: Region<5>,
    row: Vec<Region<5>>,
    row_pair: Vec<Region<5>>,
    robust: Region<5>,
    robust_pair: Region<4>,
    omega: Region<5>,
    omega_pair: Region<4>,
    slack_pair: Region<5>,
    len: usize,
}

impl ExactLayout {
    /// The layout; `None` when it would be longer than memory can be.
    pub(in crate::evaluate) fn new(settings: &Settings, terms: &[Term]) -> Option<ExactLayout> {
        let (groups, models, pairs) = (settings.groups.len(), settings.models.len(), settings.pair_count());
        let (ks, columns) = (settings.ks().len(), settings.columns.len());
        let mut unbounded = Vec::new();
        let mut count = 0;
        for term in terms {
            let has = term.unbounded(columns).start < columns;
            unbounded.push(has.then_some(count));
            count += usize::from(has);
        }
        let masked = if settings.is_mask() { terms.len() } else { 0 };
        let (crossed, shown) = (if settings.is_mask() { 0 } else { count }, if settings.hajek { terms.len() } else { 0 });
        let mut next = Some(0);
        let mut layout = ExactLayout {
            unbounded,
            best: Region::after(&mut next, [groups, count, ks, slot::BEST, columns]),
            model: Region::after(&mut next, [groups, models, count, ks, slot::MODEL, columns]),
            pair: Region::after(&mut next, [groups, pairs, crossed, ks, columns]),
            mask_best: Region::after(&mut next, [groups, masked, ks, columns]),
            mask: Region::after(&mut next, [groups, models, masked, ks, slot::MASKED, columns]),
            mask_pair: Region::after(&mut next, [groups, pairs, masked, ks, columns]),
            shown: Region::after(&mut next, [groups, models, shown, ks, slot::SHOWN]),
            shown_pair: Region::after(&mut next, [groups, pairs, shown, ks, slot::SHOWN_PAIR]),
            ..ExactLayout::default()
        };
        for of in &settings.row_dependent {
            let fits = slot::FITS + 1 + of.refits();
            layout.row.push(Region::after(&mut next, [groups, models, terms.len(), ks, fits]));
            layout.row_pair.push(Region::after(&mut next, [groups, pairs, terms.len(), ks, slot::ROW_PAIR]));
        }
        let robust = settings.robust.len();
        layout.robust = Region::after(&mut next, [robust, groups, models, ks, slot::ROBUST_SLOTS]);
        layout.robust_pair = Region::after(&mut next, [robust, groups, pairs, ks]);
        let omega = if settings.omega.is_some() { terms.len() } else { 0 };
        layout.omega = Region::after(&mut next, [groups, models, omega, ks, slot::OMEGA_SLOTS]);
        layout.omega_pair = Region::after(&mut next, [groups, pairs, omega, ks]);
        let slack = if settings.request.sensitivity.is_some_and(|asked| asked.is_by_pair()) { terms.len() } else { 0 };
        layout.slack_pair = Region::after(&mut next, [pairs, slack, ks, slot::SLACK_SLOTS, columns]);
        layout.len = next?;
        Some(layout)
    }

    /// How many sums there are.
    pub(in crate::evaluate) fn len(&self) -> usize {
        self.len
    }

    fn place(&self, term: usize) -> usize {
        self.unbounded[term].unwrap_or(0)
    }

    pub(in crate::evaluate) fn best(&self, group: usize, term: usize, k: usize, slot: usize, column: usize) -> usize {
        self.best.at([group, self.place(term), k, slot, column])
    }

    pub(in crate::evaluate) fn model(&self, at: [usize; 4], slot: usize, column: usize) -> usize {
        let [group, model, term, k] = at;
        self.model.at([group, model, self.place(term), k, slot, column])
    }

    pub(in crate::evaluate) fn pair(&self, at: [usize; 4], column: usize) -> usize {
        let [group, pair, term, k] = at;
        self.pair.at([group, pair, self.place(term), k, column])
    }

    pub(in crate::evaluate) fn mask_best(&self, group: usize, term: usize, k: usize, column: usize) -> usize {
        self.mask_best.at([group, term, k, column])
    }

    pub(in crate::evaluate) fn mask(&self, at: [usize; 4], slot: usize, column: usize) -> usize {
        let [group, model, term, k] = at;
        self.mask.at([group, model, term, k, slot, column])
    }

    pub(in crate::evaluate) fn mask_pair(&self, at: [usize; 4], column: usize) -> usize {
        let [group, pair, term, k] = at;
        self.mask_pair.at([group, pair, term, k, column])
    }

    pub(in crate::evaluate) fn shown(&self, at: [usize; 4], slot: usize) -> usize {
        let [group, model, term, k] = at;
        self.shown.at([group, model, term, k, slot])
    }

    pub(in crate::evaluate) fn shown_pair(&self, at: [usize; 4], slot: usize) -> usize {
        let [group, pair, term, k] = at;
        self.shown_pair.at([group, pair, term, k, slot])
    }

    pub(in crate::evaluate) fn row(&self, of: usize, at: [usize; 4], slot: usize) -> usize {
        let [group, model, term, k] = at;
        self.row[of].at([group, model, term, k, slot])
    }

    pub(in crate::evaluate) fn row_pair(&self, of: usize, at: [usize; 4], slot: usize) -> usize {
        let [group, pair, term, k] = at;
        self.row_pair[of].at([group, pair, term, k, slot])
    }

    pub(in crate::evaluate) fn robust(&self, of: usize, group: usize, model: usize, k: usize, slot: usize) -> usize {
        self.robust.at([of, group, model, k, slot])
    }

    pub(in crate::evaluate) fn omega(&self, at: [usize; 4], slot: usize) -> usize {
        let [group, model, term, k] = at;
        self.omega.at([group, model, term, k, slot])
    }

    pub(in crate::evaluate) fn omega_pair(&self, at: [usize; 4]) -> usize {
        self.omega_pair.at(at)
    }

    pub(in crate::evaluate) fn slack_pair(&self, [pair, term, k]: [usize; 3], slot: usize, column: usize) -> usize {
        self.slack_pair.at([pair, term, k, slot, column])
    }

    pub(in crate::evaluate) fn robust_pair(&self, of: usize, group: usize, pair: usize, k: usize) -> usize {
        self.robust_pair.at([of, group, pair, k])
    }
}
