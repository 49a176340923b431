//! Records of csv files, all quoted in the same way.

use std::borrow::Cow;
use std::io::{self, Write};

/// A cell as csv has it: in quotes if it has a separator, a quote or the end of a line in it. Semicolons and tabs count as separators,
/// whatever the file has: where the decimal sign is a comma, spreadsheets divide lines at semicolons.
///
/// ```
/// use unmissed::data::csv_cell;
/// assert_eq!((csv_cell("a b").as_ref(), csv_cell("a;b").as_ref()), ("a b", "\"a;b\""));
/// assert_eq!(csv_cell("say \"a\""), "\"say \"\"a\"\"\"");
/// ```
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', ';', '\t', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// Writes records; a file behind it should be buffered, as an [`Output`](super::Output) is.
pub(crate) struct CsvWriter<W> {
    out: W,
    separator: char,
    line: String,
}

impl<W: Write> CsvWriter<W> {
    /// Separates cells by commas.
    pub(crate) fn new(out: W) -> CsvWriter<W> {
        CsvWriter::separated_by(',', out)
    }

    pub(crate) fn separated_by(separator: char, out: W) -> CsvWriter<W> {
        CsvWriter { out, separator, line: String::new() }
    }

    /// Writes one line. Texts of users have to be [safe](super::spreadsheet_safe) already.
    pub(crate) fn record<C: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = C>) -> io::Result<()> {
        self.line.clear();
        for (place, cell) in cells.into_iter().enumerate() {
            if place > 0 {
                self.line.push(self.separator);
            }
            self.line.push_str(&csv_cell(cell.as_ref()));
        }
        if self.line.is_empty() {
            // A line without anything in it would pass for the end of a table.
            self.line.push_str("\"\"");
        }
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_the_cells_that_were_written() {
        let records = [vec!["a;b", "", "say \"a\", b", "line\nline", "tab\there"], vec!["=1", "x", "\r", "\"", " a "], vec![""]];
        for separator in [',', '\t'] {
            let mut text = Vec::new();
            let mut writer = CsvWriter::separated_by(separator, &mut text);
            records.iter().for_each(|record| writer.record(record).unwrap());
            let mut reader =
                ::csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator as u8).from_reader(&text[..]);
            let read: Vec<Vec<String>> =
                reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect();
            assert_eq!(read, records);
        }
    }
}
