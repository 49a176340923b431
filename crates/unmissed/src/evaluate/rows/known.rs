//! Rows of an evaluation from pairs whose status is known: the doubly robust estimates of precision.

use super::robust::{Robust, mu_by_rank, of_controlled, of_later, omega_by_rank};
use crate::data::{Csr, Labels};
use crate::error::Result;
use crate::evaluate::builder::Evaluation;
use crate::evaluate::plan::settings::Rate;
use crate::evaluate::report::Row;
use crate::metrics::Estimator;

/// The metric that has them.
const METRIC: &str = "precision";
/// Parts of the rows for cross-fitting.
const FOLDS: u64 = 5;

/// Later labels of some of the test rows.
#[derive(Clone)]
pub(in crate::evaluate) struct LaterRows<'a> {
    pub(in crate::evaluate) labels: &'a Labels<'a>,
    pub(in crate::evaluate) has_later: Vec<bool>,
    pub(in crate::evaluate) rho: Vec<f64>,
}

/// Doubly robust rows where pairs of known status are given, and notes.
pub(in crate::evaluate) fn known_results(evaluation: &Evaluation<'_>) -> Result<(Vec<Row>, Vec<String>)> {
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    let metric = evaluation.metrics.as_ref().is_none_or(|specs| specs.iter().any(|spec| spec.name() == METRIC));
    let estimator = evaluation.estimators.as_ref().is_none_or(|all| all.contains(&Estimator::DoublyRobust));
    if !metric || !estimator {
        return Ok((rows, notes));
    }
    let mut add =
        |propensity: Option<String>, from: &str, estimate: &dyn Fn(&Csr<'_, f32>, usize) -> Result<Robust>| -> Result<()> {
            let mut assumption = "";
            for k in &evaluation.ks {
                for (model, scores) in &evaluation.models {
                    let found = estimate(scores, *k)?;
                    assumption = found.assumption;
                    rows.push(Row {
                        metric: METRIC.into(),
                        k: *k,
                        estimator: Estimator::DoublyRobust,
                        propensity: propensity.clone(),
                        group: "all".into(),
                        model: model.clone(),
                        value: Some(found.value),
                        se: found.se,
                        low: found.low,
                        high: found.high,
                        n: scores.rows() as u64,
                        assumption: found.assumption.into(),
                        bias: None,
                    });
                }
            }
            notes.push(format!("doubly-robust ({from}): {assumption}; guesses by rank, from other parts of the rows"));
            Ok(())
        };
    if let (Some(shown), Some(given)) = (evaluation.shown, &evaluation.rate)
        && let Some(rate) = common(given)
    {
        add(Some(given.name()), "shown pairs", &|scores, k| {
            let mu = mu_by_rank(scores, shown, evaluation.truth, k, FOLDS, evaluation.seed)?;
            of_controlled(scores, shown, evaluation.truth, rate, mu, k, evaluation.level)
        })?;
    }
    if let Some(later) = &evaluation.later {
        let LaterRows { labels, has_later, rho } = later;
        add(None, "later labels", &|scores, k| {
            let omega = omega_by_rank(scores, evaluation.truth, labels, has_later, k, FOLDS, evaluation.seed)?;
            of_later(scores, evaluation.truth, labels, has_later, rho, omega, k, evaluation.level)
        })?;
    }
    Ok((rows, notes))
}

/// The rate, when all labels have the same.
fn common(rate: &Rate) -> Option<f64> {
    match rate {
        Rate::Shown { shown, of } => Some(f64::from(*shown) / f64::from(*of)),
        Rate::PerLabel(rates) => rates.first().copied().filter(|first| rates.iter().all(|rate| rate == first)),
    }
}
