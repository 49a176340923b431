//! Methods: searches for the predictions that are best for an objective.
//!
//! All of them end with the same two things: labels for every row, and a [line](super::Weighting) `a_j p + b_j` for each label, by
//! which new rows can be given labels one at a time. An entry of [`METHODS`] is one file.

pub mod bca;
pub mod frank_wolfe;
pub mod greedy;
mod step;

use super::candidates::Candidates;
use super::choices::Choices;
use super::terms::{Counts, Terms};
use crate::error::Result;
use crate::progress::Progress;
use crate::sealed::Sealed;
use crate::spec::{self, Named, Spec};

/// All methods; the first is the default.
pub static METHODS: &[&dyn Method] = &[&bca::BlockCoordinateAscent, &greedy::Greedy, &frank_wolfe::FrankWolfe];

/// A way to search. Only this crate implements it.
#[allow(private_interfaces, reason = "sealed: nobody else calls or implements it")]
pub trait Method: Named + Sealed + Sync {
    /// Searches from the most probable labels.
    fn search(&self, search: &Search<'_>, spec: &Spec) -> Result<Found>;
}

/// What is searched.
pub(super) struct Search<'a> {
    pub(super) candidates: &'a Candidates<'a>,
    pub(super) terms: &'a Terms,
    /// The most probable labels.
    pub(super) start: &'a Choices,
    /// What they make of the labels' counts.
    pub(super) counts: &'a [Counts],
    pub(super) k: usize,
    pub(super) at_most: bool,
    pub(super) sweeps: usize,
    pub(super) tolerance: f64,
    pub(super) seed: u64,
    pub(super) progress: &'a dyn Progress,
}

/// What was found.
pub(super) struct Found {
    pub(super) choices: Choices,
    /// The line of each label.
    pub(super) lines: Vec<[f64; 2]>,
    /// What is maximised, with these choices.
    pub(super) value: f64,
    /// The same after each pass over the rows.
    pub(super) values: Vec<f64>,
    /// Whether the search came to its end before the last pass that it may make.
    pub(super) converged: bool,
}

/// The method called `name`, or an error that suggests near names.
pub fn find(name: &str) -> Result<&'static dyn Method> {
    spec::find(METHODS, "method", name)
}
