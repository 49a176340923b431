//! The findings of an audit: those of the evaluation, and those of the evidence: U008 where it contradicts
//! propensities, U015 where models differ under them.

use super::result::PropensityReport;
use super::standings::{METRIC, is_contradicted};
use crate::evaluate::findings::{Finding, U008, U015};
use crate::evaluate::{Comparison, EvaluationResult};
use crate::metrics::Estimator;
use crate::propensity::contradiction::{Contradiction, EvidenceKind};

/// Findings of the evaluation and of the evidence, by code.
pub(super) fn findings(evaluation: &EvaluationResult, propensities: &[PropensityReport], k: usize) -> Vec<Finding> {
    let mut findings = evaluation.findings.clone();
    for report in propensities.iter().filter(|report| is_contradicted(report)) {
        if let Some(against) = &report.against {
            findings.push(Finding::new(&U008, contradiction(&report.name, against)));
            findings.extend(differences(evaluation, report, k));
        }
    }
    findings.sort_by(|a, b| a.code.cmp(&b.code));
    findings
}

/// Differences that a contradicted model takes for clear.
fn differences(evaluation: &EvaluationResult, report: &PropensityReport, k: usize) -> Option<Finding> {
    let is_here =
        |c: &&Comparison| c.metric == METRIC && c.k == k && c.group == "all" && c.propensity.as_ref() == Some(&report.origin);
    let here = evaluation.comparisons.iter().filter(is_here).filter(|c| c.estimator == Estimator::Unbiased);
    let texts: Vec<String> = here
        .filter_map(|c| {
            let (difference, low, high) = (100.0 * c.difference?, 100.0 * c.low?, 100.0 * c.high?);
            (low > 0.0 || high < 0.0).then(|| format!("{} - {} {difference:+.1} [{low:+.1}, {high:+.1}]", c.a, c.b))
        })
        .collect();
    (!texts.is_empty()).then(|| {
        let text = format!("{METRIC}@{k} in points under {}, which the evidence contradicts: {}", report.name, texts.join("; "));
        Finding::new(&U015, text)
    })
}

/// What the propensities claim against what the evidence says, then the numbers behind it.
fn contradiction(name: &str, found: &Contradiction) -> String {
    let all = &found.all;
    let unit = match found.kind {
        EvidenceKind::ControlledSet => "positives per controlled row",
        EvidenceKind::LaterSnapshot => "labels per row",
    };
    let z = all.z.map_or("no variance".into(), |z| format!("z = {z:.1}"));
    let share = |value: f64| format!("{:.0} %", 100.0 * value);
    let mut text = format!(
        "{name} implies that {} of the relevant labels are observed, {} that {} are ({:.3} {unit} implied, {:.3} ± {:.3} found, {z})",
        share(all.claimed_share()),
        found.kind.name(),
        share(all.observed_share),
        all.model,
        all.evidence,
        all.se,
    );
    if let Some(band) = found.worst_band() {
        let counts = match band.to {
            Some(to) => format!("{} to {to}", band.from),
            None => format!("{} or more", band.from),
        };
        text += &format!(
            "; worst for labels with {counts} training rows, {} against {}",
            share(band.claimed_share()),
            share(band.observed_share)
        );
    }
    if let Some(completeness) = found.completeness() {
        text += &format!(
            "; it can only be right if the later snapshot has no more than {} of the relevant labels",
            share(completeness)
        );
    }
    text
}
