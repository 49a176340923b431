//! The labels with the highest scores of each row.
//!
//! What is below a node ranks by at most a bound that `ranking.rs` knows, so nodes are opened best first until none that is left can reach
//! the k best labels found: the result is exact, under any factors and lines. Rows of a chunk open some nodes each per round, and nodes
//! that several rows open are evaluated for all of them at once.
//!
//! For an ensemble each tree gives its best k labels, all of which are scored on every tree. What a label ranks by goes one way in its probability, so
//! one tree at least says as much of it as the mean does: then each tree is searched for all labels of which it says as
//! much as the k-th best mean, and those are scored, too. So ensembles are exact, as well.
//!
//! With a beam only the best nodes of each level are opened, which is faster under very different factors, and approximate.

use super::TreeModel;
use super::chunk::{Chunk, Work, chunks};
use super::known::Known;
use super::ranking::{Largest, Ranking};
use super::row_search::{Goal, RowFound, RowGoal};
use crate::data::{Csr, Features};
use crate::error::Result;
use crate::predict::PredictOptions;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How trees are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeSearch {
    /// Only so many nodes of each level are opened; the result is then approximate. `None`: as many as it takes to be exact.
    pub beam: Option<usize>,
    /// The most nodes that a row may open in each tree. A row that would need more gets the best labels found until then.
    pub max_nodes: Option<usize>,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct TreePrediction {
    /// The best labels of each row, best first.
    pub scores: Csr<'static, f32>,
    /// Nodes that were opened, over all rows and trees.
    pub nodes: u64,
    /// Rows on which the search ended at the most nodes that it may open, so that they may not have their best labels.
    pub capped_rows: u64,
}

/// Rows of a chunk that are searched in all trees.
struct Search<'a> {
    model: &'a TreeModel,
    chunk: Chunk,
    first: usize,
    ranking: &'a Ranking<'a>,
    largest: &'a [Largest],
    nodes: &'a AtomicU64,
}

impl TreeModel {
    /// The labels with the highest scores for each row, highest first: those that evaluating every node would give, unless `search` says
    /// otherwise. [`PredictOptions`] says what scores are, with the product of the conditional probabilities along a label's path in
    /// place of `sigmoid(z_j)`; there are no logits. Labels rank by their scores as they are, but a probability is given as at most 1.
    pub fn predict(&self, data: &Features<'_>, options: &PredictOptions<'_>, search: TreeSearch) -> Result<TreePrediction> {
        let ranking = Ranking::new(self, options, search)?;
        self.check_rows(data)?;
        if let Some(ignored) = options.ignored {
            ignored.check(data.rows(), self.labels())?;
        }
        options.progress.begin("predicting", data.rows() as u64);
        let largest: Vec<Largest> = (0..self.trees.len()).map(|tree| ranking.largest(self, tree)).collect();
        let (nodes, capped) = (AtomicU64::new(0), AtomicU64::new(0));
        let chunk_rows = |work: &mut Work, rows: Range<usize>| {
            let chunk = Chunk::new(self, data, rows.clone());
            let search = Search { model: self, chunk, first: rows.start, ranking: &ranking, largest: &largest, nodes: &nodes };
            let found = if self.trees.len() == 1 { search.one(work)? } else { search.several(work)? };
            capped.fetch_add(found.iter().filter(|found| found.capped).count() as u64, Relaxed);
            options.progress.advance(rows.len() as u64)?;
            Ok(found)
        };
        let found = chunks(data.rows()).into_par_iter().with_max_len(1).map_init(|| Work::new(self), chunk_rows);
        let (mut offsets, mut ids, mut scores) = (vec![0], Vec::new(), Vec::new());
        for row in found.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
            for (label, score) in ranking.given(&row.keys) {
                ids.push(label);
                scores.push(score);
            }
            offsets.push(ids.len() as u64);
        }
        let scores = Csr::from_arrays(self.labels() as u64, offsets, ids, scores)?;
        Ok(TreePrediction { scores, nodes: nodes.into_inner(), capped_rows: capped.into_inner() })
    }
}

impl Search<'_> {
    fn in_tree(&self, tree: usize) -> Goal<'_> {
        let Search { chunk, first, ranking, nodes, .. } = self;
        Goal { tree, chunk, first: *first, ranking, largest: &self.largest[tree], nodes }
    }

    /// All rows, each for its best k labels.
    fn rows(&self, k: usize, floor: f64) -> Vec<RowGoal> {
        (0u32..).take(self.chunk.rows()).map(|row| RowGoal { row, k, floor }).collect()
    }

    /// The best labels of each row, of one tree.
    fn one(&self, work: &mut Work) -> Result<Vec<RowFound>> {
        self.model.search_tree(&self.in_tree(0), &self.rows(self.ranking.k, self.ranking.floor(&[])), None, work)
    }

    /// The same of several trees.
    fn several(&self, work: &mut Work) -> Result<Vec<RowFound>> {
        let trees = self.model.trees.len();
        let exact = self.ranking.search.beam.is_none();
        let mut known: Vec<Known> = (0..trees).map(|_| Known::new(self.chunk.rows())).collect();
        // With a beam, each tree gives some labels more.
        let (k, floor) = match exact {
            true => (self.ranking.k, self.ranking.floor(&[])),
            false => (self.ranking.k.saturating_mul(2), f64::NEG_INFINITY),
        };
        let all = self.rows(k, floor);
        let new = |_| RowFound { keys: Vec::new(), capped: false };
        let mut found: Vec<RowFound> = all.iter().map(new).collect();
        let mut pairs = Vec::new();
        // The least value of the k best labels in each tree, of each row; none where there are no others.
        let mut bars = Vec::with_capacity(trees);
        for (tree, known) in known.iter_mut().enumerate() {
            let lists = self.model.search_tree(&self.in_tree(tree), &all, Some(known), work)?;
            bars.push(lists.iter().map(|list| list.keys.get(k - 1).map(|key| key.value())).collect::<Vec<_>>());
            collect_pairs(&all, &lists, &mut pairs);
            found.iter_mut().zip(&lists).for_each(|(found, list)| found.capped |= list.capped);
        }
        self.score(&mut pairs, &mut known, &mut found, work)?;
        if !exact {
            return Ok(found);
        }
        let mut more = Vec::new();
        for (tree, known) in known.iter_mut().enumerate() {
            let floor = |row: &RowGoal| RowGoal { floor: self.ranking.floor(&found[row.row as usize].keys), k: usize::MAX, ..*row };
            // What a tree says more of than of its k-th label is among them already.
            let open = |row: &RowGoal| bars[tree][row.row as usize].is_some_and(|bar| row.floor <= bar);
            let rows: Vec<RowGoal> = all.iter().map(floor).filter(open).collect();
            let lists = self.model.search_tree(&self.in_tree(tree), &rows, Some(known), work)?;
            collect_pairs(&rows, &lists, &mut more);
            rows.iter().zip(&lists).for_each(|(goal, list)| found[goal.row as usize].capped |= list.capped);
        }
        more.sort_unstable();
        more.dedup();
        more.retain(|pair| pairs.binary_search(pair).is_err());
        self.score(&mut more, &mut known, &mut found, work)?;
        Ok(found)
    }

    /// Scores labels of rows on all trees, and keeps the best of each row.
    fn score(&self, pairs: &mut Vec<(u32, u32)>, known: &mut [Known], found: &mut [RowFound], work: &mut Work) -> Result<()> {
        pairs.sort_unstable();
        pairs.dedup();
        let mut sums = vec![0.0; pairs.len()];
        let trees = known.len() as f64;
        for (tree, known) in known.iter_mut().enumerate() {
            let chances = self.model.chances_of(tree, &self.chunk, pairs, known, work)?;
            sums.iter_mut().zip(chances).for_each(|(sum, chance)| *sum += chance / trees);
        }
        let mut sums = sums.into_iter();
        for of_row in pairs.chunk_by(|a, b| a.0 == b.0) {
            let found = &mut found[of_row[0].0 as usize].keys;
            found.extend(of_row.iter().zip(&mut sums).filter_map(|(pair, sum)| self.ranking.key(sum, pair.1)));
            found.sort_unstable();
            found.truncate(self.ranking.k);
        }
        Ok(())
    }
}

fn collect_pairs(rows: &[RowGoal], lists: &[RowFound], pairs: &mut Vec<(u32, u32)>) {
    for (goal, list) in rows.iter().zip(lists) {
        pairs.extend(list.keys.iter().map(|key| (goal.row, key.label())));
    }
}
