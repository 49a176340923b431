//! Scores of many rows for one panel of labels: the loop in which prediction spends its time.
//!
//! Reading the weights of each nonzero of a row anew would take `4 * labels` bytes for each. So rows are taken in chunks, and
//! features in tiles whose weights stay in the second-level cache while the whole chunk goes over them. A row's sums live in
//! registers while it meets a tile and rest in `sums` between tiles. For each row and label terms are added in the order of
//! the features, one by one and without fused operations: the sum does not depend on other rows, on tiles, on threads or on
//! the processor.

use super::batch::Chunk;
use super::panel::{Line, Panel};

/// Labels of a panel: as many sums as fit the registers beside what else is needed there.
pub(crate) const WIDTH: usize = 32;

/// Features whose weights are used together: 256 kB of them, half of a common second-level cache.
pub(crate) const TILE: usize = (256 << 10) / size_of::<Line>();

/// Adds what the rows of a chunk score on a panel.
pub(crate) fn add_scores(panel: &Panel, chunk: &Chunk, sums: &mut [Line], scratch: &mut Vec<Line>) {
    for (tile, features) in chunk.tiles() {
        match panel {
            Panel::Sparse(sparse) if chunk.entries(tile) < features.len() / 4 => {
                // Few rows: looking weights up costs less than spreading the tile out.
                for (row, sum) in sums.iter_mut().enumerate() {
                    for entry in chunk.row(tile, row) {
                        let feature = features.start + entry.place as usize;
                        sparse.for_each(feature, |lane, weight| sum.0[lane] += entry.value * weight);
                    }
                }
            }
            _ => add_tile(panel.lines(features, scratch), chunk, tile, sums),
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
