//! `parquet`: a row for each row, with lists in its columns. Only in builds with the feature `parquet`.
//!
//! Data have the columns `labels`, `indices` and `values` (lists of ids, of feature ids and of their values; labels alone are
//! data without features), predictions `labels` and `scores`. Ids are integers of 32 or 64 bits, values float32 or float64
//! (rounded to the nearest 32-bit number). The shape is in the key-value metadata of files that we write: `rows`, `features` (data
//! only) and `labels`. Files of other programs have as many rows as there are, and the labels that their predictions are read for, or what
//! `parquet:labels=M,features=D` says. Other columns are ignored; nulls are errors. Written files are compressed with zstd.

mod bounds;
mod columns;
mod shape;

use super::{Content, Format, ReadOptions};
use crate::data::max_size::{check_expanded, max_size};
use crate::data::output::Output;
use crate::data::source::Source;
use crate::data::{Csr, Dataset, Features};
use crate::error::{Error, Result};
use crate::spec::{Named, Spec};
use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, RecordBatch};
use bounds::check_declared;
use columns::{Lists, list_of_ids, list_of_values};
use shape::Shape;
use std::path::{Path, PathBuf};

/// Rows that are turned into columns at a time.
const ROWS: usize = 4096;

/// See the module's page.
pub(super) struct Parquet;

impl crate::sealed::Sealed for Parquet {}

impl Named for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }
    fn summary(&self) -> &'static str {
        "Parquet: list columns labels, indices, values (data) or labels, scores (predictions); options features, labels"
    }
}

impl Format for Parquet {
    fn extensions(&self) -> &'static [&'static str] {
        &["parquet"]
    }

    fn recognises(&self, head: &[u8], _options: &ReadOptions<'_>) -> bool {
        head.starts_with(b"PAR1")
    }

    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
        spec.allow(&["features", "labels"], &[])?;
        let size = source.size().unwrap_or(0);
        options.progress.begin(&format!("reading {}", source.path().display()), size);
        let bytes = bytes::Bytes::from_owner(source.into_bytes()?);
        let content = guarded(|| read_content(bytes, spec, options, max_size()))?;
        options.progress.advance(size)?;
        Ok(content)
    }

    fn drops(&self, _content: &Content) -> Vec<String> {
        Vec::new()
    }

    fn write(&self, content: &Content, path: &Path) -> Result<Vec<PathBuf>> {
        let mut output = Output::create(path)?;
        write_content(content, &mut output).map_err(|error| Error::io("cannot write", path, std::io::Error::other(error)))?;
        output.finish()?;
        Ok(vec![path.to_path_buf()])
    }
}

/// Runs a reader and makes an error of a panic: the library asserts some of what a damaged file can break (a negative
/// length of a column, a page that needs a dictionary which is not there).
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|_| Err(broken("its parts do not match")))
}

fn broken(why: impl std::fmt::Display) -> Error {
    Error::format(format!("cannot read the Parquet file ({why})")).hint("the file is truncated or damaged: fetch or write it again")
}

/// The content of a file that may expand to so many bytes.
fn read_content(bytes: bytes::Bytes, spec: &Spec, options: &ReadOptions<'_>, most: u64) -> Result<Content> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(broken)?;
    let has = |name: &str| builder.schema().column_with_name(name).is_some();
    let names: &[&str] = match (has("labels"), has("scores"), has("indices"), has("values")) {
        (true, true, false, false) => &["labels", "scores"],
        (true, false, true, true) => &["labels", "indices", "values"],
        (true, false, false, false) => &["labels"],
        _ => {
            let found: Vec<String> = builder.schema().fields().iter().take(8).map(|field| field.name().clone()).collect();
            return Err(Error::format("the columns of the Parquet file are not those of a data set or of predictions")
                .expected("labels, indices, values; or labels, scores; or labels alone")
                .found(if found.is_empty() { "none".into() } else { found.join(", ") }));
        }
    };
    let metadata = builder.metadata().file_metadata().key_value_metadata();
    let shape = Shape::of(metadata, names.contains(&"indices"), spec, options)?;
    check_declared(builder.metadata(), names, most)?;
    let lists = read_lists(builder, names, most)?;
    let rows = shape.rows.or_else(|| lists.first().map(Lists::rows)).unwrap_or(0);
    for list in &lists {
        if list.rows() != rows {
            return Err(Error::format("the metadata and the rows of the Parquet file disagree")
                .expected(format!("{rows} rows"))
                .found(format!("{} of '{}'", list.rows(), list.name())));
        }
    }
    let (label_cols, entry_cols) = (shape.labels, shape.features.unwrap_or(shape.labels));
    let mut lists = lists.into_iter();
    let (Some(labels), second, third) = (lists.next(), lists.next(), lists.next()) else {
        return Err(broken("a column is missing"));
    };
    match (second, third) {
        (Some(scores), None) => Ok(Content::Scores(labels.with_values(scores, entry_cols)?)),
        (Some(indices), Some(values)) => {
            let features = Features::Sparse(indices.with_values(values, entry_cols)?);
            Ok(Content::Data(Dataset::new(Some(features), labels.into_labels(label_cols)?)?))
        }
        (None, _) => Ok(Content::Data(Dataset::new(None, labels.into_labels(label_cols)?)?)),
    }
}

/// The columns with these names, as long as they take at most so many bytes: a file may be larger than it declares.
fn read_lists(builder: ParquetRecordBatchReaderBuilder<bytes::Bytes>, names: &[&str], most: u64) -> Result<Vec<Lists>> {
    let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
    let mut lists: Vec<Lists> = names.iter().map(|name| Lists::new(name)).collect();
    for batch in builder.with_projection(mask).with_batch_size(ROWS).build().map_err(broken)? {
        let batch = batch.map_err(broken)?;
        for list in &mut lists {
            let column = batch.column_by_name(list.name()).ok_or_else(|| broken("a column is missing"))?;
            list.append(column)?;
        }
        check_expanded(lists.iter().map(Lists::bytes).sum(), most)?;
    }
    Ok(lists)
}

fn write_content(content: &Content, output: &mut Output) -> std::result::Result<(), ParquetError> {
    let features = match content {
        Content::Data(data) => {
            data.features().map(Features::to_sparse).transpose().map_err(|e| ParquetError::External(Box::new(e)))?
        }
        Content::Scores(_) => None,
    };
    let (rows, labels) = match content {
        Content::Data(data) => (data.rows(), data.labels().cols()),
        Content::Scores(scores) => (scores.rows(), scores.cols()),
    };
    let mut shape = vec![("rows", rows), ("labels", labels)];
    shape.extend(features.as_ref().map(|features| ("features", features.cols())));
    let metadata = shape.into_iter().map(|(key, count)| KeyValue::new(key.to_owned(), count.to_string())).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(metadata))
        .build();

    let batch = |from: usize, to: usize| -> std::result::Result<RecordBatch, ParquetError> {
        let matrix_columns = |ids: &'static str, values: &'static str, matrix: &Csr<'_, f32>| -> Vec<(&str, ArrayRef)> {
            vec![(ids, list_of_ids(matrix, from..to)), (values, list_of_values(matrix, from..to))]
        };
        let columns = match (content, &features) {
            (Content::Scores(scores), _) => matrix_columns("labels", "scores", scores),
            (Content::Data(data), None) => vec![("labels", list_of_ids(data.labels(), from..to))],
            (Content::Data(data), Some(features)) => {
                let mut columns = vec![("labels", list_of_ids(data.labels(), from..to))];
                columns.extend(matrix_columns("indices", "values", features));
                columns
            }
        };
        Ok(RecordBatch::try_from_iter(columns)?)
    };
    // A file without rows still needs its columns.
    let mut writer = ArrowWriter::try_new(output, batch(0, 0)?.schema(), Some(properties))?;
    for from in (0..rows).step_by(ROWS) {
        writer.write(&batch(from, rows.min(from + ROWS))?)?;
    }
    writer.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels;
    use crate::data::formats::{read, write};

    /// Runs of equal numbers, which take no bytes in the file.
    #[test]
    fn files_that_expand_too_much_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        let labels = Labels::from_ids(4, (0..10_000).map(|_| vec![1, 2, 3])).unwrap();
        write(&Content::Data(Dataset::new(None, labels).unwrap()), &path, None).unwrap();
        let file = bytes::Bytes::from(std::fs::read(&path).unwrap());
        assert!(file.len() < 10_000, "{}", file.len());
        let (spec, options) = ("parquet".parse().unwrap(), ReadOptions::default());
        let read = |most| read_content(file.clone(), &spec, &options, most);
        assert!(read(240_000).is_ok());
        let message = read(239_999).unwrap_err().to_string();
        assert!(message.contains("larger than allowed") && message.contains("at most 239999 bytes, found 240000"), "{message}");
        // Also where the file does not declare it.
        let builder = || ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
        assert!(read_lists(builder(), &["labels"], 200_008).is_ok());
        let message = read_lists(builder(), &["labels"], 150_000).err().unwrap().to_string();
        assert!(message.contains("at most 150000 bytes, found 163848"), "{message}");
    }

    /// The reader asserts that there is none. That is caught, but whoever reads would see the panic.
    #[test]
    fn columns_with_a_negative_place_are_rejected() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hostile/negative-place.parquet");
        let file = bytes::Bytes::from(std::fs::read(path).unwrap());
        let message = read_content(file, &"parquet".parse().unwrap(), &ReadOptions::default(), 1 << 20).err().unwrap().to_string();
        assert!(message.contains("negative place or length"), "{message}");
    }

    #[test]
    fn everything_comes_back() {
        let scores = Csr::from_arrays(5, vec![0, 2, 2, 4], vec![4, 0, 1, 2], vec![0.5f32, 0.0, -1.25, 1e-30]).unwrap();
        let labels = Labels::from_ids(4, [vec![1], vec![], vec![3, 0]]).unwrap();
        let features = Features::Sparse(scores.clone());
        let empty = Labels::from_ids(4, Vec::<Vec<u32>>::new()).unwrap();
        let many = Csr::from_rows(9, (0..10_000u32).map(|row| (0..row % 4).map(move |id| (id, row as f32)))).unwrap();
        for content in [
            Content::Scores(scores),
            Content::Data(Dataset::new(Some(features), labels.clone()).unwrap()),
            Content::Data(Dataset::new(None, labels).unwrap()),
            Content::Data(Dataset::new(None, empty).unwrap()),
            Content::Scores(many),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.parquet");
            assert_eq!(write(&content, &path, None).unwrap().format, "parquet");
            for mmap in [true, false] {
                assert_eq!(read(&path, &ReadOptions { mmap, ..Default::default() }).unwrap(), content);
            }
        }
    }
}
