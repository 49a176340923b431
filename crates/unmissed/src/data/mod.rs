//! Data: how rows, features and labels are held, read, written, generated, split and masked.
//!
//! [`Csr`] is the matrix, [`Dataset`] the rows with their labels. [`formats`] reads and writes them. [`Ratings`] are what
//! users gave items; [`survey`] makes a data set with a controlled part of them.

pub mod csr;
mod dataset;
pub mod formats;
mod label_stats;
mod map;
mod output;
mod ratings;
mod source;
pub mod survey;
mod text;

pub use csr::{Csr, Labels};
pub use dataset::{Dataset, Dense, Features};
pub use label_stats::LabelStats;
pub use output::{Output, remove_unfinished};
pub use ratings::Ratings;
pub use source::Source;
