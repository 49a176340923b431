//! File formats, one file each, read and written.
//!
//! A format is an entry of [`FORMATS`]. [`read`] recognises the format by the content of the file (or takes the one that
//! is asked for; ratings and dense matrices of text are never guessed), [`write()`] goes by the name of the file. What a file holds
//! is a [`Content`]; [`read_dataset`] and [`read_scores`] turn it into what the caller needs, or say why that cannot be. Formats that
//! do not say for themselves how many rows and labels there are learn it from [`ReadOptions::expected`].
//! Adding a format is one new file and one line in the list.

pub mod csv;
pub mod matrix;
pub mod npy;
pub mod npz;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod ratings;
pub mod scores;
pub mod svmlight;
pub mod xmc;

pub use csv::write_named;

use super::source::{Compression, Source};
use super::{Csr, Dataset, Names};
use crate::error::{Error, Result};
use crate::progress::{Progress, Silent};
use crate::sealed::Sealed;
use crate::spec::{self, Named, Spec};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// All formats, in the order in which they are tried on a file.
pub static FORMATS: &[&dyn Format] = &[
    &xmc::Xmc,
    &scores::Scores,
    &svmlight::Svmlight,
    &npz::Npz,
    &npy::Npy,
    &csv::Csv,
    #[cfg(feature = "parquet")]
    &parquet::Parquet,
    &ratings::Ratings,
    &matrix::Matrix,
];

/// A way to keep matrices in files. Only this crate implements it.
pub trait Format: Named + Sealed + Sync {
    /// Endings of file names (without a dot) that ask for this format when writing; the first is the usual one.
    fn extensions(&self) -> &'static [&'static str];
    /// What its files are about.
    fn holds(&self) -> Holds {
        Holds::Either
    }
    /// Whether a file that starts with these (decompressed) bytes is in this format, given what it is read for.
    fn recognises(&self, head: &[u8], options: &ReadOptions<'_>) -> bool;
    /// Reads a file. `spec` carries the format's own options.
    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content>;
    /// What of this content the format cannot hold, in words; empty when nothing is lost.
    fn drops(&self, content: &Content) -> Vec<String>;
    /// Writes a file and gives the names of what it wrote.
    fn write(&self, content: &Content, path: &Path) -> Result<Vec<PathBuf>>;
}

/// What files of a format are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Rows with labels, and features where there are any.
    Data,
    /// Labels with a score each.
    Predictions,
    /// Any of the two.
    Either,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Rows with labels, and features where the file has them.
    Data(Dataset<'static>),
    /// Labels with a score each: predictions, or ratings.
    Scores(Csr<'static, f32>),
}

/// What predictions are for: the test rows and their labels.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The number of rows.
    pub rows: usize,
    /// The number of labels.
    pub labels: usize,
    /// What labels are called, where files may have names instead of ids.
    pub label_names: Option<&'a Names>,
    /// What rows are called.
    pub row_names: Option<&'a Names>,
}

/// How to read.
#[derive(Clone)]
pub struct ReadOptions<'a> {
    /// The format, when it is not to be recognised by content: `xmc`, `svmlight:base=1`, ...
    pub format: Option<Spec>,
    /// The format of a file whose content is not recognised.
    pub fallback: Option<Spec>,
    /// What predictions are for, when predictions are read.
    pub expected: Option<Expected<'a>>,
    /// Scores (ratings) of at least this much are labels, when labels are wanted; `None`: all that are not zero.
    pub positive: Option<f32>,
    /// Whether files may be memory-mapped. Turn it off for files that another process may truncate while they are read.
    pub mmap: bool,
    /// Receives progress.
    pub progress: &'a dyn Progress,
}

impl Default for ReadOptions<'_> {
    fn default() -> Self {
        ReadOptions { format: None, fallback: None, expected: None, positive: None, mmap: true, progress: &Silent }
    }
}

/// Reads a file in any format.
///
/// ```
/// use unmissed::data::formats::{read_dataset, ReadOptions};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("data.txt");
/// std::fs::write(&path, "2 4 3\n0,2 1:0.5 3:1\n 0:2\n")?;
/// let data = read_dataset(&path, &ReadOptions::default())?;
/// assert_eq!((data.rows(), data.labels().cols()), (2, 3));
/// assert_eq!(data.labels().row_ids(0), [0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Content> {
    let path = path.as_ref();
    if path.is_dir() {
        return crate::data::folder::read_folder(path, options);
    }
    let pair = npz::pair_of(path);
    let path = pair.as_deref().unwrap_or(path);
    let mut source = Source::open(path, options.mmap)?;
    let stamp = source.take_stamp();
    // Whatever is wrong with a file that changed is no news about the file.
    let content = read_source(source, options);
    stamp.map_or(Ok(()), |stamp| stamp.check(path))?;
    content
}

/// Reads what is already open, or in memory.
pub fn read_source(source: Source, options: &ReadOptions<'_>) -> Result<Content> {
    let path = source.path().to_path_buf();
    let located = |error: Error| error.in_file(&path);
    if let Some(spec) = &options.format {
        let format = named(FORMATS, spec.name())?;
        return format.read(source, spec, options).map_err(located);
    }
    let head = source.head();
    match (FORMATS.iter().find(|format| format.recognises(head, options)), &options.fallback) {
        (Some(format), _) => format.read(source, &format.name().parse()?, options).map_err(located),
        (None, Some(spec)) => named(FORMATS, spec.name())?.read(source, spec, options).map_err(located),
        (None, None) => Err(located(unrecognised(FORMATS, head, options.expected))),
    }
}

fn unrecognised(formats: &[&dyn Format], head: &[u8], expected: Option<Expected<'_>>) -> Error {
    if head.is_empty() {
        let least =
            if expected.is_some() { "a line 'label:score label:score' for each row" } else { "a header 'rows features labels'" };
        return Error::format("the file is empty").hint(format!("{least} is the least that is expected"));
    }
    if head.starts_with(b"PAR1") {
        return without_parquet(Error::format("a Parquet file, which this build cannot read"));
    }
    if is_model(head) {
        let error =
            Error::format("a model, not what it predicts").expected(if expected.is_some() { "predictions" } else { "data" });
        return error.hint("run 'unmissed predict MODEL DATA -o FILE' first, and give its file");
    }
    let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
    // Whoever sees two lines that would be right need not read about formats.
    let (what, right, how) = match expected {
        Some(Expected { rows, labels, .. }) => (
            "predictions",
            format!("'{rows} {labels}' and '3:0.9 17:0.25' (rows and labels; a row's label:score)"),
            "NAME=FILE,from=FORMAT",
        ),
        None => (
            "data",
            "'2 100 20' and '3,17 0:0.5 42:1' (rows, features and labels; a row's labels and feature:value)".into(),
            "--from FORMAT",
        ),
    };
    Error::format("the format of this file is not recognised")
        .expected(format!("{what} whose first two lines are like {right}, or one of {}", names.join(", ")))
        .found(format!("the first line {}", crate::error::shown(first)))
        .hint(format!("name the format with {how} if you know it"))
}

/// Whether these are the first bytes of a model file: the length of a header, and the header, of which the first tensor may be seen alone.
fn is_model(head: &[u8]) -> bool {
    let header = head.split_first_chunk().map(|(length, header)| (u64::from_le_bytes(*length), header));
    header.is_some_and(|(length, header)| length < 1 << 32 && header.starts_with(b"{\""))
}

/// Parquet is the one format that a build may lack: the error says how to get it.
fn without_parquet(error: Error) -> Error {
    error.hint("build with the feature 'parquet': cargo install unmissed-cli --features parquet")
}

/// The format with this name.
pub fn find(name: &str) -> Result<&'static dyn Format> {
    named(FORMATS, name)
}

fn named(formats: &[&'static dyn Format], name: &str) -> Result<&'static dyn Format> {
    spec::find(formats, "format", name).map_err(|error| match name {
        "parquet" => without_parquet(Error::value("this build lacks the format 'parquet'")),
        _ => error,
    })
}

/// Reads rows with labels. Scores become labels where they are at least [`ReadOptions::positive`], or not zero.
pub fn read_dataset(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Dataset<'static>> {
    // Asked before a long read.
    check_positive(options.positive)?;
    read(path, options)?.into_dataset(options.positive)
}

/// No score is at least NaN, so it would make every label disappear.
fn check_positive(positive: Option<f32>) -> Result<()> {
    match positive {
        Some(least) if least.is_nan() => {
            Err(Error::value("the threshold for positive scores is not a number").expected("a number, as in 4").found("NaN"))
        }
        _ => Ok(()),
    }
}

/// Reads predictions: the stored entries are the predictions, zeros included.
pub fn read_scores(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Csr<'static, f32>> {
    let path = path.as_ref();
    match read(path, options)? {
        Content::Scores(scores) => match options.expected {
            Some(expected) => expected.check(scores).map_err(|error| error.in_file(path)),
            None => Ok(scores),
        },
        Content::Data(_) => Err(Error::format("labels without scores")
            .expected("predictions ('rows labels', then 'label:score label:score')")
            .found("a data set")
            .in_file(path)),
    }
}

impl Expected<'_> {
    /// Predictions of another shape are for other rows or labels.
    fn check(self, scores: Csr<'static, f32>) -> Result<Csr<'static, f32>> {
        let wrong = |unit: &str, expected: usize, found: usize, hint: &str| {
            Error::value("the predictions do not fit the labels")
                .expected(format!("{expected} {unit}"))
                .found(found.to_string())
                .hint(hint.to_owned())
        };
        if scores.rows() != self.rows {
            return Err(wrong("rows", self.rows, scores.rows(), "row i of the predictions must be row i of the test labels"));
        }
        if scores.cols() != self.labels {
            let hint = "labels are counted from 0, and both files must be about the same ones";
            return Err(wrong("labels", self.labels, scores.cols(), hint));
        }
        Ok(scores)
    }
}

/// Writes a file in the format that its name (or `format`) asks for. Gives the files written and what could not be held.
pub fn write(content: &Content, path: impl AsRef<Path>, format: Option<&str>) -> Result<Written> {
    let path = path.as_ref();
    let format = match format {
        Some(name) => named(FORMATS, name)?,
        None => format_of_name(FORMATS, path, content)?,
    };
    Ok(Written { format: format.name(), dropped: format.drops(content), files: format.write(content, path)? })
}

/// What [`write()`] did.
#[derive(Clone, Debug)]
pub struct Written {
    /// The name of the format.
    pub format: &'static str,
    /// The files that exist now.
    pub files: Vec<PathBuf>,
    /// What the format could not hold.
    pub dropped: Vec<String>,
}

/// The format for a new file: by its ending; among formats with the same ending, the first that drops nothing.
fn format_of_name(formats: &[&'static dyn Format], path: &Path, content: &Content) -> Result<&'static dyn Format> {
    let (_, plain) = Compression::of_name(path);
    let ending = plain.extension().and_then(|ending| ending.to_str()).unwrap_or("txt");
    let candidates: Vec<_> = formats.iter().filter(|format| format.extensions().contains(&ending)).collect();
    let exact = candidates.iter().find(|format| format.drops(content).is_empty());
    exact.or(candidates.first()).map(|format| **format).ok_or_else(|| {
        if ending == "parquet" {
            return without_parquet(Error::value("a Parquet file, which this build cannot write").in_file(path));
        }
        let mut known: Vec<&str> = Vec::new();
        for ending in formats.iter().flat_map(|format| format.extensions()) {
            if !known.contains(ending) {
                known.push(ending);
            }
        }
        Error::value(format!("no format is known by the ending '.{ending}'"))
            .in_file(path)
            .expected(format!("one of .{}", known.join(", .")))
            .hint("name the format with --to")
    })
}

impl Content {
    /// Rows with labels, for writing: nothing is copied when that is what the content is.
    fn to_dataset(&self) -> Result<Cow<'_, Dataset<'static>>> {
        match self {
            Content::Data(data) => Ok(Cow::Borrowed(data)),
            Content::Scores(_) => Ok(Cow::Owned(self.clone().into_dataset(None)?)),
        }
    }

    /// Rows with labels: scores become labels where they are at least `positive`, or not zero.
    pub fn into_dataset(self, positive: Option<f32>) -> Result<Dataset<'static>> {
        check_positive(positive)?;
        match self {
            Content::Data(data) => Ok(data),
            Content::Scores(scores) => {
                let is_label = |value: f32| positive.map_or(value != 0.0, |least| value >= least);
                let kept = scores.filter_map(scores.cols() as u64, |_, id, value| is_label(value).then_some(id))?;
                Dataset::new(None, kept.pattern().into_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_ending_is_answered_with_every_known_one_once() {
        let content = Content::Scores(Csr::from_arrays(1, vec![0], vec![], vec![]).unwrap());
        let message = write(&content, "x.docx", None).unwrap_err().to_string();
        assert_eq!(message.matches(".txt").count(), 1, "{message}");
    }

    /// With the formats of a build that lacks Parquet, whichever build this is.
    #[test]
    fn parquet_without_the_feature_says_how_to_get_it() {
        let without: Vec<&'static dyn Format> = FORMATS.iter().copied().filter(|format| format.name() != "parquet").collect();
        let content = Content::Scores(Csr::from_arrays(1, vec![0], vec![], vec![]).unwrap());
        for error in [
            unrecognised(&without, b"PAR1\x15\x04", None),
            named(&without, "parquet").err().unwrap(),
            format_of_name(&without, Path::new("out.parquet"), &content).err().unwrap(),
        ] {
            let message = error.to_string();
            assert!(message.contains("this build") && message.contains("--features parquet"), "{message}");
        }
    }

    #[test]
    fn a_threshold_that_is_not_a_number_is_refused() {
        let content = Content::Scores(Csr::from_arrays(1, vec![0], vec![], vec![]).unwrap());
        assert!(content.into_dataset(Some(f32::NAN)).unwrap_err().to_string().contains("not a number"));
        let options = ReadOptions { positive: Some(f32::NAN), ..Default::default() };
        assert!(read_dataset("none", &options).unwrap_err().to_string().contains("not a number"));
    }
}
