//! Where the sums of bounded row terms are in one flat array.
//!
//! For each (group, term, k) the sums of the best row terms D; for each (group, model, term, k) those of the row terms X; for each
//! (group, pair of models, term, k) the products; each of them `width` columns long.

use super::fixed::Degree;
use crate::evaluate::plan::settings::Settings;

/// What is summed about the best row terms.
pub(in crate::evaluate) const D: usize = 0;
/// Squares of the best row terms.
pub(in crate::evaluate) const DD: usize = 1;
const BEST_SLOTS: usize = 2;

/// Row terms.
pub(in crate::evaluate) const X: usize = 0;
/// Squares of row terms.
pub(in crate::evaluate) const XX: usize = 1;
/// Row terms times best row terms.
pub(in crate::evaluate) const XD: usize = 2;
const MODEL_SLOTS: usize = 3;

/// See the module's page.
#[derive(Clone, Copy, Debug)]
pub(in crate::evaluate) struct Layout {
    pub(in crate::evaluate) width: usize,
    groups: usize,
    models: usize,
    pairs: usize,
    terms: usize,
    ks: usize,
    best_slots: usize,
    model_slots: usize,
}

/// Where sums of one (term, k) with the same number of added terms start, and of which degree they are.
pub(in crate::evaluate) struct Slot {
    pub(in crate::evaluate) start: usize,
    pub(in crate::evaluate) degree: Degree,
}

impl Layout {
    pub(in crate::evaluate) fn new(settings: &Settings, terms: usize) -> Layout {
        let has_best = settings.has_best();
        Layout {
            width: settings.width(),
            groups: settings.groups.len(),
            models: settings.models.len(),
            // Mask intervals have covariances instead of products.
            pairs: if settings.is_mask() { 0 } else { settings.pair_count() },
            terms,
            ks: settings.ks().len(),
            best_slots: if has_best { BEST_SLOTS } else { 0 },
            model_slots: if has_best { MODEL_SLOTS } else { MODEL_SLOTS - 1 },
        }
    }

    fn cells(&self) -> usize {
        self.terms * self.ks * self.width
    }

    /// Where the sums of the best row terms of (group, term, k) start; slots follow each other `width` apart.
    #[inline(always)]
    pub(in crate::evaluate) fn best(&self, group: usize, term: usize, k: usize) -> usize {
        ((group * self.terms + term) * self.ks + k) * self.best_slots * self.width
    }

    /// Where the sums of (group, model, term, k) start.
    #[inline(always)]
    pub(in crate::evaluate) fn model(&self, group: usize, model: usize, term: usize, k: usize) -> usize {
        let start = self.groups * self.best_slots * self.cells();
        start + (((group * self.models + model) * self.terms + term) * self.ks + k) * self.model_slots * self.width
    }

    /// Where the products of (group, pair, term, k) start. Those of the pairs of a group follow each other.
    #[inline(always)]
    pub(in crate::evaluate) fn pair(&self, group: usize, pair: usize, term: usize, k: usize) -> usize {
        let start = self.groups * (self.best_slots + self.models * self.model_slots) * self.cells();
        start + (((group * self.pairs + pair) * self.terms + term) * self.ks + k) * self.width
    }

    /// Length of the array.
    pub(in crate::evaluate) fn len(&self) -> usize {
        self.checked_len().unwrap_or(usize::MAX)
    }

    /// The same; `None` when it would be longer than memory can be.
    pub(in crate::evaluate) fn checked_len(&self) -> Option<usize> {
        let slots = self.models.checked_mul(self.model_slots)?.checked_add(self.best_slots)?.checked_add(self.pairs)?;
        let cells = self.terms.checked_mul(self.ks)?.checked_mul(self.width)?;
        self.groups.checked_mul(slots)?.checked_mul(cells)
    }

    /// The sums of the best row terms of (group, term, k).
    pub(in crate::evaluate) fn best_slots(&self, group: usize, term: usize, k: usize) -> impl Iterator<Item = Slot> {
        slots(self.best(group, term, k), self.width, self.best_slots)
    }

    /// The sums of (group, model, term, k).
    pub(in crate::evaluate) fn model_slots(&self, group: usize, model: usize, term: usize, k: usize) -> impl Iterator<Item = Slot> {
        slots(self.model(group, model, term, k), self.width, self.model_slots)
    }

    /// Whether pairs have products.
    pub(in crate::evaluate) fn pairs(&self) -> usize {
        self.pairs
    }
}

/// The first slot has row terms, the others products of two.
fn slots(start: usize, width: usize, count: usize) -> impl Iterator<Item = Slot> {
    (0..count)
        .map(move |slot| Slot { start: start + slot * width, degree: if slot == 0 { Degree::Linear } else { Degree::Product } })
}
