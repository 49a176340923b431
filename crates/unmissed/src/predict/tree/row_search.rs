//! The best labels of rows in one tree.

use super::chunk::{Chunk, Wanted, Work};
use super::known::Known;
use super::ranking::{Largest, Ranking};
use super::{TreeModel, TreeSearch};
use crate::error::Result;
use crate::predict::top::Best;
use crate::top_k::FineKey;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nodes that a row opens per round, at least. A row that has opened many opens half as many again: where it takes hundreds, rounds are few, and nodes
/// that several rows open in the same round are evaluated for all of them at once.
const AT_ONCE: usize = 4;

/// What is searched for, in one tree.
pub(super) struct Goal<'a> {
    pub(super) tree: usize,
    /// The rows of the chunk, and the number of the first of them in the data.
    pub(super) chunk: &'a Chunk,
    pub(super) first: usize,
    pub(super) ranking: &'a Ranking<'a>,
    pub(super) largest: &'a Largest,
    /// Nodes that are opened are counted here.
    pub(super) nodes: &'a AtomicU64,
}

/// A row, how many labels it is to be given at most, and the value below which they do not matter.
#[derive(Clone, Copy)]
pub(super) struct RowGoal {
    pub(super) row: u32,
    pub(super) k: usize,
    pub(super) floor: f64,
}

/// A node that is not opened yet.
#[derive(Clone, Copy)]
struct Open {
    bound: f64,
    chance: f64,
    node: u32,
}

impl Ord for Open {
    fn cmp(&self, other: &Open) -> Ordering {
        self.bound.total_cmp(&other.bound).then_with(|| other.node.cmp(&self.node))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Open) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Open) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

/// What a search of a row found.
pub(super) struct RowFound {
    /// The best labels, best first.
    pub(super) keys: Vec<FineKey>,
    /// Whether it ended at the most nodes that it may open.
    pub(super) capped: bool,
}

/// The search of one row in one tree.
struct RowSearch {
    row: u32,
    open: BinaryHeap<Open>,
    best: Best,
    opened: usize,
    capped: bool,
}

impl TreeModel {
    /// The best labels in one tree of some rows of a chunk, best first. Of several trees, what is evaluated is kept in `known`, and what
    /// is known already is taken from there.
    pub(super) fn search_tree(
        &self,
        goal: &Goal<'_>,
        rows: &[RowGoal],
        mut known: Option<&mut Known>,
        work: &mut Work,
    ) -> Result<Vec<RowFound>> {
        let root = Open { bound: f64::INFINITY, chance: 1.0, node: 0 };
        let new = |&RowGoal { row, k, floor }: &RowGoal| RowSearch {
            row,
            open: BinaryHeap::from([root]),
            best: Best::above(floor, k),
            opened: 0,
            capped: false,
        };
        let mut searches: Vec<RowSearch> = rows.iter().map(new).collect();
        let mut wanted: Vec<Wanted> = Vec::new();
        loop {
            wanted.clear();
            for (place, search) in (0u32..).zip(&mut searches) {
                search.next(goal.ranking.search, place, &mut wanted);
            }
            if wanted.is_empty() {
                break;
            }
            goal.nodes.fetch_add(wanted.len() as u64, Relaxed);
            let Some(known) = known.as_deref_mut() else {
                let take = |wanted: &Wanted, chances: &[f32]| self.open(goal, wanted, chances, &mut searches);
                self.evaluate(goal.tree, goal.chunk, &mut wanted, work, take)?;
                continue;
            };
            wanted.retain(|wanted| match known.of(wanted.row, wanted.node) {
                Some(chances) => {
                    self.open(goal, wanted, chances, &mut searches);
                    false
                }
                None => true,
            });
            self.evaluate(goal.tree, goal.chunk, &mut wanted, work, |wanted, chances| {
                self.open(goal, wanted, chances, &mut searches);
                known.put(wanted.row, wanted.node, chances);
            })?;
        }
        Ok(searches.into_iter().map(RowSearch::found).collect())
    }

    /// Takes what a node says: labels are offered, nodes wait.
    fn open(&self, goal: &Goal<'_>, wanted: &Wanted, chances: &[f32], searches: &mut [RowSearch]) {
        let (shape, ranking) = (&self.trees[goal.tree], goal.ranking);
        let search = &mut searches[wanted.place as usize];
        let ignored = ranking.ignored.map_or(&[][..], |ignored| ignored.labels().row_ids(goal.first + wanted.row as usize));
        let alone = self.trees.len() == 1;
        for (lane, chance) in shape.lanes(wanted.node as usize).zip(chances) {
            let chance = wanted.chance * f64::from(*chance);
            let bound =
                if alone { ranking.bound(chance, lane, goal.largest) } else { ranking.bound_of_one(chance, lane, goal.largest) };
            if bound < search.best.bar || ranking.is_below_threshold(chance) {
                continue;
            }
            if let Some(child) = shape.child(lane) {
                search.open.push(Open { bound, chance, node: child as u32 });
            } else if let Some(label) = shape.label(lane)
                && ignored.binary_search(&label).is_err()
            {
                let key = if alone { ranking.key(chance, label) } else { Some(ranking.key_of_one(chance, label)) };
                key.into_iter().for_each(|key| search.best.offer(key));
            }
        }
    }
}

impl RowSearch {
    fn found(self) -> RowFound {
        RowFound { keys: self.best.keys.into_sorted_vec(), capped: self.capped }
    }

    /// Adds the nodes to open next; none when the search is over.
    fn next(&mut self, search: TreeSearch, place: u32, wanted: &mut Vec<Wanted>) {
        let left = search.max_nodes.map_or(usize::MAX, |most| most - self.opened);
        let most = search.beam.unwrap_or(AT_ONCE.max(self.opened / 2)).min(left);
        let before = wanted.len();
        while wanted.len() - before < most
            && let Some(next) = self.open.pop()
        {
            if next.bound < self.best.bar {
                self.open.clear();
                break;
            }
            wanted.push(Wanted { node: next.node, row: self.row, place, chance: next.chance });
        }
        if left == 0 && self.open.peek().is_some_and(|next| next.bound >= self.best.bar) {
            self.capped = true;
            self.open.clear();
        }
        if search.beam.is_some() {
            self.open.clear();
        }
        self.opened += wanted.len() - before;
    }
}
