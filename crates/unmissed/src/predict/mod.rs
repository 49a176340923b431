//! From features to ranked labels: [`Model`], one linear scorer for each label.
//!
//! Training writes models, prediction reads them; both see the weights in [`Block`]s of labels.

mod model;

pub use model::{Block, Model, Normalize};
