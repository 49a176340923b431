//! The propensity models as the page shows them.

use super::parts::{HtmlCell, HtmlTable};
use crate::audit::{AuditResult, CandidateKind};
use crate::numbers::four_digits;
use crate::propensity::contradiction::Contradiction;

pub(super) struct Propensities {
    pub(super) models: HtmlTable,
    pub(super) against: Option<HtmlTable>,
    pub(super) bands: Option<HtmlTable>,
    pub(super) by_row: Option<HtmlTable>,
    pub(super) notes: Vec<String>,
}

impl Propensities {
    /// `None` when there are no propensity models.
    pub(super) fn new(result: &AuditResult) -> Option<Propensities> {
        if result.propensities.is_empty() {
            return None;
        }
        let notes =
            result.propensities.iter().flat_map(|report| report.notes.iter().map(move |note| format!("{}: {note}", report.name)));
        Some(Propensities {
            models: models(result),
            against: against(result),
            bands: bands(result),
            by_row: by_row(result),
            notes: notes.collect(),
        })
    }
}

fn models(result: &AuditResult) -> HtmlTable {
    let has_mse = result.propensities.iter().any(|report| report.mse.is_some());
    let caption = "Implied labels per row: how many labels training rows would have if nothing were missing. Priors above 1: \
                   labels with an impossible frequency. Effective share: the effective sample size after weighting, as a share of \
                   the observed positives. Ten copies: the factor by which copying the data, which adds no information, changes a \
                   propensity; it should be 1.";
    let mut table = HtmlTable::new("models", "What each model implies", caption).words(["model", "source"]).numbers([
        "rarest label",
        "most frequent",
        "implied labels per row",
        "priors above 1",
        "effective share (%)",
        "ten copies",
    ]);
    if has_mse {
        table = table.numbers(["MSE of 1/p"]);
    }
    table = table.sortable();
    for report in &result.propensities {
        let three = |value: f64| four_digits(value, 3);
        let mut cells = vec![
            HtmlCell::text(&*report.name),
            HtmlCell::text(report.kind.name()),
            HtmlCell::number(report.rarest, three),
            HtmlCell::number(report.most_frequent, three),
            HtmlCell::number(report.labels_per_row, |value| four_digits(value, 2)),
            HtmlCell::whole(report.labels_per_row.map(|_| report.impossible)),
            HtmlCell::number(report.effective_share, |value| four_digits(100.0 * value, 1)),
            HtmlCell::number(report.change_by_copies, |value| four_digits(value, 2)),
        ];
        if report.impossible > 0 {
            cells[5].class = "impossible";
        }
        if has_mse {
            cells.push(HtmlCell::number(report.mse, |value| four_digits(value, 3)));
        }
        table.row("", cells);
    }
    table
}

fn against(result: &AuditResult) -> Option<HtmlTable> {
    let kind = result.propensities.iter().find_map(|report| report.against.as_ref())?.kind;
    let caption = "Labels per row that a model implies, and those of the evidence, with the standard error of the difference over rows. A right \
                   model has a z of about -2 to 2. Fitted and estimated models were made from this evidence: agreement proves nothing, disagreement is a fault.";
    let mut table = HtmlTable::new("against", format!("Against {}", kind.name()), caption)
        .words(["model", "training rows of the label"])
        .numbers(["implied", "evidence", "± se", "z", "claimed observed (%)", "evidence says (%)"])
        .words(["verdict"])
        .sortable();
    for report in &result.propensities {
        let Some(against) = &report.against else { continue };
        for (place, gap) in std::iter::once(&against.all).chain(&against.bands).enumerate() {
            let band = match (place, gap.to) {
                (0, _) => "all".to_owned(),
                (_, Some(to)) => format!("{} to {to}", gap.from),
                (_, None) => format!("{} or more", gap.from),
            };
            let verdict = match (place, report.kind, against.contradicted) {
                (0, CandidateKind::Assumed, true) => "contradicted".to_owned(),
                (0, CandidateKind::Assumed, false) => "not contradicted".to_owned(),
                (0, _, false) => "made from it".to_owned(),
                // A curve that was fitted to the evidence and misses it all the same.
                (0, _, true) => misses(against),
                _ => String::new(),
            };
            let number = |value: f64| HtmlCell::number(Some(value).filter(|v| v.is_finite()), |value| four_digits(value, 3));
            let cells = [
                HtmlCell::text(&*report.name),
                HtmlCell::text(band),
                number(gap.model),
                number(gap.evidence),
                number(gap.se),
                HtmlCell::number(gap.z, |z| four_digits(z, 1)),
                HtmlCell::number(Some(gap.claimed_share()), |share| four_digits(100.0 * share, 1)),
                HtmlCell::number(Some(gap.observed_share), |share| four_digits(100.0 * share, 1)),
                HtmlCell::text(verdict),
            ];
            table.row(if place == 0 { "new" } else { "" }, cells);
        }
    }
    Some(table)
}

/// By how much propensities miss the evidence that they were made from, where they do so most.
fn misses(against: &Contradiction) -> String {
    let worst = against.worst_band().filter(|band| band.factor() > against.all.factor()).unwrap_or(&against.all);
    format!("misses its own evidence by a factor of {}", four_digits(worst.factor(), 2))
}

/// The reliability curves of propensities that depend on the row.
fn by_row(result: &AuditResult) -> Option<HtmlTable> {
    let caption = "Relevant pairs of the evidence in ten bins of the propensity from a fit to other rows, and the share that was \
                   observed, with 95 % intervals over rows. A right model has its predictions within the intervals.";
    let mut table = HtmlTable::new("by-row", "Reliability of row-dependent propensities", caption)
        .words(["model"])
        .numbers(["predicted (%)", "observed (%)", "interval", "pairs"])
        .words(["remarks"]);
    for report in &result.by_row {
        for (place, bin) in report.calibration.bins.iter().enumerate() {
            let outside = bin.predicted < bin.low || bin.predicted > bin.high;
            let cells = [
                HtmlCell::text(&*report.model),
                HtmlCell::percent(Some(bin.predicted)),
                HtmlCell::percent(Some(bin.observed)),
                HtmlCell::text(super::parts::interval(bin.low, bin.high)).class("n"),
                HtmlCell::whole(Some(bin.pairs)),
                HtmlCell::text(if outside { "outside the interval" } else { "" }),
            ];
            table.row(if place == 0 { "new" } else { "" }, cells);
        }
    }
    (!result.by_row.is_empty()).then_some(table)
}

fn bands(result: &AuditResult) -> Option<HtmlTable> {
    let shown: Vec<_> = result.propensities.iter().filter(|report| !report.bands.is_empty()).collect();
    let first = shown.first()?;
    let caption = "Pooled: observed positives over the relevant ones that they imply.";
    let mut table = HtmlTable::new("bands", "Propensity by training frequency", caption)
        .words(["training rows with the label"])
        .numbers(["labels", "of positives (%)"])
        .numbers(shown.iter().map(|report| report.name.clone()));
    for (place, band) in first.bands.iter().enumerate().filter(|(_, band)| band.labels > 0) {
        let start = [
            HtmlCell::text(band.name()),
            HtmlCell::whole(Some(band.labels)),
            HtmlCell::number(Some(band.share), |share| four_digits(100.0 * share, 1)),
        ];
        let values = shown
            .iter()
            .map(|report| HtmlCell::number(report.bands.get(place).and_then(|band| band.propensity), |p| four_digits(p, 3)));
        table.row("", start.into_iter().chain(values));
    }
    Some(table)
}
