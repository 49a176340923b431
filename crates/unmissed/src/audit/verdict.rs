//! The verdict: which model wins under which propensities, and what that is worth. Every sentence is computed from the scores.

use super::conclusion::{Conclusion, winners};
use super::result::PropensityReport;
use super::standings::{METRIC, Standing, is_contradicted, standings};
use super::wording::{listed, percent, points};
use crate::evaluate::{EvaluationResult, Severity};
use serde::Serialize;

/// Which model wins under which propensities.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The verdict in a line.
    pub headline: String,
    /// How bad it is.
    pub severity: Severity,
    /// What it rests on, a sentence each.
    pub sentences: Vec<String>,
    /// The metric.
    pub metric: &'static str,
    /// Length of the top list.
    pub k: usize,
    /// Scores as observed, under each propensity model, and on complete labels.
    pub standings: Vec<Standing>,
}

impl Verdict {
    pub(super) fn new(
        evaluation: &EvaluationResult,
        truth: Option<&EvaluationResult>,
        propensities: &[PropensityReport],
        k: usize,
    ) -> Verdict {
        let standings = standings(evaluation, truth, propensities, k);
        let at = format!("{METRIC}@{k}");
        let conclusion = Conclusion::new(&standings);
        let mut sentences = match conclusion {
            Conclusion::KnownScore { .. } => errors(&standings),
            Conclusion::WrongWinner { .. } | Conclusion::NoWinner => orders(&standings, &at),
            _ => Vec::new(),
        };
        let contradicted: Vec<&str> = propensities.iter().filter(|p| is_contradicted(p)).map(|p| p.name.as_str()).collect();
        let evidence = propensities.iter().find_map(|p| p.against.as_ref()).map(|against| against.kind.name());
        let severity = if contradicted.is_empty() { conclusion.severity() } else { Severity::Error };
        if let Some(evidence) = evidence {
            if !contradicted.is_empty() {
                sentences.push(format!("Contradicted by {evidence}: {}.", listed(&contradicted)));
            }
            sentences.extend(best_estimate(&standings, evidence));
        }
        Verdict { headline: conclusion.headline(&at), severity, sentences, metric: METRIC, k, standings }
    }
}

/// One model: how far each corrected score is from complete labels.
fn errors(standings: &[Standing]) -> Vec<String> {
    let corrected = standings.iter().filter(|standing| standing.is_corrected());
    let error = |standing: &Standing| {
        let error = standing.scores.first()?.error?;
        Some(format!("{} is off by {} points.", standing.name, points(error)))
    };
    corrected.filter_map(error).collect()
}

/// Several models: who is first under what.
fn orders(standings: &[Standing], at: &str) -> Vec<String> {
    let names = |winner: &str| {
        let views = standings.iter().filter(|standing| !standing.is_truth && standing.first.as_deref() == Some(winner));
        listed(&views.map(|standing| standing.name.as_str()).collect::<Vec<_>>())
    };
    let mut sentences: Vec<String> =
        winners(standings).into_iter().map(|winner| format!("Scored with {}, {winner} is first in {at}.", names(winner))).collect();
    if let Some(truth) = standings.iter().find(|standing| standing.is_truth) {
        let best = truth.first.as_deref().unwrap_or("no model");
        let doubt =
            if truth.lead_stands == Some(false) { ", with a lead that is not statistically distinguishable from 0" } else { "" };
        sentences.push(format!("On complete labels {best} is first{doubt}: {}.", scores(truth)));
    }
    sentences
}

/// What the evidence gives: the estimate that comes first in the fixed order.
fn best_estimate(standings: &[Standing], evidence: &str) -> Option<String> {
    let best = standings.iter().find(|standing| standing.is_headline)?;
    Some(format!("Estimated from {evidence} ({}): {}.", best.name, scores(best)))
}

/// The models with their scores.
fn scores(standing: &Standing) -> String {
    let scores = standing.scores.iter().filter_map(|score| Some(format!("{} {}", score.model, percent(score.value?))));
    scores.collect::<Vec<_>>().join(", ")
}
