//! Evaluation: every metric, every estimator, every propensity model, in one pass.
//!
//! [`Evaluation`] collects what is asked for. One parallel pass over the rows selects the top k of each row once and leaves a
//! [`Tally`]: sums of row terms by chunk of rows, and whole numbers by label. Its finish gives an [`EvaluationResult`]: rows with
//! values, standard errors and intervals, paired comparisons of models, and findings. Tallies can be written, read and merged, so
//! threads, files and machines are the same thing: the result is the same to the last bit.
//!
//! ```
//! use unmissed::data::{Csr, LabelStats, Labels};
//! use unmissed::evaluate::Evaluation;
//! use unmissed::propensity::models;
//!
//! let train = Labels::from_ids(3, [vec![0], vec![0, 1], vec![0, 2], vec![0]])?;
//! let test = Labels::from_ids(3, [vec![0, 1], vec![2]])?;
//! let scores = Csr::from_rows(3, [[(0, 0.9f32), (1, 0.2)], [(0, 0.6), (2, 0.5)]])?;
//! let stats = LabelStats::of(&train);
//! let jpv = models::parse("jpv")?.propensities(&stats)?;
//! let result = Evaluation::new(&test, &[("mine", &scores)])?.train(&stats).propensity(jpv).ks(&[1])?.run()?;
//! assert_eq!(result.rows[0].value, Some(0.5));
//! assert!(result.rows[1].value > Some(0.5), "unbiased: label 0 may be missing elsewhere");
//! # Ok::<(), unmissed::Error>(())
//! ```

mod bootstrap;
mod by_count;
mod classes;
pub mod compare;
pub mod compat;
pub mod controlled;
mod diagnose;
pub mod findings;
mod finish;
mod gains;
mod groups;
mod hajek;
pub mod interval;
mod label_finish;
mod label_tally;
mod label_values;
mod lanes;
mod layout;
mod mask;
mod pass;
mod report;
mod request;
mod resolve;
mod row_terms;
pub mod rows;
mod run;
mod select;
mod sets;
mod settings;
mod table;
mod tally;
mod tally_file;

use crate::request as conventions;
pub use crate::request::{CONVENTIONS, Convention, Conventions};
pub use by_count::{HitsByCount, ModelHits};
pub use findings::{CHECKS, Check, Finding, Severity};
pub use groups::Groups;
pub use interval::IntervalKind;
pub use pass::CHUNK;
pub use report::{Comparison, EvaluationResult, Row};
pub use request::Evaluation;
pub use settings::{GroupShare, Rate};
pub use tally::Tally;
