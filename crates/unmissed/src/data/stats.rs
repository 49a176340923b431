//! What a data set looks like: sizes, densities and how long its tail is.
//!
//! With n rows, m labels, `n_j` positives of label j and `n_max` the largest of them:
//! - `ILIR = max_j n_j / min_j n_j`, over labels that occur (inter-label imbalance ratio).
//! - `min IR = (n - n_max) / n_max`: negatives to positives of the most balanced label. Published tables print `n / n_max`
//!   under this name, so that one is reported too, under its own.
//! - `Pos-80%`: the smallest share of the m labels, most frequent first, that holds at least 80 % of all positives.
//! - the obesity index: see [`Obesity`].
//!
//! # Reference
//! Schultheis, Wydmuch, Babbar, Dembczynski: *On Missing Labels, Long-tails and Propensities in Extreme Multi-label
//! Classification*, KDD 2022, Table 1.

use super::dataset::{Dataset, Features};
use super::label_stats::LabelStats;
use super::obesity::Obesity;
use rayon::prelude::*;
use serde::Serialize;

/// Labels with at most this many positives count as having few.
pub const FEW: u64 = 5;

/// The statistics of a data set. The names of the fields are the names in JSON; what is not defined (a mean over no rows,
/// the features of a file without any) is null.
///
/// ```
/// use unmissed::data::{DataStats, Dataset, Labels};
/// let labels = Labels::from_ids(5, [vec![0, 1], vec![0], vec![0, 2], vec![]])?;
/// let stats = DataStats::of(&Dataset::new(None, labels)?, 0);
/// assert_eq!((stats.rows, stats.labels, stats.labels_occurring), (4, 5, 3));
/// assert_eq!((stats.labels_per_row_mean, stats.rows_without_labels), (Some(1.25), Some(1)));
/// assert_eq!((stats.min_ir, stats.rows_to_largest), (Some(1.0 / 3.0), Some(4.0 / 3.0)));
/// assert_eq!((stats.ilir, stats.pos80), (Some(3.0), Some(2.0 / 5.0)));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DataStats {
    /// Number of rows, n.
    pub rows: u64,
    /// Number of features; null when there are no features.
    pub features: Option<u64>,
    /// Features that are not zero, mean over rows.
    pub features_per_row_mean: Option<f64>,
    /// Share of all (row, feature) pairs that are not zero.
    pub feature_density: Option<f64>,
    /// Number of labels, m, whether they occur or not.
    pub labels: u64,
    /// Labels with at least one positive.
    pub labels_occurring: u64,
    /// All positives together.
    pub positives: u64,
    /// Labels of a row, mean over all rows.
    pub labels_per_row_mean: Option<f64>,
    /// Labels of a row, median over all rows; null when only counts of labels are known.
    pub labels_per_row_median: Option<f64>,
    /// Most labels of a row; null when only counts of labels are known.
    pub labels_per_row_max: Option<u64>,
    /// Rows without any label; null when only counts of labels are known.
    pub rows_without_labels: Option<u64>,
    /// Positives of a label, mean over all m labels.
    pub rows_per_label_mean: Option<f64>,
    /// Positives of a label, median over all m labels.
    pub rows_per_label_median: Option<f64>,
    /// Positives of a label, mean over the labels that occur.
    pub rows_per_occurring_label_mean: Option<f64>,
    /// Positives of a label, median over the labels that occur.
    pub rows_per_occurring_label_median: Option<f64>,
    /// Fewest positives among the labels that occur.
    pub rows_per_occurring_label_min: Option<u64>,
    /// Positives of the most frequent label, n_max.
    pub rows_per_label_max: Option<u64>,
    /// Share of all m labels with at most [`FEW`] positives, none included.
    pub few_positives_share: Option<f64>,
    /// Share of the labels that occur with at most [`FEW`] positives.
    pub few_positives_share_of_occurring: Option<f64>,
    /// `(n - n_max) / n_max`, the min IR as it is defined.
    pub min_ir: Option<f64>,
    /// `n / n_max`, what published tables print as min IR.
    pub rows_to_largest: Option<f64>,
    /// Largest count over smallest, over labels that occur.
    pub ilir: Option<f64>,
    /// Smallest share of the m labels, most frequent first, that holds at least 80 % of all positives.
    pub pos80: Option<f64>,
    /// The obesity index of the counts of labels that occur.
    pub obesity: Option<Obesity>,
}

impl DataStats {
    /// The statistics of a data set's features and observed labels. The seed is for an obesity index that is too large to
    /// count exactly.
    pub fn of(data: &Dataset<'_>, seed: u64) -> DataStats {
        let labels = data.labels();
        let mut stats = DataStats::of_counts(&LabelStats::of(labels), seed);
        let mut lengths: Vec<u64> = labels.offsets().windows(2).map(|pair| pair[1] - pair[0]).collect();
        stats.rows_without_labels = Some(lengths.iter().filter(|length| **length == 0).count() as u64);
        stats.labels_per_row_max = lengths.iter().max().copied();
        stats.labels_per_row_median = median(&mut lengths);
        if let Some(features) = data.features() {
            let (rows, cols) = (features.rows() as f64, features.cols() as f64);
            let entries = nonzeros(features) as f64;
            stats.features = Some(features.cols() as u64);
            stats.features_per_row_mean = ratio(entries, rows);
            stats.feature_density = ratio(entries, rows * cols);
        }
        stats
    }

    /// What the counts of labels alone tell: nothing about features, and of the labels of a row only their mean.
    ///
    /// ```
    /// use unmissed::data::{DataStats, LabelStats};
    /// let stats = DataStats::of_counts(&LabelStats::from_counts(10, &[8, 1, 1, 0])?, 0);
    /// assert_eq!((stats.pos80, stats.ilir, stats.few_positives_share), (Some(0.25), Some(8.0), Some(0.75)));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn of_counts(stats: &LabelStats, seed: u64) -> DataStats {
        let mut counts = stats.counts().to_vec();
        counts.par_sort_unstable();
        let (rows, labels, occurring) = (stats.rows() as f64, stats.labels() as f64, counts.len() as f64);
        let positives: u64 = counts.iter().sum();
        let absent = stats.labels() - counts.len() as u64;
        let few = counts.partition_point(|count| *count <= FEW) as f64;
        let (smallest, largest) = (counts.first().copied(), counts.last().copied());
        let over_largest = |value: f64| largest.map(|largest| value / largest as f64);
        DataStats {
            rows: stats.rows(),
            features: None,
            features_per_row_mean: None,
            feature_density: None,
            labels: stats.labels(),
            labels_occurring: counts.len() as u64,
            positives,
            labels_per_row_mean: ratio(positives as f64, rows),
            labels_per_row_median: None,
            labels_per_row_max: None,
            rows_without_labels: None,
            rows_per_label_mean: ratio(positives as f64, labels),
            rows_per_label_median: median_of_sorted(&counts, absent),
            rows_per_occurring_label_mean: ratio(positives as f64, occurring),
            rows_per_occurring_label_median: median_of_sorted(&counts, 0),
            rows_per_occurring_label_min: smallest,
            rows_per_label_max: largest,
            few_positives_share: ratio(few + absent as f64, labels),
            few_positives_share_of_occurring: ratio(few, occurring),
            min_ir: largest.and_then(|largest| over_largest((stats.rows() - largest) as f64)),
            rows_to_largest: over_largest(rows),
            ilir: smallest.zip(largest).map(|(smallest, largest)| largest as f64 / smallest as f64),
            pos80: most_frequent_holding(&counts, positives).and_then(|needed| ratio(needed as f64, labels)),
            obesity: Obesity::of_sorted(&counts, seed),
        }
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn nonzeros(features: &Features<'_>) -> usize {
    match features {
        Features::Sparse(matrix) => matrix.values().par_iter().with_min_len(1 << 16).filter(|value| **value != 0.0).count(),
        Features::Dense(matrix) => {
            let in_row = |row| matrix.row(row).iter().filter(|value| **value != 0.0).count();
            (0..matrix.rows()).into_par_iter().with_min_len(1 << 10).map(in_row).sum()
        }
    }
}

/// The median of any numbers: the mean of the two in the middle when their number is even.
fn median(numbers: &mut [u64]) -> Option<f64> {
    let middle = numbers.len().checked_sub(1)? / 2;
    let even = numbers.len().is_multiple_of(2);
    let (_, lower, above) = numbers.select_nth_unstable(middle);
    let upper = if even { above.iter().min().copied().unwrap_or(*lower) } else { *lower };
    Some((*lower + upper) as f64 / 2.0)
}

/// The median of ascending numbers and as many zeros in front of them.
fn median_of_sorted(ascending: &[u64], zeros: u64) -> Option<f64> {
    let length = ascending.len() as u64 + zeros;
    let at = |place: u64| place.checked_sub(zeros).map_or(0, |place| ascending[place as usize]);
    let middle = length.checked_sub(1)? / 2;
    Some((at(middle) + at(length / 2)) as f64 / 2.0)
}

/// How many labels, most frequent first, it takes to hold 80 % of all positives.
fn most_frequent_holding(ascending: &[u64], positives: u64) -> Option<usize> {
    let mut held = 0u64;
    ascending
        .iter()
        .rev()
        .position(|count| {
            held += count;
            // In whole numbers: 0.8 times the total is not exact in floating point, and a tie would go either way.
            5 * u128::from(held) >= 4 * u128::from(positives)
        })
        .map(|place| place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Csr, Dense, Labels};

    /// AmazonCat-13K and Wiki10-31K as published: the first is printed as 3.3, the second as 1.2.
    #[test]
    fn both_imbalance_ratios_of_published_counts() {
        let of = |rows, largest| DataStats::of_counts(&LabelStats::from_counts(rows, &[largest, 1]).unwrap(), 0);
        let amazon = of(1_186_239, 355_211);
        assert!((amazon.rows_to_largest.unwrap() - 3.34).abs() < 0.005);
        assert!((amazon.min_ir.unwrap() - 2.34).abs() < 0.005);
        assert_eq!(amazon.ilir, Some(355_211.0));
        let wiki = of(14_146, 11_411);
        assert!((wiki.rows_to_largest.unwrap() - 1.24).abs() < 0.005);
        assert!((wiki.min_ir.unwrap() - 0.24).abs() < 0.005);
    }

    #[test]
    fn features_count_where_they_are_not_zero() {
        let labels = || Labels::from_ids(1, [vec![0], vec![]]).unwrap();
        let sparse = Csr::from_rows(4, [vec![(0, 1.0f32), (2, 0.0)], vec![(1, 2.0), (3, 1.0)]]).unwrap();
        let dense = Dense::new(2, 4, vec![1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 1.0]).unwrap();
        for features in [Features::Sparse(sparse), Features::Dense(dense)] {
            let stats = DataStats::of(&Dataset::new(Some(features), labels()).unwrap(), 0);
            assert_eq!((stats.features_per_row_mean, stats.feature_density), (Some(1.5), Some(3.0 / 8.0)));
        }
    }

    #[test]
    fn medians_with_labels_that_never_occur() {
        let stats = DataStats::of_counts(&LabelStats::from_counts(9, &[0, 7, 0, 2, 0, 4]).unwrap(), 0);
        assert_eq!((stats.rows_per_label_median, stats.rows_per_occurring_label_median), (Some(1.0), Some(4.0)));
        assert_eq!(median(&mut [5, 1, 9, 2]), Some(3.5));
        assert_eq!(median(&mut [5, 1, 9]), Some(5.0));
    }

    #[test]
    fn nothing_is_not_a_number_but_null() {
        let empty = DataStats::of(&Dataset::new(None, Labels::from_ids(0, Vec::<Vec<u32>>::new()).unwrap()).unwrap(), 0);
        let json = serde_json::to_string(&empty).unwrap();
        assert!(json.contains(r#""rows":0,"features":null"#) && json.contains(r#""obesity":null"#), "{json}");
        let unlabelled = DataStats::of(&Dataset::new(None, Labels::from_ids(3, [vec![], vec![]]).unwrap()).unwrap(), 0);
        assert_eq!((unlabelled.min_ir, unlabelled.pos80, unlabelled.rows_per_label_median), (None, None, Some(0.0)));
    }
}
