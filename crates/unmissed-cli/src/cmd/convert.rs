//! `unmissed convert`: from one file format to another.

use crate::app::{App, Outcome};
use crate::args::{self, Reading};
use std::path::PathBuf;
use unmissed::data::formats::Content;
use unmissed::predict::file::{self, AnyModel};
use unmissed::{Error, Result};

/// Convert between file formats; reports what the new format cannot store
#[derive(clap::Args)]
#[command(after_help = "The format of OUTPUT follows from its ending (.txt .svm .npz .parquet ...; .gz and .zst compress text). \
A data set in npz is a pair of files, NAME.x.npz (features) and NAME.y.npz (labels). With --prune or --half, INPUT is a model with a scorer \
for each label, and OUTPUT the same model in fewer bytes, as if it had been trained with these options.

Examples:
  unmissed convert train.txt train.npz
  unmissed convert train.x.npz again.txt.gz
  unmissed convert ratings.csv labels.txt --from ratings --positive 4
  unmissed convert plain.safetensors small.safetensors --half --prune 0.01")]
pub(crate) struct Args {
    /// The file to read
    input: PathBuf,
    /// The file to write
    output: PathBuf,
    /// Format of the output ('unmissed list formats') [default: by its ending]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// INPUT is a model: drop weights of at most this size
    #[arg(long, value_name = "EPS", allow_negative_numbers = true, conflicts_with = "to")]
    prune: Option<f32>,
    /// INPUT is a model: store its weights in half precision
    #[arg(long, conflicts_with = "to")]
    half: bool,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    args::check_output(&args.output, &[&args.input])?;
    if args.prune.is_some() || args.half {
        smaller(args)?;
        app.note(&format!("wrote {}", args.output.display()));
        return Ok(());
    }
    let mut content = args.reading.content(&args.input, app)?;
    if args.reading.positive().is_some() {
        args.reading.check_positive(&content, &args.input)?;
        content = Content::Data(content.into_dataset(args.reading.positive())?);
    }
    args::write(&content, &args.output, args.to.as_deref(), app)
}

/// Writes a model again, in fewer bytes.
fn smaller(args: &Args) -> Result<()> {
    let (model, about) = match file::read_any(&args.input, args.reading.mmap())? {
        (AnyModel::Linear(model), about) => (model, about),
        (AnyModel::Tree(_), _) => {
            return Err(Error::value("a model on trees has few weights of half precision already")
                .in_file(&args.input)
                .hint("train it with a larger --prune"));
        }
    };
    let model = args.prune.into_iter().try_fold(model, |model, least| model.prune(least))?;
    match args.half {
        true => file::write_half(&model, &about, &args.output),
        false => file::write(&model, &about, &args.output),
    }
}
