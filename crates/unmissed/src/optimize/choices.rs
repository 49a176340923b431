//! [`Choices`]: which labels each row is given, and [`State`]: what that makes of the labels' counts.

use super::candidates::Candidates;
use super::terms::{Counts, Terms};
use crate::data::{Csr, Scores};
use crate::error::Result;
use crate::top_k::{Key, NONE, top_k};
use rayon::prelude::*;

/// Rows that are given to a thread together.
const TOGETHER: usize = 1 << 10;

/// For each row the places of its labels among its candidates; open slots are [`NONE`] and come last.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choices {
    k: usize,
    places: Vec<u32>,
}

impl Choices {
    pub(super) fn none(rows: usize, k: usize) -> Choices {
        Choices { k, places: vec![NONE; rows * k] }
    }

    /// The most probable labels of each row, ties to the smaller label.
    pub(super) fn most_probable(candidates: &Candidates<'_>, k: usize) -> Choices {
        let mut choices = Choices::none(candidates.rows(), k);
        let parts = choices.places.par_chunks_mut(TOGETHER * k).enumerate();
        parts.for_each(|(part, slots)| most_probable_from(candidates, part * TOGETHER, k, slots));
        choices
    }

    /// The rows of several, one after the other.
    pub(super) fn concatenated(k: usize, parts: Vec<Choices>) -> Choices {
        Choices { k, places: parts.into_iter().flat_map(|part| part.places).collect() }
    }

    #[inline]
    pub(super) fn row(&self, row: usize) -> &[u32] {
        &self.places[row * self.k..(row + 1) * self.k]
    }

    #[inline]
    pub(super) fn row_mut(&mut self, row: usize) -> &mut [u32] {
        &mut self.places[row * self.k..(row + 1) * self.k]
    }

    /// The places of a row without open slots.
    #[inline]
    pub(super) fn chosen(&self, row: usize) -> impl Iterator<Item = u32> {
        self.row(row).iter().copied().take_while(|place| *place != NONE)
    }

    /// As predictions: probabilities are the scores, the highest first.
    pub(super) fn scores(&self, candidates: &Candidates<'_>) -> Result<Scores<'static>> {
        let counts = self.places.par_chunks(self.k).map(|row| row.iter().filter(|place| **place != NONE).count() as u64);
        let mut offsets = vec![0];
        offsets.par_extend(counts);
        (1..offsets.len()).for_each(|row| offsets[row] += offsets[row - 1]);
        let parts = (0..candidates.rows().div_ceil(TOGETHER)).into_par_iter().map(|part| {
            let rows = part * TOGETHER..candidates.rows().min((part + 1) * TOGETHER);
            let mut entries = Vec::with_capacity(rows.len() * self.k);
            for row in rows {
                let first = entries.len();
                let chosen = candidates.entries(row, self.chosen(row));
                entries.extend(chosen.map(|(label, probability)| (Key::new(probability, label), probability)));
                entries[first..].sort_unstable_by_key(|(key, _)| *key);
            }
            entries
        });
        let entries: Vec<Vec<(Key, f32)>> = parts.collect();
        let (ids, values): (Vec<u32>, Vec<f32>) =
            entries.into_iter().flatten().map(|(key, probability)| (key.label(), probability)).unzip();
        Csr::from_arrays(candidates.labels() as u64, offsets, ids, values)
    }

    /// The expected counts of all labels.
    pub(super) fn counts(&self, candidates: &Candidates<'_>, terms: &Terms) -> Vec<Counts> {
        let mut counts = vec![Counts::default(); terms.labels()];
        for row in 0..candidates.rows() {
            for (label, probability) in candidates.entries(row, self.chosen(row)) {
                terms.count(&mut counts[label as usize], f64::from(probability), 1.0);
            }
        }
        counts
    }

    /// What the rows add to the value by themselves.
    pub(super) fn of_rows(&self, candidates: &Candidates<'_>, terms: &Terms) -> f64 {
        if terms.of_abandonment() == 0.0 {
            return 0.0;
        }
        let entries = |row: usize| candidates.entries(row, self.chosen(row));
        let without_hit = |row: usize| entries(row).map(|(_, probability)| 1.0 - f64::from(probability)).product::<f64>();
        -terms.of_abandonment() * (0..candidates.rows()).map(without_hit).sum::<f64>()
    }
}

/// Fills the slots of some rows with the places of their most probable labels.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn most_probable_from(candidates: &Candidates<'_>, first: usize, k: usize, slots: &mut [u32]) {
    let (mut scratch, mut keys, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (slots, row) in slots.chunks_exact_mut(k).zip(first..) {
        let (ids, values) = candidates.row(row, &mut scratch);
        if candidates.stored().is_sorted() {
            // Places are in the order of labels, and may stand for them.
            places.extend(places.len() as u32..ids.len() as u32);
            top_k(&places[..ids.len()], values, &mut keys, slots);
        } else {
            top_k(ids, values, &mut keys, slots);
            for slot in slots.iter_mut().filter(|slot| **slot != NONE) {
                *slot = ids.iter().position(|id| *id == *slot).map_or(NONE, |place| place as u32);
            }
        }
    }
}

/// The counts of all labels, and a bound of each label's line.
pub(super) struct State<'a> {
    terms: &'a Terms,
    counts: Vec<Counts>,
    bounds: Vec<Bound>,
}

/// A line in single precision that is nowhere in [0, 1] below the line itself, however its value is rounded. Steps look up a hundred
/// of these for each row, and most tell that the label does not come into question; they take half the memory of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound([f32; 2]);

impl Bound {
    #[inline]
    fn of([a, b]: [f64; 2]) -> Bound {
        // Four roundings to single precision: of a, of b, of the product and of the sum. Half the least number leaves room for the sum.
        let slack = 4.0 * f64::from(f32::EPSILON) * (a.abs() + b.abs()) + f64::from(f32::MIN_POSITIVE);
        Bound([a as f32, (b + slack) as f32].map(|part| part.max(f32::MIN / 2.0)))
    }

    /// At least the value of the line, or no number where it is too large for one.
    #[inline(always)]
    pub(super) fn at(self, probability: f32) -> f32 {
        self.0[0] * probability + self.0[1]
    }
}

impl<'a> State<'a> {
    /// The state of choices with these counts.
    pub(super) fn new(counts: Vec<Counts>, terms: &'a Terms) -> State<'a> {
        let bounds = counts.iter().enumerate().map(|(label, counts)| Bound::of(terms.line(label, *counts))).collect();
        State { terms, counts, bounds }
    }

    #[inline]
    pub(super) fn bounds(&self) -> &[Bound] {
        &self.bounds
    }

    #[inline]
    pub(super) fn line(&self, label: u32) -> [f64; 2] {
        self.terms.line(label as usize, self.counts[label as usize])
    }

    pub(super) fn lines(&self) -> Vec<[f64; 2]> {
        (0..self.counts.len() as u32).map(|label| self.line(label)).collect()
    }

    /// The line that the label would have without this row.
    #[inline]
    pub(super) fn line_without(&self, label: u32, probability: f32) -> [f64; 2] {
        let mut counts = self.counts[label as usize];
        self.terms.count(&mut counts, f64::from(probability), -1.0);
        self.terms.line(label as usize, counts)
    }

    #[inline]
    pub(super) fn change(&mut self, label: u32, probability: f32, sign: f64) {
        let counts = &mut self.counts[label as usize];
        self.terms.count(counts, f64::from(probability), sign);
        self.bounds[label as usize] = Bound::of(self.terms.line(label as usize, *counts));
    }

    /// The value of all labels and rows.
    pub(super) fn value(&self, choices: &Choices, candidates: &Candidates<'_>) -> f64 {
        self.terms.of_labels(&self.counts) + choices.of_rows(candidates, self.terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bounds_exclude_no_label(
            parts in proptest::array::uniform2((-1.0f64..1.0, -60i32..60)), tiny in any::<bool>(), p in 0.0f32..=1.0,
        ) {
            let [a, b] = parts.map(|(part, exponent)| part * 10f64.powi(if tiny { exponent - 60 } else { exponent }));
            let (bound, value) = (Bound::of([a, b]).at(p), a * f64::from(p) + b);
            prop_assert!(bound.is_nan() || f64::from(bound) >= value, "{bound} {value}");
        }
    }
}
