//! Gains of pairs: what a relevant pair is worth for a metric of a model.

use super::pool::{Pool, UNLISTED};
use super::target::Target;
use crate::metrics::SumTerm;

/// How a sum over the top k counts labels.
#[derive(Clone, Copy)]
pub(super) struct SumOf<'a> {
    pub(super) term: &'a dyn SumTerm,
    pub(super) k: usize,
    /// What the sum over rows is divided by beside the term's own scale.
    pub(super) rows: f64,
    /// What a label is worth: its weight, 0 outside the group.
    pub(super) worth: &'a dyn Fn(u32) -> f64,
}

/// Where pairs of a pool are among all pairs: `None` for observed ones.
pub(super) type Places = Vec<Option<u32>>;

impl SumOf<'_> {
    /// The sum of one model of a pool.
    pub(super) fn of_model(&self, pool: &Pool, places: &Places, model: usize) -> Target {
        let mut target = Target::default();
        let scale = self.term.scale(self.k) * self.rows;
        for (pair, place) in places.iter().enumerate() {
            let rank = pool.ranks(pair)[model];
            if rank == UNLISTED || rank as usize >= self.k {
                continue;
            }
            let (row, label) = pool.pairs[pair];
            let gain = self.term.discount(rank as usize) * (self.worth)(label) / scale;
            if gain == 0.0 {
                continue;
            }
            match (place, target.known.last_mut()) {
                (Some(place), _) => target.gains.push((*place, gain)),
                (None, Some((last, sum))) if *last == row => *sum += gain,
                (None, _) => target.known.push((row, gain)),
            }
        }
        target
    }
}
