//! `unmissed convert`: from one file format to another.

use crate::app::{App, Outcome};
use crate::args::{self, Reading};
use std::path::PathBuf;
use unmissed::data::formats::Content;

/// Convert between file formats; reports what the new format cannot store
#[derive(clap::Args)]
#[command(after_help = "The format of OUTPUT follows from its ending (.txt .svm .npz .parquet ...; .gz and .zst compress text). \
A data set in npz is a pair of files, NAME.x.npz (features) and NAME.y.npz (labels).

Examples:
  unmissed convert train.txt train.npz
  unmissed convert train.x.npz again.txt.gz
  unmissed convert ratings.csv labels.txt --from ratings --positive 4")]
pub(crate) struct Args {
    /// The file to read
    input: PathBuf,
    /// The file to write
    output: PathBuf,
    /// Format of the output ('unmissed list formats') [default: by its ending]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    args::check_output(&args.output, &[&args.input])?;
    let mut content = args.reading.content(&args.input, app)?;
    if args.reading.positive().is_some() {
        args.reading.check_positive(&content, &args.input)?;
        content = Content::Data(content.into_dataset(args.reading.positive())?);
    }
    args::write(&content, &args.output, args.to.as_deref(), app)
}
