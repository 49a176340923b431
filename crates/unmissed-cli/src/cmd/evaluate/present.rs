//! An evaluation as tables: estimators side by side, a row for each metric, k and model.

use crate::app::Outcome;
use unmissed::cells;
use unmissed::evaluate::compat::CompatValues;
use unmissed::evaluate::{EvaluationResult, Row};
use unmissed::report::{Cell, Column, Document, Shown, Table};

/// Percentages, since that is how the field reports.
const SHOWN: Shown = Shown::Percent(2);

pub(super) fn document(result: &EvaluationResult) -> Outcome<Document> {
    let mut document = Document::new();
    if result.groups.is_empty() {
        for table in score_tables(result) {
            document = document.table(table);
        }
    } else {
        document = document.table(group_shares(result)).table(group_table(result));
    }
    if !result.comparisons.is_empty() {
        document = document.table(comparison_table(result));
    }
    if !result.findings.is_empty() {
        document = document.table(finding_table(result));
    }
    document = result.notes.iter().cloned().fold(document, Document::note);
    // For spreadsheets: one long table with everything that a row knows.
    Ok(document.data(result)?.csv(long_table(result)))
}

/// For what is observed and for each propensity model, a table: metrics down, estimators across.
fn score_tables(result: &EvaluationResult) -> Vec<Table> {
    let several = distinct(result.rows.iter().map(|row| row.model.as_str())).len() > 1;
    let propensities = distinct(result.rows.iter().filter_map(|row| row.propensity.as_deref()));
    let titles = if propensities.is_empty() { vec![None] } else { propensities.into_iter().map(Some).collect() };
    titles.into_iter().map(|propensity| score_table(result, propensity, several)).collect()
}

fn score_table(result: &EvaluationResult, propensity: Option<&str>, several: bool) -> Table {
    let rows: Vec<&Row> =
        result.rows.iter().filter(|row| row.propensity.is_none() || row.propensity.as_deref() == propensity).collect();
    let estimators = distinct(rows.iter().map(|row| row.estimator));
    let mut columns = vec![Column::new("metric")];
    if several {
        columns.push(Column::new("model"));
    }
    let has_expected = rows.iter().any(|row| row.expected_error.is_some());
    for estimator in &estimators {
        columns.push(Column::new(estimator.name()));
        // The name of a column is its key; the table shows it once for both.
        columns.push(Column::new(format!("[{}]", estimator.name())));
    }
    if has_expected {
        columns.push(Column::new("expected error"));
    }
    let gamma = rows.iter().find_map(|row| Some(row.sensitivity?.gamma));
    if let Some(gamma) = gamma {
        columns.push(Column::new(format!("unbiased, odds off by {gamma}")));
    }
    let mut table = Table::new(propensity.unwrap_or("scores"), columns);
    if let Some(propensity) = propensity {
        table = table.titled(format!("Propensities: {propensity}"));
    }
    for (metric, k, model) in distinct(rows.iter().map(|row| (row.metric.as_str(), row.k, row.model.as_str()))) {
        let mut cells = vec![Cell::from(format!("{metric}@{k}"))];
        if several {
            cells.push(Cell::from(model.to_owned()));
        }
        for estimator in &estimators {
            let found = rows
                .iter()
                .find(|row| (row.metric.as_str(), row.k, row.model.as_str(), row.estimator) == (metric, k, model, *estimator));
            cells.extend(value_and_interval(found.copied()));
        }
        if has_expected {
            let here = rows.iter().filter(|row| (row.metric.as_str(), row.k, row.model.as_str()) == (metric, k, model));
            let error = here.filter_map(|row| row.expected_error).next();
            cells.push(error.map_or(Cell::Missing, |error| Cell::float(error, SHOWN)));
        }
        if gamma.is_some() {
            let here = rows.iter().filter(|row| (row.metric.as_str(), row.k, row.model.as_str()) == (metric, k, model));
            let bounds = here.filter_map(|row| row.sensitivity).next();
            let short = |value: f64| format!("{:.2}", 100.0 * value);
            cells.push(bounds.map_or(Cell::Missing, |of| Cell::from(format!("{} .. {}", short(of.low), short(of.high)))));
        }
        table.row(cells);
    }
    table
}

fn value_and_interval(row: Option<&Row>) -> [Cell; 2] {
    let value = row.and_then(|row| row.value).map_or(Cell::Missing, |value| Cell::float(value, SHOWN));
    let interval = row.and_then(|row| Some((row.low?, row.high?)));
    let short = |value: f64| format!("{:.2}", 100.0 * value);
    [value, interval.map_or(Cell::Missing, |(low, high)| Cell::from(format!("[{}, {}]", short(low), short(high))))]
}

fn group_shares(result: &EvaluationResult) -> Table {
    let columns = [
        Column::new("group"),
        Column::new("labels"),
        Column::new("of labels").percent(1),
        Column::new("of test positives").percent(1),
    ];
    let mut table = Table::new("groups", columns).titled("Groups of labels");
    for group in &result.groups {
        table.row(cells![group.name.clone(), group.labels, group.share_of_labels, group.share_of_positives]);
    }
    table
}

/// Groups across; a row for each metric, k, estimator, propensity and model.
fn group_table(result: &EvaluationResult) -> Table {
    let groups = distinct(result.rows.iter().map(|row| row.group.as_str()));
    let names = ["metric", "estimator", "propensity", "model"].into_iter().chain(groups.iter().copied());
    let mut table = Table::new("scores", names.map(|name| Column::new(name.to_owned()))).titled("Scores by group of labels");
    let key = |row: &Row| (row.metric.clone(), row.k, row.estimator, row.propensity.clone(), row.model.clone());
    for wanted in distinct(result.rows.iter().map(key)) {
        let cells = groups.iter().map(|group| {
            let found = result.rows.iter().find(|row| row.group == *group && key(row) == wanted);
            found.and_then(|row| row.value).map_or(Cell::Missing, |value| Cell::float(value, SHOWN))
        });
        let (metric, k, estimator, propensity, model) = wanted.clone();
        table.row(cells![format!("{metric}@{k}"), estimator.name(), propensity, model].into_iter().chain(cells));
    }
    table
}

fn comparison_table(result: &EvaluationResult) -> Table {
    let mut columns = ["metric", "estimator", "propensity", "models", "difference", "interval", "stands"].map(Column::new).to_vec();
    let has_bounds = result.comparisons.iter().any(|c| c.sensitivity.is_some());
    if has_bounds {
        columns.extend(["bounds", "flips at"].map(Column::new));
    }
    let mut table = Table::new("comparisons", columns).titled("Differences of models (stands: after Holm's adjustment for all)");
    for c in result.comparisons.iter().filter(|c| c.group == "all") {
        let points = |value: f64| format!("{:+.2}", 100.0 * value);
        let interval = c.low.zip(c.high).map(|(low, high)| format!("{} .. {}", points(low), points(high)));
        let bounds = c.sensitivity.map(|of| format!("{} .. {}", points(of.low), points(of.high)));
        let flip = c.sensitivity.map(|of| of.flip());
        let mut cells = Vec::from(cells![
            format!("{}@{}", c.metric, c.k),
            c.estimator.name(),
            c.propensity.clone(),
            format!("{} - {}", c.a, c.b),
            c.difference.map(points),
            interval,
            if c.significant { "yes" } else { "no" },
        ]);
        if has_bounds {
            cells.extend(cells![bounds, flip]);
        }
        table.row(cells);
    }
    table
}

fn finding_table(result: &EvaluationResult) -> Table {
    let mut table =
        Table::new("findings", ["code", "severity", "what was found", "what to do"].map(Column::new)).titled("Findings");
    for finding in &result.findings {
        let severity = format!("{:?}", finding.severity).to_lowercase();
        table.row(cells![finding.code.clone(), severity, finding.message.clone(), finding.advice.clone()]);
    }
    table
}

/// Every number with all that is known about it.
pub(in crate::cmd) fn long_table(result: &EvaluationResult) -> Table {
    let names = [
        "metric",
        "k",
        "estimator",
        "propensity",
        "group",
        "model",
        "value",
        "se",
        "low",
        "high",
        "n",
        "assumption",
        "expected_error",
    ];
    let mut table = Table::new("rows", names);
    for row in &result.rows {
        table.row(cells![
            row.metric.clone(),
            row.k,
            row.estimator.name(),
            row.propensity.clone(),
            row.group.clone(),
            row.model.clone(),
            row.value,
            row.se,
            row.low,
            row.high,
            row.n,
            row.assumption.clone(),
            row.expected_error,
        ]);
    }
    table
}

pub(super) fn compat(all: &[(&str, Vec<CompatValues>)]) -> Outcome<Document> {
    let longest = all.iter().flat_map(|(_, values)| values).map(|values| values.values.len()).max().unwrap_or(0);
    let columns =
        ["model", "function"].map(Column::new).into_iter().chain((1..=longest).map(|k| Column::new(format!("@{k}")).fixed(6)));
    let mut table = Table::new("compat", columns);
    for (model, values) in all {
        for function in values {
            let cells = function.values.iter().map(|value| Cell::from(*value));
            table.row(cells![(*model).to_owned(), function.name].into_iter().chain(cells));
        }
    }
    let json: Vec<_> = all.iter().map(|(model, values)| serde_json::json!({"model": model, "values": values})).collect();
    Ok(Document::new().table(table).data(json)?)
}

/// The values that occur, in the order of their first occurrence.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut found, value| {
        if !found.contains(&value) {
            found.push(value);
        }
        found
    })
}
