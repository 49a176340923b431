//! The result of an evaluation: rows, comparisons, findings. Plain data; renderers only draw them.

use super::findings::Finding;
use super::plan::settings::GroupShare;
use super::sensitivity::SensitivityBounds;
use crate::error::{Error, Result};
use crate::metrics::Estimator;
use crate::request::Conventions;
use serde::Serialize;

/// One number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The metric, with its parameter where that is not the usual one.
    pub metric: String,
    /// Length of the top list.
    pub k: usize,
    /// How the value was obtained.
    pub estimator: Estimator,
    /// Where the propensities came from; `None` for what is observed.
    pub propensity: Option<String>,
    /// The group of labels.
    pub group: String,
    /// The model.
    pub model: String,
    /// The value; `None` when it would mean nothing.
    pub value: Option<f64>,
    /// Its standard error, where there is one.
    pub se: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Number of rows.
    pub n: u64,
    /// What must hold for the value to mean what it says.
    pub assumption: String,
    /// For clipped estimates: how far too low the value can be in expectation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
    /// For estimates from matched rows: how far the best of them is expected to be from the later labels of these rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_error: Option<f64>,
    /// The bounds of the value if propensities are off, when they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<SensitivityBounds>,
}

/// The difference of two models in one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The metric.
    pub metric: String,
    /// Length of the top list.
    pub k: usize,
    /// How the values were obtained.
    pub estimator: Estimator,
    /// Where the propensities came from.
    pub propensity: Option<String>,
    /// The group of labels.
    pub group: String,
    /// One model.
    pub a: String,
    /// The other.
    pub b: String,
    /// Value of `a` minus value of `b`.
    pub difference: Option<f64>,
    /// Its standard error; rows are paired.
    pub se: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Probability of a difference at least as large if there were none; not adjusted.
    pub p: Option<f64>,
    /// Whether the difference is significant after Holm's adjustment for all comparisons of the evaluation.
    pub significant: bool,
    /// The bounds of the difference if propensities are off, when they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<SensitivityBounds>,
}

/// Everything that an evaluation found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationResult {
    /// The numbers, in order of metric, k, estimator, propensity, group and model.
    pub rows: Vec<Row>,
    /// Differences between models, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// The groups and how much they hold, when there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupShare>,
    /// Level of intervals.
    pub level: f64,
    /// What was chosen where libraries differ.
    pub conventions: Conventions,
    /// What to know before believing the numbers.
    pub findings: Vec<Finding>,
    /// How to read the numbers: what intervals contain, what was left out and why.
    pub notes: Vec<String>,
}

impl EvaluationResult {
    /// The one number of all labels for a metric, k and estimator. An error when there is none, and when there are several, of several
    /// models or propensities: those are among [`EvaluationResult::rows`].
    pub fn find(&self, metric: &str, k: usize, estimator: Estimator) -> Result<&Row> {
        let is_it = |row: &&Row| row.metric == metric && row.k == k && row.estimator == estimator && row.group == "all";
        let found: Vec<&Row> = self.rows.iter().filter(is_it).collect();
        let what = format!("{estimator} {metric}@{k}");
        let [row] = found[..] else {
            let names = |of: fn(&Row) -> &str| {
                let mut names: Vec<&str> = found.iter().map(|row| of(row)).collect();
                names.dedup();
                names.join(", ")
            };
            return Err(if found.is_empty() {
                Error::value(format!("the evaluation has no {what}"))
            } else {
                let models = names(|row| &row.model);
                let propensities = names(|row| row.propensity.as_deref().unwrap_or("none"));
                Error::value(format!("the evaluation has several values of {what}"))
                    .expected("one model and one set of propensities")
                    .found(format!("models {models}; propensities {propensities}"))
                    .hint("choose among the rows")
            });
        };
        Ok(row)
    }
}
