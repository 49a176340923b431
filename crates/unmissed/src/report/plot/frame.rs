//! The contents of a chart and its axes: grid, ticks, intervals, dots and lines, for pages and files.

use super::axis::{Extent, has_place};
use super::pen::Pen;
use super::svg::{Svg, short};
use super::words::{bounded, width};
use super::{Chart, Mark, Series};
use crate::error::{Error, Result};

/// Points of a line that are nearer to each other than this are one.
const NEAR: f64 = 0.4;
/// A series with more dots than this has small ones.
const CROWDED: usize = 100;
/// A line with at most this many points has its intervals as bars; around more they are a band.
const MOST_BARS: usize = 40;
/// The size of what is written at ticks.
const TICK_SIZE: f64 = 12.0;

/// The left, right, upper and lower end of the axes in a drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// A chart whose points and axes are settled.
pub(super) struct Placed<'a> {
    chart: &'a Chart,
    pub(super) series: Vec<PlacedSeries<'a>>,
    x: Extent,
    y: Extent,
}

/// A series without the points that have no place on the axes.
pub(super) struct PlacedSeries<'a> {
    pub(super) name: &'a str,
    pub(super) mark: Mark,
    points: Vec<Point>,
    left_out: usize,
}

/// A point with the ends of its interval.
struct Point {
    x: f64,
    y: f64,
    interval: Option<(f64, f64)>,
}

impl<'a> Placed<'a> {
    /// Fails when there is nothing to draw, or when values are too far apart for an axis.
    pub(super) fn new(chart: &'a Chart) -> Result<Placed<'a>> {
        let series: Vec<PlacedSeries<'_>> = chart.series.iter().map(|series| PlacedSeries::new(chart, series)).collect();
        let points = || series.iter().flat_map(|series| &series.points);
        if points().next().is_none() {
            return Err(Error::value(format!("the chart '{}' has no points to draw", chart.title))
                .expected("at least one point that lies on both axes"));
        }
        let x = Extent::new(&chart.x, points().map(|point| point.x))?;
        let ends = points().filter_map(|point| point.interval).flat_map(|(low, high)| [low, high]);
        let y = Extent::new(&chart.y, points().map(|point| point.y).chain(ends))?;
        Ok(Placed { chart, series, x, y })
    }

    /// The caption, with how many points cannot be shown.
    pub(super) fn caption(&self) -> String {
        let caption = self.chart.caption.clone().unwrap_or_default();
        let left_out: usize = self.series.iter().map(|series| series.left_out).sum();
        let points = match left_out {
            0 => return caption,
            1 => "1 point".to_owned(),
            more => format!("{more} points"),
        };
        let gap = if caption.is_empty() { "" } else { " " };
        format!("{caption}{gap}{points} cannot be shown on these axes.")
    }

    /// The room that ticks and label of the vertical axis take at its left.
    pub(super) fn left_margin(&self, height: f64) -> f64 {
        let widest = self.y.ticks(wanted_up(height)).iter().map(|(_, words)| width(words, TICK_SIZE)).fold(0.0, f64::max);
        widest + if self.chart.y.label.is_empty() { 16.0 } else { 38.0 }
    }

    /// Draws axes and series. The label of the vertical axis stands at the left edge of the drawing, that of the horizontal one 40 below
    /// the frame.
    pub(super) fn draw(&self, svg: &mut Svg, frame: Frame) {
        self.axes(svg, frame);
        let at = |x: f64, y: f64| {
            let across = frame.left + (frame.right - frame.left) * self.x.place(x);
            (across, frame.bottom - (frame.bottom - frame.top) * self.y.place(y))
        };
        // Intervals at the back, then dots, then lines.
        for (place, series) in self.series.iter().enumerate() {
            series.intervals(svg, place, &at);
        }
        for dots in [true, false] {
            for (place, series) in self.series.iter().enumerate().filter(|(_, series)| (series.mark == Mark::Points) == dots) {
                series.draw(svg, place, &at);
            }
        }
    }

    fn axes(&self, svg: &mut Svg, Frame { left, right, top, bottom }: Frame) {
        let across = |value: f64| left + (right - left) * self.x.place(value);
        let up = |value: f64| bottom - (bottom - top) * self.y.place(value);
        let (mut grid, mut marks) = (String::new(), String::new());
        let x_ticks = self.x.ticks(wanted_across(right - left));
        let y_ticks = self.y.ticks(wanted_up(bottom - top));
        for (value, _) in &x_ticks {
            let at = short(across(*value));
            grid += &format!("M{at} {}V{}", short(top), short(bottom));
            marks += &format!("M{at} {}v5", short(bottom));
        }
        for (value, _) in &y_ticks {
            let at = short(up(*value));
            grid += &format!("M{} {at}H{}", short(left), short(right));
            marks += &format!("M{} {at}h-5", short(left));
        }
        let minor_x = self.x.minor_ticks().into_iter().map(|value| format!("M{} {}v3", short(across(value)), short(bottom)));
        let minor_y = self.y.minor_ticks().into_iter().map(|value| format!("M{} {}h-3", short(left), short(up(value))));
        marks.extend(minor_x.chain(minor_y));
        svg.path("g", &grid);
        svg.path("x", &format!("M{} {}V{}H{}{marks}", short(left), short(top), short(bottom), short(right)));
        // What is written at ticks must not run into its neighbour.
        let mut free = f64::NEG_INFINITY;
        for (value, words) in &x_ticks {
            let (at, half) = (across(*value), width(words, TICK_SIZE) / 2.0);
            if at - half > free {
                svg.text((at, bottom + 18.0), "middle", "m", words);
                free = at + half + 4.0;
            }
        }
        for (value, words) in &y_ticks {
            svg.text((left - 8.0, up(*value) + 4.0), "end", "m", words);
        }
        if !self.chart.x.label.is_empty() {
            svg.text(((left + right) / 2.0, bottom + 40.0), "middle", "", &bounded(&self.chart.x.label));
        }
        if !self.chart.y.label.is_empty() {
            svg.upwards((18.0, (top + bottom) / 2.0), &bounded(&self.chart.y.label));
        }
    }
}

/// How many ticks an axis of this length bears.
fn wanted_across(length: f64) -> f64 {
    (length / 75.0).clamp(3.0, 8.0)
}

fn wanted_up(length: f64) -> f64 {
    (length / 65.0).clamp(4.0, 8.0)
}

impl<'a> PlacedSeries<'a> {
    fn new(chart: &Chart, series: &'a Series) -> PlacedSeries<'a> {
        let has_y = |value: f64| has_place(chart.y.scale, value);
        let mut points = Vec::with_capacity(series.points.len());
        for (place, &(x, y)) in series.points.iter().enumerate() {
            if has_place(chart.x.scale, x) && has_y(y) {
                let ends = series.intervals.as_ref().and_then(|ends| ends.get(place)).copied();
                // An end without a place (zero on a logarithmic axis) is at the end of the axis, as long as the other has one.
                let interval = ends.filter(|(low, high)| (has_y(*low) || has_y(*high)) && !low.is_nan() && !high.is_nan());
                points.push(Point { x, y, interval });
            }
        }
        PlacedSeries { name: &series.name, mark: series.mark, left_out: series.points.len() - points.len(), points }
    }

    /// The class that makes dots and bars small where there are many.
    fn size(&self) -> &'static str {
        if self.points.len() > CROWDED { " tiny" } else { "" }
    }

    /// Bars through dots, which have no caps (those would hide the dots where there are many); a band around a line.
    fn intervals(&self, svg: &mut Svg, place: usize, at: &dyn Fn(f64, f64) -> (f64, f64)) {
        if self.mark == Mark::Points || self.points.len() <= MOST_BARS {
            let bars = self.points.iter().filter_map(|point| {
                let (low, high) = point.interval.filter(|(low, high)| low < high)?;
                let ((x, low), (_, high)) = (at(point.x, low), at(point.x, high));
                Some(format!("M{} {}V{}", short(x), short(low), short(high)))
            });
            Pen::new(place).bars(svg, self.size(), &bars.collect::<String>());
        } else if self.points.iter().any(|point| point.interval.is_some()) {
            let ends = |point: &Point| point.interval.unwrap_or((point.y, point.y));
            let upper = self.points.iter().map(|point| at(point.x, ends(point).1));
            let lower = self.points.iter().rev().map(|point| at(point.x, ends(point).0));
            let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
            Pen::new(place).band(svg, &format!("{}Z", line(&outline)));
        }
    }

    fn draw(&self, svg: &mut Svg, place: usize, at: &dyn Fn(f64, f64) -> (f64, f64)) {
        let points: Vec<(f64, f64)> = self.points.iter().map(|point| at(point.x, point.y)).collect();
        // A line through a single point would not be seen.
        if self.mark == Mark::Points || points.len() == 1 {
            Pen::new(place).dots(svg, self.size(), &thinned(&points));
        } else if self.mark == Mark::Steps {
            Pen::new(place).line(svg, &steps(&points));
        } else {
            Pen::new(place).line(svg, &line(&points));
        }
    }
}

/// Points without those that would fall onto the one before.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (place, point) in points.iter().enumerate() {
        let near = |last: &(f64, f64)| (last.0 - point.0).hypot(last.1 - point.1) < NEAR;
        if place + 1 == points.len() || !kept.last().is_some_and(near) {
            kept.push(*point);
        }
    }
    kept
}

fn line(points: &[(f64, f64)]) -> String {
    let draw = |(place, (x, y)): (usize, (f64, f64))| format!("{}{} {}", if place == 0 { "M" } else { "L" }, short(x), short(y));
    thinned(points).into_iter().enumerate().map(draw).collect()
}

/// A line that keeps its height up to the next point.
fn steps(points: &[(f64, f64)]) -> String {
    let draw = |(place, (x, y)): (usize, (f64, f64))| match place {
        0 => format!("M{} {}", short(x), short(y)),
        _ => format!("H{}V{}", short(x), short(y)),
    };
    thinned(points).into_iter().enumerate().map(draw).collect()
}
