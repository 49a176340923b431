//! The verdict and the findings as the page shows them.

use super::parts::{HtmlCell, HtmlTable, interval, unbroken};
use crate::audit::{AuditResult, ModelRole, Topic};
use crate::evaluate::{CHECKS, Severity};
use crate::numbers::four_digits;

/// Messages of a finding that are shown at once.
const SHOWN: usize = 3;

/// Where on the page a finding's basis is.
const BASIS: &[(&str, (&str, &str))] = &[
    ("U001", ("scores", "the scores")),
    ("U002", ("propensities", "the propensities")),
    ("U003", ("scores", "the scores")),
    ("U004", ("propensities", "the propensities")),
    ("U005", ("data", "the data")),
    ("U006", ("standings", "the scores by estimate")),
    ("U007", ("data", "the data")),
    ("U008", ("against", "the evidence")),
    ("U009", ("scores", "the scores")),
    ("U010", ("data", "the data")),
    ("U011", ("data", "the data")),
    ("U012", ("standings", "the scores by estimate")),
    ("U013", ("scores", "the scores")),
    ("U014", ("standings", "the scores by estimate")),
    ("U015", ("standings", "the scores by estimate")),
];

/// Sentences are HTML, escaped, with spans that keep numbers whole.
pub(super) struct VerdictView {
    pub(super) severity: &'static str,
    /// Each sentence of the summary with what it is about.
    pub(super) summary: Vec<(&'static str, String)>,
    pub(super) sentences: Vec<String>,
    pub(super) rows_needed: Vec<String>,
    /// What each gate came to, and whether it failed.
    pub(super) gates: Vec<(String, bool)>,
    pub(super) codes: Vec<(String, &'static str)>,
    pub(super) standings: HtmlTable,
    pub(super) findings: Vec<FindingView>,
}

/// Findings of one code.
pub(super) struct FindingView {
    pub(super) code: String,
    pub(super) title: String,
    pub(super) severity: &'static str,
    pub(super) messages: Vec<String>,
    pub(super) more: Vec<String>,
    pub(super) advice: String,
    pub(super) basis: (&'static str, &'static str),
    /// Whether all of them are about a curve that the audit added.
    pub(super) added: bool,
}

impl VerdictView {
    pub(super) fn new(result: &AuditResult) -> VerdictView {
        let findings = findings(result);
        VerdictView {
            codes: findings.iter().filter(|view| !view.added).map(|view| (view.code.clone(), view.severity)).collect(),
            severity: result.verdict.severity.name(),
            summary: result.verdict.summary.iter().map(|line| (topic(line.topic), unbroken(&line.text))).collect(),
            sentences: result.verdict.sentences.iter().map(|text| unbroken(text)).collect(),
            rows_needed: result.rows_needed.iter().map(|need| unbroken(&need.sentence)).collect(),
            gates: gates(result),
            standings: standings(result),
            findings,
        }
    }
}

fn topic(topic: Topic) -> &'static str {
    match topic {
        Topic::Missing => "Missing",
        Topic::Score => "Score",
        Topic::Comparison => "Models",
        Topic::Baseline => "Baseline",
        Topic::LookAt => "Look at",
    }
}

fn gates(result: &AuditResult) -> Vec<(String, bool)> {
    let words = |failed| if failed { "failed" } else { "passed" };
    let line = |gate: &crate::audit::GateResult| unbroken(&format!("{} {}: {}.", gate.gate, words(gate.failed), gate.found));
    result.gates.iter().map(|gate| (line(gate), gate.failed)).collect()
}

fn standings(result: &AuditResult) -> HtmlTable {
    let verdict = &result.verdict;
    let truth = result.truth.is_some();
    let level = 100.0 * result.level;
    let caption = format!("In percent, with {level:.0} % intervals. Bold: the highest score by each estimate.");
    let title = format!("{}@{} by estimate", verdict.metric, verdict.k);
    let mut table =
        HtmlTable::new("standings", title, caption).words(["estimate", "model"]).numbers(["score", "interval", "normalised"]);
    if truth {
        table = table.numbers(["off by"]);
    }
    table = table.words(["remarks"]).sortable();
    for standing in &verdict.standings {
        for (place, score) in standing.scores.iter().enumerate() {
            let beyond = score.is_beyond();
            let first = standing.first.as_deref() == Some(&score.model);
            let class = match (beyond, first) {
                (true, _) => "impossible",
                (false, true) => "first",
                _ => "n",
            };
            let mut remarks = Vec::new();
            if beyond {
                remarks.push("impossible".to_owned());
            }
            if first && standing.lead_stands == Some(false) {
                remarks.push("lead not significant".to_owned());
            } else if first && standing.agrees_with_truth == Some(false) {
                remarks.push("wrong model first".to_owned());
            }
            if let Some(role) = role(score.role) {
                remarks.push(role.to_owned());
            }
            if let Some(gamma) = standing.flips_at.filter(|_| first) {
                remarks.push(format!("lead disappears if the odds of being missed are off by {gamma:.2}"));
            }
            if place == 0 && standing.contradicted {
                remarks.push("contradicted by evidence".to_owned());
            }
            if place == 0 && standing.is_headline {
                remarks.push("reported".to_owned());
            }
            if place == 0 && standing.is_added {
                remarks.push("usual assumption, added by the audit".to_owned());
            }
            if place == 0 && standing.basis == crate::audit::Basis::Observed {
                remarks.push("at least this on complete labels".to_owned());
            }
            let ends = score.low.zip(score.high).map_or("–".into(), |(low, high)| interval(low, high));
            let mut cells = vec![
                HtmlCell::text(&*standing.name),
                HtmlCell::text(&*score.model),
                HtmlCell::percent(score.value).class(class),
                HtmlCell::text(ends).class("n"),
                HtmlCell::percent(score.normalized),
            ];
            if truth {
                cells.push(HtmlCell::number(score.error, signed));
            }
            cells.push(HtmlCell::text(remarks.join(", ")));
            let row = match (standing.is_truth, place) {
                (true, _) => "truth",
                (false, 0) => "new",
                _ if score.role != ModelRole::Audited => "baseline",
                _ => "",
            };
            table.row(row, cells);
        }
    }
    table
}

/// A difference in points with its sign.
fn signed(difference: f64) -> String {
    format!("{}{}", if difference < 0.0 { "" } else { "+" }, four_digits(100.0 * difference, 2))
}

/// What a model is that is not audited.
fn role(role: ModelRole) -> Option<&'static str> {
    match role {
        ModelRole::Audited => None,
        ModelRole::Popularity => Some("baseline: the most frequent labels for every row"),
        ModelRole::Earlier => Some("baseline: the earlier audit"),
    }
}

fn findings(result: &AuditResult) -> Vec<FindingView> {
    let mut views: Vec<FindingView> = Vec::new();
    for finding in &result.findings {
        if let Some(view) = views.iter_mut().find(|view| view.code == finding.code) {
            if view.messages.len() < SHOWN { &mut view.messages } else { &mut view.more }.push(unbroken(&finding.message));
            view.added &= finding.added;
            continue;
        }
        let title = CHECKS.iter().find(|check| check.code == finding.code).map_or("", |check| check.title);
        views.push(FindingView {
            code: finding.code.clone(),
            title: title.into(),
            severity: finding.severity.name(),
            messages: vec![unbroken(&finding.message)],
            added: finding.added,
            more: Vec::new(),
            advice: finding.advice.clone(),
            basis: BASIS.iter().find(|(code, _)| *code == finding.code).map_or(("scores", "the scores"), |(_, basis)| *basis),
        });
    }
    // What the user passed or measured first, the worst first; the order of codes within a severity stays.
    let weight = |view: &FindingView| Severity::ALL.iter().rev().position(|severity| severity.name() == view.severity);
    views.sort_by_key(|view| (view.added, weight(view)));
    views
}
