//! Charts that several commands draw: propensities against label frequency.

use super::plot::{Chart, Scale, Series};
use crate::data::LabelStats;
use crate::propensity::estimators::Direct;
use crate::propensity::points::{LabelPoint, MOST_LABELS, curve_points, direct_points, label_points};
use crate::propensity::{Phi, Propensities};

/// A chart of propensities (from 0 up) against how often a label is observed.
pub fn propensity_chart(title: &str) -> Chart {
    Chart::new(title)
        .x("rows with the label", Scale::Log)
        .y("propensity", Scale::Linear)
        .y_covers(0.0, 0.1)
        .caption(format!("If there are more than {MOST_LABELS} labels, a sample of each frequency is drawn."))
}

/// A model as a curve over the counts that occur.
pub fn curve(name: &str, phi: &Phi, stats: &LabelStats) -> Series {
    Series::line(name, curve_points(phi, stats))
}

/// Propensities label by label, with their intervals.
pub fn labels(name: &str, propensities: &Propensities, stats: &LabelStats) -> Series {
    points(name, &label_points(propensities, stats))
}

/// A direct estimate, where there is one.
pub fn direct(name: &str, direct: &Direct, stats: &LabelStats) -> Series {
    points(name, &direct_points(direct, stats))
}

/// Labels as dots, with intervals where any has one.
pub(super) fn points(name: &str, labels: &[LabelPoint]) -> Series {
    let series = Series::points(name, labels.iter().map(|point| (point.count, point.propensity)));
    if labels.iter().any(|point| point.low < point.high) {
        series.intervals(labels.iter().map(|point| (point.low, point.high)))
    } else {
        series
    }
}
