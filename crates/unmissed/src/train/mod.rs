//! Training: one linear scorer for each label, by any loss, on labels that may be missing.
//!
//! One-vs-all training falls apart into labels, so it works on blocks of neighbouring labels ([`crate::predict::Block`]):
//! threads take blocks, memory is bounded by the blocks in work, and finished blocks can be kept when the rest is interrupted.
//! [`Trainer`] says what to train and how; a solver ([`Adam`] or [`Newton`]) trains a block.

#![allow(clippy::needless_range_loop, reason = "loops over the lanes of a block index several lines at once")]

mod adam;
mod batches;
mod held_out;
mod lanes;
mod newton;
mod problem;
mod trainer;
mod vectors;

pub use adam::Adam;
pub use newton::Newton;
pub use trainer::{Checkpoint, Solver, Trainer};
