//! `csv`: a line `row,label,score` for each prediction, as data frames are written.
//!
//! Fields are separated by commas, tabs or semicolons, whichever the first line has. With a header the columns may be in any order,
//! among others; `csv:row=doc,label=code,score=p` names them. Without a header there are three columns, and
//! the file must be asked for or be read as predictions. Without a column of scores, labels are ranked as they stand, best
//! first.
//!
//! Rows and labels are ids, counted from 0, or names where names are known. What all fields of a column can be is what they are;
//! names that look like ids of others are an error, which `csv:label-ids`, `csv:label-names`, `csv:row-ids` or `csv:row-names`
//! settles. Written are ids.

use super::ratings::{dropped_features, with_scores};
use super::{Content, Format, Holds, ReadOptions};
use crate::data::output::Output;
use crate::data::source::{Compression, Source};
use crate::data::text;
use crate::data::triples::{checked_rows, from_triples};
use crate::error::{Error, Result, shown};
use crate::spec::{Named, Spec};
use columns::{Column, Kind, places, separator};
use std::path::{Path, PathBuf};

mod columns;
mod named;

pub use named::write_named;

/// See the module's page.
pub(super) struct Csv;

impl crate::sealed::Sealed for Csv {}

impl Named for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }
    fn summary(&self) -> &'static str {
        "text: a line 'row,label,score' for each prediction, ids or names (options row, label, score: columns)"
    }
}

impl Format for Csv {
    fn holds(&self) -> Holds {
        Holds::Predictions
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv", "tsv"]
    }

    /// A header with `row` and `label`; where predictions are expected also two ids or names and a number.
    fn recognises(&self, head: &[u8], options: &ReadOptions<'_>) -> bool {
        let Some(first) = first_record(head) else { return false };
        if ["row", "label"].iter().all(|name| first.iter().any(|field| field == name)) {
            return true;
        }
        let Some(expected) = options.expected else { return false };
        let is_key = |text: &str, names: Option<&crate::data::Names>| {
            (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
                || names.is_some_and(|names| names.id_of(text).is_some())
        };
        matches!(&first[..], [row, label, score] if score.parse::<f32>().is_ok()
            && is_key(row, expected.row_names) && is_key(label, expected.label_names))
    }

    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
        spec.allow(&["row", "label", "score"], &["label-ids", "label-names", "row-ids", "row-names"])?;
        let size = source.size().unwrap_or(0);
        options.progress.begin(&format!("reading {}", source.path().display()), size);
        let Some(first) = first_record(source.head()) else {
            return Err(Error::format("the file is empty").expected("lines 'row,label,score'"));
        };
        let (has_header, place) = places(&first, spec)?;
        let separator = separator(source.head());
        let bytes = source.into_bytes()?;
        let mut reader = ::csv::ReaderBuilder::new()
            .delimiter(separator)
            .has_headers(has_header)
            .trim(::csv::Trim::All)
            .flexible(true)
            .from_reader(bytes.as_ref());
        let expected = options.expected;
        let mut rows = Column::new(Kind::Row, spec, expected.map(|e| e.rows), expected.and_then(|e| e.row_names))?;
        let mut labels = Column::new(Kind::Label, spec, expected.map(|e| e.labels), expected.and_then(|e| e.label_names))?;
        let mut values: Vec<f32> = Vec::new();
        let mut record = ::csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(broken)? {
            let line = record.position().map_or(0, ::csv::Position::line);
            let field = |place: usize, name: &str| {
                record
                    .get(place)
                    .ok_or_else(|| Error::format(format!("a line without a {name}")).expected("row,label,score").at(line))
            };
            rows.push(field(place.row, "row")?, line)?;
            labels.push(field(place.label, "label")?, line)?;
            values.push(match place.score {
                Some(score) => number(field(score, "score")?).map_err(|error| error.at(line))?,
                None => 0.0,
            });
        }
        options.progress.advance(size)?;
        let ((row_ids, row_count), (ids, label_count)) = (rows.settle()?, labels.settle()?);
        if place.score.is_none() {
            rank_by_line(&row_ids, &mut values);
        }
        let rows = match expected {
            Some(expected) => expected.rows,
            None => checked_rows(row_count, ids.len())?,
        };
        let matrix = from_triples(rows, label_count, &row_ids, &ids, &values).map_err(|error| match twice(&row_ids, &ids) {
            Some([first, second]) => {
                let (row, label) = (row_ids[second], ids[second]);
                let ends = 1 + usize::from(has_header);
                Error::format(format!("row {row} has label {label} twice")).expected("each label once in a row").found(format!(
                    "it in the records {} and {}",
                    first + ends,
                    second + ends
                ))
            }
            None => error,
        });
        matrix.map(Content::Scores)
    }

    fn drops(&self, content: &Content) -> Vec<String> {
        let mut dropped = dropped_features(content);
        dropped.push("the numbers of rows and labels (they follow from what it is read for, or from the largest ids)".into());
        dropped
    }

    fn write(&self, content: &Content, path: &Path) -> Result<Vec<PathBuf>> {
        let mut output = Output::create(path)?;
        let (_, plain) = Compression::of_name(path);
        let separator = if plain.extension().is_some_and(|ending| ending == "tsv") { b'\t' } else { b',' };
        let header = ["row", "label", "score"].map(str::as_bytes).join(&separator);
        output.put(&header)?;
        output.put(b"\n")?;
        with_scores(content, |scores| {
            let rows: Vec<usize> = (0..scores.rows()).filter(|row| !scores.row_ids(*row).is_empty()).collect();
            text::write_rows(&mut output, rows.len(), |place, text| {
                let (ids, values) = scores.row(rows[place]);
                for (nth, (id, value)) in ids.iter().zip(values).enumerate() {
                    if nth > 0 {
                        text.push(b'\n');
                    }
                    text.extend_from_slice(rows[place].to_string().as_bytes());
                    text.push(separator);
                    text::write_id(text, *id);
                    text.push(separator);
                    text::write_value(text, *value);
                }
            })
        })?;
        output.finish()?;
        Ok(vec![path.to_path_buf()])
    }
}

fn broken(cause: ::csv::Error) -> Error {
    let line = cause.position().map(::csv::Position::line);
    let error = Error::format("not a table of UTF-8 text").caused_by(cause);
    match line {
        Some(line) => error.at(line),
        None => error,
    }
}

fn number(text: &str) -> Result<f32> {
    text.parse::<f32>()
        .ok()
        .filter(|number| number.is_finite())
        .ok_or_else(|| Error::format("cannot read a score").expected("a finite number").found(shown(text.as_bytes())))
}

/// The fields of the first line.
fn first_record(head: &[u8]) -> Option<Vec<String>> {
    let mut reader = ::csv::ReaderBuilder::new()
        .delimiter(separator(head))
        .has_headers(false)
        .trim(::csv::Trim::All)
        .flexible(true)
        .from_reader(head);
    let mut record = ::csv::StringRecord::new();
    let found = reader.read_record(&mut record).unwrap_or(false);
    found.then(|| record.iter().map(str::to_owned).collect())
}

/// Scores that leave the labels of each row in the order of their lines.
fn rank_by_line(row_ids: &[u32], values: &mut [f32]) {
    let mut before: std::collections::HashMap<u32, u32> = std::collections::HashMap::new();
    for (row, value) in row_ids.iter().zip(values) {
        let rank = before.entry(*row).or_default();
        *value = -(*rank as f32);
        *rank += 1;
    }
}

/// The places of an entry that is given twice.
fn twice(row_ids: &[u32], ids: &[u32]) -> Option<[usize; 2]> {
    let mut seen = std::collections::HashMap::new();
    row_ids.iter().zip(ids).enumerate().find_map(|(place, key)| seen.insert(key, place).map(|first| [first, place]))
}

#[cfg(test)]
mod tests;
