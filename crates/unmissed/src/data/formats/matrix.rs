//! `matrix`: a dense matrix of ratings as text, a line for each user with a number for each item, 0 for no rating.
//!
//! Numbers are separated by spaces or tabs and every line has the same number of them. The format is never guessed from
//! content. A stored zero cannot be distinguished from no rating, so it is lost when written.

use super::ratings::{dropped_features, with_scores};
use super::{Content, Format, ReadOptions};
use crate::data::output::Output;
use crate::data::source::Source;
use crate::data::{Ratings, text};
use crate::error::{Error, Result};
use crate::spec::{Named, Spec};
use std::path::{Path, PathBuf};

/// A dense matrix with more numbers than this is assumed to be a mistake.
const MOST: u128 = 100_000_000;

/// See the module's page.
pub(super) struct Matrix;

impl crate::sealed::Sealed for Matrix {}

impl Named for Matrix {
    fn name(&self) -> &'static str {
        "matrix"
    }
    fn summary(&self) -> &'static str {
        "text: a dense matrix of ratings, users by items, 0 where there is none; never guessed"
    }
}

impl Format for Matrix {
    fn extensions(&self) -> &'static [&'static str] {
        &["ascii", "matrix"]
    }

    fn recognises(&self, _head: &[u8], _options: &ReadOptions<'_>) -> bool {
        false
    }

    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
        spec.allow(&[], &[])?;
        Ok(Content::Scores(Ratings::of_source(source, options, Ratings::from_matrix)?.ratings))
    }

    fn drops(&self, content: &Content) -> Vec<String> {
        let mut dropped = dropped_features(content);
        if matches!(content, Content::Scores(scores) if scores.values().contains(&0.0)) {
            dropped.push("stored scores of 0 (in a dense matrix 0 means none)".into());
        }
        dropped
    }

    fn write(&self, content: &Content, path: &Path) -> Result<Vec<PathBuf>> {
        with_scores(content, |scores| {
            let size = scores.rows() as u128 * scores.cols() as u128;
            if size == 0 || size > MOST {
                return Err(Error::value("the content does not make a dense matrix")
                    .in_file(path)
                    .expected(format!("from 1 to {MOST} numbers"))
                    .found(format!("{} x {}", scores.rows(), scores.cols()))
                    .hint("choose another format"));
            }
            let mut output = Output::create(path)?;
            text::write_rows(&mut output, scores.rows(), |row, text| {
                let mut dense = vec![0.0; scores.cols()];
                let (ids, values) = scores.row(row);
                ids.iter().zip(values).for_each(|(id, value)| dense[*id as usize] = *value);
                for (column, value) in dense.iter().enumerate() {
                    if column > 0 {
                        text.push(b' ');
                    }
                    text::write_value(text, *value);
                }
            })?;
            output.finish()
        })?;
        Ok(vec![path.to_path_buf()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Csr;
    use crate::data::formats::{read, write};

    #[test]
    fn written_matrices_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.ascii");
        let scores = Csr::from_arrays(3, vec![0, 2, 2], vec![2, 0], vec![4.0f32, 0.1]).unwrap();
        let written = write(&Content::Scores(scores.clone()), &path, None).unwrap();
        assert_eq!((written.format, written.dropped.len()), ("matrix", 0));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0.1 0 4\n0 0 0\n");
        let options = ReadOptions { format: Some("matrix".parse().unwrap()), ..Default::default() };
        assert_eq!(read(&path, &options).unwrap(), Content::Scores(scores.into_sorted()));
    }

    #[test]
    fn zeros_are_said_to_be_lost_and_absurd_sizes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.matrix");
        let zeros = Content::Scores(Csr::from_arrays(2, vec![0, 1], vec![0], vec![0.0f32]).unwrap());
        assert_eq!(write(&zeros, &path, None).unwrap().dropped.len(), 1);
        for (cols, rows) in [(u64::from(u32::MAX), 1), (0, 1), (3, 0)] {
            let content = Content::Scores(Csr::from_arrays(cols, vec![0; rows + 1], vec![], vec![]).unwrap());
            let message = write(&content, &path, None).unwrap_err().to_string();
            assert!(message.contains("does not make a dense matrix"), "{message}");
        }
    }
}
