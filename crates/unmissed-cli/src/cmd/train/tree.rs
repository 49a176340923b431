//! `unmissed train --tree`: classifiers on the nodes of trees over labels.

use super::present::{SHRUNKEN, assumed, compared, replaced, verdict};
use super::request::{controlled, later};
use super::{Args, ControlledData, inputs};
use crate::app::{App, Outcome};
use crate::args::check_outputs;
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use unmissed::cells;
use unmissed::data::Rate;
use unmissed::error::byte_count;
use unmissed::predict::{About, TreeSummary};
use unmissed::report::{Cell, Document, Shown, Table};
use unmissed::request::{TreeCorrection, TreeRequest, byte_size};
use unmissed::train::{TreeDestination, TreeTrained, TreeTrainer};
use unmissed::tree::given;
use unmissed::{Error, Result};

/// What options of other training mean nothing to trees.
const ELSEWHERE: [&str; 20] = [
    "loss",
    "weights",
    "joint",
    "starts",
    "propensities_out",
    "keep_propensities",
    "solver",
    "learning_rate",
    "decay",
    "epochs",
    "batch",
    "tolerance",
    "tune",
    "grid",
    "criterion",
    "holdout",
    "validation",
    "validation_rate",
    "validation_shown",
    "half",
];

fn default() -> TreeRequest {
    TreeRequest::default()
}

/// Trees over labels.
#[derive(clap::Args)]
#[command(next_help_heading = "Trees over labels")]
pub(super) struct Trees {
    /// Train classifiers on the nodes of a tree over the labels, for very many labels: kmeans[:branch=N,leaf=N], random, huffman or
    /// given:FILE; see 'unmissed list trees' [default without a value: kmeans]
    #[arg(long, value_name = "SPEC", num_args = 0..=1, default_missing_value = "kmeans", conflicts_with_all = ELSEWHERE)]
    pub(super) tree: Option<String>,
    #[arg(long, value_name = "N", requires = "tree", help = format!(
        "Number of trees, whose probabilities are averaged [default: {}]", default().trees))]
    trees: Option<usize>,
    /// How trees use --propensity. plugin: train on observed labels, and divide probabilities by propensities; count: weight observed
    /// labels by their inverse propensities, for rankings only (scores are not probabilities)
    #[arg(long, value_name = "HOW", requires_all = ["tree", "propensity"])]
    correction: Option<TreeCorrection>,
    #[arg(long, value_name = "C", requires = "tree", allow_negative_numbers = true, help = format!(
        "Weight of the loss against the penalty of a node's weights, as the C of support vector machines [default: {}]", default().cost))]
    cost: Option<f64>,
    #[arg(long, value_name = "N", requires = "tree", help = format!(
        "Passes of the solver over the rows of a node [default: {}]", default().passes))]
    passes: Option<usize>,
    /// Stop if the model file would become larger than this: 300MB, 2GB. Its size is estimated after the first parts, and known before
    /// the file is written
    #[arg(long, value_name = "SIZE", requires = "tree")]
    max_model_size: Option<String>,
    /// Write the tree to this csv, which --tree given:FILE reads
    #[arg(long, value_name = "CSV", requires = "tree")]
    tree_out: Option<PathBuf>,
}

/// The request that the options fill.
fn request(args: &Args, spec: &str) -> Result<TreeRequest> {
    let trees = &args.trees;
    Ok(TreeRequest {
        tree: spec.parse()?,
        trees: trees.trees.unwrap_or(default().trees),
        propensity: args.propensity.as_deref().map(str::parse).transpose()?,
        correction: trees.correction.unwrap_or_default(),
        clip: args.clip,
        controlled: controlled(&args.evidence),
        later: later(&args.evidence),
        cost: trees.cost.unwrap_or(default().cost),
        passes: trees.passes.unwrap_or(default().passes),
        prune: args.prune.map(f64::from),
        calibrate: args.tuning.calibrated().unwrap_or(default().calibrate),
        normalize: args.scaling.normalize,
        seed: args.seed.seed,
        ..default()
    })
}

pub(super) fn run(args: &Args, spec: &str, app: &App) -> Outcome<()> {
    let start = Instant::now();
    let mut request = request(args, spec)?;
    request.check()?;
    let memory = args.memory.as_deref().map(byte_size).transpose()?;
    let max_size = args.trees.max_model_size.as_deref().map(byte_size).transpose()?;
    check_outputs(std::iter::once(&args.output).chain(&args.trees.tree_out), &inputs(args))?;
    if args.trees.tree_out.is_some() && request.trees > 1 {
        return Err(Error::value("--tree-out writes one tree").expected("--trees 1").found(request.trees.to_string()).into());
    }
    let data = args.reading.dataset(&args.data, app)?;
    if data.features().is_none() {
        return Err(Error::value("the data have no features to train on").in_file(&args.data).into());
    }
    if let (Some(text), Some(controlled)) = (&args.evidence.rate, &mut request.controlled) {
        controlled.rate = Some(Rate::read(text, data.labels().cols() as u64)?);
    }
    let evidence = ControlledData::read(args, app)?;
    let trainer = memory.into_iter().fold(TreeTrainer::new(request).progress(app.progress()), TreeTrainer::memory);
    let trainer = evidence.controlled.iter().fold(trainer, |trainer, set| trainer.controlled(set, evidence.shown()));
    let trainer = evidence.judged_rows.iter().fold(trainer, |trainer, rows| trainer.judged(rows, &evidence.known));
    let later = args.evidence.later.as_ref().map(|path| args.reading.dataset(path, app)).transpose()?;
    let trainer = later.iter().fold(trainer, |trainer, later| trainer.later(later.labels()));
    let to = TreeDestination { path: args.output.clone(), resume: args.resume, max_size };
    let trained = trainer.train_to(&data, &to, &|size| {
        let by = if size.from_parts { "the first parts" } else { "a tree on a part of the rows" };
        app.note(&format!("the model becomes about {}, judged by {by}", byte_count(size.bytes)));
    })?;
    app.note(&format!("wrote {}", args.output.display()));
    if let Some(path) = &args.trees.tree_out {
        given::write(&trained.model.trees()[0], path)?;
        app.note(&format!("wrote {}", path.display()));
    }
    let size = std::fs::metadata(&args.output).map_err(|cause| Error::io("cannot open", &args.output, cause))?.len();
    app.emit(&document(&trained, size, data.rows(), start.elapsed())?)
}

fn document(trained: &TreeTrained, size: u64, rows: usize, time: Duration) -> Outcome<Document> {
    let (summary, about) = (&trained.model.summary(), &trained.about);
    let mut table = Table::new("training", ["what", "value"]);
    table.row(cells!["rows", rows]);
    summary_rows(summary, about, &mut table);
    table.row([Cell::from("file, bytes"), Cell::Int(size as i64)]);
    if trained.resumed > 0 {
        table.row([Cell::from("parts that were finished before"), Cell::from(format!("{} of {}", trained.resumed, trained.parts))]);
    }
    table.row(cells!["seconds", time.as_secs_f64()]);
    let mut document = Document::new().table(table);
    if summary.corrected {
        document = document.note(
            "Trained on observed labels; prediction divides by the propensities. Probabilities above 1 are given as 1: there the model \
             or the propensities are off.",
        );
    }
    if let Some(adjusted) = about.adjusted {
        if adjusted.shrunken {
            document = document.note(SHRUNKEN);
        }
        if adjusted.raised > 0 {
            let raised = adjusted.raised;
            document = document.note(format!(
                "{raised} labels are observed more often than their propensity allows: the propensity was raised to the observed rate."
            ));
        }
    }
    if let Some(later) = about.later {
        document = document.note(replaced(&later));
    }
    document = assumed(about).into_iter().fold(document, Document::note);
    if let Some(table) = &about.recalibration {
        document = document.table(compared(table)).note(verdict(table));
    }
    let data = json!({
        "rows": rows, "recalibration": about.recalibration, "logits_by_count": about.logits_by_count, "adjusted": about.adjusted, "later": about.later, "summary": summary, "request": about.tree, "propensity": about.propensity.as_ref().map(ToString::to_string),
        "file_bytes": size, "estimated_bytes": trained.estimated_size, "resumed": trained.resumed, "parts": trained.parts,
        "seconds": time.as_secs_f64(),
    });
    Ok(document.data(data)?)
}

/// What there is to say about a model on trees.
pub(crate) fn summary_rows(summary: &TreeSummary, about: &About, table: &mut Table) {
    let text = |text: String| Cell::from(text);
    let number = |number: f64| Cell::float(number, Shown::Significant(4));
    table.row(cells!["features", summary.features]);
    table.row(cells!["labels", summary.labels]);
    table.row(cells!["trees", summary.trees]);
    table.row([Cell::from("made by"), about.tree.as_ref().map_or(Cell::Missing, |request| text(request.tree.to_string()))]);
    table.row(cells!["nodes", summary.nodes]);
    table.row(cells!["nodes above a label, at most", summary.depth]);
    table.row(cells!["lanes of the widest node", summary.widest]);
    table.row(cells!["propensities", about.propensity.as_ref().map(ToString::to_string)]);
    if let Some(request) = &about.tree {
        if about.propensity.is_some() {
            table.row(cells!["correction", request.correction.name()]);
        }
        table.row([Cell::from("cost"), number(request.cost)]);
        table.row(cells!["passes", request.passes]);
        table.row([Cell::from("weights dropped up to"), request.prune.map_or(Cell::Missing, number)]);
        table.row([Cell::from("added to logits per doubling of rows"), number(about.logits_by_count)]);
    }
    table.row([Cell::from("nonzero weights"), Cell::Int(summary.nonzeros as i64)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parsed;

    #[test]
    fn without_options_the_request_is_the_library_s_default() {
        assert_eq!(request(&parsed("DATA -o MODEL --tree"), "kmeans").unwrap(), TreeRequest::default());
    }
}
