//! The scores as the page shows them: a table for each metric and k, and the groups of labels.

use super::parts::{HtmlCell, HtmlTable};
use crate::audit::AuditResult;
use crate::error::Result;
use crate::evaluate::Row;
use crate::metrics::{self, Assumption, Estimator, Metric};

/// The tables of one metric.
pub(super) struct MetricView {
    pub(super) name: String,
    pub(super) summary: &'static str,
    pub(super) tables: Vec<HtmlTable>,
}

/// One view for each metric, in the order of the evaluation.
pub(super) fn metrics(result: &AuditResult) -> Result<Vec<MetricView>> {
    let rows = &result.evaluation.rows;
    let mut views: Vec<MetricView> = Vec::new();
    for row in rows {
        if views.iter().all(|view| view.name != row.metric) {
            let metric = metrics::of_spec(&row.metric)?;
            let tables = result.ks.iter().map(|k| table(result, &row.metric, *k, metric)).collect();
            views.push(MetricView { name: row.metric.clone(), summary: metric.summary(), tables });
        }
    }
    Ok(views)
}

/// Propensities and model down, value and normalised value across.
fn table(result: &AuditResult, name: &str, k: usize, metric: &dyn Metric) -> HtmlTable {
    let is_here = |row: &&Row| row.metric == name && row.k == k && row.group == "all";
    let here: Vec<&Row> = result.evaluation.rows.iter().filter(is_here).collect();
    let has_normalized = here.iter().any(|row| row.estimator == Estimator::Normalized);
    let id = format!("scores-{}-{k}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
    let mut table = HtmlTable::new(id, format!("{name}@{k}"), "").words(["estimate", "model"]).numbers(["score (%)", "interval"]);
    if has_normalized {
        table = table.numbers(["normalised (%)"]);
    }
    table = table.words(["remarks"]).sortable();
    let cells = |name: &str, row: &Row, normalized: Option<&Row>, remark: &str| {
        let mut cells = score_cells(name, row, metric);
        if has_normalized {
            cells.push(HtmlCell::percent(normalized.and_then(|row| row.value)));
        }
        cells.push(HtmlCell::text(remark));
        cells
    };
    let mut last = None;
    for row in here.iter().filter(|row| row.estimator != Estimator::Normalized) {
        let name = result.short_name(row);
        let group = match (last == Some(name), result.is_audited(&row.model)) {
            (false, _) => "new",
            (true, true) => "",
            (true, false) => "baseline",
        };
        last = Some(name);
        let normalized = here.iter().find(|other| {
            other.estimator == Estimator::Normalized && other.propensity == row.propensity && other.model == row.model
        });
        table.row(group, cells(name, row, normalized.copied(), remark(row, metric)));
    }
    for row in result.truth.iter().flat_map(|truth| &truth.rows).filter(is_here) {
        table.row("truth", cells("complete labels", row, None, ""));
    }
    table
}

fn is_impossible(row: &Row, metric: &dyn Metric) -> bool {
    row.value.is_some_and(|value| value < 0.0 || value > metric.highest(f64::INFINITY))
}

fn score_cells(name: &str, row: &Row, metric: &dyn Metric) -> Vec<HtmlCell> {
    let ends = row.low.zip(row.high).map_or("–".into(), |(low, high)| super::parts::interval(low, high));
    vec![
        HtmlCell::text(name),
        HtmlCell::text(&*row.model),
        HtmlCell::percent(row.value).class(if is_impossible(row, metric) { "impossible" } else { "n" }),
        HtmlCell::text(ends).class("n"),
    ]
}

fn remark(row: &Row, metric: &dyn Metric) -> &'static str {
    let is_lower_bound = || metric.offer(row.estimator).is_some_and(|offer| offer.assumption == Assumption::LowerBound);
    match row.value {
        None => "no meaningful value",
        Some(_) if is_impossible(row, metric) => "impossible",
        Some(_) if row.estimator == Estimator::Observed => metric.observed_bound().remark(),
        Some(_) if is_lower_bound() => "a lower bound",
        Some(_) => "",
    }
}

/// The groups of labels.
pub(super) struct Tail {
    pub(super) shares: HtmlTable,
    pub(super) note: &'static str,
    pub(super) scores: Vec<MetricView>,
}

impl Tail {
    /// `None` without groups.
    pub(super) fn new(result: &AuditResult, metrics: &[MetricView]) -> Option<Tail> {
        let groups = &result.evaluation.groups;
        if groups.is_empty() {
            return None;
        }
        let about = result.grouping.as_deref().unwrap_or_default();
        let mut shares = HtmlTable::new("groups", "Groups of labels", about).words(["group"]).numbers([
            "labels",
            "of labels (%)",
            "of test positives (%)",
        ]);
        for group in groups {
            let share = |value: f64| HtmlCell::number(Some(value), |value| format!("{:.1}", 100.0 * value));
            shares.row(
                "",
                [
                    HtmlCell::text(&*group.name),
                    HtmlCell::whole(Some(group.labels)),
                    share(group.share_of_labels),
                    share(group.share_of_positives),
                ],
            );
        }
        let k = result.ks.last().copied()?;
        let scores = metrics
            .iter()
            .map(|metric| MetricView {
                name: metric.name.clone(),
                summary: metric.summary,
                tables: vec![group_table(result, &metric.name, k)],
            })
            .collect();
        let note = "Precision and ndcg of the groups add up to those of all labels; recall, macro-F and coverage are over the \
                    group's labels, and coverage is a lower bound; abandonment is the share of rows without a hit among \
                    the group's labels.";
        Some(Tail { shares, note, scores })
    }
}

/// Propensities and model down, groups across.
fn group_table(result: &AuditResult, metric: &str, k: usize) -> HtmlTable {
    let names: Vec<&str> = result.evaluation.groups.iter().map(|group| group.name.as_str()).collect();
    let id = format!("groups-{}", metric.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
    let caption = format!("In percent, with {:.0} % intervals below.", 100.0 * result.level);
    let mut table = HtmlTable::new(id, format!("{metric}@{k} by group"), caption)
        .words(["estimate", "model"])
        .numbers(names.iter().copied())
        .sortable();
    let truth = result.truth.iter().map(|truth| (&truth.rows, true));
    for (rows, is_truth) in std::iter::once((&result.evaluation.rows, false)).chain(truth) {
        let here: Vec<&Row> =
            rows.iter().filter(|row| row.metric == metric && row.k == k && row.estimator != Estimator::Normalized).collect();
        let mut last = None;
        for row in here.iter().filter(|row| row.group == "all") {
            let name = if is_truth { "complete labels" } else { result.short_name(row) };
            let of = |group: &&str| {
                let same = |other: &&&Row| other.group == **group && other.propensity == row.propensity && other.model == row.model;
                let found = here.iter().filter(|other| other.estimator == row.estimator).find(same);
                found.map_or_else(|| HtmlCell::percent(None), |row| HtmlCell::percent_within(row.value, row.low, row.high))
            };
            let class = match (is_truth, last == Some(name)) {
                (true, _) => "truth",
                (false, false) => "new",
                _ => "",
            };
            last = Some(name);
            table.row(class, [HtmlCell::text(name), HtmlCell::text(&*row.model)].into_iter().chain(names.iter().map(of)));
        }
    }
    table
}
