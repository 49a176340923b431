//! `unmissed stats`: how imbalanced the labels of data sets are.

use crate::app::{App, Outcome};
use crate::args::{Reading, Seed, stem};
use serde_json::json;
use std::path::PathBuf;
use unmissed::data::{DataStats, Dataset, LabelStats, rank_frequency};
use unmissed::report::plot::{self, Chart, Scale, Series};
use unmissed::report::{Cell, Column, Document, STATISTICS, Table};

/// Describe data sets: sizes, labels per row, and how long the tail of the labels is
#[derive(clap::Args)]
#[command(after_help = "Examples:
  unmissed stats train.txt
  unmissed stats train.txt test.txt --format json
  unmissed stats train.txt test.txt -o frequencies.svg")]
pub(crate) struct Args {
    /// Data sets
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,
    /// Draw rank against frequency of the labels, on log-log axes, into this .svg or .png file
    #[arg(long, short, value_name = "PLOT")]
    output: Option<PathBuf>,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    reading: Reading,
}

/// Points of a plotted curve: more than a screen can show apart.
const POINTS: usize = 2000;

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    if let Some(path) = &args.output {
        plot::check_name(path)?;
    }
    let mut chart = Chart::new("Label frequency").x("rank of the label", Scale::Log).y("rows with the label", Scale::Log);
    let mut all = Vec::new();
    for path in &args.data {
        let data: Dataset<'_> = args.reading.dataset(path, app)?;
        let name = stem(path);
        app.progress().begin(&format!("counting {name}"), 0);
        if args.output.is_some() {
            let points = rank_frequency(&LabelStats::of(data.labels()), POINTS);
            chart = chart.series(Series::line(name.clone(), points.iter().map(|p| (p.rank as f64, p.count as f64))));
        }
        all.push((name, path.display().to_string(), DataStats::of(&data, args.seed.seed)));
    }
    if let Some(path) = &args.output {
        plot::write(&chart, path)?;
        app.note(&format!("wrote {}", path.display()));
    }
    let rows: Vec<_> = all.iter().map(|(name, path, stats)| json!({"name": name, "path": path, "statistics": stats})).collect();
    app.emit(&Document::new().table(table(&all)).data(rows)?)
}

/// One statistic a row, one data set a column.
fn table(all: &[(String, String, DataStats)]) -> Table {
    let columns = std::iter::once(Column::new("statistic")).chain(names(all).into_iter().map(Column::new));
    let mut table = Table::new("statistics", columns);
    for (name, value) in STATISTICS {
        let cells = all.iter().map(|(_, _, stats)| value(stats));
        table.row(std::iter::once(Cell::from(*name)).chain(cells));
    }
    table
}

/// Names of columns must differ: the same file name in two folders gets its path.
fn names(all: &[(String, String, DataStats)]) -> Vec<String> {
    let name_of = |(name, path, _): &(String, String, DataStats)| {
        let twice = all.iter().filter(|other| other.0 == *name).count() > 1;
        if twice { path.clone() } else { name.clone() }
    };
    all.iter().map(name_of).collect()
}
