//! The labels with the highest scores of each row.
//!
//! The score of a label is its probability times a factor `f_j` (inverse propensity, weight). What is below a node scores at most the
//! node's probability times the largest factor below it, so nodes are opened best first until none that is left can reach the k best
//! labels found: the result is exact, under any factors. Rows of a chunk open some nodes each per round, and nodes that several
//! rows open are evaluated for all of them at once.
//!
//! For an ensemble each tree gives its best k' labels, all of which are scored on every tree. A label that no tree has among its best
//! k' scores at most the mean of their k'-th scores; while that could still reach the k best means, k' is doubled. So ensembles
//! are exact, too.
//!
//! Probabilities that a controlled set recalibrates are `g_j(e)` instead of `e`, each `g_j` increasing: below a node they are at most `g(e)` with the
//! largest offset there, and a label that no tree lists has at most the largest of the trees' k'-th scores.
//!
//! With a beam only the best nodes of each level are opened, which is faster under very different factors, and approximate.

use super::chunk::{Chunk, Work, chunks};
use super::pairs::Evaluated;
use super::{Recalibration, TreeModel};
use crate::data::{Csr, Features, IgnoredPairs};
use crate::error::{Error, Result};
use crate::predict::PredictOptions;
use crate::predict::options::check_options;
use crate::predict::top::{Best, told_apart};
use crate::propensity::Propensities;
use crate::top_k::FineKey;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nodes that a row opens per round.
const AT_ONCE: usize = 4;

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

/// By how much recalibrated bounds are raised: powers are not rounded alike everywhere.
const ROUNDING: f64 = 1.0 + 1e-12;

/// Checked options.
struct Ranking<'a> {
    k: usize,
    threshold: f64,
    /// What makes probabilities of what the trees say, and scores of probabilities, when anything does.
    inverse: Option<Vec<f64>>,
    weights: Option<&'a [f64]>,
    recalibration: Option<&'a Recalibration>,
    ignored: Option<&'a IgnoredPairs>,
    search: TreeSearch,
}

/// The largest factor and the largest offset of a label below each lane of a tree; empty where there are none.
struct Largest {
    factors: Vec<f64>,
    offsets: Vec<f64>,
}

impl Ranking<'_> {
    fn inverse(&self, label: u32) -> f64 {
        self.inverse.as_ref().map_or(1.0, |inverse| inverse[label as usize])
    }

    /// The probability of a label to which the trees give `chance`, before it is divided by propensities.
    fn chance(&self, chance: f64, label: u32) -> f64 {
        self.recalibration.map_or(chance, |recalibration| recalibration.at(chance, label))
    }

    /// The most that a label below a lane scores to which the trees give `chance`.
    fn bound(&self, chance: f64, lane: usize, largest: &Largest) -> f64 {
        let chance = match (self.recalibration, largest.offsets.get(lane)) {
            (Some(recalibration), Some(offset)) => recalibration.moved(chance, *offset) * ROUNDING,
            _ => chance,
        };
        chance * largest.factors.get(lane).copied().unwrap_or(1.0)
    }

    fn factor(&self, label: u32) -> f64 {
        self.inverse(label) * self.weights.map_or(1.0, |weights| weights[label as usize])
    }

    /// The score that is given for a value: a probability is at most 1.
    fn given(&self, key: FineKey) -> f32 {
        if self.weights.is_some() { key.value() as f32 } else { key.value().min(1.0) as f32 }
    }
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

/// The search of one row in one tree.
struct RowSearch {
    row: u32,
    open: BinaryHeap<Open>,
    best: Best,
    opened: usize,
    capped: bool,
}

/// Counts over all chunks.
#[derive(Default)]
struct Counts {
    nodes: AtomicU64,
    capped: AtomicU64,
}

impl TreeModel {
    /// The labels with the highest scores for each row, highest first: those that evaluating every node would give, unless `search` says
    /// otherwise. [`PredictOptions`] says what scores are, with the product of the conditional probabilities along a label's path in
    /// place of `sigmoid(z_j)`; there are no logits. Labels rank by their scores as they are, but a probability is given as at most 1.
    pub fn predict(&self, data: &Features<'_>, options: &PredictOptions<'_>, search: TreeSearch) -> Result<TreePrediction> {
        let ranking = self.ranking(options, search)?;
        self.check_rows(data)?;
        if let Some(ignored) = options.ignored {
            ignored.check(data.rows(), self.labels())?;
        }
        options.progress.begin("predicting", data.rows() as u64);
        let largest: Vec<Largest> = (0..self.trees.len()).map(|tree| self.largest(tree, &ranking)).collect();
        let counts = Counts::default();
        let chunk_rows = |work: &mut Work, rows: Range<usize>| {
            let found = self.search_chunk(&Chunk::new(self, data, rows.clone()), rows.start, &ranking, &largest, &counts, work)?;
            options.progress.advance(rows.len() as u64)?;
            Ok(found)
        };
        let found = chunks(data.rows()).into_par_iter().with_max_len(1).map_init(|| Work::new(self), chunk_rows);
        let (mut offsets, mut ids, mut scores) = (vec![0], Vec::new(), Vec::new());
        for row in found.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
            ids.extend(row.iter().map(|key| key.label()));
            scores.extend(told_apart(&row, |key| ranking.given(key)));
            offsets.push(ids.len() as u64);
        }
        let scores = Csr::from_arrays(self.labels() as u64, offsets, ids, scores)?;
        Ok(TreePrediction { scores, nodes: counts.nodes.into_inner(), capped_rows: counts.capped.into_inner() })
    }

    fn ranking<'o>(&'o self, options: &PredictOptions<'o>, search: TreeSearch) -> Result<Ranking<'o>> {
        check_options(options, self.labels())?;
        if options.logits {
            return Err(Error::value("a model on trees has no logits").hint("its scores are products of probabilities"));
        }
        if search.beam == Some(0) || search.max_nodes == Some(0) {
            return Err(Error::value("the number of nodes to open is out of range").expected("at least 1").found("0"));
        }
        let given = options.propensities.map(Propensities::inverse);
        let inverse = match (&self.inverse, given) {
            (Some(own), Some(given)) => Some(own.iter().zip(given).map(|(own, given)| own * given).collect()),
            (own, given) => given.or_else(|| own.clone()),
        };
        let k = options.k.min(self.labels());
        Ok(Ranking {
            k,
            threshold: options.threshold.unwrap_or(0.0),
            inverse,
            weights: options.weights,
            recalibration: self.recalibration.as_ref(),
            ignored: options.ignored,
            search,
        })
    }

    /// What is largest below each lane of a tree.
    fn largest(&self, tree: usize, ranking: &Ranking<'_>) -> Largest {
        let weighted = ranking.inverse.is_some() || ranking.weights.is_some();
        let factors = weighted.then(|| self.largest_below(tree, &|label| ranking.factor(label)));
        let offset = |recalibration: &Recalibration| {
            self.largest_below(tree, &|label| recalibration.offsets().get(label as usize).copied().unwrap_or_default())
        };
        Largest { factors: factors.unwrap_or_default(), offsets: ranking.recalibration.map(offset).unwrap_or_default() }
    }

    fn largest_below(&self, tree: usize, of: &dyn Fn(u32) -> f64) -> Vec<f64> {
        let tree = &self.trees[tree];
        let mut largest = vec![f64::NEG_INFINITY; tree.ends().len()];
        // Nodes come after those above them.
        for node in (0..tree.nodes()).rev() {
            for lane in tree.lanes(node) {
                largest[lane] = match (tree.child(lane), tree.label(lane)) {
                    (Some(child), _) => largest[tree.lanes(child)].iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    (None, Some(label)) => of(label),
                    (None, None) => f64::NEG_INFINITY,
                };
            }
        }
        largest
    }

    /// The best labels of the rows of a chunk, whose first is row `first` of the data.
    fn search_chunk(
        &self,
        chunk: &Chunk,
        first: usize,
        ranking: &Ranking<'_>,
        largest: &[Largest],
        counts: &Counts,
        work: &mut Work,
    ) -> Result<Vec<Vec<FineKey>>> {
        let rows: Vec<u32> = (0u32..).take(chunk.rows()).collect();
        if let [largest] = largest {
            return self.search_tree(0, chunk, first, (&rows, ranking.k), ranking, largest, counts, &mut None, work);
        }
        let mut known: Vec<Option<Evaluated>> = largest.iter().map(|_| Some(Evaluated::new(chunk.rows()))).collect();
        let mut found: Vec<Vec<FineKey>> = vec![Vec::new(); chunk.rows()];
        let (mut open, mut k) = (rows, ranking.k.saturating_mul(2));
        while !open.is_empty() {
            let lists: Vec<Vec<Vec<FineKey>>> = (0..self.trees.len())
                .map(|tree| {
                    self.search_tree(tree, chunk, first, (&open, k), ranking, &largest[tree], counts, &mut known[tree], work)
                })
                .collect::<Result<_>>()?;
            let mut pairs: Vec<(u32, u32)> = Vec::new();
            for (place, &row) in open.iter().enumerate() {
                let from = pairs.len();
                pairs.extend(lists.iter().flat_map(|list| &list[place]).map(|key| (row, key.label())));
                pairs[from..].sort_unstable();
            }
            pairs.dedup();
            let mut sums = vec![0.0; pairs.len()];
            for (tree, known) in known.iter_mut().enumerate() {
                let known = known.get_or_insert_with(|| Evaluated::new(chunk.rows()));
                let chances = self.chances_of(tree, chunk, &pairs, known, work)?;
                sums.iter_mut().zip(chances).for_each(|(sum, chance)| *sum += chance / self.trees.len() as f64);
            }
            let mut at = 0;
            let mut still = Vec::new();
            for (place, &row) in open.iter().enumerate() {
                let mut keys = Vec::new();
                while let Some(&(_, label)) = pairs.get(at).filter(|pair| pair.0 == row) {
                    keys.extend(key(ranking, sums[at], label));
                    at += 1;
                }
                keys.sort_unstable();
                keys.truncate(ranking.k);
                // A tree that gave fewer labels than it was asked for has no others.
                let last = |list: &Vec<Vec<FineKey>>| list[place].get(k - 1).map_or(0.0, |key| key.value());
                let bound = match ranking.recalibration {
                    Some(_) => lists.iter().map(last).fold(0.0, f64::max) * ROUNDING,
                    None => lists.iter().map(last).sum::<f64>() / self.trees.len() as f64,
                };
                let exhausted = lists.iter().all(|list| list[place].len() < k);
                // Sums of the same numbers in another order may differ in their last digits.
                let settled = keys.get(ranking.k - 1).is_some_and(|worst| worst.value() * (1.0 + 1e-12) >= bound)
                    || (ranking.weights.is_none() && bound < ranking.threshold);
                if settled || exhausted || k >= self.labels() || ranking.search != TreeSearch::default() {
                    found[row as usize] = keys;
                } else {
                    still.push(row);
                }
            }
            (open, k) = (still, k.saturating_mul(2));
        }
        Ok(found)
    }

    /// The best `k` labels in one tree of some rows of a chunk; what is evaluated is kept in `known` where there is one, and what is
    /// known already is taken from there.
    #[allow(
        clippy::too_many_arguments,
        reason = "what rows are searched for is settled once, what they are searched with is reused"
    )]
    fn search_tree(
        &self,
        tree: usize,
        chunk: &Chunk,
        first: usize,
        (rows, k): (&[u32], usize),
        ranking: &Ranking<'_>,
        largest: &Largest,
        counts: &Counts,
        known: &mut Option<Evaluated>,
        work: &mut Work,
    ) -> Result<Vec<Vec<FineKey>>> {
        let root = Open { bound: f64::INFINITY, chance: 1.0, node: 0 };
        let new = |&row: &u32| RowSearch { row, open: BinaryHeap::from([root]), best: Best::new(k), opened: 0, capped: false };
        let mut searches: Vec<RowSearch> = rows.iter().map(new).collect();
        let mut place_of = vec![0u32; chunk.rows()];
        (0u32..).zip(rows).for_each(|(place, &row)| place_of[row as usize] = place);
        let mut chances: Vec<Vec<(u32, f64)>> = vec![Vec::new(); rows.len()];
        let mut wanted: Vec<(u32, u32)> = Vec::new();
        let lanes = |node: usize| self.trees[tree].lanes(node).len();
        loop {
            wanted.clear();
            for (search, chances) in searches.iter_mut().zip(&mut chances) {
                search.next(ranking.search, chances);
                wanted.extend(chances.iter().map(|(node, _)| (*node, search.row)));
            }
            if wanted.is_empty() {
                break;
            }
            counts.nodes.fetch_add(wanted.len() as u64, Relaxed);
            let mut take = |node: usize, row: u32, lanes: &[f32]| {
                let place = place_of[row as usize] as usize;
                let Some((_, chance)) = chances[place].iter().find(|opened| opened.0 as usize == node) else { return };
                let ignored = ranking.ignored.map_or(&[][..], |ignored| ignored.labels().row_ids(first + row as usize));
                self.open(tree, node, lanes, *chance, &mut searches[place], ranking, largest, ignored);
            };
            if let Some(known) = known.as_mut() {
                wanted.retain(|&(node, row)| match known.of(row, node as usize, lanes(node as usize)) {
                    Some(chances) => {
                        take(node as usize, row, chances);
                        false
                    }
                    None => true,
                });
                let mut fresh: Vec<(u32, usize, Vec<f32>)> = Vec::new();
                self.evaluate(tree, chunk, &mut wanted, work, |node, row, chances| {
                    take(node, row, chances);
                    fresh.push((row, node, chances.to_vec()));
                })?;
                fresh.iter().for_each(|(row, node, chances)| known.put(*row, *node, chances));
            } else {
                self.evaluate(tree, chunk, &mut wanted, work, take)?;
            }
        }
        counts.capped.fetch_add(searches.iter().filter(|search| search.capped).count() as u64, Relaxed);
        let sorted = |search: RowSearch| {
            let mut keys = search.best.keys.into_vec();
            keys.sort_unstable();
            keys
        };
        Ok(searches.into_iter().map(sorted).collect())
    }

    /// Takes what a node says: labels are offered, nodes wait.
    #[allow(clippy::too_many_arguments, reason = "one line of a loop over nodes and rows")]
    fn open(
        &self,
        tree: usize,
        node: usize,
        chances: &[f32],
        above: f64,
        search: &mut RowSearch,
        ranking: &Ranking<'_>,
        largest: &Largest,
        ignored: &[u32],
    ) {
        let shape = &self.trees[tree];
        for (lane, chance) in shape.lanes(node).zip(chances) {
            let chance = above * f64::from(*chance);
            let bound = ranking.bound(chance, lane, largest);
            if bound < search.best.bar {
                continue;
            }
            if let Some(child) = shape.child(lane) {
                search.open.push(Open { bound, chance, node: child as u32 });
            } else if let Some(label) = shape.label(lane)
                && ignored.binary_search(&label).is_err()
                && let Some(key) =
                    if self.trees.len() == 1 { key(ranking, chance, label) } else { Some(any_key(ranking, chance, label)) }
            {
                search.best.offer(key);
            }
        }
    }
}

/// What a label ranks by, unless its probability is below the threshold.
fn key(ranking: &Ranking<'_>, chance: f64, label: u32) -> Option<FineKey> {
    let admitted = ranking.threshold == 0.0 || ranking.chance(chance, label) * ranking.inverse(label) >= ranking.threshold;
    admitted.then(|| any_key(ranking, chance, label))
}

/// The same whatever its probability is: what one tree of several says is not the probability yet.
fn any_key(ranking: &Ranking<'_>, chance: f64, label: u32) -> FineKey {
    FineKey::new(ranking.chance(chance, label) * ranking.factor(label), chance as f32, label)
}

impl RowSearch {
    /// The nodes to open next, with their probabilities; none when the search is over.
    fn next(&mut self, search: TreeSearch, chances: &mut Vec<(u32, f64)>) {
        chances.clear();
        let left = search.max_nodes.map_or(usize::MAX, |most| most - self.opened);
        let most = search.beam.unwrap_or(AT_ONCE).min(left);
        while chances.len() < most
            && let Some(next) = self.open.pop()
        {
            if next.bound < self.best.bar {
                self.open.clear();
                break;
            }
            chances.push((next.node, next.chance));
        }
        if left == 0 && self.open.peek().is_some_and(|next| next.bound >= self.best.bar) {
            self.capped = true;
            self.open.clear();
        }
        if search.beam.is_some() {
            self.open.clear();
        }
        self.opened += chances.len();
    }
}
