//! The problem of a node: its rows, with features numbered anew, and below which of its lanes they have labels.

use crate::data::Csr;
use crate::tree::{LabelRows, Tree};
use std::borrow::Cow;

/// That a row has labels below a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) row: u32,
    pub(super) lane: u32,
    /// The share of the row that the lane has: 1, unless labels are counted.
    pub(super) share: f32,
}

/// Rows of a node. See the module's page.
pub(super) struct NodeRows<'a> {
    starts: Cow<'a, [u64]>,
    ids: Cow<'a, [u32]>,
    values: Cow<'a, [f32]>,
    squares: Cow<'a, [f32]>,
    /// What rows count, when not all count 1.
    factors: Vec<f32>,
    /// The feature of the data behind each number; empty when they are the same.
    original: Vec<u32>,
    features: usize,
    targets: Vec<Target>,
}

/// Numbers of features, for one node after the other.
pub(super) struct Numbers(Vec<u32>);

/// The data that nodes take their rows from.
pub(super) struct AllRows<'a> {
    pub(super) features: &'a Csr<'a, f32>,
    pub(super) squares: Vec<f32>,
    pub(super) label_rows: &'a LabelRows,
    /// What an observed label counts, when labels are counted.
    pub(super) counts: Option<Vec<f32>>,
}

const NONE: u32 = u32::MAX;

impl Numbers {
    pub(super) fn new(features: usize) -> Numbers {
        Numbers(vec![NONE; features])
    }
}

impl<'a> NodeRows<'a> {
    /// The rows of a node: those with labels below it, at the root all of them.
    pub(super) fn of(all: &'a AllRows<'_>, tree: &Tree, node: usize, numbers: &mut Numbers) -> NodeRows<'a> {
        let mut targets = targets(all, tree, node);
        let rows: Option<Vec<u32>> = (node > 0).then(|| {
            let mut rows: Vec<u32> = targets.iter().map(|target| target.row).collect();
            rows.dedup();
            rows
        });
        if let Some(rows) = &rows {
            let mut place = 0;
            for target in &mut targets {
                while rows[place as usize] != target.row {
                    place += 1;
                }
                target.row = place;
            }
        }
        let count = rows.as_ref().map_or(all.features.rows(), Vec::len);
        let factors = if all.counts.is_some() { shares(&mut targets, count) } else { Vec::new() };
        let Some(rows) = rows else {
            // The root has all rows, and they are used where they lie.
            return NodeRows {
                starts: Cow::Borrowed(all.features.offsets()),
                ids: Cow::Borrowed(all.features.ids()),
                values: Cow::Borrowed(all.features.values()),
                squares: Cow::Borrowed(&all.squares),
                factors,
                original: Vec::new(),
                features: all.features.cols(),
                targets,
            };
        };
        let mut original = Vec::new();
        for &row in &rows {
            for &feature in all.features.row_ids(row as usize) {
                if numbers.0[feature as usize] == NONE {
                    numbers.0[feature as usize] = 0;
                    original.push(feature);
                }
            }
        }
        original.sort_unstable();
        (0u32..).zip(&original).for_each(|(number, &feature)| numbers.0[feature as usize] = number);
        let total = rows.iter().map(|&row| all.features.row_ids(row as usize).len()).sum();
        let (mut ids, mut values) = (Vec::with_capacity(total), Vec::with_capacity(total));
        let mut starts = Vec::with_capacity(rows.len() + 1);
        starts.push(0);
        for &row in &rows {
            let (features, row_values) = all.features.row(row as usize);
            ids.extend(features.iter().map(|&feature| numbers.0[feature as usize]));
            values.extend_from_slice(row_values);
            starts.push(ids.len() as u64);
        }
        original.iter().for_each(|&feature| numbers.0[feature as usize] = NONE);
        let squares: Vec<f32> = rows.iter().map(|&row| all.squares[row as usize]).collect();
        let features = original.len();
        let (starts, ids, values, squares) = (starts.into(), ids.into(), values.into(), squares.into());
        NodeRows { starts, ids, values, squares, factors, original, features, targets }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.squares.len()
    }

    /// Number of features.
    pub(super) fn features(&self) -> usize {
        self.features
    }

    /// The feature of the data behind a number.
    pub(super) fn feature(&self, number: u32) -> u32 {
        self.original.get(number as usize).copied().unwrap_or(number)
    }

    /// One row.
    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        (&self.ids[range.clone()], &self.values[range])
    }

    /// A row's squared length.
    #[inline(always)]
    pub(super) fn square(&self, row: usize) -> f32 {
        self.squares[row]
    }

    /// What a row counts.
    #[inline(always)]
    pub(super) fn factor(&self, row: usize) -> f32 {
        self.factors.get(row).copied().unwrap_or(1.0)
    }

    /// Below which lanes rows have labels, by row.
    pub(super) fn targets(&self) -> &[Target] {
        &self.targets
    }
}

/// The rows below each lane, by row and lane, with rows of the data; shares are what their labels count.
fn targets(all: &AllRows<'_>, tree: &Tree, node: usize) -> Vec<Target> {
    let mut targets = Vec::new();
    for (lane, labels) in (0u32..).zip(tree.labels_below(node)) {
        for &label in labels {
            let share = all.counts.as_ref().map_or(1.0, |counts| counts[label as usize]);
            targets.extend(all.label_rows.of_label(label).iter().map(|&row| Target { row, lane, share }));
        }
    }
    targets.sort_by_key(|target| (target.row, target.lane));
    targets.dedup_by(|next, kept| {
        let same = (next.row, next.lane) == (kept.row, kept.lane);
        if same && all.counts.is_some() {
            kept.share += next.share;
        }
        same
    });
    targets
}

/// Makes shares of counts; what each row counts then, 1 in the mean of those that count.
fn shares(targets: &mut [Target], rows: usize) -> Vec<f32> {
    let mut sums = vec![0.0f32; rows];
    targets.iter().for_each(|target| sums[target.row as usize] += target.share);
    targets.iter_mut().for_each(|target| target.share /= sums[target.row as usize]);
    let total: f64 = sums.iter().map(|sum| f64::from(*sum)).sum();
    let counting = sums.iter().filter(|sum| **sum > 0.0).count();
    if counting > 0 {
        let mean = (total / counting as f64) as f32;
        sums.iter_mut().for_each(|sum| *sum /= mean);
    }
    sums
}
