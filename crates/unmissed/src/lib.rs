//! How good is a multi-label model really, when its labels are incomplete and long-tailed?
//!
//! The crate follows the data: [`data`] is read and described; later stages (propensities, metrics, training) stand on it.

pub mod data;
pub mod error;
pub mod progress;
pub mod report;
pub mod rng;
pub mod spec;

pub use error::{Error, Result};
