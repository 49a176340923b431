//! A csv with a value for each label or each row: `label,rate`, `label,group`, `row,count` and the like.

use super::Source;
use crate::error::{Error, Result, shown};
use std::path::Path;

/// The error for a table that cannot be read as csv.
pub(crate) fn not_csv(cause: &csv::Error) -> Error {
    match cause.kind() {
        csv::ErrorKind::Utf8 { pos, .. } => {
            let error = Error::format("text that is not UTF-8").expected("a csv file").hint(SAVE_AS_UTF8);
            match pos {
                Some(pos) => error.at(pos.line()),
                None => error,
            }
        }
        _ => Error::format(format!("not a csv file ({cause})")),
    }
}

/// What to do about text in another encoding.
pub(crate) const SAVE_AS_UTF8: &str = "save the file as UTF-8 (iconv -t UTF-8)";

/// One line of such a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedCell {
    /// The line, counted from 1 with the header.
    pub line: u64,
    /// The label or row.
    pub key: u32,
    /// The value as written.
    pub text: String,
}

/// Reads the column `name` by the column `key` (`label` or `row`). Keys are whole numbers below `below`; each may occur once, and
/// some may be missing.
///
/// ```
/// use unmissed::data::read_keyed_csv;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("groups.csv");
/// std::fs::write(&path, "label,group\n1,tail\n0,head\n")?;
/// let cells = read_keyed_csv(&path, "label", "group", 2)?;
/// assert_eq!((cells[0].key, cells[0].text.as_str()), (1, "tail"));
/// assert!(read_keyed_csv(&path, "label", "group", 1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_keyed_csv(path: impl AsRef<Path>, key: &str, name: &str, below: u64) -> Result<Vec<KeyedCell>> {
    let path = path.as_ref();
    let bytes = Source::open(path, true)?.into_bytes()?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(bytes.as_ref());
    let broken = |cause: csv::Error| not_csv(&cause).in_file(path);
    let header = reader.headers().map_err(broken)?.clone();
    let column = |wanted: &str| {
        header.iter().position(|field| field == wanted).ok_or_else(|| {
            Error::format(format!("no column '{wanted}'")).expected(format!("a header '{key},{name}'")).at(1).in_file(path)
        })
    };
    let (place, value) = (column(key)?, column(name)?);
    let mut seen = std::collections::HashSet::new();
    let mut cells = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let text = record.get(place).unwrap_or("");
        let id = text.parse::<u32>().ok().filter(|id| u64::from(*id) < below).ok_or_else(|| {
            let expected = format!("a whole number below {below}");
            Error::format(format!("cannot read a {key}")).expected(expected).found(shown(text.as_bytes())).at(line).in_file(path)
        })?;
        if !seen.insert(id) {
            return Err(Error::format(format!("{key} {id} occurs twice"))
                .expected(format!("each {key} once"))
                .at(line)
                .in_file(path));
        }
        cells.push(KeyedCell { line, key: id, text: record.get(value).unwrap_or("").to_owned() });
    }
    Ok(cells)
}

/// Reads which of so many rows a csv names in its column `row`; each may occur once.
///
/// ```
/// use unmissed::data::read_row_set;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("rows.csv");
/// std::fs::write(&path, "row,probability\n2,0.5\n0,0.5\n")?;
/// assert_eq!(read_row_set(&path, 3)?, [true, false, true]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_row_set(path: impl AsRef<Path>, rows: usize) -> Result<Vec<bool>> {
    let mut named = vec![false; rows];
    read_keyed_csv(path, "row", "row", rows as u64)?.iter().for_each(|cell| named[cell.key as usize] = true);
    Ok(named)
}

/// Reads a value of the column `name` for every key below `count`. `parse` gives the value, or `None` for a cell that is not
/// `expected`.
pub fn read_full_column<T: Clone>(
    path: impl AsRef<Path>,
    key: &str,
    name: &str,
    count: u64,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>> {
    let path = path.as_ref();
    let cells = read_keyed_csv(path, key, name, count)?;
    let mut values = std::collections::HashMap::with_capacity(cells.len());
    for KeyedCell { line, key: id, text } in &cells {
        let value = parse(text).ok_or_else(|| {
            Error::format(format!("the {name} of {key} {id} is out of range"))
                .expected(expected)
                .found(shown(text.as_bytes()))
                .at(*line)
                .in_file(path)
        })?;
        values.insert(*id, value);
    }
    let known = |id: u64| u32::try_from(id).ok().and_then(|id| values.get(&id));
    if let Some(missing) = (0..count).find(|id| known(*id).is_none()) {
        return Err(Error::format(format!("{key} {missing} has no {name}"))
            .expected(format!("a {name} for each of {count} {key}s"))
            .found(format!("{} lines", cells.len()))
            .in_file(path));
    }
    Ok((0..count).filter_map(known).cloned().collect())
}
