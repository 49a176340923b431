//! What to look at, as the last sentence of the summary.

use crate::evaluate::ranking::listed;
use crate::evaluate::{Finding, Severity};

/// The findings to look at first: about what was passed or measured, warnings and worse.
pub(super) fn look_at(findings: &[Finding]) -> Option<String> {
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
