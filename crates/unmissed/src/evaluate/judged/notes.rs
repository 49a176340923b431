//! What to know about estimates from judged pairs.

use super::Judged;
use super::completed::Completed;
use super::machine;
use super::pool::{Pool, labels_mark, lists_mark};
use super::report::Cells;
use crate::data::Csr;
use crate::evaluate::findings::{Finding, U024, U025, U026};
use crate::evaluate::plan::matched_findings::not_alone;
use crate::metrics::{self, Shape};
use crate::propensity::quantiles::clopper_pearson;
use crate::propensity::together::judged_missing_together;

pub(super) fn findings(cells: &Cells<'_>, judged: &Judged) -> Vec<Finding> {
    let mut findings = uncovered(cells);
    findings.extend(changed(cells, judged));
    findings.extend(wrong_observed(cells));
    findings.extend(together(cells, judged));
    findings
}

/// Labels that go missing together, where something is estimated that takes them to be independent.
fn together(cells: &Cells<'_>, judged: &Judged) -> Option<Finding> {
    let matters = cells.evaluation.assumes_independence(&cells.settings.metrics).unwrap_or(false);
    let pairs = judged.known_pairs().ok().filter(|_| matters)?;
    not_alone(judged_missing_together(&pairs)?, "with judged pairs")
}

/// Pairs of a model's lists that could not be drawn: one finding for each model, about its first list that has some.
fn uncovered(cells: &Cells<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (model, name) in cells.settings.models.iter().enumerate().filter(|(model, _)| cells.is_judged(*model)) {
        let cases = cells.settings.ks().iter().map(|k| (k, cells.uncovered(*k, model)));
        if let Some((k, (missing, all))) = cases.into_iter().find(|(_, (missing, _))| *missing > 0) {
            let share = 100.0 * missing as f64 / all as f64;
            findings.push(Finding::new(
                &U024,
                format!(
                    "top {k} of {name}: {missing} of {all} unobserved pairs ({share:.1} %) had no chance of being drawn; they \
                     count one half, and intervals are valid whatever their true status"
                ),
            ));
        }
    }
    findings
}

/// Files that are not those of the plan.
fn changed(cells: &Cells<'_>, judged: &Judged) -> Option<Finding> {
    let plan = judged.plan.as_ref()?;
    let evaluation = cells.evaluation;
    let mut changed = Vec::new();
    if labels_mark(evaluation.truth) != plan.test {
        changed.push("the test labels".to_owned());
    }
    let depth = plan.request.k.largest();
    let scores: Vec<&Csr<'_, f32>> = evaluation.models.iter().map(|(_, scores)| *scores).collect();
    let own;
    let pool = if depth == cells.settings.kmax() {
        &cells.pool
    } else {
        own = Pool::new(evaluation.truth, &scores, depth);
        &own
    };
    for (name, mark) in &plan.models {
        let model = evaluation.models.iter().position(|(other, _)| other == name);
        if model.is_some_and(|model| lists_mark(pool, model) != *mark) {
            changed.push(format!("the predictions of {name}"));
        }
    }
    let what = changed.join(", ");
    (!changed.is_empty()).then(|| Finding::new(&U025, format!("changed since the pairs were drawn: {what}")))
}

/// Observed labels that judges call irrelevant.
fn wrong_observed(cells: &Cells<'_>) -> Option<Finding> {
    let checks = &cells.sample.checks;
    let wrong = checks.iter().filter(|(relevant, _)| *relevant == 0.0).count();
    let of = clopper_pearson(wrong as u64, checks.len() as u64, cells.settings.level());
    (wrong > 0).then(|| {
        let (share, low, high) = (100.0 * wrong as f64 / checks.len() as f64, 100.0 * of.low, 100.0 * of.high);
        let text =
            format!("{wrong} of {} judged observed pairs ({share:.1} %, {low:.1} to {high:.1}) are not relevant", checks.len());
        Finding::new(&U026, text)
    })
}

pub(super) fn notes(cells: &Cells<'_>, judged: &Judged, completed: &Completed) -> Vec<String> {
    let sample = &cells.sample;
    let (_, unsure) = judged.judgements.counts();
    let mut text = format!("judged: {} pairs", sample.judged);
    if let Some(size) = cells.pool_size() {
        text.push_str(&format!(" of {size} unobserved ones in the pooled lists"));
    }
    text.push_str(if completed.is_calibrated {
        ", calibrated by guesses for all pairs"
    } else {
        ", weighted by inverse probabilities"
    });
    if unsure > 0 {
        text.push_str(&format!("; {unsure} are unsure: they count one half, and intervals are valid whatever their true status"));
    }
    let mut notes = vec![text];
    if judged.plan.is_none() {
        notes.push(
            "judged: without the plan that 'annotate plan' wrote beside the csv, guesses cannot be used, and whether the lists of these \
             models were pooled cannot be checked"
                .into(),
        );
    }
    if sample.open > 0 {
        let open = sample.open;
        notes.push(format!(
            "judged: {open} drawn pairs are not judged yet; the judged ones, which come first in a random order, count more"
        ));
    }
    notes.extend(machine_notes(cells, judged, completed));
    notes
}

fn machine_notes(cells: &Cells<'_>, judged: &Judged, completed: &Completed) -> Vec<String> {
    let Some(machine) = &judged.machine else { return Vec::new() };
    if !completed.is_calibrated {
        return vec!["machine judgements are not used: they need the plan, and calibrated estimates".into()];
    }
    let Some(Shape::Sum(term)) = metrics::find("precision").ok().map(|metric| metric.shape()) else { return Vec::new() };
    let target = cells.sum(term, cells.settings.kmax(), 0, 0);
    let without = cells.completed(judged, false);
    let report = machine::report(&cells.sample, machine, (completed, &without), (&target, cells.settings.rows as f64));
    let mut text = format!("machine: judged {} pairs, {} of which people judged too", machine.len(), report.both);
    if let Some((relevant, irrelevant)) = report.right {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        text.push_str(&format!(
            "; it is right about {} of the relevant and {} of the irrelevant pairs",
            percent(relevant),
            percent(irrelevant)
        ));
    }
    let k = cells.settings.kmax();
    text.push_str(&match report.saved.round() {
        saved if saved >= 1.0 => format!("; for precision@{k} it saves about {saved} human judgements"),
        _ => format!("; for precision@{k} it saves no human judgements"),
    });
    vec![text]
}
