//! Hits by rank in both snapshots, for the ratio baseline.
//!
//! `estimate = observed on test * (later / observed) on rows with both snapshots`, for any sum with discounts by rank. Simple, and
//! hard to beat: it needs no model of propensities, only that the ratio is the same on other rows.

use super::matched::Matched;
use serde::{Deserialize, Serialize};

/// Ranks that are counted.
const RANKS: usize = 100;

/// Hits of the audited model's out-of-fold predictions, by rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankHits {
    later: Vec<f64>,
    observed: Vec<f64>,
    /// The same under the bootstrap weights of rows.
    replicates: Vec<(Vec<f64>, Vec<f64>)>,
}

impl RankHits {
    /// Whether there is a number of hits for every rank, everywhere.
    pub(super) fn is_sound(&self) -> bool {
        let sound = |hits: &[f64]| hits.len() == RANKS && hits.iter().all(|count| count.is_finite() && *count >= 0.0);
        let of_both = |later: &[f64], observed: &[f64]| sound(later) && sound(observed);
        of_both(&self.later, &self.observed) && self.replicates.iter().all(|(later, observed)| of_both(later, observed))
    }

    pub(super) fn count(pairs: &Matched, weights: &[Vec<f64>]) -> RankHits {
        let counted = |weight: &dyn Fn(u32) -> f64| {
            let (mut later, mut observed) = (vec![0.0; RANKS], vec![0.0; RANKS]);
            for pair in (0..pairs.len()).filter(|pair| pairs.ranks[*pair] < RANKS) {
                let weight = weight(pairs.rows[pair]);
                later[pairs.ranks[pair]] += weight;
                if pairs.observed[pair] {
                    observed[pairs.ranks[pair]] += weight;
                }
            }
            (later, observed)
        };
        let (later, observed) = counted(&|_| 1.0);
        let replicates = weights.iter().map(|weights| counted(&|row| weights[row as usize])).collect();
        RankHits { later, observed, replicates }
    }

    /// Later over observed for a sum over the first ranks with these discounts, then the same of each replicate. `None` when the sum
    /// is longer than what was counted, or nothing was observed.
    pub fn ratios(&self, discounts: &[f64]) -> Option<Vec<f64>> {
        if discounts.len() > RANKS {
            return None;
        }
        let sum = |hits: &[f64]| hits.iter().zip(discounts).map(|(hits, discount)| hits * discount).sum::<f64>();
        let ratio = |later: &[f64], observed: &[f64]| {
            let observed = sum(observed);
            (observed > 0.0).then(|| sum(later) / observed)
        };
        let mut ratios = vec![ratio(&self.later, &self.observed)?];
        // A replicate without an observed hit says nothing.
        ratios.extend(self.replicates.iter().filter_map(|(later, observed)| ratio(later, observed)));
        Some(ratios)
    }
}
