//! `unmissed optimize`: the labels that are best for the metric that counts.

use crate::app::{App, Outcome};
use crate::args::{self, Reading, Seed};
use std::path::{Path, PathBuf};
use unmissed::cells;
use unmissed::data::LabelStats;
use unmissed::data::formats::Content;
use unmissed::optimize::{BeforeAfter, Optimization, OptimizeReport, Weighting};
use unmissed::report::{Column, Document, Table};
use unmissed::request::{Level, ObjectiveSpec, OptimizeRequest, Positives};
use unmissed::{Error, Result};

fn default() -> OptimizeRequest {
    OptimizeRequest::default()
}

/// Choose the labels that are best for macro-F, coverage or another metric, from the probabilities of any model
#[derive(clap::Args)]
#[command(
    after_help = "The most probable labels are best for precision. For means over labels, the best labels of a row depend on the \
other rows, so labels are chosen for all rows together. SCORES are probabilities, for all labels of a row that could be chosen \
(100, say). The report forecasts the metric of the most probable and of the optimised labels, assuming that the probabilities are right; \
--test measures it. --propensity divides scores of a model that was trained on observed labels; scores of a model that was trained \
with propensities need --corrected. Metrics: 'unmissed list objectives'; a mixture trades one for another.

--save-weighting writes a line a p + b for each label; --weighting uses these lines to choose labels for new rows, one at a time.

Examples:
  unmissed optimize scores.txt --metric macro-f@5 --train train.txt -o best.txt
  unmissed optimize scores.txt --metric 0.5*precision+0.5*macro-f@5 --test test.txt -o both.txt
  unmissed optimize scores.txt --metric macro-f@3 --train train.txt --propensity jpv -o p.npz
  unmissed optimize scores.txt --metric coverage@3 --save-weighting lines.csv -o covering.txt
  unmissed optimize scores.txt --weighting lines.csv -k 3 -o by-lines.txt"
)]
pub(crate) struct Args {
    /// Probabilities of labels, from any library
    scores: PathBuf,
    /// What to maximise, with the number of labels per row: macro-f@5, macro-f:beta=2@3, 0.5*precision+0.5*macro-f@5
    #[arg(long, value_name = "METRIC@K", required_unless_present = "weighting")]
    metric: Option<String>,
    /// The file to write: the chosen labels with their probabilities
    #[arg(long, short, value_name = "PREDICTIONS")]
    output: PathBuf,
    /// Labels per row, if --metric does not have @K [default: 5]
    #[arg(short, long, value_name = "K")]
    k: Option<usize>,
    /// Give a row fewer than K labels if more would lower the metric
    #[arg(long)]
    at_most: bool,
    /// Optimisation method ('unmissed list methods'): bca, greedy, frank-wolfe
    #[arg(long, value_name = "NAME", default_value_t = default().method.to_string())]
    method: String,
    /// Training labels, for the expected positives of labels, propensities and weights
    #[arg(long, value_name = "DATA")]
    train: Option<PathBuf>,
    /// Divide scores by these propensities (jpv, power, table:FILE, rows:FILE, ...), and the priors of --train
    #[arg(long, value_name = "SPEC")]
    propensity: Option<String>,
    /// Scores are already probabilities of relevance (of a model that was trained with propensities): divide only the priors
    #[arg(long, requires = "propensity")]
    corrected: bool,
    /// Gains of labels for weighted-precision: inverse-complete (needs propensities), inverse, log, effective, or a csv 'label,weight'
    #[arg(long, value_name = "HOW")]
    weights: Option<String>,
    /// Source of the expected positives of labels: train (counts over propensities), stored (the scores alone), auto (train if it
    /// is given, else stored if nearly everything is stored)
    #[arg(long, value_name = "SOURCE", default_value_t = default().positives)]
    positives: Positives,
    /// Known labels of the rows, to measure the gain; the choice does not use them
    #[arg(long, value_name = "DATA")]
    test: Option<PathBuf>,
    /// Maximum number of passes over the rows
    #[arg(long, value_name = "N", default_value_t = default().sweeps)]
    sweeps: usize,
    /// Stop the search after a pass that gains less than this
    #[arg(long, value_name = "GAIN", default_value_t = default().tolerance, allow_negative_numbers = true)]
    tolerance: f64,
    /// Number of label draws for expected values (fewer if there are very many pairs); 0: none
    #[arg(long, value_name = "N", default_value_t = default().draws)]
    draws: usize,
    /// Level of intervals
    #[arg(long, value_name = "LEVEL", default_value_t = default().level.get())]
    level: f64,
    /// Also write a line a p + b for each label: a csv 'label,a,b'
    #[arg(long, value_name = "CSV")]
    save_weighting: Option<PathBuf>,
    /// Do not search: choose labels by the lines of this file
    #[arg(long, value_name = "CSV", conflicts_with_all = ["metric", "save_weighting", "test"])]
    weighting: Option<PathBuf>,
    /// Format of the output ('unmissed list formats') [default: by its ending]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    let inputs = [Some(&args.scores), args.train.as_ref(), args.test.as_ref(), args.weighting.as_ref()];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().map(AsRef::as_ref).collect();
    args::check_outputs(std::iter::once(&args.output).chain(&args.save_weighting), &inputs)?;
    let request = request(args)?;
    let scores = args.reading.scores(&args.scores, None, None, app)?;
    let train = args.train.as_ref().map(|path| args.reading.dataset(path, app)).transpose()?;
    let stats = train.as_ref().map(|train| LabelStats::of(train.labels()));
    let test = args.test.as_ref().map(|path| args.reading.dataset(path, app)).transpose()?;
    let mut optimization = Optimization::new(&scores, request).map_err(|error| in_scores(error, args))?.progress(app.progress());
    if let Some(stats) = &stats {
        optimization = optimization.train(stats);
    }
    if let Some(test) = &test {
        optimization = optimization.test(test.labels()).map_err(|error| args.test.iter().fold(error, Error::in_file))?;
    }
    if let Some(path) = &args.weighting {
        let lines = Weighting::read(path, scores.cols())?;
        let chosen = optimization.apply(&lines).map_err(|error| in_scores(error, args))?;
        return args::write(&Content::Scores(chosen), &args.output, args.to.as_deref(), app);
    }
    let found = optimization.run().map_err(|error| in_scores(error, args))?;
    args::write(&Content::Scores(found.predictions), &args.output, args.to.as_deref(), app)?;
    if let Some(path) = &args.save_weighting {
        found.weighting.write(path)?;
        app.note(&format!("wrote {}", path.display()));
    }
    app.emit(&document(&found.report)?)
}

/// Scores are to blame for what is said about rows and their scores.
fn in_scores(error: Error, args: &Args) -> Error {
    let text = error.to_string();
    if ["the score", "row "].iter().any(|start| text.starts_with(start)) { error.in_file(&args.scores) } else { error }
}

fn request(args: &Args) -> Result<OptimizeRequest> {
    let (metric, k) = objective(args.metric.as_deref(), args.k)?;
    Ok(OptimizeRequest {
        metric,
        k,
        at_most: args.at_most,
        method: args.method.parse()?,
        sweeps: args.sweeps,
        tolerance: args.tolerance,
        positives: args.positives,
        propensity: args.propensity.as_deref().map(str::parse).transpose()?,
        corrected: args.corrected,
        weights: args.weights.as_deref().map(str::parse).transpose()?,
        draws: args.draws,
        level: Level::new(args.level)?,
        seed: args.seed.seed,
    })
}

/// The objective and the number of labels per row, which may follow it or be given separately.
pub(super) fn objective(metric: Option<&str>, k: Option<usize>) -> Result<(ObjectiveSpec, usize)> {
    let (metric, at) = metric.map_or(Ok((default().metric, None)), ObjectiveSpec::parse_at)?;
    match (at, k) {
        (Some(at), Some(k)) if at != k => Err(Error::value("two different numbers of labels per row")
            .found(format!("@{at} and -k {k}"))
            .hint("give only one: METRIC@K, or -k K")),
        (at, k) => Ok((metric, at.or(k).unwrap_or(default().k))),
    }
}

/// What came of an optimisation, for people.
pub(super) fn document(report: &OptimizeReport) -> Result<Document> {
    let k = report.k;
    let number = |name: &str| Column::new(name).fixed(2);
    let columns = ["most probable", "optimised", "difference", "low", "high", "optimism"].map(number).into_iter();
    let mut table = Table::new("values", [Column::new("metric"), Column::new("how")].into_iter().chain(columns))
        .titled(format!("Most probable and optimised labels, in %, with {} % intervals of the difference", 100.0 * report.level));
    let percent = |value: f64| 100.0 * value;
    let mut row = |how: String, of: &BeforeAfter, optimism: Option<f64>| {
        let [low, high] = [of.low, of.high].map(|end| end.map(percent));
        let name = format!("{}@{k}", of.metric);
        table.row(cells![
            name,
            how,
            percent(of.before),
            percent(of.after),
            percent(of.difference),
            low,
            high,
            optimism.map(percent)
        ]);
    };
    report.expected.iter().for_each(|expected| row("expected".to_owned(), expected, None));
    report
        .measured
        .iter()
        .for_each(|measured| row(format!("measured, {}", measured.estimator), &measured.values, measured.optimism));
    let mut document = Document::new();
    if !(report.expected.is_empty() && report.measured.is_empty()) {
        document = document.table(table);
    }
    let goal = if report.lower_is_better { "lower is better" } else { "higher is better" };
    document = document.note(format!(
        "{}@{k} of expected counts ({goal}): {:.4} for the most probable labels, {:.4} after {} passes of {}; the labels of {} rows changed",
        report.metric,
        report.value_before,
        report.value,
        report.values.len(),
        report.method,
        report.rows_changed
    ));
    if !report.measured.is_empty() && !report.expected.is_empty() {
        document = document.note("optimism: the expected minus the measured value of the optimised labels");
    }
    report.notes.iter().fold(document, |document, note| document.note(note.clone())).data(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parsed;

    #[test]
    fn without_options_the_request_is_the_library_s_default() {
        assert_eq!(request(&parsed("SCORES --weighting LINES -o BEST")).unwrap(), OptimizeRequest::default());
    }
}
