//! `xmc`: the text format of the extreme classification repository.
//!
//! A header `rows features labels`, then a line for each row: `l1,l2 f:v f:v`, ids 0-based. A row without labels starts with
//! a space; a row may have no features; an empty line is a row with neither. Lines may end in `\r\n`, and the last one
//! needs no end. Values are read to the nearest 32-bit number and written with the digits that bring them back exactly.

use super::{Content, Format, Holds, ReadOptions};
use crate::data::csr::checked_cols;
use crate::data::output::Output;
use crate::data::source::Source;
use crate::data::text::{self, Grammar, Header, Parsed};
use crate::data::{Dataset, Features};
use crate::error::{Error, Result};
use crate::spec::{Named, Spec};
use std::path::{Path, PathBuf};

/// See the module's page.
pub(super) struct Xmc;

impl crate::sealed::Sealed for Xmc {}

impl Named for Xmc {
    fn name(&self) -> &'static str {
        "xmc"
    }
    fn summary(&self) -> &'static str {
        "text: header 'rows features labels', then 'l1,l2 f:v f:v' (the extreme classification repository's)"
    }
}

impl Format for Xmc {
    fn holds(&self) -> Holds {
        Holds::Data
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["txt", "xmc"]
    }

    fn recognises(&self, head: &[u8], _options: &ReadOptions<'_>) -> bool {
        text::header(head).is_some_and(|header| header.numbers.len() == 3)
    }

    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
        spec.allow(&[], &[])?;
        let (header, [rows, features, labels]) = Header::exactly(source.head(), "rows features labels")?;
        let columns = |count| checked_cols(count).map_err(|error| error.at(1));
        let (label_cols, entry_cols) = (columns(labels)?, columns(features)?);
        let grammar = Grammar { labels: true, entry: "feature", label_cols: Some(label_cols), entry_cols: Some(entry_cols) };
        let parsed = text::read_rows(source, Some(&header), &grammar, options.progress)?;
        check_rows(rows, &parsed)?;
        let (labels, features) = parsed.into_matrices(label_cols, entry_cols);
        // Zero features is how labels alone are kept in this format.
        let features = (features.cols() > 0).then_some(Features::Sparse(features));
        Ok(Content::Data(Dataset::new(features, labels)?))
    }

    fn drops(&self, content: &Content) -> Vec<String> {
        match content {
            Content::Data(_) => Vec::new(),
            Content::Scores(_) => vec!["scores (nonzero entries are kept, as labels)".into()],
        }
    }

    fn write(&self, content: &Content, path: &Path) -> Result<Vec<PathBuf>> {
        let data = content.to_dataset()?;
        let mut output = Output::create(path)?;
        let columns = data.features().map_or(0, Features::cols);
        output.put(format!("{} {} {}\n", data.rows(), columns, data.labels().cols()).as_bytes())?;
        write_data(&mut output, &data)?;
        output.finish()?;
        Ok(vec![path.to_path_buf()])
    }
}

/// Writes the rows `l1,l2 f:v f:v`.
pub(super) fn write_data(output: &mut Output, data: &Dataset<'_>) -> Result<()> {
    let features = data.features().map(Features::to_sparse).transpose()?;
    text::write_rows(output, data.rows(), |row, text| {
        for (place, id) in data.labels().row_ids(row).iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            text::write_id(text, *id);
        }
        if let Some(features) = &features {
            let (ids, values) = features.row(row);
            for (id, value) in ids.iter().zip(values) {
                text.push(b' ');
                text::write_entry(text, *id, *value);
            }
        }
    })
}

/// The number of rows must be what the header says: a file that was cut short must not pass for a small one.
pub(super) fn check_rows(declared: u64, parsed: &Parsed) -> Result<()> {
    let found = parsed.rows();
    if declared == found as u64 {
        return Ok(());
    }
    let error = Error::format("the header and the lines disagree about the number of rows")
        .expected(format!("{declared} rows after the header"))
        .found(found.to_string());
    if (found as u64) < declared {
        return Err(error.hint("the file may be cut short"));
    }
    // The first row that is too many: rows count from 0, and the header is the first line.
    let error = error.at(declared + 2);
    Err(if parsed.is_empty_from(declared as usize) {
        error.hint("an empty line at the end counts as a row without labels")
    } else {
        error
    })
}
