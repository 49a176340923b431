//! Training: one linear scorer for each label, by any loss, on labels that may be missing.
//!
//! One-vs-all training falls apart into labels, so it works on blocks of neighbouring labels ([`crate::predict::Block`]):
//! threads take blocks, memory is bounded by the blocks in work, and finished blocks can be kept when the rest is interrupted.
//! [`Trainer`] says what to train and how; a solver ([`Adam`] or [`Newton`]) trains a block. A [`Search`] finds settings on rows
//! that were held out, [`Solver::Joint`] and [`alternating`] learn propensities from the observed labels, and a [`Recipe`] puts
//! it all together.

#![allow(clippy::needless_range_loop, reason = "loops over the lanes of a block index several lines at once")]

mod adam;
mod alternating;
mod batches;
mod criterion;
mod fit;
mod grid;
mod held_out;
mod joint;
mod lanes;
mod moments;
mod newton;
mod prefetch;
mod problem;
mod recipe;
mod stack;
mod trainer;
mod tune;
mod vectors;

pub use adam::Adam;
pub use alternating::{ROUNDS, alternating};
pub use criterion::Criterion;
pub use fit::{Checkpoint, Finished, Fitted, WIDTH, blocks};
pub use grid::{GRIDS, Grid, NamedGrid, Setting};
pub use newton::Newton;
pub use recipe::{Destination, Joint, Recipe, Trained};
pub use stack::{Stack, StackLine, StackTable, Stacked};
pub use trainer::{Solver, Trainer};
pub use tune::{HOLDOUT, Search, Trial, Tuning};
