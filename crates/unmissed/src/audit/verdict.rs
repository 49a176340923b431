//! The verdict: how much is missing, the one number to report, how the models compare, and what to look at. It claims no more than
//! intervals of paired differences allow.

use super::compared::{Compared, over_earlier, over_popularity};
use super::headline::{Basis, headline};
use super::missing::MissingShare;
use super::sentences::{
    against_complete, better_than_popularity, comparison_sentence, contradicted, disagreement, if_assumed,
    not_better_than_popularity, other_values, passed_sentence, score_sentence, why_sentence,
};
use super::standings::{METRIC, ModelScore, Scores, Standing, is_contradicted, standings};
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
        not_better_than_popularity(&popularity).into_iter().for_each(|text| add(Topic::Baseline, Some(text)));
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
