//! Training: one linear scorer for each label, by any loss, on labels that may be missing.
//!
//! One-vs-all training is independent for each label, so it works on blocks of neighbouring labels ([`crate::predict::Block`]):
//! threads
//! take blocks, memory is bounded by the blocks in training, and finished blocks survive an interruption.
//!
//! A [`TrainRequest`](crate::request::TrainRequest) says what to train and how, a [`Trainer`] adds what lies in memory. A plan checks
//! the request by itself, [`CheckedTraining`] against the data, with everything decided that follows from them; only that trains, by
//! Newton's method, over the dual of a squared hinge, by Adam, or by Adam with the propensities as parameters. [`Trainer::train`] does everything that a request may ask
//! for: it learns propensities in turns with the classifier, searches settings on held-out rows, and trains.
//!
//! For very many labels there are trees: [`TreeTrainer`] carries out a [`TreeRequest`](crate::request::TreeRequest).

#![allow(clippy::needless_range_loop, reason = "loops over the labels of a block index several lines at once")]

mod adam;
mod alternating;
mod batches;
mod calibrate;
mod checked;
mod choose;
mod choose_corrected;
mod contest;
mod dual;
mod elsewhere;
mod evidence;
mod fit;
mod floor;
mod grid;
mod held_out;
mod joint;
mod judge;
mod label_sample;
mod lines;
mod moments;
mod newton;
mod noisy;
mod objective;
mod plan;
mod problem;
mod ranking;
mod rows;
mod run;
mod stack;
mod sure_rows;
mod trainer;
mod tree;
mod trials;
mod tune;
mod vectors;

pub use crate::predict::file::{Calibration, Candidate, Choice, LaterOutcome, Setting, StackLine, StackTable, Trial, Tuning};
pub use crate::request::{Adam, Dual, Newton, Solver};
pub use checked::CheckedTraining;
pub use elsewhere::BlockRun;
pub use fit::{Checkpoint, Finished, Fitted, WIDTH, blocks};
pub use grid::{GRIDS, NamedGrid};
pub use run::{Destination, Trained};
pub use stack::{Stack, Stacked};
pub use sure_rows::sure_rows;
pub use trainer::Trainer;
pub use tree::{SizeEstimate, TreeDestination, TreeTrained, TreeTrainer};
