//! What to look at, as the last sentence of the summary.

use super::rows_to_check::{RowToCheck, RowsToCheck};
use crate::evaluate::ranking::listed;
use crate::evaluate::{Finding, Severity};

/// Rows that the sentence names.
const NAMED: usize = 3;

/// The findings and the rows to look at first; `None` if there are none.
pub(super) fn look_at(findings: &[Finding], rows: &RowsToCheck) -> Option<String> {
    let sentences: Vec<String> = worst_findings(findings).into_iter().chain(missing_labels(rows)).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Findings about what was passed or measured, warnings and worse.
fn worst_findings(findings: &[Finding]) -> Option<String> {
    let mut worst: Vec<&Finding> = findings.iter().filter(|finding| !finding.added && finding.severity > Severity::Info).collect();
    worst.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.code.cmp(&b.code)));
    worst.dedup_by(|a, b| a.code == b.code);
    let codes: Vec<&str> = worst.iter().map(|finding| finding.code.as_str()).collect();
    match codes.len() {
        0 => None,
        1 => Some(format!("Finding {} is worth a look.", codes[0])),
        _ => Some(format!("Findings {} are worth a look.", listed(&codes))),
    }
}

/// Rows whose predictions may be missing labels.
fn missing_labels(rows: &RowsToCheck) -> Option<String> {
    let mut named: Vec<String> = Vec::new();
    let name = |row: &RowToCheck| row.row_name.clone().unwrap_or_else(|| row.row.to_string());
    for name in rows.possibly_missing.iter().map(name) {
        if !named.contains(&name) && named.len() < NAMED {
            named.push(name);
        }
    }
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    match named.len() {
        0 => None,
        1 => Some(format!("Check row {} first: its predictions may be missing labels.", named[0])),
        _ => Some(format!("Check rows {} first: their predictions may be missing labels.", listed(&named))),
    }
}
