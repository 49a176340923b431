//! `unmissed propensity`: curves as they are given, fitted to evidence, or estimates from it.

mod deliver;
mod estimate;
mod fit;
mod rows;
mod show;

use crate::app::{App, Outcome};
use crate::args::check_outputs;
use std::path::{Path, PathBuf};
use unmissed::data::{LabelStats, Rate};
use unmissed::propensity::estimators::{Direct, direct::direct};

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
    Fit(Box<fit::Args>),
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

impl Output {
    /// Asked before long work: the ending says what to write, and nothing that is read is written over.
    fn check(&self, inputs: &[&Path]) -> unmissed::Result<()> {
        check_outputs(&self.output, inputs)?;
        match &self.output {
            Some(path) if path.extension().is_none_or(|ending| ending != "csv") => unmissed::report::plot::check_name(path)
                .map_err(|_| {
                    unmissed::Error::value("cannot write propensities in this format")
                        .expected("a name that ends in .csv, .svg or .png")
                        .in_file(path)
                }),
            _ => Ok(()),
        }
    }
}

/// A set whose labels were shown at a known rate.
#[derive(clap::Args)]
struct Controlled {
    /// A bias-controlled set: its labels are the relevant ones among those that were shown
    #[arg(long, value_name = "DATA")]
    controlled: PathBuf,
    /// The rate at which labels were shown: 16/300, 0.05, or a csv 'label,rate'
    #[arg(long, value_name = "R/M", allow_negative_numbers = true)]
    rate: String,
}

/// The same where it may be left out.
#[derive(clap::Args)]
struct MaybeControlled {
    /// A bias-controlled set: its labels are the relevant ones among those that were shown
    #[arg(long, value_name = "DATA", requires = "rate")]
    controlled: Option<PathBuf>,
    /// The rate at which labels were shown: 16/300, 0.05, or a csv 'label,rate'
    #[arg(long, value_name = "R/M", requires = "controlled", allow_negative_numbers = true)]
    rate: Option<String>,
}

impl MaybeControlled {
    fn given(&self) -> Option<Controlled> {
        let (controlled, rate) = self.controlled.clone().zip(self.rate.clone())?;
        Some(Controlled { controlled, rate })
    }
}

impl Controlled {
    /// The direct estimate.
    fn direct(&self, train: &LabelStats, level: f64, reading: &crate::args::Reading, app: &App) -> Outcome<Direct> {
        let controlled = reading.dataset(&self.controlled, app)?;
        let rate = Rate::read(&self.rate, train.labels())?;
        let checked = rate.check_rows(controlled.labels());
        let found = checked.and_then(|()| direct(train, &LabelStats::of(controlled.labels()), &rate, level));
        Ok(found.map_err(|error| error.in_file(&self.controlled))?)
    }
}
