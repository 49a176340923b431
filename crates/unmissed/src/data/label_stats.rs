//! How often each label was observed; propensity models and weights are functions of these counts.

use super::csr::{Labels, checked_cols};
use super::label_limit::check_label_limit;
use crate::error::{Error, Result};
use rayon::prelude::*;

/// Number of rows and observed positives of every label. Memory grows with the labels that occur, not with what a header
/// declares.
///
/// ```
/// use unmissed::data::{LabelStats, Labels};
/// let labels = Labels::from_ids(1_000_000, [vec![3, 9], vec![3], vec![]])?;
/// let stats = LabelStats::of(&labels);
/// assert_eq!((stats.rows(), stats.labels(), stats.positives()), (3, 1_000_000, 3));
/// assert_eq!((stats.count(3), stats.count(9), stats.count(4)), (2, 1, 0));
/// assert_eq!(stats.prior(3), 2.0 / 3.0);
/// assert_eq!(stats.smoothed_prior(4, 1.0), 1.0 / 4.0);
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelStats {
    rows: u64,
    labels: u64,
    /// Labels that occur, ascending, and how often each does.
    ids: Vec<u32>,
    counts: Vec<u64>,
}

impl LabelStats {
    /// Counts the labels of a matrix.
    pub fn of(labels: &Labels<'_>) -> LabelStats {
        // Counters of 32 bits are fast, and a label has at most as many positives as there are rows.
        let fits = u32::try_from(labels.rows()).is_ok() && labels.cols() <= 8 * labels.nnz() + (1 << 20);
        let (ids, counts) = if fits { count_dense(labels) } else { count_sorted(labels.ids().to_vec()) };
        LabelStats { rows: labels.rows() as u64, labels: labels.cols() as u64, ids, counts }
    }

    /// From known counts, one for each label.
    pub fn from_counts(rows: u64, counts: &[u64]) -> Result<LabelStats> {
        if let Some(label) = counts.iter().position(|count| *count > rows) {
            return Err(Error::value(format!("label {label} has more positives than there are rows"))
                .expected(format!("at most {rows}"))
                .found(counts[label].to_string()));
        }
        let labels = checked_cols(counts.len() as u64)?;
        let (ids, positive) = (0..labels).zip(counts.iter().copied()).filter(|(_, count)| *count > 0).unzip();
        Ok(LabelStats { rows, labels: labels.into(), ids, counts: positive })
    }

    /// Number of rows, n.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of labels, m, whether they occur or not.
    pub fn labels(&self) -> u64 {
        self.labels
    }

    /// All positives together.
    pub fn positives(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The labels that occur, ascending.
    pub fn occurring(&self) -> &[u32] {
        &self.ids
    }

    /// How often each label of [`LabelStats::occurring`] does.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Positives of one label, n_j.
    pub fn count(&self, label: u32) -> u64 {
        self.ids.binary_search(&label).map_or(0, |place| self.counts[place])
    }

    /// Positives of the most frequent label.
    pub fn largest(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// Positives of all m labels in order; an error when a file declares more labels than arrays are made for (2^28).
    pub fn dense_counts(&self) -> Result<Vec<u64>> {
        check_label_limit(self.labels)?;
        let mut dense = vec![0; self.labels as usize];
        for (id, count) in self.ids.iter().zip(&self.counts) {
            dense[*id as usize] = *count;
        }
        Ok(dense)
    }

    /// Observed prior of a label, n_j / n.
    pub fn prior(&self, label: u32) -> f64 {
        self.smoothed_prior(label, 0.0)
    }

    /// Smoothed observed prior, (n_j + alpha) / (n + alpha).
    pub fn smoothed_prior(&self, label: u32, alpha: f64) -> f64 {
        (self.count(label) as f64 + alpha) / (self.rows as f64 + alpha)
    }
}

fn count_dense(labels: &Labels<'_>) -> (Vec<u32>, Vec<u64>) {
    let mut dense = vec![0u32; labels.cols()];
    for id in labels.ids() {
        dense[*id as usize] += 1;
    }
    labels.col_ids().zip(dense).filter(|(_, count)| *count > 0).map(|(id, count)| (id, u64::from(count))).unzip()
}

fn count_sorted(mut ids: Vec<u32>) -> (Vec<u32>, Vec<u64>) {
    ids.par_sort_unstable();
    ids.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_counting_agree() {
        let rows = (0..2000u32)
            .map(|row| (0..row % 7).map(move |i| (row * 31 + i * 7919) % 5000).collect::<std::collections::BTreeSet<_>>());
        let labels = Labels::from_ids(5000, rows).unwrap();
        assert_eq!(count_dense(&labels), count_sorted(labels.ids().to_vec()));
    }

    #[test]
    fn a_huge_declared_number_of_labels_costs_nothing() {
        let labels = Labels::from_ids(u64::from(u32::MAX), [vec![7], vec![u32::MAX - 1]]).unwrap();
        let stats = LabelStats::of(&labels);
        assert_eq!(stats.occurring(), [7, u32::MAX - 1]);
        let message = stats.dense_counts().unwrap_err().to_string();
        assert!(message.starts_with("too many labels to hold a number for each"), "{message}");
    }
}
