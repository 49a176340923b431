//! Scores of many rows for one panel of labels: the loop in which prediction spends its time.
//!
//! Reading the weights of each nonzero of a row anew would take `4 * labels` bytes for each. So features are taken in tiles: the
//! weights of a tile are copied into a buffer that fits the second-level cache, in the order in which they lie in memory, and
//! all rows of a batch go over them before the next ones. A row's sums live in registers while it meets a tile and rest in
//! `sums` between tiles. A tile is done for several panels in turn, so that its entries come from memory once for all of them.
//! For each row and label terms are added in the order of the features, one by one and without fused operations: the sum does
//! not depend on other rows, on tiles, on threads or on the processor.

use super::batch::Chunk;
use super::panel::{Line, Panel, Sparse};

/// Labels of a panel: as many sums as fit the registers beside what else is needed there.
pub(crate) const WIDTH: usize = 32;

/// Features whose weights are used together: 256 kB of them, half of a common second-level cache.
pub(crate) const TILE: usize = (256 << 10) / size_of::<Line>();

/// Panels that go over the entries of a tile together.
pub(crate) const TOGETHER: usize = 4;

/// Adds what the rows of some chunks score on some panels; `sums` has a line for each row, panel by panel.
pub(crate) fn add_scores(panels: &[Panel], features: usize, chunks: &[Chunk], sums: &mut [Line], scratch: &mut Vec<Line>) {
    let rows: usize = chunks.iter().map(Chunk::rows).sum();
    for (tile, first) in (0..features).step_by(TILE).enumerate() {
        let last = features.min(first + TILE);
        let entries: usize = chunks.iter().map(|chunk| chunk.entries(tile)).sum();
        for (panel, mut sums) in panels.iter().zip(sums.chunks_mut(rows.max(1))) {
            let lines = match panel {
                // With few rows it costs less to look weights up than to copy them.
                Panel::Dense(lines) if entries < last - first => Some(&lines[first..last]),
                Panel::Sparse(_) if entries < (last - first) / 4 => None,
                _ => Some(panel.copy(first..last, scratch)),
            };
            for chunk in chunks {
                let (of_chunk, others) = sums.split_at_mut(chunk.rows());
                sums = others;
                match (lines, panel) {
                    (None, Panel::Sparse(sparse)) => look_up(sparse, first, chunk, tile, of_chunk),
                    (lines, _) => add_tile(lines.unwrap_or_default(), chunk, tile, of_chunk),
                }
            }
        }
    }
}

fn look_up(sparse: &Sparse, first: usize, chunk: &Chunk, tile: usize, sums: &mut [Line]) {
    for (row, sum) in sums.iter_mut().enumerate() {
        for entry in chunk.row(tile, row) {
            sparse.for_each(first + entry.place as usize, |column, weight| sum.0[column] += entry.value * weight);
        }
    }
}

/// Compiled for several instruction sets, of which the best that the processor has is taken at run time.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+bmi2", "x86_64+avx2+bmi2"))]
fn add_tile(lines: &[Line], chunk: &Chunk, tile: usize, sums: &mut [Line]) {
    for (row, rest) in sums.iter_mut().enumerate() {
        let mut sum = rest.0;
        for entry in chunk.row(tile, row) {
            let weights = &lines[entry.place as usize].0;
            for (sum, weight) in sum.iter_mut().zip(weights) {
                *sum += entry.value * weight;
            }
        }
        rest.0 = sum;
    }
}
