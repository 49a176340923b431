//! The verdict of an audit for a terminal, and the whole of it for programs.

use crate::app::Outcome;
use crate::cmd::evaluate::present::long_table;
use std::path::Path;
use unmissed::audit::{AuditResult, ModelScore};
use unmissed::cells;
use unmissed::report::{Cell, Column, Document, Table, page};

/// Messages longer than this are cut; the page and json have them in full.
const MOST: usize = 150;

/// `for_programs`: whether json will be written.
pub(super) fn document(result: &AuditResult, for_programs: bool, written: Option<&Path>) -> Outcome<Document> {
    let mut document = Document::new().table(standings(result)).csv(long_table(&result.evaluation));
    if !result.findings.is_empty() {
        document = document.table(findings(result));
    }
    if for_programs {
        document = document.data(result)?;
    }
    let verdict = &result.verdict;
    document = document.note(format!("Verdict: {} {}", verdict.headline, verdict.sentences.join(" ")));
    for why in &result.left_out_by_row {
        document = document.note(format!("Not estimated: {why}"));
    }
    if !result.rows_needed.is_empty() {
        document =
            document.note(result.rows_needed.iter().take(2).map(|need| need.sentence.as_str()).collect::<Vec<_>>().join(" "));
    }
    Ok(match written {
        Some(path) => document.note(format!("The page: {}", path.display())),
        None => document,
    })
}

/// Propensity models down, models across.
fn standings(result: &AuditResult) -> Table {
    let verdict = &result.verdict;
    let models = result.models();
    let mut columns = vec![Column::new(format!("{}@{} (%)", verdict.metric, verdict.k))];
    for model in &models {
        columns.push(Column::new((*model).to_owned()));
        columns.push(Column::new(format!("{model}, norm.")));
    }
    if models.len() > 1 {
        columns.push(Column::new("first"));
    }
    let has_flips = verdict.standings.iter().any(|standing| standing.flips_at.is_some());
    if has_flips {
        columns.push(Column::new("flips at"));
    }
    let name = if result.name.is_empty() { "Audit" } else { &result.name };
    let mut table = Table::new("standings", columns).titled(format!("{name}: {}", page::data_line(result)));
    for standing in &verdict.standings {
        let name = if standing.contradicted { format!("{} ✗", standing.name) } else { standing.name.clone() };
        let mut row = vec![Cell::from(name)];
        for model in &models {
            let score = standing.scores.iter().find(|score| score.model == *model);
            row.push(score.map_or(Cell::Missing, |score| Cell::from(within(score))));
            row.push(Cell::from(score.and_then(|score| score.normalized).map(|value| format!("{:.2}", 100.0 * value))));
        }
        if models.len() > 1 {
            let wrong = if standing.agrees_with_truth == Some(false) { " (wrong)" } else { "" };
            row.push(Cell::from(standing.first.as_ref().map(|first| format!("{first}{wrong}"))));
        }
        if has_flips {
            row.push(Cell::from(standing.flips_at.map(|gamma| format!("{gamma:.2}"))));
        }
        table.row(row);
    }
    table
}

fn within(score: &ModelScore) -> String {
    let value = score.value.map_or("–".into(), |value| format!("{:.2}", 100.0 * value));
    match (score.low, score.high) {
        (Some(low), Some(high)) => format!("{value} [{:.2}, {:.2}]", 100.0 * low, 100.0 * high),
        _ => value,
    }
}

/// One line a code: the first message, and how many more there are.
fn findings(result: &AuditResult) -> Table {
    let mut table = Table::new("findings", ["code", "severity", "what was found"].map(Column::new)).titled("Findings");
    for run in result.findings.chunk_by(|a, b| a.code == b.code) {
        let more = if run.len() > 1 { format!(" (and {} more)", run.len() - 1) } else { String::new() };
        let severity = format!("{:?}", run[0].severity).to_lowercase();
        table.row(cells![run[0].code.clone(), severity, format!("{}{more}", cut(&run[0].message))]);
    }
    table
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
