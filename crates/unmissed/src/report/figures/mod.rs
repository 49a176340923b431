//! The figures of an audit: each with a caption that says what to see, for the page (in classes that follow its theme) and as
//! files.

mod dots;
mod line;
pub(super) mod map;
mod svg;

use super::charts;
use super::plot::{self, Chart, Scale, Series};
use crate::audit::flips::FlipMap;
use crate::audit::{AuditResult, Kind, Verdict};
use crate::data::Output;
use crate::error::Result;
use std::path::{Path, PathBuf};

/// A figure of an audit.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its name in the page and of its files.
    pub id: &'static str,
    /// What it is.
    pub title: String,
    /// What to see.
    pub caption: String,
    drawing: Drawing,
}

#[derive(Clone, Debug)]
enum Drawing {
    Chart(Chart),
    Dots(Verdict),
    Map(FlipMap),
}

impl Figure {
    /// SVG for the page; empty when there is nothing to draw.
    pub fn for_page(&self) -> String {
        match &self.drawing {
            Drawing::Chart(chart) => line::svg(chart).unwrap_or_default(),
            Drawing::Dots(verdict) => dots::svg(verdict, &self.title, false),
            Drawing::Map(map) => map::svg(map, &self.title, false),
        }
    }

    /// SVG for a file.
    pub fn for_file(&self) -> Result<String> {
        match &self.drawing {
            Drawing::Chart(chart) => plot::svg(chart),
            Drawing::Dots(verdict) => Ok(dots::svg(verdict, &self.title, true)),
            Drawing::Map(map) => Ok(map::svg(map, &self.title, true)),
        }
    }

    /// Names of series and the classes of their colours, where the legend is not part of the drawing.
    pub fn legend(&self) -> Vec<(String, String)> {
        match &self.drawing {
            Drawing::Chart(chart) => {
                chart.series.iter().enumerate().map(|(place, s)| (s.name.clone(), line::class(place))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The figures that the result allows, in the order of the page.
pub fn figures(result: &AuditResult) -> Vec<Figure> {
    [scores(result), frequencies(result), propensities(result), flips(result), by_frequency(result)].into_iter().flatten().collect()
}

/// Writes each figure as `ID.svg` and `ID.png` into a folder that exists.
pub fn write(figures: &[Figure], folder: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for figure in figures {
        let drawing = figure.for_file()?;
        let pixels = plot::png_of_svg(&drawing, &figure.title, 2.0)?;
        for (ending, bytes) in [("svg", drawing.as_bytes()), ("png", &pixels)] {
            let path = folder.as_ref().join(format!("{}.{ending}", figure.id));
            let mut output = Output::create(&path)?;
            output.put(bytes)?;
            output.finish()?;
            written.push(path);
        }
    }
    Ok(written)
}

fn scores(result: &AuditResult) -> Option<Figure> {
    let verdict = &result.verdict;
    verdict.standings.iter().any(|standing| standing.scores.iter().any(|score| score.value.is_some())).then(|| {
        let truth = if result.truth.is_some() { " Vertical lines: what complete labels say." } else { "" };
        let beyond = verdict.standings.iter().flat_map(|s| &s.scores).any(|s| s.value.is_some_and(|v| v > 1.0));
        let impossible = if beyond { " Beyond the red dashes, 100 %, no score can be." } else { "" };
        Figure {
            id: "scores",
            title: format!("{}@{} by propensity model", verdict.metric, verdict.k),
            caption: format!(
                "The same predictions under each propensity model, with {:.0} % intervals. If the dots of a row move, the number \
                 is the propensity model's; if they change places, so is the order.{truth}{impossible}",
                100.0 * result.level
            ),
            drawing: Drawing::Dots(verdict.clone()),
        }
    })
}

fn frequencies(result: &AuditResult) -> Option<Figure> {
    let mut chart = Chart::new("Label frequency").x("rank of the label", Scale::Log).y("rows with the label", Scale::Log);
    for part in result.data.iter().filter(|part| !part.frequencies.is_empty()) {
        chart = chart.series(Series::line(part.role, part.frequencies.iter().map(|p| (p.rank as f64, p.count as f64))));
    }
    (!chart.series.is_empty()).then(|| Figure {
        id: "frequencies",
        title: "How often labels occur".into(),
        caption: "Labels from the most frequent on, on logarithmic axes. A line that falls straight for decades is a long tail: \
                  most labels have too few rows to say much about each alone."
            .into(),
        drawing: Drawing::Chart(chart),
    })
}

fn propensities(result: &AuditResult) -> Option<Figure> {
    let mut chart =
        Chart::new("Propensities").x("training rows with the label", Scale::Log).y("propensity", Scale::Linear).y_covers(0.0, 1.0);
    for report in result.propensities.iter().filter(|report| !report.curve.is_empty()) {
        chart = chart.series(Series::line(report.name.clone(), report.curve.clone()));
    }
    if let Some(direct) = result.direct.as_ref().filter(|direct| !direct.estimates.is_empty()) {
        chart = chart.series(charts::points("direct, label by label", &direct.estimates));
    }
    // Estimates of all labels lie on top of each other: the last one is the one to use.
    let mut estimates = result.propensities.iter().filter(|report| !report.estimates.is_empty());
    let assumed = estimates.clone().filter(|report| report.kind == Kind::Assumed);
    for report in assumed.chain(estimates.rfind(|report| report.kind == Kind::Estimated)) {
        chart = chart.series(charts::points(&report.name, &report.estimates));
    }
    let evidence = result.propensities.iter().any(|report| report.against.is_some());
    let what = if evidence {
        "Dots with bars are estimates from the evidence for single labels; a curve that passes them by is contradicted."
    } else {
        "None of these was measured on these data: without a controlled set or a later snapshot nothing tells which curve is right."
    };
    (!chart.series.is_empty()).then(|| Figure {
        id: "propensities",
        title: "How likely a relevant label is to be observed".into(),
        caption: format!("Propensity against training frequency. {what}"),
        drawing: Drawing::Chart(chart),
    })
}

fn flips(result: &AuditResult) -> Option<Figure> {
    let map = result.flips.as_ref()?;
    let flipped = map.flipped();
    let says = match flipped {
        0.0 => format!("{} is ahead everywhere on the map.", map.first),
        1.0 => format!("{} is ahead everywhere on the map.", map.second),
        share => format!("{} is ahead on {:.0} % of the map.", map.second, 100.0 * share),
    };
    let truth = result.verdict.standings.iter().find(|standing| standing.is_truth).and_then(|truth| truth.first.as_deref());
    let truth = truth.map_or(String::new(), |best| format!(" Complete labels put {best} first."));
    Some(Figure {
        id: "order",
        title: format!("Who is ahead in unbiased precision@{} under JPV's constants", map.k),
        caption: format!(
            "Each point is a pair of JPV's constants a and b; the colour says who is ahead there, its depth by how much. Circles are \
             the constants of the literature. {says}{truth}"
        ),
        drawing: Drawing::Map(map.clone()),
    })
}

/// Recall of observed positives by training frequency: within a label the propensity cancels.
fn by_frequency(result: &AuditResult) -> Option<Figure> {
    let hits = result.tallies.as_ref()?;
    let k = hits.depth();
    let mut chart = Chart::new("Score against label frequency")
        .x("training rows with the label", Scale::Log)
        .y(format!("share of positives in the top {k}"), Scale::Linear)
        .y_covers(0.0, 0.1);
    // Bins of a factor of two; labels never seen have no place on a logarithmic axis, and no model can have learned them.
    let bin = |count: u64| count.checked_ilog2();
    for model in &hits.models {
        let mut bins: std::collections::BTreeMap<u32, (u64, u64)> = std::collections::BTreeMap::new();
        for (place, count) in hits.counts.iter().enumerate() {
            let Some(bin) = bin(*count) else { continue };
            let entry = bins.entry(bin).or_default();
            entry.0 += model.hits.iter().map(|rank| rank[place]).sum::<u64>();
            entry.1 += hits.positives[place];
        }
        let (mut points, mut ends) = (Vec::new(), Vec::new());
        for (bin, (found, positives)) in bins {
            let interval = crate::propensity::quantiles::clopper_pearson(found, positives, result.level);
            points.push((1.5 * 2f64.powi(bin as i32), found as f64 / positives as f64));
            ends.push((interval.low, interval.high));
        }
        chart = chart.series(Series::line(model.name.clone(), points).intervals(ends));
    }
    chart.series.iter().any(|series| !series.points.is_empty()).then(|| Figure {
        id: "tail",
        title: "Score against label frequency".into(),
        caption: format!(
            "Of the observed test positives of labels with similar training frequency, the share that a model has in its top {k}. \
             Within a label the propensity cancels, so no propensity model is needed here. Bars: {:.0} % intervals.",
            100.0 * result.level
        ),
        drawing: Drawing::Chart(chart),
    })
}
