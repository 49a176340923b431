//! A sample of the rows with their labels and top lists: what the finish needs of single rows.
//!
//! The variance of a mean over labels, and what uncertain propensities do to a product or a ratio, are sums over rows that can only
//! be taken when the totals are known. A tally keeps the rows for that: all of them up to [`MOST_ROWS`], else those with the smallest
//! hashes of their numbers. The smallest of two parts together are the smallest of the whole, so samples merge into that of the
//! whole wherever the rows are cut. Streams that number their rows themselves are put behind each other when they are merged; the
//! hashes stay those of the old numbers, by which the rows were chosen.

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
    /// Numbers whose hashes chose the rows.
    pub(super) keys: Vec<u32>,
    /// Where the observed labels of each row start, and at the end their number.
    pub(super) offsets: Vec<u64>,
    /// Observed labels, ascending within a row.
    pub(super) positives: Vec<u32>,
    /// By model, as many labels per row as top lists are long; open slots are [`NONE`].
    pub(super) tops: Vec<Vec<u32>>,
}

/// The rows of a range that its sample has, ascending.
pub(in crate::evaluate) fn sampled(seed: u64, rows: Range<usize>) -> Vec<usize> {
    smallest(seed, rows.collect(), |row| [*row as u32; 2])
}

/// The hashes by which rows are chosen.
#[derive(Clone, Copy)]
pub(in crate::evaluate) struct RowHash(u64);

impl RowHash {
    pub(in crate::evaluate) fn new(seed: u64) -> RowHash {
        RowHash(row_key(seed, Purpose::RowSample, 0))
    }

    pub(in crate::evaluate) fn of(self, key: u32) -> f64 {
        uniform_at(self.0, key)
    }
}

/// Those with the smallest hashes, in the order that they were given in; `numbers` are the number and the key of a row.
fn smallest<T>(seed: u64, rows: Vec<T>, numbers: impl Fn(&T) -> [u32; 2]) -> Vec<T> {
    if rows.len() <= MOST_ROWS {
        return rows;
    }
    let of = RowHash::new(seed);
    let hash = |row: &T| {
        let [number, key] = numbers(row);
        (of.of(key), number)
    };
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

    /// Adds a row, after those with smaller numbers: its number and key, its labels, in any order, and the top list of each model.
    pub(in crate::evaluate) fn push<'a>(&mut self, [row, key]: [u32; 2], labels: &[u32], tops: impl Iterator<Item = &'a [u32]>) {
        self.rows.push(row);
        self.keys.push(key);
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

    /// The numbers of its rows, ascending.
    pub(in crate::evaluate) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.iter().copied()
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

    /// The sample of all parts; `Err` has the number of a row that several have.
    pub(in crate::evaluate) fn merge(parts: &[&RowSample], seed: u64, depth: usize) -> Result<RowSample, u32> {
        let places = parts.iter().enumerate().flat_map(|(of, part)| (0..part.len()).map(move |place| (of, place)));
        let mut all: Vec<(usize, usize)> = places.collect();
        let numbers = |(of, place): &(usize, usize)| [parts[*of].rows[*place], parts[*of].keys[*place]];
        all.sort_by_key(|at| numbers(at)[0]);
        if let Some(twice) = all.windows(2).find(|pair| numbers(&pair[0])[0] == numbers(&pair[1])[0]) {
            return Err(numbers(&twice[0])[0]);
        }
        let mut merged = RowSample::new(parts.first().map_or(0, |part| part.tops.len()));
        for (of, place) in smallest(seed, all, numbers) {
            let from = parts[of];
            let tops = from.tops.iter().map(|tops| &tops[place * depth..(place + 1) * depth]);
            merged.push([from.rows[place], from.keys[place]], from.labels(place), tops);
        }
        Ok(merged)
    }

    /// The largest hash in a sample that is full: rows with larger ones have no place in it.
    pub(in crate::evaluate) fn bar(&self, seed: u64) -> Option<f64> {
        let of = RowHash::new(seed);
        (self.len() >= MOST_ROWS).then(|| self.keys.iter().map(|key| of.of(*key)).fold(0.0, f64::max))
    }

    /// Makes room for longer top lists.
    pub(in crate::evaluate) fn widen(&mut self, from: usize, to: usize) {
        for tops in self.tops.iter_mut().filter(|_| from < to) {
            let mut wide = Vec::with_capacity(tops.len() / from.max(1) * to);
            for top in tops.chunks_exact(from) {
                wide.extend_from_slice(top);
                wide.resize(wide.len() + to - from, NONE);
            }
            *tops = wide;
        }
    }

    /// Puts the rows behind so many others.
    pub(super) fn shift(&mut self, by: u32) {
        self.rows.iter_mut().for_each(|row| *row = row.saturating_add(by));
    }

    /// Whether rows, labels and lists are in order and within bounds, for samples that come from files.
    pub(super) fn is_sound(&self, models: usize, labels: u64, rows: u64, depth: usize) -> bool {
        let count = self.len();
        let is_label = |label: &u32| u64::from(*label) < labels;
        let ascends = |list: &[u32]| list.windows(2).all(|pair| pair[0] < pair[1]);
        count <= MOST_ROWS
            && self.keys.len() == count
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
            sample.push([row; 2], &[row % 5, 9], [[row % 3, NONE].as_slice()].into_iter());
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
        let merged = parts[1..].iter().fold(parts[0].clone(), |all, part| RowSample::merge(&[&all, part], 7, 2).unwrap());
        assert_eq!(merged, whole);
        assert_eq!(RowSample::merge(&parts.iter().collect::<Vec<_>>(), 7, 2).unwrap(), whole);
        assert_eq!(RowSample::merge(&[&parts[0], &parts[1], &parts[0]], 7, 2).unwrap_err(), parts[0].rows[0]);
        let mut wide = whole.clone();
        wide.widen(2, 5);
        assert_eq!((wide.top(0, 4, 5), wide.tops[0].len()), (whole.top(0, 4, 2), 5 * MOST_ROWS));
        assert!(whole.bar(7).is_some_and(|bar| (0.6..0.72).contains(&bar)) && parts[1].bar(7).is_none());
        assert_eq!((whole.top(0, 4, 2).len(), whole.labels(4).len()), (1, 2));
        // Every row has the same chance: the share of the first half is near one half.
        let first = whole.rows.iter().filter(|row| (**row as usize) < rows / 2).count() as f64 / MOST_ROWS as f64;
        assert!((first - 0.5).abs() < 0.01, "{first}");
    }
}
