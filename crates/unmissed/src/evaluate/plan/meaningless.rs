//! Which unbiased functions of the label set would be numerically meaningless: found on some of the rows.
//!
//! One row whose terms cancel beyond the last digit makes the whole estimate null, and estimates of this kind take longer than all
//! others together. Where such rows are found, the estimate is left out, unless its metric was asked for by name. Which rows are looked at
//! follows from their numbers alone, so that streams, whose rows are not known beforehand, leave the same out.

use super::settings::{ChosenMetric, Settings};
use crate::data::Labels;
use crate::error::Result;
use crate::evaluate::builder::Evaluation;
use crate::evaluate::findings::{Finding, U009};
use crate::evaluate::tally::open::nothing_left;
use crate::metrics::independent::LIMIT;
use crate::metrics::{Estimator, SetTerm, Shape};
use crate::rng::{Purpose, row_key, uniform_at};
use serde::{Deserialize, Serialize};

/// So many rows are looked at from the first, and of all others this share.
const ROWS: u32 = 4096;
const SHARE: f64 = 1.0 / 128.0;

/// Which rows are looked at.
#[derive(Clone, Copy)]
pub(in crate::evaluate) struct LookedAt(u64);

impl LookedAt {
    pub(in crate::evaluate) fn new(seed: u64) -> LookedAt {
        LookedAt(row_key(seed, Purpose::LookedAt, 0))
    }

    pub(in crate::evaluate) fn has(self, row: u32) -> bool {
        row < ROWS || uniform_at(self.0, row) < SHARE
    }
}

/// Removes columns from metrics, with a note.
pub(super) fn leave_out(evaluation: &Evaluation<'_>, metrics: &mut Vec<ChosenMetric>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if evaluation.request.metrics.is_some() || evaluation.request.rate.is_some() {
        return Ok(findings);
    }
    let looked_at = LookedAt::new(evaluation.request.seed);
    let rows: Vec<usize> = (0..evaluation.truth.rows()).filter(|row| looked_at.has(*row as u32)).collect();
    for chosen in metrics.iter_mut().filter(|chosen| chosen.wants(Estimator::Unbiased)) {
        let Shape::Set(term) = chosen.metric()?.shape() else { continue };
        for (place, propensities) in evaluation.propensities.iter().enumerate() {
            let inverse = |label: u32| propensities.score_inverse(label);
            let beyond = rows.iter().filter(|row| cancels(term, evaluation.truth.row_ids(**row), &inverse)).count();
            if beyond > 0 {
                // The first column is what is observed.
                chosen.left_out.push(place + 1);
                findings.push(finding(&propensities.origin().to_string(), chosen, beyond as u64, rows.len() as u64));
            }
        }
        if chosen.left_out.len() == evaluation.propensities.len() {
            chosen.estimators.retain(|estimator| *estimator != Estimator::Unbiased);
        }
    }
    metrics.retain(|chosen| !chosen.estimators.is_empty());
    match findings.first().filter(|_| metrics.is_empty()) {
        Some(finding) => Err(nothing_left(finding)),
        None => Ok(findings),
    }
}

fn cancels(term: &'static dyn SetTerm, labels: &[u32], inverse: &dyn Fn(u32) -> f64) -> bool {
    labels.iter().map(|label| term.growth(inverse(*label))).product::<f64>() > LIMIT
}

fn finding(origin: &str, chosen: &ChosenMetric, beyond: u64, looked_at: u64) -> Finding {
    Finding::new(
        &U009,
        format!(
            "with {origin}, unbiased {} is left out: its terms cancel beyond 1e8 in {beyond} of {looked_at} sampled rows (request \
             the metric by name to compute it anyway)",
            chosen.name()
        ),
    )
    .of_propensity(origin.to_owned())
}

/// How many rows of a stream cancel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::evaluate) struct Cancelling {
    looked_at: u64,
    /// By metric and column, of those that may be left out.
    rows: Vec<u64>,
}

/// The metrics and columns that may be left out.
fn candidates(settings: &Settings) -> Result<Vec<(usize, usize, &'static dyn SetTerm)>> {
    let mut found = Vec::new();
    if settings.request.metrics.is_some() || settings.request.rate.is_some() {
        return Ok(found);
    }
    for (metric, chosen) in settings.metrics.iter().enumerate().filter(|(_, chosen)| chosen.wants(Estimator::Unbiased)) {
        let Shape::Set(term) = chosen.metric()?.shape() else { continue };
        found.extend(settings.columns_of(Estimator::Unbiased).into_iter().map(|column| (metric, column, term)));
    }
    Ok(found)
}

impl Cancelling {
    pub(in crate::evaluate) fn new(settings: &Settings) -> Result<Cancelling> {
        Ok(Cancelling { looked_at: 0, rows: vec![0; candidates(settings)?.len()] })
    }

    /// Looks at the rows with these numbers; `inverse` has the inverse propensities of a column.
    pub(in crate::evaluate) fn look(
        &mut self,
        settings: &Settings,
        truth: &Labels<'_>,
        numbers: &[u32],
        inverse: impl Fn(u32, usize) -> f64,
    ) -> Result<()> {
        let candidates = candidates(settings)?;
        let looked_at = LookedAt::new(settings.request.seed);
        if candidates.is_empty() {
            return Ok(());
        }
        for (row, _) in numbers.iter().enumerate().filter(|(_, number)| looked_at.has(**number)) {
            self.looked_at += 1;
            for (count, (_, column, term)) in self.rows.iter_mut().zip(&candidates) {
                *count += u64::from(cancels(*term, truth.row_ids(row), &|label| inverse(label, *column)));
            }
        }
        Ok(())
    }

    /// The counts of both parts.
    pub(in crate::evaluate) fn and(&self, other: &Cancelling) -> Cancelling {
        let rows = self.rows.iter().zip(&other.rows).map(|(a, b)| a.saturating_add(*b)).collect();
        Cancelling { looked_at: self.looked_at.saturating_add(other.looked_at), rows }
    }

    /// Whether it belongs to these settings, for what comes from files.
    pub(in crate::evaluate) fn fits(&self, settings: &Settings) -> Result<bool> {
        Ok(self.rows.len() == candidates(settings)?.len())
    }

    /// Takes columns out of metrics. Their sums stay where they are, and nobody asks for them.
    pub(in crate::evaluate) fn leave_out(&self, settings: &mut Settings) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for ((metric, column, _), beyond) in candidates(settings)?.into_iter().zip(&self.rows).filter(|(_, beyond)| **beyond > 0) {
            let origin = settings.columns[column].origin.clone().unwrap_or_default();
            let chosen = &mut settings.metrics[metric];
            if !chosen.left_out.contains(&column) {
                chosen.left_out.push(column);
            }
            findings.push(finding(&origin, chosen, *beyond, self.looked_at));
        }
        Ok(findings)
    }
}
