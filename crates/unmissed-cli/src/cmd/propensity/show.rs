//! `unmissed propensity show`: what models say about the labels of a data set.

use super::deliver::{Values, deliver};
use super::{MaybeControlled, Output};
use crate::app::{App, Outcome};
use crate::args::Reading;
use serde_json::json;
use std::path::PathBuf;
use unmissed::cells;
use unmissed::data::LabelStats;
use unmissed::propensity::estimators::Direct;
use unmissed::propensity::models::PropensitySpec;
use unmissed::propensity::{Propensities, bands, checks};
use unmissed::report::{Cell, Column, Document, Table, charts};

/// Show the propensities that models give the labels of a data set, and the evidence against them
#[derive(clap::Args)]
#[command(after_help = "MODEL is a spec: constant, jpv, jpv:a=0.5,b=0.4, jpv:wikipedia, power, power:gamma=0.5, \
richards:c=..,d=..,f=..,g=..,h=.., table:FILE. 'unmissed list models' explains them.

Examples:
  unmissed propensity show jpv power --train train.txt
  unmissed propensity show jpv jpv:wikipedia power:gamma=0.5 --train train.txt -o curves.svg
  unmissed propensity show power --train train.txt -o propensities.csv
  unmissed propensity show jpv power --train train.txt --controlled controlled.txt --rate 4/12")]
pub(super) struct Args {
    /// Propensity models
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<String>,
    /// The data from whose label counts the models are computed
    #[arg(long, value_name = "DATA")]
    train: PathBuf,
    #[command(flatten)]
    controlled: MaybeControlled,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    reading: Reading,
}

/// Level of the intervals in the comparison with a controlled set.
const LEVEL: f64 = 0.95;
/// How often the data are copied for the scaling check.
const COPIES: f64 = 10.0;

pub(super) fn run(args: &Args, app: &App) -> Outcome<()> {
    args.output.check(&[&args.train])?;
    let parsed = args.models.iter().map(|text| text.parse()).collect::<unmissed::Result<Vec<PropensitySpec>>>()?;
    let train = args.reading.dataset(&args.train, app)?;
    let stats = LabelStats::of(train.labels());
    let all = parsed.iter().map(|model| model.propensities(&stats)).collect::<unmissed::Result<Vec<_>>>()?;
    let mut chart = charts::propensity_chart("Propensity models");
    for (model, propensities) in parsed.iter().zip(&all) {
        let spec = model.to_string();
        chart = chart.series(match model.curve() {
            Some(phi) => charts::curve(&spec, phi, &stats),
            None => charts::labels(&spec, propensities, &stats),
        });
    }
    let mut document = document(&parsed, &all, &stats, app.format() == "json")?;
    if let Some(controlled) = args.controlled.given() {
        let direct = controlled.direct(&stats, LEVEL, &args.reading, app)?;
        chart = chart.series(charts::direct("controlled set", &direct, &stats));
        document = document.table(distance_table(&all, &direct)?);
    }
    let values: Vec<_> = all.iter().map(|p| (p.origin().to_string(), Values::Full(p))).collect();
    deliver(app, &args.output, &values, &document, &chart)
}

/// `for_programs`: whether json will be written. With a number for each label it costs far more than the tables.
fn document(parsed: &[PropensitySpec], all: &[Propensities], stats: &LabelStats, for_programs: bool) -> Outcome<Document> {
    let columns = [
        Column::new("model"),
        Column::new("rarest").fixed(3),
        Column::new("most frequent").fixed(3),
        Column::new("labels per row implied").significant(4),
        Column::new("priors above 1"),
        Column::new("effective share").percent(1),
        Column::new(format!("change by {COPIES} copies")).significant(3),
    ];
    let mut summary = Table::new("models", columns);
    let mut json = Vec::new();
    let mut notes = Vec::new();
    for (model, propensities) in parsed.iter().zip(all) {
        let implied = checks::implied_priors(propensities, stats)?;
        let size = checks::effective_sample_size(propensities, stats)?;
        let copied = model.curve().map(|phi| checks::copies(phi, stats, &[1.0, COPIES])).transpose()?;
        let change = copied.as_ref().and_then(|copied| copied.last()).map(|copied| copied.largest_change);
        let rank = |pick: fn(&[u64]) -> Option<usize>| pick(stats.counts()).map(|place| propensities.get(stats.occurring()[place]));
        summary.row(cells![
            propensities.origin().to_string(),
            rank(|counts| (0..counts.len()).min_by_key(|i| counts[*i])),
            rank(|counts| (0..counts.len()).max_by_key(|i| counts[*i])),
            implied.labels_per_row,
            implied.impossible.len(),
            (size.positives > 0.0).then(|| size.effective / size.positives),
            change,
        ]);
        notes.extend(propensities.notes().iter().map(|note| format!("{}: {note}", propensities.origin())));
        if for_programs {
            json.push(json!({
                "model": propensities.origin().to_string(), "implied_priors": implied, "effective_sample_size": size, "copies": copied,
                "bands": bands::bands(propensities, stats)?, "propensities": propensities,
            }));
        }
    }
    let mut document = Document::new().table(summary.titled("Models")).table(band_table(all, stats)?);
    if for_programs {
        document = document.data(json)?;
    }
    Ok(notes.into_iter().fold(document, Document::note))
}

/// What each model predicts for the controlled set, and what was found there.
fn distance_table(all: &[Propensities], direct: &Direct) -> Outcome<Table> {
    let columns = [
        Column::new("model"),
        Column::new("positives predicted").significant(5),
        Column::new("found"),
        Column::new("found / predicted").significant(3),
        Column::new("95 % interval"),
        Column::new("MSE of 1/p").significant(5),
        Column::new("labels outside their interval"),
    ];
    let mut table =
        Table::new("controlled", columns).titled("Against the controlled set (a right model has found / predicted = 1)");
    for propensities in all {
        let distance = checks::distance(propensities, direct, LEVEL)?;
        table.row(cells![
            propensities.origin().to_string(),
            distance.predicted,
            distance.found as u64,
            distance.ratio,
            format!("{:.3} .. {:.3}", distance.interval.low, distance.interval.high),
            distance.mse,
            format!("{} of {}", distance.outside.0, distance.outside.1),
        ]);
    }
    Ok(table)
}

/// The propensity of labels by their frequency, a column for each model.
pub(super) fn band_table(all: &[Propensities], stats: &LabelStats) -> Outcome<Table> {
    let columns = [Column::new("rows with the label"), Column::new("labels"), Column::new("of positives").percent(1)];
    let models = all.iter().map(|p| Column::new(p.origin().to_string()).fixed(3));
    let mut table = Table::new("bands", columns.into_iter().chain(models))
        .titled("Propensity by label frequency (pooled: observed positives over the relevant ones that they imply)");
    let bands = all.iter().map(|p| bands::bands(p, stats)).collect::<unmissed::Result<Vec<_>>>()?;
    for place in 0..bands.first().map_or(0, Vec::len) {
        let band = &bands[0][place];
        if band.labels > 0 {
            let values = bands.iter().map(|bands| Cell::from(bands[place].propensity));
            table.row(cells![band.name(), band.labels, band.share].into_iter().chain(values));
        }
    }
    Ok(table)
}
