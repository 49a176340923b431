//! Which labels to predict for each row if the metric is not precision.
//!
//! Ranking by probability is best for precision. For macro-F, coverage and other means over labels the best labels of a row depend on
//! the other rows: a rare label that is given twice is worth more than a frequent one that is given a thousandth time. Here labels are
//! chosen for all rows together, from probabilities of any model.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! let rows = (0..100).map(|i| [(0u32, 0.6f32), (1 + i % 4, 0.4), (5, 0.05)]);
//! let scores = Scores::from_rows(6, rows)?;
//! let request = OptimizeRequest { metric: "macro-f".parse()?, k: 1, ..Default::default() };
//! let found = Optimization::new(&scores, OptimizeRequest { positives: "stored".parse()?, ..request })?.run()?;
//! let [macro_f, precision] = &found.report.expected[..] else { panic!() };
//! assert!(macro_f.after > 2.0 * macro_f.before && precision.after < precision.before);
//! # Ok::<(), unmissed::Error>(())
//! ```
//!
//! [`objectives`] is what can be asked for, [`methods`] how it is searched; both see an objective as [`Terms`]. `candidates.rs` has
//! the probabilities, divided by propensities where labels are missing; `mass.rs` says how many positives labels have, and how many of them
//! the stored scores hold. `expected.rs` draws labels to say what the choice is worth, `measured.rs` measures it on known labels.
//! [`Weighting`] is what is left for new rows.
//!
//! # Under missing labels
//! Probabilities of *observed* labels are divided by propensities, `min(1, s_ij / p_j)`; those of a model that was trained with
//! propensities are not divided again ([`corrected`](crate::request::OptimizeRequest::corrected)). In both cases the positives of label j are those of the
//! complete labels, `n n_j / (N p_j)`.
//!
//! # Assumes
//! Calibrated probabilities. An optimiser looks for labels whose probability is too high, so what it claims is optimistic when
//! probabilities are estimated: `--test` measures by how much.

mod builder;
mod candidates;
mod choices;
mod expected;
mod mass;
mod measured;
pub mod methods;
pub mod objectives;
mod report;
mod terms;

pub use crate::predict::Weighting;
pub use builder::Optimization;
pub use candidates::Correction;
pub use expected::BeforeAfter;
pub use mass::Mass;
pub use report::{MeasuredRow, OptimizeReport, Optimized};
pub use terms::Terms;
