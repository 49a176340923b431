//! Scores as dots with intervals: a line for each propensity model, a colour for each model.
//!
//! The axis ends at 150 %; larger values are drawn at the edge with their number. No score can exceed 100 %.

use crate::audit::{Standing, Verdict};
use crate::report::plot::{Home, Pen, Svg, cut, short, ticks};

const WIDTH: f64 = 460.0;
const LEFT: f64 = 12.0;
const RIGHT: f64 = 440.0;
/// The largest score that has a place of its own.
const MOST: f64 = 1.5;

/// The drawing.
pub(super) fn svg(verdict: &Verdict, title: &str, home: Home) -> String {
    let models: Vec<&str> =
        verdict.standings.first().map_or(Vec::new(), |s| s.scores.iter().map(|score| score.model.as_str()).collect());
    let each = 13.0;
    let row_height = 24.0 + each * models.len() as f64;
    let legend = 20.0 * models.len() as f64;
    let top = 14.0 + legend;
    let bottom = top + row_height * verdict.standings.len() as f64;
    let scores = || verdict.standings.iter().flat_map(|standing| &standing.scores);
    let highest = scores().filter_map(|score| score.high.or(score.value)).fold(0.05, f64::max).min(MOST);
    let across = |value: f64| LEFT + (RIGHT - LEFT) * (value / highest).clamp(0.0, 1.0);
    let mut svg = Svg::new(WIDTH, bottom + 44.0, title, home);
    for (place, model) in models.iter().enumerate() {
        let y = 14.0 + 20.0 * place as f64;
        Pen::new(place).dots(&mut svg, "", &[(LEFT + 5.0, y - 4.0)]);
        svg.text((LEFT + 16.0, y), "start", "", &cut(model, 50));
    }
    for tick in ticks(0.0, highest, 6.0) {
        svg.path("g", &format!("M{} {}V{}", short(across(tick)), short(top), short(bottom)));
        svg.text((across(tick), bottom + 16.0), "middle", "m", &format!("{} %", short(100.0 * tick)));
    }
    svg.path("x", &format!("M{LEFT} {}H{RIGHT}", short(bottom)));
    svg.text(((LEFT + RIGHT) / 2.0, bottom + 36.0), "middle", "", &format!("{}@{}", verdict.metric, verdict.k));
    if highest > 1.0 {
        svg.path("k", &format!("M{} {}V{}", short(across(1.0)), short(top), short(bottom)));
    }
    // What complete labels say stands behind all rows.
    for score in verdict.standings.iter().filter(|standing| standing.is_truth).flat_map(|standing| &standing.scores) {
        let place = models.iter().position(|model| *model == score.model).unwrap_or(0);
        if let Some(value) = score.value.filter(|value| *value <= highest) {
            let at = short(across(value));
            Pen::new(place).bars(&mut svg, "", &format!("M{at} {}V{}", short(top), short(bottom)));
        }
    }
    for (row, standing) in verdict.standings.iter().enumerate() {
        draw(&mut svg, standing, &models, top + row_height * row as f64, (highest, &across));
    }
    svg.finish()
}

fn draw(svg: &mut Svg, standing: &Standing, models: &[&str], top: f64, (highest, across): (f64, &dyn Fn(f64) -> f64)) {
    svg.text((LEFT, top + 15.0), "start", if standing.is_truth { "h" } else { "m" }, &cut(&standing.name, 60));
    for score in &standing.scores {
        let place = models.iter().position(|model| *model == score.model).unwrap_or(0);
        let y = top + 27.0 + 13.0 * place as f64;
        let Some(value) = score.value else { continue };
        if let (Some(low), Some(high)) = (score.low, score.high) {
            Pen::new(place).bars(svg, "", &format!("M{} {}H{}", short(across(low)), short(y), short(across(high))));
        }
        Pen::new(place).dots(svg, "", &[(across(value), y)]);
        if value > highest {
            // Beside the interval, which would cross it out.
            let end = score.low.map_or(RIGHT, across).min(RIGHT) - 10.0;
            svg.text((end, y + 4.0), "end", "", &format!("{:.0} % ▸", 100.0 * value));
        }
    }
}
