//! The verdict of an audit for a terminal, and the whole of it for programs.

use crate::app::Outcome;
use crate::cmd::evaluate::present::{finding_rows, long_table};
use unmissed::audit::{AuditResult, Basis, ModelRole, ModelScore, Standing, Topic};
use unmissed::report::{Cell, Column, Document, Table, page};

/// More models than this have a line each, fewer a column each.
const SIDE_BY_SIDE: usize = 2;

/// `for_programs`: whether json will be written; `all`: whether there is room for everything.
pub(super) fn document(result: &AuditResult, for_programs: bool, all: bool) -> Outcome<Document> {
    let verdict = &result.verdict;
    let mut document = Document::new();
    for line in &verdict.summary {
        // What is missing and what to look at are facts; how good or bad it is shows at the score.
        document = document.lead(line.text.clone(), (line.topic == Topic::Score).then_some(verdict.severity));
    }
    for gate in &result.gates {
        let severity = gate.failed.then_some(unmissed::evaluate::Severity::Error);
        let word = if gate.failed { "failed" } else { "passed" };
        document = document.lead(format!("Gate {} {word}: {}.", gate.gate, gate.found), severity);
    }
    document = document.table(standings(result, all)).csv(long_table(&result.evaluation));
    if let Some(table) = finding_rows(&result.findings, all) {
        document = document.table(table);
    }
    if for_programs {
        document = document.data(result)?;
    }
    for sentence in &verdict.sentences {
        document = document.note(sentence.clone());
    }
    for why in &result.left_out_by_row {
        document = document.note(format!("Not estimated: {why}"));
    }
    Ok(result.rows_needed.iter().fold(document, |document, need| document.note(need.sentence.clone())))
}

/// Estimates down, models across; with many models only what is observed and what is reported, models down.
fn standings(result: &AuditResult, all: bool) -> Table {
    let models = result.models();
    let name = if result.name.is_empty() { "Audit" } else { &result.name };
    let title = format!("{name}: {}", page::data_line(result));
    let verdict = &result.verdict;
    let at = format!("{}@{} (%)", verdict.metric, verdict.k);
    let names: Vec<&str> =
        verdict.standings.first().map_or(Vec::new(), |s| s.scores.iter().map(|score| score.model.as_str()).collect());
    if models.len() <= SIDE_BY_SIDE {
        let columns = std::iter::once(at).chain(names.iter().map(|name| (*name).to_owned())).map(Column::new);
        let mut table = Table::new("standings", columns).titled(title);
        for standing in &verdict.standings {
            let of = |name: &&str| standing.scores.iter().find(|score| score.model == **name);
            let cells = names.iter().map(|name| of(name).map_or(Cell::Missing, |score| Cell::from(within(score))));
            table.row(std::iter::once(Cell::from(marked(standing))).chain(cells));
        }
        return table;
    }
    let is_shown = |standing: &&Standing| all || standing.is_headline || standing.basis == Basis::Observed;
    let shown: Vec<&Standing> = verdict.standings.iter().filter(is_shown).collect();
    let columns = std::iter::once(at).chain(shown.iter().map(|standing| marked(standing))).map(Column::new);
    let mut table = Table::new("standings", columns).titled(title);
    for name in names {
        let cell = |standing: &&Standing| {
            let score = standing.scores.iter().find(|score| score.model == name);
            score.map_or(Cell::Missing, |score| Cell::from(within(score)))
        };
        let cells = shown.iter().map(cell);
        table.row(std::iter::once(Cell::from(name.to_owned())).chain(cells));
    }
    table
}

/// The name of a standing with what to know about it.
fn marked(standing: &Standing) -> String {
    let mut name = standing.name.clone();
    if standing.is_headline {
        name.push_str(" (reported)");
    }
    if standing.contradicted {
        name.push_str(" ✗");
    }
    name
}

fn within(score: &ModelScore) -> String {
    let Some(value) = score.value else { return "–".into() };
    let beyond = if score.is_beyond() { " (impossible)" } else { "" };
    match (score.low, score.high) {
        (Some(low), Some(high)) if score.role == ModelRole::Audited => {
            format!("{:.1} [{:.1}, {:.1}]{beyond}", 100.0 * value, 100.0 * low, 100.0 * high)
        }
        _ => format!("{:.1}{beyond}", 100.0 * value),
    }
}
