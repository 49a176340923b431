//! `unmissed mask`: remove labels the way that observation would.

use crate::app::{App, Outcome};
use crate::args::{self, Reading, Seed};
use serde_json::json;
use std::path::PathBuf;
use unmissed::cells;
use unmissed::data::formats::Content;
use unmissed::data::{Dataset, LabelStats, mask};
use unmissed::propensity::{models, table_file};
use unmissed::report::{Document, Table};

/// Remove labels with known propensities, each independently; writes the propensities beside the data
#[derive(clap::Args)]
#[command(after_help = "OUT.propensities.csv has the propensities that were used. They, and not the same model on the counts of \
the masked data, are the right ones for every later step.

Examples:
  unmissed mask train.txt --propensity power --seed 1 -o biased.txt
  unmissed mask test.txt --propensity table:biased.txt.propensities.csv --seed 2 -o test_biased.txt")]
pub(crate) struct Args {
    /// Data with complete labels
    data: PathBuf,
    /// The propensity model, as a function of the label counts of DATA, or table:FILE
    #[arg(long, value_name = "SPEC")]
    propensity: String,
    /// The file to write
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Format of the output, as 'unmissed list formats' names them [default: by its ending]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    seed: Seed,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    args::check_output(&args.output, &[&args.data])?;
    let model = models::parse(&args.propensity)?;
    let data = args.reading.dataset(&args.data, app)?;
    app.progress().begin("masking", 0);
    let propensities = model.propensities(&LabelStats::of(data.labels()))?;
    let (features, labels) = data.into_parts();
    let kept = mask(&labels, propensities.values(), args.seed.seed)?;
    let mut table = Table::new("mask", ["labels", "positives", "per row"]);
    for (name, labels) in [("before", &labels), ("after", &kept)] {
        table.row(cells![name, labels.nnz(), labels.nnz() as f64 / labels.rows().max(1) as f64]);
    }
    let json = json!({
        "propensity": propensities.origin().to_string(), "seed": args.seed.seed, "positives_before": labels.nnz(), "positives_after": kept.nnz(),
    });
    args::write(&Content::Data(Dataset::new(features, kept)?), &args.output, args.to.as_deref(), app)?;
    let mut beside = args.output.clone().into_os_string();
    beside.push(".propensities.csv");
    table_file::write(&propensities, &beside)?;
    app.note(&format!("wrote {}", PathBuf::from(&beside).display()));
    app.emit(&Document::new().table(table).data(json)?)
}
