//! From features to ranked labels: [`Model`], one linear scorer for each label.
//!
//! Training writes models, prediction reads them. Training hands the weights over in [`Block`]s of neighbouring labels;
//! [`Model::predict`] ranks the labels of rows, [`Model::logits`] gives all scores, and [`mod@file`] keeps models in files. [`mod@tree`]
//! has the models for very many labels.

mod batch;
mod builder;
pub mod file;
mod given;
mod half;
mod kernel;
mod model;
mod options;
pub(crate) mod packed;
mod panel;
mod scores;
mod summary;
mod top;
pub mod tree;
pub(crate) mod weighting;

pub use file::{About, AdjustedPropensities, BlockStore};
pub use model::{Block, Model, Normalize};
pub use options::PredictOptions;
pub use summary::ModelSummary;
pub use tree::{Recalibration, TreeModel, TreePrediction, TreeSearch, TreeSummary};
pub use weighting::Weighting;
