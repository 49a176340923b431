//! Models on trees over labels: [`TreeModel`].
//!
//! Each node of a [`Tree`](crate::tree::Tree) has a linear classifier for each of its lanes: given that a row has relevant labels
//! below the node, whether it has some below the lane. The probability of a label is the product along its path, the mean of which
//! over the trees is that of an ensemble. `weights.rs` says how weights are held, `ranking.rs` what labels rank by, `row_search.rs` how the best of one tree are found
//! and `search.rs` those of several, `pairs.rs` how labels are scored that are named.

pub(crate) mod arrays;
mod chunk;
mod known;
mod leaf;
mod model;
mod pairs;
mod ranking;
mod row_search;
mod search;
pub(crate) mod weights;

pub use leaf::Recalibration;
pub use model::{TreeModel, TreeSummary};
pub use search::{TreePrediction, TreeSearch};
