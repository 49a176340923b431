//! A [`Chart`] for the page: the same content as `plot::svg`, in classes that follow the page's theme. The legend is the page's.

use super::svg::{COLORS, Svg, log_ticks, short, ticks};
use crate::error::{Error, Result};
use crate::report::plot::axis::{Extent, has_place};
use crate::report::plot::{Axis, Chart, Kind, Scale, Series};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 320.0;
/// Left, right, top and bottom of the axes.
const BOX: [f64; 4] = [52.0, 450.0, 10.0, 272.0];

/// The class of a series by its place.
pub(super) fn class(place: usize) -> String {
    let dashed = if (place / COLORS) % 2 == 1 { " d" } else { "" };
    format!("{}{dashed}", place % COLORS)
}

/// The chart as SVG for a page.
pub(super) fn svg(chart: &Chart) -> Result<String> {
    let shown = |series: &Series| -> Vec<usize> {
        let fits =
            |place: &usize| has_place(chart.x.scale, series.points[*place].0) && has_place(chart.y.scale, series.points[*place].1);
        (0..series.points.len()).filter(fits).collect()
    };
    let points = || chart.series.iter().flat_map(|series| shown(series).into_iter().map(|place| series.points[place]));
    if points().next().is_none() {
        return Err(Error::value(format!("the chart '{}' has no points to draw", chart.title)));
    }
    let ends = || chart.series.iter().flat_map(|series| series.intervals.iter().flatten().flat_map(|(low, high)| [*low, *high]));
    let x = Extent::new(&chart.x, points().map(|point| point.0))?;
    let y = Extent::new(&chart.y, points().map(|point| point.1).chain(ends()))?;
    let [left, right, top, bottom] = BOX;
    let across = |value: f64| left + (right - left) * x.place(x.drawn(value));
    let up = |value: f64| bottom - (bottom - top) * y.place(y.drawn(value));

    let mut svg = Svg::new(WIDTH, HEIGHT, &chart.title, false);
    for (value, text) in marks(&chart.x, &x) {
        let at = across(value);
        svg.path("g", &format!("M{} {top}V{bottom}", short(at)));
        svg.text((at, bottom + 18.0), "middle", "m", &text);
    }
    for (value, text) in marks(&chart.y, &y) {
        let at = up(value);
        svg.path("g", &format!("M{left} {}H{right}", short(at)));
        svg.text((left - 6.0, at + 4.0), "end", "m", &text);
    }
    svg.path("x", &format!("M{left} {top}V{bottom}H{right}"));
    svg.text(((left + right) / 2.0, HEIGHT - 8.0), "middle", "", &chart.x.label);
    svg.upwards((12.0, (top + bottom) / 2.0), &chart.y.label);
    // Intervals at the back, then dots, then curves.
    for (place, series) in chart.series.iter().enumerate() {
        let bars = series.intervals.iter().flatten().zip(&series.points).filter(|((low, high), _)| low < high);
        let bar = |((low, high), (at, _)): (&(f64, f64), &(f64, f64))| {
            format!("M{} {}V{}", short(across(*at)), short(up(*low)), short(up(*high)))
        };
        svg.path(&format!("l{} w", class(place)), &bars.map(bar).collect::<String>());
    }
    for dots in [true, false] {
        for (place, series) in chart.series.iter().enumerate().filter(|(_, series)| (series.kind == Kind::Points) == dots) {
            let at: Vec<(f64, f64)> =
                shown(series).into_iter().map(|i| (across(series.points[i].0), up(series.points[i].1))).collect();
            if dots || at.len() == 1 {
                let dot = |(x, y): &(f64, f64)| format!("M{} {}h0", short(*x), short(*y));
                let small = if at.len() > 100 { " tiny" } else { "" };
                svg.path(&format!("p{}{small}", class(place)), &at.iter().map(dot).collect::<String>());
            } else {
                svg.path(&format!("l{}", class(place)), &line(&at));
            }
        }
    }
    Ok(svg.finish())
}

/// A line through points; those that would fall onto the one before are left out.
fn line(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let mut last: Option<(f64, f64)> = None;
    for (index, point) in points.iter().enumerate() {
        let near = last.is_some_and(|last| (last.0 - point.0).hypot(last.1 - point.1) < 0.4);
        if near && index + 1 < points.len() {
            continue;
        }
        path += &format!("{}{} {}", if last.is_none() { "M" } else { "L" }, short(point.0), short(point.1));
        last = Some(*point);
    }
    path
}

/// Where an axis has ticks, and what is written there.
fn marks(axis: &Axis, extent: &Extent) -> Vec<(f64, String)> {
    let unit = extent.unit();
    let (low, high) = (extent.low * unit, extent.high * unit);
    let values = match axis.scale {
        Scale::Linear => ticks(low, high, 5.0),
        Scale::Log => log_ticks(low, high),
    };
    values.into_iter().map(|value| (value, extent.tick(value / unit))).collect()
}
