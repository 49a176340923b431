//! Findings about the numbers, and notes on how to read them.

use super::totals::Of;
use super::{Finish, Source, limits};
use crate::error::Result;
use crate::evaluate::findings::{Check, Finding, U001, U003, U006, U007, U009};
use crate::evaluate::plan::settings::Kind;
use crate::evaluate::report::{Comparison, Row};
use crate::evaluate::tally::exact_layout::slot;
use crate::metrics::{Estimator, METRICS, Shape};
use crate::numbers::significant;
use crate::request::IntervalKind;
use std::collections::{BTreeMap, BTreeSet};

/// Fewer effective rows than this are few.
const FEW: f64 = 100.0;

/// Findings of the settings and of the numbers, by code.
pub(super) fn findings(finish: &Finish<'_>, rows: &[Row], comparisons: &[Comparison]) -> Result<Vec<Finding>> {
    let mut findings = finish.settings.findings.clone();
    findings.extend(out_of_range(finish, rows)?);
    findings.extend(few_rows(finish));
    findings.extend(orders(comparisons));
    findings.extend(without_information(finish));
    findings.extend(void(finish));
    findings.extend(limits::explosive_coverage(finish));
    findings.extend(super::out_of_fold::findings(finish));
    findings.sort_by(|a, b| a.code.cmp(&b.code));
    Ok(findings)
}

/// One finding for each (propensity, model), with the worst case of the first metric as the example.
fn out_of_range(finish: &Finish<'_>, rows: &[Row]) -> Result<Vec<Finding>> {
    let mut cases: BTreeMap<(&str, &str), Vec<Case>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.estimator == Estimator::Unbiased) {
        let (Some(value), Some(low), Some(high)) = (row.value, row.low, row.high) else { continue };
        let metric = crate::metrics::of_spec(&row.metric)?;
        let highest = metric.highest(finish.settings.largest_weight);
        let excess = (low - highest).max(-high);
        if excess > 0.0 {
            let [value, low, high] = [value, low, high].map(|number| significant(number, 4));
            let text = format!(
                "{}@{} of {} is {value} [{low}, {high}], outside 0 to {}{}",
                row.metric,
                row.k,
                row.model,
                significant(highest, 4),
                if row.group == "all" { String::new() } else { format!(" in group {}", row.group) }
            );
            let propensity = row.propensity.as_deref().unwrap_or("");
            let of_model = cases.entry((propensity, &row.model)).or_default();
            of_model.push(Case { metric: place(metric.name()), is_part: row.group != "all", excess, text });
        }
    }
    let finding = |((propensity, model), cases): ((&str, &str), Vec<Case>)| {
        let finding = example(&U001, &format!("with {propensity}, unbiased "), cases)?;
        Some(finding.of_propensity(propensity).of_model(model))
    };
    Ok(cases.into_iter().filter_map(finding).collect())
}

/// A number that is not to be believed.
struct Case {
    /// The place of its metric in the order of reports: what matters most comes first.
    metric: usize,
    /// Whether it is about some of the labels only.
    is_part: bool,
    /// How bad it is.
    excess: f64,
    text: String,
}

fn place(metric: &str) -> usize {
    METRICS.iter().position(|known| known.name() == metric).unwrap_or(METRICS.len())
}

/// The worst case of the first metric in full, the others as a number.
fn example(check: &Check, start: &str, cases: Vec<Case>) -> Option<Finding> {
    let others = cases.len().saturating_sub(1);
    let order = |a: &Case, b: &Case| (a.metric, a.is_part).cmp(&(b.metric, b.is_part)).then(b.excess.total_cmp(&a.excess));
    let text = cases.into_iter().min_by(order)?.text;
    let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
    Some(Finding::new(check, format!("{start}{text}{more}")))
}

fn few_rows(finish: &Finish<'_>) -> Vec<Finding> {
    /// The propensities that a finding is about, and its cases.
    #[derive(Default)]
    struct Cases {
        origin: String,
        cases: Vec<Case>,
    }
    let mut of_models: BTreeMap<(Source, usize), Cases> = BTreeMap::new();
    for key in finish.keys() {
        let is_sum = finish.term(key).is_some_and(|(_, term)| matches!(term.kind, Kind::Sum { .. }));
        if key.estimator != Estimator::Unbiased || key.group != 0 || !is_sum {
            continue;
        }
        for (model, name) in finish.settings.models.iter().enumerate().filter(|(model, _)| finish.applies(key, *model)) {
            let (x, xx) = match key.source {
                Source::RowDependent(of) => {
                    (finish.by_row(key, of, model, slot::FITS), finish.by_row(key, of, model, slot::ROW_XX))
                }
                _ => (finish.total(key, model, Of::X), finish.total(key, model, Of::XX)),
            };
            let (x, xx) = (x.value(), xx.value());
            let effective = if xx > 0.0 { x * x / xx } else { continue };
            if effective < FEW && finish.n() >= FEW {
                let metric = finish.settings.metrics[key.metric].name();
                let text = format!(
                    "{metric}@{} of {name} rests on {effective:.1} effective rows of {}",
                    finish.settings.ks()[key.ki],
                    finish.settings.rows
                );
                let of_model = of_models.entry((key.source, model)).or_default();
                of_model.origin = finish.origin(key).unwrap_or_default();
                of_model.cases.push(Case { metric: place(&metric), is_part: false, excess: -effective, text });
            }
        }
    }
    let finding = |((_, model), Cases { origin, cases }): ((Source, usize), Cases)| {
        let finding = example(&U003, &format!("with {origin}, unbiased "), cases)?;
        Some(finding.of_propensity(origin).of_model(&*finish.settings.models[model]))
    };
    of_models.into_iter().filter_map(finding).collect()
}

/// Signs of a difference by propensity model: one finding for each pair of models.
pub(crate) fn orders<'c>(comparisons: impl IntoIterator<Item = &'c Comparison>) -> Vec<Finding> {
    /// Two models, a metric and k, and the propensity models that put the first model above or below.
    struct Cell<'a> {
        cell: (&'a str, &'a str, &'a str, usize),
        leaders: [BTreeSet<&'a str>; 2],
    }
    let mut cells: Vec<Cell<'_>> = Vec::new();
    for c in comparisons.into_iter().filter(|c| c.group == "all" && c.estimator == Estimator::Unbiased) {
        let (Some(difference), Some(propensity)) = (c.difference, c.propensity.as_deref()) else { continue };
        let cell = (c.a.as_str(), c.b.as_str(), c.metric.as_str(), c.k);
        let place = cells.iter().position(|case| case.cell == cell).unwrap_or_else(|| {
            cells.push(Cell { cell, leaders: Default::default() });
            cells.len() - 1
        });
        if difference != 0.0 {
            cells[place].leaders[usize::from(difference < 0.0)].insert(propensity);
        }
    }
    let mut findings: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for Cell { cell: (a, b, metric, k), leaders } in &cells {
        let names = leaders.each_ref().map(|set| set.iter().copied().collect::<Vec<_>>().join(", "));
        if leaders.iter().all(|set| !set.is_empty()) {
            let text = format!("{metric}@{k}: {a} is ahead of {b} under {} and behind under {}", names[0], names[1]);
            findings.entry((a, b)).or_default().push(text);
        }
    }
    findings
        .into_values()
        .map(|texts| {
            let more = if texts.len() > 1 { format!(" (and {} more)", texts.len() - 1) } else { String::new() };
            Finding::new(&U006, format!("{}{more}", texts[0]))
        })
        .collect()
}

fn without_information(finish: &Finish<'_>) -> Option<Finding> {
    let (rows, unlabelled) = (finish.settings.rows, finish.tally.totals.rows.unlabelled);
    let mut parts = Vec::new();
    if unlabelled > 0 {
        let left_out = if finish.n() < rows as f64 { " and are left out" } else { "" };
        parts.push(format!("{unlabelled} of {rows} rows have no label{left_out}"));
    }
    for (model, name) in finish.settings.models.iter().enumerate() {
        let silent = finish.tally.totals.rows.silent[model];
        if silent > 0 {
            parts.push(format!("{silent} rows have no prediction of {name}"));
        }
    }
    let (labels, present) = (finish.settings.labels, finish.tally.positives.ids.len() as u64);
    if labels > present {
        parts.push(format!("{} of {labels} labels have no positive in these rows", labels - present));
    }
    (!parts.is_empty()).then(|| Finding::new(&U007, parts.join("; ")))
}

fn void(finish: &Finish<'_>) -> Vec<Finding> {
    let mut cases: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for key in finish.keys().into_iter().filter(|key| key.estimator == Estimator::Unbiased) {
        for model in 0..finish.settings.models.len() {
            let void = finish.void(key, model);
            if void > 0.0 {
                let most = cases.entry((key.metric, key.column())).or_default();
                *most = most.max(void);
            }
        }
    }
    cases
        .into_iter()
        .map(|((metric, column), void)| {
            let propensity = finish.settings.columns[column].origin.as_deref().unwrap_or("");
            let metric = finish.settings.metrics[metric].name();
            let text =
                format!("with {propensity}, unbiased {metric} cancels beyond 1e8 in {void} of {} rows", finish.settings.rows);
            Finding::new(&U009, text).of_propensity(propensity)
        })
        .collect()
}

/// How to read the numbers.
pub(super) fn notes(finish: &Finish<'_>) -> Vec<String> {
    let settings = finish.settings;
    let mut notes = settings.notes.clone();
    let level = settings.level() * 100.0;
    match settings.request.interval {
        IntervalKind::Population => {
            notes.push(format!("{level} % intervals: rows are a sample (population)"));
            notes.extend(limits::label_notes(finish));
        }
        IntervalKind::Mask => {
            notes.push(format!(
                "{level} % intervals: these rows, with only the missing labels random (mask); those of normalized values, of \
                 macro-f and coverage and of observed recall and ndcg-min are rather too wide (an upper bound of the variance)"
            ));
            match settings.propensity_columns().len() {
                0 => notes.push("observed values have no mask interval: their variance depends on propensities".into()),
                1 => {}
                _ => notes.push(
                    "mask intervals of observed values use the smallest propensity of each label, which gives the widest interval"
                        .into(),
                ),
            }
        }
    }
    let is_plain = |place: &usize| match settings.metrics[*place].metric().map(|metric| metric.shape()) {
        Ok(Shape::Label(term)) => finish.is_plain(term),
        _ => true,
    };
    for place in finish.label_places.iter().filter(|place| !is_plain(place)) {
        let name = settings.metrics[*place].name();
        notes.push(format!("{name} has no interval under these conventions, because which labels are absent is random too"));
    }
    for column in settings.columns.iter().filter(|column| column.clip.is_none()) {
        let Some(origin) = &column.origin else { continue };
        notes.push(if column.uncertain {
            let but = if settings.relevant.is_some() { " except those of recall-known" } else { "" };
            format!("{origin}: all intervals include the uncertainty of the propensities{but}")
        } else {
            format!("{origin}: propensities are taken as known")
        });
    }
    notes.extend(limits::noise_notes(finish));
    notes
}
