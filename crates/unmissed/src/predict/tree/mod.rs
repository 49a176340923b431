//! Models on trees over labels: [`TreeModel`].
//!
//! Each node of a [`Tree`](crate::tree::Tree) has a linear classifier for each of its lanes: given that a row has relevant labels
//! below the node, whether it has some below the lane. The probability of a label is the product along its path, the mean of which
//! over the trees is that of an ensemble. `weights.rs` says how weights are held, `search.rs` how the best labels are found, `pairs.rs`
//! how those are scored that are named.

pub(crate) mod arrays;
mod chunk;
mod leaf;
mod model;
mod pairs;
mod search;
pub(crate) mod weights;

pub use leaf::Recalibration;
pub use model::{TreeModel, TreeSummary};
pub use search::{TreePrediction, TreeSearch};
