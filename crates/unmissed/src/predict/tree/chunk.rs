//! Rows that are predicted together, node by node: the weights of a node are then read once for all of them.

use super::TreeModel;
use super::weights::blocks_of;
use crate::data::Features;
use crate::error::{Error, Result};
use crate::losses::sigmoids;
use crate::predict::packed::{Lookup, WIDTH};
use std::ops::Range;

/// The most rows of a chunk: enough that many of them meet at most nodes, few enough for what is known of their nodes.
const MOST_ROWS: usize = 4096;

/// Fewer rows are not worth a chunk of their own.
const FEWEST_ROWS: usize = 256;

/// Rows in chunks of alike size, as many for each thread. What comes out does not depend on it.
pub(super) fn chunks(rows: usize) -> Vec<Range<usize>> {
    let count = rows.div_ceil(MOST_ROWS).next_multiple_of(rayon::current_num_threads()).max(1);
    let each = rows.div_ceil(count).max(FEWEST_ROWS);
    (0..rows).step_by(each).map(|first| first..rows.min(first + each)).collect()
}

/// For fewer rows at a node, features are searched; for more, the node's features are spread out first.
const FEW: usize = 6;

/// Scaled rows, features ascending.
pub(super) struct Chunk {
    starts: Vec<usize>,
    features: Vec<u32>,
    values: Vec<f32>,
}

impl Chunk {
    pub(super) fn new(model: &TreeModel, data: &Features<'_>, rows: Range<usize>) -> Chunk {
        let mut chunk = Chunk { starts: vec![0], features: Vec::new(), values: Vec::new() };
        let mut entries: Vec<(u32, f32)> = Vec::new();
        for row in rows {
            entries.clear();
            match data {
                Features::Sparse(matrix) => {
                    let (ids, values) = matrix.row(row);
                    entries.extend(ids.iter().copied().zip(values.iter().copied()));
                    if !matrix.is_sorted() {
                        entries.sort_unstable_by_key(|entry| entry.0);
                    }
                }
                Features::Dense(matrix) => {
                    entries.extend((0u32..).zip(matrix.row(row).iter().copied()).filter(|entry| entry.1 != 0.0));
                }
            }
            let factor = model.normalize.factor_of(entries.iter().map(|entry| entry.1));
            chunk.features.extend(entries.iter().map(|entry| entry.0));
            chunk.values.extend(entries.iter().map(|entry| entry.1 * factor));
            chunk.starts.push(chunk.features.len());
        }
        chunk
    }

    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn row(&self, row: u32) -> (&[u32], &[f32]) {
        let range = self.starts[row as usize]..self.starts[row as usize + 1];
        (&self.features[range.clone()], &self.values[range])
    }
}

/// A node that is to be evaluated for a row.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) node: u32,
    pub(super) row: u32,
    /// What asks for it, and what the way to the node says.
    pub(super) place: u32,
    pub(super) chance: f64,
}

impl Wanted {
    /// Nodes one after the other.
    pub(super) fn order(&self) -> u64 {
        u64::from(self.node) << 32 | u64::from(self.row)
    }
}

/// Room that a thread uses again.
pub(super) struct Work {
    lookup: Lookup,
    chances: Vec<f32>,
}

impl Work {
    pub(super) fn new(model: &TreeModel) -> Work {
        Work { lookup: Lookup::new(model.features), chances: Vec::new() }
    }
}

impl TreeModel {
    /// Evaluates nodes of a tree on rows of a chunk, node by node: shows for each of them the conditional probabilities of the node's
    /// lanes, from its first. Fails when the weights lie in a file that is damaged, and when scores overflow.
    pub(super) fn evaluate(
        &self,
        tree: usize,
        chunk: &Chunk,
        wanted: &mut [Wanted],
        work: &mut Work,
        mut show: impl FnMut(&Wanted, &[f32]),
    ) -> Result<()> {
        wanted.sort_unstable_by_key(Wanted::order);
        for group in wanted.chunk_by(|a, b| a.node == b.node) {
            let node = group[0].node as usize;
            let lanes = self.trees[tree].lanes(node);
            work.chances.clear();
            work.chances.resize(group.len() * lanes.len(), 0.0);
            for (number, block) in blocks_of(lanes.len()).enumerate() {
                let first = self.first_lanes[tree] + lanes.start + block.start;
                let bias = &self.weights.bias[first..first + block.len()];
                let view = self.weights.block(self.first_blocks[tree][node] + number)?;
                let spread = group.len() >= FEW;
                if spread {
                    view.spread(&mut work.lookup);
                }
                for (place, wanted) in group.iter().enumerate() {
                    let mut sums = [0.0; WIDTH];
                    sums[..bias.len()].copy_from_slice(bias);
                    let (features, values) = chunk.row(wanted.row);
                    if spread {
                        view.add_spread(&work.lookup, features, values, &mut sums);
                    } else {
                        view.add_searched(features, values, &mut sums);
                    }
                    let from = place * lanes.len() + block.start;
                    if !put_sigmoids(&sums, &mut work.chances[from..from + block.len()]) {
                        return Err(Error::value(format!("scores below node {node} of tree {tree} overflow"))
                            .expected("features and weights of moderate size")
                            .hint("scale the features"));
                    }
                }
            }
            for (wanted, chances) in group.iter().zip(work.chances.chunks_exact(lanes.len())) {
                show(wanted, chances);
            }
        }
        Ok(())
    }
}

/// The probabilities of logits; whether all of these are finite.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+bmi2", "x86_64+avx2+bmi2"))]
fn put_sigmoids(logits: &[f32; WIDTH], chances: &mut [f32]) -> bool {
    let (mut all, mut finite) = ([0.0; WIDTH], true);
    for lane in 0..WIDTH {
        all[lane] = sigmoids(logits[lane]).0;
        finite &= logits[lane].abs() < f32::INFINITY;
    }
    chances.copy_from_slice(&all[..chances.len()]);
    finite
}
