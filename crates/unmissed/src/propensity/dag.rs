//! A hierarchy of labels: parents of labels, without cycles.

use super::pairs::{Columns, by_left, read_pairs};
use crate::data::check_label_limit;
use crate::error::{Error, Result};
use std::path::Path;

/// A checked directed acyclic graph of labels.
///
/// ```
/// use unmissed::propensity::dag::Dag;
/// // 2 and 3 are kinds of 1, which is a kind of 0.
/// let dag = Dag::new(4, vec![(1, 0), (2, 1), (3, 1)])?;
/// assert_eq!(dag.parents(2), [1]);
/// assert!(dag.has_more_descendants(0, 2) && !dag.has_more_descendants(1, 2));
/// let error = Dag::new(3, vec![(0, 1), (1, 2), (2, 0)]).unwrap_err();
/// assert!(error.to_string().contains("0 -> 1 -> 2 -> 0"), "{error}");
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dag {
    labels: usize,
    parents: (Vec<usize>, Vec<u32>),
    children: (Vec<usize>, Vec<u32>),
}

impl Dag {
    /// From (child, parent) edges; an edge that occurs twice counts once.
    pub fn new(labels: usize, edges: Vec<(u32, u32)>) -> Result<Dag> {
        check_label_limit(labels as u64)?;
        if let Some(edge) = edges.iter().find(|edge| edge.0.max(edge.1) as usize >= labels) {
            return Err(Error::value("an edge of the hierarchy is out of range")
                .expected(format!("labels below {labels}"))
                .found(format!("{} -> {}", edge.0, edge.1)));
        }
        let reversed = edges.iter().map(|(child, parent)| (*parent, *child)).collect();
        let dag = Dag { labels, parents: by_left(labels, edges), children: by_left(labels, reversed) };
        match dag.cycle() {
            None => Ok(dag),
            Some(cycle) => {
                let names: Vec<String> = cycle.iter().map(u32::to_string).collect();
                Err(Error::value("the hierarchy has a cycle")
                    .expected("no label among its own ancestors")
                    .found(format!("{} (child -> parent)", names.join(" -> "))))
            }
        }
    }

    /// Reads `child<TAB>parent` lines.
    pub fn read(path: impl AsRef<Path>, labels: usize) -> Result<Dag> {
        let path = path.as_ref();
        let columns = Columns { names: ("child", "parent"), bounds: (labels as u64, labels as u64) };
        Dag::new(labels, read_pairs(path, columns)?).map_err(|error| error.in_file(path))
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.parents.1.len()
    }

    /// The parents of a label.
    pub fn parents(&self, label: u32) -> &[u32] {
        &self.parents.1[self.parents.0[label as usize]..self.parents.0[label as usize + 1]]
    }

    /// The children of a label.
    pub fn children(&self, label: u32) -> &[u32] {
        &self.children.1[self.children.0[label as usize]..self.children.0[label as usize + 1]]
    }

    /// Whether a label has more than `threshold` descendants. Stops looking once it is known.
    pub fn has_more_descendants(&self, label: u32, threshold: u64) -> bool {
        let mut seen = vec![label];
        let mut next = 0;
        while next < seen.len() {
            for child in self.children(seen[next]) {
                // The list stays as short as the threshold, so looking through it is cheap.
                if !seen.contains(child) {
                    seen.push(*child);
                    if seen.len() as u64 - 1 > threshold {
                        return true;
                    }
                }
            }
            next += 1;
        }
        false
    }

    /// Calls `take` once for each ancestor of the labels of a row. `stamps` has an entry for each label, and `stamp` must not
    /// have been used with it before.
    pub(super) fn ancestors(
        &self,
        labels: &[u32],
        stamps: &mut [u32],
        stamp: u32,
        stack: &mut Vec<u32>,
        mut take: impl FnMut(u32),
    ) {
        stack.clear();
        stack.extend_from_slice(labels);
        while let Some(label) = stack.pop() {
            for &parent in self.parents(label) {
                if stamps[parent as usize] != stamp {
                    stamps[parent as usize] = stamp;
                    take(parent);
                    stack.push(parent);
                }
            }
        }
    }

    /// A cycle as child -> parent -> ... -> child, if there is one.
    fn cycle(&self) -> Option<Vec<u32>> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut states = vec![State::New; self.labels];
        // The path from the root of the search, with the place of the next parent to look at.
        let mut path: Vec<(u32, usize)> = Vec::new();
        for root in 0..self.labels as u32 {
            if states[root as usize] != State::New {
                continue;
            }
            states[root as usize] = State::Open;
            path.push((root, 0));
            while let Some((label, next)) = path.last_mut() {
                let label = *label;
                let Some(&parent) = self.parents(label).get(*next) else {
                    states[label as usize] = State::Done;
                    path.pop();
                    continue;
                };
                *next += 1;
                match states[parent as usize] {
                    State::Done => {}
                    State::New => {
                        states[parent as usize] = State::Open;
                        path.push((parent, 0));
                    }
                    State::Open => {
                        let from = path.iter().position(|(label, _)| *label == parent).unwrap_or(0);
                        let mut cycle: Vec<u32> = path[from..].iter().map(|(label, _)| *label).collect();
                        cycle.push(parent);
                        return Some(cycle);
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_declared_number_of_labels_is_refused() {
        let message = Dag::new(u32::MAX as usize, vec![(1, 0)]).unwrap_err().to_string();
        assert!(message.starts_with("too many labels"), "{message}");
    }

    #[test]
    fn a_label_that_is_its_own_parent_is_a_cycle_and_a_diamond_is_not() {
        assert!(Dag::new(2, vec![(1, 1)]).unwrap_err().to_string().contains("1 -> 1"));
        let diamond = Dag::new(4, vec![(3, 1), (3, 2), (1, 0), (2, 0), (2, 0)]).unwrap();
        assert_eq!(diamond.edges(), 4);
        assert!(diamond.has_more_descendants(0, 2) && !diamond.has_more_descendants(0, 3));
        let (mut found, mut stamps) = (Vec::new(), vec![0; 4]);
        diamond.ancestors(&[3], &mut stamps, 1, &mut Vec::new(), |label| found.push(label));
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2]);
    }
}
