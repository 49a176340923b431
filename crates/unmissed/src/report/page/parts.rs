//! The parts that pages are made of: tables and figures.

use crate::error::Result;
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

/// A column; numbers stand on the right.
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
    /// Words.
    pub(super) fn text(text: impl Into<String>) -> HtmlCell {
        HtmlCell { text: text.into(), ..HtmlCell::default() }
    }

    /// A number as text; nothing stands for a missing one.
    pub(super) fn number(value: Option<f64>, shown: impl Fn(f64) -> String) -> HtmlCell {
        match value {
            Some(value) => HtmlCell { text: shown(value), class: "n", sort: Some(format!("{value}")), ..HtmlCell::default() },
            None => HtmlCell { text: "–".into(), class: "n", ..HtmlCell::default() },
        }
    }

    /// A share in percent, without the sign.
    pub(super) fn percent(value: Option<f64>) -> HtmlCell {
        HtmlCell::number(value, |value| format!("{:.2}", 100.0 * value))
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
    format!("{:.2} to {:.2}", 100.0 * low, 100.0 * high)
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
