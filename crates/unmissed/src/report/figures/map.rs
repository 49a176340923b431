//! The map of JPV's constants: which of two models is ahead where, and by how much.

use crate::audit::order_map::{MOST_A, MOST_B, OrderMap, presets};
use crate::report::plot::{Home, Svg, cut, short, ticks};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 372.0;
/// Left, right, top and bottom of the axes.
const BOX: [f64; 4] = [48.0, 450.0, 54.0, 326.0];
/// Shades from a bare lead to the largest.
const SHADES: f64 = 5.0;

/// The drawing.
pub(super) fn svg(map: &OrderMap, title: &str, home: Home) -> String {
    let [left, right, top, bottom] = BOX;
    let (columns, rows) = (map.a.len(), map.b.len());
    let (width, height) = ((right - left) / columns as f64, (bottom - top) / rows as f64);
    let largest = map.difference.iter().map(|d| d.abs()).fold(0.0, f64::max);
    let shade = |difference: f64| {
        let level = if largest > 0.0 { (difference.abs() / largest * SHADES).ceil().clamp(1.0, SHADES) } else { 1.0 };
        (difference < 0.0, level as u8)
    };
    let mut svg = Svg::new(WIDTH, HEIGHT, title, home);
    for (place, name) in [&map.first, &map.second].into_iter().enumerate() {
        let y = 14.0 + 20.0 * place as f64;
        svg.rect((left, y - 10.0), (12.0, 12.0), &format!("f{place}"), 0.75);
        svg.text((left + 18.0, y), "start", "", &format!("{} is ahead", cut(name, 44)));
    }
    for row in 0..rows {
        let cells = &map.difference[row * columns..(row + 1) * columns];
        let y = bottom - height * (row + 1) as f64;
        let mut start = 0;
        for run in cells.chunk_by(|a, b| shade(*a) == shade(*b)) {
            let (second, level) = shade(run[0]);
            let class = if second { "f1" } else { "f0" };
            let size = (width * run.len() as f64, height);
            svg.rect((left + width * start as f64, y), size, class, 0.15 + 0.6 * f64::from(level) / SHADES);
            start += run.len();
        }
    }
    // Cells are centred on their values.
    let across = |a: f64| left + width * (0.5 + a / MOST_A * (columns - 1) as f64);
    let up = |b: f64| bottom - height * (0.5 + b / MOST_B * (rows - 1) as f64);
    for a in ticks(0.0, MOST_A, 4.0) {
        svg.text((across(a), bottom + 17.0), "middle", "m", &short(a));
    }
    for b in ticks(0.0, MOST_B, 5.0) {
        svg.text((left - 7.0, up(b) + 4.0), "end", "m", &short(b));
    }
    svg.path("x", &format!("M{left} {top}V{bottom}H{right}"));
    svg.text(((left + right) / 2.0, HEIGHT - 10.0), "middle", "", "a");
    svg.upwards((14.0, (top + bottom) / 2.0), "b");
    for (name, a, b) in presets() {
        svg.circle((across(a), up(b)), 4.5, "q");
        svg.text((across(a) + 9.0, up(b) + 4.0), "start", "h", name);
    }
    svg.finish()
}
