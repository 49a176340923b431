//! The parts that pages are made of: tables and figures.

use crate::error::Result;
use crate::numbers::four_digits;
use crate::report::figures::Figure;
use crate::report::plot::{Chart, Inline};
use askama::Template;

/// A table. Texts are escaped by the template.
#[derive(Template, Default)]
#[template(path = "table.html")]
pub(super) struct HtmlTable {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) caption: String,
    pub(super) columns: Vec<HtmlColumn>,
    pub(super) rows: Vec<HtmlRow>,
    pub(super) sortable: bool,
}

/// A column; numbers are right-aligned.
pub(super) struct HtmlColumn {
    pub(super) name: String,
    pub(super) number: bool,
}

/// A row with the class of its line.
pub(super) struct HtmlRow {
    pub(super) class: &'static str,
    pub(super) cells: Vec<HtmlCell>,
}

/// A cell with what it sorts by.
#[derive(Default)]
pub(super) struct HtmlCell {
    pub(super) text: String,
    pub(super) small: String,
    pub(super) class: &'static str,
    pub(super) sort: Option<String>,
}

impl HtmlTable {
    pub(super) fn new(id: impl Into<String>, title: impl Into<String>, caption: impl Into<String>) -> HtmlTable {
        HtmlTable { id: id.into(), title: title.into(), caption: caption.into(), ..HtmlTable::default() }
    }

    /// Columns of words.
    #[must_use]
    pub(super) fn words<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> HtmlTable {
        self.columns.extend(names.into_iter().map(|name| HtmlColumn { name: name.into(), number: false }));
        self
    }

    /// Columns of numbers.
    #[must_use]
    pub(super) fn numbers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> HtmlTable {
        self.columns.extend(names.into_iter().map(|name| HtmlColumn { name: name.into(), number: true }));
        self
    }

    /// Readers may sort it.
    #[must_use]
    pub(super) fn sortable(mut self) -> HtmlTable {
        self.sortable = true;
        self
    }

    pub(super) fn row(&mut self, class: &'static str, cells: impl IntoIterator<Item = HtmlCell>) {
        self.rows.push(HtmlRow { class, cells: cells.into_iter().collect() });
    }
}

impl HtmlCell {
    /// Its text for the page.
    pub(super) fn html(&self) -> String {
        unbroken(&self.text)
    }

    /// Words.
    pub(super) fn text(text: impl Into<String>) -> HtmlCell {
        HtmlCell { text: text.into(), ..HtmlCell::default() }
    }

    /// A number as text; empty if it is missing.
    pub(super) fn number(value: Option<f64>, shown: impl Fn(f64) -> String) -> HtmlCell {
        match value {
            Some(value) => HtmlCell { text: shown(value), class: "n", sort: Some(format!("{value}")), ..HtmlCell::default() },
            None => HtmlCell { text: "–".into(), class: "n", ..HtmlCell::default() },
        }
    }

    /// A share in percent, without the sign.
    pub(super) fn percent(value: Option<f64>) -> HtmlCell {
        HtmlCell::number(value, |value| four_digits(100.0 * value, 2))
    }

    /// The same with its interval in small print.
    pub(super) fn percent_within(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> HtmlCell {
        let mut cell = HtmlCell::percent(value);
        if let (Some(low), Some(high)) = (low, high) {
            cell.small = interval(low, high);
        }
        cell
    }

    /// A whole number.
    pub(super) fn whole(value: Option<u64>) -> HtmlCell {
        match value {
            Some(value) => HtmlCell { text: grouped(value), class: "n", sort: Some(value.to_string()), ..HtmlCell::default() },
            None => HtmlCell { text: "–".into(), class: "n", ..HtmlCell::default() },
        }
    }

    /// Sets the class.
    #[must_use]
    pub(super) fn class(mut self, class: &'static str) -> HtmlCell {
        self.class = class;
        self
    }
}

/// An interval in percent.
pub(super) fn interval(low: f64, high: f64) -> String {
    format!("{} to {}", four_digits(100.0 * low, 2), four_digits(100.0 * high, 2))
}

/// Text for a page, escaped, in which no metric (`precision@1`) and no number with its sign (`52.1 %`) is broken between lines.
pub(super) fn unbroken(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_number = |word: &str| word.trim_start_matches(['(', '-', '+', '±']).starts_with(|c: char| c.is_ascii_digit());
    let is_unit = |word: &str| word.starts_with('%') || word.starts_with("points");
    let is_metric = |word: &str| {
        let Some((name, k)) = word.split_once('@') else { return false };
        name.ends_with(|c: char| c.is_ascii_alphabetic()) && k.starts_with(|c: char| c.is_ascii_digit())
    };
    let mut html = String::with_capacity(text.len() + 64);
    let mut place = 0;
    while let Some(word) = words.get(place) {
        if place > 0 {
            html.push(' ');
        }
        let unit = words.get(place + 1).filter(|unit| is_number(word) && is_unit(unit));
        if unit.is_some() || is_metric(word) {
            html.push_str("<span class=\"u\">");
            escape(word, &mut html);
            if let Some(unit) = unit {
                html.push(' ');
                escape(unit, &mut html);
                place += 1;
            }
            html.push_str("</span>");
        } else {
            escape(word, &mut html);
        }
        place += 1;
    }
    html
}

fn escape(text: &str, html: &mut String) {
    for c in text.chars() {
        match c {
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '&' => html.push_str("&amp;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
}

/// Digits in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let text = number.to_string();
    if text.len() <= 4 {
        return text;
    }
    let groups: Vec<&str> = text.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    groups.join("\u{202f}")
}

/// A figure with its legend.
#[derive(Template)]
#[template(path = "figure.html")]
pub(super) struct Picture {
    id: String,
    title: String,
    caption: String,
    svg: String,
    legend: Vec<(String, String)>,
}

impl Picture {
    /// `None` when there is nothing to draw.
    pub(super) fn new(figure: &Figure) -> Option<Picture> {
        let Inline { svg, legend, .. } = figure.inline()?;
        Some(Picture { id: figure.id.into(), title: figure.title.clone(), caption: figure.caption.clone(), svg, legend })
    }

    /// A chart under the name of its file.
    pub(super) fn of_chart(id: &str, chart: &Chart) -> Result<Picture> {
        let Inline { svg, caption, legend } = Inline::new(chart)?;
        Ok(Picture { id: id.into(), title: chart.title.clone(), caption, svg, legend })
    }
}

#[cfg(test)]
mod tests {
    use super::unbroken;

    #[test]
    fn metrics_and_numbers_stay_whole_and_names_stay_text() {
        assert_eq!(
            unbroken("Precision@1 of <b> is 52.1 % (50.2 to 54.0)."),
            "<span class=\"u\">Precision@1</span> of &lt;b&gt; is <span class=\"u\">52.1 %</span> (50.2 to 54.0)."
        );
        assert_eq!(unbroken("a@b  \"x\" & 'y'"), "a@b  &quot;x&quot; &amp; &#39;y&#39;");
    }
}
