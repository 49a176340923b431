//! Gates: what an audit fails on in a pipeline. They apply to what users passed or measured; curves that the audit added itself,
//! and the baselines, never make one fail.

use super::reference::{ModelRole, role_of};
use super::result::{AuditResult, PropensityReport};
use super::standings::Standing;
use crate::error::Result;
use crate::evaluate::ranking::listed;
use crate::evaluate::{CHECKS, Finding, Row, Severity};
use crate::metrics::Estimator;
use crate::numbers::significant;
use crate::request::{Gates, KList, ScoreGate};
use crate::spec;
use serde::Serialize;

/// What came of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateResult {
    /// The gate as it is asked for: `--fail-below precision@1=0.5`.
    pub gate: String,
    /// Whether it failed.
    pub failed: bool,
    /// What was found.
    pub found: String,
}

/// Whether gates can be understood: asked before long work.
pub fn check(gates: &Gates, ks: &KList, has_baseline: bool) -> Result<()> {
    let known: Vec<&str> =
        CHECKS.iter().map(|check| check.code).chain(Severity::ALL.iter().map(|severity| severity.name())).collect();
    for what in &gates.fail_on {
        if !known.iter().any(|known| known.eq_ignore_ascii_case(what.trim())) {
            return Err(spec::unknown("finding", what, &known));
        }
    }
    if let Some(gate) = gates.fail_below.iter().find(|gate| !ks.as_slice().contains(&gate.k)) {
        return Err(crate::Error::value(format!("the gate '{gate}' has a k that the audit does not compute"))
            .expected(format!("k among {:?}", ks.as_slice()))
            .hint("add it to the lengths of the top list"));
    }
    if gates.fail_if_worse && !has_baseline {
        return Err(crate::Error::value("there is no baseline")
            .expected("an earlier audit to compare with")
            .hint("pass --baseline FILE"));
    }
    Ok(())
}

/// What came of each gate.
pub(super) fn results(gates: &Gates, result: &AuditResult) -> Vec<GateResult> {
    let on = (!gates.fail_on.is_empty()).then(|| on_findings(&gates.fail_on, &result.findings));
    let below = gates.fail_below.iter().map(|gate| below(gate, result));
    on.into_iter().chain(below).chain(gates.fail_if_worse.then(|| if_worse(result))).collect()
}

fn on_findings(asked: &[String], findings: &[Finding]) -> GateResult {
    let is_asked = |finding: &&Finding| {
        let of_severity = |what: &str| Severity::ALL.into_iter().find(|severity| severity.name().eq_ignore_ascii_case(what));
        asked.iter().map(|what| what.trim()).any(|what| match of_severity(what) {
            Some(least) => finding.severity >= least,
            None => finding.code.eq_ignore_ascii_case(what),
        })
    };
    let mut raised: Vec<&str> =
        findings.iter().filter(|finding| !finding.added).filter(is_asked).map(|finding| finding.code.as_str()).collect();
    raised.dedup();
    GateResult {
        gate: format!("--fail-on {}", asked.join(",")),
        failed: !raised.is_empty(),
        found: match raised.len() {
            0 => "no such finding was raised (for what was passed or measured)".into(),
            1 => format!("finding {} was raised", raised[0]),
            _ => format!("findings {} were raised", listed(&raised)),
        },
    }
}

fn below(gate: &ScoreGate, result: &AuditResult) -> GateResult {
    let rows = rows(gate, result);
    let name = |row: &Row| result.short_name(row).to_owned();
    let value =
        |row: &&Row| format!("{} {} ({})", row.model, row.value.map_or("none".into(), |value| significant(value, 4)), name(row));
    let low: Vec<String> = rows.iter().filter(|row| row.value.is_none_or(|value| value < gate.least)).map(value).collect();
    let all: Vec<String> = rows.iter().map(value).collect();
    GateResult {
        gate: format!("--fail-below {gate}"),
        // What cannot be looked at has not passed.
        failed: rows.is_empty() || !low.is_empty(),
        found: if rows.is_empty() {
            "the audit has no such number (for what was passed or measured)".into()
        } else if low.is_empty() {
            all.join(", ")
        } else {
            low.join(", ")
        },
    }
}

/// The numbers that a gate is about: of what the user passed, else of what is believed first among what was measured.
fn rows<'r>(gate: &ScoreGate, result: &'r AuditResult) -> Vec<&'r Row> {
    let here: Vec<&Row> = result
        .evaluation
        .rows
        .iter()
        .filter(|row| row.metric == gate.metric && row.k == gate.k && row.group == "all")
        .filter(|row| role_of(&result.references, &row.model) == ModelRole::Audited)
        .collect();
    let of = |estimator: Estimator, origin: Option<&str>| -> Vec<&'r Row> {
        here.iter().copied().filter(|row| row.estimator == estimator && row.propensity.as_deref() == origin).collect()
    };
    let standings = super::headline::by_belief(&result.verdict.standings);
    let Some(estimator) = gate.estimator else {
        let reported = standings.into_iter().filter(|standing| standing.is_headline && !standing.is_truth);
        let reported =
            reported.map(|standing| of(standing.estimator, standing.propensity.as_deref())).find(|rows| !rows.is_empty());
        return reported.unwrap_or_else(|| of(Estimator::Observed, None));
    };
    let is_passed = |row: &&&Row| {
        let report = |report: &&PropensityReport| Some(report.origin.as_str()) == row.propensity.as_deref();
        let found = result.propensities.iter().find(report);
        found.is_some_and(|report| report.kind == super::CandidateKind::Assumed && !report.is_added)
    };
    let passed: Vec<&Row> = here.iter().filter(|row| row.estimator == estimator).filter(is_passed).copied().collect();
    if !passed.is_empty() {
        return passed;
    }
    // Normalized and clipped values go with the propensities of unbiased ones.
    let is_it = |standing: &&&Standing| !standing.is_truth && !of(estimator, standing.propensity.as_deref()).is_empty();
    let believed = standings.iter().find(is_it).map(|standing| of(estimator, standing.propensity.as_deref()));
    believed.unwrap_or_default()
}

fn if_worse(result: &AuditResult) -> GateResult {
    let worse = result.verdict.earlier.iter().filter(|one| one.lead.stands && one.lead.difference < 0.0);
    let worse: Vec<String> = worse.map(|one| format!("{} by {}", one.model, one.lead.turned().by())).collect();
    GateResult {
        gate: "--fail-if-worse".into(),
        failed: !worse.is_empty(),
        found: if worse.is_empty() {
            "no model is significantly worse than in the earlier audit".into()
        } else {
            format!("worse than in the earlier audit: {}", worse.join(", "))
        },
    }
}
