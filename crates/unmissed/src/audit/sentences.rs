//! The sentences of a verdict. None claims more than the interval of a paired difference allows, and impossible values are not
//! written as scores.

use super::compared::Compared;
use super::headline::{Basis, Unusable, by_belief};
use super::result::PropensityReport;
use super::standings::{Standing, is_contradicted};
use super::wording::{capital, percent, points, within};
use crate::evaluate::ranking::listed;

/// The number to report, beside what is observed.
pub(super) fn score_sentence(standing: &Standing, observed: &Standing, at: &str) -> Option<String> {
    let best = standing.best()?;
    let of = if standing.models > 1 { format!(" of {}", best.model) } else { String::new() };
    let at = format!("{}{of}", capital(at));
    // Beyond what a score can be by chance: the nearest that it can.
    let score = within(best.value?.clamp(0.0, 1.0), best.low, best.high);
    if standing.basis == Basis::Observed {
        return Some(format!("{at} is at least {score}, as observed."));
    }
    let how = match standing.basis {
        _ if standing.is_truth => " on complete labels",
        Basis::PerLabel => " if labels that models rank first are missed as often as others",
        _ => "",
    };
    let seen = observed.audited().find(|score| score.model == best.model)?.value?;
    let is_other = best.low.is_some_and(|low| seen < low) || best.high.is_some_and(|high| seen > high);
    Some(if is_other {
        format!("{at} is {score}{how}, not {} as observed.", percent(seen))
    } else {
        format!("{at} is {score}{how}; as observed it is {}.", percent(seen))
    })
}

pub(super) fn comparison_sentence(standing: &Standing) -> Option<String> {
    let sentence = standing.ranking.as_ref()?.sentence();
    Some(match standing.basis {
        Basis::Complete => format!("On complete labels {sentence}."),
        Basis::Observed => format!("On observed labels {sentence}."),
        _ => format!("{sentence}."),
    })
}

/// Estimates from the same evidence that name different winners.
pub(super) fn disagreement(reported: &Standing, standings: &[Standing]) -> Option<String> {
    if reported.is_truth || !reported.basis.is_measured() {
        return None;
    }
    let winner = reported.winner()?;
    let is_other = |other: &&&Standing| {
        other.basis != Basis::Observed && other.unusable().is_none() && other.winner().is_some_and(|other| other != winner)
    };
    let other = by_belief(standings).iter().find(is_other).copied()?;
    let by = |standing: &Standing| Some(format!("by {} {}", standing.name, standing.ranking.as_ref()?.sentence()));
    Some(format!("Estimates from the same evidence do not agree about the order: {}; {}.", by(reported)?, by(other)?))
}

pub(super) fn why_sentence(standing: &Standing, passed: &[(&Standing, Unusable)]) -> String {
    let next = if passed.is_empty() { "" } else { " (the next in the order)" };
    match standing.basis {
        Basis::Observed => format!("Observed scores are reported because {}.", standing.basis.why()),
        basis => format!("'{}'{next} is reported: {}. The order of estimates is fixed in advance.", standing.name, basis.why()),
    }
}

pub(super) fn passed_sentence(standing: &Standing, why: Unusable, at: &str) -> String {
    match why {
        Unusable::Incomplete => format!("'{}' is not reported: not all models have a value.", standing.name),
        Unusable::BeyondRange => {
            format!("'{}' is not reported: it puts {at} outside its range, so its assumptions do not hold here.", standing.name)
        }
    }
}

/// Other estimates from evidence whose interval does not meet that of the reported one.
pub(super) fn other_values(reported: &Standing, standings: &[Standing], at: &str) -> Option<String> {
    let best = reported.best().filter(|_| reported.basis.is_measured() && !reported.is_truth)?;
    let apart = |other: &&&Standing| {
        let Some(score) = other.audited().find(|score| score.model == best.model) else { return false };
        let (Some(low), Some(high)) = (score.low.zip(best.high), score.high.zip(best.low)) else { return false };
        other.basis.is_measured() && !other.is_truth && !score.is_beyond() && (low.0 > low.1 || high.0 < high.1)
    };
    let of = |standing: &Standing| {
        let score = standing.audited().find(|score| score.model == best.model)?;
        Some(format!("{} by '{}'", within(score.value?, score.low, score.high), standing.name))
    };
    let others: Vec<String> = by_belief(standings).iter().filter(apart).filter_map(|standing| of(standing)).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    (!others.is_empty())
        .then(|| format!("Other estimates from the same evidence differ from it: {at} of {} is {}.", best.model, listed(&others)))
}

/// What complete labels say about the estimates.
pub(super) fn against_complete(standings: &[Standing]) -> Vec<String> {
    let Some(truth) = standings.iter().find(|standing| standing.is_truth) else { return Vec::new() };
    let Some(best) = truth.best() else { return Vec::new() };
    let error = |standing: &Standing| {
        let score = standing.audited().find(|score| score.model == best.model)?;
        let far = if score.is_beyond() { "beyond 100 %".into() } else { points(score.error?) };
        Some(format!("{} {far}", standing.name))
    };
    let errors: Vec<String> = standings.iter().filter(|standing| !standing.is_truth).filter_map(error).collect();
    let mut sentences = vec![format!("Difference from complete labels, in points: {}.", errors.join(", "))];
    if let Some(winner) = truth.winner() {
        for (wrong, names) in wrong_winners(standings, winner) {
            sentences.push(format!("Scored with {}, {wrong} would be called better, which is wrong.", listed(&names)));
        }
    }
    sentences
}

/// Models that are called better than all others and are not, each with the standings that do so.
fn wrong_winners<'s>(standings: &'s [Standing], right: &str) -> Vec<(&'s str, Vec<&'s str>)> {
    let mut wrong: Vec<(&str, Vec<&str>)> = Vec::new();
    for standing in standings.iter().filter(|standing| !standing.is_truth) {
        let Some(winner) = standing.winner().filter(|winner| *winner != right) else { continue };
        match wrong.iter_mut().find(|(model, _)| *model == winner) {
            Some((_, names)) => names.push(&standing.name),
            None => wrong.push((winner, vec![&standing.name])),
        }
    }
    wrong
}

/// What assumed propensities would make of it. They are never called the truth.
pub(super) fn if_assumed(standings: &[Standing], at: &str) -> Vec<String> {
    let observed = &standings[0];
    let Some(best) = observed.best() else { return Vec::new() };
    let sentence = |standing: &Standing| {
        let score = standing.audited().find(|score| score.model == best.model)?;
        let of = if standing.models > 1 { format!("{at} of {}", best.model) } else { at.to_owned() };
        if score.is_beyond() {
            let name = &standing.name;
            return Some(format!(
                "Under {name}, which is assumed, {of} would be above 100 %, which is impossible: it does not fit these data."
            ));
        }
        let order = match (standing.winner(), observed.winner()) {
            (Some(other), winner) if Some(other) != winner && standing.unusable().is_none() => {
                format!("; by it {}", standing.ranking.as_ref()?.sentence())
            }
            _ => String::new(),
        };
        Some(format!(
            "Under {}, which is assumed, {of} would be {}{order}.",
            standing.name,
            within(score.value?, score.low, score.high)
        ))
    };
    standings.iter().filter(|standing| standing.basis == Basis::Assumed).filter_map(sentence).collect()
}

pub(super) fn better_than_popularity(popularity: &[Compared]) -> Option<String> {
    let first = popularity.first().filter(|_| popularity.iter().all(Compared::is_better))?;
    let all = match popularity.len() {
        1 => return Some(first.popularity_sentence()),
        2 => "Both models".to_owned(),
        count => format!("All {count} models"),
    };
    Some(format!("{all} are better than the popularity ranker, {} by {}{}.", first.model, first.lead.by(), first.observed()))
}

/// Models that are not better than the popularity ranker, in a sentence for those that are worse and one for those that may be.
pub(super) fn not_better_than_popularity(popularity: &[Compared]) -> Vec<String> {
    let (worse, open): (Vec<&Compared>, Vec<&Compared>) =
        popularity.iter().filter(|one| !one.is_better()).partition(|one| one.lead.stands);
    let of = |part: Vec<&Compared>, words: &str| match &part[..] {
        [] => None,
        [one] => Some(one.popularity_sentence()),
        [first, rest @ ..] => {
            let names: Vec<&str> = part.iter().take(3).map(|one| one.model.as_str()).collect();
            let more = if rest.len() > 2 { format!(", and {} more,", rest.len() - 2) } else { String::new() };
            let (doubt, observed) = (first.lead.doubt(part.len()), first.observed());
            Some(format!("{}{more} are {words} the popularity ranker ({}: {doubt}{observed}).", listed(&names), first.model))
        }
    };
    [of(worse, "worse than"), of(open, "not statistically distinguishable from")].into_iter().flatten().collect()
}

pub(super) fn contradicted(propensities: &[PropensityReport]) -> Vec<String> {
    let Some(evidence) = propensities.iter().find_map(|report| report.against.as_ref()) else { return Vec::new() };
    let names = |is_added: bool| -> Vec<&str> {
        let wrong = propensities.iter().filter(|report| is_contradicted(report) && report.is_added == is_added);
        wrong.map(|report| report.name.as_str()).collect()
    };
    let (given, added) = (names(false), names(true));
    let evidence = evidence.kind.name();
    let given = (!given.is_empty()).then(|| format!("Contradicted by {evidence}: {}.", listed(&given)));
    let added = (!added.is_empty()).then(|| {
        format!("The usual assumption, {}, is contradicted by {evidence}; it is shown for comparison only.", listed(&added))
    });
    given.into_iter().chain(added).collect()
}
