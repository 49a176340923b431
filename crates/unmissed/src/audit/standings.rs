//! Standings: the scores of all models as observed, under each propensity model, and on complete labels.

use super::headline::{Basis, headline};
use super::reference::{ModelRole, Reference, role_of};
use super::result::{CandidateKind, PropensityReport};
use super::row_dependent::short_name;
use crate::evaluate::ranking::ComparedScore;
use crate::evaluate::{EvaluationResult, Ranking, Row};
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
    /// What they rest on.
    pub basis: Basis,
    /// Whether these are the scores on complete labels.
    pub is_truth: bool,
    /// Whether the audit added the propensity model itself.
    pub is_added: bool,
    /// The models' scores, baselines last.
    pub scores: Vec<ModelScore>,
    /// How many models are audited.
    #[serde(skip)]
    pub(super) models: usize,
    /// How the audited models compare, by paired differences; `None` for a single model.
    pub ranking: Option<Ranking>,
    /// The model with the highest score; `None` for a tie or a single model.
    pub first: Option<String>,
    /// Whether its lead over the second is significant: the paired interval excludes 0, also after Holm's adjustment for all pairs.
    pub lead_stands: Option<bool>,
    /// By which factor the odds of being missed would have to be off for its lead to be gone; `None` when no factor is enough, and
    /// where it is not known.
    pub flips_at: Option<f64>,
    /// Whether complete labels have the same model first.
    pub agrees_with_truth: Option<bool>,
    /// Whether evidence contradicts the propensity model.
    pub contradicted: bool,
    /// Whether these are the scores that the audit reports, by an order that is fixed in advance.
    pub is_headline: bool,
}

impl Standing {
    /// The scores of the audited models.
    pub fn audited(&self) -> impl Iterator<Item = &ModelScore> {
        self.scores.iter().filter(|score| score.role == ModelRole::Audited)
    }

    /// The audited model with the highest score, the first of several.
    pub(super) fn best(&self) -> Option<&ModelScore> {
        let name = self.ranking.as_ref().map(|ranking| ranking.order[0].as_str());
        self.audited().find(|score| name.is_none_or(|name| score.model == name))
    }

    /// The model that is better than all others, if one is.
    pub(super) fn winner(&self) -> Option<&str> {
        self.ranking.as_ref()?.winner()
    }

    /// The numbers that it is made of.
    pub(super) fn cell(&self, k: usize) -> ComparedScore<'_> {
        ComparedScore { metric: METRIC, k, estimator: self.estimator, propensity: self.propensity.as_deref() }
    }
}

/// The score of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelScore {
    /// The model.
    pub model: String,
    /// Whether it is audited or something to compare with.
    pub role: ModelRole,
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

impl ModelScore {
    /// Whether no score can have this value.
    pub fn is_beyond(&self) -> bool {
        self.value.is_some_and(|value| !(0.0..=1.0).contains(&value))
    }

    /// Whether no value of the interval could be a score. A value alone may be beyond by chance.
    pub(super) fn is_clearly_beyond(&self) -> bool {
        match (self.low, self.high) {
            (Some(low), Some(high)) => self.is_beyond() && (low > 1.0 || high < 0.0),
            _ => self.is_beyond(),
        }
    }
}

/// What standings are made of.
pub(super) struct Scores<'a> {
    pub(super) evaluation: &'a EvaluationResult,
    pub(super) truth: Option<&'a EvaluationResult>,
    pub(super) propensities: &'a [PropensityReport],
    pub(super) references: &'a [Reference],
    pub(super) k: usize,
    pub(super) level: f64,
    /// Whether the test labels are a controlled set.
    pub(super) is_controlled: bool,
}

/// All standings at one k: as observed, under each propensity model, and last on complete labels, when those are known.
pub(super) fn standings(of: &Scores<'_>) -> Vec<Standing> {
    let truth = of.truth.map(|truth| {
        let standing = standing(of, truth, OBSERVED, Basis::Complete, None);
        Standing { name: "complete labels".into(), is_truth: true, ..standing }
    });
    let mut standings = vec![standing(of, of.evaluation, OBSERVED, Basis::Observed, truth.as_ref())];
    let mut seen: Vec<(Option<&str>, Estimator)> = vec![OBSERVED];
    for row in of.evaluation.rows.iter().filter(|row| row.metric == METRIC) {
        let one = (row.propensity.as_deref(), row.estimator);
        let Some(basis) = Basis::of(one.1, one.0, of.propensities, of.is_controlled).filter(|_| !seen.contains(&one)) else {
            continue;
        };
        seen.push(one);
        let (origin, estimator) = one;
        let mut one = standing(of, of.evaluation, one, basis, truth.as_ref());
        if let Some(name) = short_name(origin, estimator) {
            one.name = name.into();
        }
        if let Some(report) = of.propensities.iter().find(|report| Some(&*report.origin) == origin) {
            one.name.clone_from(&report.name);
            one.contradicted = is_contradicted(report);
            one.is_added = report.is_added;
        }
        standings.push(one);
    }
    standings.extend(truth);
    let reported =
        headline(&standings).0.and_then(|reported| standings.iter().position(|standing| std::ptr::eq(standing, reported)));
    if let Some(standing) = reported.and_then(|place| standings.get_mut(place)) {
        standing.is_headline = true;
    }
    standings
}

/// What is observed, under no propensities.
const OBSERVED: (Option<&str>, Estimator) = (None, Estimator::Observed);

/// Only what was not made from the evidence can be contradicted by it.
pub(super) fn is_contradicted(report: &PropensityReport) -> bool {
    report.kind == CandidateKind::Assumed && report.against.as_ref().is_some_and(|against| against.contradicted)
}

fn standing(
    of: &Scores<'_>,
    result: &EvaluationResult,
    (origin, estimator): (Option<&str>, Estimator),
    basis: Basis,
    truth: Option<&Standing>,
) -> Standing {
    let is_here = |row: &&Row, estimator: Estimator| {
        row.metric == METRIC
            && row.k == of.k
            && row.group == "all"
            && row.propensity.as_deref() == origin
            && row.estimator == estimator
    };
    let mut scores: Vec<ModelScore> = result
        .rows
        .iter()
        .filter(|row| is_here(row, estimator))
        .map(|row| {
            let normalized = result.rows.iter().find(|other| is_here(other, Estimator::Normalized) && other.model == row.model);
            let true_value = truth.and_then(|truth| truth.scores.iter().find(|score| score.model == row.model)?.value);
            ModelScore {
                model: row.model.clone(),
                role: role_of(of.references, &row.model),
                value: row.value,
                low: row.low,
                high: row.high,
                normalized: normalized.and_then(|row| row.value),
                error: row.value.zip(true_value).map(|(value, truth)| value - truth),
            }
        })
        .collect();
    scores.sort_by_key(|score| score.role);
    let models = audited(of.evaluation, of.references);
    let cell = ComparedScore { metric: METRIC, k: of.k, estimator, propensity: origin };
    let here: Vec<&str> = models.iter().copied().filter(|model| scores.iter().any(|score| score.model == *model)).collect();
    let ranking = Ranking::new(result, &cell, &here, of.level);
    let lead = ranking.as_ref().map(|ranking| &ranking.leads[0]).filter(|lead| lead.difference > 0.0);
    let first = ranking.as_ref().filter(|_| lead.is_some()).map(|ranking| ranking.order[0].clone());
    let flips_at = first.as_ref().zip(lead).and_then(|(first, lead)| {
        let is_pair = |a: &str, b: &str| (a == first && b == lead.over) || (b == first && a == lead.over);
        let is_it = |c: &&crate::evaluate::Comparison| {
            c.metric == METRIC && c.k == of.k && c.group == "all" && c.propensity.as_deref() == origin && c.estimator == estimator
        };
        result.comparisons.iter().filter(is_it).find(|c| is_pair(&c.a, &c.b))?.sensitivity?.flips_at
    });
    Standing {
        name: origin.unwrap_or(estimator.name()).to_owned(),
        propensity: origin.map(str::to_owned),
        estimator,
        basis,
        is_truth: false,
        is_added: false,
        agrees_with_truth: truth.and_then(|truth| Some(truth.first.as_ref()? == first.as_ref()?)),
        scores,
        models: models.len(),
        lead_stands: lead.map(|lead| lead.stands),
        ranking,
        first,
        flips_at,
        contradicted: false,
        is_headline: false,
    }
}

/// The names of the audited models, in the order in which they were given.
pub(super) fn audited<'a>(evaluation: &'a EvaluationResult, references: &[Reference]) -> Vec<&'a str> {
    evaluation.rows.iter().fold(Vec::new(), |mut names, row| {
        if !names.contains(&row.model.as_str()) && role_of(references, &row.model) == ModelRole::Audited {
            names.push(&row.model);
        }
        names
    })
}
