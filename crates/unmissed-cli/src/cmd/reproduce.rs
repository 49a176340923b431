//! `unmissed reproduce`: the paper's experiments, our numbers beside its own.

use crate::app::{App, Failure, Outcome};
use crate::args::{Seed, folder};
use std::path::PathBuf;
use std::time::Instant;
use unmissed::audit::provenance::shell;
use unmissed::cells;
use unmissed::experiments::{Context, EXPERIMENTS, Size, YahooR3, choose, data_folders, page};
use unmissed::report::{Document, Table};

/// Reproduce the paper's tables and figures, with our numbers beside its own
#[derive(clap::Args)]
#[command(
    after_help = "Names, data and times: 'unmissed reproduce --list'. The folder receives a page (index.html), each table as csv \
and json, each figure as svg and png, and the finished parts, from which an interrupted run resumes. The exit code is 1 if a claim \
that must hold does not.

Examples:
  unmissed reproduce scaling counterexample --quick
  unmissed reproduce imbalance --quick -o imbalance"
)]
pub(crate) struct Args {
    /// Experiments, or 'all'
    #[arg(required_unless_present = "list", value_name = "NAME")]
    names: Vec<String>,
    /// List the experiments: what each reproduces, the data it needs, how long it takes
    #[arg(long, conflicts_with = "names")]
    list: bool,
    /// Folder for the page, the tables and the figures
    #[arg(long, short, value_name = "DIR", default_value = "reproduction")]
    output: PathBuf,
    /// Smaller data and fewer repetitions (times: --list)
    #[arg(long)]
    quick: bool,
    /// A folder with a data set (*train.txt and *test.txt), or with folders of such
    #[arg(long, value_name = "DIR", num_args = 1..)]
    data: Vec<PathBuf>,
    /// The folder of your copy of Yahoo R3, with the original file names
    #[arg(long, value_name = "DIR")]
    yahoo_r3: Option<PathBuf>,
    #[command(flatten)]
    seed: Seed,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    if args.list {
        return app.emit(&Document::new().table(listed()));
    }
    let experiments = choose(&args.names)?;
    let folder = folder(&args.output)?;
    let context = Context {
        size: if args.quick { Size::Quick } else { Size::Full },
        seed: args.seed.seed,
        data: data_folders(&args.data)?,
        yahoo_r3: args.yahoo_r3.as_deref().map(YahooR3::at).transpose()?,
        kept: Some(folder.join("parts")),
        progress: app.progress(),
    };
    let command = shell(std::iter::once("unmissed".to_owned()).chain(std::env::args().skip(1)));
    let mut finished = Vec::new();
    for experiment in experiments {
        let start = Instant::now();
        app.progress().begin(experiment.name(), 0);
        finished.push((experiment, experiment.run(&context)?));
        // The page is there from the first experiment on, and grows.
        page::write(&finished, &folder, &command)?;
        app.note(&format!("{}: {:.1} s", experiment.name(), start.elapsed().as_secs_f64()));
    }
    let mut document = Document::new();
    for one in &finished {
        document.tables.extend(page::tables(one));
        document.notes.extend(one.1.notes.iter().map(|note| format!("{}: {note}", one.0.name())));
    }
    app.emit(&document.note(format!("The page: {}", folder.join("index.html").display())))?;
    let failed: Vec<String> = finished
        .iter()
        .flat_map(|(experiment, outcome)| outcome.failures().map(|claim| format!("{}: {}", experiment.name(), claim.what)))
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(Failure::Gate(failed.join("; "))) }
}

/// What there is.
fn listed() -> Table {
    let columns = ["experiment", "in the paper", "data", "time with --quick", "time in full"];
    let mut table = Table::new("experiments", columns).titled("Experiments; times on two cores");
    for experiment in EXPERIMENTS {
        let took = experiment.duration();
        table.row(cells![experiment.name(), experiment.reproduces(), experiment.data_needed(), took.quick, took.full]);
    }
    table
}
