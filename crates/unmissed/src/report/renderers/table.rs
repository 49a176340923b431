//! Plain text in columns, for a terminal.
//!
//! Numbers are right-aligned and never broken; long texts are wrapped within their column, to eight lines at most. A
//! table with more columns than fit side by side is written as records, one line per column and a rule between rows. From a
//! width of 60 on, no line is wider than asked for.

use super::{MISSING, Renderer};
use crate::evaluate::Severity;
use crate::report::text::plain;
use crate::report::{Align, Cell, Document, Limit, Paragraph, Screen, Table as Content};
use crate::spec::Named;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Row, TableStyle, Width};
use std::io;

/// See the [module](self).
pub(super) struct Table;

/// Two spaces between columns.
const GAP: u16 = 2;
/// Narrower than this a column of texts is not readable.
const NARROWEST: usize = 10;
/// More lines than this a wrapped text does not get.
const MOST_LINES: usize = 8;

impl crate::sealed::Sealed for Table {}

impl Named for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn summary(&self) -> &'static str {
        "aligned columns, for a terminal"
    }
}

impl Renderer for Table {
    fn render(&self, document: &Document, screen: &Screen, out: &mut dyn io::Write) -> io::Result<()> {
        let Some(Limit { lines, rest }) = screen.lines else { return write_all(document, screen, out) };
        let mut whole = Vec::new();
        write_all(document, screen, &mut whole)?;
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &whole).collect();
        if ends.len() <= lines {
            return out.write_all(&whole);
        }
        // The last line says what is left out; a blank one before it would be wasted.
        let mut shown = lines.saturating_sub(1);
        while shown > 1 && ends[shown - 1] == ends[shown - 2] + 1 {
            shown -= 1;
        }
        out.write_all(&whole[..shown.checked_sub(1).map_or(0, |last| ends[last] + 1)])?;
        writeln!(out, "… and {} more lines: {rest}", ends.len() - shown)
    }
}

fn write_all(document: &Document, screen: &Screen, out: &mut dyn io::Write) -> io::Result<()> {
    // Below this nothing readable can be done.
    let width = screen.width.map(|width| width.clamp(20, usize::from(u16::MAX)));
    for Paragraph { text, severity } in &document.lead {
        write_painted(text, width, paint(*severity).filter(|_| screen.colour), out)?;
    }
    let mut first = document.lead.is_empty();
    for table in &document.tables {
        if !std::mem::take(&mut first) {
            writeln!(out)?;
        }
        if let Some(title) = table.title() {
            write_painted(title, width, screen.colour.then_some(BOLD), out)?;
        }
        write_table(table, width, out)?;
    }
    for note in &document.notes {
        if !std::mem::take(&mut first) {
            writeln!(out)?;
        }
        write_painted(note, width, None, out)?;
    }
    Ok(())
}

const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// How a lead of this severity looks where there are colours.
fn paint(severity: Option<Severity>) -> Option<&'static str> {
    Some(match severity? {
        Severity::Info => BOLD,
        Severity::Warning => "\u{1b}[1;33m",
        Severity::Error => "\u{1b}[1;31m",
    })
}

fn write_table(table: &Content, width: Option<usize>, out: &mut dyn io::Write) -> io::Result<()> {
    if table.columns().is_empty() {
        return Ok(());
    }
    let mut drawn = empty(width);
    drawn.style_mut().header_separator = LineStyle::none().fill('─');
    drawn.set_header(table.columns().iter().map(|column| comfy(&plain(&column.heading()))));
    for row in table.rows() {
        drawn.add_row(limited(row.iter().zip(table.columns()).map(|(cell, column)| comfy(&words(cell, column)))));
    }
    let last = table.columns().len() - 1;
    let wanted = drawn.column_max_content_widths();
    let mut least = 0;
    for (index, column) in drawn.column_iter_mut().enumerate() {
        let gap = if index == last { 0 } else { GAP };
        column.set_padding((0, gap));
        let wanted = usize::from(wanted[index]);
        let mut lower = wanted.min(NARROWEST);
        if table.align(index) == Align::Right {
            column.set_cell_alignment(CellAlignment::Right);
            lower = wanted;
        }
        // The boundary of a column includes its padding.
        let lower = lower + usize::from(gap);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(u16::try_from(lower).unwrap_or(u16::MAX))));
        least += lower;
    }
    match width {
        Some(width) if least > width => write_records(table, width, out),
        _ => write_lines(&drawn, out),
    }
}

/// One line per column, for tables that are too wide.
fn write_records(table: &Content, width: usize, out: &mut dyn io::Write) -> io::Result<()> {
    for row in table.rows() {
        let mut drawn = empty(Some(width));
        for (cell, column) in row.iter().zip(table.columns()) {
            drawn.add_row(limited([comfy(&plain(&column.heading())), comfy(&words(cell, column))]));
        }
        for (column, gap) in drawn.column_iter_mut().zip([GAP, 0]) {
            column.set_padding((0, gap));
        }
        if let Some(names) = drawn.column_mut(0) {
            names.set_constraint(ColumnConstraint::UpperBoundary(Width::Percentage(50)));
        }
        writeln!(out, "{}", "─".repeat(width))?;
        write_lines(&drawn, out)?;
    }
    Ok(())
}

/// A paragraph, wrapped as a table of one cell; painted lines end with their paint.
fn write_painted(text: &str, width: Option<usize>, paint: Option<&str>, out: &mut dyn io::Write) -> io::Result<()> {
    const UNBROKEN: &str = "\u{a0}%";
    let mut drawn = empty(width);
    // A number and its sign stay on one line.
    drawn.add_row([comfy(&plain(text).replace(" %", UNBROKEN))]);
    for column in drawn.column_iter_mut() {
        column.set_padding((0, 0));
    }
    let (paint, end) = paint.map_or(("", ""), |paint| (paint, PLAIN));
    for line in drawn.lines() {
        writeln!(out, "{paint}{}{end}", line.trim_end().replace(UNBROKEN, " %"))?;
    }
    Ok(())
}

fn empty(width: Option<usize>) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(TableStyle::new()).set_truncation_indicator("…");
    match width.and_then(|width| u16::try_from(width).ok()) {
        Some(width) => table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

fn write_lines(table: &comfy_table::Table, out: &mut dyn io::Write) -> io::Result<()> {
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn limited(cells: impl IntoIterator<Item = comfy_table::Cell>) -> Row {
    let mut row = Row::from(cells);
    row.max_height(MOST_LINES);
    row
}

fn comfy(text: &str) -> comfy_table::Cell {
    comfy_table::Cell::new(text)
}

fn words(cell: &Cell, column: &crate::report::Column) -> String {
    match cell {
        Cell::Missing => MISSING.to_owned(),
        cell => plain(&cell.shown(column)).into_owned(),
    }
}
