//! What a chart shows, apart from how it is drawn.

/// A chart: series of points on two axes.
///
/// ```
/// use unmissed::report::plot::{Chart, Scale, Series};
/// let chart = Chart::new("How often labels occur")
///     .x("rank of the label", Scale::Log)
///     .y("rows with the label", Scale::Log)
///     .series(Series::line("train", [(1.0, 900.0), (2.0, 410.0), (3.0, 0.0)]))
///     .caption("A toy data set.");
/// let svg = unmissed::report::plot::svg(&chart)?;
/// assert!(svg.contains("rank of the label") && svg.contains("1 point cannot be shown"));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The line above the chart.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn; later series lie on top of earlier ones of their kind, and curves on top of points.
    pub series: Vec<Series>,
    /// A sentence below the title, in small print.
    pub caption: Option<String>,
}

/// An axis of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What is measured along it.
    pub label: String,
    /// How.
    pub scale: Scale,
    /// Values that the axis shows at least, whatever the data are.
    pub covers: Option<(f64, f64)>,
}

/// How an axis maps values to places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances for equal differences.
    #[default]
    Linear,
    /// Equal distances for equal ratios; only positive values have a place.
    Log,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line from point to point; intervals are a band around it, or bars where it has few points.
    Line,
    /// Dots; intervals are vertical bars through them.
    Points,
    /// A line that keeps its height up to the next point; intervals as with a line.
    Steps,
}

/// Points that belong together. The colour follows from the place in the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name in the legend; without one it is not in the legend.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// The points, in the order in which a line goes through them.
    pub points: Vec<(f64, f64)>,
    /// The lower and upper end of an interval in y for each point, NaN where there is none.
    pub intervals: Option<Vec<(f64, f64)>>,
}

impl Chart {
    /// A chart without series, on linear axes without labels.
    pub fn new(title: impl Into<String>) -> Chart {
        Chart { title: title.into(), x: Axis::default(), y: Axis::default(), series: Vec::new(), caption: None }
    }

    /// Sets what the horizontal axis measures.
    #[must_use]
    pub fn x(mut self, label: impl Into<String>, scale: Scale) -> Chart {
        self.x.label = label.into();
        self.x.scale = scale;
        self
    }

    /// Sets what the vertical axis measures.
    #[must_use]
    pub fn y(mut self, label: impl Into<String>, scale: Scale) -> Chart {
        self.y.label = label.into();
        self.y.scale = scale;
        self
    }

    /// Makes the horizontal axis show these values at least.
    #[must_use]
    pub fn x_covers(mut self, low: f64, high: f64) -> Chart {
        self.x.covers = Some((low, high));
        self
    }

    /// Makes the vertical axis show these values at least.
    #[must_use]
    pub fn y_covers(mut self, low: f64, high: f64) -> Chart {
        self.y.covers = Some((low, high));
        self
    }

    /// Adds a series.
    #[must_use]
    pub fn series(mut self, series: Series) -> Chart {
        self.series.push(series);
        self
    }

    /// Sets the small print below the title.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Chart {
        self.caption = Some(caption.into());
        self
    }
}

impl Series {
    fn new(name: impl Into<String>, mark: Mark, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series { name: name.into(), mark, points: points.into_iter().collect(), intervals: None }
    }

    /// A line from point to point.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series::new(name, Mark::Line, points)
    }

    /// Dots.
    pub fn points(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series::new(name, Mark::Points, points)
    }

    /// A line that keeps its height up to the next point.
    pub fn steps(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series::new(name, Mark::Steps, points)
    }

    /// Adds the interval of each point in y, as its lower and upper end.
    #[must_use]
    pub fn intervals(mut self, intervals: impl IntoIterator<Item = (f64, f64)>) -> Series {
        self.intervals = Some(intervals.into_iter().collect());
        self
    }
}
