//! The figures of an audit: each with a caption that explains it, for the page (in classes that follow its theme) and as
//! files.

mod dots;
mod map;

use super::charts;
use super::plot::{self, Chart, Home, Inline, Scale, Series};
use crate::audit::order_map::OrderMap;
use crate::audit::{AuditResult, CandidateKind, RecallByFrequency, Verdict};
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
    Dots(Box<Verdict>),
    Map(OrderMap),
}

impl Figure {
    /// For the page; `None` when there is nothing to draw.
    pub(super) fn inline(&self) -> Option<Inline> {
        let whole = |svg: String| Inline { svg, caption: String::new(), legend: Vec::new() };
        match &self.drawing {
            Drawing::Chart(chart) => Inline::new(chart).ok(),
            Drawing::Dots(verdict) => Some(whole(dots::svg(verdict, &self.title, Home::Page))),
            Drawing::Map(map) => Some(whole(map::svg(map, &self.title, Home::Page))),
        }
    }

    /// SVG for a file.
    pub fn svg(&self) -> Result<String> {
        match &self.drawing {
            Drawing::Chart(chart) => plot::svg(chart),
            Drawing::Dots(verdict) => Ok(dots::svg(verdict, &self.title, Home::File)),
            Drawing::Map(map) => Ok(map::svg(map, &self.title, Home::File)),
        }
    }
}

/// The figures that the result allows, in the order of the page.
pub fn figures(result: &AuditResult) -> Vec<Figure> {
    [scores(result), frequencies(result), propensities(result), order_map(result), by_frequency(result)]
        .into_iter()
        .flatten()
        .collect()
}

/// Writes each figure as `ID.svg` and `ID.png` into a folder that exists.
pub fn write(figures: &[Figure], folder: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for figure in figures {
        let drawing = figure.svg()?;
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
        let truth = if result.truth.is_some() { " Vertical lines: scores on complete labels." } else { "" };
        let beyond = verdict.standings.iter().flat_map(|s| &s.scores).any(|s| s.value.is_some_and(|v| v > 1.0));
        let impossible = if beyond { " Red dashes: 100 %, which no score can exceed." } else { "" };
        Figure {
            id: "scores",
            title: format!("{}@{} by estimate", verdict.metric, verdict.k),
            caption: format!(
                "The same predictions by each estimate, with {:.0} % intervals. If dots move from line to line, the propensities \
                 decide the score; if dots change places, they decide the order.{truth}{impossible}",
                100.0 * result.level
            ),
            drawing: Drawing::Dots(Box::new(verdict.clone())),
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
        caption: "Labels in order of frequency, on logarithmic axes. A line that falls straight over several decades is a long \
                  tail: most labels have too few rows for a reliable score of their own."
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
    let assumed = estimates.clone().filter(|report| report.kind == CandidateKind::Assumed);
    for report in assumed.chain(estimates.rfind(|report| report.kind == CandidateKind::Estimated)) {
        chart = chart.series(charts::points(&report.name, &report.estimates));
    }
    let evidence = result.propensities.iter().any(|report| report.against.is_some());
    let what = if evidence {
        "Dots with bars are estimates from the evidence for single labels; a curve that misses them is contradicted."
    } else {
        "None of these was measured on these data: without a controlled set or a later snapshot, nothing shows which curve is right."
    };
    (!chart.series.is_empty()).then(|| Figure {
        id: "propensities",
        title: "How likely a relevant label is to be observed".into(),
        caption: format!("Propensity against training frequency. {what}"),
        drawing: Drawing::Chart(chart),
    })
}

fn order_map(result: &AuditResult) -> Option<Figure> {
    let map = result.order_map.as_ref()?;
    let share = map.share_of_second();
    let says = match share {
        0.0 => format!("{} is ahead everywhere on the map.", map.first),
        1.0 => format!("{} is ahead everywhere on the map.", map.second),
        share => format!("{} is ahead on {:.0} % of the map.", map.second, 100.0 * share),
    };
    let truth = result.verdict.standings.iter().find(|standing| standing.is_truth).and_then(|truth| truth.first.as_deref());
    let truth = truth.map_or(String::new(), |best| format!(" Complete labels put {best} first."));
    Some(Figure {
        id: "order",
        title: format!("Which model is ahead in unbiased precision@{} under JPV's constants", map.k),
        caption: format!(
            "Each point is a pair of JPV's constants a and b; the colour shows which model is ahead there, its depth by how much. Circles are \
             the constants of the literature. {says}{truth}"
        ),
        drawing: Drawing::Map(map.clone()),
    })
}

/// Recall of observed positives by training frequency.
fn by_frequency(result: &AuditResult) -> Option<Figure> {
    let k = result.recall_by_frequency.first()?.k;
    let mut chart = Chart::new("Score against label frequency")
        .x("training rows with the label", Scale::Log)
        .y(format!("share of positives in the top {k}"), Scale::Linear)
        .y_covers(0.0, 0.1);
    for RecallByFrequency { model, bins, .. } in &result.recall_by_frequency {
        // Each bin ends where the next begins, at twice its start.
        let points = bins.iter().map(|bin| (1.5 * bin.from as f64, bin.recall));
        chart = chart.series(Series::line(model.clone(), points).intervals(bins.iter().map(|bin| (bin.low, bin.high))));
    }
    chart.series.iter().any(|series| !series.points.is_empty()).then(|| Figure {
        id: "tail",
        title: "Score against label frequency".into(),
        caption: format!(
            "Among the observed test positives of labels with similar training frequency, the share that is in a model's top {k}. \
             Within a label the propensity cancels, so no propensity model is needed here. Bars: {:.0} % intervals.",
            100.0 * result.level
        ),
        drawing: Drawing::Chart(chart),
    })
}
