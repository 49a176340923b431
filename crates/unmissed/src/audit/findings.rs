//! The findings of an audit: those of the evaluation, and those from the evidence: U008 if it contradicts propensities, U015 if
//! models differ under these. Findings about curves that the audit added itself are marked, those about models
//! that are only compared with are left out.

use super::reference::{ModelRole, Reference, role_of};
use super::result::{PropensityReport, named};
use super::standings::{METRIC, is_contradicted};
use crate::evaluate::findings::{Finding, U006, U008, U015};
use crate::evaluate::{Comparison, EvaluationResult, order_findings};
use crate::metrics::Estimator;
use crate::propensity::contradiction::{Contradiction, EvidenceKind};

/// Findings of the evaluation and of the evidence, by code; those about added curves are the last of theirs.
pub(super) fn findings(
    evaluation: &EvaluationResult,
    propensities: &[PropensityReport],
    references: &[Reference],
    k: usize,
) -> Vec<Finding> {
    let is_audited = |model: &str| role_of(references, model) == ModelRole::Audited;
    let is_added = |origin: &str| propensities.iter().any(|report| report.is_added && report.origin == origin);
    let kept = |finding: &&Finding| finding.code != U006.code && finding.model.as_deref().is_none_or(is_audited);
    let mut findings: Vec<Finding> = evaluation.findings.iter().filter(kept).cloned().collect();
    findings.extend(orders(evaluation, &is_audited, &is_added));
    for report in propensities.iter().filter(|report| is_contradicted(report)) {
        if let Some(against) = &report.against {
            findings.push(Finding::new(&U008, contradiction(&report.name, against)).of_propensity(&*report.origin));
            findings.extend(differences(evaluation, report, &is_audited, k).map(|finding| finding.of_propensity(&*report.origin)));
        }
    }
    for finding in &mut findings {
        finding.message = named(propensities, &finding.message);
        finding.added |= finding.propensity.as_deref().is_some_and(is_added);
    }
    findings.sort_by(|a, b| a.code.cmp(&b.code).then(a.added.cmp(&b.added)));
    findings
}

/// Orders that depend on the propensity model. Where only an added curve sees another order, the finding is about that curve.
fn orders(evaluation: &EvaluationResult, is_audited: &dyn Fn(&str) -> bool, is_added: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let audited = || evaluation.comparisons.iter().filter(|c| is_audited(&c.a) && is_audited(&c.b));
    let own = order_findings(audited().filter(|c| !c.propensity.as_deref().is_some_and(is_added)));
    if !own.is_empty() {
        return own;
    }
    order_findings(audited()).into_iter().map(|finding| Finding { added: true, ..finding }).collect()
}

/// Differences that a contradicted model takes for clear.
fn differences(
    evaluation: &EvaluationResult,
    report: &PropensityReport,
    is_audited: &dyn Fn(&str) -> bool,
    k: usize,
) -> Option<Finding> {
    let is_here =
        |c: &&Comparison| c.metric == METRIC && c.k == k && c.group == "all" && c.propensity.as_ref() == Some(&report.origin);
    let here = evaluation.comparisons.iter().filter(is_here).filter(|c| c.estimator == Estimator::Unbiased);
    let here = here.filter(|c| is_audited(&c.a) && is_audited(&c.b));
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
