//! A chart as a separate drawing: title and caption above the axes, the legend beside them.

use super::frame::{Frame, Placed, PlacedSeries};
use super::pen::Pen;
use super::svg::{Home, Svg, short};
use super::words::{bounded, width, wrapped};
use super::{Chart, Mark};
use crate::error::Result;

const WIDTH: f64 = 800.0;
/// The chart is higher where the legend needs it, up to the most.
const HEIGHT: f64 = 500.0;
const MOST_HEIGHT: f64 = 4000.0;
/// Below the axes: ticks and label.
const FOOT: f64 = 54.0;
const EDGE: f64 = 16.0;

const TITLE_SIZE: f64 = 17.0;
const TITLE_LINE: f64 = 22.0;
const TEXT_SIZE: f64 = 12.0;
const TEXT_LINE: f64 = 17.0;
/// What a name may be wide in the legend before it is broken, and the room of the swatch before it.
const LEGEND_TEXT: f64 = 230.0;
const SWATCH: f64 = 32.0;

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
    let placed = Placed::new(chart)?;
    let legend = Legend::new(&placed.series);
    let title = wrapped(&bounded(&chart.title), TITLE_SIZE, WIDTH - 2.0 * EDGE);
    let caption = wrapped(&bounded(&placed.caption()), TEXT_SIZE, WIDTH - 2.0 * EDGE);
    let head = 12.0 + TITLE_LINE * title.len() as f64 + TEXT_LINE * caption.len() as f64;
    let top = head + 16.0;
    let height = (top + FOOT + legend.height()).clamp(HEIGHT, MOST_HEIGHT).max(top + FOOT + 100.0);

    let mut svg = Svg::new(WIDTH, height, &bounded(&chart.title), Home::File);
    let mut y = 12.0;
    for (lines, class, step) in [(&title, "t", TITLE_LINE), (&caption, "m", TEXT_LINE)] {
        for words in lines {
            y += step;
            svg.text((EDGE, y - 4.0), "start", class, words);
        }
    }
    let bottom = height - FOOT;
    let left = EDGE / 2.0 + placed.left_margin(bottom - top);
    let right = WIDTH - EDGE - legend.width();
    placed.draw(&mut svg, Frame { left, right, top, bottom });
    legend.draw(&mut svg, (right + 20.0, top));
    Ok(svg.finish())
}

/// The names of the series that have one, in lines.
struct Legend {
    entries: Vec<(usize, Mark, Vec<String>)>,
}

impl Legend {
    fn new(series: &[PlacedSeries<'_>]) -> Legend {
        let entry = |(place, series): (usize, &PlacedSeries<'_>)| {
            let lines = wrapped(&bounded(series.name), TEXT_SIZE, LEGEND_TEXT);
            (!lines.is_empty()).then_some((place, series.mark, lines))
        };
        Legend { entries: series.iter().enumerate().filter_map(entry).collect() }
    }

    /// The room beside the axes; nothing without names.
    fn width(&self) -> f64 {
        let lines = self.entries.iter().flat_map(|(_, _, lines)| lines);
        let widest = lines.map(|line| width(line, TEXT_SIZE)).fold(0.0, f64::max);
        if self.entries.is_empty() { 0.0 } else { 20.0 + SWATCH + widest }
    }

    fn height(&self) -> f64 {
        self.entries.iter().map(|(_, _, lines)| 5.0 + TEXT_LINE * lines.len() as f64).sum()
    }

    fn draw(&self, svg: &mut Svg, (x, top): (f64, f64)) {
        let mut y = top;
        for (place, mark, lines) in &self.entries {
            let (pen, middle) = (Pen::new(*place), y + 9.0);
            match mark {
                Mark::Points => pen.dots(svg, "", &[(x + 12.0, middle)]),
                Mark::Line | Mark::Steps => pen.line(svg, &format!("M{} {}h24", short(x), short(middle))),
            }
            for line in lines {
                y += TEXT_LINE;
                svg.text((x + SWATCH, y - 4.0), "start", "", line);
            }
            y += 5.0;
        }
    }
}
