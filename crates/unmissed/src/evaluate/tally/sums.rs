//! Totals over rows, and the sums of a chunk of rows that go into them.
//!
//! [`ChunkSums`] belong to at most [`MOST_TERMS`](super::fixed::MOST_TERMS) rows: words of bounded row terms, and exact sums of the others. [`Totals`]
//! are the sums of many chunks; they merge, and do not depend on how rows were divided into chunks.

use super::exact::ExactSum;
use super::exact_layout::ExactLayout;
use super::fixed::{BLOCK, Degree, Scale, Words};
use super::layout::Layout;
use crate::evaluate::plan::Plan;
use crate::evaluate::plan::settings::{Kind, Term};

/// Whole numbers of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::evaluate) struct RowCounts {
    /// Rows without an observed label.
    pub(in crate::evaluate) unlabelled: u64,
    /// Rows without predictions, by model.
    pub(in crate::evaluate) silent: Vec<u64>,
}

impl RowCounts {
    fn merge(&mut self, other: &RowCounts) {
        self.unlabelled = self.unlabelled.saturating_add(other.unlabelled);
        self.silent.iter_mut().zip(&other.silent).for_each(|(total, other)| *total = total.saturating_add(*other));
    }
}

/// See the module's page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::evaluate) struct Totals {
    /// Sums of bounded row terms, by the places of [`Layout`].
    pub(in crate::evaluate) bounded: Vec<i128>,
    /// By the places of [`ExactLayout`].
    pub(in crate::evaluate) exact: Vec<ExactSum>,
    pub(in crate::evaluate) rows: RowCounts,
}

impl Totals {
    pub(in crate::evaluate) fn new(layout: &Layout, exact: &ExactLayout, models: usize) -> Totals {
        Totals {
            bounded: vec![0; layout.len()],
            exact: vec![ExactSum::default(); exact.len()],
            rows: RowCounts { unlabelled: 0, silent: vec![0; models] },
        }
    }

    /// The sum of two.
    pub(in crate::evaluate) fn merge(&mut self, other: &Totals) {
        // Wrapping keeps forged totals from stopping the program; real ones have room for 2^50 rows.
        self.bounded.iter_mut().zip(&other.bounded).for_each(|(total, other)| *total = total.wrapping_add(*other));
        self.exact.iter_mut().zip(&other.exact).for_each(|(total, other)| total.merge(other));
        self.rows.merge(&other.rows);
    }
}

/// The sums of one chunk of rows.
pub(in crate::evaluate) struct ChunkSums {
    words: Vec<Words>,
    pub(in crate::evaluate) exact: Vec<ExactSum>,
    pub(in crate::evaluate) rows: RowCounts,
    /// How many rows were added to the words, by group.
    added: Vec<u64>,
}

impl ChunkSums {
    pub(in crate::evaluate) fn new(plan: &Plan<'_>) -> ChunkSums {
        let (groups, models) = (plan.settings.groups.len(), plan.models.len());
        ChunkSums {
            words: vec![Words::default(); plan.layout.len() / BLOCK],
            exact: vec![ExactSum::default(); plan.exact.len()],
            rows: RowCounts { unlabelled: 0, silent: vec![0; models] },
            added: vec![0; groups],
        }
    }

    /// The words of the block of columns that starts at a place.
    #[inline(always)]
    pub(in crate::evaluate) fn words(&mut self, start: usize) -> &mut Words {
        &mut self.words[start / BLOCK]
    }

    /// So many rows are added to every cell of a group.
    #[inline(always)]
    pub(in crate::evaluate) fn count(&mut self, group: usize, rows: usize) {
        self.added[group] += rows as u64;
    }

    /// Adds everything to totals.
    pub(in crate::evaluate) fn add_to(mut self, plan: &Plan<'_>, totals: &mut Totals) {
        let (layout, columns, models) = (&plan.layout, plan.settings.columns.len(), plan.models.len());
        let mut add = |term: &Term, ki: usize, start: usize, degree: Degree, terms: u64| {
            // Columns without a bound are summed elsewhere; those of weights and padding mean nothing.
            for column in term.bounded(columns).filter(|_| terms > 0) {
                let (place, scale) = (start + column, Scale::new(term.bound(ki, column, columns)));
                let of_chunk = scale.total(degree, self.words[place / BLOCK].of(place), terms);
                totals.bounded[place] = totals.bounded[place].wrapping_add(of_chunk);
            }
        };
        for group in 0..plan.settings.groups.len() {
            for (place, term) in plan.terms.iter().enumerate() {
                for ki in 0..plan.settings.ks().len() {
                    let has_best = matches!(term.kind, Kind::Sum { .. });
                    for slot in layout.best_slots(group, place, ki).filter(|_| has_best) {
                        add(term, ki, slot.start, slot.degree, self.added[group]);
                    }
                    for model in 0..models {
                        let slots = layout.model_slots(group, model, place, ki).take(if has_best { usize::MAX } else { 2 });
                        slots.for_each(|slot| add(term, ki, slot.start, slot.degree, self.added[group]));
                    }
                    for pair in 0..layout.pairs() {
                        add(term, ki, layout.pair(group, pair, place, ki), Degree::Product, self.added[group]);
                    }
                }
            }
        }
        for (total, sum) in totals.exact.iter_mut().zip(&mut self.exact) {
            sum.settle();
            total.merge(sum);
        }
        totals.rows.merge(&self.rows);
    }
}
