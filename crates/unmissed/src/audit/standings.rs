//! Standings: the scores of all models as observed, under each propensity model, and on complete labels.

use super::headline::headline;
use super::result::{CandidateKind, PropensityReport};
use super::row_dependent::short_name;
use crate::evaluate::{EvaluationResult, Row};
use crate::metrics::Estimator;
use serde::Serialize;

/// The metric that the verdict is about.
pub const METRIC: &str = "precision";

/// The models' scores under one propensity model, as observed, or on complete labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Its name in tables: `observed`, a propensity model, `complete labels`.
    pub name: String,
    /// The propensity model, when there is one.
    pub propensity: Option<String>,
    /// How the scores were obtained.
    pub estimator: Estimator,
    /// Whether these are the scores on complete labels.
    pub is_truth: bool,
    /// The models' scores.
    pub scores: Vec<ModelScore>,
    /// The model with the highest score; `None` for a tie or a single model.
    pub first: Option<String>,
    /// Whether the paired interval of its lead over the second excludes 0.
    pub lead_stands: Option<bool>,
    /// By which factor the odds of being missed would have to be off for its lead to be gone; `None` when no factor is enough, and
    /// where it is not known.
    pub flips_at: Option<f64>,
    /// Whether complete labels have the same model first.
    pub agrees_with_truth: Option<bool>,
    /// Whether evidence contradicts the propensity model.
    pub contradicted: bool,
    /// Whether these are the scores that the audit believes first, by an order that is fixed beforehand.
    pub is_headline: bool,
}

impl Standing {
    /// Whether missing labels are accounted for.
    pub(super) fn is_corrected(&self) -> bool {
        self.estimator != Estimator::Observed
    }
}

/// The score of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelScore {
    /// The model.
    pub model: String,
    /// The value.
    pub value: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The normalised value, where there is one.
    pub normalized: Option<f64>,
    /// The value minus that on complete labels.
    pub error: Option<f64>,
}

/// All standings at one k: as observed, under each propensity model, and last on complete labels, when those are known.
pub(super) fn standings(
    evaluation: &EvaluationResult,
    truth: Option<&EvaluationResult>,
    propensities: &[PropensityReport],
    k: usize,
) -> Vec<Standing> {
    let truth =
        truth.map(|truth| Standing { name: "complete labels".into(), is_truth: true, ..standing(truth, k, OBSERVED, None) });
    let mut standings = vec![standing(evaluation, k, OBSERVED, truth.as_ref())];
    let estimates = evaluation.rows.iter().filter(|row| is_shown(row.estimator));
    let mut seen: Vec<(Option<&str>, Estimator)> = Vec::new();
    for one in estimates.map(|row| (row.propensity.as_deref(), row.estimator)) {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    for (origin, estimator) in seen {
        let mut one = standing(evaluation, k, (origin, estimator), truth.as_ref());
        if let Some(name) = short_name(origin, estimator) {
            one.name = name.into();
        }
        if let Some(report) = propensities.iter().find(|report| Some(&*report.origin) == origin) {
            one.name.clone_from(&report.name);
            one.contradicted = is_contradicted(report);
        }
        standings.push(one);
    }
    standings.extend(truth);
    if let Some(name) = headline(&standings, propensities).map(|standing| standing.name.clone()) {
        standings.iter_mut().for_each(|standing| standing.is_headline = standing.name == name);
    }
    standings
}

/// What is observed, under no propensities.
const OBSERVED: (Option<&str>, Estimator) = (None, Estimator::Observed);

/// Which estimates have a standing of their own beside what is observed.
fn is_shown(estimator: Estimator) -> bool {
    matches!(estimator, Estimator::Unbiased | Estimator::Omega | Estimator::Ratio)
}

/// Only what was not made from the evidence can be contradicted by it.
pub(super) fn is_contradicted(report: &PropensityReport) -> bool {
    report.kind == CandidateKind::Assumed && report.against.as_ref().is_some_and(|against| against.contradicted)
}

fn standing(
    result: &EvaluationResult,
    k: usize,
    (origin, estimator): (Option<&str>, Estimator),
    truth: Option<&Standing>,
) -> Standing {
    let is_here = |row: &&Row, estimator: Estimator| {
        row.metric == METRIC
            && row.k == k
            && row.group == "all"
            && row.propensity.as_deref() == origin
            && row.estimator == estimator
    };
    let scores: Vec<ModelScore> = result
        .rows
        .iter()
        .filter(|row| is_here(row, estimator))
        .map(|row| {
            let normalized = result.rows.iter().find(|other| is_here(other, Estimator::Normalized) && other.model == row.model);
            let true_value = truth.and_then(|truth| truth.scores.iter().find(|score| score.model == row.model)?.value);
            ModelScore {
                model: row.model.clone(),
                value: row.value,
                low: row.low,
                high: row.high,
                normalized: normalized.and_then(|row| row.value),
                error: row.value.zip(true_value).map(|(value, truth)| value - truth),
            }
        })
        .collect();
    let mut order: Vec<&ModelScore> = scores.iter().filter(|score| score.value.is_some()).collect();
    order.sort_by(|a, b| b.value.unwrap_or(f64::NAN).total_cmp(&a.value.unwrap_or(f64::NAN)));
    let (first, lead_stands, flips_at) = match order[..] {
        [first, second, ..] if first.value > second.value => {
            let pair = |a: &str, b: &str| (a == first.model && b == second.model) || (a == second.model && b == first.model);
            let lead = result.comparisons.iter().find(|c| {
                c.metric == METRIC
                    && c.k == k
                    && c.group == "all"
                    && c.propensity.as_deref() == origin
                    && c.estimator == estimator
                    && pair(&c.a, &c.b)
            });
            let stands = lead.and_then(|lead| Some(lead.low? > 0.0 || lead.high? < 0.0));
            let flips_at = lead.and_then(|lead| lead.sensitivity?.flips_at);
            (Some(first.model.clone()), stands, flips_at)
        }
        _ => (None, None, None),
    };
    Standing {
        name: origin.unwrap_or("observed").to_owned(),
        propensity: origin.map(str::to_owned),
        estimator,
        is_truth: false,
        agrees_with_truth: truth.and_then(|truth| Some(truth.first.as_ref()? == first.as_ref()?)),
        scores,
        first,
        lead_stands,
        flips_at,
        contradicted: false,
        is_headline: false,
    }
}
