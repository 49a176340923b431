//! A page of sections: tables, charts and notes, one after the other, in the style of the audit's page.

use super::parts::{HtmlCell, HtmlColumn, HtmlTable, Picture};
use super::{SCRIPT, STYLE, with_nonce};
use crate::error::Result;
use crate::report::plot::Chart;
use crate::report::{self, Align};
use askama::Template;

/// A section of the page.
#[derive(Clone, Debug, Default)]
pub struct Section<'a> {
    /// Its name in links.
    pub id: String,
    /// The line above it.
    pub title: String,
    /// Paragraphs before the tables.
    pub lead: Vec<String>,
    /// Tables.
    pub tables: Vec<report::Table>,
    /// Charts, each with the name of its file.
    pub charts: Vec<(&'a str, &'a Chart)>,
    /// Sentences after all that.
    pub notes: Vec<String>,
}

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Sections<'a> {
    /// The small line above the heading.
    pub kicker: String,
    /// The heading.
    pub heading: String,
    /// The paragraph below it.
    pub lead: String,
    /// The sections.
    pub sections: Vec<Section<'a>>,
}

#[derive(Template)]
#[template(path = "sections.html")]
struct Page<'a> {
    kicker: &'a str,
    heading: &'a str,
    lead: &'a str,
    version: &'static str,
    nonce: String,
    style: &'static str,
    script: &'static str,
    sections: Vec<Filled<'a>>,
}

struct Filled<'a> {
    id: &'a str,
    title: &'a str,
    lead: &'a [String],
    tables: Vec<HtmlTable>,
    pictures: Vec<Picture>,
    notes: &'a [String],
}

/// The page as HTML.
///
/// ```
/// use unmissed::report::page::sections::{render, Section, Sections};
/// use unmissed::report::Table;
/// let mut table = Table::new("t", ["name", "value"]).titled("A <table>");
/// table.row(unmissed::cells!["<b>", 0.5]);
/// let section = Section { id: "one".into(), tables: vec![table], ..Section::default() };
/// let page = render(&Sections { heading: "Page".into(), sections: vec![section], ..Sections::default() })?;
/// assert!(page.starts_with("<!doctype html>") && !page.contains("<b>"));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn render(page: &Sections<'_>) -> Result<String> {
    let mut sections = Vec::new();
    for section in &page.sections {
        sections.push(Filled {
            id: &section.id,
            title: &section.title,
            lead: &section.lead,
            tables: section.tables.iter().map(table).collect(),
            pictures: section.charts.iter().map(|(id, chart)| Picture::of_chart(id, chart)).collect::<Result<_>>()?,
            notes: &section.notes,
        });
    }
    let (version, style, script) = (env!("CARGO_PKG_VERSION"), STYLE, SCRIPT);
    let (kicker, heading, lead) = (&*page.kicker, &*page.heading, &*page.lead);
    let mut page = Page { kicker, heading, lead, version, nonce: String::new(), style, script, sections };
    with_nonce(|nonce| {
        page.nonce = nonce.to_owned();
        page.render()
    })
}

/// A table of a document as one of a page.
fn table(from: &report::Table) -> HtmlTable {
    let mut to = HtmlTable::new(from.name(), from.title().unwrap_or_default(), "").sortable();
    let number: Vec<bool> = (0..from.columns().len()).map(|place| from.align(place) == Align::Right).collect();
    to.columns = from.columns().iter().zip(&number).map(|(c, &number)| HtmlColumn { name: c.heading(), number }).collect();
    for row in from.rows() {
        let cells = row.iter().zip(from.columns()).zip(&number).map(|((cell, column), &number)| {
            let text = match cell {
                report::Cell::Missing => "–".into(),
                cell => cell.shown(column),
            };
            let sort = match cell {
                report::Cell::Int(value) => Some(value.to_string()),
                report::Cell::Float(value, _) => Some(value.to_string()),
                _ => None,
            };
            HtmlCell { sort, ..HtmlCell::text(text) }.class(if number { "n" } else { "" })
        });
        to.row("", cells);
    }
    to
}
