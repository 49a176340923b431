//! `parquet`: a row for each row, with lists in its columns. Only in builds with the feature `parquet`.
//!
//! Data have the columns `labels`, `indices` and `values` (lists of ids, of feature ids and of their values; labels alone are
//! data without features), predictions `labels` and `scores`. Ids are integers of 32 or 64 bits, values float32 or float64
//! (rounded to the nearest 32-bit number). The shape is in the file's key-value metadata: `rows`, `features` (data only) and
//! `labels`. Other columns are ignored; nulls are errors. Written files are compressed with zstd.

mod columns;

use super::{Content, Format, ReadOptions};
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
use columns::{Lists, list_of_ids, list_of_values};
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
        "Parquet: list columns labels, indices, values (data) or labels, scores (predictions)"
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
        spec.allow(&[], &[])?;
        let size = source.size().unwrap_or(0);
        options.progress.begin(&format!("reading {}", source.path().display()), size);
        let bytes = bytes::Bytes::from_owner(source.into_bytes()?);
        let content = guarded(|| read_content(bytes))?;
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

fn read_content(bytes: bytes::Bytes) -> Result<Content> {
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
    let count = |key: &str| -> Result<u64> {
        let value = metadata.and_then(|pairs| pairs.iter().find(|pair| pair.key == key)).and_then(|pair| pair.value.as_deref());
        value.and_then(|text| text.parse().ok()).ok_or_else(|| {
            Error::format(format!("the metadata of the Parquet file lack '{key}'"))
                .expected(format!("the number of {key} as text"))
                .found(value.map_or("nothing".into(), |text| crate::error::shown(text.as_bytes())))
                .hint("the shape cannot be known from the rows alone")
        })
    };
    let (rows, label_cols) = (count("rows")?, count("labels")?);
    let entry_cols = if names.contains(&"indices") { count("features")? } else { label_cols };

    let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
    let mut lists: Vec<Lists> = names.iter().map(|name| Lists::new(name)).collect();
    for batch in builder.with_projection(mask).with_batch_size(ROWS).build().map_err(broken)? {
        let batch = batch.map_err(broken)?;
        for list in &mut lists {
            let column = batch.column_by_name(list.name()).ok_or_else(|| broken("a column is missing"))?;
            list.append(column)?;
        }
    }
    for list in &lists {
        if list.rows() != rows {
            return Err(Error::format("the metadata and the rows of the Parquet file disagree")
                .expected(format!("{rows} rows"))
                .found(format!("{} of '{}'", list.rows(), list.name())));
        }
    }
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
