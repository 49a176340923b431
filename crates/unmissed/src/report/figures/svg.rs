//! A small writer of SVG whose colours are classes: a page styles them by its theme, a file brings its own style.

use crate::report::text::plain;
use std::fmt::Write;

/// Number of colours of series; further ones repeat them dashed.
pub(super) const COLORS: usize = 7;

/// The style of drawings in files: the light theme of the page, with the font that comes along.
const FILE_STYLE: &str = "svg{background:#fff}text{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;font-size:12px;fill:#222;paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}\
.m{fill:#555}.g{stroke:#e3e3e3;fill:none}.x{stroke:#444;fill:none}.k{stroke:#b00020;stroke-dasharray:4 3;fill:none}\
.l0,.p0{stroke:#0072b2}.l1,.p1{stroke:#d55e00}.l2,.p2{stroke:#009e73}.l3,.p3{stroke:#cc79a7}.l4,.p4{stroke:#e69f00}\
.l5,.p5{stroke:#56b4e9}.l6,.p6{stroke:#000}.f0{fill:#0072b2}.f1{fill:#d55e00}\
.l0,.l1,.l2,.l3,.l4,.l5,.l6{fill:none;stroke-width:2}.p0,.p1,.p2,.p3,.p4,.p5,.p6{fill:none;stroke-width:6;stroke-linecap:round}\
.w{stroke-width:1.5;opacity:.55}.d{stroke-dasharray:6 4}.q{fill:#fff;stroke:#222;stroke-width:1.5}.h{fill:#222}";

/// A drawing in the making.
pub(super) struct Svg {
    text: String,
}

impl Svg {
    /// An empty drawing. `is_file` brings its own style along; on a page the title is that of the figure around it.
    pub(super) fn new(width: f64, height: f64, title: &str, is_file: bool) -> Svg {
        let mut svg = Svg { text: String::new() };
        let size = if is_file { format!(r#" width="{width}" height="{height}""#) } else { String::new() };
        svg.put(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"{size} role="img" aria-label="{}">"#,
            escape(title)
        ));
        if is_file {
            svg.put(format_args!(r#"<style>{FILE_STYLE}</style><rect width="{width}" height="{height}" fill="white"/>"#));
        }
        svg
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }

    /// A text; `anchor` is start, middle or end.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: &str, class: &str, text: &str) {
        self.put(format_args!(
            r#"<text x="{}" y="{}" text-anchor="{anchor}" class="{class}">{}</text>"#,
            short(x),
            short(y),
            escape(text)
        ));
    }

    /// A text that reads upwards.
    pub(super) fn upwards(&mut self, (x, y): (f64, f64), text: &str) {
        let (x, y) = (short(x), short(y));
        self.put(format_args!(r#"<text transform="translate({x} {y}) rotate(-90)" text-anchor="middle">{}</text>"#, escape(text)));
    }

    /// A path; nothing when it is empty.
    pub(super) fn path(&mut self, class: &str, path: &str) {
        if !path.is_empty() {
            self.put(format_args!(r#"<path class="{class}" d="{path}"/>"#));
        }
    }

    /// A rectangle with an opacity.
    pub(super) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str, opacity: f64) {
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
    pub(super) fn circle(&mut self, (x, y): (f64, f64), radius: f64, class: &str) {
        self.put(format_args!(r#"<circle cx="{}" cy="{}" r="{}" class="{class}"/>"#, short(x), short(y), short(radius)));
    }

    /// The document.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>");
        self.text
    }
}

/// A coordinate: a hundredth of a pixel is more than anybody sees.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.to_owned() }
}

/// A text that XML and HTML take for what it is.
pub(super) fn escape(text: &str) -> String {
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

/// A name that fits into a drawing.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Round values that divide an axis into about `wanted` parts.
pub(super) fn ticks(low: f64, high: f64, wanted: f64) -> Vec<f64> {
    let raw = (high - low) / wanted;
    let unit = 10f64.powf(raw.log10().floor());
    let far = |step: f64| (step / raw).ln().abs();
    let steps = [1.0, 2.0, 5.0, 10.0].map(|m| m * unit);
    let step = steps.into_iter().min_by(|a, b| far(*a).total_cmp(&far(*b))).unwrap_or(unit);
    let first = (low / step - 1e-9).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|tick| *tick <= high + 1e-9 * step).take(50).collect()
}

/// Powers of ten between the ends; with twos and fives when those would be few.
pub(super) fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = high.log10() - low.log10();
    let steps: &[f64] = if decades < 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = (decades / 6.0).ceil().max(1.0) as i32;
    let first = low.log10().floor() as i32;
    let last = high.log10().ceil() as i32;
    let all = (first..=last)
        .filter(|power| power.rem_euclid(every) == 0)
        .flat_map(|power| steps.iter().map(move |s| s * 10f64.powi(power)));
    all.filter(|tick| *tick >= low * 0.999 && *tick <= high * 1.001).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.03, 2.0), [0.0, 0.5, 1.0]);
        assert_eq!(ticks(-0.1, 0.55, 3.0), [0.0, 0.2, 0.4]);
        assert_eq!(ticks(0.0, 10.0, 5.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(log_ticks(1.0, 40.0), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(log_ticks(1.0, 20_000.0), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
    }

    #[test]
    fn hostile_texts_stay_texts() {
        let mut svg = Svg::new(10.0, 10.0, "a\"b", false);
        svg.text((0.0, 0.0), "start", "t", "<script>alert('1')</script>\u{202e}");
        let text = svg.finish();
        assert!(!text.contains("<script>") && text.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;</text>"), "{text}");
        assert!(text.contains(r#"aria-label="a&quot;b""#), "{text}");
    }
}
