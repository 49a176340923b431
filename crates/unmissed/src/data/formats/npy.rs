//! `npy`: one array of numpy, as `numpy.save` writes it, in two dimensions.
//!
//! - Floating numbers are scores, one for each (row, label): every one is a prediction, zeros too. Minus infinity says that a label
//!   is not predicted.
//! - Whole numbers, where the number of labels is known and the array has another width, are the labels of each row, best first;
//!   -1 leaves a place empty. An array of one dimension has one label per row.
//! - Bools, and whole numbers that are all 0 or 1, are label indicators.
//!
//! Numbers of half and double precision become 32-bit floating numbers, rounded to the nearest. Labels are written as an array of
//! bools, scores as float32, with 0 for entries that are not stored.

use super::npz::array::{Array, Elements, write_header};
use super::ratings::dropped_features;
use super::{Content, Format, ReadOptions};
use crate::data::csr::checked_cols;
use crate::data::output::Output;
use crate::data::source::{Compression, Source};
use crate::data::{Csr, Dataset, Labels};
use crate::error::{Error, Result};
use crate::spec::{Named, Spec};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Numbers that a dense array may have when it is written.
const MOST: u128 = 1 << 32;

/// See the module's page.
pub(super) struct Npy;

impl crate::sealed::Sealed for Npy {}

impl Named for Npy {
    fn name(&self) -> &'static str {
        "npy"
    }
    fn summary(&self) -> &'static str {
        "numpy.save: scores for each (row, label), or the labels of each row, best first, or labels as 0 and 1"
    }
}

impl Format for Npy {
    fn extensions(&self) -> &'static [&'static str] {
        &["npy"]
    }

    fn recognises(&self, head: &[u8], _options: &ReadOptions<'_>) -> bool {
        head.starts_with(b"\x93NUMPY")
    }

    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
        spec.allow(&[], &[])?;
        let size = source.size().unwrap_or(0);
        options.progress.begin(&format!("reading {}", source.path().display()), size);
        let bytes = source.into_bytes()?;
        let content = content(Array::open("data", bytes.as_ref())?, options)?;
        options.progress.advance(size)?;
        Ok(content)
    }

    fn drops(&self, content: &Content) -> Vec<String> {
        let mut dropped = dropped_features(content);
        if let Content::Scores(scores) = content
            && (scores.nnz() < scores.rows().saturating_mul(scores.cols()) || !scores.is_sorted())
        {
            dropped.push("which scores are stored (others are 0 in a dense array)".into());
        }
        dropped
    }

    fn write(&self, content: &Content, path: &Path) -> Result<Vec<PathBuf>> {
        if Compression::of_name(path).0 != Compression::None {
            return Err(Error::value("an npy file cannot be compressed").in_file(path).hint("leave the .gz or .zst out"));
        }
        let (rows, cols) = match content {
            Content::Data(data) => (data.rows(), data.labels().cols()),
            Content::Scores(scores) => (scores.rows(), scores.cols()),
        };
        if rows as u128 * cols as u128 > MOST {
            return Err(Error::value("the content does not make a dense array")
                .in_file(path)
                .expected(format!("at most {MOST} numbers"))
                .found(format!("{rows} x {cols}"))
                .hint("choose another format, as in NAME.npz"));
        }
        let mut output = Output::create(path)?;
        let failed = |cause| Error::io("cannot write", path, cause);
        let kind = if matches!(content, Content::Data(_)) { "|b1" } else { "<f4" };
        write_header(&mut output, kind, &[rows as u64, cols as u64]).map_err(failed)?;
        for row in 0..rows {
            match content {
                Content::Data(data) => {
                    let mut dense = vec![0u8; cols];
                    data.labels().row_ids(row).iter().for_each(|id| dense[*id as usize] = 1);
                    output.put(&dense)?;
                }
                Content::Scores(scores) => {
                    let mut dense = vec![[0u8; 4]; cols];
                    let (ids, values) = scores.row(row);
                    ids.iter().zip(values).for_each(|(id, value)| dense[*id as usize] = value.to_le_bytes());
                    output.put(dense.as_flattened())?;
                }
            }
        }
        output.finish()?;
        Ok(vec![path.to_path_buf()])
    }
}

/// What an array means. See the module's page.
pub(super) fn content<R: Read>(array: Array<R>, options: &ReadOptions<'_>) -> Result<Content> {
    let elements = array.elements()?;
    let labels = options.expected.map(|expected| expected.labels as u64);
    let is_top = |width: u64| elements == Elements::Integers && labels.is_some_and(|labels| labels != width);
    let (rows, width) = match (array.shape(), labels) {
        (&[rows, width], _) => (rows, width),
        (&[rows], Some(_)) if elements == Elements::Integers => (rows, 1),
        (shape, _) => {
            let hint = if shape.len() == 1 { "reshape it to (rows, labels)" } else { "one matrix makes a file" };
            return Err(Error::format("the array has the wrong number of dimensions")
                .expected("2: rows and labels")
                .found(format!("shape {shape:?}"))
                .hint(hint));
        }
    };
    let wide = checked_cols(width)?;
    if let Some(labels) = labels.filter(|labels| is_top(width) || (array.shape().len() == 1 && *labels > 0)) {
        return top_labels(&array.matrix_integers()?, rows as usize, width as usize, labels).map(Content::Scores);
    }
    match elements {
        Elements::Floats => dense_scores(array.matrix_floats()?, rows, wide).map(Content::Scores),
        Elements::Bools | Elements::Integers => {
            let numbers = array.matrix_floats()?;
            if labels.is_some() || numbers.iter().any(|number| *number != 0.0 && *number != 1.0) {
                return dense_scores(numbers, rows, wide).map(Content::Scores);
            }
            let (mut offsets, mut ids) = (vec![0u64], Vec::new());
            for row in numbers.chunks(width.max(1) as usize) {
                ids.extend((0u32..).zip(row).filter(|(_, there)| **there != 0.0).map(|(id, _)| id));
                offsets.push(ids.len() as u64);
            }
            // Rows of no labels have no numbers to tell them by.
            offsets.resize(crate::data::triples::checked_rows(rows, numbers.len())? + 1, ids.len() as u64);
            Ok(Content::Data(Dataset::new(None, Labels::new(width, offsets, ids)?)?))
        }
    }
}

/// Every number is a score, but for minus infinity.
fn dense_scores(numbers: Vec<f32>, rows: u64, width: u32) -> Result<Csr<'static, f32>> {
    let rows = crate::data::triples::checked_rows(rows, numbers.len())?;
    let cols = width as usize;
    if !numbers.contains(&f32::NEG_INFINITY) {
        let offsets: Vec<u64> = (0..=rows as u64).map(|row| row * u64::from(width)).collect();
        let ids: Vec<u32> = (0..rows).flat_map(|_| 0..width).collect();
        return Csr::from_arrays(width.into(), offsets, ids, numbers);
    }
    let entries = |row: &[f32]| -> Vec<(u32, f32)> {
        (0..width).zip(row.iter().copied()).filter(|(_, number)| *number != f32::NEG_INFINITY).collect()
    };
    Csr::from_rows(width.into(), numbers.chunks(cols.max(1)).map(entries))
}

/// Labels in the given order, best first. The scores only keep that order.
fn top_labels(ids: &[i64], rows: usize, width: usize, labels: u64) -> Result<Csr<'static, f32>> {
    let mut found: Vec<Vec<(u32, f32)>> = Vec::with_capacity(ids.len() / width.max(1));
    for (row, ids) in ids.chunks(width.max(1)).enumerate() {
        let mut entries = Vec::with_capacity(width);
        for (rank, id) in ids.iter().enumerate().filter(|(_, id)| **id != -1) {
            let label = u32::try_from(*id).ok().filter(|id| u64::from(*id) < labels).ok_or_else(|| {
                Error::format("label id out of range")
                    .expected(format!("a label from 0 to {}, or -1 for none", labels.saturating_sub(1)))
                    .found(id.to_string())
                    .hint(format!(
                        "in row {row} (counted from 0); an array of whole numbers has the labels of each row, best first"
                    ))
            })?;
            entries.push((label, (width - rank) as f32));
        }
        found.push(entries);
    }
    found.resize(crate::data::triples::checked_rows(rows as u64, ids.len())?, Vec::new());
    Csr::from_rows(labels, found)
}

#[cfg(test)]
mod tests;
