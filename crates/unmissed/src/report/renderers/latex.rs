//! LaTeX tables with the lines of the `booktabs` package.
//!
//! A `tabular` for each table, to be put into a `table` of one's own; title and notes are comments. All of LaTeX's special
//! characters are escaped (brackets and stars too: after the end of a row LaTeX takes them for options). Letters beyond
//! ASCII are left as they are, which every engine reads that takes UTF-8.

use super::Renderer;
use crate::report::text::plain;
use crate::report::{Align, Cell, Document, Screen, Table};
use crate::spec::Named;
use std::io;

/// See the [module](self).
pub(super) struct Latex;

impl crate::sealed::Sealed for Latex {}

impl Named for Latex {
    fn name(&self) -> &'static str {
        "latex"
    }

    fn summary(&self) -> &'static str {
        "LaTeX tables with the lines of the booktabs package"
    }
}

impl Renderer for Latex {
    fn render(&self, document: &Document, _screen: &Screen, out: &mut dyn io::Write) -> io::Result<()> {
        for lead in &document.lead {
            writeln!(out, "% {}", plain(&lead.text))?;
        }
        for (index, table) in document.tables.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            write_table(table, out)?;
        }
        for note in &document.notes {
            writeln!(out, "% {}", plain(note))?;
        }
        Ok(())
    }
}

fn write_table(table: &Table, out: &mut dyn io::Write) -> io::Result<()> {
    if let Some(title) = table.title() {
        writeln!(out, "% {}", plain(title))?;
    }
    let columns = table.columns();
    if columns.is_empty() {
        return Ok(());
    }
    let letter = |column| if table.align(column) == Align::Right { 'r' } else { 'l' };
    let letters: String = (0..columns.len()).map(letter).collect();
    writeln!(out, "\\begin{{tabular}}{{{letters}}}\n\\toprule")?;
    let headings: Vec<String> = columns.iter().map(|column| escaped(&column.heading())).collect();
    writeln!(out, "{} \\\\\n\\midrule", headings.join(" & "))?;
    for row in table.rows() {
        for (index, (cell, column)) in row.iter().zip(columns).enumerate() {
            if index > 0 {
                write!(out, " & ")?;
            }
            match cell {
                Cell::Missing => write!(out, "--")?,
                Cell::Text(text) => write!(out, "{}", escaped(text))?,
                number => write!(out, "{}", typeset(&number.shown(column)))?,
            }
        }
        writeln!(out, " \\\\")?;
    }
    writeln!(out, "\\bottomrule\n\\end{{tabular}}")
}

/// A number: with a minus instead of a hyphen, and powers of ten as such.
fn typeset(number: &str) -> String {
    match number.split_once('e') {
        Some((digits, exponent)) => format!("${digits} \\times 10^{{{exponent}}}$"),
        None => escaped(number).replace('-', "$-$"),
    }
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '\\' => safe.push_str("\\textbackslash{}"),
            '~' => safe.push_str("\\textasciitilde{}"),
            '^' => safe.push_str("\\textasciicircum{}"),
            '<' => safe.push_str("\\textless{}"),
            '>' => safe.push_str("\\textgreater{}"),
            '|' => safe.push_str("\\textbar{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                safe.push('\\');
                safe.push(c);
            }
            '[' | ']' | '*' => {
                safe.push('{');
                safe.push(c);
                safe.push('}');
            }
            c => safe.push(c),
        }
    }
    safe
}
