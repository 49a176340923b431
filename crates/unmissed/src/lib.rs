//! How good is a multi-label model really, when its labels are incomplete and long-tailed?
//!
//! The crate follows the data: [`data`] is read and described; [`propensity`] says how likely a relevant label is to be
//! observed; [`metrics`] are what one wants to know, [`evaluate`] gets it from incomplete labels, [`audit`] judges what it is
//! worth, and [`report`] shows it. [`predict`] ranks labels by a linear model, and keeps models in files. [`experiments`] are those of the paper.

pub mod audit;
pub mod data;
pub mod error;
pub mod evaluate;
pub mod experiments;
pub mod losses;
pub mod metrics;
pub mod predict;
pub mod progress;
pub mod propensity;
mod ranks;
pub mod report;
pub mod request;
pub mod rng;
pub mod sigmoid;
pub mod spec;
pub mod train;

pub use error::{Error, Result};
