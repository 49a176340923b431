//! `unmissed propensity`: curves as they are given, fitted to evidence, or estimates from it.

mod deliver;
mod estimate;
mod fit;
mod show;

use crate::app::{App, Outcome};
use std::path::PathBuf;
use unmissed::data::LabelStats;
use unmissed::propensity::estimators::{Direct, Rates, direct::direct};

/// How likely a relevant label is to be observed: show models, fit their curves, estimate from evidence
#[derive(clap::Args)]
#[command(after_help = "Examples:
  unmissed propensity show jpv power --train train.txt
  unmissed propensity fit power richards --train train.txt --controlled controlled.txt --rate 4/12
  unmissed propensity estimate shrunken --train train.txt --controlled controlled.txt --rate 4/12")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Show(show::Args),
    Fit(fit::Args),
    Estimate(estimate::Args),
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    match &args.command {
        Command::Show(args) => show::run(args, app),
        Command::Fit(args) => fit::run(args, app),
        Command::Estimate(args) => estimate::run(args, app),
    }
}

/// Where results go besides the terminal.
#[derive(clap::Args)]
struct Output {
    /// Write the propensities into this .csv file, or a plot of them into this .svg or .png file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A set whose labels were shown at a known rate.
#[derive(clap::Args)]
struct Controlled {
    /// A bias-controlled set: its labels are the relevant ones among those that were shown
    #[arg(long, value_name = "DATA", requires = "rate")]
    controlled: Option<PathBuf>,
    /// The rate at which labels were shown: 16/300, 0.05, or a csv 'label,rate'
    #[arg(long, value_name = "R/M", requires = "controlled")]
    rate: Option<String>,
}

impl Controlled {
    /// The direct estimate, when a controlled set is given.
    fn direct(&self, train: &LabelStats, level: f64, reading: &crate::args::Reading, app: &App) -> Outcome<Option<Direct>> {
        let (Some(path), Some(rate)) = (&self.controlled, &self.rate) else { return Ok(None) };
        let controlled = LabelStats::of(reading.dataset(path, app)?.labels());
        let rates = Rates::read(rate, train.labels())?;
        Ok(Some(direct(train, &controlled, &rates, level).map_err(|error| error.in_file(path))?))
    }
}

/// The level of intervals.
fn level(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(level) if level > 0.0 && level < 1.0 => Ok(level),
        _ => Err("expected a number between 0 and 1, as in 0.95".into()),
    }
}
