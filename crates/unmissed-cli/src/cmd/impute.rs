//! `unmissed impute`: add the labels that a hierarchy implies.

use crate::app::{App, Outcome};
use crate::args::{self, Reading};
use serde_json::json;
use std::path::PathBuf;
use unmissed::cells;
use unmissed::data::Dataset;
use unmissed::data::formats::Content;
use unmissed::propensity::dag::Dag;
use unmissed::propensity::impute::impute;
use unmissed::report::{Document, Table};

/// Add the ancestors of observed labels: if a hierarchy implies the missing labels, nothing needs to be estimated
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  unmissed impute train.txt --hierarchy hierarchy.tsv -o train_imputed.txt")]
pub(crate) struct Args {
    /// Data with observed labels
    data: PathBuf,
    /// Lines 'child TAB parent' of label ids
    #[arg(long, value_name = "TSV")]
    hierarchy: PathBuf,
    /// The file to write
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Format of the output ('unmissed list formats') [default: by its ending]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    args::check_output(&args.output, &[&args.data, &args.hierarchy])?;
    let (features, labels) = args.reading.dataset(&args.data, app)?.into_parts();
    let dag = Dag::read(&args.hierarchy, labels.cols())?;
    if dag.edges() == 0 {
        app.note(&format!("{}: the hierarchy has no edges, so nothing is implied", args.hierarchy.display()));
    }
    let (imputed, added) = impute(&labels, &dag)?;
    let mut table = Table::new("impute", ["labels", "positives", "per row"]);
    for (name, labels) in [("observed", &labels), ("with ancestors", &imputed)] {
        table.row(cells![name, labels.nnz(), labels.nnz() as f64 / labels.rows().max(1) as f64]);
    }
    let json = json!({"observed": labels.nnz(), "added": added});
    args::write(&Content::Data(Dataset::new(features, imputed)?), &args.output, args.to.as_deref(), app)?;
    app.emit(&Document::new().table(table).data(json)?)
}
