//! Subcommands, one file each: `Args` says what it takes, `run` does it.

mod annotate;
mod audit;
pub(crate) mod completions;
mod convert;
mod crossfit;
mod evaluate;
mod generate;
mod impute;
mod inspect;
mod list;
mod man;
mod mask;
mod optimize;
mod predict;
mod propensity;
mod reproduce;
mod split;
mod stats;
mod train;

use crate::app::{App, Outcome};
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    Audit(Box<audit::Args>),
    Annotate(annotate::Args),
    Stats(stats::Args),
    Split(split::Args),
    Generate(generate::Args),
    Mask(mask::Args),
    Propensity(propensity::Args),
    Impute(impute::Args),
    Predict(predict::Args),
    Optimize(Box<optimize::Args>),
    Crossfit(crossfit::Args),
    Inspect(inspect::Args),
    Train(Box<train::Args>),
    Evaluate(Box<evaluate::Args>),
    Merge(evaluate::MergeArgs),
    Reproduce(reproduce::Args),
    Convert(convert::Args),
    List(list::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    pub(crate) fn run(&self, app: &App) -> Outcome<()> {
        match self {
            Command::Audit(args) => audit::run(args, app),
            Command::Annotate(args) => annotate::run(args, app),
            Command::Stats(args) => stats::run(args, app),
            Command::Split(args) => split::run(args, app),
            Command::Generate(args) => generate::run(args, app),
            Command::Mask(args) => mask::run(args, app),
            Command::Propensity(args) => propensity::run(args, app),
            Command::Impute(args) => impute::run(args, app),
            Command::Predict(args) => predict::run(args, app),
            Command::Optimize(args) => optimize::run(args, app),
            Command::Crossfit(args) => crossfit::run(args, app),
            Command::Inspect(args) => inspect::run(args, app),
            Command::Train(args) => train::run(args, app),
            Command::Evaluate(args) => evaluate::run(args, app),
            Command::Merge(args) => evaluate::merge(args, app),
            Command::Reproduce(args) => reproduce::run(args, app),
            Command::Convert(args) => convert::run(args, app),
            Command::List(args) => list::run(args, app),
            Command::Completions(args) => completions::run(args, app),
            Command::Man(args) => man::run(args, app),
        }
    }
}
