//! `unmissed mask`: remove labels the way that observation would.

use crate::app::{App, Outcome};
use crate::args::{self, Reading, Seed};
use crate::cmd::evaluate::inputs::Model;
use serde_json::json;
use std::path::PathBuf;
use unmissed::cells;
use unmissed::data::formats::Content;
use unmissed::data::{Dataset, LabelStats, MaskBy, MaskShape, Masked};
use unmissed::propensity::{Propensities, models, table_file};
use unmissed::report::{Document, Table};
use unmissed::{Error, Result};

/// Remove labels with known propensities, by default independently; writes the propensities beside the data
#[derive(clap::Args)]
#[command(after_help = "OUT.propensities.csv has the propensities that were used. These are the right ones for every later step, \
not the same model evaluated on the counts of the masked data. With --by they are means over the rows that have a label.

Examples:
  unmissed mask train.txt --propensity power --seed 1 -o biased.txt
  unmissed mask train.txt --propensity power --by row --correlation 0.3 -o careless.txt
  unmissed mask test.txt --propensity table:biased.txt.propensities.csv --seed 2 -o test_biased.txt")]
pub(crate) struct Args {
    /// Data with complete labels
    data: PathBuf,
    /// The propensity model, as a function of the label counts of DATA, or table:FILE
    #[arg(long, value_name = "SPEC")]
    propensity: String,
    /// How strongly labels of a row go missing together: 0 independently, 1 all at once if their propensities are equal
    #[arg(long, value_name = "R", default_value_t = MaskShape::default().correlation, allow_negative_numbers = true)]
    correlation: f64,
    /// Let propensities depend on the row, on its group (of --groups), or on the rank that --predictions give the label
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// Strength of --by: log odds per standard deviation
    #[arg(long, value_name = "S", default_value_t = MaskShape::default().strength, requires = "by", allow_negative_numbers = true)]
    strength: f64,
    /// --by group: number of groups into which rows fall at random [default: 10]
    #[arg(long, value_name = "N", requires = "by")]
    groups: Option<u32>,
    /// --by rank: predictions for the rows of DATA
    #[arg(long, value_name = "FILE", requires = "by", required_if_eq("by", "rank"))]
    predictions: Option<Model>,
    /// The file to write
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Format of the output ('unmissed list formats') [default: by its ending]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    reading: Reading,
}

/// What propensities depend on.
#[derive(Clone, Copy, clap::ValueEnum)]
enum By {
    /// Some rows are labelled with more care than others
    Row,
    /// So are some groups of rows
    Group,
    /// Labels that a model ranks first are observed more often
    Rank,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Row => "row",
            By::Group => "group",
            By::Rank => "rank",
        }
    }
}

impl Args {
    /// What the given kind of --by does not use would be ignored.
    fn check(&self) -> Result<()> {
        let Some(by) = self.by else { return Ok(()) };
        let unused = |option: &str, user: By| {
            let found = format!("--by {}", by.name());
            Err(Error::value(format!("{option} would be ignored")).expected(format!("--by {}", user.name())).found(found))
        };
        match by {
            By::Row | By::Group if self.predictions.is_some() => unused("--predictions", By::Rank),
            By::Row | By::Rank if self.groups.is_some() => unused("--groups", By::Group),
            _ => Ok(()),
        }
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    args::check_output(&args.output, &[&args.data])?;
    args.check()?;
    let model = models::parse(&args.propensity)?;
    let data = args.reading.dataset(&args.data, app)?;
    app.progress().begin("masking", 0);
    let propensities = model.propensities(&LabelStats::of(data.labels()))?;
    let (features, labels) = data.into_parts();
    let scores = args.predictions.as_ref().map(|file| file.read(&args.reading, None, app)).transpose()?;
    let by = match args.by {
        None => None,
        Some(By::Row) => Some(MaskBy::Row),
        Some(By::Group) => Some(MaskBy::Group(args.groups.unwrap_or(MaskBy::DEFAULT_GROUPS))),
        Some(By::Rank) => scores.as_ref().map(MaskBy::Rank),
    };
    let shape = MaskShape { correlation: args.correlation, by, strength: args.strength };
    let Masked { labels: kept, propensities: means } = shape.mask(&labels, propensities.values(), args.seed.seed)?;
    let propensities = match args.by {
        None => propensities,
        Some(by) => Propensities::new(format!("{}, by {}", propensities.origin(), by.name()).as_str(), means)?,
    };
    let mut table = Table::new("mask", ["labels", "positives", "per row"]);
    for (name, labels) in [("before", &labels), ("after", &kept)] {
        table.row(cells![name, labels.nnz(), labels.nnz() as f64 / labels.rows().max(1) as f64]);
    }
    let json = json!({
        "propensity": propensities.origin().to_string(), "seed": args.seed.seed, "positives_before": labels.nnz(), "positives_after": kept.nnz(),
    });
    args::write(&Content::Data(Dataset::new(features, kept)?), &args.output, args.to.as_deref(), app)?;
    let mut beside = args.output.clone().into_os_string();
    beside.push(".propensities.csv");
    table_file::write(&propensities, &beside)?;
    app.note(&format!("wrote {}", PathBuf::from(&beside).display()));
    app.emit(&Document::new().table(table).data(json)?)
}
