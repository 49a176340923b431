//! Row terms that wait to be added.
//!
//! Adding to a word takes a load and a store. So the terms of a few rows are kept, and then added cell by cell, with the words in
//! registers: sums in fixed point do not depend on the order.

use crate::evaluate::plan::Plan;
use crate::evaluate::plan::settings::Kind;
use crate::evaluate::tally::fixed::{BLOCK, Cut, Words};
use crate::evaluate::tally::layout::{D, DD, X, XD, XX};
use crate::evaluate::tally::sums::ChunkSums;

/// Columns that fill half a block.
const HALF: usize = BLOCK / 2;

/// Rows that wait at most.
const MOST: usize = 8;

/// See the module's page.
#[derive(Default)]
pub(in crate::evaluate) struct Waiting {
    /// Row terms by (group, row, model, term, k, column).
    terms: Vec<f64>,
    /// Best row terms by (group, row, term, k, column), when there are any.
    best: Vec<f64>,
    /// How many numbers a row has in each.
    sizes: [usize; 2],
    /// How many rows wait, by group.
    counts: Vec<usize>,
    /// Where the row at hand starts in each.
    at: [usize; 2],
}

impl Waiting {
    pub(super) fn new(plan: &Plan<'_>) -> Waiting {
        let cells = plan.terms.len() * plan.settings.ks().len() * plan.layout.width;
        let sizes = [plan.models.len() * cells, if plan.needs_best { cells } else { 0 }];
        let groups = plan.settings.groups.len();
        let [terms, best] = sizes.map(|size| vec![0.0; groups * MOST * size]);
        Waiting { terms, best, sizes, counts: vec![0; groups], at: [0; 2] }
    }

    /// Makes room for the terms of a row. They are those of an earlier row until they are written.
    #[inline(always)]
    pub(super) fn open(&mut self, group: usize) {
        self.at = self.sizes.map(|size| (group * MOST + self.counts[group]) * size);
    }

    /// The terms of the row at hand, by (model, term, k, column).
    #[inline(always)]
    pub(super) fn terms(&self) -> &[f64] {
        &self.terms[self.at[0]..][..self.sizes[0]]
    }

    /// The same, to be written.
    #[inline(always)]
    pub(super) fn terms_mut(&mut self) -> &mut [f64] {
        &mut self.terms[self.at[0]..][..self.sizes[0]]
    }

    /// The best terms of the row at hand, by (term, k, column).
    #[inline(always)]
    pub(super) fn best_mut(&mut self) -> &mut [f64] {
        &mut self.best[self.at[1]..][..self.sizes[1]]
    }

    /// The row at hand is to be added.
    #[inline(always)]
    pub(super) fn keep(&mut self, plan: &Plan<'_>, group: usize, sums: &mut ChunkSums) {
        self.counts[group] += 1;
        if self.counts[group] == MOST {
            self.add(plan, group, sums);
        }
    }

    /// Adds all that wait.
    pub(super) fn add_all(&mut self, plan: &Plan<'_>, sums: &mut ChunkSums) {
        (0..self.counts.len()).for_each(|group| self.add(plan, group, sums));
    }

    fn add(&mut self, plan: &Plan<'_>, group: usize, sums: &mut ChunkSums) {
        let rows = std::mem::take(&mut self.counts[group]);
        if rows > 0 {
            sums.count(group, rows);
            add_rows(self, plan, group, rows, sums);
        }
    }

    /// Adds what waits for the first N columns of a block of one (group, term, k).
    #[inline(always)]
    fn add_cell<const N: usize>(&self, plan: &Plan<'_>, cell: Cell, sums: &mut ChunkSums) {
        let Cell { group, term, ki, block, rows, has_best } = cell;
        let (layout, magic, start) = (plan.layout, plan.magic(term, ki, block), block * BLOCK);
        let of = |row: usize, model: usize| {
            let at = (group * MOST + row) * self.sizes[0] + plan.term_at(model, term, ki) + start;
            Cut::<N>::new(first(&self.terms, at), magic)
        };
        let best = |row: usize| {
            let at = (group * MOST + row) * self.sizes[1] + plan.term_at(0, term, ki) + start;
            Cut::<N>::new(first(&self.best, at), magic)
        };
        let width = layout.width;
        for model in 0..plan.models.len() {
            let at = layout.model(group, model, term, ki) + start;
            let [mut linear, mut squares] = [Words::<N>::default(); 2];
            for row in 0..rows {
                let x = of(row, model);
                x.add(magic, &mut linear);
                x.add_products(&x, magic, &mut squares);
            }
            sums.words(at + X * width).merge(&linear);
            sums.words(at + XX * width).merge(&squares);
            if has_best {
                let mut products = Words::<N>::default();
                for row in 0..rows {
                    best(row).add_products(&of(row, model), magic, &mut products);
                }
                sums.words(at + XD * width).merge(&products);
            }
        }
        if has_best {
            let at = layout.best(group, term, ki) + start;
            let [mut linear, mut squares] = [Words::<N>::default(); 2];
            for row in 0..rows {
                let d = best(row);
                d.add(magic, &mut linear);
                d.add_products(&d, magic, &mut squares);
            }
            sums.words(at + D * width).merge(&linear);
            sums.words(at + DD * width).merge(&squares);
        }
        for (pair, (a, b)) in plan.pairs.iter().copied().enumerate().take(layout.pairs()) {
            let mut products = Words::<N>::default();
            for row in 0..rows {
                of(row, a).add_products(&of(row, b), magic, &mut products);
            }
            sums.words(layout.pair(group, pair, term, ki) + start).merge(&products);
        }
    }
}

/// Adds the rows that wait. A function of its own: within the pass there are not enough registers for the words.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn add_rows(waiting: &Waiting, plan: &Plan<'_>, group: usize, rows: usize, sums: &mut ChunkSums) {
    let columns = plan.settings.columns.len();
    for (term, kind) in plan.terms.iter().map(|term| &term.kind).enumerate() {
        let has_best = plan.needs_best && matches!(kind, Kind::Sum { .. });
        let bounded = plan.terms[term].bounded(columns).end;
        for ki in 0..plan.settings.ks().len() {
            for block in 0..bounded.div_ceil(BLOCK) {
                let cell = Cell { group, term, ki, block, rows, has_best };
                match bounded - block * BLOCK {
                    0..=HALF => waiting.add_cell::<HALF>(plan, cell, sums),
                    _ => waiting.add_cell::<BLOCK>(plan, cell, sums),
                }
            }
        }
    }
}

/// What is added at a time.
#[derive(Clone, Copy)]
struct Cell {
    group: usize,
    term: usize,
    ki: usize,
    block: usize,
    /// How many rows wait.
    rows: usize,
    has_best: bool,
}

#[inline(always)]
fn first<const N: usize>(values: &[f64], start: usize) -> [f64; N] {
    let mut few = [0.0; N];
    few.copy_from_slice(&values[start..start + N]);
    few
}
