//! Comma-separated values, for spreadsheets and data frames.
//!
//! A header and the rows, quoted as RFC 4180 says (and cells with a semicolon, at which some spreadsheets divide lines), lines ended by a newline, numbers in full precision, missing values
//! empty. Tables with the same columns, one after the other, come out as one; before a table with other columns there is an
//! empty line. Titles, units and notes are left out. A document may have a table of its own for this renderer.
//!
//! Names come from files, and this is read by spreadsheets and terminals, so texts are made harmless for both
//! ([`spreadsheet_safe`]): a text that begins like a formula gets a quote in front, control characters become escapes. `json` has
//! texts as they are.

use super::Renderer;
use crate::data::{CsvWriter, spreadsheet_safe};
use crate::report::{Cell, Column, Document, Screen, Table};
use crate::spec::Named;
use std::io;

/// See the [module](self).
pub(super) struct Csv;

impl crate::sealed::Sealed for Csv {}

impl Named for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn summary(&self) -> &'static str {
        "comma-separated values in full precision, for spreadsheets and data frames"
    }
}

impl Renderer for Csv {
    fn render(&self, document: &Document, _screen: &Screen, out: &mut dyn io::Write) -> io::Result<()> {
        let mut before: Option<&[Column]> = None;
        let tables = document.long.as_ref().map_or(&document.tables[..], std::slice::from_ref);
        for table in tables.iter().filter(|table| !table.columns().is_empty()) {
            let same = |columns: &[Column]| columns.iter().map(|c| &c.name).eq(table.columns().iter().map(|c| &c.name));
            let header = !before.is_some_and(same);
            if header && before.is_some() {
                writeln!(out)?;
            }
            write_table(table, header, out)?;
            before = Some(table.columns());
        }
        Ok(())
    }
}

fn write_table(table: &Table, header: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let mut writer = CsvWriter::new(out);
    if header {
        writer.record(table.columns().iter().map(|column| spreadsheet_safe(&column.name)))?;
    }
    for row in table.rows() {
        writer.record(row.iter().map(|cell| match cell {
            Cell::Text(text) => spreadsheet_safe(text),
            Cell::Int(number) => number.to_string().into(),
            // The shortest digits that read back as the same number, with an exponent where it is far from 1.
            Cell::Float(number, _) => format!("{number:?}").into(),
            Cell::Missing => "".into(),
        }))?;
    }
    Ok(())
}
