//! Rows and labels on which training tries settings: a part of the rows is held out, a sample of the labels stands for all.

use super::checked::CheckedTraining;
use super::fit::{Layout, blocks, counts};
use super::label_sample::label_sample;
use super::ranking::Ranking;
use super::tune::Staged;
use crate::data::{Dataset, Features, split_rows_for};
use crate::error::Result;
use crate::predict::file::Calibration;
use crate::rng::Purpose;
use std::sync::{Mutex, PoisonError};

/// With fewer held-out positives nothing can be chosen or calibrated.
pub(super) const LEAST_POSITIVES: usize = 50;

/// How many labels are tried.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// Held-out positives that they should have.
    pub(super) positives: usize,
    /// The most labels that may be taken for their positives, as a part of all.
    pub(super) most: usize,
    /// How many labels there should be: each has a scale and a shift of its own around those of its frequency.
    pub(super) labels: usize,
    /// The most labels that may be taken for their number, as a part of all.
    pub(super) most_labels: usize,
    /// The least number of labels.
    pub(super) least: usize,
    /// One in so many of them is among the most frequent of all labels.
    pub(super) head: usize,
}

impl Sample {
    /// How many of `known` labels with so many held-out positives together are taken.
    fn size(&self, known: usize, positives: usize) -> usize {
        let for_positives = (known * self.positives).div_ceil(positives).min(known / self.most);
        for_positives.max(self.labels.min(known / self.most_labels)).max(self.least).min(known)
    }
}

/// Rows and labels on which settings are tried.
pub(super) struct Trials {
    /// All rows with the labels of the sample, numbered anew.
    pub(super) sampled: Dataset<'static>,
    /// The labels of the sample.
    pub(super) labels: Vec<usize>,
    /// The rows that are trained on.
    pub(super) rows: Vec<usize>,
    /// The features of the others.
    pub(super) held_out: Features<'static>,
    /// By label of the sample, the held-out rows on which it is observed.
    pub(super) observed: Vec<Vec<u32>>,
    /// How often each label of the sample is observed on the rows that are trained on.
    pub(super) counts: Vec<u64>,
    /// How often every label is.
    pub(super) all_counts: Vec<u64>,
    /// How likely each label of the sample is observed where it is relevant; 1 unless told.
    pub(super) propensities: Vec<f64>,
}

impl Trials {
    /// Divides the rows and draws the sample; `None` when the held-out rows have too few labels. Each round holds out others.
    pub(super) fn new(training: &CheckedTraining<'_>, holdout: f64, sample: Sample, round: u64) -> Result<Option<Trials>> {
        let labels = training.data.labels();
        let seed = training.seed.wrapping_add(round << 32);
        let Ok((rows, held_out)) = split_rows_for(Purpose::HeldOut, labels.rows(), holdout, seed) else { return Ok(None) };
        let (all_counts, held_counts) = (counts(labels, &rows), counts(labels, &held_out));
        let mut known: Vec<usize> = (0..labels.cols()).filter(|label| all_counts[*label] > 0).collect();
        known.sort_by_key(|label| std::cmp::Reverse(all_counts[*label]));
        let positives = known.iter().map(|label| held_counts[*label]).sum::<u64>() as usize;
        if positives < LEAST_POSITIVES {
            return Ok(None);
        }
        let wanted = sample.size(known.len(), positives);
        let sample = label_sample(&known, wanted, wanted / sample.head);
        let mut numbers = vec![None; labels.cols()];
        (0u32..).zip(&sample).for_each(|(number, label)| numbers[*label] = Some(number));
        let sampled = labels.filter_map(sample.len() as u64, |_, label, ()| numbers[label as usize])?;
        let mut observed = vec![Vec::new(); sample.len()];
        for (place, row) in (0u32..).zip(&held_out) {
            sampled.row_ids(*row).iter().for_each(|label| observed[*label as usize].push(place));
        }
        let sample_counts: Vec<u64> = sample.iter().map(|label| all_counts[*label]).collect();
        let held_out = training.features.select_rows(&held_out);
        let (sampled, propensities) = (Dataset::new(None, sampled)?, vec![1.0; sample_counts.len()]);
        Ok(Some(Trials { sampled, labels: sample, rows, held_out, observed, counts: sample_counts, all_counts, propensities }))
    }

    /// Observed pairs of held-out rows and labels of the sample.
    pub(super) fn positives(&self) -> u64 {
        self.observed.iter().map(Vec::len).sum::<usize>() as u64
    }

    /// How scores of the held-out rows rank, calibrated.
    pub(super) fn ranking<'a>(&'a self, by_row: &'a [f32], calibration: &Calibration) -> Ranking<'a> {
        Ranking::new(by_row, &self.observed, &self.counts, &self.propensities, calibration)
    }

    /// Trains a candidate on the sample; its scores of the held-out rows, row by row.
    pub(super) fn scores(&self, candidate: &CheckedTraining<'_>, layout: &Layout, stage: String) -> Result<Vec<f32>> {
        let staged = Staged { progress: candidate.progress, stage };
        let candidate = candidate.with_progress(&staged);
        let finished = Mutex::new(Vec::new());
        candidate.run_on(layout, &self.rows, None, &blocks(self.counts.len())?, &[candidate.decay], &|block| {
            finished.lock().unwrap_or_else(PoisonError::into_inner).push(block);
            Ok(())
        })?;
        let model = candidate.assemble(finished.into_inner().unwrap_or_else(PoisonError::into_inner))?.model;
        model.logits(&self.held_out, 0..self.held_out.rows())
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn a_sample_is_as_large_as_it_needs_to_be() {
        let sample = Sample { positives: 2_000, most: 1, labels: 256, most_labels: 2, least: 64, head: 8 };
        // Few positives: all labels. Many of them: half of the labels, but no more than wished for, and not too few.
        assert_eq!(sample.size(159, 1_170), 159);
        assert_eq!(sample.size(200, 100_000), 100);
        assert_eq!(sample.size(10_000, 100_000), 256);
        assert_eq!(sample.size(80, 100_000), 64);
        assert_eq!(sample.size(10, 100_000), 10);
        let capped = Sample { positives: 500, most: 6, labels: 0, most_labels: 1, least: 32, head: 8 };
        assert_eq!(capped.size(976, 5_400), 91);
        assert_eq!(capped.size(600, 60), 100);
    }
}
