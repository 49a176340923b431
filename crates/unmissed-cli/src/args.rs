//! Arguments that several commands share.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::path::{Path, PathBuf};
use unmissed::data::formats::{self, Content, ReadOptions};
use unmissed::data::{Csr, Dataset};
use unmissed::report::renderers::RENDERERS;
use unmissed::spec::{Named, Spec};

use crate::app::{App, Outcome};

/// Arguments of every command.
#[derive(Args, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// How results are printed
    #[arg(long, global = true, default_value = "table", value_parser = choices(RENDERERS))]
    pub(crate) format: String,
    /// How many threads work; results do not depend on it [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// No progress and no notes, only results and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// The names of a registry as the choices of an argument.
pub(crate) fn choices<T: Named + ?Sized>(entries: &'static [&'static T]) -> PossibleValuesParser {
    PossibleValuesParser::new(entries.iter().map(|entry| PossibleValue::new(entry.name()).help(entry.summary())))
}

/// How input files are read.
#[derive(Args, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Format of the input; text, npz and Parquet are recognised by themselves, ratings and matrix must be named
    #[arg(long, value_name = "FORMAT")]
    from: Option<Spec>,
    /// Ratings (or scores) of at least this much are labels [default: all that are not zero]
    #[arg(long, value_name = "LEAST", allow_negative_numbers = true)]
    positive: Option<f32>,
    /// Read files instead of mapping them; for files that may be truncated meanwhile
    #[arg(long)]
    no_mmap: bool,
}

impl Reading {
    pub(crate) fn options<'a>(&self, app: &'a App) -> ReadOptions<'a> {
        ReadOptions { format: self.from.clone(), positive: self.positive, mmap: !self.no_mmap, progress: app.progress() }
    }

    pub(crate) fn content(&self, path: &Path, app: &App) -> Outcome<Content> {
        Ok(formats::read(path, &self.options(app))?)
    }

    pub(crate) fn dataset(&self, path: &Path, app: &App) -> Outcome<Dataset<'static>> {
        let content = self.content(path, app)?;
        self.check_positive(&content, path)?;
        if matches!((&content, self.positive), (Content::Scores(_), None)) {
            let path = path.display();
            app.note(&format!("{path} has scores: every entry that is not zero is taken as a label (--positive sets a threshold)"));
        }
        Ok(content.into_dataset(self.positive)?)
    }

    /// A threshold for labels that have no scores would be ignored, and its user misled.
    pub(crate) fn check_positive(&self, content: &Content, path: &Path) -> Outcome<()> {
        match (self.positive, content) {
            (Some(_), Content::Data(_)) => Err(unmissed::Error::value("--positive is for ratings and scores")
                .found("labels without scores")
                .hint("leave --positive out")
                .in_file(path)
                .into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn scores(&self, path: &Path, app: &App) -> Outcome<Csr<'static, f32>> {
        Ok(formats::read_scores(path, &self.options(app))?)
    }

    /// Whether files may be mapped.
    pub(crate) fn mmap(&self) -> bool {
        !self.no_mmap
    }

    /// The threshold for positive ratings.
    pub(crate) fn positive(&self) -> Option<f32> {
        self.positive
    }
}

/// The seed of commands that draw random numbers.
#[derive(Args, Debug)]
pub(crate) struct Seed {
    /// Seed of all random choices: the same seed gives the same result on any number of threads
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
}

/// Writes a file, and says what was written and what its format could not hold.
pub(crate) fn write(content: &Content, path: &Path, format: Option<&str>, app: &App) -> Outcome<()> {
    app.progress().begin(&format!("writing {}", path.display()), 0);
    let written = formats::write(content, path, format)?;
    for file in &written.files {
        app.note(&format!("wrote {} ({})", file.display(), written.format));
    }
    for dropped in &written.dropped {
        app.note(&format!("{} cannot hold, so it was dropped: {dropped}", written.format));
    }
    Ok(())
}

/// Rejects an output that is one of the inputs, before anything is read: the input would be lost.
pub(crate) fn check_output(output: &Path, inputs: &[&Path]) -> unmissed::Result<()> {
    let Ok(output_itself) = output.canonicalize() else { return Ok(()) };
    if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == output_itself)) {
        return Err(unmissed::Error::value("the output is also an input, which would be lost")
            .hint("write into another file")
            .in_file(output));
    }
    Ok(())
}

/// A folder for several output files, made when it is not there.
pub(crate) fn folder(path: &Path) -> Outcome<PathBuf> {
    std::fs::create_dir_all(path).map_err(|cause| unmissed::Error::io("cannot make the folder", path, cause))?;
    Ok(path.to_path_buf())
}

/// The last part of a path, for tables.
pub(crate) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let endings = [".gz", ".zst", ".txt", ".svm", ".svmlight", ".libsvm", ".xmc", ".npz", ".parquet", ".csv", ".tsv", ".ascii"];
    let mut stem = name.as_ref();
    for ending in endings {
        stem = stem.strip_suffix(ending).unwrap_or(stem);
    }
    stem.to_owned()
}
