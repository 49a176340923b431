//! Rows worth a look as csv: a line for each, for those who check them.

use super::label_csv::number;
use crate::audit::{AuditResult, ChanceFrom, RowToCheck};
use crate::data::{CsvWriter, Output, spreadsheet_safe};
use crate::error::{Error, Result};
use std::path::Path;

const HEADER: [&str; 15] = [
    "kind",
    "model",
    "row",
    "row_name",
    "label",
    "label_name",
    "rank",
    "score",
    "relevant_at_such_scores",
    "propensity",
    "probability_missing",
    "probability_from",
    "observed_labels",
    "observed_count",
    "text",
];

/// Writes the file, which appears whole or not at all.
pub fn write(result: &AuditResult, path: &Path) -> Result<()> {
    let rows = &result.rows_to_check;
    let kinds = [("possibly missing", &rows.possibly_missing), ("error", &rows.errors)];
    let mut output = Output::create(path)?;
    let mut writer = CsvWriter::new(&mut output);
    let mut write = || -> std::io::Result<()> {
        writer.record(HEADER)?;
        for (kind, row) in kinds.iter().flat_map(|(kind, rows)| rows.iter().map(move |row| (kind, row))) {
            writer.record(record(kind, row))?;
        }
        Ok(())
    };
    write().map_err(|cause| Error::io("cannot write", path, cause))?;
    output.finish()
}

fn record(kind: &str, row: &RowToCheck) -> [String; 15] {
    let safe = |text: Option<&str>| spreadsheet_safe(text.unwrap_or("")).into_owned();
    [
        kind.to_owned(),
        safe(Some(&row.model)),
        row.row.to_string(),
        safe(row.row_name.as_deref()),
        row.label.to_string(),
        safe(row.label_name.as_deref()),
        row.rank.to_string(),
        row.score.to_string(),
        number(Some(row.relevant)),
        number(row.propensity),
        number(row.missing),
        row.missing_from.map_or("", from_words).to_owned(),
        safe(Some(&observed(row))),
        row.observed_count.to_string(),
        safe(row.text.as_deref()),
    ]
}

/// From what the probability of a missing label is known.
fn from_words(from: ChanceFrom) -> &'static str {
    match from {
        ChanceFrom::Judged => "judged pairs",
        ChanceFrom::MissedLabels => "missed labels",
        ChanceFrom::Propensities => "propensities",
    }
}

/// The observed labels in a line, as far as they are listed.
pub(super) fn observed(row: &RowToCheck) -> String {
    let label = |(label, name): &(u32, Option<String>)| match name {
        Some(name) => format!("{label} {name}"),
        None => label.to_string(),
    };
    let more = if row.observed_count > row.observed.len() {
        format!("; and {} more", row.observed_count - row.observed.len())
    } else {
        String::new()
    };
    format!("{}{more}", row.observed.iter().map(label).collect::<Vec<_>>().join("; "))
}
