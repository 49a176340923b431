//! Arguments that several commands share.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::path::{Path, PathBuf};
use unmissed::Error;
use unmissed::data::formats::{self, Content, Expected, Holds, ReadOptions};
use unmissed::data::{Csr, Dataset, Names, NamesOf, TextFile, Texts};
use unmissed::report::renderers::RENDERERS;
use unmissed::request::byte_size;
use unmissed::spec::{Named, Spec};

use crate::app::{App, Outcome};

/// Arguments of every command.
#[derive(Args, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// How results are printed
    #[arg(long, global = true, default_value = "table", value_parser = choices(RENDERERS))]
    pub(crate) format: String,
    /// Number of threads; results do not depend on it [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Largest size that a compressed file may expand to, or that is read from a pipe into memory
    #[arg(long, global = true, value_name = "SIZE", default_value = "64GB", value_parser = byte_size)]
    pub(crate) max_size: u64,
    /// Print only results and errors, no progress and no notes
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
    /// Format of the input; text, csv, npy, npz and Parquet are recognised automatically, ratings and matrix must be named. It does
    /// not apply to inputs of another kind (labels, predictions); NAME=FILE,from=FORMAT sets it for one file
    #[arg(long, value_name = "FORMAT")]
    from: Option<Spec>,
    /// Ratings (or scores) of at least this much are labels [default: all that are not zero]
    #[arg(long, value_name = "LEAST", allow_negative_numbers = true)]
    positive: Option<f32>,
    /// Read files instead of mapping them; for files that may be truncated while they are read
    #[arg(long)]
    no_mmap: bool,
}

impl Reading {
    pub(crate) fn options<'a>(&self, app: &'a App) -> ReadOptions<'a> {
        let (format, mmap) = (self.from.clone(), !self.no_mmap);
        ReadOptions { format, positive: self.positive, mmap, progress: app.progress(), ..ReadOptions::default() }
    }

    pub(crate) fn content(&self, path: &Path, app: &App) -> Outcome<Content> {
        Ok(formats::read(path, &self.options(app))?)
    }

    pub(crate) fn dataset(&self, path: &Path, app: &App) -> Outcome<Dataset<'static>> {
        let mut options = self.options(app);
        if self.is_for(Holds::Predictions)? {
            (options.format, options.fallback) = (None, options.format);
        }
        let content = formats::read(path, &options)?;
        self.check_positive(&content, path)?;
        // Labels are often kept as ones.
        let is_graded = |values: &[f32]| values.iter().any(|value| *value != 0.0 && *value != 1.0);
        if matches!((&content, self.positive), (Content::Scores(scores), None) if is_graded(scores.values())) {
            let path = path.display();
            app.note(&format!("{path} has scores: every nonzero entry is used as a label (--positive sets a threshold)"));
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

    /// Whether the format of --from holds nothing but this.
    fn is_for(&self, what: Holds) -> Outcome<bool> {
        Ok(match &self.from {
            Some(from) => formats::find(from.name())?.holds() == what,
            None => false,
        })
    }

    /// Predictions, or other numbers for pairs. `from` is the file's own format; that of all files counts where this one's content is
    /// not recognised.
    pub(crate) fn scores(
        &self,
        path: &Path,
        from: Option<&Spec>,
        expected: Option<Expected<'_>>,
        app: &App,
    ) -> Outcome<Csr<'static, f32>> {
        let all = self.options(app);
        let mut options = ReadOptions { expected, format: from.cloned(), ..all };
        if from.is_none() && !self.is_for(Holds::Data)? {
            options.fallback = self.from.clone();
        }
        Ok(formats::read_scores(path, &options)?)
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

/// What labels and rows are called.
#[derive(Args, Debug)]
#[command(next_help_heading = "Names")]
pub(crate) struct Naming {
    /// Names of labels: a line for each label, or a column of a table (FILE.csv:COLUMN, FILE.tsv:COLUMN, FILE.jsonl:FIELD)
    #[arg(long, value_name = "FILE")]
    label_names: Option<TextFile>,
    /// Names of the test rows, in the same way
    #[arg(long, value_name = "FILE")]
    row_names: Option<TextFile>,
}

impl Naming {
    /// The files, by what they hold.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, &TextFile)> {
        let all = [("label names", self.label_names.as_ref()), ("row names", self.row_names.as_ref())];
        all.into_iter().filter_map(|(role, file)| Some((role, file?)))
    }

    pub(crate) fn labels(&self, count: usize) -> Outcome<Option<Names>> {
        Ok(self.label_names.as_ref().map(|file| Names::read(NamesOf::Labels, file, count)).transpose()?)
    }

    pub(crate) fn rows(&self, count: usize) -> Outcome<Option<Names>> {
        Ok(self.row_names.as_ref().map(|file| Names::read(NamesOf::Rows, file, count)).transpose()?)
    }
}

/// Writes predictions: with names into a table, without them into any format.
pub(crate) fn write_predictions(
    scores: Csr<'static, f32>,
    path: &Path,
    format: Option<&str>,
    naming: &Naming,
    app: &App,
) -> Outcome<()> {
    let (labels, rows) = (naming.labels(scores.cols())?, naming.rows(scores.rows())?);
    if labels.is_none() && rows.is_none() {
        return write(&Content::Scores(scores), path, format, app);
    }
    if let Some(other) = format.filter(|format| *format != "csv") {
        return Err(Error::value("names can only be written into a csv").found(format!("--to {other}")).into());
    }
    app.progress().begin(&format!("writing {}", path.display()), 0);
    formats::write_named(&scores, labels.as_ref(), rows.as_ref(), path)?;
    app.note(&format!("wrote {} (csv with names)", path.display()));
    Ok(())
}

/// Texts of the test rows.
pub(crate) fn row_texts(file: Option<&TextFile>, rows: usize) -> Outcome<Option<Texts>> {
    Ok(file.map(|file| Texts::read(NamesOf::Rows, file, rows)).transpose()?)
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
        app.note(&format!("{} cannot store this, so it was dropped: {dropped}", written.format));
    }
    Ok(())
}

/// Rejects an output that is one of the inputs, before anything is read: the input would be lost.
pub(crate) fn check_output(output: &Path, inputs: &[&Path]) -> unmissed::Result<()> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(unmissed::Error::value(format!("the folder {} does not exist", folder.display())).in_file(output));
    }
    let Ok(output_itself) = output.canonicalize() else { return Ok(()) };
    if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == output_itself)) {
        return Err(unmissed::Error::value("the output is also an input, which would be lost")
            .hint("write into another file")
            .in_file(output));
    }
    Ok(())
}

/// The same for several files: none is an input, and no two are the same.
pub(crate) fn check_outputs<'a>(outputs: impl IntoIterator<Item = &'a PathBuf>, inputs: &[&Path]) -> unmissed::Result<()> {
    let mut before: Vec<PathBuf> = Vec::new();
    for output in outputs {
        check_output(output, inputs)?;
        let place = place(output);
        if before.contains(&place) {
            return Err(unmissed::Error::value("two outputs have this name, and one of them would be lost")
                .hint("write into another file")
                .in_file(output));
        }
        before.push(place);
    }
    Ok(())
}

/// Where a file is or will be, however its path is spelled.
fn place(path: &Path) -> PathBuf {
    let in_folder = |name| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        folder.canonicalize().ok().map(|folder| folder.join(name))
    };
    path.canonicalize().ok().or_else(|| path.file_name().and_then(in_folder)).unwrap_or_else(|| path.to_owned())
}

/// A folder for several output files, made when it is not there.
pub(crate) fn folder(path: &Path) -> Outcome<PathBuf> {
    std::fs::create_dir_all(path).map_err(|cause| unmissed::Error::io("cannot create the folder", path, cause))?;
    Ok(path.to_path_buf())
}

/// The last part of a path, for tables.
pub(crate) fn stem(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "stdin".to_owned();
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let endings =
        [".gz", ".zst", ".txt", ".svm", ".svmlight", ".libsvm", ".xmc", ".npz", ".npy", ".parquet", ".csv", ".tsv", ".ascii"];
    let mut stem = name.as_ref();
    for ending in endings {
        stem = stem.strip_suffix(ending).unwrap_or(stem);
    }
    stem.to_owned()
}

/// The arguments of a command that these options give, for tests of the request that they fill.
#[cfg(test)]
pub(crate) fn parsed<A: Args>(options: &str) -> A {
    let words = std::iter::once("unmissed").chain(options.split_whitespace());
    A::from_arg_matches(&A::augment_args(clap::Command::new("unmissed")).get_matches_from(words)).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_bounded_as_the_library_bounds_them() {
        assert_eq!(parsed::<Global>("").max_size, unmissed::data::DEFAULT_MAX_SIZE);
    }
}
