//! `unmissed propensity estimate`: propensities from evidence.

use super::deliver::{Values, deliver};
use super::show::band_table;
use super::{Controlled, Output, level};
use crate::app::{App, Outcome};
use crate::args::{Reading, Seed};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use unmissed::cells;
use unmissed::data::LabelStats;
use unmissed::propensity::dag::Dag;
use unmissed::propensity::estimators::hierarchy::{self, Variant};
use unmissed::propensity::estimators::{Direct, relation, shrunken, timelapse};
use unmissed::propensity::fit::{Fit, Options};
use unmissed::propensity::pairs::{Columns, read_pairs};
use unmissed::propensity::{Propensities, Ratio, Source, checks, models};
use unmissed::report::plot::Chart;
use unmissed::report::{Document, Table, charts};

/// Estimate propensities from a controlled set, a later snapshot, a hierarchy or a relation of labels
#[derive(clap::Args)]
#[command(after_help = "Examples:
  unmissed propensity estimate direct --train train.txt --controlled controlled.txt --rate 4/12
  unmissed propensity estimate shrunken --train train.txt --controlled controlled.txt --rate 4/12
  unmissed propensity estimate timelapse --earlier train.txt --later train_late.txt -o p.svg
  unmissed propensity estimate hierarchy --train train.txt --hierarchy hierarchy.tsv
  unmissed propensity estimate relation --train train.txt --bought bought.tsv --viewed viewed.tsv")]
pub(super) struct Args {
    #[command(subcommand)]
    estimator: Estimator,
}

#[derive(clap::Subcommand)]
enum Estimator {
    /// From a bias-controlled set, label by label; labels without a controlled positive stay empty
    #[command(name = "direct")]
    FromDirect(ByLabel),
    /// The direct estimate, pulled towards a fitted curve as far as the controlled data are thin
    Shrunken(FromControlled),
    /// From two snapshots of the same rows (an upper bound)
    Timelapse(Timelapse),
    /// From ancestors that observed labels imply (an upper bound)
    Hierarchy(Hierarchy),
    /// From what was viewed with what was bought with a label (no bound)
    Relation(Relation),
}

/// Arguments of all estimators.
#[derive(clap::Args)]
struct Basic {
    /// Level of intervals
    #[arg(long, default_value = "0.95", value_parser = level, allow_negative_numbers = true)]
    level: f64,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    reading: Reading,
}

impl Basic {
    fn stats(&self, path: &Path, app: &App) -> Outcome<LabelStats> {
        Ok(LabelStats::of(self.reading.dataset(path, app)?.labels()))
    }
}

/// Arguments of those that fit a curve.
#[derive(clap::Args)]
struct Common {
    /// The curve for labels without evidence, and towards which estimates are shrunken
    #[arg(long, default_value = "power", value_name = "MODEL")]
    curve: String,
    #[command(flatten)]
    basic: Basic,
    #[command(flatten)]
    seed: Seed,
}

impl Common {
    fn options(&self) -> Options {
        Options { seed: self.seed.seed, ..Options::default() }
    }

    fn ratio(&self, shrink: bool) -> Outcome<Ratio> {
        Ok(Ratio { family: models::family(&self.curve)?, shrink, level: self.basic.level, options: self.options() })
    }
}

#[derive(clap::Args)]
struct ByLabel {
    /// The training data
    #[arg(long, value_name = "DATA")]
    train: PathBuf,
    #[command(flatten)]
    controlled: Controlled,
    #[command(flatten)]
    basic: Basic,
}

#[derive(clap::Args)]
struct FromControlled {
    /// The training data
    #[arg(long, value_name = "DATA")]
    train: PathBuf,
    #[command(flatten)]
    controlled: Controlled,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
struct Timelapse {
    /// The earlier snapshot
    #[arg(long, value_name = "DATA")]
    earlier: PathBuf,
    /// The later snapshot of the same rows, in the same order
    #[arg(long, value_name = "DATA")]
    later: PathBuf,
    /// Pull the estimate of each label towards the curve
    #[arg(long)]
    shrink: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
struct Hierarchy {
    /// The training data
    #[arg(long, value_name = "DATA")]
    train: PathBuf,
    /// Lines 'child TAB parent' of label ids
    #[arg(long, value_name = "TSV")]
    hierarchy: PathBuf,
    /// Only labels with more descendants than this are estimated
    #[arg(long, default_value_t = hierarchy::Options::default().threshold, value_name = "N")]
    threshold: usize,
    /// Observed and implied, of implied: consistent where labels go missing independently
    #[arg(long)]
    conditional: bool,
    /// Pull the estimate of each label towards the curve
    #[arg(long)]
    shrink: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
struct Relation {
    /// The training data; rows are items too
    #[arg(long, value_name = "DATA")]
    train: PathBuf,
    /// Lines 'label TAB item': bought together
    #[arg(long, value_name = "TSV")]
    bought: PathBuf,
    /// Lines 'item TAB row': viewed together
    #[arg(long, value_name = "TSV")]
    viewed: PathBuf,
    #[command(flatten)]
    common: Common,
}

impl Estimator {
    fn basic(&self) -> &Basic {
        match self {
            Estimator::FromDirect(args) => &args.basic,
            Estimator::Shrunken(args) => &args.common.basic,
            Estimator::Timelapse(args) => &args.common.basic,
            Estimator::Hierarchy(args) => &args.common.basic,
            Estimator::Relation(args) => &args.common.basic,
        }
    }
}

pub(super) fn run(args: &Args, app: &App) -> Outcome<()> {
    args.estimator.basic().output.check()?;
    match &args.estimator {
        Estimator::FromDirect(args) => run_direct(args, app),
        Estimator::Shrunken(args) => run_shrunken(args, app),
        Estimator::Timelapse(args) => {
            let earlier = args.common.basic.reading.dataset(&args.earlier, app)?;
            let later = args.common.basic.reading.dataset(&args.later, app)?;
            let found = timelapse::timelapse(earlier.labels(), later.labels(), &args.common.ratio(args.shrink)?)?;
            finish(
                app,
                &args.common,
                &LabelStats::of(earlier.labels()),
                (&found.propensities, &found.fit),
                &found,
                Vec::new(),
                empty_chart(),
            )
        }
        Estimator::Hierarchy(args) => {
            let train = args.common.basic.reading.dataset(&args.train, app)?;
            let dag = Dag::read(&args.hierarchy, train.labels().cols())?;
            let variant = if args.conditional { Variant::Conditional } else { Variant::Union };
            let options = hierarchy::Options { threshold: args.threshold, variant };
            let found = hierarchy::hierarchy(train.labels(), &dag, &options, &args.common.ratio(args.shrink)?)?;
            let note = format!(
                "{} of {} labels have no descendant; {} have more than {}, and {} of those have data and were estimated.",
                found.without_descendants,
                dag.labels(),
                found.passing,
                args.threshold,
                found.estimated
            );
            finish(
                app,
                &args.common,
                &LabelStats::of(train.labels()),
                (&found.propensities, &found.fit),
                &found,
                vec![note],
                empty_chart(),
            )
        }
        Estimator::Relation(args) => {
            let train = args.common.basic.reading.dataset(&args.train, app)?;
            let (rows, labels) = (train.rows() as u64, train.labels().cols() as u64);
            let bought = read_pairs(&args.bought, Columns { names: ("label", "item"), bounds: (labels, labels) })?;
            let viewed = read_pairs(&args.viewed, Columns { names: ("item", "row"), bounds: (labels, rows) })?;
            let found = relation::relation(train.labels(), bought, viewed, &args.common.ratio(false)?)?;
            let note = format!("{} of {labels} labels are related to a row.", found.related_labels);
            finish(
                app,
                &args.common,
                &LabelStats::of(train.labels()),
                (&found.propensities, &found.fit),
                &found,
                vec![note],
                empty_chart(),
            )
        }
    }
}

fn run_direct(args: &ByLabel, app: &App) -> Outcome<()> {
    let stats = args.basic.stats(&args.train, app)?;
    let direct = args.controlled.direct(&stats, args.basic.level, &args.basic.reading, app)?;
    let known: Vec<f64> = (0..direct.len()).filter_map(|label| direct.propensity(label)).collect();
    let mut table = Table::new("direct", ["labels", "number"]);
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    for (name, number) in [
        ("all", direct.len()),
        ("with an estimate", known.len()),
        ("clipped to 1", direct.clipped()),
        ("observed, but without a controlled positive", direct.without_controlled_positive()),
        ("never observed in training", direct.never_observed()),
    ] {
        table.row(cells![name, number]);
    }
    let mut document = Document::new().table(table).note(format!(
        "Mean propensity of the labels with an estimate: {mean:.4}. The others stay empty; 'shrunken' has a value for all."
    ));
    if app.format() == "json" {
        document = document.data(json!({
            "without_controlled_positive": direct.without_controlled_positive(), "never_observed": direct.never_observed(),
            "clipped": direct.clipped(), "labels": label_rows(&direct),
        }))?;
    }
    let chart = charts::propensity_chart("Direct estimate").series(charts::direct("direct", &direct, &stats));
    deliver(app, &args.basic.output, &[("direct".to_owned(), Values::Direct(&direct))], &document, &chart)
}

/// What the controlled set says about each label.
fn label_rows(direct: &Direct) -> Vec<serde_json::Value> {
    let row = |label: usize| {
        json!({
            "label": label, "observed": direct.count(label), "controlled": direct.positives(label),
            "propensity": direct.propensity(label), "inverse": direct.inverse(label),
            "low": direct.interval(label).map(|i| i.low), "high": direct.interval(label).map(|i| i.high),
        })
    };
    (0..direct.len()).map(row).collect()
}

fn run_shrunken(args: &FromControlled, app: &App) -> Outcome<()> {
    let basic = &args.common.basic;
    let stats = basic.stats(&args.train, app)?;
    let direct = args.controlled.direct(&stats, basic.level, &basic.reading, app)?;
    let family = models::family(&args.common.curve)?;
    let found = shrunken::shrunken(&direct, &family, &args.common.options(), basic.level)?;
    let scatter = match found.fit.kappa {
        Some(kappa) => format!("Labels scatter around the curve with shape kappa = {kappa:.3}."),
        None => "No scatter around the curve is visible.".to_owned(),
    };
    let alone = format!("{} labels have no controlled positive.", direct.without_controlled_positive());
    let chart = empty_chart().series(charts::direct("direct", &direct, &stats));
    finish(app, &args.common, &stats, (&found.propensities, &found.fit), &found, vec![scatter, alone], chart)
}

fn empty_chart() -> Chart {
    charts::propensity_chart("Estimated propensities")
}

/// Tables, notes, csv and plot of an estimate for all labels.
fn finish(
    app: &App,
    common: &Common,
    stats: &LabelStats,
    (propensities, fit): (&Propensities, &Fit),
    whole: &impl Serialize,
    notes: Vec<String>,
    chart: Chart,
) -> Outcome<()> {
    let mut sources = Table::new("sources", ["source", "labels"]).titled("Where the values come from");
    for source in [Source::Estimated, Source::Curve, Source::Clipped] {
        sources.row(cells![source.name(), propensities.from_source(source)]);
    }
    let document = Document::new().table(band_table(std::slice::from_ref(propensities), stats)?).table(sources);
    // A value for each label as json costs far more than the tables.
    let document = if app.format() == "json" { document.data(whole)? } else { document };
    let beyond = checks::extrapolated(propensities, stats, stats, Some(fit))?;
    let extrapolated = format!(
        "{} labels with {:.1} % of the positives lie outside of what the curve was fitted to: their values are extrapolated.",
        beyond.labels,
        100.0 * beyond.share
    );
    let document =
        notes.into_iter().chain([extrapolated]).chain(propensities.notes().iter().cloned()).fold(document, Document::note);
    let chart = chart.series(charts::labels(&propensities.origin().to_string(), propensities, stats)).series(charts::curve(
        &fit.phi.short(),
        &fit.phi,
        stats,
    ));
    deliver(app, &common.basic.output, &[(propensities.origin().to_string(), Values::Full(propensities))], &document, &chart)
}
