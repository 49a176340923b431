//! Charts as pixels.

use super::{Chart, svg};
use crate::error::{Error, Result};
use resvg::{tiny_skia, usvg};
use std::sync::{Arc, OnceLock};

/// The family of the bundled font.
const FONT: &str = "DejaVu Sans";

/// The chart as the bytes of a PNG file, `scale` pixels per unit of the drawing (1 gives 800 by
/// 500 pixels, more in height where the legend needs it).
///
/// Texts are drawn in DejaVu Sans, which has Latin, Greek, Cyrillic, Arabic and mathematical characters; others, such as
/// Chinese ones, come out as boxes (the SVG file has no such limit).
///
/// ```
/// use unmissed::report::plot::{Chart, Series, png};
/// let bytes = png(&Chart::new("One dot").series(Series::points("dot", [(1.0, 1.0)])), 1.0)?;
/// assert!(bytes.starts_with(b"\x89PNG"));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn png(chart: &Chart, scale: f32) -> Result<Vec<u8>> {
    if !(0.1..=16.0).contains(&scale) {
        return Err(Error::value("the scale of a PNG file is out of range")
            .expected("between 0.1 and 16 pixels per unit")
            .found(scale.to_string()));
    }
    png_of_svg(&svg(chart)?, &chart.title, scale)
}

/// A drawing as the bytes of a PNG file; the title is for the message when that fails.
pub(in crate::report) fn png_of_svg(drawing: &str, title: &str, scale: f32) -> Result<Vec<u8>> {
    let failed = |cause: &dyn std::fmt::Display| Error::value(format!("cannot draw the chart '{title}': {cause}"));
    let options = usvg::Options { font_family: FONT.to_owned(), fontdb: fonts(), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(drawing, &options).map_err(|cause| failed(&cause))?;
    let pixels = |length: f32| (length * scale).ceil() as u32;
    let size = tree.size();
    let mut pixmap = tiny_skia::Pixmap::new(pixels(size.width()), pixels(size.height())).ok_or_else(|| failed(&"no size"))?;
    pixmap.fill(tiny_skia::Color::WHITE);
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|cause| failed(&cause))
}

/// The fonts to draw with: only our own, so that a chart does not depend on the machine.
fn fonts() -> Arc<usvg::fontdb::Database> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(dejavu::sans::regular())));
        fonts.set_sans_serif_family(FONT);
        Arc::new(fonts)
    };
    Arc::clone(FONTS.get_or_init(load))
}
