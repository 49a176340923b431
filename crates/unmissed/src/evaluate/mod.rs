//! Evaluation: every metric, every estimator, every propensity model, in one pass.
//!
//! [`Evaluation`] collects the request. One parallel pass over the rows selects the top k of each row once and produces a
//! [`Tally`]: sums of row terms by chunk of rows, and whole numbers by label. Its finish gives an [`EvaluationResult`]: rows with
//! values, standard errors and intervals, paired comparisons of models, and findings. Tallies can be written, read and merged, so
//! threads, files and machines are the same thing: the result is the same to the last bit. An [`Evaluator`] takes rows batch by batch.
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

mod builder;
pub mod compat;
mod evidence;
pub mod findings;
mod finish;
pub mod judged;
pub mod misalignment;
mod pass;
mod plan;
pub mod ranking;
mod report;
pub mod robust;
pub mod sensitivity;
mod stream;
mod summary;
mod tally;

pub use crate::data::Rate;
pub use crate::request::{CONVENTIONS, Convention, Conventions, IntervalKind};
pub use builder::Evaluation;
pub(crate) use builder::same;
pub use evidence::ROWS;
pub use findings::{CHECKS, Check, Finding, Severity};
pub use finish::by_count::{CountsByLabel, HitsByCount, ModelHits};
pub use finish::compare;
pub(crate) use finish::order_findings;
pub use plan::controlled;
pub use plan::groups::Groups;
pub use plan::settings::GroupShare;
pub use ranking::{Lead, Ranking};
pub use report::{Comparison, EvaluationResult, Row};
pub use stream::{Batch, Evaluator, StreamShape};
pub use tally::Tally;
