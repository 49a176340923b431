//! Data sets that the user has: folders, and which files in them are what.

use crate::data::Dataset;
use crate::data::formats::{self, ReadOptions};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Endings of files with training and test rows.
const TRAIN: &[&str] = &["train", "trn"];
const TEST: &[&str] = &["test", "tst"];
/// Endings that say how a file is written.
const KINDS: &[&str] = &[".txt", ".npz", ".svm", ".txt.gz", ".txt.zst"];
/// Files that make a folder one of the sets whose layout is known: two snapshots, or a survey.
const OTHERS: &[&str] = &["train_early.txt", "train.ascii"];

/// The original names of the files of Yahoo R3: what users chose, and what they were shown.
const YAHOO_R3: [&str; 2] = ["ydata-ymusic-rating-study-v1_0-train.txt", "ydata-ymusic-rating-study-v1_0-test.txt"];

/// The user's own copy of the Yahoo R3 ratings, which need a signed agreement.
#[derive(Clone, Debug, PartialEq)]
pub struct YahooR3 {
    /// Ratings of songs that users chose.
    pub(super) chosen: PathBuf,
    /// Ratings of songs that were drawn for users.
    pub(super) random: PathBuf,
}

impl YahooR3 {
    /// The files in a folder, under their original names.
    pub fn at(folder: &Path) -> Result<YahooR3> {
        let [chosen, random] = YAHOO_R3.map(|name| folder.join(name));
        for (path, name) in [(&chosen, YAHOO_R3[0]), (&random, YAHOO_R3[1])] {
            if !path.is_file() {
                return Err(Error::value("the folder has no copy of Yahoo R3")
                    .expected(format!("a file {name}"))
                    .in_file(folder)
                    .hint("the files keep their original names"));
            }
        }
        Ok(YahooR3 { chosen, random })
    }
}

/// A folder with a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFolder {
    /// The folder's name.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
}

/// The data sets in folders: a folder is one itself, or has them as its subfolders.
pub fn data_folders(folders: &[PathBuf]) -> Result<Vec<DataFolder>> {
    let mut found = Vec::new();
    for folder in folders {
        let before = found.len();
        let own = DataFolder::at(folder)?;
        if own.is_data() {
            found.push(own);
        } else {
            let mut inside: Vec<PathBuf> = listed(folder)?.into_iter().filter(|path| path.is_dir()).collect();
            inside.sort();
            for path in inside {
                let set = DataFolder::at(&path)?;
                if set.is_data() {
                    found.push(set);
                }
            }
        }
        if found.len() == before {
            return Err(Error::value("no data set was found")
                .expected("a folder with *train.txt and *test.txt, or with folders that have them")
                .in_file(folder));
        }
    }
    Ok(found)
}

impl DataFolder {
    fn at(folder: &Path) -> Result<DataFolder> {
        let whole = folder.canonicalize().map_err(|cause| Error::io("cannot open the folder", folder, cause))?;
        let name = whole.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(DataFolder { name, folder: folder.to_path_buf() })
    }

    fn is_data(&self) -> bool {
        (self.ending(TRAIN).is_some() && self.ending(TEST).is_some()) || OTHERS.iter().any(|name| self.file(name).is_some())
    }

    /// The file of this name, if it exists.
    pub(super) fn file(&self, name: &str) -> Option<PathBuf> {
        let path = self.folder.join(name);
        path.is_file().then_some(path)
    }

    fn ending(&self, stems: &[&str]) -> Option<PathBuf> {
        let mut files = listed(&self.folder).ok()?;
        // Names of rows may lie beside them: `rows_train.txt` and `train.txt`.
        files.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
        let fits = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
            stems.iter().any(|stem| KINDS.iter().any(|kind| name.ends_with(&format!("{stem}{kind}"))))
        };
        files.into_iter().find(fits)
    }

    /// The training and test rows; `None` when the folder has no such files.
    pub(super) fn rows(&self) -> Result<Option<(Dataset<'static>, Dataset<'static>)>> {
        let (Some(train), Some(test)) = (self.ending(TRAIN), self.ending(TEST)) else { return Ok(None) };
        Ok(Some((read(&train)?, read(&test)?)))
    }
}

/// A data set from a file.
pub(super) fn read(path: &Path) -> Result<Dataset<'static>> {
    formats::read_dataset(path, &ReadOptions::default())
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|cause| Error::io("cannot list the folder", folder, cause))?;
    Ok(entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_data_sets_or_have_them() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("toy");
        std::fs::create_dir(&inner).unwrap();
        assert!(data_folders(&[folder.path().to_path_buf()]).is_err());
        std::fs::write(inner.join("toy_train.txt"), "2 1 2\n0 0:1\n1 0:1\n").unwrap();
        std::fs::write(inner.join("toy_test.txt"), "1 1 2\n1 0:1\n").unwrap();
        std::fs::write(inner.join("rows_train.txt"), "one\ntwo\n").unwrap();
        let outer = data_folders(&[folder.path().to_path_buf()]).unwrap();
        let itself = data_folders(std::slice::from_ref(&inner)).unwrap();
        assert_eq!((outer[0].name.as_str(), itself.len()), ("toy", 1));
        let (train, test) = outer[0].rows().unwrap().unwrap();
        assert_eq!((train.rows(), test.rows()), (2, 1));
    }
}
