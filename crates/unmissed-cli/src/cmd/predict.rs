//! `unmissed predict`: the labels that a model ranks first.

use super::evaluate::inputs;
use crate::app::{App, Outcome};
use crate::args::{self, Naming, Reading};
use std::path::{Path, PathBuf};
use unmissed::Error;
use unmissed::data::{Csr, Features, IgnoredPairs, LabelStats};
use unmissed::optimize::Optimization;
use unmissed::predict::file::{self, AnyModel};
use unmissed::predict::{About, PredictOptions, TreeModel, TreeSearch, Weighting};
use unmissed::propensity::models::{self, PropensitySpec};
use unmissed::propensity::{Origin, Propensities};
use unmissed::request::OptimizeRequest;

/// Predict labels: the top k of each row with their probabilities
#[derive(clap::Args)]
#[command(
    after_help = "The score of a label is its probability, sigmoid(z); with --propensity it is sigmoid(z) / p, the correction \
for a model that was trained on observed labels as if they were complete; with --weights it is multiplied by the label's weight. \
Corrected probabilities are not clipped at 1, except those of models on trees. --threshold applies to the probability, corrected but not weighted.

--optimize chooses the labels that are best for a metric other than precision, as 'unmissed optimize' does, and reports the gain. \
Corrected probabilities are then capped at 1; for a model that was trained with propensities, these apply to the priors only. --weighting \
gives new rows the labels that are worth most by the lines of such a search, with their probabilities; every label is considered, also by models on trees.

The format of PREDICTIONS follows from its ending (.txt .npz ...; .gz and .zst compress text). With --label-names or --row-names it is a \
csv with the names beside the ids.

Examples:
  unmissed predict model.safetensors test.txt -o predictions.txt
  unmissed predict model.safetensors test.txt -k 3 --propensity jpv -o corrected.npz
  unmissed predict model.safetensors test.txt -k 12 --threshold 0.5 -o likely.txt
  unmissed predict model.safetensors test.txt --weights log -o tail.txt
  unmissed predict model.safetensors test.txt --ignore seen.txt -o unseen.txt
  unmissed predict tree.safetensors test.txt -k 3 -o from-tree.txt
  unmissed predict model.safetensors test.txt --label-names names.txt -o named.csv
  unmissed predict model.safetensors test.txt --optimize macro-f@3 -o best.txt
  unmissed predict tree.safetensors test.txt -k 3 --weighting lines.csv -o by-lines.txt"
)]
pub(crate) struct Args {
    /// A model that 'unmissed train' wrote
    model: PathBuf,
    /// Data with features; labels are ignored
    data: PathBuf,
    /// The file to write
    #[arg(long, short, value_name = "PREDICTIONS")]
    output: PathBuf,
    /// Maximum number of labels per row
    #[arg(short, long, default_value_t = PredictOptions::default().k, value_name = "K")]
    k: usize,
    /// Divide probabilities by these propensities (jpv, power, table:FILE, ...); counts are those of --train or of the model
    #[arg(long, value_name = "SPEC")]
    propensity: Option<String>,
    /// Multiply scores by weights: uniform, inverse, inverse-complete (needs propensities), log,
    /// effective, effective:beta=0.999, or a csv 'label,weight'
    #[arg(long, value_name = "HOW")]
    weights: Option<String>,
    /// Rank labels by a line a p + b for each of them, as 'unmissed optimize --save-weighting' writes them: a csv 'label,a,b'; rows are
    /// treated one at a time
    #[arg(long, value_name = "CSV", conflicts_with_all = ["weights", "logits", "optimize"])]
    weighting: Option<PathBuf>,
    /// With --weighting: give rows fewer than K labels if more would do harm (a line of at most 0)
    #[arg(long, requires = "weighting")]
    at_most: bool,
    /// Training labels, from whose counts propensities and weights are computed [default: the counts in the model]
    #[arg(long, value_name = "DATA")]
    train: Option<PathBuf>,
    /// Leave out labels whose probability is lower
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Pairs that may not be predicted (items that a user has already seen, filter files): a file with 'row label' per line
    #[arg(long, value_name = "FILE")]
    ignore: Option<PathBuf>,
    /// Choose the labels that are best for this metric on these rows: macro-f@5, coverage@3, 0.5*precision+0.5*macro-f@5, ...
    #[arg(long, value_name = "METRIC@K", conflicts_with_all = ["threshold", "logits"])]
    optimize: Option<String>,
    /// Number of a row's most probable labels from which --optimize chooses
    #[arg(long, value_name = "N", default_value_t = CANDIDATES, requires = "optimize")]
    candidates: usize,
    /// Models on trees: open only this many nodes of each level, which is faster and approximate [default: as many as needed to
    /// find the best labels]
    #[arg(long, value_name = "N")]
    beam: Option<usize>,
    /// Models on trees: open at most this many nodes per row
    #[arg(long, value_name = "N", conflicts_with = "beam")]
    max_nodes: Option<usize>,
    /// Scores are logits instead of probabilities
    #[arg(long, conflicts_with_all = ["propensity", "weights"])]
    logits: bool,
    /// Format of the output ('unmissed list formats') [default: by its ending]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    #[command(flatten)]
    naming: Naming,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    let inputs: Vec<&Path> =
        [Some(&args.model), Some(&args.data), args.train.as_ref(), args.ignore.as_ref(), args.weighting.as_ref()]
            .into_iter()
            .flatten()
            .map(AsRef::as_ref)
            .collect();
    let named: Vec<&Path> = inputs.into_iter().chain(args.naming.files().map(|(_, file)| file.path())).collect();
    args::check_output(&args.output, &named)?;
    let spec = args.propensity.as_deref().map(models::parse).transpose()?;
    app.progress().begin(&format!("reading {}", args.model.display()), 0);
    let (model, about) = file::read_any(&args.model, args.reading.mmap())?;
    let trees = matches!(model, AnyModel::Tree(_));
    if !trees && (args.beam.is_some() || args.max_nodes.is_some()) {
        let what = "--beam and --max-nodes are for models on trees";
        return Err(Error::value(what).hint("this model scores every label").in_file(&args.model).into());
    }
    let data = args.reading.dataset(&args.data, app)?;
    let features = data.features().ok_or_else(|| {
        Error::value("there are no features").expected("rows with features, as the model was trained on").in_file(&args.data)
    })?;
    let check = match &model {
        AnyModel::Linear(model) => model.check_rows(features),
        AnyModel::Tree(model) => model.check_rows(features),
    };
    check.map_err(|error| error.in_file(&args.data))?;
    let count = match &model {
        AnyModel::Linear(model) => model.labels(),
        AnyModel::Tree(model) => model.labels(),
    };
    let stats = match &args.train {
        Some(path) => Some(LabelStats::of(args.reading.dataset(path, app)?.labels())),
        None => counts(&about)?,
    };
    let ignored = args.ignore.as_ref().map(|path| IgnoredPairs::read(path, data.rows(), count)).transpose()?;
    let given = Given {
        model: &model,
        labels: count,
        about: &about,
        features,
        spec: spec.as_ref(),
        stats: stats.as_ref(),
        ignored: ignored.as_ref(),
    };
    if let Some(metric) = &args.optimize {
        return optimize(metric, args, app, &given);
    }
    let propensity = spec.as_ref().map(|spec| spec.per_label(stats.as_ref(), count as u64)).transpose()?;
    warn_of_two_corrections(propensity.as_ref(), &about, app);
    let weigh = |how| inputs::weights(how, stats.as_ref(), propensity.as_ref(), count);
    let weights = args.weights.as_deref().map(weigh).transpose()?;
    let how = args.weights.as_deref().map(str::parse).transpose()?;
    inputs::warn_of_weights(how.as_ref(), propensity.is_some() || about.propensity.is_some(), app);
    let weighting = args.weighting.as_ref().map(|path| Weighting::read(path, count)).transpose()?;
    let options = PredictOptions {
        k: args.k,
        logits: args.logits,
        propensities: propensity.as_ref(),
        weights: weights.as_deref(),
        weighting: weighting.as_ref(),
        at_most: args.at_most,
        threshold: args.threshold,
        ignored: ignored.as_ref(),
        progress: app.progress(),
    };
    let scores = given.predict(args, &options, app)?;
    args::write_predictions(scores, &args.output, args.to.as_deref(), &args.naming, app)
}

/// As many labels per row as can come into question.
const CANDIDATES: usize = 100;

/// Chooses labels for a metric from the model's most probable ones.
fn optimize(metric: &str, args: &Args, app: &App, given: &Given<'_>) -> Outcome<()> {
    let k = Some(args.k).filter(|k| *k != PredictOptions::default().k);
    let (metric, k) = super::optimize::objective(Some(metric), k)?;
    let (labels, about) = (given.labels, given.about);
    let wanted = args.candidates.max(k).min(labels);
    let options = PredictOptions { k: wanted, ignored: given.ignored, progress: app.progress(), ..PredictOptions::default() };
    let scores = given.predict(args, &options, app)?;
    let corrected = about.propensity.is_some();
    let own = || about.propensity.as_ref().and_then(Origin::curve).map(|curve| PropensitySpec::Curve(curve.clone()));
    let spec = given.spec.cloned().or_else(own);
    if corrected && spec.is_none() {
        app.note("the model was trained with propensities that it does not store: without --propensity, labels have too few expected positives");
    }
    let request = OptimizeRequest {
        metric,
        k,
        propensity: spec,
        corrected,
        weights: args.weights.as_deref().map(str::parse).transpose()?,
        ..OptimizeRequest::default()
    };
    let mut optimization = Optimization::new(&scores, request)?.progress(app.progress());
    if let Some(stats) = given.stats {
        optimization = optimization.train(stats);
    }
    let found = optimization.run()?;
    args::write_predictions(found.predictions, &args.output, args.to.as_deref(), &args.naming, app)?;
    app.emit(&super::optimize::document(&found.report)?)
}

/// What was read for a prediction.
struct Given<'a> {
    model: &'a AnyModel,
    labels: usize,
    about: &'a About,
    features: &'a Features<'a>,
    spec: Option<&'a PropensitySpec>,
    stats: Option<&'a LabelStats>,
    ignored: Option<&'a IgnoredPairs>,
}

impl Given<'_> {
    /// The best labels of each row.
    fn predict(&self, args: &Args, options: &PredictOptions<'_>, app: &App) -> Outcome<Csr<'static, f32>> {
        Ok(match self.model {
            AnyModel::Linear(model) => model.predict(self.features, options)?,
            AnyModel::Tree(model) => search(args, model, self.features, options, app)?,
        })
    }
}

/// The best labels of a model on trees.
fn search(
    args: &Args,
    model: &TreeModel,
    rows: &Features<'_>,
    options: &PredictOptions<'_>,
    app: &App,
) -> Outcome<Csr<'static, f32>> {
    let found = model.predict(rows, options, TreeSearch { beam: args.beam, max_nodes: args.max_nodes })?;
    if args.beam.is_some() {
        app.note("the search opened only the best nodes of each level (--beam): its labels are approximately the best");
    }
    if found.capped_rows > 0 {
        let what = "rows ended at --max-nodes and may not have their best labels";
        app.note(&format!("the searches of {} {what}", found.capped_rows));
    }
    Ok(found.scores)
}

/// The training counts that the model remembers.
fn counts(about: &About) -> unmissed::Result<Option<LabelStats>> {
    let counts = about.rows.zip(about.label_counts.as_ref());
    counts.map(|(rows, counts)| LabelStats::from_counts(rows, counts)).transpose()
}

fn warn_of_two_corrections(propensity: Option<&Propensities>, about: &About, app: &App) {
    if let (Some(now), Some(before)) = (propensity, &about.propensity) {
        let now = now.origin();
        app.note(&format!("the model was trained with propensities ({before}): dividing by {now} now corrects a second time"));
    }
}
