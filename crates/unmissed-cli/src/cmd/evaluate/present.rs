//! An evaluation as tables: estimators side by side, a row for each metric, k and model.

use crate::app::Outcome;
use unmissed::cells;
use unmissed::evaluate::compat::CompatValues;
use unmissed::evaluate::{EvaluationResult, Finding, Row};
use unmissed::metrics::Estimator;
use unmissed::report::{Cell, Column, Document, Shown, Table};

/// Percentages, as is usual in the field.
const SHOWN: Shown = Shown::Fixed(2);

/// A terminal's width: what tables are arranged for.
const WIDTH: usize = 80;
/// What a value and its interval take, with the space around them.
const PER_ESTIMATOR: usize = 22;
/// Messages longer than this are cut unless everything is asked for.
const MOST: usize = 150;

pub(super) fn document(result: &EvaluationResult, all: bool) -> Outcome<Document> {
    let mut document = result.summary().into_iter().fold(Document::new(), |document, line| document.lead(line, None));
    if result.groups.is_empty() {
        for table in score_tables(result) {
            document = document.table(table);
        }
    } else {
        document = document.table(group_shares(result)).table(group_table(result));
    }
    if let Some(table) = finding_rows(&result.findings, all) {
        document = document.table(table);
    }
    if !result.comparisons.is_empty() {
        document = document.table(comparison_table(result));
    }
    document = result.notes.iter().cloned().fold(document, Document::note);
    // For spreadsheets: one long table with everything that a row knows.
    Ok(document.data(result)?.csv(long_table(result)))
}

/// For what is observed and for each propensity model, tables: metrics down, as many estimators across as fit.
fn score_tables(result: &EvaluationResult) -> Vec<Table> {
    let several = distinct(result.rows.iter().map(|row| row.model.as_str())).len() > 1;
    let propensities = distinct(result.rows.iter().filter_map(|row| row.propensity.as_deref()));
    let titles = if propensities.is_empty() { vec![None] } else { propensities.into_iter().map(Some).collect() };
    let longest = |of: fn(&Row) -> usize| result.rows.iter().map(of).max().unwrap_or(0);
    let name = if several { longest(|row| row.model.chars().count()).clamp(5, 20) + 2 } else { 0 };
    let left = WIDTH.saturating_sub(longest(|row| row.metric.len() + 5) + name);
    let across = (left / PER_ESTIMATOR).max(1);
    let mut tables = Vec::new();
    for (place, propensity) in titles.into_iter().enumerate() {
        let is_here = |row: &&Row| {
            // What is observed is the same in every table.
            row.propensity.as_deref() == propensity || (row.propensity.is_none() && place == 0)
        };
        let rows: Vec<&Row> = result.rows.iter().filter(is_here).collect();
        let estimators = distinct(rows.iter().map(|row| row.estimator));
        for part in estimators.chunks(across) {
            tables.push(score_table(&rows, part, propensity, several));
        }
    }
    tables
}

fn score_table(rows: &[&Row], estimators: &[Estimator], propensity: Option<&str>, several: bool) -> Table {
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| estimators.contains(&row.estimator)).collect();
    let mut columns = vec![Column::new("metric")];
    if several {
        columns.push(Column::new("model"));
    }
    let has_expected = rows.iter().any(|row| row.expected_error.is_some());
    for estimator in estimators {
        columns.push(Column::new(estimator.name()).unit("%"));
        // The name of a column is its key; the table shows it once for both.
        columns.push(Column::new(format!("[{}]", estimator.name())));
    }
    if has_expected {
        columns.push(Column::new("expected error"));
    }
    let gamma = rows.iter().find_map(|row| Some(row.sensitivity?.gamma));
    if let Some(gamma) = gamma {
        columns.push(Column::new(format!("odds off by {gamma}")));
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
        let here: Vec<&&Row> =
            rows.iter().filter(|row| (row.metric.as_str(), row.k, row.model.as_str()) == (metric, k, model)).collect();
        for estimator in estimators {
            cells.extend(value_and_interval(here.iter().find(|row| row.estimator == *estimator).map(|row| **row)));
        }
        if has_expected {
            let error = here.iter().filter_map(|row| row.expected_error).next();
            cells.push(error.map_or(Cell::Missing, |error| Cell::float(100.0 * error, SHOWN)));
        }
        if gamma.is_some() {
            let bounds = here.iter().filter_map(|row| row.sensitivity).next();
            let short = |value: f64| format!("{:.1}", 100.0 * value);
            cells.push(bounds.map_or(Cell::Missing, |of| Cell::from(format!("{} .. {}", short(of.low), short(of.high)))));
        }
        table.row(cells);
    }
    table
}

fn value_and_interval(row: Option<&Row>) -> [Cell; 2] {
    let value = row.and_then(|row| row.value).map_or(Cell::Missing, |value| Cell::float(100.0 * value, SHOWN));
    let interval = row.and_then(|row| Some((row.low?, row.high?)));
    let short = |value: f64| format!("{:.1}", 100.0 * value);
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
    let names = ["metric", "estimate", "model"].into_iter().chain(groups.iter().copied());
    let mut table =
        Table::new("scores", names.map(|name| Column::new(name.to_owned()))).titled("Scores by group of labels, in percent");
    let key = |row: &Row| (row.metric.clone(), row.k, row.estimator, row.propensity.clone(), row.model.clone());
    for wanted in distinct(result.rows.iter().map(key)) {
        let cells = groups.iter().map(|group| {
            let found = result.rows.iter().find(|row| row.group == *group && key(row) == wanted);
            found.and_then(|row| row.value).map_or(Cell::Missing, |value| Cell::float(100.0 * value, SHOWN))
        });
        let (metric, k, estimator, propensity, model) = wanted.clone();
        table.row(cells![format!("{metric}@{k}"), estimate(estimator, propensity.as_deref()), model].into_iter().chain(cells));
    }
    table
}

/// An estimator with its propensities.
fn estimate(estimator: Estimator, propensity: Option<&str>) -> String {
    propensity.map_or(estimator.name().to_owned(), |propensity| format!("{estimator}, {propensity}"))
}

fn comparison_table(result: &EvaluationResult) -> Table {
    let mut columns = ["metric", "estimate", "models", "difference", "significant"].map(Column::new).to_vec();
    let has_bounds = result.comparisons.iter().any(|c| c.sensitivity.is_some());
    if has_bounds {
        columns.extend(["bounds", "flips at"].map(Column::new));
    }
    let title = "Differences between models in points (significant: after Holm's adjustment for all)";
    let mut table = Table::new("comparisons", columns).titled(title);
    for c in result.comparisons.iter().filter(|c| c.group == "all") {
        let points = |value: f64| format!("{:+.1}", 100.0 * value);
        let interval = c.low.zip(c.high).map_or(String::new(), |(low, high)| format!(" [{}, {}]", points(low), points(high)));
        let bounds = c.sensitivity.map(|of| format!("{} .. {}", points(of.low), points(of.high)));
        let flip = c.sensitivity.map(|of| of.flip());
        let mut cells = Vec::from(cells![
            format!("{}@{}", c.metric, c.k),
            estimate(c.estimator, c.propensity.as_deref()),
            format!("{} - {}", c.a, c.b),
            c.difference.map(|difference| format!("{}{interval}", points(difference))),
            if c.significant { "yes" } else { "no" },
        ]);
        if has_bounds {
            cells.extend(cells![bounds, flip]);
        }
        table.row(cells);
    }
    table
}

/// One line per code, the worst first: the first message, and how many more there are. `all`: every message in full, with what to do, also
/// those about a curve that was added for comparison.
pub(in crate::cmd) fn finding_rows(findings: &[Finding], all: bool) -> Option<Table> {
    let mut sorted: Vec<&Finding> = findings.iter().filter(|finding| all || !finding.added).collect();
    sorted.sort_by_key(|finding| (finding.added, std::cmp::Reverse(finding.severity)));
    let names = ["code", "severity", "what was found"].into_iter().chain(all.then_some("what to do"));
    let mut table = Table::new("findings", names.map(Column::new)).titled("Findings");
    for run in sorted.chunk_by(|a, b| a.code == b.code && a.added == b.added) {
        let severity = format!("{}{}", run[0].severity.name(), if run[0].added { ", usual curve" } else { "" });
        if all {
            for finding in run {
                table.row(cells![finding.code.clone(), severity.clone(), finding.message.clone(), finding.advice.clone()]);
            }
        } else {
            let more = if run.len() > 1 { format!(" (and {} more)", run.len() - 1) } else { String::new() };
            table.row(cells![run[0].code.clone(), severity, format!("{}{more}", cut(&run[0].message))]);
        }
    }
    (!sorted.is_empty()).then_some(table)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
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
