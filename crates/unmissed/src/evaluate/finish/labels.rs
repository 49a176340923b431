//! Means over labels with their intervals.
//!
//! `population`: the jackknife over rows, or a seeded bootstrap when replicates are asked for. `mask`: see `label_masks.rs`.

use super::bootstrap::variance;
use super::interval::Measured;
use super::{Finish, Key};
use crate::metrics::{LabelTerm, Shape};
use crate::request::{ABSENT_LABELS, COVERAGE_OF};

impl Finish<'_> {
    fn label_place(&self, key: Key) -> Option<usize> {
        self.label_places.iter().position(|place| *place == key.metric)
    }

    pub(super) fn label_term(&self, key: Key) -> Option<&'static dyn LabelTerm> {
        match self.settings.metrics[key.metric].metric().map(|metric| metric.shape()) {
            Ok(Shape::Label(term)) => Some(term),
            _ => None,
        }
    }

    /// The value of one model with its variance.
    pub(super) fn measure_label(&self, key: Key, model: usize) -> Measured {
        let (Some(place), Some(term)) = (self.label_place(key), self.label_term(key)) else { return Measured::default() };
        let (sums, labels) = (&self.labels[model], self.divisor(key, term));
        let mut total = sums.sums[sums.at(key.group, place, key.ki, key.column())];
        if self.counts_absent(term) {
            total += self.absent(key, model);
        }
        let spread = match self.settings.is_mask() {
            _ if !self.is_plain(term) => None,
            true => self.label_mask_variance(key, model, term).map(|v| v / (labels * labels)),
            false => self.label_spread(key, model, place).map(|v| v / (labels * labels)),
        };
        Measured::new(total / labels, spread.map(|v| v + self.uncertainty(key, model, None)))
    }

    /// The variance of the difference of two models.
    pub(super) fn label_difference_variance(&self, key: Key, pair: usize, a: usize, b: usize) -> Option<f64> {
        let (place, term) = (self.label_place(key)?, self.label_term(key)?);
        if !self.is_plain(term) {
            return None;
        }
        let labels = self.divisor(key, term);
        let spread = match (&self.replicates, &self.jackknife) {
            _ if self.settings.is_mask() => self.label_mask_difference_variance(key, (a, b), term),
            (Some(replicates), _) => {
                let of = |model| replicates.of(model, key.group, place, key.ki, key.column());
                variance(of(a).iter().zip(of(b)).map(|(a, b)| a - b).collect::<Vec<_>>().into_iter())
            }
            (None, jackknife) => {
                jackknife.as_ref().map(|of| of.difference_variance(pair, (a, b), (key.group, place, key.ki, key.column())))
            }
        };
        spread.map(|v| v / (labels * labels) + self.uncertainty(key, a, Some(b)))
    }

    /// The variance of the sum over labels of one model when rows are a sample.
    fn label_spread(&self, key: Key, model: usize, place: usize) -> Option<f64> {
        let cell = (key.group, place, key.ki, key.column());
        match (&self.replicates, &self.jackknife) {
            (Some(replicates), _) => variance(replicates.of(model, cell.0, cell.1, cell.2, cell.3).iter().copied()),
            (None, jackknife) => jackknife.as_ref().map(|jackknife| jackknife.variance(model, cell)),
        }
    }

    /// How much a mean over labels would rise with many more rows, as far as the jackknife can tell.
    pub(super) fn label_drift(&self, key: Key, model: usize) -> Option<f64> {
        let (place, term) = (self.label_place(key)?, self.label_term(key)?);
        let cell = (key.group, place, key.ki, key.column());
        let drift = self.jackknife.as_ref().map(|jackknife| jackknife.drift(model, cell) / self.divisor(key, term));
        drift.filter(|_| self.is_plain(term))
    }

    fn counts_absent(&self, term: &dyn LabelTerm) -> bool {
        term.is_open_when_absent() && self.settings.conventions().differs(&ABSENT_LABELS)
    }

    fn is_of_present(&self, term: &dyn LabelTerm) -> bool {
        term.may_be_of_present() && self.settings.conventions().differs(&COVERAGE_OF)
    }

    /// Whether the sum over labels and what it is divided by are those that intervals know of: which labels are absent or present
    /// varies as well, and neither the bootstrap nor the counts follow that.
    pub(super) fn is_plain(&self, term: &dyn LabelTerm) -> bool {
        !self.counts_absent(term) && !self.is_of_present(term)
    }

    pub(super) fn in_group(&self, key: Key, label: u32) -> bool {
        key.group == 0 || usize::from(self.tally.table.group(self.tally.table.place(label))) + 1 == key.group
    }

    /// What the sum over labels is divided by.
    pub(super) fn divisor(&self, key: Key, term: &dyn LabelTerm) -> f64 {
        if self.is_of_present(term) {
            return self.tally.positives.ids.iter().filter(|label| self.in_group(key, **label)).count() as f64;
        }
        self.settings.groups[key.group].1 as f64
    }

    /// Labels of the group that are neither present nor in a top list.
    fn absent(&self, key: Key, model: usize) -> f64 {
        let (counts, k) = (&self.tally.labels[model], self.settings.ks()[key.ki]);
        let is_predicted = |place: usize| counts.entries(place).next().is_some_and(|(rank, _, _)| (rank as usize) < k);
        let predicted = (0..counts.ids.len()).filter(|place| is_predicted(*place)).map(|place| counts.ids[place]);
        let positives = &self.tally.positives.ids;
        let only_predicted = predicted.filter(|label| positives.binary_search(label).is_err());
        let seen = positives.iter().copied().chain(only_predicted).filter(|label| self.in_group(key, *label)).count();
        self.settings.groups[key.group].1 as f64 - seen as f64
    }
}
