//! `unmissed audit`: what numbers are worth, on the terminal and as a page.

mod present;

use crate::app::{App, Failure, Outcome};
use crate::args::{self, Reading, Seed, check_outputs, folder, row_texts, stem};
use crate::cmd::evaluate::inputs::{self, Model};
use std::path::{Path, PathBuf};
use unmissed::audit::provenance::{InputFile, shell};
use unmissed::audit::{Audit, AuditResult, Baseline, Naming, demo, gates};
use unmissed::data::formats::Expected;
use unmissed::data::{Csr, Rate, TextFile};
use unmissed::evaluate::judged::Judged;
use unmissed::propensity::models::PropensitySpec;
use unmissed::report::{figures, label_csv, page, row_csv};
use unmissed::request::{AuditRequest, Gates, Level, ScoreGate};
use unmissed::{Error, Result};

/// Audit predictions: what the scores are worth when labels are missing, with a verdict and a page
#[derive(clap::Args)]
#[command(
    after_help = "Combines statistics, propensities, evaluation and findings: how many labels are missing, the one number to \
report, how the models compare, what to look at. Without evidence, observed scores are a lower bound, and the usual curve (jpv) is \
shown beside them unless --propensity names others; a controlled set or a later snapshot (--later) replaces assumptions by \
estimates. With --train, models are also compared with the popularity ranker. A failed gate (--fail-on, --fail-below, \
--fail-if-worse) gives exit code 1 and one line that names it; gates apply to what was passed or measured, not to the usual curve. 'unmissed list checks' explains the codes.

Examples:
  unmissed audit --demo
  unmissed audit --train train.txt --test test.txt --predictions p.txt -o report.html
  unmissed audit --train train.txt --test test.txt --predictions p.txt --later train_late.txt
  unmissed audit --test controlled.txt --predictions p.txt --rate 4/12 --k 1,3
  unmissed audit --train train.txt --test test.txt --predictions p.txt --json june.json
  unmissed audit --train train.txt --test test.txt --predictions p.txt --baseline june.json --fail-if-worse
  unmissed audit --test test.txt --predictions A=p.txt --predictions B=q.txt --format json"
)]
pub(crate) struct Args {
    /// No files needed: artificial data with missing labels, two models trained on them, and the truth beside the verdict
    #[arg(long, conflicts_with_all = ["test", "predictions", "train", "propensity", "controlled", "rate", "later", "train_predictions", "judged", "truth", "k", "groups",
        "weights", "level", "bootstrap", "name", "json", "baseline", "fail_below", "fail_if_worse", "ignore"])]
    demo: bool,
    /// Test labels
    #[arg(long, value_name = "DATA", required_unless_present = "demo")]
    test: Option<PathBuf>,
    /// Predictions for the rows of the test labels, in the same order, or - for standard input; may be repeated
    #[arg(long, value_name = "[NAME=]FILE[,from=FORMAT]", required_unless_present = "demo")]
    predictions: Vec<Model>,
    /// Training labels, which propensity models, groups and evidence refer to
    #[arg(long, value_name = "DATA")]
    train: Option<PathBuf>,
    /// Propensity models instead of the usual one (jpv, jpv:a=0.5,b=0.4, power, table:FILE, ...); may be repeated
    #[arg(long, value_name = "SPEC")]
    propensity: Vec<String>,
    /// A bias-controlled set: its labels are the relevant ones among those that were shown
    #[arg(long, value_name = "DATA", requires_all = ["rate", "train"], conflicts_with = "later")]
    controlled: Option<PathBuf>,
    /// The rate at which the controlled set (without --controlled: the test set) was shown: 16/300, 0.05, or a csv 'label,rate'
    #[arg(long, value_name = "R/M")]
    rate: Option<String>,
    /// A later snapshot of the training rows, in the same order
    #[arg(long, value_name = "DATA", requires = "train")]
    later: Option<PathBuf>,
    /// A model's out-of-fold predictions for the training rows, under the name of its test predictions; with --later (or
    /// --controlled for the same rows) scores are estimated with row-dependent propensities; may be repeated
    #[arg(long, value_name = "[NAME=]FILE", requires = "train")]
    train_predictions: Vec<Model>,
    /// Judged pairs of the models' lists ('unmissed annotate plan'): a csv 'row,label,probability,relevant', one for each round or
    /// judge; may be repeated
    #[arg(long, value_name = "CSV")]
    judged: Vec<PathBuf>,
    /// The plan by which judged pairs were drawn [default: the plan.json.zst beside the csv]
    #[arg(long, value_name = "PLAN", requires = "judged")]
    judged_plan: Option<PathBuf>,
    /// A machine's judgements of many pairs: a csv 'row,label,relevant' or 'row,label,score'; narrows the intervals of judged
    /// estimates and never biases them
    #[arg(long, value_name = "CSV", requires = "judged")]
    machine_judged: Option<PathBuf>,
    /// Complete labels of the test rows, shown beside the estimates
    #[arg(long, value_name = "DATA")]
    truth: Option<PathBuf>,
    /// Lengths of the top list; the verdict is about the first
    #[arg(long, short, value_name = "LIST", default_value_t = AuditRequest::default().k.to_string())]
    k: String,
    /// Groups of labels: share, share:0.5,0.9, counts:100,10, deciles, or a csv 'label,group' [default: share, with --train]
    #[arg(long, value_name = "HOW")]
    groups: Option<String>,
    /// Gains of weighted-precision: uniform, inverse, inverse-complete (needs propensities), log,
    /// effective, effective:beta=0.999, or a csv 'label,weight'
    #[arg(long, value_name = "HOW")]
    weights: Option<String>,
    /// Pairs that may not be predicted (the filter files of the extreme classification repository, items that a user has already
    /// seen): a file with 'row label' per line
    #[arg(long, value_name = "FILE")]
    ignore: Option<PathBuf>,
    /// Level of intervals
    #[arg(long, default_value_t = AuditRequest::default().level.get(), value_name = "LEVEL", allow_negative_numbers = true)]
    level: f64,
    /// Bootstrap replicates for macro-f and coverage; 0 uses the jackknife, which is faster and covers better
    #[arg(long, default_value_t = AuditRequest::default().bootstrap, value_name = "B")]
    bootstrap: usize,
    /// Name of the data set; known names select jpv's constants [default: from the files]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Write the page into this .html file [default: none; unmissed-demo.html with --demo]
    #[arg(long, short, value_name = "PAGE")]
    output: Option<PathBuf>,
    /// Write each figure as .svg and .png into this folder
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// Write the result as JSON into this file, and the models' top lists into FILE.rows.npz beside it, for --baseline
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// An earlier audit of the same test rows (a file from --json): its models are compared with these, row by row
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Exit with code 1 if one of these findings is raised: U001,U003, or a severity and above: error, warning, info
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    fail_on: Vec<String>,
    /// Exit with code 1 if a model's score is below: precision@1=0.5 (the reported estimate), or precision@1:unbiased=0.5 (an
    /// estimator); may be repeated
    #[arg(long, value_name = "METRIC@K[:ESTIMATOR]=VALUE")]
    fail_below: Vec<ScoreGate>,
    /// Exit with code 1 if a model is significantly worse than in the earlier audit
    #[arg(long, requires = "baseline")]
    fail_if_worse: bool,
    /// Print everything, not only what fits on a screen
    #[arg(long)]
    all: bool,
    /// Texts of the test rows, shown beside rows worth a look: a line for each row, or FILE.csv:COLUMN, FILE.jsonl:FIELD
    #[arg(long, value_name = "FILE")]
    row_text: Option<TextFile>,
    /// Write what is known about every label into this csv file
    #[arg(long, value_name = "CSV")]
    labels_csv: Option<PathBuf>,
    /// Write the rows worth a look into this csv file
    #[arg(long, value_name = "CSV")]
    rows_csv: Option<PathBuf>,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    naming: args::Naming,
    #[command(flatten)]
    reading: Reading,
}

impl Args {
    /// All files that are read.
    fn inputs(&self) -> impl Iterator<Item = &Path> {
        let single = [&self.test, &self.train, &self.controlled, &self.later, &self.truth, &self.judged_plan, &self.machine_judged];
        let single = single.into_iter().chain([&self.ignore, &self.baseline]).filter_map(|path| path.as_deref());
        let models = self.predictions.iter().chain(&self.train_predictions).map(|model| model.path.as_path());
        single.chain(models).chain(self.judged.iter().map(PathBuf::as_path))
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    let request = request(args)?;
    inputs::warn_of_weights(request.weights.as_ref(), request.propensities.as_ref().is_some_and(|named| !named.is_empty()), app);
    gates::check(&request.gates, &request.k, args.baseline.is_some())?;
    let output = args.output.clone().or(args.demo.then(|| PathBuf::from("unmissed-demo.html")));
    if let Some(path) = &output {
        check_page(path)?;
    }
    let inputs: Vec<&Path> = args.inputs().collect();
    check_outputs(output.iter().chain(&args.json).chain(&args.labels_csv).chain(&args.rows_csv), &inputs)?;
    let result = if args.demo {
        demo::run(demo::Sizes::default(), args.seed.seed, request.gates, &command(), app.progress())?
    } else {
        audit(args, request, app)?
    };
    if let Some(path) = &output {
        page::write(&result, path)?;
        app.note(&format!("wrote {}", path.display()));
    }
    if let Some(path) = &args.figures {
        for file in figures::write(&figures::figures(&result), folder(path)?)? {
            app.note(&format!("wrote {}", file.display()));
        }
    }
    for (path, write) in [(&args.labels_csv, label_csv::write as fn(_, _) -> _), (&args.rows_csv, row_csv::write)] {
        if let Some(path) = path {
            write(&result, path.as_path())?;
            app.note(&format!("wrote {}", path.display()));
        }
    }
    app.emit_page(&present::document(&result, app.format() == "json", args.all)?, args.all)?;
    gate(&result)
}

fn audit(args: &Args, mut request: AuditRequest, app: &App) -> Outcome<AuditResult> {
    inputs::check_names(&args.predictions)?;
    inputs::check_names(&args.train_predictions)?;
    let Some(test_path) = &args.test else { return Err(Error::value("no test labels").hint("pass --test").into()) };
    let baseline = args.baseline.as_ref().map(Baseline::read).transpose()?;
    let read = |path: &PathBuf| args.reading.dataset(path, app);
    let test = read(test_path)?;
    let train = args.train.as_ref().map(read).transpose()?;
    let controlled = args.controlled.as_ref().map(read).transpose()?;
    let later = args.later.as_ref().map(read).transpose()?;
    let truth = args.truth.as_ref().map(read).transpose()?;
    let (rows, labels) = (test.rows(), test.labels().cols());
    let (label_names, row_names) = (args.naming.labels(labels)?, args.naming.rows(rows)?);
    let row_texts = row_texts(args.row_text.as_ref(), rows)?;
    let expects = |rows, row_names| Expected { rows, labels, label_names: label_names.as_ref(), row_names };
    let of_test = Some(expects(rows, row_names.as_ref()));
    let scores = args.predictions.iter().map(|model| model.read(&args.reading, of_test, app)).collect::<Outcome<Vec<_>>>()?;
    let named: Vec<(&str, &Csr<'_, f32>)> = args.predictions.iter().map(|model| model.name.as_str()).zip(&scores).collect();
    let expected = train.as_ref().map(|train| expects(train.rows(), None));
    let of_train =
        args.train_predictions.iter().map(|model| model.read(&args.reading, expected, app)).collect::<Outcome<Vec<_>>>()?;
    request.rate = args.rate.as_ref().map(|rate| Rate::read(rate, test.labels().cols() as u64)).transpose()?;

    let mut audit = Audit::new(&test, &named)
        .map_err(|error| error.in_file(test_path))?
        .request(request)
        .names(Naming { labels: label_names.as_ref(), rows: row_names.as_ref(), texts: row_texts.as_ref() })?
        .source(command(), files(args)?)
        .progress(app.progress());
    if let Some(train) = &train {
        audit = audit.train(train);
    }
    if let Some(controlled) = &controlled {
        audit = audit.controlled(controlled);
    }
    if let Some(later) = &later {
        audit = audit.later(later);
    }
    for (model, scores) in args.train_predictions.iter().zip(&of_train) {
        audit = audit.train_predictions(model.name.clone(), scores);
    }
    if !args.judged.is_empty() {
        let (plan, machine) = (args.judged_plan.as_deref(), args.machine_judged.as_deref());
        audit = audit.judged(Judged::read(&args.judged, plan, machine, (test.labels().rows(), test.labels().cols()))?);
    }
    if let (Some(truth), Some(path)) = (&truth, &args.truth) {
        audit = audit.truth(truth).map_err(|error| error.in_file(path))?;
    }
    if let Some(baseline) = &baseline {
        audit = audit.baseline(baseline);
    }
    let mut result = audit.run()?;
    if let Some(path) = &args.json {
        for file in audit.write_json(&mut result, path)? {
            app.note(&format!("wrote {}", file.display()));
        }
    }
    Ok(result)
}

/// What the options ask for; a rate in a file waits for the number of labels.
fn request(args: &Args) -> Result<AuditRequest> {
    let models = args.propensity.iter().map(|text| text.parse()).collect::<Result<Vec<PropensitySpec>>>()?;
    let data = args.train.as_deref().or(args.test.as_deref());
    Ok(AuditRequest {
        name: args.name.clone().or(data.map(name_of)).unwrap_or_default(),
        propensities: (!models.is_empty()).then_some(models),
        k: args.k.parse()?,
        level: Level::new(args.level)?,
        bootstrap: args.bootstrap,
        seed: args.seed.seed,
        groups: args.groups.as_deref().map(str::parse).transpose()?,
        weights: args.weights.as_deref().map(str::parse).transpose()?,
        rate: None,
        gates: Gates { fail_on: args.fail_on.clone(), fail_below: args.fail_below.clone(), fail_if_worse: args.fail_if_worse },
        ignore: args.ignore.clone(),
    })
}

/// One line that says which gates failed and why.
fn gate(result: &AuditResult) -> Outcome<()> {
    let failed: Vec<String> =
        result.gates.iter().filter(|gate| gate.failed).map(|gate| format!("{}: {}", gate.gate, gate.found)).collect();
    if failed.is_empty() { Ok(()) } else { Err(Failure::Gate(failed.join("; "))) }
}

/// Asked before long work.
fn check_page(path: &Path) -> Result<()> {
    match path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).as_deref() {
        Some("html" | "htm") => Ok(()),
        _ => Err(Error::value("cannot write a page in this format").expected("a name that ends in .html").in_file(path)),
    }
}

/// The folder of a file tells what it is when its own name does not.
fn name_of(path: &Path) -> String {
    let own = stem(path);
    let bare = ["train", "test", "trn", "tst"].contains(&own.to_lowercase().as_str());
    let parent = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    match parent {
        Some(parent) if bare && !parent.is_empty() => parent,
        _ => own,
    }
}

fn command() -> String {
    let arguments = std::env::args().skip(1);
    shell(std::iter::once("unmissed".to_owned()).chain(arguments))
}

/// What was read, hashed.
fn files(args: &Args) -> Result<Vec<InputFile>> {
    let mut files = Vec::new();
    let named = [
        ("train", &args.train),
        ("test", &args.test),
        ("controlled", &args.controlled),
        ("later", &args.later),
        ("truth", &args.truth),
        ("ignored pairs", &args.ignore),
    ];
    for (role, path) in named.into_iter().filter_map(|(role, path)| Some((role, path.as_ref()?))) {
        files.push(InputFile::new(role, path)?);
        // The labels of scipy data are in a file of their own.
        let labels = path.to_string_lossy().strip_suffix(".x.npz").map(|start| format!("{start}.y.npz"));
        if let Some(labels) = labels.filter(|labels| Path::new(labels).exists()) {
            files.push(InputFile::new(role, labels)?);
        }
    }
    for (role, file) in args.naming.files().chain(args.row_text.iter().map(|file| ("row texts", file))) {
        files.push(InputFile::new(role, file.path())?);
    }
    for path in &args.judged {
        files.push(InputFile::new("judged pairs", path)?);
    }
    if let Some(path) = &args.machine_judged {
        files.push(InputFile::new("machine-judged pairs", path)?);
    }
    for model in &args.predictions {
        files.push(InputFile::new(format!("predictions of {}", model.name), &model.path)?);
    }
    if let Some(path) = &args.baseline {
        files.push(InputFile::new("baseline", path)?);
    }
    for model in &args.train_predictions {
        files.push(InputFile::new(format!("training predictions of {}", model.name), &model.path)?);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parsed;

    #[test]
    fn without_options_the_request_is_the_library_s_default() {
        // The name of the data follows from the name of their file.
        let named = AuditRequest { name: "DATA".into(), ..AuditRequest::default() };
        assert_eq!(request(&parsed("--test DATA --predictions SCORES")).unwrap(), named);
    }
}
