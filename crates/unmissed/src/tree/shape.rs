//! [`Tree`]: labels in an order in which every node of the tree is a range.

use crate::error::{Error, Result};
use std::collections::VecDeque;

/// What a lane leads to when it is a label.
const LABEL: u32 = u32::MAX;

/// The deepest tree that builders may grow: nobody's hierarchy is deeper, and walks over nested nodes stay within the stack.
const DEEPEST: usize = 1000;

/// A tree over labels.
///
/// Labels stand in an order in which each node holds a range of *places*, and its children, its *lanes*, divide that range. A lane of
/// one place is a label, any other a node. Nodes are numbered level by level from the root, so the nodes below lanes come in the
/// order of the lanes, and two arrays say everything: where the lanes of each node start, and where the places of each lane end.
///
/// ```
/// use unmissed::tree::Tree;
/// // Labels 2 and 0 below one lane of the root, label 1 directly below it.
/// let tree = Tree::new(vec![2, 0, 1], vec![0, 2, 4], vec![2, 3, 1, 2])?;
/// assert_eq!((tree.labels(), tree.nodes(), tree.lanes(0)), (3, 2, 0..2));
/// assert_eq!((tree.child(0), tree.child(1), tree.label(1)), (Some(1), None, Some(1)));
/// assert_eq!(tree.path(0), [(0, 0), (1, 3)]);
/// assert!(Tree::new(vec![2, 0, 2], vec![0, 3], vec![1, 2, 3]).is_err(), "a label twice");
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    order: Vec<u32>,
    lanes: Vec<u32>,
    ends: Vec<u32>,
    /// For each lane the node below it, or `LABEL`.
    below: Vec<u32>,
    /// For each node its first place.
    firsts: Vec<u32>,
    /// For each label its place.
    places: Vec<u32>,
}

/// A tree while it grows.
pub(crate) enum Grown {
    /// A leaf.
    Label(u32),
    /// A node with its children.
    Node(Vec<Grown>),
}

impl Tree {
    /// Checks that `order` has each label once and that the lanes of every node divide its range: `lanes` has for each node where its
    /// lanes start, and at the end how many there are; `ends` for each lane where its places end.
    pub fn new(order: Vec<u32>, lanes: Vec<u32>, ends: Vec<u32>) -> Result<Tree> {
        let broken = |what: String| Error::value(format!("not a tree over labels: {what}"));
        if order.is_empty() || u32::try_from(order.len()).is_err() {
            return Err(broken("it has no labels, or more than ids have".into()));
        }
        let mut places = vec![u32::MAX; order.len()];
        for (place, &label) in (0u32..).zip(&order) {
            match places.get_mut(label as usize) {
                Some(known) if *known == u32::MAX => *known = place,
                Some(_) => return Err(broken(format!("label {label} is in it twice"))),
                None => return Err(broken(format!("label {label} does not exist"))),
            }
        }
        if lanes.first() != Some(&0) || lanes.last().map(|last| *last as usize) != Some(ends.len()) {
            return Err(broken("its nodes do not have all its lanes".into()));
        }
        let nodes = lanes.len() - 1;
        let (mut below, mut firsts) = (Vec::with_capacity(ends.len()), Vec::with_capacity(nodes));
        // The ranges of the nodes whose lanes are still to come.
        let mut waiting = VecDeque::new();
        waiting.push_back(0..order.len() as u32);
        let mut numbered = 1u32;
        for (node, pair) in lanes.windows(2).enumerate() {
            let own = waiting.pop_front().ok_or_else(|| broken(format!("no lane leads to node {node}")))?;
            let of_node = ends.get(pair[0] as usize..pair[1] as usize).filter(|ends| !ends.is_empty());
            let of_node = of_node.ok_or_else(|| broken(format!("node {node} has no lanes")))?;
            firsts.push(own.start);
            let mut from = own.start;
            for &end in of_node {
                if end <= from || end > own.end || (end - from > 1 && (from..end) == own) {
                    return Err(broken(format!("the lanes of node {node} do not divide its range")));
                }
                if end - from > 1 {
                    below.push(numbered);
                    numbered += 1;
                    waiting.push_back(from..end);
                } else {
                    below.push(LABEL);
                }
                from = end;
            }
            if from != own.end {
                return Err(broken(format!("the lanes of node {node} do not fill its range")));
            }
        }
        if !waiting.is_empty() {
            return Err(broken("some lanes lead to nodes that are not there".into()));
        }
        Ok(Tree { order, lanes, ends, below, firsts, places })
    }

    /// A tree that was grown as nested nodes, with each of so many labels once.
    pub(crate) fn from_grown(root: Grown, labels: usize) -> Result<Tree> {
        if depth(&root) > DEEPEST {
            return Err(Error::value("the tree is too deep").expected(format!("at most {DEEPEST} levels")));
        }
        let root = match root {
            Grown::Label(label) => Grown::Node(vec![Grown::Label(label)]),
            node @ Grown::Node(_) => node,
        };
        let mut order = Vec::with_capacity(labels);
        collect(&root, &mut order);
        let (mut lanes, mut ends) = (vec![0], Vec::new());
        let mut waiting = VecDeque::from([(&root, 0u32)]);
        while let Some((node, first)) = waiting.pop_front() {
            let Grown::Node(children) = node else { continue };
            let mut place = first;
            for child in children {
                if let Grown::Node(_) = child {
                    waiting.push_back((child, place));
                }
                place += count(child);
                ends.push(place);
            }
            lanes.push(ends.len() as u32);
        }
        Tree::new(order, lanes, ends)
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.order.len()
    }

    /// Number of nodes, the root included; labels are none.
    pub fn nodes(&self) -> usize {
        self.lanes.len() - 1
    }

    /// The lanes of a node.
    pub fn lanes(&self, node: usize) -> std::ops::Range<usize> {
        self.lanes[node] as usize..self.lanes[node + 1] as usize
    }

    /// The node below a lane; none when it is a label.
    pub fn child(&self, lane: usize) -> Option<usize> {
        Some(self.below[lane]).filter(|below| *below != LABEL).map(|below| below as usize)
    }

    /// The label that a lane is; none when a node is below it.
    pub fn label(&self, lane: usize) -> Option<u32> {
        (self.below[lane] == LABEL).then(|| self.order[self.ends[lane] as usize - 1])
    }

    /// The labels of the lanes of a node, lane by lane.
    pub fn labels_below(&self, node: usize) -> impl Iterator<Item = &[u32]> {
        let mut from = self.firsts[node] as usize;
        self.ends[self.lanes(node)].iter().map(move |&end| {
            let labels = &self.order[from..end as usize];
            from = end as usize;
            labels
        })
    }

    /// The labels in the order of the tree.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Where the lanes of each node start, and at the end how many there are.
    pub fn lane_starts(&self) -> &[u32] {
        &self.lanes
    }

    /// Where the places of each lane end.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// The nodes from the root to a label, each with the lane that leads on.
    ///
    /// # Panics
    /// When there is no such label: which there are is the caller's knowledge, not input.
    pub fn path(&self, label: u32) -> Vec<(usize, usize)> {
        let place = self.places[label as usize];
        let mut path = Vec::new();
        let mut node = Some(0);
        while let Some(at) = node {
            let lanes = self.lanes(at);
            let lane = lanes.start + self.ends[lanes].partition_point(|end| *end <= place);
            path.push((at, lane));
            node = self.child(lane);
        }
        path
    }

    /// The number of nodes on the longest way from the root to a label.
    pub fn depth(&self) -> usize {
        let mut depths = vec![1usize; self.nodes()];
        for node in 0..self.nodes() {
            for child in self.lanes(node).filter_map(|lane| self.child(lane)) {
                depths[child] = depths[node] + 1;
            }
        }
        depths.into_iter().max().unwrap_or(0)
    }
}

fn count(grown: &Grown) -> u32 {
    match grown {
        Grown::Label(_) => 1,
        Grown::Node(children) => children.iter().map(count).sum(),
    }
}

fn collect(grown: &Grown, order: &mut Vec<u32>) {
    match grown {
        Grown::Label(label) => order.push(*label),
        Grown::Node(children) => children.iter().for_each(|child| collect(child, order)),
    }
}

/// The number of levels, counted without recursion.
fn depth(grown: &Grown) -> usize {
    let (mut level, mut depth) = (vec![grown], 0);
    while !level.is_empty() {
        depth += 1;
        level = level
            .into_iter()
            .flat_map(|grown| match grown {
                Grown::Label(_) => [].iter(),
                Grown::Node(children) => children.iter(),
            })
            .collect();
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_tree_is_rejected() {
        let new = |order: &[u32], lanes: &[u32], ends: &[u32]| Tree::new(order.to_vec(), lanes.to_vec(), ends.to_vec());
        assert!(new(&[0], &[0, 1], &[1]).is_ok());
        for (order, lanes, ends) in [
            (&[][..], &[0][..], &[][..]),
            (&[0, 0], &[0, 2], &[1, 2]),
            (&[0, 2], &[0, 2], &[1, 2]),
            (&[0, 1], &[1, 2], &[1, 2]),
            (&[0, 1], &[0, 3], &[1, 2]),
            (&[0, 1], &[0, 1, 3], &[2, 1, 2]),
            (&[0, 1], &[0, 2], &[1, 1]),
            (&[0, 1], &[0, 2], &[1, 3]),
            (&[0, 1], &[0, 1], &[1]),
            (&[0, 1], &[0, 2, 2], &[1, 2]),
            (&[0, 1, 2], &[0, 2], &[2, 3]),
            (&[0, 1, 2], &[0, 2, 3, 4], &[2, 3, 1, 2]),
        ] {
            assert!(new(order, lanes, ends).is_err(), "{order:?} {lanes:?} {ends:?}");
        }
    }

    #[test]
    fn nested_nodes_become_ranges() {
        use Grown::{Label, Node};
        let grown = Node(vec![Node(vec![Label(3), Label(1)]), Label(0), Node(vec![Label(2), Node(vec![Label(5), Label(4)])])]);
        let tree = Tree::from_grown(grown, 6).unwrap();
        assert_eq!((tree.order(), tree.nodes(), tree.depth()), (&[3, 1, 0, 2, 5, 4][..], 4, 3));
        assert_eq!(tree.path(4).iter().map(|step| step.0).collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(tree.labels_below(0).collect::<Vec<_>>(), [&[3, 1][..], &[0], &[2, 5, 4]]);
        for label in 0..6 {
            let (_, lane) = tree.path(label)[tree.path(label).len() - 1];
            assert_eq!(tree.label(lane), Some(label));
        }
    }
}
