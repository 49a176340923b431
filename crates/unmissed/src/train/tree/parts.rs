//! How training on trees is cut into parts: blocks of lanes that follow each other within one level of a tree, trained by one thread and kept
//! together when they are finished.

use super::node::AllRows;
use crate::predict::packed::{WIDTH, most_bytes};
use crate::predict::tree::weights::blocks_of;
use crate::tree::Tree;
use std::ops::Range;

/// Lanes of a part, about: enough that files of parts are few, few enough that little is lost when a run is interrupted.
const LANES: usize = 4096;

/// Bytes that the finished blocks of a part take about, if all weights are kept: they are in memory until the part is finished. Like
/// [`LANES`] it depends on nothing that may change when a run is resumed.
const BYTES: u64 = 16 << 20;

/// Some blocks. See the module's page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) tree: usize,
    /// The nodes in order, with the lanes, counted from the node's first, of each of their blocks that are in the part.
    pub(super) nodes: Vec<(usize, Vec<Range<usize>>)>,
    /// How far below the root.
    pub(super) level: usize,
    /// Nonzero features on the rows of the labels below its lanes: what the number of its weights grows with.
    pub(super) evidence: u64,
    /// Bytes that training it takes, at most.
    pub(super) memory: u64,
}

impl Part {
    pub(super) fn blocks(&self) -> usize {
        self.nodes.iter().map(|(_, blocks)| blocks.len()).sum()
    }

    pub(super) fn lanes(&self) -> usize {
        self.nodes.iter().flat_map(|(_, blocks)| blocks).map(|block| block.len()).sum()
    }
}

/// The parts of a tree, in the order of its blocks.
pub(super) fn parts_of(tree: &Tree, number: usize, all: &AllRows<'_>) -> Vec<Part> {
    let totals = Totals::new(tree, all);
    let levels = levels(tree);
    let mut parts: Vec<Part> = Vec::new();
    let (mut lanes_of_last, mut bytes_of_last) = (0, 0);
    for (node, &level) in levels.iter().enumerate() {
        let lanes = tree.lanes(node);
        let places = totals.places(tree, node);
        let (memory, features) = totals.memory(all, node, places.clone());
        for block in blocks_of(lanes.len()) {
            let full = lanes_of_last >= LANES || bytes_of_last >= BYTES;
            if parts.last().is_none_or(|last| last.level != level) || full {
                parts.push(Part { tree: number, nodes: Vec::new(), level, evidence: 0, memory: 0 });
                (lanes_of_last, bytes_of_last) = (0, 0);
            }
            let Some(part) = parts.last_mut() else { continue };
            // A block is trained beside those of its part that are finished.
            part.memory = part.memory.max(memory + bytes_of_last);
            lanes_of_last += block.len();
            bytes_of_last += most_bytes(features, block.len() as u64);
            let first = if block.start == 0 { places.start } else { tree.ends()[lanes.start + block.start - 1] as usize };
            let end = tree.ends()[lanes.start + block.end - 1] as usize;
            part.evidence += totals.nonzeros[end] - totals.nonzeros[first];
            match part.nodes.last_mut() {
                Some((last, blocks)) if *last == node => blocks.push(block),
                _ => part.nodes.push((node, vec![block])),
            }
        }
    }
    parts
}

/// How far below the root each node is.
fn levels(tree: &Tree) -> Vec<usize> {
    let mut levels = vec![0; tree.nodes()];
    for node in 0..tree.nodes() {
        for child in tree.lanes(node).filter_map(|lane| tree.child(lane)) {
            levels[child] = levels[node] + 1;
        }
    }
    levels
}

/// Sums over the labels before each place of a tree.
struct Totals {
    /// Rows with the label.
    rows: Vec<u64>,
    /// Nonzero features on these rows.
    nonzeros: Vec<u64>,
}

impl Totals {
    fn new(tree: &Tree, all: &AllRows<'_>) -> Totals {
        let mut totals = Totals { rows: vec![0], nonzeros: vec![0] };
        let (mut rows, mut nonzeros) = (0, 0);
        for &label in tree.order() {
            let own = all.label_rows.of_label(label);
            rows += own.len() as u64;
            nonzeros += own.iter().map(|row| all.features.row_ids(*row as usize).len() as u64).sum::<u64>();
            totals.rows.push(rows);
            totals.nonzeros.push(nonzeros);
        }
        totals
    }

    /// The places below a node.
    fn places(&self, tree: &Tree, node: usize) -> Range<usize> {
        let lanes = tree.lanes(node);
        let labels = tree.labels_below(node).map(<[u32]>::len).sum::<usize>();
        let end = tree.ends()[lanes.end - 1] as usize;
        end - labels..end
    }

    /// The most bytes that one block of a node takes in training, its rows included, and the most features that it has.
    fn memory(&self, all: &AllRows<'_>, node: usize, places: Range<usize>) -> (u64, u64) {
        let targets = self.rows[places.end] - self.rows[places.start];
        let nonzeros = (self.nonzeros[places.end] - self.nonzeros[places.start]).min(all.features.nnz() as u64);
        let (all_rows, all_features) = (all.features.rows() as u64, all.features.cols() as u64);
        let (rows, features, copied) = match node {
            0 => (all_rows, all_features, 0),
            _ => (targets.min(all_rows), nonzeros.min(all_features), nonzeros),
        };
        // Targets are sorted, which takes as much again; rows are copied with starts, squares, factors and numbers; weights and dual
        // variables have a line for each feature and row; what comes out, and its bytes as they are packed, take two more at most.
        let line = (WIDTH * size_of::<f32>()) as u64;
        (24 * targets + 8 * copied + 24 * rows + 4 * all_features + line * (3 * features + rows), features)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Csr, Labels};
    use crate::tree::LabelRows;

    /// Few lanes, but so many features that their weights are many bytes: they are not kept in memory together.
    #[test]
    fn parts_are_closed_by_bytes() {
        let parts = |features: usize| {
            let rows = Csr::from_rows(features as u64, [[(0, 1.0f32)], [(1, 1.0)]]).unwrap();
            let label_rows = LabelRows::of(&Labels::from_ids(200, [[0u32], [1]]).unwrap()).unwrap();
            let all = AllRows { features: &rows, squares: vec![1.0; 2], label_rows: &label_rows, counts: None };
            let tree = Tree::new((0..200).collect(), vec![0, 200], (1..=200).collect()).unwrap();
            parts_of(&tree, 0, &all)
        };
        let blocks = |parts: &[Part]| parts.iter().map(Part::blocks).collect::<Vec<_>>();
        assert_eq!(blocks(&parts(1_000)), [4]);
        let wide = parts(100_000);
        assert_eq!((blocks(&wide), wide.iter().map(Part::lanes).sum::<usize>()), (vec![2, 2], 200));
        // What a block is trained beside counts.
        assert!(wide[0].memory > most_bytes(100_000, 50) + 256 * 300_000, "{}", wide[0].memory);
    }
}
