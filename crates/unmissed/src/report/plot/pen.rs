//! [`Pen`]: how a series looks, by its place in the chart.
//!
//! There are seven colours. In the next seven series the same colours come back as dashed lines and as rings instead of dots.

use super::Mark;
use super::svg::{Svg, short};

/// Number of colours of series.
pub(super) const COLORS: usize = 7;

/// How a series looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) struct Pen {
    color: usize,
    is_repeated: bool,
}

impl Pen {
    /// The pen of a series by its place.
    pub(in crate::report) fn new(place: usize) -> Pen {
        Pen { color: place % COLORS, is_repeated: (place / COLORS) % 2 == 1 }
    }

    /// A line along this path.
    pub(super) fn line(self, svg: &mut Svg, path: &str) {
        svg.path(&format!("l{}{}", self.color, if self.is_repeated { " d" } else { "" }), path);
    }

    /// Thin, pale lines along this path: intervals. `size` is a class.
    pub(in crate::report) fn bars(self, svg: &mut Svg, size: &str, path: &str) {
        svg.path(&format!("l{} w{size}", self.color), path);
    }

    /// The area within this path, pale.
    pub(super) fn band(self, svg: &mut Svg, path: &str) {
        svg.path(&format!("b{}", self.color), path);
    }

    /// Dots at these points. `size` is a class.
    pub(in crate::report) fn dots(self, svg: &mut Svg, size: &str, points: &[(f64, f64)]) {
        let path: String = points.iter().map(|(x, y)| format!("M{} {}h0", short(*x), short(*y))).collect();
        svg.path(&format!("p{}{size}", self.color), &path);
        if self.is_repeated {
            svg.path(&format!("o{size}"), &path);
        }
    }

    /// The classes of the swatch in a page's legend.
    pub(super) fn swatch(self, mark: Mark) -> String {
        let shape = match (mark, self.is_repeated) {
            (Mark::Points, false) => " dot",
            (Mark::Points, true) => " ring",
            (Mark::Line | Mark::Steps, false) => "",
            (Mark::Line | Mark::Steps, true) => " dashed",
        };
        format!("c{}{shape}", self.color)
    }
}

#[cfg(test)]
mod tests {
    use super::super::svg::Home;
    use super::*;

    #[test]
    fn series_beyond_the_colours_differ_from_those_before() {
        let drawn = |place: usize, mark: Mark| {
            let mut svg = Svg::new(1.0, 1.0, "", Home::Page);
            match mark {
                Mark::Points => Pen::new(place).dots(&mut svg, "", &[(0.5, 0.5)]),
                _ => Pen::new(place).line(&mut svg, "M0 0L1 1"),
            }
            (svg.finish(), Pen::new(place).swatch(mark))
        };
        for mark in [Mark::Line, Mark::Points] {
            let all: Vec<_> = (0..2 * COLORS).map(|place| drawn(place, mark)).collect();
            for (place, one) in all.iter().enumerate() {
                assert!(all[..place].iter().all(|other| other.0 != one.0 && other.1 != one.1), "{mark:?} {place}");
            }
        }
        // A dashed line of no length is not there at all.
        assert!(!drawn(COLORS, Mark::Points).0.contains(" d\""));
    }
}
