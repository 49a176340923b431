//! Where the sums of a chunk of rows are in one flat array.
//!
//! For each (group, term, k) the sums of the best row terms D; for each (group, model, term, k) those of the row terms X; for each
//! (group, pair of models, term, k) the products; each of them `width` columns long. At the end a few counters.

use crate::evaluate::plan::settings::Settings;

/// What is summed about the best row terms.
pub(in crate::evaluate) const D: usize = 0;
/// Squares of the best row terms.
pub(in crate::evaluate) const DD: usize = 1;
/// Estimated mask variances of the best row terms.
pub(in crate::evaluate) const MASK_DD: usize = 2;
const BEST_SLOTS: usize = 3;

/// Row terms.
pub(in crate::evaluate) const X: usize = 0;
/// Squares of row terms.
pub(in crate::evaluate) const XX: usize = 1;
/// Row terms times best row terms.
pub(in crate::evaluate) const XD: usize = 2;
/// Estimated mask variances of row terms.
pub(in crate::evaluate) const MASK: usize = 3;
/// Rows whose term is numerically meaningless.
pub(in crate::evaluate) const VOID: usize = 4;
/// Estimated mask covariances of row terms and best row terms.
pub(in crate::evaluate) const MASK_XD: usize = 5;
const MODEL_SLOTS: usize = 6;

/// Shown weight in the top k.
pub(in crate::evaluate) const H: usize = 6;
/// Its squares.
pub(in crate::evaluate) const HH: usize = 7;
/// Row terms times shown weight.
pub(in crate::evaluate) const XH: usize = 8;
/// What the shown weight is an estimate of: predicted slots.
pub(in crate::evaluate) const SLOTS: usize = 9;
/// Estimated mask variances of the shown weight.
pub(in crate::evaluate) const MASK_H: usize = 10;
const HAJEK_SLOTS: usize = 11;

/// Products of the row terms of two models; for mask intervals, estimated covariances.
pub(in crate::evaluate) const CROSS: usize = 0;
/// Row terms of the first times shown weight of the second.
pub(in crate::evaluate) const CROSS_XH: usize = 1;
/// Shown weight of the first times row terms of the second.
pub(in crate::evaluate) const CROSS_HX: usize = 2;
/// Products of the shown weights; for mask intervals, estimated covariances.
pub(in crate::evaluate) const CROSS_HH: usize = 3;
const HAJEK_PAIR_SLOTS: usize = 4;

/// Counters at the end.
pub(in crate::evaluate) const ROWS: usize = 0;
/// Rows without an observed label.
pub(in crate::evaluate) const UNLABELLED: usize = 1;
const COUNTERS: usize = 2;

/// See the module's page.
#[derive(Clone, Copy, Debug)]
pub(in crate::evaluate) struct Layout {
    pub(in crate::evaluate) width: usize,
    groups: usize,
    models: usize,
    pairs: usize,
    terms: usize,
    ks: usize,
    slots: usize,
    pair_slots: usize,
}

impl Layout {
    pub(in crate::evaluate) fn new(settings: &Settings, terms: usize) -> Layout {
        Layout {
            width: settings.width(),
            groups: settings.groups.len(),
            models: settings.models.len(),
            pairs: settings.pairs().len(),
            terms,
            ks: settings.ks.len(),
            slots: if settings.hajek { HAJEK_SLOTS } else { MODEL_SLOTS },
            pair_slots: if settings.hajek { HAJEK_PAIR_SLOTS } else { 1 },
        }
    }

    fn cells(&self) -> usize {
        self.terms * self.ks * self.width
    }

    /// Where the sums of the best row terms of (group, term, k) start; slots follow each other `width` apart.
    #[inline(always)]
    pub(in crate::evaluate) fn best(&self, group: usize, term: usize, k: usize) -> usize {
        ((group * self.terms + term) * self.ks + k) * BEST_SLOTS * self.width
    }

    /// Where the sums of (group, model, term, k) start.
    #[inline(always)]
    pub(in crate::evaluate) fn model(&self, group: usize, model: usize, term: usize, k: usize) -> usize {
        let start = self.groups * BEST_SLOTS * self.cells();
        start + (((group * self.models + model) * self.terms + term) * self.ks + k) * self.slots * self.width
    }

    /// Where a slot of (group, pair, term, k) starts. The pairs of one slot follow each other.
    #[inline(always)]
    pub(in crate::evaluate) fn pair(&self, slot: usize, group: usize, pair: usize, term: usize, k: usize) -> usize {
        let start = self.groups * (BEST_SLOTS + self.models * self.slots) * self.cells();
        start + ((((group * self.pair_slots + slot) * self.pairs + pair) * self.terms + term) * self.ks + k) * self.width
    }

    /// Where a counter is.
    pub(in crate::evaluate) fn counter(&self, counter: usize) -> usize {
        self.groups * (BEST_SLOTS + self.models * self.slots + self.pairs * self.pair_slots) * self.cells() + counter
    }

    /// Where the number of rows without predictions of a model is.
    pub(in crate::evaluate) fn silent(&self, model: usize) -> usize {
        self.counter(COUNTERS + model)
    }

    /// Length of the array.
    pub(in crate::evaluate) fn len(&self) -> usize {
        self.counter(COUNTERS + self.models)
    }
}
