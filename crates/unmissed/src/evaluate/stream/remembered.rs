//! Numbers of rows that are remembered when there are too many ranges of them to keep: those of the sample.
//!
//! Rows that come twice have to be found before anything of a batch is used, and rows that wait have no place in the sample yet, so
//! their numbers are remembered here from the moment they are taken.

use crate::evaluate::tally::row_sample::{RowHash, RowSample};
use std::collections::HashSet;

/// See the module's page.
pub(super) struct Remembered {
    hash: RowHash,
    rows: HashSet<u32>,
}

impl Remembered {
    pub(super) fn new(seed: u64) -> Remembered {
        Remembered { hash: RowHash::new(seed), rows: HashSet::new() }
    }

    /// Whether a row may have a place in the sample, whose largest hash this is.
    pub(super) fn has_place(&self, row: u32, bar: Option<f64>) -> bool {
        bar.is_none_or(|bar| self.hash.of(row) <= bar)
    }

    /// The first of these rows that was there before.
    pub(super) fn find(&self, rows: &[u32]) -> Option<u32> {
        rows.iter().copied().find(|row| self.rows.contains(row))
    }

    pub(super) fn add(&mut self, rows: &[u32], bar: Option<f64>) {
        let may = rows.iter().copied().filter(|row| self.has_place(*row, bar)).collect::<Vec<u32>>();
        self.rows.extend(may);
    }

    /// Takes over a sample, and forgets what has no place any more.
    pub(super) fn settle(&mut self, sample: &RowSample, bar: Option<f64>) {
        let Remembered { hash, rows } = self;
        rows.retain(|row| bar.is_none_or(|bar| hash.of(*row) <= bar));
        // Streams that were put behind others have other numbers than those by which their rows were chosen.
        rows.extend(sample.numbers());
    }
}
