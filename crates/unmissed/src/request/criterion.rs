//! [`Criterion`]: what decides between settings of training.

use crate::error::{Error, Result};
use crate::metrics::{self, Estimator};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What decides between settings: the loss on held-out rows, or a metric.
///
/// ```
/// use unmissed::request::Criterion;
/// let criterion: Criterion = "precision@3:unbiased".parse()?;
/// assert_eq!(criterion.to_string(), "precision@3:unbiased");
/// assert_eq!("loss".parse::<Criterion>()?, Criterion::Loss);
/// assert!("precision".parse::<Criterion>().is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Criterion {
    /// The loss that is trained, on held-out rows.
    Loss,
    /// A metric of the best k labels.
    Metric {
        /// Its name.
        metric: String,
        /// How many labels.
        k: usize,
        /// How it is estimated; unless given, `unbiased` when there are propensities or a rate, else `observed`.
        estimator: Option<Estimator>,
    },
}

impl FromStr for Criterion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Criterion> {
        if text == "loss" {
            return Ok(Criterion::Loss);
        }
        let broken =
            || Error::value("cannot read the criterion").expected("loss, or METRIC@K[:ESTIMATOR]").found(format!("'{text}'"));
        let (name, rest) = text.split_once('@').ok_or_else(broken)?;
        let (k, estimator) = rest.split_once(':').map_or((rest, None), |(k, estimator)| (k, Some(estimator)));
        let k = k.parse().ok().filter(|k| *k > 0).ok_or_else(broken)?;
        let metric = metrics::find(name)?.name().to_owned();
        Ok(Criterion::Metric { metric, k, estimator: estimator.map(Estimator::of_name).transpose()? })
    }
}

impl TryFrom<String> for Criterion {
    type Error = Error;

    fn try_from(text: String) -> Result<Criterion> {
        text.parse()
    }
}

impl From<Criterion> for String {
    fn from(criterion: Criterion) -> String {
        criterion.to_string()
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Criterion::Loss => f.write_str("loss"),
            Criterion::Metric { metric, k, estimator: None } => write!(f, "{metric}@{k}"),
            Criterion::Metric { metric, k, estimator: Some(estimator) } => write!(f, "{metric}@{k}:{estimator}"),
        }
    }
}
