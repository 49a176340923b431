//! The audit: statistics, propensities, evaluation and findings put together, and a verdict.
//!
//! [`Audit`] takes the available data (test labels and predictions; training labels, a controlled set, a later snapshot, complete
//! labels where they exist) and [`Audit::run`] gives an [`AuditResult`], which is plain data. What is missing makes it shorter,
//! not wrong.
//!
//! ```
//! use unmissed::data::{Csr, Dataset, Labels};
//! use unmissed::audit::Audit;
//! let rows = |shift: u32| (0..60u32).map(move |i| if i % 4 == shift { vec![i % 3, 3] } else { vec![i % 3] });
//! let labels = |shift| Dataset::new(None, Labels::from_ids(4, rows(shift))?);
//! let (train, test) = (labels(0)?, labels(1)?);
//! let mine = Csr::from_rows(4, (0..60u32).map(|i| [(i % 3, 1.0f32), (3, 0.5)]))?;
//! let result = Audit::new(&test, &[("mine", &mine)])?.train(&train).run()?;
//! assert_eq!(result.propensities.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["jpv:a=0.55,b=1.5"]);
//! assert!(result.verdict.headline.contains("Precision@1 is at least 100.0 %"), "{}", result.verdict.headline);
//! # Ok::<(), unmissed::Error>(())
//! ```

mod assumptions;
pub mod baseline;
mod builder;
mod candidates;
mod checked;
mod compared;
pub mod demo;
// What the page recomputes; nothing else asks for it.
#[cfg(feature = "report")]
mod explorer;
mod findings;
pub mod gates;
mod headline;
mod label_table;
mod look_at;
mod missing;
mod missing_chance;
mod naming;
pub mod order_map;
pub mod provenance;
mod recall_by_frequency;
mod reference;
mod result;
mod row_dependent;
mod rows_needed;
mod rows_to_check;
mod run;
mod sentences;
mod standings;
mod verdict;
mod wording;

pub use assumptions::EstimatorAssumption;
pub use baseline::Baseline;
pub use builder::Audit;
pub use compared::Compared;
#[cfg(feature = "report")]
pub(crate) use explorer::Explorer;
pub use gates::GateResult;
pub use headline::Basis;
pub use label_table::{LabelLine, LabelPropensities, LabelScores, LabelTable, ModelCounts, Share};
pub use missing::{MissingShare, MissingSource};
pub use missing_chance::ChanceFrom;
pub use naming::Naming;
pub use recall_by_frequency::{RecallBin, RecallByFrequency};
pub use reference::{ModelRole, Reference};
pub use result::{AuditResult, CandidateKind, DataPart, DirectReport, PropensityReport, TrainingSize};
pub use row_dependent::{ROWS, RowDependentReport};
pub use rows_needed::RowsNeeded;
pub use rows_to_check::{RowToCheck, RowsToCheck};
pub use standings::{METRIC, ModelScore, Standing};
pub use verdict::{OrderChange, ReportedScore, SummaryLine, Topic, Verdict};
