//! What each kind of number assumes.

use crate::evaluate::EvaluationResult;
use serde::Serialize;

/// What numbers of one estimator assume.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EstimatorAssumption {
    /// The estimator.
    pub estimator: String,
    /// The metrics concerned.
    pub metrics: Vec<String>,
    /// The assumption as a sentence.
    pub assumption: String,
}

/// The assumptions of all numbers of an evaluation, each once.
pub(super) fn assumptions(evaluation: &EvaluationResult) -> Vec<EstimatorAssumption> {
    let mut all: Vec<EstimatorAssumption> = Vec::new();
    for row in &evaluation.rows {
        let same = |other: &&mut EstimatorAssumption| other.estimator == row.estimator.name() && other.assumption == row.assumption;
        match all.iter_mut().find(same) {
            Some(known) if known.metrics.contains(&row.metric) => {}
            Some(known) => known.metrics.push(row.metric.clone()),
            None => all.push(EstimatorAssumption {
                estimator: row.estimator.name().into(),
                metrics: vec![row.metric.clone()],
                assumption: row.assumption.clone(),
            }),
        }
    }
    all
}
