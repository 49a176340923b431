//! A sample of the rows with their labels and top lists: what the finish needs of single rows.
//!
//! The variance of a mean over labels, and what uncertain propensities do to a product or a ratio, are sums over rows that can only
//! be taken when the totals are known. A tally keeps the rows for that: all of them up to [`MOST_ROWS`], else those with the smallest
//! hashes of their numbers. The smallest of two parts together are the smallest of the whole, so samples merge into that of the
//! whole wherever the rows are cut.

use crate::rng::{Purpose, row_key, uniform_at};
use crate::top_k::NONE;
use std::ops::Range;

/// The largest sample: the standard error of a standard error from so many rows is a percent or two.
pub(in crate::evaluate) const MOST_ROWS: usize = 1 << 16;

/// See the module's page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::evaluate) struct RowSample {
    /// Numbers of the rows, ascending.
    pub(super) rows: Vec<u32>,
    /// Where the observed labels of each row start, and at the end their number.
    pub(super) offsets: Vec<u64>,
    /// Observed labels, ascending within a row.
    pub(super) positives: Vec<u32>,
    /// By model, as many labels per row as top lists are long; open slots are [`NONE`].
    pub(super) tops: Vec<Vec<u32>>,
}

/// The rows of a range that its sample has, ascending.
pub(in crate::evaluate) fn sampled(seed: u64, rows: Range<usize>) -> Vec<usize> {
    smallest(seed, rows.collect(), |row| *row as u32)
}

/// Those with the smallest hashes, in the order that they were given in.
fn smallest<T>(seed: u64, rows: Vec<T>, number: impl Fn(&T) -> u32) -> Vec<T> {
    if rows.len() <= MOST_ROWS {
        return rows;
    }
    let key = row_key(seed, Purpose::RowSample, 0);
    let hash = |row: &T| (uniform_at(key, number(row)), number(row));
    let mut hashes: Vec<(f64, u32)> = rows.iter().map(&hash).collect();
    let (_, last, _) = hashes.select_nth_unstable_by(MOST_ROWS - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let last = *last;
    rows.into_iter().filter(|row| hash(row) <= last).collect()
}

impl RowSample {
    /// An empty sample.
    pub(in crate::evaluate) fn new(models: usize) -> RowSample {
        RowSample { offsets: vec![0], tops: vec![Vec::new(); models], ..RowSample::default() }
    }

    /// Adds a row, after those with smaller numbers: its labels, in any order, and the top list of each model.
    pub(in crate::evaluate) fn push<'a>(&mut self, row: u32, labels: &[u32], tops: impl Iterator<Item = &'a [u32]>) {
        self.rows.push(row);
        let start = self.positives.len();
        self.positives.extend_from_slice(labels);
        self.positives[start..].sort_unstable();
        self.offsets.push(self.positives.len() as u64);
        self.tops.iter_mut().zip(tops).for_each(|(all, top)| all.extend_from_slice(top));
    }

    /// How many rows it has.
    pub(in crate::evaluate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The observed labels of the row at a place, ascending.
    pub(in crate::evaluate) fn labels(&self, place: usize) -> &[u32] {
        &self.positives[self.offsets[place] as usize..self.offsets[place + 1] as usize]
    }

    /// The top list of a model for the row at a place, without open slots.
    pub(in crate::evaluate) fn top(&self, model: usize, place: usize, depth: usize) -> &[u32] {
        let slots = &self.tops[model][place * depth..(place + 1) * depth];
        &slots[..slots.iter().position(|label| *label == NONE).unwrap_or(depth)]
    }

    /// The sample of both parts.
    pub(super) fn merge(&self, other: &RowSample, seed: u64, depth: usize) -> RowSample {
        let places = |of: usize, sample: &RowSample| (0..sample.len()).map(move |place| (of, place)).collect::<Vec<_>>();
        let mut all = [places(0, self), places(1, other)].concat();
        let sample = |of: usize| if of == 0 { self } else { other };
        let number = |(of, place): &(usize, usize)| sample(*of).rows[*place];
        all.sort_by_key(&number);
        let mut merged = RowSample::new(self.tops.len());
        for (of, place) in smallest(seed, all, number) {
            let from = sample(of);
            let tops = from.tops.iter().map(|tops| &tops[place * depth..(place + 1) * depth]);
            merged.push(from.rows[place], from.labels(place), tops);
        }
        merged
    }

    /// Whether rows, labels and lists are in order and within bounds, for samples that come from files.
    pub(super) fn is_sound(&self, models: usize, labels: u64, rows: u64, depth: usize) -> bool {
        let count = self.len();
        let is_label = |label: &u32| u64::from(*label) < labels;
        let ascends = |list: &[u32]| list.windows(2).all(|pair| pair[0] < pair[1]);
        count <= MOST_ROWS
            && ascends(&self.rows)
            && self.rows.last().is_none_or(|row| u64::from(*row) < rows)
            && self.offsets.len() == count + 1
            && self.offsets.first() == Some(&0)
            && self.offsets.is_sorted()
            && self.offsets.last() == Some(&(self.positives.len() as u64))
            && self.positives.iter().all(is_label)
            && (0..count).all(|place| ascends(self.labels(place)))
            && self.tops.len() == models
            && self.tops.iter().all(|tops| Some(tops.len()) == count.checked_mul(depth))
            && self.tops.iter().flatten().all(|label| *label == NONE || is_label(label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rows: Range<usize>) -> RowSample {
        let mut sample = RowSample::new(1);
        for row in sampled(7, rows) {
            let row = row as u32;
            sample.push(row, &[row % 5, 9], [[row % 3, NONE].as_slice()].into_iter());
        }
        sample
    }

    #[test]
    fn samples_of_parts_merge_into_that_of_the_whole() {
        let rows = MOST_ROWS + MOST_ROWS / 2;
        let whole = sample(0..rows);
        assert_eq!(whole.len(), MOST_ROWS);
        assert!(whole.is_sound(1, 10, rows as u64, 2));
        let cuts = [0, 1, 3000, MOST_ROWS + 77, rows];
        let mut parts: Vec<RowSample> = cuts.windows(2).map(|pair| sample(pair[0]..pair[1])).collect();
        parts.swap(0, 2);
        let merged = parts[1..].iter().fold(parts[0].clone(), |all, part| all.merge(part, 7, 2));
        assert_eq!(merged, whole);
        assert_eq!((whole.top(0, 4, 2).len(), whole.labels(4).len()), (1, 2));
        // Every row has the same chance: the share of the first half is near one half.
        let first = whole.rows.iter().filter(|row| (**row as usize) < rows / 2).count() as f64 / MOST_ROWS as f64;
        assert!((first - 0.5).abs() < 0.01, "{first}");
    }
}
