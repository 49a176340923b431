//! Rows prepared for a model: scaled, and their entries sorted by tiles of features.

use super::Normalize;
use super::kernel::TILE;
use crate::data::Features;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that are prepared together.
const CHUNK: usize = 1024;
/// Rows for which the weights are read once from memory.
const BATCH: usize = 8 * CHUNK;
/// Entries of a chunk and of a batch of them: what a batch holds in memory follows.
const CHUNK_ENTRIES: usize = 1 << 20;
const BATCH_ENTRIES: usize = 8 * CHUNK_ENTRIES;

/// Neighbouring rows for which the weights are read once.
pub(crate) struct Batch {
    pub(crate) first: usize,
    pub(crate) chunks: Vec<Chunk>,
}

impl Batch {
    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.chunks.iter().map(Chunk::rows).sum()
    }
}

/// The rows of `range` in batches of at most `most` rows, each made when it is asked for.
pub(crate) fn batches<'a>(
    data: &'a Features<'_>,
    range: Range<usize>,
    most: usize,
    features: usize,
    normalize: Normalize,
) -> impl Iterator<Item = Batch> + 'a {
    let mut next = range.start;
    std::iter::from_fn(move || {
        let first = next;
        let (mut pieces, mut total) = (Vec::new(), 0);
        while next < range.end && next - first < most.clamp(1, BATCH) && total < BATCH_ENTRIES {
            let (start, mut entries) = (next, 0);
            let end = range.end.min(first + most.clamp(1, BATCH)).min(start + CHUNK);
            while next < end && (next == start || entries < CHUNK_ENTRIES) {
                entries += stored(data, next);
                next += 1;
            }
            total += entries;
            pieces.push(start..next);
        }
        let chunk = |piece: Range<usize>| Chunk::new(data, piece, features, normalize);
        (next > first).then(|| Batch { first, chunks: pieces.into_par_iter().map(chunk).collect() })
    })
}

/// Number of stored features of a row.
fn stored(data: &Features<'_>, row: usize) -> usize {
    match data {
        Features::Sparse(matrix) => matrix.row_ids(row).len(),
        Features::Dense(matrix) => matrix.cols(),
    }
}

/// A feature of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// Its place in the tile.
    pub(crate) place: u32,
    /// Its scaled value.
    pub(crate) value: f32,
}

/// Neighbouring rows, their entries by tile.
pub(crate) struct Chunk {
    rows: usize,
    /// Where the entries of (tile, row) start, tile by tile; one more at the end.
    starts: Vec<u32>,
    entries: Vec<Entry>,
}

impl Chunk {
    /// Takes the rows of `range` in; ids lie below `features`.
    pub(crate) fn new(data: &Features<'_>, range: Range<usize>, features: usize, normalize: Normalize) -> Chunk {
        let rows = range.len();
        // A chunk has less than 2^20 entries and those of one row more: they can be counted in 32 bits.
        let mut starts = vec![0u32; features.div_ceil(TILE) * rows + 1];
        let mut row_of = RowOf::default();
        for (row, place) in range.clone().enumerate() {
            for (id, _) in row_of.entries(data, place, normalize) {
                starts[id as usize / TILE * rows + row + 1] += 1;
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut entries = vec![Entry::default(); starts.last().map_or(0, |last| *last as usize)];
        for (row, place) in range.enumerate() {
            let (mut tile, mut next) = (usize::MAX, 0);
            for (id, value) in row_of.entries(data, place, normalize) {
                let id = id as usize;
                if id / TILE != tile {
                    tile = id / TILE;
                    next = starts[tile * rows + row] as usize;
                }
                entries[next] = Entry { place: (id % TILE) as u32, value };
                next += 1;
            }
        }
        Chunk { rows, starts, entries }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of entries in a tile.
    pub(crate) fn entries(&self, tile: usize) -> usize {
        (self.starts[(tile + 1) * self.rows] - self.starts[tile * self.rows]) as usize
    }

    /// The entries of a row in a tile, by feature.
    #[inline(always)]
    pub(crate) fn row(&self, tile: usize, row: usize) -> &[Entry] {
        let at = tile * self.rows + row;
        &self.entries[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Gives the entries of rows: sorted by feature, scaled, zeros left out.
#[derive(Default)]
struct RowOf {
    sorted: Vec<(u32, f32)>,
}

impl RowOf {
    fn entries<'a>(&'a mut self, data: &Features<'_>, row: usize, normalize: Normalize) -> impl Iterator<Item = (u32, f32)> + 'a {
        self.sorted.clear();
        match data {
            Features::Sparse(matrix) => {
                let (ids, values) = matrix.row(row);
                self.sorted.extend(ids.iter().copied().zip(values.iter().copied()));
                if !matrix.is_sorted() {
                    self.sorted.sort_unstable_by_key(|entry| entry.0);
                }
            }
            Features::Dense(matrix) => self.sorted.extend((0u32..).zip(matrix.row(row).iter().copied())),
        }
        let factor = normalize.factor_of(self.sorted.iter().map(|entry| entry.1));
        self.sorted.iter().filter(|entry| entry.1 != 0.0).map(move |(id, value)| (*id, value * factor))
    }
}
