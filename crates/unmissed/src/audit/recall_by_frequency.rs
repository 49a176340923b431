//! How well models find labels of each training frequency.
//!
//! Of the observed test positives of labels with similar training counts, the share that a model has in its top k. Within a label the
//! propensity cancels, so no propensity model is needed.

use crate::evaluate::HitsByCount;
use crate::propensity::quantiles::clopper_pearson;
use serde::Serialize;
use std::collections::BTreeMap;

/// One model's recall of observed positives by training frequency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecallByFrequency {
    /// The model.
    pub model: String,
    /// Length of the top list.
    pub k: usize,
    /// Bins of training counts, ascending.
    pub bins: Vec<RecallBin>,
}

/// Labels whose training counts are within a factor of two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RecallBin {
    /// The smallest training count; the bin ends before twice as many.
    pub from: u64,
    /// Observed test positives of its labels.
    pub positives: u64,
    /// Share of them in the top k.
    pub recall: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// All models over the bins that have positives. Labels that training never saw are left out: no model can have learned them.
pub(super) fn recall_by_frequency(hits: &HitsByCount, level: f64) -> Vec<RecallByFrequency> {
    let k = hits.depth();
    let of_model = |model: &crate::evaluate::ModelHits| {
        let mut bins: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (place, count) in hits.counts.iter().enumerate() {
            let Some(bin) = count.checked_ilog2() else { continue };
            let (found, positives) = bins.entry(bin).or_default();
            *found += model.hits.iter().map(|rank| rank[place]).sum::<u64>();
            *positives += hits.positives[place];
        }
        let bin = |(bin, (found, positives)): (u32, (u64, u64))| {
            let interval = clopper_pearson(found, positives, level);
            let recall = found as f64 / positives as f64;
            RecallBin { from: 1 << bin, positives, recall, low: interval.low, high: interval.high }
        };
        RecallByFrequency { model: model.name.clone(), k, bins: bins.into_iter().map(bin).collect() }
    };
    hits.models.iter().map(of_model).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::ModelHits;

    #[test]
    fn counts_within_a_factor_of_two_are_one_bin() {
        let hits = HitsByCount {
            rows: 10,
            counts: vec![0, 2, 3, 4],
            positives: vec![5, 4, 6, 8],
            labels: vec![1, 1, 1, 1],
            models: vec![ModelHits { name: "a".into(), hits: vec![vec![1, 1, 2, 0], vec![0, 1, 1, 4]], measured: Vec::new() }],
        };
        let found = recall_by_frequency(&hits, 0.95);
        let bins: Vec<_> = found[0].bins.iter().map(|bin| (bin.from, bin.positives, bin.recall)).collect();
        assert_eq!((found[0].k, bins), (2, vec![(2, 10, 0.5), (4, 8, 0.5)]));
        assert!(found[0].bins.iter().all(|bin| bin.low < bin.recall && bin.recall < bin.high));
    }
}
