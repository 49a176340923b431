//! The verdict: how much is missing, the one number to report, how the models compare, and what to look at. It claims no more than
//! intervals of paired differences allow.

use super::compared::{Compared, over_earlier, over_popularity};
use super::headline::{Basis, Unusable, by_belief, headline};
use super::missing::MissingShare;
use super::result::PropensityReport;
use super::standings::{METRIC, ModelScore, Scores, Standing, is_contradicted, standings};
use super::wording::{capital, percent, points, within};
use crate::evaluate::ranking::listed;
use crate::evaluate::{Finding, Severity};
use serde::Serialize;

/// What an audit comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The verdict in a few sentences: those of the summary.
    pub headline: String,
    /// How bad it is.
    pub severity: Severity,
    /// Its sentences, each with what it is about.
    pub summary: Vec<SummaryLine>,
    /// What they rest on, a sentence each.
    pub sentences: Vec<String>,
    /// How much is missing.
    pub missing: MissingShare,
    /// The one number to report.
    pub reported: Option<ReportedScore>,
    /// What it would take for another model to be ahead, where nothing measures what is missing.
    pub order_change: Option<OrderChange>,
    /// The models against the popularity ranker.
    pub popularity: Vec<Compared>,
    /// The models against those of an earlier audit.
    pub earlier: Vec<Compared>,
    /// The metric.
    pub metric: &'static str,
    /// Length of the top list.
    pub k: usize,
    /// Scores as observed, under each propensity model, and on complete labels.
    pub standings: Vec<Standing>,
}

/// What a sentence of the summary is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// How much is missing.
    Missing,
    /// The number to report.
    Score,
    /// How the models compare.
    Comparison,
    /// Better than before, better than nothing?
    Baseline,
    /// What to look at.
    LookAt,
}

/// A sentence of the summary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryLine {
    /// What it is about.
    pub topic: Topic,
    /// The sentence.
    pub text: String,
}

/// The one number to report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportedScore {
    /// The model: the one with the highest value.
    pub model: String,
    /// The value.
    pub value: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The name of the standing that it is from.
    pub standing: String,
    /// What it rests on.
    pub basis: Basis,
    /// Why this estimate.
    pub why: String,
}

/// What it would take for another model to be ahead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrderChange {
    /// The model that is ahead as observed.
    pub ahead: String,
    /// The second.
    pub behind: String,
    /// The second is ahead on complete labels only if the relevant labels that it finds are observed less than this many times as often
    /// as those that the first finds. Scores are observed hits divided by the share of relevant hits that is observed, so this is no
    /// assumption.
    pub ratio: f64,
}

impl Verdict {
    pub(super) fn new(of: &Scores<'_>, missing: MissingShare, findings: &[Finding], look_at: Option<String>) -> Verdict {
        let standings = standings(of);
        let at = format!("{METRIC}@{}", of.k);
        let (reported, passed) = headline(&standings);
        let (popularity, earlier) = (over_popularity(of, &standings), over_earlier(of, &standings));
        let mut summary = vec![SummaryLine { topic: Topic::Missing, text: missing.sentence.clone() }];
        let mut add = |topic, text: Option<String>| summary.extend(text.map(|text| SummaryLine { topic, text }));
        let observed = &standings[0];
        add(Topic::Score, reported.and_then(|standing| score_sentence(standing, observed, &at)));
        let disagreement = reported.and_then(|standing| disagreement(standing, &standings));
        add(Topic::Comparison, disagreement.clone().or_else(|| reported.and_then(comparison_sentence)));
        earlier.iter().for_each(|one| add(Topic::Baseline, Some(one.earlier_sentence())));
        popularity.iter().filter(|one| !one.is_better()).for_each(|one| add(Topic::Baseline, Some(one.popularity_sentence())));
        add(Topic::LookAt, look_at);

        let order_change = reported.filter(|standing| standing.basis == Basis::Observed).and_then(OrderChange::new);
        let mut sentences = Vec::new();
        sentences.extend(reported.map(|standing| why_sentence(standing, &passed)));
        sentences.extend(passed.iter().map(|(standing, why)| passed_sentence(standing, *why, &at)));
        sentences.extend(reported.and_then(|standing| other_values(standing, &standings, &at)));
        match reported.map(|standing| standing.basis) {
            Some(Basis::Complete) => sentences.extend(against_complete(&standings)),
            Some(Basis::Observed) => sentences.extend(if_assumed(&standings, &at)),
            _ => {}
        }
        sentences.extend(order_change.as_ref().map(OrderChange::sentence));
        sentences.extend(better_than_popularity(&popularity));
        sentences.extend(contradicted(of.propensities));
        let severity = severity(of, &standings, disagreement.is_some(), &popularity, &earlier, findings);
        Verdict {
            headline: summary.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" "),
            severity,
            sentences,
            missing,
            reported: reported.and_then(ReportedScore::new),
            order_change,
            popularity,
            earlier,
            metric: METRIC,
            k: of.k,
            summary,
            standings,
        }
    }
}

impl ReportedScore {
    fn new(standing: &Standing) -> Option<ReportedScore> {
        let ModelScore { model, value, low, high, .. } = standing.best()?;
        Some(ReportedScore {
            model: model.clone(),
            value: (*value)?,
            low: *low,
            high: *high,
            standing: standing.name.clone(),
            basis: standing.basis,
            why: standing.basis.why().into(),
        })
    }
}

impl OrderChange {
    /// The two models that are first as observed, if one is ahead.
    fn new(observed: &Standing) -> Option<OrderChange> {
        let [ahead, behind, ..] = &observed.ranking.as_ref()?.order[..] else { return None };
        let value = |model: &str| observed.audited().find(|score| score.model == model)?.value;
        let (first, second) = (value(ahead)?, value(behind)?);
        (first > second).then(|| OrderChange { ahead: ahead.clone(), behind: behind.clone(), ratio: second / first })
    }

    fn sentence(&self) -> String {
        let OrderChange { ahead, behind, ratio } = self;
        let ratio = crate::numbers::significant(*ratio, 2);
        format!(
            "Whatever is missing, {behind} is ahead of {ahead} only if the relevant labels that it finds are observed less than {ratio} \
             times as often as those that {ahead} finds."
        )
    }
}

/// The number to report, beside what is observed.
fn score_sentence(standing: &Standing, observed: &Standing, at: &str) -> Option<String> {
    let best = standing.best()?;
    let of = if standing.models > 1 { format!(" of {}", best.model) } else { String::new() };
    let at = format!("{}{of}", capital(at));
    let score = within(best.value?, best.low, best.high);
    if standing.basis == Basis::Observed {
        return Some(format!("{at} is at least {score}, as observed."));
    }
    let how = if standing.is_truth { " on complete labels" } else { "" };
    let seen = observed.audited().find(|score| score.model == best.model)?.value?;
    let is_other = best.low.is_some_and(|low| seen < low) || best.high.is_some_and(|high| seen > high);
    Some(if is_other {
        format!("{at} is {score}{how}, not {} as observed.", percent(seen))
    } else {
        format!("{at} is {score}{how}; as observed it is {}.", percent(seen))
    })
}

fn comparison_sentence(standing: &Standing) -> Option<String> {
    let sentence = standing.ranking.as_ref()?.sentence();
    Some(match standing.basis {
        Basis::Complete => format!("On complete labels {sentence}."),
        Basis::Observed => format!("As observed {sentence}."),
        _ => format!("{sentence}."),
    })
}

/// Estimates from the same evidence that name different winners.
fn disagreement(reported: &Standing, standings: &[Standing]) -> Option<String> {
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

fn why_sentence(standing: &Standing, passed: &[(&Standing, Unusable)]) -> String {
    let next = if passed.is_empty() { "" } else { " (the next in the order)" };
    match standing.basis {
        Basis::Observed => format!("Observed scores are reported because {}.", standing.basis.why()),
        basis => format!("Reported is '{}'{next}: {}. The order of estimates is fixed beforehand.", standing.name, basis.why()),
    }
}

fn passed_sentence(standing: &Standing, why: Unusable, at: &str) -> String {
    match why {
        Unusable::Incomplete => format!("'{}' is not reported: not all models have a value.", standing.name),
        Unusable::BeyondRange => {
            format!(
                "'{}' is not reported: it puts {at} beyond what a score can be, so its assumptions do not hold here.",
                standing.name
            )
        }
    }
}

/// Other estimates from evidence whose interval does not meet that of the reported one.
fn other_values(reported: &Standing, standings: &[Standing], at: &str) -> Option<String> {
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
    (!others.is_empty()).then(|| {
        format!("Other estimates from the same evidence are apart from it: {at} of {} is {}.", best.model, listed(&others))
    })
}

/// What complete labels say about the estimates.
fn against_complete(standings: &[Standing]) -> Vec<String> {
    let Some(truth) = standings.iter().find(|standing| standing.is_truth) else { return Vec::new() };
    let Some(best) = truth.best() else { return Vec::new() };
    let error = |standing: &Standing| {
        let score = standing.audited().find(|score| score.model == best.model)?;
        let far = if score.is_beyond() { "beyond 100 %".into() } else { points(score.error?) };
        Some(format!("{} {far}", standing.name))
    };
    let errors: Vec<String> = standings.iter().filter(|standing| !standing.is_truth).filter_map(error).collect();
    let mut sentences = vec![format!("Off from complete labels, in points: {}.", errors.join(", "))];
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
fn if_assumed(standings: &[Standing], at: &str) -> Vec<String> {
    let observed = &standings[0];
    let Some(best) = observed.best() else { return Vec::new() };
    let sentence = |standing: &Standing| {
        let score = standing.audited().find(|score| score.model == best.model)?;
        let of = if standing.models > 1 { format!("{at} of {}", best.model) } else { at.to_owned() };
        if score.is_beyond() {
            let name = &standing.name;
            return Some(format!(
                "Under {name}, which is assumed, {of} would be beyond 100 %, which cannot be: it does not fit these data."
            ));
        }
        let order = match (standing.winner(), observed.winner()) {
            (Some(other), winner) if Some(other) != winner && standing.unusable().is_none() => {
                format!(", and {}", standing.ranking.as_ref()?.sentence())
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

fn better_than_popularity(popularity: &[Compared]) -> Option<String> {
    let first = popularity.first().filter(|_| popularity.iter().all(Compared::is_better))?;
    Some(match popularity.len() {
        1 => first.popularity_sentence(),
        count => format!("All {count} models are better than the popularity ranker, {} by {}.", first.model, first.lead.by()),
    })
}

fn contradicted(propensities: &[PropensityReport]) -> Vec<String> {
    let Some(evidence) = propensities.iter().find_map(|report| report.against.as_ref()) else { return Vec::new() };
    let names = |is_added: bool| -> Vec<&str> {
        let wrong = propensities.iter().filter(|report| is_contradicted(report) && report.is_added == is_added);
        wrong.map(|report| report.name.as_str()).collect()
    };
    let (given, added) = (names(false), names(true));
    let evidence = evidence.kind.name();
    let given = (!given.is_empty()).then(|| format!("Contradicted by {evidence}: {}.", listed(&given)));
    let added = (!added.is_empty()).then(|| {
        format!("The usual assumption, {}, is contradicted by {evidence} and is shown for comparison only.", listed(&added))
    });
    given.into_iter().chain(added).collect()
}

fn severity(
    of: &Scores<'_>,
    standings: &[Standing],
    disagrees: bool,
    popularity: &[Compared],
    earlier: &[Compared],
    findings: &[Finding],
) -> Severity {
    let right = standings.iter().find(|standing| standing.is_truth).and_then(Standing::winner);
    let is_wrong = |standing: &&Standing| {
        let is_given = standing.basis == Basis::Assumed && !standing.is_added;
        is_given && (standing.contradicted || right.zip(standing.winner()).is_some_and(|(right, winner)| right != winner))
    };
    let of_findings = findings.iter().filter(|finding| !finding.added).map(|finding| finding.severity).max();
    let is_measured = standings.iter().any(|standing| standing.basis.is_measured() && standing.is_headline);
    let is_worse = |one: &&Compared| one.lead.stands && one.lead.difference < 0.0;
    let is_doubtful = disagrees
        || !is_measured
        || popularity.iter().any(|one| !one.is_better())
        || earlier.iter().any(|one| is_worse(&one))
        || of.propensities.iter().any(|report| is_contradicted(report) && !report.is_added);
    if standings.iter().any(|standing| is_wrong(&standing)) {
        return Severity::Error;
    }
    let own = if is_doubtful { Severity::Warning } else { Severity::Info };
    own.max(of_findings.unwrap_or(Severity::Info))
}

#[cfg(test)]
mod tests;
