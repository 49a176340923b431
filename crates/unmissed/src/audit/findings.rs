//! The findings of an audit: those of the evaluation, and U008 where evidence contradicts propensities.

use super::result::PropensityReport;
use super::standings::is_contradicted;
use crate::evaluate::EvaluationResult;
use crate::evaluate::findings::{Finding, U008};
use crate::propensity::contradiction::{Contradiction, EvidenceKind};

/// Findings of the evaluation and of the evidence, by code.
pub(super) fn findings(evaluation: &EvaluationResult, propensities: &[PropensityReport]) -> Vec<Finding> {
    let mut findings = evaluation.findings.clone();
    for report in propensities.iter().filter(|report| is_contradicted(report)) {
        if let Some(against) = &report.against {
            findings.push(Finding::new(&U008, contradiction(&report.name, against)));
        }
    }
    findings.sort_by(|a, b| a.code.cmp(&b.code));
    findings
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
