//! Top lists of some rows, and how many of their labels other alignments of rows and ids would find.

use crate::data::{Csr, Labels};
use crate::top_k::{NONE, top_k};
use rayon::prelude::*;

/// Rows that are looked at; more would cost time and change nothing.
const MOST_ROWS: usize = 4000;
/// Length of the lists.
pub(super) const DEPTH: usize = 5;
/// How often rows are exchanged to see what chance gives.
const EXCHANGES: usize = 16;

/// The top lists of a sample of rows: those with labels, evenly spread over the data.
pub(super) struct Lists<'a> {
    truth: &'a Labels<'a>,
    rows: Vec<usize>,
    /// `DEPTH` labels for each of the rows.
    tops: Vec<u32>,
    /// Labels of the lists that say nothing about a row, ascending: at least every second row has them.
    common: Vec<u32>,
}

/// Hits by row, as given and under another alignment.
pub(super) struct Compared {
    /// All hits as given.
    pub(super) given: f64,
    /// All hits under the other alignment.
    pub(super) other: f64,
    /// How many standard errors the other has more; rows are paired.
    pub(super) z: f64,
}

/// Hits when rows are exchanged.
#[derive(Clone, Copy)]
pub(super) struct Chance {
    pub(super) mean: f64,
    pub(super) sd: f64,
}

/// Which label a list's label stands for, and which row's labels it is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Alignment {
    /// Added to ids.
    pub(super) ids: i64,
    /// Added to rows.
    pub(super) rows: i64,
}

impl Alignment {
    pub(super) const GIVEN: Alignment = Alignment { ids: 0, rows: 0 };
}

impl<'a> Lists<'a> {
    pub(super) fn of(truth: &'a Labels<'a>, scores: &Csr<'_, f32>) -> Lists<'a> {
        let useful = |row: &usize| !truth.row_ids(*row).is_empty() && !scores.row_ids(*row).is_empty();
        let step = truth.rows().div_ceil(2 * MOST_ROWS).max(1);
        let rows: Vec<usize> = (0..truth.rows()).step_by(step).filter(useful).take(MOST_ROWS).collect();
        let mut tops = vec![NONE; rows.len() * DEPTH];
        tops.par_chunks_mut(DEPTH).zip(&rows).for_each_init(Vec::new, |scratch, (top, row)| {
            let (ids, values) = scores.row(*row);
            top_k(ids, values, scratch, top);
        });
        let mut all: Vec<u32> = tops.iter().copied().filter(|label| *label != NONE).collect();
        all.sort_unstable();
        let common = all.chunk_by(|a, b| a == b).filter(|same| 2 * same.len() >= rows.len()).map(|same| same[0]).collect();
        Lists { truth, rows, tops, common }
    }

    /// The number of rows in the sample.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Places of lists with labels that not every second row has.
    pub(super) fn telling(&self) -> usize {
        self.tops.iter().filter(|label| self.is_telling(**label)).count()
    }

    /// Places of lists that are taken.
    pub(super) fn places(&self) -> usize {
        self.tops.iter().filter(|label| **label != NONE).count()
    }

    fn is_telling(&self, label: u32) -> bool {
        label != NONE && self.common.binary_search(&label).is_err()
    }

    /// Telling labels of the list of the sample's row that the labels of `row` have.
    fn hits(&self, place: usize, row: usize, ids: i64) -> u32 {
        let labels = self.truth.row_ids(row);
        let top = &self.tops[place * DEPTH..(place + 1) * DEPTH];
        let found = |label: &u32| u32::try_from(i64::from(*label) + ids).is_ok_and(|label| labels.contains(&label));
        top.iter().filter(|label| self.is_telling(**label)).filter(|label| found(label)).count() as u32
    }

    /// Hits as given and under another alignment, on the rows that have both.
    pub(super) fn compare(&self, other: Alignment) -> Compared {
        let (mut given, mut found, mut squares) = (0.0, 0.0, 0.0);
        for (place, row) in self.rows.iter().enumerate() {
            let Some(moved) = row.checked_add_signed(other.rows as isize).filter(|row| *row < self.truth.rows()) else { continue };
            let (here, there) = (f64::from(self.hits(place, *row, 0)), f64::from(self.hits(place, moved, other.ids)));
            given += here;
            found += there;
            squares += (there - here).powi(2);
        }
        Compared { given, other: found, z: if squares > 0.0 { (found - given) / squares.sqrt() } else { 0.0 } }
    }

    /// Hits of all rows as given.
    pub(super) fn given(&self) -> f64 {
        (0..self.len()).map(|place| f64::from(self.hits(place, self.rows[place], 0))).sum()
    }

    /// Hits when each list is compared with the labels of another row of the sample.
    pub(super) fn chance(&self, ids: i64) -> Chance {
        exchanged(self.len(), |place, other| self.hits(place, self.rows[other], ids))
    }

    /// Hits that labels drawn without looking at anything would have.
    pub(super) fn blind(&self) -> f64 {
        let labels: usize = self.rows.iter().map(|row| self.truth.row_ids(*row).len()).sum();
        self.telling() as f64 * labels as f64 / (self.len().max(1) as f64 * self.truth.cols().max(1) as f64)
    }
}

/// What `hits(place, other)` adds up to when every place is paired with another, over several such pairings.
pub(super) fn exchanged(count: usize, hits: impl Fn(usize, usize) -> u32) -> Chance {
    let exchanges = EXCHANGES.min(count.saturating_sub(1));
    let totals: Vec<f64> = (1..=exchanges)
        .map(|nth| {
            let by = (nth * count / (exchanges + 1)).max(1);
            (0..count).map(|place| f64::from(hits(place, (place + by) % count))).sum()
        })
        .collect();
    let mean = totals.iter().sum::<f64>() / totals.len().max(1) as f64;
    let squares: f64 = totals.iter().map(|total| (total - mean).powi(2)).sum();
    Chance { mean, sd: (squares / totals.len().saturating_sub(1).max(1) as f64).sqrt() }
}
