//! Rows in batches, turned by feature: the form in which training reads data.
//!
//! Training goes over a batch feature by feature. The weights of a feature are then read once for all rows of the batch that
//! have it, and what is scattered (a line of logits or gradients for each row) fits the nearest cache.

use crate::data::{Features, Labels};
use crate::error::{Error, Result};
use crate::predict::Normalize;
use crate::request::LARGEST_BATCH;
use rayon::prelude::*;

/// Some rows.
pub(super) struct Batch {
    rows: usize,
    features: Vec<u32>,
    starts: Vec<u32>,
    places: Vec<u16>,
    values: Vec<f32>,
    positives: Vec<(u32, u16)>,
}

impl Batch {
    fn new(features: &Features<'_>, labels: &Labels<'_>, rows: &[usize], normalize: Normalize) -> Result<Batch> {
        let mut entries: Vec<(u32, u16, f32)> = Vec::new();
        let mut positives = Vec::new();
        for (place, &row) in (0u16..=u16::MAX).zip(rows) {
            match features {
                Features::Sparse(matrix) => {
                    let (ids, values) = matrix.row(row);
                    let factor = normalize.factor(values);
                    entries.extend(ids.iter().zip(values).map(|(&id, &value)| (id, place, value * factor)));
                }
                Features::Dense(matrix) => {
                    let values = matrix.row(row);
                    let factor = normalize.factor(values);
                    entries.extend((0u32..).zip(values).map(|(id, &value)| (id, place, value * factor)));
                }
            }
            positives.extend(labels.row_ids(row).iter().map(|&label| (label, place)));
        }
        entries.retain(|entry| entry.2 != 0.0);
        let many = u32::try_from(entries.len()).map_err(|_| {
            Error::value("a batch of rows has too many features")
                .expected(format!("at most {} nonzero values", u32::MAX))
                .found(entries.len().to_string())
                .hint("use smaller batches")
        })?;
        entries.sort_unstable_by_key(|entry| (entry.0, entry.1));
        positives.sort_unstable();
        let (mut ids, mut starts) = (Vec::new(), Vec::new());
        for (place, entry) in (0..many).zip(&entries) {
            if ids.last() != Some(&entry.0) {
                ids.push(entry.0);
                starts.push(place);
            }
        }
        starts.push(many);
        Ok(Batch {
            rows: rows.len(),
            features: ids,
            starts,
            places: entries.iter().map(|entry| entry.1).collect(),
            values: entries.iter().map(|entry| entry.2).collect(),
            positives,
        })
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The features that occur, ascending.
    #[inline(always)]
    pub(super) fn features(&self) -> &[u32] {
        &self.features
    }

    /// The features that occur, ascending, each with the places of its rows in the batch and its values there.
    #[inline(always)]
    pub(super) fn by_feature(&self) -> impl Iterator<Item = (u32, &[u16], &[f32])> {
        self.features.iter().zip(self.starts.windows(2)).map(|(&feature, range)| {
            let range = range[0] as usize..range[1] as usize;
            (feature, &self.places[range.clone()], &self.values[range])
        })
    }

    /// The observed pairs of labels from `first` on, `width` of them: (label, place of the row).
    pub(super) fn positives(&self, first: u32, width: usize) -> &[(u32, u16)] {
        let start = self.positives.partition_point(|pair| pair.0 < first);
        let length = self.positives[start..].partition_point(|pair| ((pair.0 - first) as usize) < width);
        &self.positives[start..start + length]
    }
}

/// Rows in batches.
pub(super) struct Batches {
    batches: Vec<Batch>,
    features: usize,
    rows: usize,
}

impl Batches {
    /// The given rows in the given order, `size` to a batch.
    pub(super) fn new(
        features: &Features<'_>,
        labels: &Labels<'_>,
        rows: &[usize],
        size: usize,
        normalize: Normalize,
    ) -> Result<Batches> {
        let size = size.clamp(1, LARGEST_BATCH);
        let batches = rows.par_chunks(size).map(|rows| Batch::new(features, labels, rows, normalize)).collect::<Result<_>>()?;
        Ok(Batches { batches, features: features.cols(), rows: rows.len() })
    }

    /// Number of features.
    pub(super) fn features(&self) -> usize {
        self.features
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Rows of the largest batch.
    pub(super) fn largest(&self) -> usize {
        self.batches.iter().map(Batch::rows).max().unwrap_or(0)
    }

    /// All batches.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Batch> {
        self.batches.iter()
    }

    /// Number of batches.
    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }

    /// One batch.
    pub(super) fn get(&self, batch: usize) -> &Batch {
        &self.batches[batch]
    }
}
