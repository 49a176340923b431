//! The paper's experiments, one file each: the paper's numbers and ours.
//!
//! An experiment is an entry of [`EXPERIMENTS`]. It says which table or figure of the paper it belongs to, which data it needs and
//! how long it takes; [`Experiment::run`] gives an [`Outcome`]: tables with our numbers beside the paper's, charts, and claims that
//! hold or do not. What it works with is a [`Context`]: how large, which seed, which data sets the user has, and where finished
//! parts are kept, so that an interrupted run resumes where it was. Adding an experiment is one new file and one line
//! in the list.
//!
//! # Reference
//! Schultheis, Wydmuch, Babbar and Dembczynski: *On Missing Labels, Long-tails and Propensities in Extreme Multi-label
//! Classification*, KDD 2022.

mod biased_data;
mod context;
pub mod controlled;
pub mod counterexample;
mod data_folders;
pub mod hierarchy;
pub mod imbalance;
pub mod implausible;
pub mod joint;
mod linear_models;
mod measures;
pub mod mismatch;
mod outcome;
pub mod page;
mod paper_numbers;
pub mod robustness;
pub mod scaling;
pub mod statistics;
pub mod tails;
pub mod timelapse;
pub mod training;

pub use context::{Context, Size};
pub use data_folders::{DataFolder, YahooR3, data_folders};
pub use outcome::{Claim, ClaimVerdict, Outcome};

use crate::error::Result;
use crate::sealed::Sealed;
use crate::spec::{self, Named};

/// All experiments, in the order in which `all` runs them.
pub static EXPERIMENTS: &[&dyn Experiment] = &[
    &imbalance::Imbalance,
    &scaling::Scaling,
    &counterexample::Counterexample,
    &statistics::Statistics,
    &mismatch::Mismatch,
    &implausible::Implausible,
    &timelapse::Timelapse,
    &robustness::Robustness,
    &hierarchy::Hierarchy,
    &tails::Tails,
    &joint::Joint,
    &controlled::Controlled,
    &training::Training,
];

/// An experiment of the paper, or one that it suggests. Only this crate implements it.
pub trait Experiment: Named + Sealed + Sync {
    /// The table or figure of the paper.
    fn reproduces(&self) -> &'static str;
    /// The data it works on.
    fn data_needed(&self) -> &'static str;
    /// How long it takes.
    fn duration(&self) -> Took;
    /// Runs it. Data that are not there are a note, not an error.
    fn run(&self, context: &Context<'_>) -> Result<Outcome>;
}

/// How long an experiment took on two cores of a 2.45 GHz EPYC, with the data sets of `docs/reproduction.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// With `--quick`, on generated data.
    pub quick: &'static str,
    /// At the full size, with data sets.
    pub full: &'static str,
}

/// The experiments with these names, each once, in the order of the list; `all` is all of them.
pub fn choose(names: &[String]) -> Result<Vec<&'static dyn Experiment>> {
    let named: Vec<_> = names.iter().filter(|name| *name != "all").map(|name| find(name)).collect::<Result<_>>()?;
    let all = named.len() < names.len();
    let wanted = |experiment: &&dyn Experiment| all || named.iter().any(|other| other.name() == experiment.name());
    Ok(EXPERIMENTS.iter().copied().filter(wanted).collect())
}

/// The experiment with this name, or an error that suggests a near one.
pub fn find(name: &str) -> Result<&'static dyn Experiment> {
    spec::find(EXPERIMENTS, "experiment", name)
}
