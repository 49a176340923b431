//! The pool: all (row, label) pairs of the models' top lists, each once.

use crate::data::{Csr, Labels};
use crate::top_k::{NONE, top_k};
use rayon::prelude::*;

/// A rank that a model does not give.
pub(super) const UNLISTED: u32 = u32::MAX;

/// Pairs by row, then label, with the rank that each model gives them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pool {
    pub(super) models: usize,
    pub(super) pairs: Vec<(u32, u32)>,
    pub(super) observed: Vec<bool>,
    /// By pair, then model, counted from 0; [`UNLISTED`] beyond the depth.
    ranks: Vec<u32>,
    /// The same, of scores.
    scores: Vec<f32>,
}

impl Pool {
    /// The pool of lists of this depth.
    pub(super) fn new(truth: &Labels<'_>, models: &[&Csr<'_, f32>], depth: usize) -> Pool {
        const CHUNK: usize = 1024;
        let parts: Vec<Pool> = (0..truth.rows().div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(truth.rows());
                let mut part = Pool { models: models.len(), ..Pool::default() };
                let (mut scratch, mut listed) = (Vec::new(), Vec::new());
                rows.for_each(|row| part.add_row(row, truth, models, depth, &mut scratch, &mut listed));
                part
            })
            .collect();
        let mut all = Pool { models: models.len(), ..Pool::default() };
        for part in parts {
            all.pairs.extend(part.pairs);
            all.observed.extend(part.observed);
            all.ranks.extend(part.ranks);
            all.scores.extend(part.scores);
        }
        all
    }

    fn add_row(
        &mut self,
        row: usize,
        truth: &Labels<'_>,
        models: &[&Csr<'_, f32>],
        depth: usize,
        scratch: &mut Vec<u64>,
        listed: &mut Vec<(u32, usize, u32, f32)>,
    ) {
        listed.clear();
        for (model, scores) in models.iter().enumerate() {
            let (ids, values) = scores.row(row);
            let mut top = vec![NONE; depth.min(ids.len())];
            if top.is_empty() {
                continue;
            }
            top_k(ids, values, scratch, &mut top);
            for (rank, label) in top.into_iter().enumerate().filter(|(_, label)| *label != NONE) {
                let score = ids.iter().position(|id| *id == label).map_or(0.0, |at| values[at]);
                listed.push((label, model, rank as u32, score));
            }
        }
        listed.sort_unstable_by_key(|(label, model, _, _)| (*label, *model));
        for of_label in listed.chunk_by(|a, b| a.0 == b.0) {
            let label = of_label[0].0;
            self.pairs.push((row as u32, label));
            self.observed.push(truth.row_ids(row).contains(&label));
            let start = self.ranks.len();
            self.ranks.resize(start + self.models, UNLISTED);
            self.scores.resize(start + self.models, f32::NAN);
            for (_, model, rank, score) in of_label {
                (self.ranks[start + model], self.scores[start + model]) = (*rank, *score);
            }
        }
    }

    /// The number of pairs.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The ranks that the models give a pair.
    pub(super) fn ranks(&self, pair: usize) -> &[u32] {
        &self.ranks[pair * self.models..(pair + 1) * self.models]
    }

    /// The scores that the models give a pair; NaN where it is not listed.
    pub(super) fn scores(&self, pair: usize) -> &[f32] {
        &self.scores[pair * self.models..(pair + 1) * self.models]
    }

    /// The best rank of a pair, from 0.
    pub(super) fn best_rank(&self, pair: usize) -> u32 {
        self.ranks(pair).iter().copied().min().unwrap_or(UNLISTED)
    }

    /// How many models list a pair.
    pub(super) fn listed_by(&self, pair: usize) -> usize {
        self.ranks(pair).iter().filter(|rank| **rank != UNLISTED).count()
    }

    /// Where a pair is.
    pub(super) fn find(&self, row: u32, label: u32) -> Option<usize> {
        self.pairs.binary_search(&(row, label)).ok()
    }
}

/// BLAKE3, in hexadecimal, of labels: shape, offsets and ids.
pub(super) fn labels_mark(labels: &Labels<'_>) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(labels.cols() as u64).to_le_bytes());
    hasher.update(bytemuck::cast_slice(labels.offsets()));
    hasher.update(bytemuck::cast_slice(labels.ids()));
    hasher.finalize().to_hex().to_string()
}

/// The same of the lists of one model in a pool.
pub(super) fn lists_mark(pool: &Pool, model: usize) -> String {
    let mut hasher = blake3::Hasher::new();
    for pair in 0..pool.len() {
        let rank = pool.ranks(pair)[model];
        if rank != UNLISTED {
            let (row, label) = pool.pairs[pair];
            [row, label, rank].iter().for_each(|number| {
                hasher.update(&number.to_le_bytes());
            });
        }
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_all_lists_are_there_once_with_their_ranks() {
        let truth = Labels::from_ids(4, [vec![0], vec![3]]).unwrap();
        let a = Csr::from_rows(4, [vec![(0, 0.9f32), (1, 0.8), (2, 0.1)], vec![(3, 0.5)]]).unwrap();
        let b = Csr::from_rows(4, [vec![(2, 0.9f32), (0, 0.8)], vec![]]).unwrap();
        let pool = Pool::new(&truth, &[&a, &b], 2);
        assert_eq!(pool.pairs, [(0, 0), (0, 1), (0, 2), (1, 3)]);
        assert_eq!(pool.observed, [true, false, false, true]);
        assert_eq!((pool.ranks(0), pool.ranks(1), pool.ranks(2)), (&[0, 1][..], &[1, UNLISTED][..], &[UNLISTED, 0][..]));
        assert_eq!((pool.find(0, 2), pool.find(1, 0), pool.listed_by(0)), (Some(2), None, 2));
        assert_ne!(lists_mark(&pool, 0), lists_mark(&pool, 1));
    }
}
