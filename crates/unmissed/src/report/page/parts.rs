//! The parts that pages are made of: tables and figures.

use crate::report::figures::Figure;
use askama::Template;

/// A table. Texts are escaped by the template.
#[derive(Template, Default)]
#[template(path = "table.html")]
pub(super) struct Table {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) caption: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    pub(super) sortable: bool,
}

/// A column; numbers stand on the right.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) number: bool,
}

/// A row with the class of its line.
pub(super) struct Row {
    pub(super) class: &'static str,
    pub(super) cells: Vec<Cell>,
}

/// A cell with what it sorts by.
#[derive(Default)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) small: String,
    pub(super) class: &'static str,
    pub(super) sort: Option<String>,
}

impl Table {
    pub(super) fn new(id: impl Into<String>, title: impl Into<String>, caption: impl Into<String>) -> Table {
        Table { id: id.into(), title: title.into(), caption: caption.into(), ..Table::default() }
    }

    /// Columns of words.
    #[must_use]
    pub(super) fn words<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Table {
        self.columns.extend(names.into_iter().map(|name| Column { name: name.into(), number: false }));
        self
    }

    /// Columns of numbers.
    #[must_use]
    pub(super) fn numbers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Table {
        self.columns.extend(names.into_iter().map(|name| Column { name: name.into(), number: true }));
        self
    }

    /// Readers may sort it.
    #[must_use]
    pub(super) fn sortable(mut self) -> Table {
        self.sortable = true;
        self
    }

    pub(super) fn row(&mut self, class: &'static str, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(Row { class, cells: cells.into_iter().collect() });
    }
}

impl Cell {
    /// Words.
    pub(super) fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A number as text; nothing stands for a missing one.
    pub(super) fn number(value: Option<f64>, shown: impl Fn(f64) -> String) -> Cell {
        match value {
            Some(value) => Cell { text: shown(value), class: "n", sort: Some(format!("{value}")), ..Cell::default() },
            None => Cell { text: "–".into(), class: "n", ..Cell::default() },
        }
    }

    /// A share in percent, without the sign.
    pub(super) fn percent(value: Option<f64>) -> Cell {
        Cell::number(value, |value| format!("{:.2}", 100.0 * value))
    }

    /// The same with its interval in small print.
    pub(super) fn percent_within(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> Cell {
        let mut cell = Cell::percent(value);
        if let (Some(low), Some(high)) = (low, high) {
            cell.small = interval(low, high);
        }
        cell
    }

    /// A whole number.
    pub(super) fn whole(value: Option<u64>) -> Cell {
        match value {
            Some(value) => Cell { text: grouped(value), class: "n", sort: Some(value.to_string()), ..Cell::default() },
            None => Cell { text: "–".into(), class: "n", ..Cell::default() },
        }
    }

    /// Sets the class.
    #[must_use]
    pub(super) fn class(mut self, class: &'static str) -> Cell {
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
    id: &'static str,
    title: String,
    caption: String,
    svg: String,
    legend: Vec<(String, String)>,
}

impl Picture {
    /// `None` when there is nothing to draw.
    pub(super) fn new(figure: &Figure) -> Option<Picture> {
        let svg = figure.for_page();
        let (id, title, caption) = (figure.id, figure.title.clone(), figure.caption.clone());
        (!svg.is_empty()).then(|| Picture { id, title, caption, svg, legend: figure.legend() })
    }
}
