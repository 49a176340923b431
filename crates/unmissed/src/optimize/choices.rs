//! [`Choices`]: which labels each row is given, and [`State`]: what that makes of the labels' counts.

use super::candidates::Candidates;
use super::terms::{Counts, Terms};
use crate::data::{Csr, Scores};
use crate::error::Result;
use crate::top_k::{Key, NONE, top_k};

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
        let (mut scratch, mut keys, mut top) = (Vec::new(), Vec::new(), vec![NONE; k]);
        for row in 0..candidates.rows() {
            let (ids, values) = candidates.row(row, &mut scratch);
            let count = top_k(ids, values, &mut keys, &mut top);
            for (slot, label) in choices.row_mut(row).iter_mut().zip(&top[..count]) {
                *slot = ids.iter().position(|id| id == label).map_or(NONE, |place| place as u32);
            }
        }
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
        let (mut offsets, mut ids, mut values) = (vec![0], Vec::new(), Vec::new());
        let mut keys: Vec<(Key, f32)> = Vec::new();
        for row in 0..candidates.rows() {
            keys.clear();
            keys.extend(self.chosen(row).map(|place| {
                let (label, probability) = candidates.at(row, place);
                (Key::new(probability, label), probability)
            }));
            keys.sort_unstable_by_key(|(key, _)| *key);
            ids.extend(keys.iter().map(|(key, _)| key.label()));
            values.extend(keys.iter().map(|(_, probability)| *probability));
            offsets.push(ids.len() as u64);
        }
        Csr::from_arrays(candidates.labels() as u64, offsets, ids, values)
    }

    /// The expected counts of all labels.
    pub(super) fn counts(&self, candidates: &Candidates<'_>, terms: &Terms) -> Vec<Counts> {
        let mut counts = vec![Counts::default(); terms.labels()];
        for row in 0..candidates.rows() {
            for place in self.chosen(row) {
                let (label, probability) = candidates.at(row, place);
                terms.count(&mut counts[label as usize], f64::from(probability), 1.0);
            }
        }
        counts
    }

    /// What the rows add to the value by themselves.
    fn of_rows(&self, candidates: &Candidates<'_>, terms: &Terms) -> f64 {
        if terms.of_abandonment() == 0.0 {
            return 0.0;
        }
        let without_hit = |row: usize| self.chosen(row).map(|place| 1.0 - f64::from(candidates.at(row, place).1)).product::<f64>();
        -terms.of_abandonment() * (0..candidates.rows()).map(without_hit).sum::<f64>()
    }

    /// The value of what is maximised.
    pub(super) fn value(&self, candidates: &Candidates<'_>, terms: &Terms) -> f64 {
        terms.of_labels(&self.counts(candidates, terms)) + self.of_rows(candidates, terms)
    }
}

/// The counts of all labels, and the line of each.
pub(super) struct State<'a> {
    terms: &'a Terms,
    counts: Vec<Counts>,
    lines: Vec<[f64; 2]>,
}

impl<'a> State<'a> {
    pub(super) fn of(choices: &Choices, candidates: &Candidates<'_>, terms: &'a Terms) -> State<'a> {
        let counts = choices.counts(candidates, terms);
        let lines = counts.iter().enumerate().map(|(label, counts)| terms.line(label, *counts)).collect();
        State { terms, counts, lines }
    }

    #[inline]
    pub(super) fn lines(&self) -> &[[f64; 2]] {
        &self.lines
    }

    pub(super) fn into_lines(self) -> Vec<[f64; 2]> {
        self.lines
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
        self.lines[label as usize] = self.terms.line(label as usize, *counts);
    }

    /// The value of all labels and rows.
    pub(super) fn value(&self, choices: &Choices, candidates: &Candidates<'_>) -> f64 {
        self.terms.of_labels(&self.counts) + choices.of_rows(candidates, self.terms)
    }
}
