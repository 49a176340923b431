//! The audited models against the popularity ranker and against those of an earlier audit: paired, by the first estimate in the order
//! that both have.

use super::headline::{Basis, by_belief};
use super::reference::{ModelRole, Reference};
use super::standings::{Scores, Standing, audited};
use crate::evaluate::Lead;
use serde::Serialize;

/// An audited model against another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The audited model.
    pub model: String,
    /// By how much it is better.
    pub lead: Lead,
    /// The name of the standing that both were compared by.
    pub standing: String,
    /// Whether only observed scores could be compared.
    pub is_observed: bool,
    /// The name that the other had in an earlier audit.
    pub earlier: Option<String>,
}

impl Compared {
    /// Whether it is better than the other, as far as can be told.
    pub fn is_better(&self) -> bool {
        self.lead.stands && self.lead.difference > 0.0
    }

    fn observed(&self) -> &'static str {
        if self.is_observed { ", as observed" } else { "" }
    }

    pub(super) fn popularity_sentence(&self) -> String {
        let (model, lead, observed) = (&self.model, &self.lead, self.observed());
        if self.is_better() {
            format!("{model} is better than the popularity ranker by {}{observed}.", lead.by())
        } else if lead.stands {
            format!("{model} is worse than the popularity ranker by {}{observed}.", lead.turned().by())
        } else {
            format!("{model} is not statistically distinguishable from the popularity ranker ({}{observed}).", lead.doubt(1))
        }
    }

    pub(super) fn earlier_sentence(&self) -> String {
        let (model, lead, observed) = (&self.model, &self.lead, self.observed());
        let other = self.earlier.as_deref().unwrap_or(&lead.over);
        let than = if other == model { "in the earlier audit".to_owned() } else { format!("{other} in the earlier audit") };
        if self.is_better() {
            format!("{model} is better than {than} by {}{observed}.", lead.by())
        } else if lead.stands {
            format!("{model} is worse than {than} by {}{observed}.", lead.turned().by())
        } else if lead.is_tie() {
            format!("{model} scores the same on every row as {than}.")
        } else {
            format!("{model} is not statistically distinguishable from {other} in the earlier audit ({}{observed}).", lead.doubt(1))
        }
    }
}

/// Each audited model against the popularity ranker, the best model first.
pub(super) fn over_popularity(of: &Scores<'_>, standings: &[Standing]) -> Vec<Compared> {
    let Some(ranker) = of.references.iter().find(|reference| reference.role == ModelRole::Popularity) else { return Vec::new() };
    compared(of, standings, &|_| Some(ranker))
}

/// Each audited model against the earlier one of the same name; where there is none, against the best of the earlier ones.
pub(super) fn over_earlier(of: &Scores<'_>, standings: &[Standing]) -> Vec<Compared> {
    let earlier: Vec<&Reference> = of.references.iter().filter(|reference| reference.role == ModelRole::Earlier).collect();
    let observed = |reference: &Reference| standings[0].scores.iter().find(|score| score.model == reference.name)?.value;
    let best = earlier.iter().copied().reduce(|best, other| if observed(other) > observed(best) { other } else { best });
    let of_name = |model: &str| earlier.iter().copied().find(|reference| reference.earlier.as_deref() == Some(model));
    compared(of, standings, &|model| of_name(model).or(best))
}

fn compared<'r>(of: &Scores<'_>, standings: &[Standing], other: &dyn Fn(&str) -> Option<&'r Reference>) -> Vec<Compared> {
    let models = audited(of.evaluation, of.references);
    let has = |standing: &Standing, model: &str| {
        standing.scores.iter().any(|score| score.model == model && score.value.is_some() && !score.is_beyond())
    };
    let covers = |standing: &&&Standing| {
        models.iter().all(|model| has(standing, model) && other(model).is_some_and(|reference| has(standing, &reference.name)))
    };
    let order = by_belief(standings);
    let Some(standing) = order.iter().find(covers) else { return Vec::new() };
    let result = if standing.is_truth { of.truth.unwrap_or(of.evaluation) } else { of.evaluation };
    let leads = standing.cell(of.k).leads_over(result, &models, |model| other(model).map(|one| one.name.clone()), of.level);
    let mut all: Vec<Compared> = leads
        .into_iter()
        .map(|(model, lead)| Compared {
            earlier: other(&model).and_then(|reference| reference.earlier.clone()),
            model,
            lead,
            standing: standing.name.clone(),
            is_observed: standing.basis == Basis::Observed,
        })
        .collect();
    all.sort_by(|a, b| b.lead.difference.total_cmp(&a.lead.difference));
    all
}
