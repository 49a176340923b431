//! A small writer of SVG whose colours are classes: a page styles them by its theme, a file brings its own style.
//!
//! Classes: `l0` to `l6` lines, `p0` to `p6` dots and `b0` to `b6` bands in the colours of series (`d` dashed, `w` thin and pale, `tiny`
//! small), `o` the hole of a ring, `f0`, `f1` filled areas, `g` grid, `x` axes, `k` a limit, `q` a mark, `m` muted text, `h` strong text, `t` a title.

use crate::report::text::plain;
use std::fmt::Write;

/// The style of drawings in files: the light theme of the page, with the bundled font.
pub(super) const FILE_STYLE: &str = include_str!("file.css");

/// Where a drawing will be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Home {
    /// In a page, which has style, title and legend.
    Page,
    /// In a file of its own.
    File,
}

/// Builds a drawing.
pub(in crate::report) struct Svg {
    text: String,
}

impl Svg {
    /// An empty drawing.
    pub(in crate::report) fn new(width: f64, height: f64, title: &str, home: Home) -> Svg {
        let mut svg = Svg { text: String::new() };
        let (width, height) = (short(width), short(height));
        let size = if home == Home::File { format!(r#" width="{width}" height="{height}""#) } else { String::new() };
        svg.put(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"{size} role="img" aria-label="{}">"#,
            escape(title)
        ));
        if home == Home::File {
            svg.put(format_args!(r#"<style>{FILE_STYLE}</style><rect width="{width}" height="{height}" fill="white"/>"#));
        }
        svg
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }

    /// A text; `anchor` is start, middle or end.
    pub(in crate::report) fn text(&mut self, (x, y): (f64, f64), anchor: &str, class: &str, text: &str) {
        self.put(format_args!(
            r#"<text x="{}" y="{}" text-anchor="{anchor}" class="{class}">{}</text>"#,
            short(x),
            short(y),
            escape(text)
        ));
    }

    /// A text that reads upwards.
    pub(in crate::report) fn upwards(&mut self, (x, y): (f64, f64), text: &str) {
        let (x, y) = (short(x), short(y));
        self.put(format_args!(r#"<text transform="translate({x} {y}) rotate(-90)" text-anchor="middle">{}</text>"#, escape(text)));
    }

    /// A path; nothing when it is empty.
    pub(in crate::report) fn path(&mut self, class: &str, path: &str) {
        if !path.is_empty() {
            self.put(format_args!(r#"<path class="{class}" d="{path}"/>"#));
        }
    }

    /// A rectangle with an opacity.
    pub(in crate::report) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str, opacity: f64) {
        self.put(format_args!(
            r#"<rect x="{}" y="{}" width="{}" height="{}" class="{class}" opacity="{}" shape-rendering="crispEdges"/>"#,
            short(x),
            short(y),
            short(width),
            short(height),
            short(opacity)
        ));
    }

    /// A circle.
    pub(in crate::report) fn circle(&mut self, (x, y): (f64, f64), radius: f64, class: &str) {
        self.put(format_args!(r#"<circle cx="{}" cy="{}" r="{}" class="{class}"/>"#, short(x), short(y), short(radius)));
    }

    /// The document.
    pub(in crate::report) fn finish(mut self) -> String {
        self.text.push_str("</svg>");
        self.text
    }
}

/// A coordinate: a hundredth of a pixel is more than anybody sees.
pub(in crate::report) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.to_owned() }
}

/// A text that XML and HTML take for what it is.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::pen::COLORS;
    use super::*;

    #[test]
    fn hostile_texts_stay_texts() {
        let mut svg = Svg::new(10.0, 10.0, "a\"b", Home::Page);
        svg.text((0.0, 0.0), "start", "t", "<script>alert('1')</script>\u{202e}");
        let text = svg.finish();
        assert!(!text.contains("<script>") && text.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;</text>"), "{text}");
        assert!(text.contains(r#"aria-label="a&quot;b""#), "{text}");
    }

    #[test]
    fn files_have_the_colours_of_the_page() {
        let page = include_str!("../page/page.css");
        for place in 0..COLORS {
            let color = page.split(&format!("--c{place}: ")).nth(1).unwrap().split(';').next().unwrap();
            assert!(
                FILE_STYLE.contains(&format!(".l{place},.p{place}{{stroke:{color}}}")),
                "series {place} is {color} on the page"
            );
            assert!(FILE_STYLE.contains(&format!(".b{place}{{fill:{color}}}")), "bands of series {place} are {color} on the page");
        }
    }
}
