//! `unmissed annotate`: which pairs to have judged, and what that will bring.

use crate::app::{App, Outcome};
use crate::args::{Naming, Reading, Seed, folder, row_texts, stem};
use crate::cmd::evaluate::inputs::{self, Model};
use std::path::{Path, PathBuf};
use unmissed::cells;
use unmissed::data::formats::Expected;
use unmissed::data::{Csr, Judgements, LabelStats, TextFile};
use unmissed::evaluate::judged::{AnnotationPlan, ExpectedInterval, PLAN_FILE, PairNames, PlanData};
use unmissed::report::{Column, Document, Table, page};
use unmissed::request::{AnnotateRequest, KList, Level};
use unmissed::{Error, Result};

/// Have pairs of rows and labels judged: draw the pairs and forecast the intervals
#[derive(clap::Args)]
#[command(after_help = "Examples:
  unmissed annotate plan --test test.txt --predictions p.txt --budget 60 -o judged")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Plan(Box<PlanArgs>),
}

/// Draw pairs of the models' top lists with known probabilities, and forecast the intervals
#[derive(clap::Args)]
#[command(
    after_help = "Writes DIR/pairs.csv (fill in the column 'relevant' with 1, 0 or unsure), DIR/judge.html (the same pairs as a page \
that stores judgements and exports csv) and DIR/plan.json.zst (how the pairs were drawn). Then run 'unmissed evaluate --judged DIR/pairs.csv' with \
the same test labels and predictions. Observed labels count as relevant.

Examples:
  unmissed annotate plan --test test.txt --predictions p.txt --budget 60 -o first
  unmissed annotate plan --test test.txt --predictions p.txt --train train.txt --wanted 0.05 -o more"
)]
struct PlanArgs {
    /// Test labels
    #[arg(long, value_name = "DATA")]
    test: PathBuf,
    /// Predictions for the rows of the test labels, in the same order; may be repeated
    #[arg(long, required = true, value_name = "[NAME=]FILE")]
    predictions: Vec<Model>,
    /// The folder to write
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// Training labels: pairs are also stratified by label frequency
    #[arg(long, value_name = "DATA")]
    train: Option<PathBuf>,
    /// Number of unobserved pairs to judge
    #[arg(long, default_value_t = AnnotateRequest::default().budget, value_name = "N")]
    budget: u64,
    /// Lengths of the top lists
    #[arg(long, short, value_name = "LIST", value_delimiter = ',', default_value = "1,3,5")]
    k: Vec<usize>,
    /// Draw another round: the judged csv of an earlier round, beside its plan; may be repeated
    #[arg(long, value_name = "CSV")]
    earlier: Vec<PathBuf>,
    /// Also draw this many observed pairs, to check whether observed labels are relevant
    #[arg(long, default_value_t = AnnotateRequest::default().check_observed, value_name = "N")]
    check_observed: u64,
    /// Expected share of relevant pairs among the unobserved ones, to forecast intervals
    #[arg(long, default_value_t = AnnotateRequest::default().assumed, value_name = "SHARE")]
    assumed: f64,
    /// Print the budgets that an interval of this half width needs, such as 0.01
    #[arg(long, value_name = "WIDTH")]
    wanted: Option<f64>,
    /// Level of intervals
    #[arg(long, default_value_t = AnnotateRequest::default().level.get(), value_name = "LEVEL")]
    level: f64,
    /// Also write DIR/machine.csv: all unobserved pairs of the lists, for a language model to judge
    #[arg(long)]
    machine: bool,
    /// Texts of the test rows, for judges to read
    #[arg(long, value_name = "FILE")]
    row_text: Option<TextFile>,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    naming: Naming,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    match &args.command {
        Command::Plan(args) => plan(args, app),
    }
}

fn request(args: &PlanArgs) -> Result<AnnotateRequest> {
    Ok(AnnotateRequest {
        budget: args.budget,
        k: KList::new(&args.k)?,
        seed: args.seed.seed,
        level: Level::new(args.level)?,
        check_observed: args.check_observed,
        assumed: args.assumed,
        wanted: args.wanted,
    })
}

fn plan(args: &PlanArgs, app: &App) -> Outcome<()> {
    let request = request(args)?;
    inputs::check_names(&args.predictions)?;
    let files = ["pairs.csv", "judge.html", PLAN_FILE, "machine.csv"].map(|name| args.output.join(name));
    check_new(&files)?;
    let test = args.reading.dataset(&args.test, app)?;
    let truth = test.labels();
    let train = args.train.as_ref().map(|path| args.reading.dataset(path, app)).transpose()?;
    let stats = train.as_ref().map(|train| LabelStats::of(train.labels()));
    let (labels, rows) = (args.naming.labels(truth.cols())?, args.naming.rows(truth.rows())?);
    let of_test = Expected { rows: truth.rows(), labels: truth.cols(), label_names: labels.as_ref(), row_names: rows.as_ref() };
    let mut scores: Vec<(&str, Csr<'static, f32>)> = Vec::new();
    for model in &args.predictions {
        scores.push((&model.name, model.read(&args.reading, Some(of_test), app)?));
    }
    let models: Vec<(&str, &Csr<'_, f32>)> = scores.iter().map(|(name, scores)| (*name, scores)).collect();
    let texts = row_texts(args.row_text.as_ref(), truth.rows())?;
    let named = PairNames { labels: labels.as_ref(), rows: rows.as_ref(), texts: texts.as_ref() };

    let data = PlanData { truth, models: &models, train: stats.as_ref() };
    app.progress().begin("drawing pairs", 0);
    let earlier = match args.earlier.is_empty() {
        true => None,
        false => Some((earlier_plan(&args.earlier)?, Judgements::read(&args.earlier, truth.rows(), truth.cols())?)),
    };
    let plan = match &earlier {
        Some((plan, judged)) => plan.next_round(&data, judged, &request)?,
        None => AnnotationPlan::new(&data, &request).map_err(|error| error.in_file(&args.test))?,
    };
    let expected = plan.expected(&data, earlier.as_ref().map(|(_, judged)| judged))?;
    folder(&args.output)?;
    let [pairs, page, plan_file, machine] = &files;
    // The plan last: whoever finds it finds the others complete.
    plan.write_pairs(pairs, &named)?;
    page::judge::write(&plan, &named, &stem(&args.test), page)?;
    if args.machine {
        plan.write_machine_pairs(machine, &named)?;
        app.note(&format!("wrote {}", machine.display()));
    }
    plan.write(plan_file)?;
    for file in [pairs, page, plan_file] {
        app.note(&format!("wrote {}", file.display()));
    }
    app.emit(&document(&plan, &expected)?)
}

/// Pairs that were drawn before may have been judged: nothing is written over them.
fn check_new(files: &[PathBuf]) -> Result<()> {
    match files.iter().find(|file| file.exists()) {
        Some(file) => Err(Error::value("already exists, and may hold judgements")
            .hint("name another folder with -o; a later round of the same pairs is --earlier")
            .in_file(file)),
        None => Ok(()),
    }
}

/// The plan beside the judged files: of several rounds the last.
fn earlier_plan(files: &[PathBuf]) -> Result<AnnotationPlan> {
    let mut last: Option<AnnotationPlan> = None;
    for file in files {
        let path = file.parent().unwrap_or(Path::new("")).join(PLAN_FILE);
        let plan =
            AnnotationPlan::read(&path).map_err(|error| error.hint(format!("{} needs its plan beside it", file.display())))?;
        if last.as_ref().is_none_or(|last| last.rounds() < plan.rounds()) {
            last = Some(plan);
        }
    }
    last.ok_or_else(|| Error::value("no earlier rounds are given"))
}

fn document(plan: &AnnotationPlan, expected: &[ExpectedInterval]) -> Outcome<Document> {
    let columns = [Column::new("stratum"), Column::new("pairs"), Column::new("drawn"), Column::new("probability").fixed(4)];
    let mut strata = Table::new("strata", columns).titled("Unobserved pairs of the top lists, and how many are drawn");
    for (name, size, drawn) in plan.strata() {
        strata.row(cells![name.to_owned(), size, drawn, drawn as f64 / size.max(1) as f64]);
    }
    let level = 100.0 * plan.request().level.get();
    let mut columns = vec![Column::new("metric"), Column::new("model"), Column::new("+- points")];
    if let Some(wanted) = plan.request().wanted {
        columns.push(Column::new(format!("pairs for +- {:.2}", 100.0 * wanted)));
    }
    let mut intervals =
        Table::new("expected", columns).titled(format!("{level} % intervals to expect (--interval mask: about these rows)"));
    for of in expected {
        let models = of.other.as_ref().map_or_else(|| of.model.clone(), |other| format!("{} - {other}", of.model));
        let mut cells = Vec::from(cells![format!("{}@{}", of.metric, of.k), models, format!("{:.2}", 100.0 * of.half_width)]);
        if plan.request().wanted.is_some() {
            cells.extend(cells![of.budget.map(|budget| budget.to_string())]);
        }
        intervals.row(cells);
    }
    let drawn = plan.pairs().len();
    let note = match plan.rounds() {
        1 => format!(
            "{drawn} pairs to judge; intervals assume that {:.0} % of the unobserved pairs are relevant (--assumed)",
            100.0 * plan.request().assumed
        ),
        rounds => format!("{drawn} pairs to judge in round {rounds}; intervals are those of all rounds together"),
    };
    let data = serde_json::json!({
        "round": plan.rounds(),
        "pairs": drawn,
        "strata": plan.strata().iter().map(|(name, size, drawn)| serde_json::json!({"stratum": name, "pairs": size, "drawn": drawn})).collect::<Vec<_>>(),
        "expected": expected,
    });
    Ok(Document::new().table(strata).table(intervals).note(note).data(data)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parsed;

    #[test]
    fn without_options_the_request_is_the_library_s_default() {
        assert_eq!(request(&parsed("--test DATA --predictions SCORES -o DIR")).unwrap(), AnnotateRequest::default());
    }
}
