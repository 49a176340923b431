//! The table by label, with a field to search it.

use super::parts::{HtmlCell, HtmlTable};
use crate::audit::{AuditResult, LabelLine, Share};
use crate::data::brief;

/// Characters of a name on the page.
pub(super) const NAME: usize = 120;

/// The labels that matter most.
pub(super) struct LabelsView {
    pub(super) about: String,
    pub(super) table: HtmlTable,
}

impl LabelsView {
    pub(super) fn new(result: &AuditResult) -> Option<LabelsView> {
        let (all, listed) = (&result.all_labels, &result.labels);
        if listed.is_empty() {
            return None;
        }
        let has_names = all.names.is_some();
        let caption = format!("Top {}, intervals in brackets.", all.k);
        let mut table = HtmlTable::new("labels-table", "Scores by label", caption).words(["label"]);
        if has_names {
            table = table.words(["name"]);
        }
        if all.trained.is_some() {
            table = table.numbers(["training rows"]);
        }
        table = table.numbers(["test rows"]);
        let several = all.models.len() > 1;
        for model in &all.models {
            let of = |what: &str| if several { format!("{}: {what}", model.name) } else { what.to_owned() };
            table = table.numbers(["predicted", "hits", "precision", "recall", "F"].map(of));
        }
        if all.propensities.is_some() {
            table = table.numbers(["propensity", "probably missing"]);
        }
        let mut table = table.sortable();
        for line in listed {
            table.row("", cells(line, has_names));
        }
        let order =
            if several { "those with the largest difference between models first" } else { "those with the most errors first" };
        let source = all.propensities.as_ref().map_or(String::new(), |p| {
            format!(
                " Propensities are {} ({}); one minus the propensity is the share of a label's positives that is probably missing.",
                p.source,
                p.kind.name()
            )
        });
        let about = format!(
            "{} of {} labels, {order}; --labels-csv writes all of them.{source}",
            listed.len(),
            super::grouped(all.len() as u64)
        );
        Some(LabelsView { about, table })
    }
}

fn cells(line: &LabelLine, has_names: bool) -> Vec<HtmlCell> {
    let mut cells = vec![HtmlCell { sort: Some(line.label.to_string()), ..HtmlCell::text(line.label.to_string()) }];
    if has_names {
        cells.push(HtmlCell::text(brief(line.name.as_deref().unwrap_or(""), NAME)).class("name"));
    }
    if let Some(trained) = line.trained {
        cells.push(HtmlCell::whole(Some(trained)));
    }
    cells.push(HtmlCell::whole(Some(line.positives.into())));
    for model in &line.models {
        cells.push(HtmlCell::whole(Some(model.predicted.into())));
        cells.push(HtmlCell::whole(Some(model.hits.into())));
        cells.push(share(model.precision));
        cells.push(share(model.recall));
        cells.push(HtmlCell::number(model.f, percent));
    }
    if line.propensity.is_some() {
        cells.push(HtmlCell::number(line.propensity, |p| format!("{p:.3}")));
        cells.push(HtmlCell::number(line.missing, percent));
    }
    cells
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn share(share: Option<Share>) -> HtmlCell {
    let cell = HtmlCell::number(share.map(|share| share.value), percent);
    match share {
        Some(share) => HtmlCell { small: format!("[{:.0}, {:.0}]", 100.0 * share.low, 100.0 * share.high), ..cell },
        None => cell,
    }
}
