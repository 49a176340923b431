//! `scores`: predictions, or labels alone, as text.
//!
//! A header `rows labels`, then a line for each row: `label:score label:score`, in any order. An empty line is a row without
//! predictions. The header may be missing: the number of rows is then that of the lines, and the number of labels what the
//! predictions are read for, or what `scores:labels=M` says, or one more than the largest label. Stored entries are predictions, zeros included; read as labels, entries that are not zero are labels.

use super::xmc::check_rows;
use super::{Content, Format, Holds, ReadOptions};
use crate::data::csr::checked_cols;
use crate::data::output::Output;
use crate::data::source::Source;
use crate::data::text::{self, Grammar, Header};
use crate::error::{Error, Result};
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
        "text: header 'rows labels' or none, then 'label:score label:score' (predictions, or labels alone; option labels)"
    }
}

impl Format for Scores {
    fn holds(&self) -> Holds {
        Holds::Predictions
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["txt", "scores"]
    }

    fn recognises(&self, head: &[u8], _options: &ReadOptions<'_>) -> bool {
        match text::header(head) {
            Some(header) => header.numbers.len() == 2,
            None => has_no_header(head),
        }
    }

    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
        spec.allow(&["labels"], &[])?;
        if text::header(source.head()).is_none() && has_no_header(source.head()) {
            return without_header(source, spec, options);
        }
        let (header, [rows, labels]) = Header::exactly(source.head(), "rows labels")?;
        if let Some(declared) = super::svmlight::count(spec, "labels")?.filter(|declared| *declared != labels) {
            return Err(Error::format("the header has another number of labels")
                .expected(declared.to_string())
                .found(labels.to_string())
                .at(1));
        }
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

/// Lines looked at to tell predictions without a header from svmlight data, whose rows without labels look like them.
const LINES: usize = 50;

/// Whether the first lines have nothing but `label:score`. A line that starts with a space is a row of svmlight data without labels.
fn has_no_header(head: &[u8]) -> bool {
    let is_entry = |word: &[u8]| word.first().is_some_and(u8::is_ascii_digit) && word.contains(&b':');
    let words = |line: &[u8]| line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(is_entry).collect::<Vec<_>>();
    // The last line of the head may be cut anywhere.
    let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
    let mut some = false;
    for line in whole.split(|byte| *byte == b'\n').take(LINES) {
        let entries = words(line);
        if line.starts_with(b" ") && !entries.is_empty() || entries.contains(&false) {
            return false;
        }
        some |= !entries.is_empty();
    }
    some
}

fn without_header(source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
    let declared = super::svmlight::count(spec, "labels")?.or(options.expected.map(|expected| expected.labels as u64));
    let entry_cols = declared.map(checked_cols).transpose()?;
    let grammar = Grammar { labels: false, entry: "label", label_cols: Some(0), entry_cols };
    let parsed = text::read_rows(source, None, &grammar, options.progress)?;
    let columns = entry_cols.map_or_else(|| checked_cols(parsed.bounds().1), Ok)?;
    let rows = options.expected.map(|expected| expected.rows).filter(|rows| parsed.rows() != *rows);
    if let Some(rows) = rows {
        let error = Error::value("the predictions do not fit the labels")
            .expected(format!("{rows} rows, a line for each"))
            .found(format!("{} lines", parsed.rows()));
        let ends = parsed.rows() > rows && parsed.is_empty_from(rows);
        return Err(if ends { error.hint("an empty line at the end counts as a row without predictions") } else { error });
    }
    Ok(Content::Scores(parsed.into_matrices(0, columns).1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::formats::{Expected, read_scores};

    fn read(text: &str, rows: usize, labels: usize) -> Result<crate::data::Csr<'static, f32>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.txt");
        std::fs::write(&path, text).unwrap();
        let expected = Some(Expected { rows, labels, label_names: None, row_names: None });
        read_scores(&path, &ReadOptions { expected, ..Default::default() })
    }

    #[test]
    fn lines_without_a_header_take_their_shape_from_what_they_are_for() {
        let wanted = read("3 9\n4:0.5 8:1\n\n0:-2\n", 3, 9).unwrap();
        for text in ["4:0.5 8:1\n\n0:-2\n", "4:0.5\t8:1\r\n\r\n0:-2\r\n", "4:0.5 8:1 \n\n0:-2"] {
            assert_eq!(read(text, 3, 9).unwrap(), wanted, "{text:?}");
        }
        assert_eq!(read("\n4:1\n", 2, 9).unwrap().row_ids(1), [4]);
    }

    #[test]
    fn another_shape_is_an_error_that_says_so() {
        let message = |text: &str| read(text, 2, 5).unwrap_err().to_string();
        assert!(message("4:1\n").ends_with("expected 2 rows, a line for each, found 1 lines"), "{}", message("4:1\n"));
        assert!(message("4:1\n0:1\n\n").contains("an empty line at the end"));
        assert!(message("4:1\n5:1\n").contains(":2: label id out of range: expected an id from 0 to 4, found 5"));
        assert!(message("2 6\n4:1\n0:1\n").contains("expected 5 labels, found 6"));
        assert!(message("4:1\n0:1 x\n").contains("not recognised: expected predictions whose first two lines are like '2 5'"));
        assert!(message("4:1\n0:x\n").contains(":2: cannot read the value of a label"));
    }

    #[test]
    fn data_without_labels_in_their_first_rows_are_no_predictions() {
        let options = ReadOptions::default();
        assert!(!Scores.recognises(b" 1:0.5 2:1\n3 1:1\n", &options));
        assert!(!Scores.recognises(b"1:0.5 2:1\n3 1:1\n", &options));
        assert!(Scores.recognises(b"1:0.5 2:1\n3:1 1:1\n12", &options));
        assert!(!Scores.recognises(b"\n\n", &options) && !Scores.recognises(b"", &options));
    }
}
