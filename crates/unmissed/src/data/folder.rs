//! A folder of Parquet files: one data set, or the predictions of one model, cut into parts as Spark, Ray and pyarrow write them.
//!
//! Parts are concatenated in the order of their names. All must have the same columns and labels.

use super::formats::{Content, ReadOptions, read};
use super::split::{merge, stack};
use super::{Csr, Dataset};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// The rows of all Parquet files of a folder.
pub(in crate::data) fn read_folder(folder: &Path, options: &ReadOptions<'_>) -> Result<Content> {
    let files = parts_of(folder)?;
    let mut parts = Vec::new();
    for file in &files {
        parts.push(read(file, options)?);
    }
    joined(&files, parts)
}

/// The files, by name. Names that start with a dot or an underscore are metadata of the program that wrote the folder.
fn parts_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |cause| Error::io("cannot read the folder", folder, cause);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.ends_with(".parquet") && !name.starts_with(['.', '_']) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::value("is a directory").expected("a file, or a folder with .parquet files").in_file(folder));
    }
    Ok(files)
}

/// One content of all parts, which must be of one kind.
fn joined(files: &[PathBuf], parts: Vec<Content>) -> Result<Content> {
    let kind = |content: &Content| match content {
        Content::Data(data) => (data.features().map(|features| features.cols()), data.labels().cols(), false),
        Content::Scores(scores) => (None, scores.cols(), true),
    };
    let words = |(features, labels, scores): (Option<usize>, usize, bool)| match (features, scores) {
        (_, true) => format!("predictions for {labels} labels"),
        (Some(features), _) => format!("rows with {features} features and {labels} labels"),
        (None, _) => format!("rows with {labels} labels"),
    };
    let first = parts.first().map(&kind);
    for (file, part) in files.iter().zip(&parts) {
        if let Some(first) = first.filter(|first| *first != kind(part)) {
            return Err(Error::format("the parts of a folder do not match")
                .expected(format!("{}, as in {}", words(first), files[0].display()))
                .found(words(kind(part)))
                .in_file(file));
        }
    }
    let (mut data, mut scores) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Content::Data(part) => data.push(part),
            Content::Scores(part) => scores.push(part),
        }
    }
    if scores.is_empty() {
        return Ok(Content::Data(merge(&data.iter().collect::<Vec<&Dataset<'_>>>())?));
    }
    let scores: Vec<&Csr<'_, f32>> = scores.iter().collect();
    Ok(Content::Scores(stack(scores.into_iter(), "labels")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Labels, Scores};

    fn names(count: usize) -> Vec<PathBuf> {
        (0..count).map(|part| format!("part-{part}.parquet").into()).collect()
    }

    #[test]
    fn parts_are_put_behind_each_other() {
        let data = |row: Vec<u32>| Content::Data(Dataset::new(None, Labels::from_ids(5, [row]).unwrap()).unwrap());
        let Content::Data(all) = joined(&names(3), vec![data(vec![0]), data(vec![1, 4]), data(vec![])]).unwrap() else {
            panic!("labels are data")
        };
        assert_eq!(all.labels(), &Labels::from_ids(5, [vec![0], vec![1, 4], vec![]]).unwrap());
        let scores = |label: u32| Content::Scores(Scores::from_rows(5, [[(label, 0.5)]]).unwrap());
        let Content::Scores(all) = joined(&names(2), vec![scores(3), scores(1)]).unwrap() else { panic!("scores are scores") };
        assert_eq!((all.row_ids(0), all.row_ids(1)), (&[3][..], &[1][..]));
        let error = joined(&names(2), vec![scores(3), data(vec![1])]).unwrap_err().to_string();
        assert!(error.contains("part-1.parquet") && error.contains("found rows with 5 labels"), "{error}");
    }

    #[test]
    fn only_parquet_files_count() {
        let folder = tempfile::tempdir().unwrap();
        let error = parts_of(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is a directory") && error.contains("a folder with .parquet files"), "{error}");
        for name in ["b.parquet", "a.parquet", "_SUCCESS", "_x.parquet", "notes.txt"] {
            std::fs::write(folder.path().join(name), b"PAR1").unwrap();
        }
        let found: Vec<_> = parts_of(folder.path()).unwrap().iter().map(|path| path.file_name().unwrap().to_owned()).collect();
        assert_eq!(found, ["a.parquet", "b.parquet"]);
    }
}
