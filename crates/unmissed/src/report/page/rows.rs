//! Rows worth a look: two tables, labels that may be missing and real errors.

use super::labels::NAME;
use super::parts::{HtmlCell, HtmlTable};
use crate::audit::{AuditResult, ChanceFrom, RowToCheck};
use crate::data::brief;
use crate::report::row_csv::observed;

/// Rows of each kind for each model on the page.
const SHOWN: usize = 25;
/// Characters of a text on the page.
const TEXT: usize = 300;

/// The tables, each with what it is about.
pub(super) struct RowsView {
    pub(super) tables: Vec<(String, HtmlTable)>,
}

impl RowsView {
    pub(super) fn new(result: &AuditResult) -> Option<RowsView> {
        let rows = &result.rows_to_check;
        let mut all = rows.possibly_missing.iter().chain(&rows.errors);
        let from = all.find_map(|row| row.missing_from);
        let can_tell = from.is_some();
        let missing = match from {
            Some(ChanceFrom::Judged) => {
                "Predictions that count as errors and may be missing labels, with probabilities from judged pairs. Pairs that were \
                 judged relevant are left out."
            }
            Some(ChanceFrom::MissedLabels) => {
                "Predictions that count as errors and may be missing labels, with probabilities from the later labels of training \
                 rows. Ask somebody who knows the data: each confirmed label is a hit."
            }
            _ => {
                "Predictions that count as errors and may be missing labels, with probabilities from the relevance of predictions \
                 with similar scores and from the label's propensity. These probabilities are too high if a model ranks easily \
                 observed labels first: use them only for ordering. Ask somebody who knows the data: each confirmed label is a \
                 hit."
            }
        };
        let errors = if can_tell {
            "Confident predictions that are unlikely to be missing labels: probably real errors of the model."
        } else {
            "Confident predictions that are not observed. Without evidence or propensities, missing labels cannot be told from errors."
        };
        let tables = [
            ("missing-table", "Labels that may be missing", missing, &rows.possibly_missing),
            (
                "errors-table",
                if can_tell { "Probably real errors" } else { "Confident predictions that count as errors" },
                errors,
                &rows.errors,
            ),
        ];
        let tables: Vec<_> = tables
            .into_iter()
            .filter(|(.., rows)| !rows.is_empty())
            .map(|(id, title, about, rows)| (about.to_owned(), table(id, title, rows)))
            .collect();
        (!tables.is_empty()).then_some(RowsView { tables })
    }
}

fn table(id: &str, title: &str, rows: &[RowToCheck]) -> HtmlTable {
    let several = rows.iter().any(|row| row.model != rows[0].model);
    let has_text = rows.iter().any(|row| row.text.is_some());
    let has_propensity = rows[0].propensity.is_some();
    let has_chance = rows.iter().any(|row| row.missing.is_some());
    let mut table = HtmlTable::new(id, title, "").words(["row", "predicted label"]);
    if several {
        table = table.words(["model"]);
    }
    table = table.numbers(["rank", "score", "relevant at such scores"]);
    if has_propensity {
        table = table.numbers(["propensity"]);
    }
    if has_chance {
        table = table.numbers(["missing"]);
    }
    table = table.words(["observed labels"]);
    if has_text {
        table = table.words(["text"]);
    }
    let mut table = table.sortable();
    for run in rows.chunk_by(|a, b| a.model == b.model) {
        for row in run.iter().take(SHOWN) {
            table.row("", cells(row, several, has_chance, has_text));
        }
    }
    table
}

fn named(id: impl ToString, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{} {}", id.to_string(), brief(name, NAME)),
        None => id.to_string(),
    }
}

fn cells(row: &RowToCheck, several: bool, has_chance: bool, has_text: bool) -> Vec<HtmlCell> {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let mut cells = vec![
        HtmlCell { sort: Some(row.row.to_string()), ..HtmlCell::text(named(row.row, row.row_name.as_deref())) },
        HtmlCell::text(named(row.label, row.label_name.as_deref())).class("name"),
    ];
    if several {
        cells.push(HtmlCell::text(&*row.model));
    }
    cells.push(HtmlCell::whole(Some(row.rank as u64)));
    cells.push(HtmlCell::number(Some(f64::from(row.score)), |score| crate::report::Shown::Significant(4).text(score)));
    cells.push(HtmlCell::number(Some(row.relevant), percent));
    if row.propensity.is_some() {
        cells.push(HtmlCell::number(row.propensity, |p| format!("{p:.3}")));
    }
    if has_chance {
        cells.push(HtmlCell::number(row.missing, percent));
    }
    cells.push(HtmlCell::text(brief(&observed(row), TEXT)).class("name"));
    if has_text {
        cells.push(HtmlCell::text(brief(row.text.as_deref().unwrap_or(""), TEXT)).class("name"));
    }
    cells
}
