//! Training: one linear scorer for each label, by any loss, on labels that may be missing.
//!
//! One-vs-all training falls apart into labels, so it works on blocks of neighbouring labels ([`crate::predict::Block`]): threads
//! take blocks, memory is bounded by the blocks in work, and finished blocks can be kept when the rest is interrupted.
//!
//! A [`TrainRequest`](crate::request::TrainRequest) says what to train and how, a [`Trainer`] adds what lies in memory. A plan checks
//! the request by itself, [`CheckedTraining`] against the data, with everything decided that follows from them; only that trains, by
//! Newton's method, Adam, or Adam with the propensities as parameters. [`Trainer::train`] does everything that a request may ask
//! for: it learns propensities in turns with the classifier, searches settings on held-out rows, and trains.

#![allow(clippy::needless_range_loop, reason = "loops over the labels of a block index several lines at once")]

mod adam;
mod alternating;
mod batches;
mod checked;
mod fit;
mod grid;
mod held_out;
mod joint;
mod judge;
mod lines;
mod moments;
mod newton;
mod plan;
mod problem;
mod run;
mod trainer;
mod tune;
mod vectors;

pub use crate::predict::file::{Setting, Trial, Tuning};
pub use crate::request::{Adam, Newton, Solver};
pub use checked::CheckedTraining;
pub use fit::{Checkpoint, Finished, Fitted, WIDTH, blocks};
pub use grid::{GRIDS, NamedGrid};
pub use run::{Destination, Trained};
pub use trainer::Trainer;
