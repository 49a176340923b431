//! Rank against frequency: the points of the log-log plot that shows a long tail.

use super::label_stats::LabelStats;
use rayon::prelude::*;

/// A label's place among the labels by count (1: the most frequent), and its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RankCount {
    /// The place, from 1.
    pub rank: u64,
    /// Positives of the label in that place.
    pub count: u64,
}

/// The counts of labels that occur, most frequent first, at no more than `most` ranks. When there are more labels than that,
/// ranks are spaced evenly on a logarithmic axis, from the first to the last.
///
/// ```
/// use unmissed::data::{LabelStats, rank_frequency};
/// let stats = LabelStats::from_counts(100, &[5, 0, 80, 20])?;
/// let points: Vec<(u64, u64)> = rank_frequency(&stats, 2000).iter().map(|p| (p.rank, p.count)).collect();
/// assert_eq!(points, [(1, 80), (2, 20), (3, 5)]);
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn rank_frequency(stats: &LabelStats, most: usize) -> Vec<RankCount> {
    let mut counts = stats.counts().to_vec();
    counts.par_sort_unstable_by(|a, b| b.cmp(a));
    let point = |rank: usize| RankCount { rank: rank as u64, count: counts[rank - 1] };
    if counts.len() <= most {
        return (1..=counts.len()).map(point).collect();
    }
    let last = counts.len();
    let step = (last as f64).ln() / most.saturating_sub(1).max(1) as f64;
    let mut ranks: Vec<usize> = (0..most).map(|place| ((place as f64 * step).exp().round() as usize).clamp(1, last)).collect();
    // Small ranks come up more than once, because there is nothing between 1 and 2.
    ranks.dedup();
    ranks.into_iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_labels_are_thinned_evenly_on_the_logarithmic_axis() {
        let counts: Vec<u64> = (1..=100_000u64).map(|rank| 100_000 / rank).collect();
        let stats = LabelStats::from_counts(100_000, &counts).unwrap();
        let points = rank_frequency(&stats, 500);
        assert!(points.len() <= 500 && points.len() > 300, "{}", points.len());
        assert_eq!((points[0].rank, points[points.len() - 1].rank), (1, 100_000));
        assert!(points.windows(2).all(|pair| pair[0].rank < pair[1].rank && pair[0].count >= pair[1].count));
        assert!(points.iter().all(|point| point.count == 100_000 / point.rank));
        let decade = |from: u64| points.iter().filter(|p| (from..10 * from).contains(&p.rank)).count();
        assert!(decade(1000).abs_diff(decade(10_000)) <= 1);
    }

    #[test]
    fn few_points_and_no_labels() {
        let stats = LabelStats::from_counts(9, &[9, 3, 1, 1]).unwrap();
        assert_eq!(rank_frequency(&stats, 0), []);
        assert_eq!(rank_frequency(&stats, 1)[0].count, 9);
        assert_eq!(rank_frequency(&stats, 2).iter().map(|p| p.rank).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(rank_frequency(&LabelStats::from_counts(9, &[0, 0]).unwrap(), 10), []);
    }
}
