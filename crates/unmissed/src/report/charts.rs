//! Charts that several commands draw: propensities against label frequency.

use super::plot::{Chart, Scale, Series};
use crate::data::LabelStats;
use crate::propensity::estimators::direct::Direct;
use crate::propensity::{Phi, Propensities, Sample, ValueSource};

/// Points of a curve, and labels that are shown one by one: as many as a picture can hold apart.
const CURVE: usize = 200;
const LABELS: usize = 300;

/// A chart of propensities (from 0 up) against how often a label is observed.
pub fn propensity_chart(title: &str) -> Chart {
    Chart::new(title)
        .x("rows with the label", Scale::Log)
        .y("propensity", Scale::Linear)
        .y_covers(0.0, 0.1)
        .caption(format!("Of more than {LABELS} labels, some of each frequency are drawn."))
}

/// A model as a curve over the counts that occur.
pub fn curve(name: &str, phi: &Phi, stats: &LabelStats) -> Series {
    let (low, high) = (stats.counts().iter().min().map_or(1.0, |c| *c as f64), stats.largest().max(1) as f64);
    let sample = Sample::of(stats);
    let at = |place: usize| low * (high / low).powf(place as f64 / (CURVE - 1) as f64);
    Series::line(name, (0..CURVE).map(at).map(|count| (count, phi.at(sample, count).min(1.0))))
}

/// Propensities label by label, with their intervals; a thousand labels stand for more.
pub fn labels(name: &str, propensities: &Propensities, stats: &LabelStats) -> Series {
    // A value from a curve is no evidence: drawn as a point it would look like some.
    let shown = thinned(stats, |label| propensities.source(label) != ValueSource::Curve);
    let point = |label: &u32| (stats.count(*label) as f64, propensities.get(*label));
    let points = shown.iter().map(point);
    let series = Series::points(name, points);
    if shown.iter().any(|label| propensities.interval(*label).is_some()) {
        series.intervals(shown.iter().map(|label| {
            propensities.interval(*label).map_or((propensities.get(*label), propensities.get(*label)), |i| (i.low, i.high))
        }))
    } else {
        series
    }
}

/// A direct estimate, where there is one.
pub fn direct(name: &str, direct: &Direct, stats: &LabelStats) -> Series {
    let shown = thinned(stats, |label| direct.propensity(label as usize).is_some());
    let value = |label: &u32| direct.propensity(*label as usize).unwrap_or(f64::NAN);
    let interval = |label: &u32| direct.interval(*label as usize).map_or((value(label), value(label)), |i| (i.low, i.high));
    Series::points(name, shown.iter().map(|label| (stats.count(*label) as f64, value(label)))).intervals(shown.iter().map(interval))
}

/// At most [`LABELS`] of the labels that occur, spread evenly over the logarithm of their counts.
fn thinned(stats: &LabelStats, keep: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut all: Vec<u32> = stats.occurring().iter().copied().filter(|label| keep(*label)).collect();
    if all.len() <= LABELS {
        return all;
    }
    all.sort_by_key(|label| (stats.count(*label), *label));
    let cell = |label: u32| ((stats.count(label) as f64).ln() / (stats.largest() as f64).ln() * 40.0) as usize;
    let runs: Vec<&[u32]> = all.chunk_by(|a, b| cell(*a) == cell(*b)).collect();
    let each = LABELS / runs.len().max(1);
    runs.iter().flat_map(|run| run.iter().step_by(run.len().div_ceil(each.max(1)))).copied().collect()
}
