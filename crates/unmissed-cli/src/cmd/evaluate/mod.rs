//! `unmissed evaluate` and `unmissed merge`: how good predictions are, from incomplete labels.

pub(super) mod inputs;
pub(super) mod present;

use crate::app::{App, Outcome};
use crate::args::{Naming, Reading, Seed, check_outputs};
use inputs::Model;
use std::path::PathBuf;
use std::str::FromStr;
use unmissed::data::formats::Expected;
use unmissed::data::{Csr, LabelStats, Labels, Rate};
use unmissed::evaluate::compat::{self, Library};
use unmissed::evaluate::judged::Judged;
use unmissed::evaluate::misalignment::test_in_training;
use unmissed::evaluate::{Evaluation, Tally};
use unmissed::propensity::rows::{GivenCovariate, MatchedRows, read_columns};
use unmissed::report::Document;
use unmissed::request::{EvaluateRequest, KList, Level, Sensitivity};

/// Evaluate predictions: every metric, every estimator, every propensity model, with intervals
#[derive(clap::Args)]
#[command(after_help = "Several --predictions are compared pair by pair. Several --propensity models cost about as much as one. \
Observed values assume that nothing is missing; unbiased ones weight by inverse propensities; normalized ones divide by the best \
value that any ranking could reach. 'unmissed list metrics' and 'unmissed list checks' explain the names.

Examples:
  unmissed evaluate --test test.txt --predictions p.txt --train train.txt --propensity jpv
  unmissed evaluate --test test.txt --predictions A=p.txt --predictions B=q.txt --metrics recall
  unmissed evaluate --test test.txt --predictions p.txt --train train.txt --groups share
  unmissed evaluate --test test.txt --predictions p.txt --train train.txt --later train_late.txt
  unmissed evaluate --test test.txt --predictions p.txt --train train.txt --propensity jpv --sensitivity 1.5
  unmissed evaluate --test test.txt --predictions p.txt --ignore seen.txt
  unmissed evaluate --test controlled.txt --predictions p.txt --rate 4/12 --k 1,3
  unmissed evaluate --test test.txt --predictions p.txt --judged answers/judged.csv --interval mask
  unmissed evaluate --test test.txt --predictions p.txt --shard 1/2 --tally part1.tally")]
pub(crate) struct Args {
    /// Test labels
    #[arg(long, value_name = "DATA")]
    test: PathBuf,
    /// Predictions for the rows of the test labels, in the same order, or - for standard input; may be repeated
    #[arg(long, required = true, value_name = "[NAME=]FILE[,from=FORMAT]")]
    predictions: Vec<Model>,
    /// Training labels, from whose counts propensity models, groups and weights are computed
    #[arg(long, value_name = "DATA")]
    train: Option<PathBuf>,
    /// Propensity model (constant, jpv, jpv:a=0.5,b=0.4, power, table:FILE, ...) or rows:FILE
    /// (from 'propensity fit rows'); may be repeated
    #[arg(long, value_name = "SPEC")]
    propensity: Vec<String>,
    /// Covariates of the test rows, if 'propensity fit rows' had them for the training rows: a csv 'row,NAME,...'
    #[arg(long, value_name = "CSV")]
    row_covariates: Option<PathBuf>,
    /// A covariate of pairs that 'propensity fit rows' had: a matrix of scores for the test rows; may be repeated
    #[arg(long, value_name = "[NAME=]FILE")]
    pair_covariate: Vec<Model>,
    /// A later snapshot of the training rows, in the same order: scores are then estimated from the labels that were missed there
    #[arg(long, value_name = "DATA", requires = "train", conflicts_with_all = ["rate", "compat"])]
    later: Option<PathBuf>,
    /// A model's out-of-fold predictions for the training rows ('unmissed crossfit'), under the name of its test predictions;
    /// without them --later gives one propensity per label only; may be repeated
    #[arg(long, value_name = "[NAME=]FILE", requires = "later")]
    train_predictions: Vec<Model>,
    /// Later labels of some of the test rows: for the doubly robust estimate of precision
    #[arg(long, value_name = "DATA", requires = "test_later_rows", conflicts_with_all = ["rate", "compat"])]
    test_later: Option<PathBuf>,
    /// The test rows that have later labels: a csv 'row,probability', with the probability that a row like it has them
    #[arg(long, value_name = "CSV", requires = "test_later")]
    test_later_rows: Option<PathBuf>,
    /// Judged pairs of the models' lists ('unmissed annotate plan'): a csv 'row,label,probability,relevant', one for each round or
    /// judge; may be repeated
    #[arg(long, value_name = "CSV", conflicts_with_all = ["tally", "compat"])]
    judged: Vec<PathBuf>,
    /// The plan by which judged pairs were drawn [default: the plan.json.zst beside the csv]
    #[arg(long, value_name = "PLAN", requires = "judged")]
    judged_plan: Option<PathBuf>,
    /// A machine's judgements of many pairs: a csv 'row,label,relevant' or 'row,label,score'; narrows the intervals of judged
    /// estimates and never biases them
    #[arg(long, value_name = "CSV", requires = "judged")]
    machine_judged: Option<PathBuf>,
    /// How judged pairs are used: calibrated (guesses for all pairs, corrected by the judged ones) or horvitz-thompson
    #[arg(long, default_value_t = EvaluateRequest::default().judged_method.to_string(), value_name = "METHOD", requires = "judged")]
    judged_method: String,
    /// Metrics, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    metrics: Vec<String>,
    /// Estimators, separated by commas ('unmissed list estimators') [default: all that each metric has]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    estimators: Vec<String>,
    /// Lengths of the top list
    #[arg(long, short, value_name = "LIST", value_delimiter = ',', default_value = "1,3,5")]
    k: Vec<usize>,
    /// Every metric by group of labels too: share (head, torso, tail at 80 and 95 % of the training positives),
    /// share:0.5,0.9, counts:100,10, deciles, or a csv 'label,group'
    #[arg(long, value_name = "HOW", num_args = 0..=1, default_missing_value = "share")]
    groups: Option<String>,
    /// Gains of weighted-precision: uniform, inverse, inverse-complete (needs propensities), log,
    /// effective, effective:beta=0.999, or a csv 'label,weight'
    #[arg(long, value_name = "HOW")]
    weights: Option<String>,
    /// The test labels are a controlled set, shown at this rate: 16/300, 0.05, or a csv 'label,rate'
    #[arg(long, value_name = "R/M")]
    rate: Option<String>,
    /// The pairs that were shown, relevant or not (for the self-normalised and the doubly robust estimate)
    #[arg(long, value_name = "DATA", requires = "rate")]
    shown: Option<PathBuf>,
    /// Pairs that may not be predicted (the filter files of the extreme classification repository, items that a user has already
    /// seen): a file with 'row label' per line; they are removed before the top k is selected
    #[arg(long, value_name = "FILE", conflicts_with = "compat")]
    ignore: Option<PathBuf>,
    /// How many relevant labels each row has, observed or not: a csv 'row,count' (for recall-known)
    #[arg(long, value_name = "CSV")]
    label_counts: Option<PathBuf>,
    /// Conventions on which libraries differ: empty-rows=skip, absent-labels=one, coverage-of=present; separated by commas
    #[arg(long, value_name = "NAME=CHOICE")]
    convention: Option<String>,
    /// Add estimates with inverse propensities clipped at TAU, with a bound on their bias
    #[arg(long, value_name = "TAU")]
    clip: Option<f64>,
    /// How wrong would the propensities have to be? Bounds of unbiased sums and differences if the odds of being missed
    /// are off by at most GAMMA for each label (GAMMA:pair: for each pair), and the GAMMA at which the winner flips [without GAMMA: 2]
    #[arg(long, value_name = "GAMMA", num_args = 0..=1)]
    sensitivity: Option<Option<Sensitivity>>,
    /// Level of intervals
    #[arg(long, default_value_t = EvaluateRequest::default().level.get(), value_name = "LEVEL", allow_negative_numbers = true)]
    level: f64,
    /// What intervals are about: population (rows are a sample) or mask (these rows; only missing labels are random)
    #[arg(long, default_value_t = EvaluateRequest::default().interval.to_string(), value_name = "KIND")]
    interval: String,
    /// Bootstrap replicates for macro-f and coverage; 0 uses the jackknife, which is faster and covers better
    #[arg(long, default_value_t = EvaluateRequest::default().bootstrap, value_name = "B")]
    bootstrap: usize,
    /// Only part I of N of the rows; needs --tally
    #[arg(long, value_name = "I/N", requires = "tally")]
    shard: Option<String>,
    /// Write the tally of the pass into this file instead of results; 'unmissed merge' computes the results
    #[arg(long, value_name = "FILE")]
    tally: Option<PathBuf>,
    /// Print the numbers of another library, under its names: pyxclib or napkinxc
    #[arg(long, value_name = "LIBRARY", conflicts_with_all = [
        "tally", "groups", "rate", "clip", "convention", "label_counts", "metrics", "estimators", "weights",
    ])]
    compat: Option<String>,
    /// Print everything, not only what fits on a screen
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    naming: Naming,
    #[command(flatten)]
    reading: Reading,
}

impl Args {
    /// What is asked for, before any data are read; the rate, which may be a file with a line per label, comes later.
    fn request(&self) -> unmissed::Result<EvaluateRequest> {
        fn all<T: FromStr<Err = unmissed::Error>>(texts: &[String]) -> unmissed::Result<Vec<T>> {
            texts.iter().map(|text| text.parse()).collect()
        }
        fn given<T: FromStr<Err = unmissed::Error>>(text: &Option<String>) -> unmissed::Result<Option<T>> {
            text.as_deref().map(str::parse).transpose()
        }
        Ok(EvaluateRequest {
            propensities: all(&self.propensity)?,
            metrics: (!self.metrics.is_empty()).then(|| all(&self.metrics)).transpose()?,
            estimators: (!self.estimators.is_empty()).then(|| all(&self.estimators)).transpose()?,
            k: KList::new(&self.k)?,
            level: Level::new(self.level)?,
            interval: self.interval.parse()?,
            bootstrap: self.bootstrap,
            seed: self.seed.seed,
            groups: given(&self.groups)?,
            weights: given(&self.weights)?,
            clip: self.clip,
            sensitivity: self.sensitivity.map(Option::unwrap_or_default),
            rate: None,
            judged_method: self.judged_method.parse()?,
            ignore: self.ignore.clone(),
            conventions: given(&self.convention)?.unwrap_or_default(),
            shard: given(&self.shard)?.unwrap_or_default(),
        })
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    let library = args.compat.as_deref().map(Library::of_name).transpose()?;
    let mut request = args.request()?;
    if library.is_some() && request.propensities.len() > 1 {
        return Err(unmissed::Error::value("--compat takes one propensity model")
            .found(request.propensities.len().to_string())
            .hint("run it once for each --propensity")
            .into());
    }
    inputs::check_names(&args.predictions)?;
    let read = args.predictions.iter().map(|model| model.path.as_path()).chain([args.test.as_path()]).chain(args.train.as_deref());
    check_outputs(&args.tally, &read.collect::<Vec<_>>())?;

    let test = args.reading.dataset(&args.test, app)?;
    let truth = test.labels();
    let train = args.train.as_ref().map(|path| args.reading.dataset(path, app)).transpose()?;
    let stats = train.as_ref().map(|train| LabelStats::of(train.labels()));
    request.rate = args.rate.as_deref().map(|text| Rate::read(text, truth.cols() as u64)).transpose()?;
    let (label_names, row_names) = (args.naming.labels(truth.cols())?, args.naming.rows(truth.rows())?);
    let expects = |rows, row_names| Expected { rows, labels: truth.cols(), label_names: label_names.as_ref(), row_names };
    let of_test = expects(truth.rows(), row_names.as_ref());
    let mut scores: Vec<(&str, Csr<'static, f32>)> = Vec::new();
    for model in &args.predictions {
        scores.push((&model.name, model.read(&args.reading, Some(of_test), app)?));
    }
    if let Some(library) = library {
        return app.emit(&compat_values(library, truth, &scores, &request, stats.as_ref())?);
    }

    let models: Vec<(&str, &Csr<'_, f32>)> = scores.iter().map(|(name, scores)| (*name, scores)).collect();
    let located = |error: unmissed::Error| error.in_file(&args.test);
    let mut evaluation = Evaluation::new(truth, &models).map_err(located)?.progress(app.progress());
    if let Some(stats) = &stats {
        evaluation = evaluation.train(stats);
    }
    if let Some(names) = &label_names {
        evaluation = evaluation.label_names(names)?;
    }
    if let Some(finding) = train.as_ref().and_then(|train| test_in_training(train, &test)) {
        evaluation = evaluation.finding(finding);
    }
    evaluation = evaluation.request(request)?;
    if let Some(path) = &args.label_counts {
        let counts = inputs::label_counts(path, truth.rows())?;
        evaluation = evaluation.label_counts(counts).map_err(|error| error.in_file(path))?;
    }
    let shown = args.shown.as_ref().map(|path| args.reading.dataset(path, app)).transpose()?;
    if let Some(shown) = &shown {
        evaluation = evaluation.shown(shown.labels())?;
    }
    let pairs =
        args.pair_covariate.iter().map(|given| given.read(&args.reading, Some(of_test), app)).collect::<Outcome<Vec<_>>>()?;
    for (given, matrix) in args.pair_covariate.iter().zip(&pairs) {
        evaluation =
            evaluation.row_covariate(&given.name, GivenCovariate::Pairs(matrix)).map_err(|error| error.in_file(&given.path))?;
    }
    if let Some(path) = &args.row_covariates {
        for (name, values) in read_columns(path, "row", truth.rows())? {
            evaluation = evaluation.row_covariate(&name, GivenCovariate::Rows(values)).map_err(|error| error.in_file(path))?;
        }
    }
    let test_later = args.test_later.as_ref().map(|path| args.reading.dataset(path, app)).transpose()?;
    if let (Some(later), Some(path)) = (&test_later, &args.test_later_rows) {
        let (has_later, rho) = inputs::later_rows(path, truth.rows())?;
        evaluation = evaluation.later(later.labels(), has_later, rho)?;
    }
    let later = args.later.as_ref().map(|path| args.reading.dataset(path, app)).transpose()?;
    let expected = train.as_ref().map(|train| expects(train.rows(), None));
    let of_train =
        args.train_predictions.iter().map(|model| model.read(&args.reading, expected, app)).collect::<Outcome<Vec<_>>>()?;
    if let (Some(train), Some(later), Some(path)) = (&train, &later, &args.later) {
        let mut matched = MatchedRows::new(train.labels(), later.labels()).map_err(|error| error.in_file(path))?;
        for (model, scores) in args.train_predictions.iter().zip(&of_train) {
            matched = matched.predictions(&model.name, scores).map_err(|error| error.in_file(&model.path))?;
        }
        evaluation = evaluation.later_snapshot(matched)?;
    }
    if !args.judged.is_empty() {
        let (plan, machine) = (args.judged_plan.as_deref(), args.machine_judged.as_deref());
        evaluation = evaluation.judged(Judged::read(&args.judged, plan, machine, (truth.rows(), truth.cols()))?);
    }
    if let Some(path) = &args.tally {
        evaluation.tally()?.write(path)?;
        app.note(&format!("wrote {}; 'unmissed merge' computes the results", path.display()));
        return Ok(());
    }
    app.emit_page(&present::document(&evaluation.run()?, args.all)?, args.all)
}

/// The numbers of another library, which knows one propensity per label.
fn compat_values(
    library: Library,
    truth: &Labels<'_>,
    scores: &[(&str, Csr<'static, f32>)],
    request: &EvaluateRequest,
    stats: Option<&LabelStats>,
) -> Outcome<Document> {
    let inverse = request.propensities.first().map(|spec| compat::inverse(spec, stats, truth.cols() as u64)).transpose()?;
    let mut all = Vec::new();
    for (name, scores) in scores {
        all.push((*name, compat::evaluate(library, truth, scores, inverse.as_deref(), request.k.largest())?));
    }
    present::compat(&all)
}

/// Merge tallies that 'evaluate --tally' wrote and print the results: the same bytes as one run
#[derive(clap::Args)]
#[command(after_help = "Examples:
  unmissed evaluate --test test.txt --predictions p.txt --shard 1/2 --tally a.tally
  unmissed evaluate --test test.txt --predictions p.txt --shard 2/2 --tally b.tally
  unmissed merge a.tally b.tally")]
pub(crate) struct MergeArgs {
    /// The tallies of all shards, in any order
    #[arg(required = true, value_name = "TALLY")]
    tallies: Vec<PathBuf>,
    /// Print everything, not only what fits on a screen
    #[arg(long)]
    all: bool,
}

pub(crate) fn merge(args: &MergeArgs, app: &App) -> Outcome<()> {
    let tallies = args.tallies.iter().map(Tally::read).collect::<unmissed::Result<Vec<Tally>>>()?;
    app.emit_page(&present::document(&Tally::merge(tallies)?.finish()?, args.all)?, args.all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parsed;

    #[test]
    fn without_options_the_request_is_the_library_s_default() {
        assert_eq!(parsed::<Args>("--test DATA --predictions SCORES").request().unwrap(), EvaluateRequest::default());
    }
}
