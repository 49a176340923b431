//! Files of names and texts: lines, or one column of a table.

use super::{NamesOf, Texts};
use crate::data::source::Compression;
use crate::data::{SAVE_AS_UTF8, Source};
use crate::error::{Error, Result, shown};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A file with a line for each label or row, or one column of a table.
///
/// ```
/// use unmissed::data::{Names, NamesOf, TextFile};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("labels.csv");
/// std::fs::write(&path, "code,title\nJ00,cold\nJ11,\"flu, other\"\n")?;
/// let file: TextFile = format!("{}:title", path.display()).parse()?;
/// assert_eq!(Names::read(NamesOf::Labels, &file, 2)?.get(1), Some("flu, other"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    path: PathBuf,
    column: Option<String>,
}

/// Texts with the line that each came from, where that is known.
pub(super) struct Loaded {
    pub(super) texts: Texts,
    pub(super) lines: Option<Vec<u64>>,
}

/// How the texts lie in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Lines,
    /// A table with this separator.
    Table(u8),
    JsonLines,
}

impl Layout {
    fn of(path: &Path) -> Layout {
        let (_, plain) = Compression::of_name(path);
        match plain.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Layout::Table(b','),
            Some("tsv") => Layout::Table(b'\t'),
            Some("jsonl" | "ndjson") => Layout::JsonLines,
            _ => Layout::Lines,
        }
    }
}

impl FromStr for TextFile {
    type Err = Error;

    /// `FILE`, or `FILE.csv:COLUMN`, `FILE.tsv:COLUMN`, `FILE.jsonl:FIELD`. A file that exists is never taken apart.
    fn from_str(text: &str) -> Result<TextFile> {
        let is_table = |path: &str| Layout::of(Path::new(path)) != Layout::Lines;
        let colons = text.match_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
        match colons.into_iter().find(|(path, _)| is_table(path)) {
            Some((path, column)) if !Path::new(text).exists() => {
                if column.is_empty() {
                    return Err(Error::value("the column is missing").expected("FILE.csv:COLUMN").found(format!("'{text}'")));
                }
                Ok(TextFile { path: path.into(), column: Some(column.to_owned()) })
            }
            _ if text.is_empty() => Err(Error::value("the name of a file is missing").expected("FILE, or FILE.csv:COLUMN")),
            _ => Ok(TextFile { path: text.into(), column: None }),
        }
    }
}

impl fmt::Display for TextFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.column.as_ref().map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}

impl TextFile {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The column or field; `None` when every line is a text.
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// Reads a text for each of `count` labels or rows.
    pub(super) fn load(&self, of: NamesOf, count: usize) -> Result<Loaded> {
        let bytes = Source::open(&self.path, true)?.into_bytes()?;
        let bytes = bytes.as_ref();
        let loaded = match (&self.column, Layout::of(&self.path)) {
            (Some(column), Layout::Table(separator)) => table(bytes, separator, column, of, count),
            (Some(field), _) => json_lines(bytes, field),
            (None, layout) => lines(bytes).map_err(|error| about_columns(error, bytes, layout)),
        };
        loaded
            .and_then(|loaded| match loaded.texts.len() {
                found if found == count => Ok(loaded),
                found => {
                    let word = of.word();
                    let error = Error::format(format!("not a line for each {word}"))
                        .expected(format!("{count} {word}s"))
                        .found(format!("{found} lines"));
                    Err(if self.column.is_none() { about_columns(error, bytes, Layout::of(&self.path)) } else { error })
                }
            })
            .map_err(|error| error.in_file(&self.path))
    }
}

/// Whoever names a table without a column is told its columns.
fn about_columns(error: Error, bytes: &[u8], layout: Layout) -> Error {
    match layout {
        Layout::Lines => error,
        Layout::JsonLines => error.hint("name the field: FILE.jsonl:FIELD"),
        Layout::Table(separator) => match header(bytes, separator) {
            Ok(columns) if !columns.is_empty() => {
                error.hint(format!("name the column, FILE.csv:COLUMN, one of {}", columns.join(", ")))
            }
            _ => error.hint("name the column: FILE.csv:COLUMN"),
        },
    }
}

fn text_of(bytes: &[u8], line: u64) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Error::format("text that is not UTF-8").found(shown(bytes)).at(line).hint(SAVE_AS_UTF8))
}

fn split_lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = if bytes.is_empty() { None } else { Some(body.split(|byte| *byte == b'\n')) };
    lines.into_iter().flatten().zip(1..).map(|(line, number)| (number, line))
}

fn lines(bytes: &[u8]) -> Result<Loaded> {
    let mut texts = Texts::default();
    for (number, line) in split_lines(bytes) {
        texts.push(text_of(line, number)?.trim());
    }
    let lines = (1..=texts.len() as u64).collect();
    Ok(Loaded { texts, lines: Some(lines) })
}

fn reader(bytes: &[u8], separator: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new().delimiter(separator).trim(csv::Trim::All).flexible(true).from_reader(bytes)
}

fn broken(cause: csv::Error) -> Error {
    let line = cause.position().map(csv::Position::line);
    let error = Error::format("not a table of UTF-8 text").caused_by(cause);
    match line {
        Some(line) => error.at(line),
        None => error,
    }
}

fn header(bytes: &[u8], separator: u8) -> Result<Vec<String>> {
    Ok(reader(bytes, separator).headers().map_err(broken)?.iter().map(str::to_owned).collect())
}

fn table(bytes: &[u8], separator: u8, column: &str, of: NamesOf, count: usize) -> Result<Loaded> {
    let columns = header(bytes, separator)?;
    let places: Vec<usize> = (0..columns.len()).filter(|place| columns[*place] == column).collect();
    let [place] = places[..] else {
        let what = if places.is_empty() { "no column" } else { "two columns" };
        return Err(Error::format(format!("{what} '{column}'")).found(format!("the columns {}", columns.join(", "))).at(1));
    };
    let ids = columns.iter().position(|name| name == of.word() && name != column);
    let mut reader = reader(bytes, separator);
    let mut found: Vec<(usize, u64, String)> = Vec::new();
    for (at, record) in reader.records().enumerate() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let id = match ids {
            None => at,
            Some(ids) => {
                let text = record.get(ids).unwrap_or("");
                text.parse().ok().filter(|id| *id < count).ok_or_else(|| {
                    Error::format(format!("cannot read a {}", of.word()))
                        .expected(format!("a whole number below {count}"))
                        .found(shown(text.as_bytes()))
                        .at(line)
                })?
            }
        };
        found.push((id, line, record.get(place).unwrap_or("").to_owned()));
    }
    found.sort_by_key(|(id, _, _)| *id);
    if let Some(pair) = found.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let what = format!("{} {} occurs twice, in lines {} and {}", of.word(), pair[0].0, pair[0].1, pair[1].1);
        return Err(Error::format(what).expected(format!("each {} once", of.word())).at(pair[1].1));
    }
    if let (Some(_), Some(missing)) = (ids, (0..count).find(|id| found.get(*id).is_none_or(|(found, _, _)| found != id))) {
        return Err(Error::format(format!("{} {missing} is missing", of.word()))
            .expected(format!("a record for each of {count} {}s", of.word()))
            .found(format!("{} records", found.len())));
    }
    let lines = found.iter().map(|(_, line, _)| *line).collect();
    Ok(Loaded { texts: Texts::new(found.iter().map(|(_, _, text)| text)), lines: Some(lines) })
}

fn json_lines(bytes: &[u8], field: &str) -> Result<Loaded> {
    let mut texts = Texts::default();
    for (number, line) in split_lines(bytes) {
        let value: serde_json::Value = serde_json::from_slice(line).map_err(|_| {
            Error::format("not a line of JSON").expected(format!("{{\"{field}\": ...}}")).found(shown(line)).at(number)
        })?;
        match value.get(field) {
            Some(serde_json::Value::String(text)) => texts.push(text.trim()),
            Some(serde_json::Value::Number(digits)) => texts.push(&digits.to_string()),
            other => {
                let error = Error::format(format!("no text in the field '{field}'")).expected("a string or a number");
                let error = match (other, value.as_object()) {
                    (None, Some(fields)) => {
                        let names: Vec<&str> = fields.keys().take(10).map(String::as_str).collect();
                        error.found(format!("the fields {}", names.join(", ")))
                    }
                    _ => error.found(shown(line)),
                };
                return Err(error.at(number));
            }
        }
    }
    let lines = (1..=texts.len() as u64).collect();
    Ok(Loaded { texts, lines: Some(lines) })
}
