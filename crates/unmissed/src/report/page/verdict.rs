//! The verdict and the findings as the page shows them.

use super::parts::{HtmlCell, HtmlTable, interval};
use crate::audit::AuditResult;
use crate::evaluate::{CHECKS, Severity};

/// Messages of a finding that are shown at once.
const SHOWN: usize = 3;

/// Where on the page a finding's basis is.
const BASIS: &[(&str, (&str, &str))] = &[
    ("U001", ("scores", "the scores")),
    ("U002", ("propensities", "the propensities")),
    ("U003", ("scores", "the scores")),
    ("U004", ("propensities", "the propensities")),
    ("U005", ("data", "the data")),
    ("U006", ("standings", "the scores by propensity model")),
    ("U007", ("data", "the data")),
    ("U008", ("against", "the evidence")),
    ("U009", ("scores", "the scores")),
    ("U010", ("data", "the data")),
    ("U011", ("data", "the data")),
    ("U012", ("standings", "the scores by propensity model")),
    ("U013", ("scores", "the scores")),
    ("U014", ("standings", "the scores by propensity model")),
    ("U015", ("standings", "the scores by propensity model")),
];

pub(super) struct VerdictView {
    pub(super) headline: String,
    pub(super) severity: &'static str,
    pub(super) sentences: Vec<String>,
    pub(super) rows_needed: Vec<String>,
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
}

impl VerdictView {
    pub(super) fn new(result: &AuditResult) -> VerdictView {
        let findings = findings(result);
        VerdictView {
            codes: findings.iter().map(|view| (view.code.clone(), view.severity)).collect(),
            headline: result.verdict.headline.clone(),
            severity: severity(result.verdict.severity),
            sentences: result.verdict.sentences.clone(),
            rows_needed: result.rows_needed.iter().map(|need| need.sentence.clone()).collect(),
            standings: standings(result),
            findings,
        }
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn standings(result: &AuditResult) -> HtmlTable {
    let verdict = &result.verdict;
    let truth = result.truth.is_some();
    let level = 100.0 * result.level;
    let caption = format!("In percent, with {level:.0} % intervals. Bold: the highest score under each propensity model.");
    let title = format!("{}@{} under each propensity model", verdict.metric, verdict.k);
    let mut table =
        HtmlTable::new("standings", title, caption).words(["propensities", "model"]).numbers(["score", "interval", "normalised"]);
    if truth {
        table = table.numbers(["off by"]);
    }
    table = table.words(["remarks"]).sortable();
    for standing in &verdict.standings {
        for (place, score) in standing.scores.iter().enumerate() {
            let beyond = score.value.is_some_and(|value| !(0.0..=1.0).contains(&value));
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
            if first && standing.agrees_with_truth == Some(false) {
                remarks.push("wrong model first".to_owned());
            }
            if first && standing.lead_stands == Some(false) {
                remarks.push("lead not significant".to_owned());
            }
            if let Some(gamma) = standing.flips_at.filter(|_| first) {
                remarks.push(format!("lead gone if the odds of being missed are off by {gamma:.2}"));
            }
            if place == 0 && standing.contradicted {
                remarks.push("contradicted by evidence".to_owned());
            }
            if place == 0 && standing.is_headline {
                remarks.push("believed first".to_owned());
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
                cells.push(HtmlCell::number(score.error, |error| format!("{:+.2}", 100.0 * error)));
            }
            cells.push(HtmlCell::text(remarks.join(", ")));
            let row = match (standing.is_truth, place) {
                (true, _) => "truth",
                (false, 0) => "new",
                _ => "",
            };
            table.row(row, cells);
        }
    }
    table
}

fn findings(result: &AuditResult) -> Vec<FindingView> {
    let mut views: Vec<FindingView> = Vec::new();
    for finding in &result.findings {
        if let Some(view) = views.iter_mut().find(|view| view.code == finding.code) {
            if view.messages.len() < SHOWN { &mut view.messages } else { &mut view.more }.push(finding.message.clone());
            continue;
        }
        let title = CHECKS.iter().find(|check| check.code == finding.code).map_or("", |check| check.title);
        views.push(FindingView {
            code: finding.code.clone(),
            title: title.into(),
            severity: severity(finding.severity),
            messages: vec![finding.message.clone()],
            more: Vec::new(),
            advice: finding.advice.clone(),
            basis: BASIS.iter().find(|(code, _)| *code == finding.code).map_or(("scores", "the scores"), |(_, basis)| *basis),
        });
    }
    // The worst first; the order of codes within a severity stays.
    let weight = |view: &FindingView| ["error", "warning", "info"].iter().position(|s| *s == view.severity);
    views.sort_by_key(weight);
    views
}
