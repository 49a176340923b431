//! Findings of rows with two snapshots that contradict assumptions.

use super::settings::ChosenMetric;
use crate::data::Labels;
use crate::error::Result;
use crate::evaluate::builder::Evaluation;
use crate::evaluate::findings::{Finding, U010, U011, U013, U014};
use crate::metrics::{Estimator, Shape};
use crate::propensity::rows::MatchedRows;
use crate::propensity::together::{Together, missing_together};

/// Differences below this many standard errors may be chance.
const CLEAR: f64 = 3.0;
/// Relative differences of observed labels per row below this are negligible.
const DENSITY: f64 = 0.05;
/// Correlations below this are negligible.
const CORRELATION: f64 = 0.01;

impl Evaluation<'_> {
    /// Findings that need only the matched rows and the test labels.
    pub(super) fn matched_findings(&self, metrics: &[ChosenMetric]) -> Result<Vec<Finding>> {
        let Some(matched) = &self.matched else { return Ok(Vec::new()) };
        let mut findings = Vec::new();
        findings.extend(retracted(matched));
        findings.extend(density(matched.early(), self.truth));
        findings.extend(self.without_predictions(matched));
        if self.assumes_independence(metrics)? {
            findings.extend(together(matched));
        }
        Ok(findings)
    }

    /// Whether products or ratios of labels are corrected.
    pub(in crate::evaluate) fn assumes_independence(&self, metrics: &[ChosenMetric]) -> Result<bool> {
        for chosen in metrics.iter().filter(|chosen| chosen.wants(Estimator::Unbiased)) {
            if matches!(chosen.metric()?.shape(), Shape::Set(_) | Shape::Product) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Models that only propensities per label can be used for.
    fn without_predictions(&self, matched: &MatchedRows<'_>) -> Option<Finding> {
        let lacks = |name: &str| matched.scores(name).is_none() && self.only_compared.iter().all(|other| other != name);
        let names: Vec<&str> = self.models.iter().map(|(name, _)| name.as_str()).filter(|name| lacks(name)).collect();
        if names.is_empty() {
            return None;
        }
        let text = format!(
            "{}: no out-of-fold predictions for the training rows, so the later snapshot gives only one propensity per label, and \
             labels that a model ranks first go missing less often than that. On real data such scores were up to 3 points too high, and \
             their 95 % intervals covered the truth in only a third of the cases",
            names.join(", ")
        );
        Some(Finding::new(&U014, text))
    }
}

fn retracted(matched: &MatchedRows<'_>) -> Option<Finding> {
    let (retracted, all) = matched.retracted();
    let share = 100.0 * retracted as f64 / all.max(1) as f64;
    (retracted > 0).then(|| {
        let text =
            format!("{retracted} of {all} observed labels of the training rows ({share:.1} %) are not in the later snapshot");
        Finding::new(&U010, text)
    })
}

/// Mean and squared standard error of the observed labels per row.
fn labels_per_row(labels: &Labels<'_>) -> (f64, f64) {
    let n = labels.rows() as f64;
    let mean = labels.nnz() as f64 / n;
    let square = |row: usize| (labels.row_ids(row).len() as f64 - mean).powi(2);
    (mean, (0..labels.rows()).map(square).sum::<f64>() / (n * (n - 1.0).max(1.0)))
}

fn density(matched: &Labels<'_>, test: &Labels<'_>) -> Option<Finding> {
    let ((of_matched, a), (of_test, b)) = (labels_per_row(matched), labels_per_row(test));
    let z = (of_test - of_matched) / (a + b).sqrt();
    if !(z.abs() > CLEAR && (of_test - of_matched).abs() > DENSITY * of_matched) {
        return None;
    }
    let (more, other) = if z < 0.0 { ("fewer", "younger") } else { ("more", "older") };
    let text = format!(
        "test rows have {of_test:.2} observed labels per row, {more} than the {of_matched:.2} of the training rows with a later snapshot \
         (z = {z:.1}): they may be {other}, and labels may be missing from them at another rate"
    );
    Some(Finding::new(&U011, text))
}

fn together(matched: &MatchedRows<'_>) -> Option<Finding> {
    not_alone(missing_together(matched.early(), matched.later())?, "with two snapshots")
}

/// Labels that go missing together, where that is clear and matters.
pub(in crate::evaluate) fn not_alone(found: Together, rows: &str) -> Option<Finding> {
    (found.z > CLEAR && found.correlation > CORRELATION).then(|| {
        let text = format!(
            "labels of a row are observed or missing together: correlation {:.3} (z = {:.1}, {} rows {rows})",
            found.correlation, found.z, found.rows
        );
        Finding::new(&U013, text)
    })
}
