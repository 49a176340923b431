//! `ratings`: a line `user,item,rating` for each rating, as recommendation data are kept.
//!
//! Fields are separated by commas, tabs, `::`, semicolons or spaces, whichever the first line has; a header line and further
//! columns (times) are allowed. Users become rows and items columns, in the order of their numbers, or of their letters when
//! not all are whole numbers ([`data::Ratings`](crate::data::Ratings) has the names). The format is never guessed from content. Written are the stored
//! entries with their ids as names.

use super::{Content, Format, ReadOptions};
use crate::data::output::Output;
use crate::data::source::Source;
use crate::data::{Csr, LabelStats, Ratings as Table, text};
use crate::error::Result;
use crate::spec::{Named, Spec};
use std::path::{Path, PathBuf};

/// See the module's page.
pub(super) struct Ratings;

impl crate::sealed::Sealed for Ratings {}

impl Named for Ratings {
    fn name(&self) -> &'static str {
        "ratings"
    }
    fn summary(&self) -> &'static str {
        "text: a line 'user,item,rating' for each rating (csv, tsv, '::'); never guessed"
    }
}

impl Format for Ratings {
    fn extensions(&self) -> &'static [&'static str] {
        &["ratings"]
    }

    fn recognises(&self, _head: &[u8], _options: &ReadOptions<'_>) -> bool {
        false
    }

    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
        spec.allow(&[], &[])?;
        Ok(Content::Scores(Table::of_source(source, options, Table::from_lines)?.ratings))
    }

    fn drops(&self, content: &Content) -> Vec<String> {
        let mut dropped = dropped_features(content);
        let gaps = with_scores(content, |scores| {
            let empty = (0..scores.rows()).any(|row| scores.row_ids(row).is_empty());
            empty || LabelStats::of(&scores.pattern()).occurring().len() < scores.cols()
        });
        if gaps {
            dropped.push("users and items without a rating (the others are renumbered)".into());
        }
        dropped
    }

    fn write(&self, content: &Content, path: &Path) -> Result<Vec<PathBuf>> {
        let mut output = Output::create(path)?;
        output.put(b"user,item,rating\n")?;
        with_scores(content, |scores| {
            let rows: Vec<usize> = (0..scores.rows()).filter(|row| !scores.row_ids(*row).is_empty()).collect();
            text::write_rows(&mut output, rows.len(), |place, text| {
                let (ids, ratings) = scores.row(rows[place]);
                for (nth, (id, rating)) in ids.iter().zip(ratings).enumerate() {
                    if nth > 0 {
                        text.push(b'\n');
                    }
                    text.extend_from_slice(rows[place].to_string().as_bytes());
                    text.push(b',');
                    text::write_id(text, *id);
                    text.push(b',');
                    text::write_value(text, *rating);
                }
            })
        })?;
        output.finish()?;
        Ok(vec![path.to_path_buf()])
    }
}

/// What formats without features leave out.
pub(super) fn dropped_features(content: &Content) -> Vec<String> {
    let has = matches!(content, Content::Data(data) if data.features().is_some());
    if has { vec!["features".into()] } else { Vec::new() }
}

/// Looks at a content as scores: labels are ones.
pub(super) fn with_scores<T>(content: &Content, look: impl FnOnce(&Csr<'_, f32>) -> T) -> T {
    match content {
        Content::Scores(scores) => look(scores),
        Content::Data(data) => look(&data.labels().filled_with(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::formats::{read, write};
    use crate::data::{Dataset, Labels};

    fn options(format: &str) -> ReadOptions<'static> {
        ReadOptions { format: Some(format.parse().unwrap()), ..Default::default() }
    }

    #[test]
    fn written_ratings_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.ratings");
        let content = Content::Scores(Csr::from_arrays(3, vec![0, 2, 3], vec![0, 2, 1], vec![4.0f32, 0.0, 0.1]).unwrap());
        let written = write(&content, &path, None).unwrap();
        assert_eq!((written.format, written.dropped.len()), ("ratings", 0));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "user,item,rating\n0,0,4\n0,2,0\n1,1,0.1\n");
        assert_eq!(read(&path, &options("ratings")).unwrap(), content);
    }

    #[test]
    fn gaps_and_features_are_said_to_be_lost() {
        let folder = tempfile::tempdir().unwrap();
        let labels = Labels::from_ids(4, [vec![1], vec![], vec![3, 0]]).unwrap();
        let features = crate::data::Features::Sparse(Csr::from_arrays(1, vec![0, 0, 0, 0], vec![], vec![]).unwrap());
        let content = Content::Data(Dataset::new(Some(features), labels).unwrap());
        let path = folder.path().join("r.ratings");
        let written = write(&content, &path, None).unwrap();
        assert_eq!(written.dropped.len(), 2);
        let Content::Scores(back) = read(&path, &options("ratings")).unwrap() else { panic!("ratings are scores") };
        assert_eq!((back.rows(), back.cols(), back.nnz()), (2, 3, 3));
    }

    #[test]
    fn ratings_are_never_guessed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.csv");
        std::fs::write(&path, "1,2,3\n").unwrap();
        let message = read(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("--from"), "{message}");
        assert!(read(&path, &options("ratings:sep=tab")).is_err());
    }
}
