//! `scores`: predictions, or labels alone, as text.
//!
//! A header `rows labels`, then a line for each row: `label:score label:score`, in any order. An empty line is a row without
//! predictions. Stored entries are predictions, zeros included; read as labels, entries that are not zero are labels.

use super::xmc::check_rows;
use super::{Content, Format, ReadOptions};
use crate::data::csr::checked_cols;
use crate::data::output::Output;
use crate::data::source::Source;
use crate::data::text::{self, Grammar, Header};
use crate::error::Result;
use crate::spec::{Named, Spec};
use std::path::{Path, PathBuf};

/// See the module's page.
pub(super) struct Scores;

impl crate::sealed::Sealed for Scores {}

impl Named for Scores {
    fn name(&self) -> &'static str {
        "scores"
    }
    fn summary(&self) -> &'static str {
        "text: header 'rows labels', then 'label:score label:score' (predictions, or labels alone)"
    }
}

impl Format for Scores {
    fn extensions(&self) -> &'static [&'static str] {
        &["txt", "scores"]
    }

    fn recognises(&self, head: &[u8]) -> bool {
        text::header(head).is_some_and(|header| header.numbers.len() == 2)
    }

    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
        spec.allow(&[], &[])?;
        let (header, [rows, labels]) = Header::exactly(source.head(), "rows labels")?;
        let columns = checked_cols(labels).map_err(|error| error.at(1))?;
        let grammar = Grammar { labels: false, entry: "label", label_cols: Some(0), entry_cols: Some(columns) };
        let parsed = text::read_rows(source, Some(&header), &grammar, options.progress)?;
        check_rows(rows, &parsed)?;
        let (_, scores) = parsed.into_matrices(0, columns);
        Ok(Content::Scores(scores))
    }

    fn drops(&self, content: &Content) -> Vec<String> {
        match content {
            Content::Data(data) if data.features().is_some() => vec!["features".into()],
            _ => Vec::new(),
        }
    }

    fn write(&self, content: &Content, path: &Path) -> Result<Vec<PathBuf>> {
        let mut output = Output::create(path)?;
        let (rows, columns) = match content {
            Content::Data(data) => (data.rows(), data.labels().cols()),
            Content::Scores(scores) => (scores.rows(), scores.cols()),
        };
        output.put(format!("{rows} {columns}\n").as_bytes())?;
        text::write_rows(&mut output, rows, |row, text| {
            let start = text.len();
            let mut entry = |id: u32, value: f32| {
                if text.len() > start {
                    text.push(b' ');
                }
                text::write_entry(text, id, value);
            };
            match content {
                Content::Data(data) => data.labels().row_ids(row).iter().for_each(|id| entry(*id, 1.0)),
                Content::Scores(scores) => {
                    let (ids, values) = scores.row(row);
                    ids.iter().zip(values).for_each(|(id, value)| entry(*id, *value));
                }
            }
        })?;
        output.finish()?;
        Ok(vec![path.to_path_buf()])
    }
}
