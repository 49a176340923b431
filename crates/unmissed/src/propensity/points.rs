//! Propensities as points against label frequency: what charts and pages draw.
//!
//! A chart cannot tell thousands of labels apart, so at most [`MOST_LABELS`] are taken, spread evenly over the logarithm of their
//! counts.

use super::estimators::Direct;
use super::{Interval, Phi, Propensities, Sample, ValueSource};
use crate::data::LabelStats;
use serde::Serialize;

/// Points of a curve.
const CURVE_POINTS: usize = 200;
/// Labels that are taken one by one.
pub const MOST_LABELS: usize = 300;
/// Bins over the logarithm of counts, each of which keeps about the same number of labels.
const BINS: f64 = 40.0;

/// The propensity of a label with the ends of its interval. Serialised as `[count, propensity, low, high]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "(f64, f64, f64, f64)")]
pub struct LabelPoint {
    /// Rows with the label.
    pub count: f64,
    /// Its propensity.
    pub propensity: f64,
    /// Lower end of the interval; the propensity itself where there is none.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl LabelPoint {
    fn new(count: u64, propensity: f64, interval: Option<Interval>) -> LabelPoint {
        let (low, high) = interval.map_or((propensity, propensity), |interval| (interval.low, interval.high));
        LabelPoint { count: count as f64, propensity, low, high }
    }
}

impl From<LabelPoint> for (f64, f64, f64, f64) {
    fn from(point: LabelPoint) -> Self {
        (point.count, point.propensity, point.low, point.high)
    }
}

/// A curve over the counts that occur: (count, propensity), evenly spaced on a logarithmic axis.
pub fn curve_points(phi: &Phi, stats: &LabelStats) -> Vec<(f64, f64)> {
    let (low, high) = (stats.counts().iter().min().map_or(1.0, |c| *c as f64), stats.largest().max(1) as f64);
    let sample = Sample::of(stats);
    let at = |place: usize| low * (high / low).powf(place as f64 / (CURVE_POINTS - 1) as f64);
    (0..CURVE_POINTS).map(at).map(|count| (count, phi.at(sample, count).min(1.0))).collect()
}

/// Propensities label by label. A value from a curve is no evidence, and as a point it would look like some: it is left out.
pub fn label_points(propensities: &Propensities, stats: &LabelStats) -> Vec<LabelPoint> {
    let labels = thinned(stats, |label| propensities.source(label) != ValueSource::Curve);
    let point = |label: u32| LabelPoint::new(stats.count(label), propensities.get(label), propensities.interval(label));
    labels.into_iter().map(point).collect()
}

/// A direct estimate, for the labels that have one.
pub fn direct_points(direct: &Direct, stats: &LabelStats) -> Vec<LabelPoint> {
    let labels = thinned(stats, |label| direct.propensity(label as usize).is_some());
    let point = |label: u32| {
        let propensity = direct.propensity(label as usize)?;
        Some(LabelPoint::new(stats.count(label), propensity, direct.interval(label as usize)))
    };
    labels.into_iter().filter_map(point).collect()
}

/// At most [`MOST_LABELS`] of the labels that occur, spread evenly over the logarithm of their counts.
fn thinned(stats: &LabelStats, keep: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut all: Vec<u32> = stats.occurring().iter().copied().filter(|label| keep(*label)).collect();
    if all.len() <= MOST_LABELS {
        return all;
    }
    all.sort_by_key(|label| (stats.count(*label), *label));
    let bin = |label: u32| ((stats.count(label) as f64).ln() / (stats.largest() as f64).ln() * BINS) as usize;
    let runs: Vec<&[u32]> = all.chunk_by(|a, b| bin(*a) == bin(*b)).collect();
    let each = MOST_LABELS / runs.len().max(1);
    runs.iter().flat_map(|run| run.iter().step_by(run.len().div_ceil(each.max(1)))).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_labels_are_thinned_and_rare_and_frequent_ones_stay() {
        let counts: Vec<u64> = (0..5000).map(|label| 1 + label % 1000).collect();
        let stats = LabelStats::from_counts(2000, &counts).unwrap();
        let p = Propensities::new("half", vec![0.5; 5000]).unwrap();
        let points = label_points(&p, &stats);
        assert!(points.len() <= MOST_LABELS && points.len() > MOST_LABELS / 3, "{}", points.len());
        assert_eq!(points.first().map(|point| point.count), Some(1.0));
        assert!(points.iter().any(|point| point.count > 900.0));
        assert_eq!((points[0].low, points[0].high), (0.5, 0.5));
        assert_eq!(serde_json::to_string(&points[0]).unwrap(), "[1.0,0.5,0.5,0.5]");
    }

    #[test]
    fn a_curve_spans_the_counts_that_occur() {
        let stats = LabelStats::from_counts(100, &[3, 50, 10]).unwrap();
        let curve = super::super::models::parse("power").unwrap();
        let points = curve_points(curve.curve().unwrap(), &stats);
        assert_eq!(points.len(), CURVE_POINTS);
        assert!((points[0].0 - 3.0).abs() < 1e-9 && (points[CURVE_POINTS - 1].0 - 50.0).abs() < 1e-9);
        assert!((points[CURVE_POINTS - 1].1 - 1.0).abs() < 1e-9);
    }
}
