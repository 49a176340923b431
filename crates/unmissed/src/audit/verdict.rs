//! The verdict: who wins under what, and what that is worth. Every sentence is computed from the scores.

use super::by_row::{RATIO, ROWS, words};
use super::result::{Kind, PropensityReport};
use crate::evaluate::{EvaluationResult, Row, Severity};
use crate::metrics::Estimator;
use serde::Serialize;

/// The metric of the verdict.
pub const METRIC: &str = "precision";

/// A score that is farther than this from complete labels is far off.
const FAR: f64 = 0.05;

/// Who wins, under what.
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

/// The models under one way of looking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// What people call it: `observed`, a propensity model, `complete labels`.
    pub name: String,
    /// The propensity model, when there is one.
    pub propensity: Option<String>,
    /// Whether this is what complete labels say.
    pub is_truth: bool,
    /// The models' scores.
    pub scores: Vec<Score>,
    /// The model with the highest score; `None` for a tie or a single model.
    pub first: Option<String>,
    /// Whether the paired interval of its lead over the second excludes 0.
    pub lead_stands: Option<bool>,
    /// Whether complete labels have the same model first.
    pub agrees_with_truth: Option<bool>,
    /// Whether evidence contradicts the propensity model.
    pub contradicted: bool,
}

/// The score of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
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

impl Verdict {
    pub(super) fn new(
        evaluation: &EvaluationResult,
        truth: Option<&EvaluationResult>,
        propensities: &[PropensityReport],
        k: usize,
    ) -> Verdict {
        let truth_standing =
            truth.map(|truth| Standing { name: "complete labels".into(), is_truth: true, ..standing(truth, k, None, None) });
        let mut standings = vec![standing(evaluation, k, None, truth_standing.as_ref())];
        let lanes = evaluation.rows.iter().filter_map(|row| row.propensity.as_deref());
        let mut seen: Vec<&str> = Vec::new();
        for lane in lanes {
            if !seen.contains(&lane) {
                seen.push(lane);
            }
        }
        for lane in seen {
            let mut one = standing(evaluation, k, Some(lane), truth_standing.as_ref());
            if let Some(words) = words(lane) {
                one.name = words.into();
            }
            if let Some(report) = propensities.iter().find(|report| report.origin == lane) {
                one.name.clone_from(&report.name);
                one.contradicted = is_contradicted(report);
            }
            standings.push(one);
        }
        standings.extend(truth_standing);
        let mut verdict =
            Verdict { headline: String::new(), severity: Severity::Info, sentences: Vec::new(), metric: METRIC, k, standings };
        verdict.speak(propensities);
        verdict
    }

    fn speak(&mut self, propensities: &[PropensityReport]) {
        let several = self.standings.first().is_some_and(|standing| standing.scores.len() > 1);
        if several {
            self.speak_of_order()
        } else {
            self.speak_of_value()
        }
        let contradicted: Vec<&str> = propensities.iter().filter(|p| is_contradicted(p)).map(|p| p.name.as_str()).collect();
        let evidence = propensities.iter().find_map(|p| p.against.as_ref()).map(|against| against.kind.name());
        if let (false, Some(evidence)) = (contradicted.is_empty(), evidence) {
            self.severity = Severity::Error;
            self.sentences.push(format!("Contradicted by {evidence}: {}.", listed(&contradicted)));
        }
        let trusted: Vec<&Standing> = self
            .standings
            .iter()
            .filter(|s| {
                s.propensity.is_some()
                    && propensities.iter().any(|p| Some(&p.origin) == s.propensity.as_ref() && p.kind == Kind::Estimated)
            })
            .collect();
        let said = |standing: &Standing| {
            let scores: Vec<String> =
                standing.scores.iter().filter_map(|s| Some(format!("{} {}", s.model, percent(s.value?)))).collect();
            scores.join(", ")
        };
        let of = |lane: &str| self.standings.iter().find(|standing| standing.propensity.as_deref() == Some(lane));
        // What depends on the row is nearer to the truth than one propensity a label.
        let sentence = match (of(ROWS), trusted.last(), evidence) {
            (Some(by_row), _, Some(evidence)) => {
                let ratio =
                    of(RATIO).map_or(String::new(), |ratio| format!("; by the ratio of later and observed hits: {}", said(ratio)));
                Some(format!("Estimated from {evidence} with propensities that depend on the row: {}{ratio}.", said(by_row)))
            }
            (None, Some(best), Some(evidence)) => Some(format!("Estimated from {evidence} ({}): {}.", best.name, said(best))),
            _ => None,
        };
        self.sentences.extend(sentence);
    }

    /// One model: what its score is worth.
    fn speak_of_value(&mut self) {
        let at = format!("{}@{}", self.metric, self.k);
        let value = |standing: &Standing| standing.scores.first().and_then(|score| score.value);
        let observed = self.standings.first().and_then(value).map_or("unknown".into(), percent);
        let corrected: Vec<f64> = self.standings.iter().filter(|s| s.propensity.is_some()).filter_map(value).collect();
        let (low, high) = corrected.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
        if let Some(truth) = self.standings.iter().find(|standing| standing.is_truth).and_then(value) {
            self.headline = format!("On complete labels {at} is {}; as observed it is {observed}.", percent(truth));
            for standing in self.standings.iter().filter(|s| s.propensity.is_some()) {
                if let Some(error) = standing.scores.first().and_then(|score| score.error) {
                    self.sentences.push(format!("{} is off by {} points.", standing.name, points(error)));
                }
            }
        } else if corrected.is_empty() {
            self.headline = format!("{at} is {observed} as observed; what is missing cannot be told from these files.");
            self.severity = Severity::Warning;
        } else if corrected.len() == 1 {
            self.headline = format!("{at} is {observed} as observed and {} corrected for missing labels.", percent(low));
        } else {
            self.headline = format!(
                "{at} is {observed} as observed and {} to {} corrected: the propensity model decides.",
                percent(low),
                percent(high)
            );
            self.severity = if high > 1.5 * low { Severity::Warning } else { Severity::Info };
        }
    }

    /// Several models: who is ahead.
    fn speak_of_order(&mut self) {
        let at = format!("{}@{}", self.metric, self.k);
        let truth = self.standings.iter().find(|standing| standing.is_truth);
        let views: Vec<&Standing> = self.standings.iter().filter(|standing| !standing.is_truth).collect();
        let mut winners: Vec<&str> = Vec::new();
        for first in views.iter().filter_map(|standing| standing.first.as_deref()) {
            if !winners.contains(&first) {
                winners.push(first);
            }
        }
        let names = |winner: &str| {
            let of: Vec<&str> = views.iter().filter(|s| s.first.as_deref() == Some(winner)).map(|s| s.name.as_str()).collect();
            listed(&of)
        };
        let mut sentences: Vec<String> =
            winners.iter().map(|winner| format!("Scored with {}, {winner} is first in {at}.", names(winner))).collect();
        let wrong: Vec<&str> = views
            .iter()
            .filter(|standing| standing.agrees_with_truth == Some(false))
            .map(|standing| standing.name.as_str())
            .collect();
        match truth {
            Some(truth) => {
                let scores: Vec<String> =
                    truth.scores.iter().filter_map(|score| Some(format!("{} {}", score.model, percent(score.value?)))).collect();
                let best = truth.first.clone().unwrap_or_else(|| "nobody".into());
                let stands = match truth.lead_stands {
                    Some(false) => ", by less than chance allows to tell",
                    _ => "",
                };
                sentences.push(format!("On complete labels {best} is first{stands}: {}.", scores.join(", ")));
                if wrong.is_empty() {
                    self.headline = format!("Every way of scoring puts {best} first, and so do complete labels{}.", self.far_off());
                    sentences.clear();
                    if self.headline.contains(';') {
                        self.severity = Severity::Warning;
                    }
                } else {
                    self.headline =
                        format!("Scored with {}, the wrong model wins: complete labels put {best} first.", listed(&wrong));
                    self.severity = if truth.lead_stands == Some(false) { Severity::Warning } else { Severity::Error };
                }
            }
            None if winners.len() > 1 => {
                self.headline = format!("The order of the models depends on the propensity model: no winner in {at}.");
                self.severity = Severity::Warning;
            }
            None => {
                let best = winners.first().copied().unwrap_or("nobody");
                let doubtful = views.iter().filter(|standing| standing.lead_stands == Some(false)).count();
                let chance = if doubtful == 0 {
                    String::new()
                } else {
                    format!("; in {doubtful} of {} by less than chance allows to tell", views.len())
                };
                self.headline = format!("{best} is first in {at} under every way of scoring{chance}.");
                sentences.clear();
            }
        }
        self.sentences = sentences;
    }
}

impl Verdict {
    /// The assumed score that is farthest from complete labels, when they are far.
    fn far_off(&self) -> String {
        let scores =
            self.standings.iter().filter(|s| s.propensity.is_some()).flat_map(|s| s.scores.iter().map(move |score| (s, score)));
        let Some((standing, score, error)) = scores
            .filter_map(|(standing, score)| Some((standing, score, score.error?)))
            .max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()))
            .filter(|worst| worst.2.abs() > FAR)
        else {
            return String::new();
        };
        let value = score.value.map_or_else(String::new, percent);
        let direction = if error > 0.0 { "high" } else { "low" };
        let off = 100.0 * error.abs();
        format!("; but with {} {} would score {value}, {off:.1} points too {direction}", standing.name, score.model)
    }
}

/// Only what was not made from the evidence can be contradicted by it.
pub(super) fn is_contradicted(report: &PropensityReport) -> bool {
    report.kind == Kind::Assumed && report.against.as_ref().is_some_and(|against| against.contradicted)
}

fn standing(result: &EvaluationResult, k: usize, lane: Option<&str>, truth: Option<&Standing>) -> Standing {
    let of = |row: &&Row, estimator: Estimator| {
        row.metric == METRIC && row.k == k && row.group == "all" && row.propensity.as_deref() == lane && row.estimator == estimator
    };
    let estimator = if lane.is_some() { Estimator::Unbiased } else { Estimator::Observed };
    let scores: Vec<Score> = result
        .rows
        .iter()
        .filter(|row| of(row, estimator))
        .map(|row| {
            let normalized = result.rows.iter().find(|other| of(other, Estimator::Normalized) && other.model == row.model);
            let true_value = truth.and_then(|truth| truth.scores.iter().find(|score| score.model == row.model)?.value);
            Score {
                model: row.model.clone(),
                value: row.value,
                low: row.low,
                high: row.high,
                normalized: normalized.and_then(|row| row.value),
                error: row.value.zip(true_value).map(|(value, truth)| value - truth),
            }
        })
        .collect();
    let mut order: Vec<&Score> = scores.iter().filter(|score| score.value.is_some()).collect();
    order.sort_by(|a, b| b.value.unwrap_or(f64::NAN).total_cmp(&a.value.unwrap_or(f64::NAN)));
    let (first, lead_stands) = match order[..] {
        [first, second, ..] if first.value > second.value => {
            let pair = |a: &str, b: &str| (a == first.model && b == second.model) || (a == second.model && b == first.model);
            let lead = result.comparisons.iter().find(|c| {
                c.metric == METRIC
                    && c.k == k
                    && c.group == "all"
                    && c.propensity.as_deref() == lane
                    && c.estimator == estimator
                    && pair(&c.a, &c.b)
            });
            let stands = lead.and_then(|lead| Some(lead.low? > 0.0 || lead.high? < 0.0));
            (Some(first.model.clone()), stands)
        }
        _ => (None, None),
    };
    Standing {
        name: lane.unwrap_or("observed").to_owned(),
        propensity: lane.map(str::to_owned),
        is_truth: false,
        agrees_with_truth: truth.and_then(|truth| Some(truth.first.as_ref()? == first.as_ref()?)),
        scores,
        first,
        lead_stands,
        contradicted: false,
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

fn percent(value: f64) -> String {
    format!("{:.1} %", 100.0 * value)
}

fn points(value: f64) -> String {
    format!("{:+.1}", 100.0 * value)
}
