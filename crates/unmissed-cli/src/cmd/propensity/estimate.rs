//! `unmissed propensity estimate`: propensities from evidence. Subcommands and their options come from the library's list.

use super::Output;
use super::deliver::{Values, deliver};
use super::show::band_table;
use crate::app::{App, Outcome};
use crate::args::Reading;
use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches};
use std::path::{Path, PathBuf};
use unmissed::cells;
use unmissed::data::{Dataset, KnownPair, Rate};
use unmissed::evaluate::judged::Judged;
use unmissed::propensity::dag::Dag;
use unmissed::propensity::estimators::{
    ControlledSet, Direct, Estimate, EstimatedValues, EstimatorInput, EstimatorOption, OptionKind, PROPENSITY_ESTIMATORS,
    PropensityEstimator, PropensityEstimatorSpec, PropensityEvidence, RelationPairs, SureRows,
};
use unmissed::propensity::pairs::{Columns, read_pairs};
use unmissed::propensity::{Propensities, ValueSource, checks};
use unmissed::report::plot::Chart;
use unmissed::report::{Document, Table, charts};
use unmissed::request::TrainRequest;
use unmissed::train::sure_rows;

/// Which estimator, from which files.
pub(super) struct Args {
    spec: PropensityEstimatorSpec,
    train: PathBuf,
    /// The fields of the estimator's evidence, as they were typed.
    fields: Vec<(&'static str, String)>,
    output: Output,
    reading: Reading,
}

const EXAMPLES: &str = "Examples:
  unmissed propensity estimate direct --train train.txt --controlled controlled.txt --rate 4/12
  unmissed propensity estimate shrunken --train train.txt --controlled controlled.txt --rate 4/12
  unmissed propensity estimate timelapse --train train.txt --later train_late.txt -o p.svg
  unmissed propensity estimate hierarchy --train train.txt --hierarchy hierarchy.tsv
  unmissed propensity estimate relation --train train.txt --bought bought.tsv --viewed viewed.tsv
  unmissed propensity estimate judged --train train.txt --judged answers/judged.csv
  unmissed propensity estimate anchors --train train.txt";

impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let command = command
            .about("Estimate propensities from a controlled set, a later snapshot, a hierarchy, a relation of labels, judged pairs, or observed labels alone")
            .after_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand_help_heading("Estimators")
            .subcommand_value_name("ESTIMATOR");
        PROPENSITY_ESTIMATORS.iter().fold(command, |command, estimator| command.subcommand(subcommand(*estimator)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn subcommand(estimator: &'static dyn PropensityEstimator) -> Command {
    let train = Arg::new("train").long("train").value_name("DATA").help("The training data").required(true);
    // Of two snapshots the training data are the earlier one.
    let is_lapse = estimator.inputs().contains(&EstimatorInput::Later);
    let train = if is_lapse { train.visible_alias("earlier") } else { train };
    let fields = estimator.inputs().iter().flat_map(|input| input.fields()).map(|field| {
        let arg = Arg::new(field.name).long(field.name).value_name(field.value).help(field.help);
        arg.required(true).allow_negative_numbers(true)
    });
    let command = Command::new(estimator.name())
        .arg(train.value_parser(clap::value_parser!(PathBuf)))
        .args(fields)
        .args(estimator.options().iter().map(argument));
    // Last, since shared arguments set the summary to their own documentation.
    Reading::augment_args(Output::augment_args(command)).about(estimator.summary())
}

/// The option of an estimator as an argument.
fn argument(option: &'static EstimatorOption) -> Arg {
    let arg = Arg::new(option.name).long(option.name).help(option.help);
    let (value, default) = match option.kind {
        OptionKind::Switch(_) => return arg.action(ArgAction::SetTrue),
        OptionKind::Whole => ("N", option.default),
        OptionKind::Level => ("LEVEL", option.default),
        OptionKind::Curve => ("MODEL", option.default),
    };
    let check = ValueParser::from(|text: &str| option.check(text).map(|()| text.to_owned()));
    arg.value_name(value).default_value(default).allow_negative_numbers(true).value_parser(check)
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let refused = |error: unmissed::Error| clap::Error::raw(ErrorKind::InvalidValue, error);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let mut spec = PropensityEstimatorSpec::of_name(name).map_err(refused)?;
        for option in spec.estimator().options() {
            let value = match option.kind {
                OptionKind::Switch(_) => Some(matches.get_flag(option.name).to_string()),
                OptionKind::Whole | OptionKind::Level | OptionKind::Curve => matches.get_one::<String>(option.name).cloned(),
            };
            if let Some(value) = value {
                spec.set(option.name, &value).map_err(refused)?;
            }
        }
        let fields = spec.estimator().inputs().iter().flat_map(|input| input.fields());
        let typed = fields.filter_map(|field| Some((field.name, matches.get_one::<String>(field.name)?.clone())));
        Ok(Args {
            train: matches.get_one::<PathBuf>("train").cloned().ok_or_else(missing)?,
            fields: typed.collect(),
            output: Output::from_arg_matches(matches)?,
            reading: Reading::from_arg_matches(matches)?,
            spec,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

type Pairs = Vec<(u32, u32)>;

/// Files of evidence, read.
#[derive(Default)]
struct Files {
    controlled: Option<(Dataset<'static>, Rate)>,
    later: Option<Dataset<'static>>,
    hierarchy: Option<Dag>,
    relation: Option<(Pairs, Pairs)>,
    sure_rows: Option<SureRows>,
    judged: Option<Vec<KnownPair>>,
}

impl Args {
    /// What was typed for a field; the parser has seen that it is there.
    fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(field, _)| *field == name).map_or("", |(_, text)| text)
    }

    fn read(&self, train: &Dataset<'_>, app: &App) -> Outcome<Files> {
        let (rows, labels) = (train.rows() as u64, train.labels().cols() as u64);
        let mut files = Files::default();
        for input in self.spec.estimator().inputs() {
            match input {
                EstimatorInput::Controlled => {
                    let set = self.reading.dataset(Path::new(self.field("controlled")), app)?;
                    files.controlled = Some((set, Rate::read(self.field("rate"), labels)?));
                }
                EstimatorInput::Later => files.later = Some(self.reading.dataset(Path::new(self.field("later")), app)?),
                EstimatorInput::Hierarchy => {
                    files.hierarchy = Some(Dag::read(self.field("hierarchy"), train.labels().cols())?);
                }
                EstimatorInput::Relation => {
                    let bought = Columns { names: ("label", "item"), bounds: (labels, labels) };
                    let viewed = Columns { names: ("item", "row"), bounds: (labels, rows) };
                    files.relation = Some((read_pairs(self.field("bought"), bought)?, read_pairs(self.field("viewed"), viewed)?));
                }
                EstimatorInput::Judged => {
                    let path = [self.field("judged")];
                    files.judged = Some(Judged::read(&path, None, None, Judged::shape(&path)?)?.known_pairs()?);
                }
                EstimatorInput::SureRows => {
                    let found = sure_rows(train, &TrainRequest::default(), app.progress());
                    files.sure_rows = Some(found.map_err(|error| error.in_file(&self.train))?);
                }
            }
        }
        Ok(files)
    }
}

pub(super) fn run(args: &Args, app: &App) -> Outcome<()> {
    let fields = args.fields.iter().map(|(_, text)| Path::new(text.as_str()));
    args.output.check(&fields.chain([args.train.as_path()]).collect::<Vec<_>>())?;
    let train = args.reading.dataset(&args.train, app)?;
    let files = args.read(&train, app)?;
    let mut evidence = PropensityEvidence::new(train.labels());
    if let Some((set, rate)) = &files.controlled {
        evidence = evidence.controlled(ControlledSet { labels: set.labels(), rate, shown: None });
    }
    if let Some(later) = &files.later {
        evidence = evidence.later(later.labels());
    }
    if let Some(dag) = &files.hierarchy {
        evidence = evidence.hierarchy(dag);
    }
    if let Some((bought, viewed)) = &files.relation {
        evidence = evidence.relation(RelationPairs { bought, viewed });
    }
    if let Some(pairs) = &files.judged {
        evidence = evidence.judged(pairs);
    }
    if let Some(sure) = &files.sure_rows {
        evidence = evidence.sure_rows(sure);
    }
    let first = args.fields.first().map_or("", |(_, text)| text);
    evidence.check().map_err(|error| error.in_file(first))?;
    let estimate = args.spec.estimate(&evidence)?;
    let document = match &estimate.values {
        EstimatedValues::All(propensities) => of_all(&estimate, propensities, &evidence)?,
        EstimatedValues::WithGaps(direct) => of_some(direct),
    };
    // A value for each label as json costs far more than the tables.
    let document = if app.format() == "json" { document.data(&estimate)? } else { document };
    let document = estimate.remarks.iter().cloned().fold(document, Document::note);
    let notes = estimate.propensities().map_or(&[][..], Propensities::notes);
    let document = notes.iter().cloned().fold(document, Document::note);
    let values = match &estimate.values {
        EstimatedValues::All(propensities) => (propensities.origin().to_string(), Values::Full(propensities)),
        EstimatedValues::WithGaps(direct) => (args.spec.name(), Values::Direct(direct)),
    };
    deliver(app, &args.output, &[values], &document, &chart(&args.spec, &estimate, &evidence))
}

/// Propensities by frequency and by source, of an estimate for all labels.
fn of_all(estimate: &Estimate, propensities: &Propensities, evidence: &PropensityEvidence<'_>) -> Outcome<Document> {
    let stats = evidence.stats();
    let mut sources = Table::new("sources", ["source", "labels"]).titled("Sources of the values");
    for source in ValueSource::ALL {
        sources.row(cells![source.name(), propensities.from_source(source)]);
    }
    let document = Document::new().table(band_table(std::slice::from_ref(propensities), stats)?).table(sources);
    if estimate.fit.is_none() {
        return Ok(document);
    }
    let beyond = checks::extrapolated(propensities, stats, stats, estimate.fit.as_ref())?;
    Ok(document.note(format!(
        "{} labels with {:.1} % of the positives lie outside the range that the curve was fitted to: their values are extrapolated.",
        beyond.labels,
        100.0 * beyond.share
    )))
}

/// How many labels have an estimate.
fn of_some(direct: &Direct) -> Document {
    let mut table = Table::new("direct", ["labels", "number"]);
    for (name, number) in [
        ("all", direct.len()),
        ("with an estimate", direct.estimated()),
        ("clipped to 1", direct.clipped()),
        ("observed, but without a controlled positive", direct.without_controlled_positive()),
        ("never observed in training", direct.never_observed()),
    ] {
        table.row(cells![name, number]);
    }
    Document::new().table(table)
}

fn chart(spec: &PropensityEstimatorSpec, estimate: &Estimate, evidence: &PropensityEvidence<'_>) -> Chart {
    let stats = evidence.stats();
    let direct = estimate.direct.iter().fold(charts::propensity_chart("Estimated propensities"), |chart, direct| {
        chart.series(charts::direct("direct", direct, stats))
    });
    let chart = match &estimate.values {
        EstimatedValues::All(propensities) => {
            direct.series(charts::labels(&propensities.origin().to_string(), propensities, stats))
        }
        EstimatedValues::WithGaps(found) => direct.series(charts::direct(&spec.name(), found, stats)),
    };
    estimate.fit.iter().fold(chart, |chart, fit| chart.series(charts::curve(&fit.phi.short(), &fit.phi, stats)))
}
