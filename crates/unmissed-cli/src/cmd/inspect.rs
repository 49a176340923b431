//! `unmissed inspect`: what is in a model file.

use crate::app::{App, Outcome};
use crate::choice_table::choice_table;
use serde_json::json;
use std::path::PathBuf;
use unmissed::Error;
use unmissed::cells;
use unmissed::predict::file::{self, AnyModel, TrainOutcome, Trial};
use unmissed::predict::{About, ModelSummary, Normalize};
use unmissed::report::{Cell, Column, Document, Shown, Table};
use unmissed::train::Solver;

/// Show the contents of a model file: its shape, how it was trained, its weights, and the settings that were tried
#[derive(clap::Args)]
#[command(after_help = "Examples:
  unmissed inspect model.safetensors
  unmissed inspect model.safetensors --format json
  unmissed inspect model.safetensors --verify")]
pub(crate) struct Args {
    /// A model that 'unmissed train' wrote
    model: PathBuf,
    /// Check all of the file: the weights of trees are otherwise checked when they are used
    #[arg(long)]
    verify: bool,
    /// Read the file instead of mapping it
    #[arg(long)]
    no_mmap: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    app.progress().begin(&format!("reading {}", args.model.display()), 0);
    let (model, about) = file::read_any(&args.model, !args.no_mmap)?;
    let size = std::fs::metadata(&args.model).map_err(|cause| Error::io("cannot open", &args.model, cause))?.len();
    if args.verify {
        if let AnyModel::Tree(model) = &model {
            model.verify()?;
        }
        app.note("all weights are as they were written");
    }
    let model = match model {
        AnyModel::Linear(model) => model,
        AnyModel::Tree(model) => {
            let summary = model.summary();
            let mut table = Table::new("model", ["property", "value"]);
            super::train::summary_rows(&summary, &about, &mut table);
            table.row([Cell::from("seed"), Cell::from(about.seed.to_string())]);
            table.row([Cell::from("rows trained on"), about.rows.map_or(Cell::Missing, |rows| Cell::Int(rows as i64))]);
            table.row([Cell::from("file, bytes"), Cell::Int(size as i64)]);
            let data = json!({"summary": summary, "about": about.to_json()?, "file_bytes": size});
            return app.emit(&Document::new().table(table).data(data)?);
        }
    };
    let summary = model.summary();
    let document = Document::new().table(properties(&summary, &about, size));
    let choice = about.outcome.as_ref().and_then(|outcome| outcome.choice.as_ref());
    let document = choice.into_iter().fold(document, |document, choice| document.table(choice_table(choice)));
    let tried = about.outcome.as_ref().and_then(|outcome| outcome.tuning.as_deref());
    let document = tried.into_iter().fold(document, |document, trials| document.table(tuning(trials)));
    app.emit(&document.data(json!({"summary": summary, "about": about.to_json()?, "file_bytes": size}))?)
}

/// One property per row.
fn properties(summary: &ModelSummary, about: &About, size: u64) -> Table {
    let mut table = Table::new("model", ["property", "value"]);
    let whole = |number: u64| Cell::Int(number as i64);
    let text = |text: &str| Cell::from(text.to_owned());
    table.row([Cell::from("features"), whole(summary.features as u64)]);
    table.row([Cell::from("labels"), whole(summary.labels as u64)]);
    table.row([Cell::from("loss"), text(&about.loss)]);
    table.row([Cell::from("propensity"), about.propensity.as_ref().map_or(Cell::Missing, |origin| text(&origin.to_string()))]);
    table.row([Cell::from("rows trained on"), about.rows.map_or(Cell::Missing, whole)]);
    table.row([Cell::from("seed"), text(&about.seed.to_string())]);
    table.row([Cell::from("normalisation of rows"), text(if summary.normalize == Normalize::L2 { "l2" } else { "none" })]);
    table.row([Cell::from("label counts"), text(if about.label_counts.is_some() { "yes" } else { "no" })]);
    table.row([Cell::from("written by unmissed"), text(&about.tool)]);
    table.row([Cell::from("file, bytes"), whole(size)]);
    table.row([Cell::from("memory, bytes"), whole(summary.bytes)]);
    table.row([Cell::from("nonzero weights"), whole(summary.nonzeros)]);
    table.row([Cell::from("share of zero weights"), Cell::float(summary.zero_share, Shown::Percent(2))]);
    for (what, values) in [("norm of a label's weights", summary.norms), ("bias", summary.biases)] {
        for (place, name) in ["min", "lower quartile", "median", "upper quartile", "max"].into_iter().enumerate() {
            let value = values.map_or(Cell::Missing, |values| Cell::float(values[place], Shown::Significant(4)));
            table.row([text(&format!("{what}, {name}")), value]);
        }
    }
    for (name, value) in about.outcome.iter().flat_map(settings) {
        table.row([text(&format!("setting {name}")), value]);
    }
    table
}

/// The settings that the model was trained with, and what was found on the way.
fn settings(outcome: &TrainOutcome) -> Vec<(&'static str, Cell)> {
    let number = |number: f64| Cell::float(number, Shown::Significant(4));
    let optional = |number: Option<f64>| number.map_or(Cell::Missing, |number| Cell::float(number, Shown::Significant(4)));
    let mut settings = vec![("solver", Cell::from(outcome.solver.name()))];
    match outcome.solver {
        Solver::Adam(adam) | Solver::Joint(adam) => settings.extend([
            ("learning rate", number(adam.learning_rate)),
            ("batch", Cell::from(adam.batch_size)),
            ("epochs", Cell::from(adam.epochs)),
        ]),
        Solver::Newton(newton) => {
            settings.extend([("tolerance", number(newton.tolerance)), ("steps", Cell::from(newton.max_steps))]);
        }
        Solver::Dual(dual) => {
            settings.extend([("tolerance", number(dual.tolerance)), ("passes", Cell::from(dual.max_passes))]);
        }
    }
    settings.extend([("decay", number(outcome.decay)), ("clip", optional(outcome.clip))]);
    settings.push(("calibrated", Cell::from(if outcome.calibration.is_some() { "yes" } else { "no" })));
    settings.push(("weighted", Cell::from(if outcome.weighted { "yes" } else { "no" })));
    if let (Some(criterion), Some(rows)) = (&outcome.criterion, outcome.decided_on_rows) {
        settings.extend([("criterion", Cell::from(criterion.to_string())), ("decided on rows", Cell::from(rows))]);
    }
    if let Some(size) = outcome.effective_sample_size {
        settings.extend([("observed positives", number(size.positives)), ("effective positives", number(size.effective))]);
    }
    settings.push(("raised propensities", Cell::from(outcome.raised_propensities)));
    settings
}

/// The settings that were tried, one per row.
fn tuning(trials: &[Trial]) -> Table {
    let columns = ["learning rate", "decay", "epoch", "loss", "metric", "chosen"].map(Column::new);
    let mut table = Table::new("tuning", columns).titled("Settings that were tried");
    for Trial { setting, epoch, loss, metric, chosen, .. } in trials {
        let chosen = if *chosen { "yes" } else { "" };
        table.row(cells![setting.learning_rate, setting.decay, *epoch, *loss, *metric, chosen]);
    }
    table
}
