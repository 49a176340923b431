//! `unmissed split`: data sets into new training and test sets, or a survey into a training and a controlled set.

use crate::app::{App, Outcome};
use crate::args::{self, Reading, Seed, folder};
use serde_json::json;
use std::path::{Path, PathBuf};
use unmissed::cells;
use unmissed::data::formats::Content;
use unmissed::data::survey::{SurveyOptions, TrainUsers, survey};
use unmissed::data::{DEFAULT_MIN_POSITIVES, DEFAULT_TEST_SHARE, Dataset, Output, Ratings, Split, keep_frequent, merge, split};
use unmissed::report::{Document, Table};

/// Merge data sets, drop rare labels, and split the rows again; or make a controlled set from two ratings files
#[derive(clap::Args)]
#[command(
    after_help = "Without --controlled: the data sets are merged, labels with fewer than --min-positives rows are dropped (the \
others are renumbered, as listed in labels.csv), and rows are drawn into train.txt and test.txt.

With --controlled RANDOM: the ratings that users chose to give (DATA) and ratings of randomly drawn items (RANDOM) \
become train.txt (half of a user's positive ratings are features, half are labels), controlled.txt (labels are the \
positive ratings of the random part) and controlled_shown.txt (the items that were shown, whether liked or not). Names \
are kept: items.txt names the labels, train_users.txt and controlled_users.txt the rows (--label-names, --row-names).

Examples:
  unmissed split train.txt test.txt --min-positives 20 --test 0.3 --seed 1 -o resplit
  unmissed split ratings.csv --controlled random.csv --from ratings --positive 4 -o survey"
)]
pub(crate) struct Args {
    /// Data sets to merge and split; with --controlled, one file of self-selected ratings
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,
    /// Folder for the new files
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// Keep labels with at least this many rows
    #[arg(long, default_value_t = DEFAULT_MIN_POSITIVES, value_name = "S")]
    min_positives: u64,
    /// Share of the rows that go into the test set
    #[arg(long, default_value_t = DEFAULT_TEST_SHARE, value_name = "SHARE")]
    test: f64,
    /// Ratings of items that were drawn at random for each user
    #[arg(long, value_name = "RANDOM", conflicts_with_all = ["min_positives", "test"])]
    controlled: Option<PathBuf>,
    /// Which users train: those who are not in the controlled set, or all
    #[arg(long, value_enum, default_value = "unique", requires = "controlled")]
    train_users: Users,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Users {
    /// Users without a rating in the random part
    Unique,
    /// All users
    All,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    match &args.controlled {
        Some(random) => controlled(args, random, app),
        None => resplit(args, app),
    }
}

fn resplit(args: &Args, app: &App) -> Outcome<()> {
    let parts = args.data.iter().map(|path| args.reading.dataset(path, app)).collect::<Outcome<Vec<_>>>()?;
    app.progress().begin("splitting", 0);
    let merged = merge(&parts.iter().collect::<Vec<_>>())?;
    let before = merged.labels().cols();
    let kept = keep_frequent(&merged, args.min_positives)?;
    let Split { train, test } = split(&kept.data, args.test, args.seed.seed)?;
    let folder = folder(&args.output)?;
    write_data(&folder, "train", &train, app)?;
    write_data(&folder, "test", &test, app)?;
    let mut names = Output::create(folder.join("labels.csv"))?;
    names.put(b"label,original\n")?;
    for (label, original) in kept.labels.iter().enumerate() {
        names.put(format!("{label},{original}\n").as_bytes())?;
    }
    names.finish()?;
    let mut table = Table::new("split", ["part", "rows", "labels", "positives"]);
    for (name, part) in [("train", &train), ("test", &test)] {
        table.row(cells![name, part.rows(), part.labels().cols(), part.labels().nnz()]);
    }
    let data = json!({
        "labels_before": before, "labels_kept": kept.labels.len(), "train_rows": train.rows(), "test_rows": test.rows(),
        "folder": folder, "seed": args.seed.seed,
    });
    app.note(&format!("kept {} of {before} labels", kept.labels.len()));
    app.emit(&Document::new().table(table).data(data)?)
}

fn controlled(args: &Args, random: &Path, app: &App) -> Outcome<()> {
    let [chosen] = args.data.as_slice() else {
        return Err(unmissed::Error::value("with --controlled there is one file of self-selected ratings")
            .found(format!("{} files", args.data.len()))
            .into());
    };
    let positive = args.reading.positive().ok_or_else(|| {
        unmissed::Error::value("there is no threshold for positive ratings")
            .hint("pass --positive LEAST, for example --positive 4 for ratings from 1 to 5")
    })?;
    let options = args.reading.options(app);
    let (chosen, random) = Ratings::read(chosen, &options)?.aligned(&Ratings::read(random, &options)?)?;
    let train = match args.train_users {
        Users::Unique => TrainUsers::Unique,
        Users::All => TrainUsers::All,
    };
    let survey = survey(&chosen.ratings, &random.ratings, &SurveyOptions { positive, seed: args.seed.seed, train })?;
    let folder = folder(&args.output)?;
    write_data(&folder, "train", &survey.train, app)?;
    write_data(&folder, "controlled", &survey.controlled, app)?;
    write_data(&folder, "controlled_shown", &Dataset::new(None, survey.shown.clone())?, app)?;
    let users = |rows: &[usize]| rows.iter().map(|row| chosen.users[*row].as_str()).collect::<Vec<_>>();
    write_names(&folder.join("items.txt"), chosen.items.iter().map(String::as_str), app)?;
    write_names(&folder.join("train_users.txt"), users(&survey.train_users).into_iter(), app)?;
    write_names(&folder.join("controlled_users.txt"), users(&survey.controlled_users).into_iter(), app)?;
    let mut table = Table::new("survey", ["part", "users", "items", "positives"]);
    for (name, part) in [("train", &survey.train), ("controlled", &survey.controlled)] {
        table.row(cells![name, part.rows(), part.labels().cols(), part.labels().nnz()]);
    }
    let rate = &survey.rate;
    let average = if rate.uniform { "" } else { " on average (users were shown different numbers of items)" };
    let document = Document::new()
        .table(table)
        .note(format!(
            "The rate of the controlled set is {}/{}{average}: pass it as --rate {}/{}.",
            rate.shown, rate.items, rate.shown, rate.items
        ))
        .data(json!({
            "train_users": survey.train.rows(), "controlled_users": survey.controlled.rows(), "items": rate.items,
            "shown": rate.shown, "rate": rate.value(), "uniform": rate.uniform, "folder": folder, "seed": args.seed.seed,
        }))?;
    app.emit(&document)
}

fn write_data(folder: &Path, stem: &str, data: &Dataset<'static>, app: &App) -> Outcome<()> {
    args::write(&Content::Data(data.clone()), &folder.join(format!("{stem}.txt")), Some("xmc"), app)
}

/// Writes a line for each name.
fn write_names<'a>(path: &Path, names: impl Iterator<Item = &'a str>, app: &App) -> Outcome<()> {
    let mut output = Output::create(path)?;
    for name in names {
        output.put(name.as_bytes())?;
        output.put(b"\n")?;
    }
    output.finish()?;
    app.note(&format!("wrote {}", path.display()));
    Ok(())
}
