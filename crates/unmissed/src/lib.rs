//! How good is a multi-label model really, when its labels are incomplete and long-tailed?
//!
//! The crate follows the data: [`data`] is read and described; [`propensity`] says how likely a relevant label is to be
//! observed; later stages (metrics, training) stand on both.

pub mod data;
pub mod error;
pub mod progress;
pub mod propensity;
pub mod rng;
pub mod spec;

pub use error::{Error, Result};
