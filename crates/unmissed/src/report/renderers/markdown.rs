//! Markdown tables as GitHub draws them.
//!
//! Numbers are right-aligned. Everything that Markdown or HTML would take for markup is escaped, so that a text shows as
//! it is, and a line break in a text is a space.

use super::{MISSING, Renderer};
use crate::report::text::plain;
use crate::report::{Align, Cell, Document, Screen, Table};
use crate::spec::Named;
use std::io;

/// See the [module](self).
pub(super) struct Markdown;

impl crate::sealed::Sealed for Markdown {}

impl Named for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn summary(&self) -> &'static str {
        "Markdown tables as GitHub draws them"
    }
}

impl Renderer for Markdown {
    fn render(&self, document: &Document, _screen: &Screen, out: &mut dyn io::Write) -> io::Result<()> {
        let mut first = true;
        for lead in &document.lead {
            if !std::mem::take(&mut first) {
                writeln!(out)?;
            }
            writeln!(out, "{}", escaped(&lead.text))?;
        }
        for table in &document.tables {
            if !std::mem::take(&mut first) {
                writeln!(out)?;
            }
            write_table(table, out)?;
        }
        for note in &document.notes {
            if !std::mem::take(&mut first) {
                writeln!(out)?;
            }
            writeln!(out, "{}", escaped(note))?;
        }
        Ok(())
    }
}

fn write_table(table: &Table, out: &mut dyn io::Write) -> io::Result<()> {
    if let Some(title) = table.title() {
        writeln!(out, "**{}**\n", escaped(title))?;
    }
    if table.columns().is_empty() {
        return Ok(());
    }
    for column in table.columns() {
        write!(out, "| {} ", escaped(&column.heading()))?;
    }
    writeln!(out, "|")?;
    for column in 0..table.columns().len() {
        out.write_all(match table.align(column) {
            Align::Left => b"| :--- ",
            Align::Right => b"| ---: ",
        })?;
    }
    writeln!(out, "|")?;
    for row in table.rows() {
        for (cell, column) in row.iter().zip(table.columns()) {
            match cell {
                Cell::Missing => write!(out, "| {MISSING} ")?,
                Cell::Text(text) => write!(out, "| {} ", escaped(text))?,
                number => write!(out, "| {} ", number.shown(column))?,
            }
        }
        writeln!(out, "|")?;
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '|' | '*' | '_' | '`' | '~' | '[' | ']' | '$' | '#' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}
