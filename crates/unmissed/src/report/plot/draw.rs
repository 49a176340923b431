//! Charts as SVG, drawn by `kuva`.

use super::axis::{Extent, has_place};
use super::{Chart, Kind, Scale, Series};
use crate::error::{Error, Result};
use crate::report::text::plain;
use kuva::backend::svg::SvgBackend;
use kuva::plot::legend::{LegendEntry, LegendPosition, LegendShape};
use kuva::plot::line::LineStyle;
use kuva::plot::scatter::MarkerShape;
use kuva::plot::{LinePlot, ScatterPlot};
use kuva::render::layout::{AxisLabelOverlap, Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;
use kuva::render::theme::Theme;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

const WIDTH: f64 = 800.0;
/// The chart is higher where the legend needs it.
const HEIGHT: f64 = 500.0;
const LEGEND_LINE: f64 = 18.0;
/// Names longer than this many characters take several lines.
const LEGEND_WRAP: usize = 30;

/// The colours of Okabe and Ito, without the yellow that nobody sees on white. After the last one lines are dashed.
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// Points of a line that are nearer to each other than this part of the axes are one.
const NEAR: f64 = 4e-4;

/// The chart as an SVG document.
///
/// ```
/// use unmissed::report::plot::{Chart, Series, svg};
/// let chart = Chart::new("Costs").series(Series::line("R&D <new>", [(0.0, 1.0), (1.0, 3.0)]));
/// assert!(svg(&chart)?.contains("R&amp;D &lt;new&gt;"));
/// assert!(svg(&Chart::new("Nothing")).is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn svg(chart: &Chart) -> Result<String> {
    let series: Vec<Placed> = chart.series.iter().enumerate().map(|(index, series)| Placed::new(chart, series, index)).collect();
    let points = || series.iter().flat_map(|series| &series.points);
    if points().next().is_none() {
        return Err(Error::value(format!("the chart '{}' has no points to draw", chart.title))
            .expected("at least one point with a place on both axes"));
    }
    let x = Extent::new(&chart.x, points().map(|point| point.x))?;
    let y = Extent::new(&chart.y, points().flat_map(|point| [Some(point.y), point.low, point.high]).flatten())?;

    // Intervals at the back, then dots, then curves.
    let mut plots: Vec<Plot> = Vec::new();
    for series in &series {
        series.draw_intervals(&x, &y, &mut plots);
    }
    for dots in [true, false] {
        for series in series.iter().filter(|series| (series.kind == Kind::Points) == dots) {
            plots.push(series.draw(&x, &y));
        }
    }
    let left_out: usize = series.iter().map(|series| series.left_out).sum();
    let scene = render_multiple(plots, layout(chart, &series, x, y, left_out));
    Ok(with_own_ids(&SvgBackend::new().render_scene(&scene)))
}

/// A point with the interval around it, as far as they have a place on the axes.
struct Point {
    x: f64,
    y: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// A series without the points that have no place.
struct Placed {
    name: String,
    kind: Kind,
    color: &'static str,
    dashed: bool,
    points: Vec<Point>,
    left_out: usize,
}

impl Placed {
    fn new(chart: &Chart, series: &Series, index: usize) -> Placed {
        let interval = |index: usize| series.intervals.as_ref().and_then(|ends| ends.get(index)).copied();
        let mut points = Vec::with_capacity(series.points.len());
        for (index, &(x, y)) in series.points.iter().enumerate() {
            if has_place(chart.x.scale, x) && has_place(chart.y.scale, y) {
                let end = |end: Option<f64>| end.filter(|end| has_place(chart.y.scale, *end));
                let (low, high) = interval(index).unzip();
                points.push(Point { x, y, low: end(low), high: end(high) });
            }
        }
        let left_out = series.points.len() - points.len();
        let (color, dashed) = (COLORS[index % COLORS.len()], (index / COLORS.len()) % 2 == 1);
        Placed { name: label(&series.name), kind: series.kind, color, dashed, points, left_out }
    }

    /// The points in the units of the drawing, without those that would fall onto the one before.
    fn visible(&self, x: &Extent, y: &Extent) -> Vec<(f64, f64)> {
        let mut kept: Vec<(f64, f64)> = Vec::new();
        let near =
            |a: (f64, f64), b: (f64, f64)| (x.place(a.0) - x.place(b.0)).abs() < NEAR && (y.place(a.1) - y.place(b.1)).abs() < NEAR;
        for (index, point) in self.points.iter().enumerate() {
            let drawn = (x.drawn(point.x), y.drawn(point.y));
            if index + 1 == self.points.len() || !kept.last().is_some_and(|last| near(*last, drawn)) {
                kept.push(drawn);
            }
        }
        kept
    }

    fn draw(&self, x: &Extent, y: &Extent) -> Plot {
        let points = self.visible(x, y);
        // A line through a single point would not be seen.
        if self.kind == Kind::Points || points.len() == 1 {
            let (size, opacity) = if self.is_crowded() { (2.2, 0.7) } else { (3.5, 0.9) };
            return ScatterPlot::new().with_data(points).with_color(self.color).with_size(size).with_marker_opacity(opacity).into();
        }
        let line = LinePlot::new().with_data(points).with_color(self.color).with_stroke_width(2.0).with_line_style(self.style());
        if self.kind == Kind::Steps { line.with_step().into() } else { line.into() }
    }

    /// Whether there are so many points that they have to be small.
    fn is_crowded(&self) -> bool {
        self.points.len() > 100
    }

    fn style(&self) -> LineStyle {
        if self.dashed { LineStyle::Dashed } else { LineStyle::Solid }
    }

    /// A bar for each dot (thin and without caps, which would hide the dots where there are many), or a band. An end that
    /// has no place on a logarithmic axis is at the end of the axis.
    fn draw_intervals(&self, x: &Extent, y: &Extent, plots: &mut Vec<Plot>) {
        let ends = |point: &Point| match (point.low, point.high) {
            (None, None) => None,
            (low, high) => Some((low.map_or(y.low, |low| y.drawn(low)), high.map_or(y.high, |high| y.drawn(high)))),
        };
        if self.kind == Kind::Points {
            let pale = mixed_with_white(self.color, 0.6);
            let stroke = if self.is_crowded() { 1.0 } else { 2.0 };
            for (point, (low, high)) in self.points.iter().filter_map(|point| Some((point, ends(point)?))) {
                let at = x.drawn(point.x);
                plots.push(LinePlot::new().with_data([(at, low), (at, high)]).with_color(&*pale).with_stroke_width(stroke).into());
            }
        } else if self.points.iter().any(|point| ends(point).is_some()) {
            let edge = |point: &Point| ends(point).unwrap_or((y.drawn(point.y), y.drawn(point.y)));
            let (low, high): (Vec<f64>, Vec<f64>) = self.points.iter().map(edge).unzip();
            let at: Vec<f64> = self.points.iter().map(|point| x.drawn(point.x)).collect();
            plots.push(kuva::plot::BandPlot::new(at, low, high).with_color(self.color).with_opacity(0.2).into());
        }
    }

    fn legend(&self) -> LegendEntry {
        let shape = if self.kind == Kind::Points { LegendShape::Marker(MarkerShape::Circle) } else { LegendShape::Line };
        let dasharray = self.style().dasharray();
        LegendEntry { label: self.name.clone(), color: self.color.to_owned(), shape, dasharray }
    }
}

fn layout(chart: &Chart, series: &[Placed], x: Extent, y: Extent, left_out: usize) -> Layout {
    let theme = Theme {
        axis_color: "#444".into(),
        tick_color: "#444".into(),
        text_color: "#222".into(),
        grid_color: "#e6e6e6".into(),
        ..Theme::light()
    };
    let mut layout = Layout::new((x.low, x.high), (y.low, y.high))
        .with_theme(theme)
        .with_width(WIDTH)
        .with_height((130.0 + LEGEND_LINE * legend_lines(series)).clamp(HEIGHT, 8.0 * HEIGHT))
        .with_font_family(format!("{}, Verdana, Helvetica, Arial, sans-serif", super::raster::FONT))
        .with_title_size(17)
        .with_label_size(14)
        .with_tick_size(12)
        .with_body_size(12)
        .with_x_label_overlap(AxisLabelOverlap::Thin)
        .with_x_axis_min(x.low)
        .with_x_axis_max(x.high)
        .with_y_axis_min(y.low)
        .with_y_axis_max(y.high)
        .with_x_tick_format(TickFormat::Custom(Arc::new(move |value| x.tick(value))))
        .with_y_tick_format(TickFormat::Custom(Arc::new(move |value| y.tick(value))))
        .with_legend_entries(series.iter().filter(|series| !series.name.is_empty()).map(Placed::legend).collect())
        .with_legend_position(LegendPosition::OutsideRightTop)
        .with_legend_wrap(LEGEND_WRAP)
        .with_legend_box(false);
    layout.log_x = chart.x.scale == Scale::Log;
    layout.log_y = chart.y.scale == Scale::Log;
    // Titles are centred above the axes, and have the room that the legend leaves; the divisors are the mean widths of a letter.
    let room = WIDTH - layout.legend_width.min(250.0);
    if !chart.title.is_empty() {
        layout = layout.with_title(label(&chart.title)).with_title_wrap((room / 10.0) as usize);
    }
    if !chart.x.label.is_empty() {
        layout = layout.with_x_label(label(&chart.x.label));
    }
    if !chart.y.label.is_empty() {
        layout = layout.with_y_label(label(&chart.y.label));
    }
    let mut caption = chart.caption.clone().unwrap_or_default();
    if left_out > 0 {
        let points = if left_out == 1 { "1 point" } else { &format!("{left_out} points") };
        let gap = if caption.is_empty() { "" } else { " " };
        caption += &format!("{gap}{points} cannot be shown on these axes.");
    }
    if !caption.is_empty() {
        layout = layout.with_subtitle(label(&caption)).with_subtitle_size(12).with_subtitle_wrap((room / 7.0) as usize);
    }
    layout
}

/// About how many lines the legend has; a wrapped line is rarely full.
fn legend_lines(series: &[Placed]) -> f64 {
    let lines = |series: &Placed| match series.name.chars().count() {
        0..=LEGEND_WRAP => 1,
        length => 1 + length / (LEGEND_WRAP - 8),
    };
    series.iter().map(lines).sum::<usize>() as f64
}

/// A text for the drawing library: harmless, not longer than a chart can bear, and with dollar signs that do not begin a
/// formula.
fn label(text: &str) -> String {
    const MOST: usize = 300;
    let text = plain(text);
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", &text[..cut]).replace('$', "\\$"),
        None => text.replace('$', "\\$"),
    }
}

/// The colour with this share of white.
fn mixed_with_white(color: &str, white: f64) -> String {
    let channel = |at: usize| {
        let value = color.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
        (f64::from(value) * (1.0 - white) + 255.0 * white).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(1), channel(3), channel(5))
}

/// The drawing library numbers its clip paths through the life of the process. Named after the content instead, a chart is
/// the same bytes each time, and two charts on one page do not clip each other.
fn with_own_ids(svg: &str) -> String {
    const MARK: &str = "kuva-clip-";
    let mut parts = svg.split(MARK);
    let mut pieces = vec![parts.next().unwrap_or_default()];
    let mut numbers: Vec<&str> = Vec::new();
    let mut order: Vec<usize> = Vec::new();
    for part in parts {
        let (number, rest) = part.split_at(part.bytes().take_while(u8::is_ascii_digit).count());
        let place = numbers.iter().position(|known| *known == number).unwrap_or_else(|| {
            numbers.push(number);
            numbers.len() - 1
        });
        order.push(place);
        pieces.push(rest);
    }
    let mut hasher = DefaultHasher::new();
    pieces.hash(&mut hasher);
    let content = hasher.finish();
    let mut own = String::with_capacity(svg.len() + 16 * order.len());
    own.push_str(pieces[0]);
    for (place, rest) in order.iter().zip(&pieces[1..]) {
        own.push_str(&format!("clip-{content:016x}-{place}"));
        own.push_str(rest);
    }
    own
}
