//! Claims about halves of the controlled rows, and the results.

use super::estimates::VANILLA;
use super::repeat::Line;
use super::source::Source;
use crate::experiments::biased_data::mean_se;
use crate::experiments::{Outcome, Size};

/// Shrunken may be worse than the better of curve and direct by this share.
const WORSE: f64 = 0.02;
/// 'Far below': at most this share of it.
const FAR: f64 = 0.75;

pub(super) fn claims(outcome: &mut Outcome, size: Size, source: &Source, lines: &[Line]) {
    let of = |method: &str, value: &dyn Fn(&Line) -> f64| -> Vec<f64> {
        lines.iter().filter(|line| line.method == method).map(value).collect()
    };
    let mean = |method: &str, value: &dyn Fn(&Line) -> f64| mean_se(&of(method, value)).0;
    let mse = |method: &str| mean(method, &|line| line.mse);
    let [power, richards, jpv, constant] = ["power, fitted", "richards, fitted", "jpv", VANILLA].map(mse);
    let mut found = format!("power {power:.1}, Richards {richards:.1}, JPV {jpv:.1}, constant {constant:.1}");
    if source.truth.is_some() {
        // What is left even then is the error of the direct estimate that all are held against.
        found.push_str(&format!("; the true ones {:.1}", mse("true")));
    }
    let what = format!("{}: the MSE of fitted power and Richards is far below that of JPV and constant", source.name);
    match source.truth {
        Some(_) => outcome.must(what, power.max(richards) < FAR * jpv.min(constant), found),
        None => outcome.reports(what, found),
    }
    let precision = |method: &str| mean(method, &|line| 100.0 * line.controlled[0].0);
    let shown = ["direct", "richards, fitted", "power, fitted", VANILLA, "jpv", "shrunken", "joint", "true"];
    let shown = shown.into_iter().filter(|method| lines.iter().any(|line| line.method == *method));
    outcome.reports(
        format!("{}: direct > Richards >= power > vanilla in actual P@1, as in the paper", source.name),
        shown.map(|method| format!("{method} {:.1}", precision(method))).collect::<Vec<_>>().join(", "),
    );
    if source.truth.is_some() {
        let error = |method| of(method, &|line| line.error.unwrap_or(f64::NAN));
        let what = format!("{}, a half of the controlled set", source.name);
        not_worse(outcome, &what, [&error("shrunken"), &error("power, fitted"), &error("direct")]);
        let complete = |method: &str| of(method, &|line| line.complete.map_or(f64::NAN, |found| 100.0 * found[0]));
        beats_none(outcome, size, &source.name, &complete);
    }
}

/// Models trained with estimates against the model without a correction, on complete labels.
fn beats_none(outcome: &mut Outcome, size: Size, name: &str, complete: &dyn Fn(&str) -> Vec<f64>) {
    let none = mean_se(&complete(VANILLA)).0;
    for method in ["direct", "shrunken", "richards, fitted"] {
        let (found, se) = mean_se(&complete(method));
        let what = format!("{name}: propensities '{method}' beat none on complete labels: P@1");
        let text = format!("{found:.2} (SE over repetitions {:.2}) against {none:.2}", se.unwrap_or(f64::NAN));
        match size {
            // Too few rows to tell.
            Size::Tiny => outcome.reports(what, text),
            Size::Quick | Size::Full => outcome.must(what, found - none > 2.0 * se.unwrap_or(0.0), text),
        }
    }
}

/// Shrunken's error of log inverse propensities against the better of curve and direct, paired.
pub(super) fn not_worse(outcome: &mut Outcome, what: &str, [shrunken, curve, direct]: [&[f64]; 3]) {
    let (name, better) = if mean_se(curve).0 < mean_se(direct).0 { ("the curve", curve) } else { ("direct", direct) };
    let (difference, se) = mean_se(&shrunken.iter().zip(better).map(|(a, b)| a - b).collect::<Vec<_>>());
    let (ours, theirs) = (mean_se(shrunken).0, mean_se(better).0);
    outcome.must(
        format!("{what}: shrunken's error of log 1/p is not worse than the better of curve and direct"),
        ours <= (1.0 + WORSE) * theirs || difference <= 2.0 * se.unwrap_or(0.0),
        format!("{ours:.3} against {theirs:.3} of {name}, over {} repetitions", shrunken.len()),
    );
}
