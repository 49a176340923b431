//! How good is a multi-label model really, when its labels are incomplete and long-tailed?
//!
//! Labels of large label sets are never complete: nobody checked every category for every article. A model that is scored on such
//! labels looks worse than it is, and the usual correction, division by propensities with default constants, can be off by a factor
//! of three. This crate evaluates, trains and audits models under missing labels, with propensities that are fitted and checked.
//!
//! ```
//! use unmissed::prelude::*;
//!
//! // Data with complete labels, and their observed labels if label j is observed with probability p_j.
//! let data = generate("balls", &[("labels", "30"), ("train-rows", "3000"), ("test-rows", "3000")], 1)?;
//! let (train, test) = (data.part("train")?, data.part("test")?);
//! let p = "power:gamma=1".parse::<PropensitySpec>()?.propensities(&LabelStats::of(train.labels()))?;
//! let observed_train = Dataset::new(train.features().cloned(), mask(train.labels(), p.values(), 7)?)?;
//! let observed_test = mask(test.labels(), p.values(), 8)?;
//!
//! // A model that corrects for missing labels, and its top labels of each test row.
//! let (model, _) = Trainer::by_loss("plugin-logistic").propensity(&p).train(&observed_train)?;
//! let ranked = model.predict(test.require_features()?, &PredictOptions::default())?;
//!
//! // On observed labels precision is too low; the unbiased estimate from the same labels is near the truth.
//! let estimate = Evaluation::new(&observed_test, &[("model", &ranked)])?.propensity(p).run()?;
//! let truth = Evaluation::new(test.labels(), &[("model", &ranked)])?.run()?;
//! let precision = |of: &EvaluationResult, estimator| of.find("precision", 5, estimator).ok().and_then(|row| row.value).unwrap_or(0.0);
//! let (observed, unbiased) = (precision(&estimate, Estimator::Observed), precision(&estimate, Estimator::Unbiased));
//! let complete = precision(&truth, Estimator::Observed);
//! assert!(observed < 0.75 * complete && (unbiased - complete).abs() < 0.02 * complete, "{observed} {unbiased} {complete}");
//! # Ok::<(), unmissed::Error>(())
//! ```
//!
//! The modules follow the data. [`data`] reads, describes, splits and masks them; [`propensity`] says how likely a relevant label is
//! to be observed; [`metrics`] are what one wants to know, and [`evaluate`] gets it from incomplete labels; [`losses`] and [`train`]
//! make models, [`predict`] ranks labels with them and keeps them in files, [`optimize`] chooses labels for another metric than
//! precision; [`audit`] judges what the numbers are worth, and [`report`]
//! shows them. [`request`] has what can be asked for as plain data.
//!
//! Features: `report` (tables, charts and the audit's page) and `experiments` (those of the paper, for `unmissed reproduce`; needs
//! `report`) are on by default. `default-features = false` leaves them out, with all drawing and templates. `parquet` is off by
//! default.
//!
//! Formats, propensity models, metrics, losses and the like are registries: a trait, a static list, and one module per entry whose
//! page has its formula and what it assumes.

pub mod audit;
pub mod data;
pub mod error;
pub mod evaluate;
// For the command line and Python, which are other crates; not an interface for programs.
#[cfg(feature = "experiments")]
#[doc(hidden)]
pub mod experiments;
pub mod losses;
pub mod metrics;
mod moments;
mod normal;
mod numbers;
pub mod optimize;
pub mod predict;
mod prefetch;
pub mod prelude;
pub mod progress;
pub mod propensity;
mod ranks;
#[cfg(feature = "report")]
pub mod report;
pub mod request;
mod rng;
mod sealed;
mod sigmoid;
pub mod spec;
mod top_k;
pub mod train;
pub mod tree;

pub use error::{Error, Result};

/// The code of the front page is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
