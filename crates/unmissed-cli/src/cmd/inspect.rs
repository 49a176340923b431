//! `unmissed inspect`: what is in a model file.

use crate::app::{App, Outcome};
use serde_json::{Value, json};
use std::path::PathBuf;
use unmissed::Error;
use unmissed::predict::{About, ModelSummary, file};
use unmissed::report::{Cell, Column, Document, Shown, Table};

/// Show what is in a model file: its shape, how it was trained, its weights, and the settings that were tried
#[derive(clap::Args)]
#[command(after_help = "Examples:
  unmissed inspect model.safetensors
  unmissed inspect model.safetensors --format json")]
pub(crate) struct Args {
    /// A model that 'unmissed train' wrote
    model: PathBuf,
    /// Read the file instead of mapping it
    #[arg(long)]
    no_mmap: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    app.progress().begin(&format!("reading {}", args.model.display()), 0);
    let (model, about) = file::read(&args.model, !args.no_mmap)?;
    let size = std::fs::metadata(&args.model).map_err(|cause| Error::io("cannot open", &args.model, cause))?.len();
    let summary = model.summary();
    let document = Document::new().table(properties(&summary, &about, size));
    let document = match tuning(&about.settings) {
        Some(table) => document.table(table),
        None => document,
    };
    app.emit(&document.data(json!({"summary": summary, "about": about, "file_bytes": size}))?)
}

/// One property a row.
fn properties(summary: &ModelSummary, about: &About, size: u64) -> Table {
    let mut table = Table::new("model", ["property", "value"]);
    let whole = |number: u64| Cell::Int(number as i64);
    let text = |text: &str| Cell::from(text.to_owned());
    table.row([Cell::from("features"), whole(summary.features as u64)]);
    table.row([Cell::from("labels"), whole(summary.labels as u64)]);
    table.row([Cell::from("loss"), text(&about.loss)]);
    table.row([Cell::from("propensity"), about.propensity.as_deref().map_or(Cell::Missing, text)]);
    table.row([Cell::from("rows trained on"), about.rows.map_or(Cell::Missing, whole)]);
    table.row([Cell::from("seed"), text(&about.seed.to_string())]);
    table.row([Cell::from("normalisation of rows"), cell(Some(&json!(summary.normalize)))]);
    table.row([Cell::from("label counts"), text(if about.label_counts.is_some() { "yes" } else { "no" })]);
    table.row([Cell::from("written by unmissed"), text(&about.tool)]);
    table.row([Cell::from("file, bytes"), whole(size)]);
    table.row([Cell::from("memory, bytes"), whole(summary.bytes)]);
    table.row([Cell::from("weights that are not zero"), whole(summary.nonzeros)]);
    table.row([Cell::from("share of zero weights"), Cell::float(summary.zero_share, Shown::Percent(2))]);
    for (what, values) in [("norm of a label's weights", summary.norms), ("bias", summary.biases)] {
        for (place, name) in ["min", "lower quartile", "median", "upper quartile", "max"].into_iter().enumerate() {
            let value = values.map_or(Cell::Missing, |values| Cell::float(values[place], Shown::Significant(4)));
            table.row([text(&format!("{what}, {name}")), value]);
        }
    }
    for (key, value) in about.settings.as_object().into_iter().flatten().filter(|(key, _)| *key != TUNING) {
        table.row([text(&format!("setting {key}")), cell(Some(value))]);
    }
    table
}

/// The setting that holds what was tried.
const TUNING: &str = "tuning";

/// The settings that were tried, one a row.
fn tuning(settings: &Value) -> Option<Table> {
    let tried = settings.get(TUNING)?.as_array()?;
    let mut names: Vec<&String> = Vec::new();
    for name in tried.iter().filter_map(Value::as_object).flat_map(|row| row.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut table = Table::new(TUNING, names.iter().map(|name| Column::new(name.as_str()))).titled("Settings that were tried");
    for row in tried {
        table.row(names.iter().map(|name| cell(row.get(name.as_str()))));
    }
    Some(table)
}

fn cell(value: Option<&Value>) -> Cell {
    match value {
        None | Some(Value::Null) => Cell::Missing,
        Some(Value::String(text)) => Cell::from(text.clone()),
        Some(Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Cell::Int(whole),
            (None, Some(real)) => Cell::from(real),
            (None, None) => Cell::from(number.to_string()),
        },
        Some(other) => Cell::from(other.to_string()),
    }
}
