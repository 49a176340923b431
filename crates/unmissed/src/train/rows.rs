//! Rows one after the other: the form in which the dual solver reads data.
//!
//! Features are renumbered, the most frequent first: the weights that nearly every row needs then lie together and stay
//! in the nearest cache.

use super::lines::{Line, add};
use crate::data::{Features, Labels};
use crate::error::{Error, Result};
use crate::predict::Normalize;
use crate::prefetch::prefetch;
use rayon::prelude::*;

/// How many entries ahead of the present one memory is asked for.
const AHEAD: usize = 12;

/// Products are summed in this many sums, so that one addition need not wait for the other.
const SUMS: usize = 4;

/// Rows, and the rows of each label. See the module's page.
pub(super) struct Rows {
    starts: Vec<usize>,
    features: Vec<u32>,
    values: Vec<f32>,
    squares: Vec<f32>,
    /// The feature of the data behind each number.
    original: Vec<u32>,
    label_starts: Vec<usize>,
    label_rows: Vec<u32>,
}

/// One row: the numbers of its features and their values.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    features: &'a [u32],
    values: &'a [f32],
}

impl Rows {
    /// No rows of so many features: for solvers that read data in another form.
    pub(super) fn none() -> Rows {
        Rows {
            starts: vec![0],
            features: Vec::new(),
            values: Vec::new(),
            squares: Vec::new(),
            original: Vec::new(),
            label_starts: Vec::new(),
            label_rows: Vec::new(),
        }
    }

    /// The given rows in the given order.
    pub(super) fn new(features: &Features<'_>, labels: &Labels<'_>, rows: &[usize], normalize: Normalize) -> Result<Rows> {
        let many = u32::try_from(rows.len()).map_err(|_| {
            Error::value("there are too many rows").expected(format!("at most {}", u32::MAX)).found(rows.len().to_string())
        })?;
        let mut counts = vec![0u32; features.cols()];
        let mut starts = vec![0];
        for &row in rows {
            entries(features, row, |feature, _| counts[feature as usize] += 1);
            starts.push(starts[starts.len() - 1] + stored(features, row));
        }
        let mut original: Vec<u32> = (0u32..).take(features.cols()).collect();
        original.sort_by_key(|&feature| std::cmp::Reverse(counts[feature as usize]));
        let mut numbers = vec![0u32; original.len()];
        (0u32..).zip(&original).for_each(|(number, &feature)| numbers[feature as usize] = number);
        let sorted = |row: &usize| -> Vec<(u32, f32)> {
            let mut found = Vec::new();
            let mut squares = 0.0;
            entries(features, *row, |feature, value| {
                squares += f64::from(value).powi(2);
                found.push((numbers[feature as usize], value));
            });
            let factor = normalize.factor_of(found.iter().map(|entry| entry.1));
            found.iter_mut().for_each(|entry| entry.1 *= factor);
            found.sort_unstable_by_key(|entry| entry.0);
            found
        };
        let total = starts[rows.len()];
        let (mut ids, mut values) = (Vec::with_capacity(total), Vec::with_capacity(total));
        // Some rows at a time, so that pairs of all of them are never in memory beside the result.
        for some in rows.chunks(1 << 12) {
            for row in some.par_iter().map(sorted).collect::<Vec<_>>() {
                ids.extend(row.iter().map(|entry| entry.0));
                values.extend(row.iter().map(|entry| entry.1));
            }
        }
        let squares = starts.windows(2).map(|range| values[range[0]..range[1]].iter().map(|value| value * value).sum()).collect();
        let (label_starts, label_rows) = by_label(labels, rows, many);
        Ok(Rows { starts, features: ids, values, squares, original, label_starts, label_rows })
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.squares.len()
    }

    /// Number of features.
    pub(super) fn features(&self) -> usize {
        self.original.len()
    }

    /// One row.
    #[inline(always)]
    pub(super) fn row(&self, row: u32) -> Row<'_> {
        let range = self.starts[row as usize]..self.starts[row as usize + 1];
        Row { features: &self.features[range.clone()], values: &self.values[range] }
    }

    /// Each row's squared norm.
    pub(super) fn squares(&self) -> &[f32] {
        &self.squares
    }

    /// The rows on which a label was observed, ascending.
    pub(super) fn observed(&self, label: u32) -> &[u32] {
        &self.label_rows[self.label_starts[label as usize]..self.label_starts[label as usize + 1]]
    }

    /// Puts lines by number in the order of the data's features.
    pub(super) fn in_original_order<const W: usize>(&self, by_number: &[Line<W>], by_feature: &mut [Line<W>]) {
        for (&feature, line) in self.original.iter().zip(by_number) {
            by_feature[feature as usize] = *line;
        }
    }
}

impl Row<'_> {
    /// The products with the weights of a block's labels.
    #[inline(always)]
    pub(super) fn product<const W: usize>(self, weights: &[Line<W>]) -> Line<W> {
        let mut sums = [[0.0; W]; SUMS];
        let (features, last_features) = self.features.as_chunks::<SUMS>();
        let (values, last_values) = self.values.as_chunks::<SUMS>();
        for (place, (features, values)) in features.iter().zip(values).enumerate() {
            let ahead = place * SUMS + AHEAD;
            if let Some(next) = self.features.get(ahead..ahead + SUMS) {
                next.iter().for_each(|feature| prefetch(&weights[*feature as usize]));
            }
            for part in 0..SUMS {
                add(&mut sums[part], values[part], &weights[features[part] as usize]);
            }
        }
        for (feature, value) in last_features.iter().zip(last_values) {
            add(&mut sums[0], *value, &weights[*feature as usize]);
        }
        std::array::from_fn(|lane| (sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane]))
    }

    /// Adds the row times a factor for each label to the weights.
    #[inline(always)]
    pub(super) fn add_to<const W: usize>(self, weights: &mut [Line<W>], factors: &Line<W>) {
        for (feature, value) in self.features.iter().zip(self.values) {
            add(&mut weights[*feature as usize], *value, factors);
        }
    }

    /// Lets the processor fetch the beginning of the row.
    #[inline(always)]
    pub(super) fn prefetch(self) {
        if let (Some(feature), Some(value)) = (self.features.first(), self.values.first()) {
            prefetch(feature);
            prefetch(value);
        }
    }
}

/// Shows the entries of a row that are not zero.
fn entries(features: &Features<'_>, row: usize, mut show: impl FnMut(u32, f32)) {
    match features {
        Features::Sparse(matrix) => {
            let (ids, values) = matrix.row(row);
            ids.iter().zip(values).filter(|entry| *entry.1 != 0.0).for_each(|(id, value)| show(*id, *value));
        }
        Features::Dense(matrix) => {
            (0u32..).zip(matrix.row(row)).filter(|entry| *entry.1 != 0.0).for_each(|(id, value)| show(id, *value));
        }
    }
}

/// How many entries of a row are not zero.
fn stored(features: &Features<'_>, row: usize) -> usize {
    let mut count = 0;
    entries(features, row, |_, _| count += 1);
    count
}

/// The rows of each label: where each label's begin, and the rows.
fn by_label(labels: &Labels<'_>, rows: &[usize], many: u32) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; labels.cols() + 1];
    for &row in rows {
        labels.row_ids(row).iter().for_each(|&label| starts[label as usize + 1] += 1);
    }
    for label in 0..labels.cols() {
        starts[label + 1] += starts[label];
    }
    let (mut next, mut found) = (starts.clone(), vec![0; starts[labels.cols()]]);
    for (place, &row) in (0..many).zip(rows) {
        for &label in labels.row_ids(row) {
            found[next[label as usize]] = place;
            next[label as usize] += 1;
        }
    }
    (starts, found)
}
