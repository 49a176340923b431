//! Charts: curves and points on linear or logarithmic axes, as SVG or PNG.
//!
//! A [`Chart`] says what to show; [`svg`] draws it, [`png`] turns the drawing into pixels (with `resvg` and a font that
//! comes along, so that it looks the same on every machine), and [`write()`] picks one of the two by the name of the file.
//! Pages draw the same in classes that follow their theme. The colours can be told apart with any kind of colour vision, and
//! the legend stands beside the data. Points that an axis cannot show (zero on a logarithmic one, NaN anywhere) are left out,
//! and the chart says how many.

mod axis;
mod chart;
mod file;
mod frame;
mod pen;
mod raster;
mod svg;
mod words;

pub(super) use axis::ticks;
pub use chart::{Axis, Chart, Mark, Scale, Series};
pub use file::svg;
pub(super) use pen::Pen;
pub use raster::png;
pub(super) use raster::png_of_svg;
pub(super) use svg::{Home, Svg, short};
pub(super) use words::cut;

use crate::data::Output;
use crate::error::{Error, Result};
use frame::{Frame, Placed};
use std::path::Path;

/// Pixels per unit of the drawing in the PNG files that [`write()`] makes: 1600 by 1000 pixels, enough for print.
const FINE: f32 = 2.0;

/// Writes a chart to a file whose name ends in `.svg` or `.png`. The file appears whole or not at all.
///
/// ```
/// use unmissed::report::plot::{self, Chart, Series};
/// let chart = Chart::new("Growth").series(Series::line("squares", [(1.0, 1.0), (2.0, 4.0), (3.0, 9.0)]));
/// let folder = tempfile::tempdir()?;
/// plot::write(&chart, folder.path().join("growth.svg"))?;
/// assert!(std::fs::read_to_string(folder.path().join("growth.svg"))?.starts_with("<svg"));
/// let error = plot::write(&chart, "growth.pdf").unwrap_err();
/// assert_eq!(error.to_string(), "growth.pdf: cannot draw a chart in this format: expected a name that ends in .svg or .png");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(chart: &Chart, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let bytes = match Picture::of_name(path)? {
        Picture::Svg => svg(chart)?.into_bytes(),
        Picture::Png => png(chart, FINE)?,
    };
    let mut output = Output::create(path)?;
    output.put(&bytes)?;
    output.finish()
}

/// Whether [`write()`] can write a file of this name: to be asked before long work, not after it.
pub fn check_name(path: impl AsRef<Path>) -> Result<()> {
    Picture::of_name(path.as_ref()).map(drop)
}

/// A chart as a page has it: the drawing, and the caption and the legend (names with the classes of their swatches) to put around it.
pub(super) struct Inline {
    pub(super) svg: String,
    pub(super) caption: String,
    pub(super) legend: Vec<(String, String)>,
}

impl Inline {
    pub(super) fn new(chart: &Chart) -> Result<Inline> {
        const SIZE: (f64, f64) = (460.0, 320.0);
        let placed = Placed::new(chart)?;
        let mut svg = Svg::new(SIZE.0, SIZE.1, &chart.title, Home::Page);
        let (top, bottom) = (10.0, SIZE.1 - 48.0);
        placed.draw(&mut svg, Frame { left: 4.0 + placed.left_margin(bottom - top), right: SIZE.0 - 10.0, top, bottom });
        let named = chart.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
        let legend = named.map(|(place, series)| (series.name.clone(), Pen::new(place).swatch(series.mark))).collect();
        Ok(Inline { svg: svg.finish(), caption: placed.caption(), legend })
    }
}

enum Picture {
    Svg,
    Png,
}

impl Picture {
    fn of_name(path: &Path) -> Result<Picture> {
        match path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).as_deref() {
            Some("svg") => Ok(Picture::Svg),
            Some("png") => Ok(Picture::Png),
            _ => Err(Error::value("cannot draw a chart in this format").expected("a name that ends in .svg or .png").in_file(path)),
        }
    }
}

#[cfg(test)]
mod tests;
