//! What is known of nodes: [`Known`].

/// The conditional probabilities of the lanes of nodes of one tree, for the rows of a chunk.
pub(super) struct Known {
    /// For each row its node that became known last.
    last: Vec<u32>,
    nodes: Vec<Node>,
    chances: Vec<f32>,
}

struct Node {
    node: u32,
    /// The row's node that became known before.
    before: u32,
    /// Where its lanes are in `chances`.
    start: usize,
    lanes: u32,
}

const NONE: u32 = u32::MAX;

impl Known {
    pub(super) fn new(rows: usize) -> Known {
        Known { last: vec![NONE; rows], nodes: Vec::new(), chances: Vec::new() }
    }

    pub(super) fn of(&self, row: u32, node: u32) -> Option<&[f32]> {
        let mut at = self.last[row as usize];
        while let Some(known) = self.nodes.get(at as usize) {
            if known.node == node {
                return Some(&self.chances[known.start..known.start + known.lanes as usize]);
            }
            at = known.before;
        }
        None
    }

    pub(super) fn put(&mut self, row: u32, node: u32, chances: &[f32]) {
        let before = std::mem::replace(&mut self.last[row as usize], self.nodes.len() as u32);
        self.nodes.push(Node { node, before, start: self.chances.len(), lanes: chances.len() as u32 });
        self.chances.extend_from_slice(chances);
    }
}
