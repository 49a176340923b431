//! [`Gates`]: what an audit is to fail on.

use crate::error::{Error, Result};
use crate::metrics::{self, Estimator};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What an audit is to fail on, in a pipeline. Gates are about what users pass or measure, not about curves that an audit adds
/// itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gates {
    /// Findings by code (`U001`), or all of a severity and above (`warning`).
    pub fail_on: Vec<String>,
    /// Scores that each model has to reach.
    pub fail_below: Vec<ScoreGate>,
    /// Whether a model may not be significantly worse than in the earlier audit.
    pub fail_if_worse: bool,
}

/// A score that each model has to reach.
///
/// ```
/// use unmissed::request::ScoreGate;
/// let gate: ScoreGate = "precision@1:unbiased=0.5".parse()?;
/// assert_eq!((gate.metric.as_str(), gate.k, gate.least, gate.to_string().as_str()), ("precision", 1, 0.5, "precision@1:unbiased=0.5"));
/// assert!("precision=0.5".parse::<ScoreGate>().unwrap_err().to_string().contains("METRIC@K"));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScoreGate {
    /// The metric.
    pub metric: String,
    /// Length of the top list.
    pub k: usize,
    /// The estimator; `None` for the one that the audit reports.
    pub estimator: Option<Estimator>,
    /// The least value.
    pub least: f64,
}

impl FromStr for ScoreGate {
    type Err = Error;

    fn from_str(text: &str) -> Result<ScoreGate> {
        let wrong =
            || Error::value("cannot read a gate").expected("METRIC@K=VALUE or METRIC@K:ESTIMATOR=VALUE").found(format!("'{text}'"));
        let (what, least) = text.rsplit_once('=').ok_or_else(wrong)?;
        let (metric, rest) = what.rsplit_once('@').ok_or_else(wrong)?;
        let (k, estimator) = rest.split_once(':').map_or((rest, None), |(k, estimator)| (k, Some(estimator)));
        let least: f64 = least.trim().parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(wrong)?;
        let k = k.trim().parse().ok().filter(|k| *k > 0).ok_or_else(wrong)?;
        let metric = metric.trim();
        let known = metrics::of_spec(metric)?;
        if known.lower_is_better() {
            return Err(
                Error::value(format!("for {metric} lower is better, so a lower limit makes no sense")).found(format!("'{text}'"))
            );
        }
        let estimator = estimator.map(|name| Estimator::of_name(name.trim())).transpose()?;
        if let Some(estimator) = estimator.filter(|estimator| known.offer(*estimator).is_none()) {
            return Err(Error::value(format!("there is no {estimator} {metric}")).hint(known.why_not(estimator)));
        }
        Ok(ScoreGate { metric: metric.to_owned(), k, estimator, least })
    }
}

impl fmt::Display for ScoreGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.metric, self.k)?;
        if let Some(estimator) = self.estimator {
            write!(f, ":{estimator}")?;
        }
        write!(f, "={}", self.least)
    }
}

impl TryFrom<String> for ScoreGate {
    type Error = Error;

    fn try_from(text: String) -> Result<ScoreGate> {
        text.parse()
    }
}

impl From<ScoreGate> for String {
    fn from(gate: ScoreGate) -> String {
        gate.to_string()
    }
}
