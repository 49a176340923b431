//! The audit: statistics, propensities, evaluation and findings put together, and a verdict.
//!
//! [`Audit`] takes what there is (test labels and predictions; training labels, a controlled set, a later snapshot, complete
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
//! assert_eq!(result.propensities.iter().map(|p| p.name.as_str()).collect::<Vec<_>>()[..2], ["constant:p=1", "jpv:a=0.55,b=1.5"]);
//! assert!(result.verdict.headline.starts_with("precision@1 is 100.0 % as observed"));
//! # Ok::<(), unmissed::Error>(())
//! ```

mod by_row;
pub mod demo;
pub mod flips;
mod lanes;
pub mod needs;
pub mod provenance;
mod request;
mod result;
mod run;
mod said;
mod verdict;

pub use by_row::{RATIO, ROWS, RowReport};
pub use request::Audit;
pub use result::{Assumed, AuditResult, DataPart, DirectReport, Kind, PropensityReport, SampleSize};
pub use verdict::{METRIC, Score, Standing, Verdict};
