//! `unmissed crossfit`: out-of-fold predictions of any trainer.

use crate::app::{App, Outcome};
use crate::args::{self, Reading, Seed};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use unmissed::data::formats::{self, Content, ReadOptions};
use unmissed::data::{Csr, Dataset, Folds};
use unmissed::predict::PredictOptions;
use unmissed::request::TrainRequest;
use unmissed::train::Trainer;
use unmissed::{Error, Result};

/// Predict every training row with a model that was not trained on it: by folds, with any trainer
#[derive(clap::Args)]
#[command(after_help = "Estimates from a later snapshot of the training rows ('audit --later --train-predictions', \
'propensity fit rows') need predictions for the training rows that are as good as those for new rows. COMMAND is run once for each \
fold: {train} and {test} are data files of the fold (text, 'rows features labels' in the first line), and it writes its \
predictions for the rows of {test} to {out} ('rows labels', then 'label:score label:score' per line; .npz is recognised too). It \
is run directly, without a shell: use sh -c '...' for pipes. Without COMMAND, our own plain training is used.

Fold models are trained on fewer rows than the final model and are slightly worse; with ten folds the difference is small.

Examples:
  unmissed crossfit --train train.txt --folds 3 -o oof.txt
  unmissed crossfit --train train.txt --folds 2 -o oof.npz -- sh trainer.sh {train} {test} {out}")]
pub(crate) struct Args {
    /// Data to train on and to predict, with features
    #[arg(long, value_name = "DATA")]
    train: PathBuf,
    /// The file to write: predictions for the rows of the training data, in the same order
    #[arg(long, short, value_name = "PREDICTIONS")]
    output: PathBuf,
    /// Number of folds
    #[arg(long, default_value_t = Folds::DEFAULT, value_name = "N")]
    folds: u32,
    /// Number of labels that our own training keeps per row
    #[arg(short, long, default_value_t = Folds::DEFAULT_K, value_name = "K", conflicts_with = "command")]
    k: usize,
    /// Format of the output ('unmissed list formats') [default: by its ending]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Command that trains and predicts, with {train}, {test} and {out} for the files of a fold
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    args::check_output(&args.output, &[&args.train])?;
    if !args.command.is_empty() {
        check(&args.command)?;
    }
    let data = args.reading.dataset(&args.train, app)?;
    if data.features().is_none() {
        return Err(Error::value("the data have no features to train on").in_file(&args.train).into());
    }
    let folds = Folds::new(data.rows(), args.folds, args.seed.seed).map_err(|error| error.in_file(&args.train))?;
    let folder =
        tempfile::tempdir().map_err(|cause| Error::io("cannot create a folder for the folds", std::env::temp_dir(), cause))?;
    let scores = folds.predict(&data, |fold, train, test| {
        app.note(&format!("fold {} of {}: {} rows to train on, {} to predict", fold + 1, args.folds, train.rows(), test.rows()));
        match args.command.is_empty() {
            true => plain(train, test, args, app),
            false => external(&args.command, folder.path(), train, test, app),
        }
        .map_err(|error| error.hint(format!("in fold {}", fold + 1)))
    })?;
    args::write(&Content::Scores(scores), &args.output, args.to.as_deref(), app)
}

/// Our own training with its defaults.
fn plain(train: &Dataset<'_>, test: &Dataset<'_>, args: &Args, app: &App) -> Result<Csr<'static, f32>> {
    let request = TrainRequest { seed: args.seed.seed, ..TrainRequest::default() };
    let (model, _) = Trainer::new(request).progress(app.progress()).train(train)?;
    let features = test.features().ok_or_else(|| Error::value("there are no features"))?;
    model.predict(features, &PredictOptions { k: args.k, logits: true, progress: app.progress(), ..PredictOptions::default() })
}

const PLACEHOLDERS: [&str; 3] = ["{train}", "{test}", "{out}"];

/// A command that does not look at a fold, or leaves nothing behind, cannot be meant.
fn check(command: &[String]) -> Result<()> {
    match PLACEHOLDERS.iter().find(|name| !command.iter().any(|part| part.contains(*name))) {
        Some(missing) => Err(Error::value(format!("the command does not use {missing}"))
            .expected("{train}, {test} and {out} in COMMAND")
            .found(format!("'{}'", command.join(" ")))),
        None => Ok(()),
    }
}

/// Another program, by files.
fn external(
    command: &[String],
    folder: &Path,
    train: &Dataset<'static>,
    test: &Dataset<'static>,
    app: &App,
) -> Result<Csr<'static, f32>> {
    let files = ["train.txt", "test.txt", "predictions"].map(|name| folder.join(name));
    for (data, path) in [(train, &files[0]), (test, &files[1])] {
        formats::write(&Content::Data(data.clone()), path, Some("xmc"))?;
    }
    if files[2].exists() {
        std::fs::remove_file(&files[2]).map_err(|cause| Error::io("cannot remove", &files[2], cause))?;
    }
    let filled = |part: &String| {
        let pairs = PLACEHOLDERS.iter().zip(&files);
        pairs.fold(part.clone(), |text, (name, path)| text.replace(name, &path.display().to_string()))
    };
    let parts: Vec<String> = command.iter().map(filled).collect();
    let [program, arguments @ ..] = &parts[..] else { return Err(Error::value("the command is empty")) };
    // What it prints is not our result: it goes where notes go.
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(std::io::stderr()).status();
    let status = status.map_err(|cause| Error::io("cannot run", program, cause))?;
    if !status.success() {
        return Err(Error::value(format!("'{program}' failed")).expected("exit code 0").found(status.to_string()));
    }
    if !files[2].exists() {
        return Err(Error::value(format!("'{program}' wrote no predictions")).expected("a file at {out}"));
    }
    formats::read_scores(&files[2], &ReadOptions { mmap: false, progress: app.progress(), ..ReadOptions::default() })
}
