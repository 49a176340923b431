//! Hits by how often a label occurs in training: all that a curve in the label's frequency needs.
//!
//! A curve gives every label with the same training count n the same inverse propensity q(n), so for sums over labels
//! `sum_n q(n) sum_{r <= k} d_r h(n, r) / (rows scale(k))` is the unbiased value under any curve, with h(n, r) the hits at rank r
//! of the labels with count n. There are at most about `sqrt(2 positives)` distinct counts, so this fits on a page where the
//! counts of all labels would not.
//!
//! ```
//! use unmissed::data::{Csr, LabelStats, Labels};
//! use unmissed::evaluate::Evaluation;
//! let test = Labels::from_ids(3, [vec![0, 1], vec![2]])?;
//! let scores = Csr::from_rows(3, [[(0, 0.9f32), (1, 0.2)], [(0, 0.6), (2, 0.5)]])?;
//! let train = LabelStats::from_counts(10, &[4, 1, 1])?;
//! let tally = Evaluation::new(&test, &[("mine", &scores)])?.ks(&[2])?.tally()?;
//! let hits = tally.by_count(&train)?;
//! assert_eq!(hits.counts, [1, 4]);
//! assert_eq!(hits.models[0].hits, [[0, 1], [2, 0]]); // by rank: label 0 first in row 0; labels 1 and 2 second
//! assert_eq!(hits.unbiased(0, 2, |_| 1.0), 3.0 / 4.0); // precision@2 as observed
//! assert_eq!(hits.unbiased(0, 2, |count| if count == 1 { 2.0 } else { 1.0 }), 5.0 / 4.0);
//! # Ok::<(), unmissed::Error>(())
//! ```

use crate::data::LabelStats;
use crate::error::{Error, Result};
use crate::evaluate::tally::Tally;
use crate::evaluate::tally::labels::LabelTally;
use serde::Serialize;
use std::collections::BTreeMap;

/// Hits of all models by training count and rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HitsByCount {
    /// Test rows.
    pub rows: u64,
    /// Distinct training counts of labels that are positive somewhere in the test labels, ascending; 0 for unseen labels.
    pub counts: Vec<u64>,
    /// Observed test positives of the labels with each count.
    pub positives: Vec<u64>,
    /// Labels with each count that have a test positive.
    pub labels: Vec<u64>,
    /// The models.
    pub models: Vec<ModelHits>,
}

/// Hits of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelHits {
    /// Its name.
    pub name: String,
    /// Hits by rank (from the first), then by count.
    pub hits: Vec<Vec<u64>>,
    /// Hits by rank weighed with propensities that are no function of the count, by their name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<(String, Vec<f64>)>,
}

impl HitsByCount {
    /// How many ranks are known.
    pub fn depth(&self) -> usize {
        self.models.iter().map(|model| model.hits.len()).max().unwrap_or(0)
    }

    /// Unbiased precision@k of a model when labels with a training count have this inverse propensity.
    pub fn unbiased(&self, model: usize, k: usize, inverse: impl Fn(u64) -> f64) -> f64 {
        let mut by_count = vec![0u64; self.counts.len()];
        for hits in self.models[model].hits.iter().take(k) {
            by_count.iter_mut().zip(hits).for_each(|(total, hits)| *total += hits);
        }
        let gained = by_count.iter().zip(&self.counts).filter(|(hits, _)| **hits > 0);
        gained.map(|(hits, count)| *hits as f64 * inverse(*count)).sum::<f64>() / (self.rows as f64 * k as f64)
    }
}

/// Counts of every label: what tables by label are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountsByLabel {
    /// Length of the top list.
    pub k: usize,
    /// Rows that have the label observed, by label.
    pub positives: Vec<u32>,
    /// Name of each model, rows that have the label in its top k, and those that have it observed too, by label.
    pub models: Vec<(String, Vec<u32>, Vec<u32>)>,
}

impl Tally {
    /// Hits of a model by rank, each weighed by the label's inverse propensity: unbiased sums over labels at any k follow from them.
    /// Nothing for a model that the tally does not have.
    pub fn gains_by_rank(&self, model: &str, inverse: impl Fn(u32) -> f64) -> Vec<f64> {
        let mut gains = vec![0.0; self.settings.depth];
        let Some(place) = self.settings.models.iter().position(|name| name == model) else { return gains };
        let Some(tally) = self.labels.get(place) else { return gains };
        for (place, label) in tally.ids.iter().enumerate() {
            let inverse = inverse(*label);
            tally.entries(place).for_each(|(rank, _, count)| gains[rank as usize] += f64::from(count) * inverse);
        }
        gains
    }

    /// Counts of every label in the longest top list. The tally must have counted by label, which every evaluation of means over
    /// labels does.
    pub fn label_counts(&self) -> Result<CountsByLabel> {
        if !self.settings.by_label()? {
            return Err(Error::value("this tally has no counts by label").hint("evaluate macro-f or coverage too"));
        }
        let labels = self.settings.labels as usize;
        let mut positives = vec![0u32; labels];
        for (label, count) in self.positives.ids.iter().zip(&self.positives.counts) {
            positives[*label as usize] = u32::try_from(*count).unwrap_or(u32::MAX);
        }
        let of_model = |(name, tally): (&String, &LabelTally)| {
            let (mut predicted, mut hits) = (vec![0u32; labels], vec![0u32; labels]);
            for (place, label) in tally.ids.iter().enumerate() {
                for (_, of_rank, hit) in tally.entries(place) {
                    predicted[*label as usize] += of_rank;
                    hits[*label as usize] += hit;
                }
            }
            (name.clone(), predicted, hits)
        };
        let models = self.settings.models.iter().zip(&self.labels).map(of_model).collect();
        Ok(CountsByLabel { k: self.settings.request.k.largest(), positives, models })
    }

    /// Hits by training count. The tally must cover all rows and have counted by label, which every evaluation of means over
    /// labels does.
    pub fn by_count(&self, train: &LabelStats) -> Result<HitsByCount> {
        crate::evaluate::builder::same("the training labels", "labels", self.settings.labels as usize, train.labels() as usize)?;
        if !self.settings.by_label()? {
            return Err(Error::value("this tally has no counts by label").hint("evaluate macro-f or coverage too"));
        }
        let mut found: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for (label, positives) in self.positives.ids.iter().zip(&self.positives.counts) {
            let entry = found.entry(train.count(*label)).or_default();
            entry.0 += positives;
            entry.1 += 1;
        }
        let counts: Vec<u64> = found.keys().copied().collect();
        let models = self.settings.models.iter().zip(&self.labels).map(|(name, tally)| {
            let mut hits = vec![vec![0; counts.len()]; self.settings.depth];
            for (place, label) in tally.ids.iter().enumerate() {
                // A label that is hit is positive, so its count is there.
                let Ok(at) = counts.binary_search(&train.count(*label)) else { continue };
                tally.entries(place).for_each(|(rank, _, count)| hits[rank as usize][at] += u64::from(count));
            }
            ModelHits { name: name.clone(), hits, measured: Vec::new() }
        });
        Ok(HitsByCount {
            rows: self.rows(),
            models: models.collect(),
            positives: found.values().map(|entry| entry.0).collect(),
            labels: found.values().map(|entry| entry.1).collect(),
            counts,
        })
    }
}
