//! Claims that must hold in the worlds, and the results.

use super::Seeds;
use super::methods::{DEFAULT, LOGISTIC, STACK, STACK_POSITIVES, UNCORRECTED};
use crate::experiments::Outcome;

/// Differences below this, in points, are none.
const NOTHING: f64 = 0.3;
/// How far below the uncorrected model a correction with estimated propensities may be, in points.
const AT_MOST: f64 = 1.0;

/// What is compared with both uncorrected models: a method, its loss, the claim, and how many points it may be below.
const CLAIMS: [(&str, Option<&str>, &str, f64); 7] = [
    (STACK, None, "the stack is not below training without a correction", 0.0),
    (STACK_POSITIVES, None, "nor is it where only controlled positives are known", 0.0),
    ("true", Some(DEFAULT), "the default correction with the true propensities is not below training without one", 0.0),
    ("shrunken", Some(DEFAULT), "with shrunken estimates it is at most a point below", AT_MOST),
    ("power, fitted", Some(DEFAULT), "with a fitted power law it is at most a point below", AT_MOST),
    ("jpv, fitted", Some(DEFAULT), "with a fitted JPV curve it is at most a point below", AT_MOST),
    ("richards, fitted", Some(DEFAULT), "with a fitted Richards curve it is at most a point below", AT_MOST),
];

/// The tolerance of a difference: two standard errors, or a negligible amount.
fn tolerance(se: Option<f64>) -> f64 {
    (2.0 * se.unwrap_or(0.0)).max(NOTHING)
}

pub(super) fn claims(outcome: &mut Outcome, found: &[Seeds]) {
    for (method, loss, what, at_most) in CLAIMS {
        for (at, k) in [1, 3, 5].into_iter().enumerate() {
            for (plain, against) in [(UNCORRECTED, "by default"), (LOGISTIC, "by the logistic loss")] {
                let claim = format!("{what}, as it is {against}: P@{k}");
                let (holds, text) = not_below(found, (method, loss), plain, at, at_most);
                match at {
                    0 => outcome.must(claim, holds, text),
                    _ => outcome.reports(claim, text),
                }
            }
        }
    }
    let above = |world: &&Seeds| {
        let (difference, se) = world.difference(STACK, None, UNCORRECTED, 0);
        difference > tolerance(se)
    };
    let above: Vec<&str> = found.iter().filter(above).map(|world| world.plan.name).collect();
    outcome.must(
        "the stack is above training without a correction in at least half of the worlds: P@1",
        2 * above.len() >= found.len(),
        format!("in {} of {}: {}", above.len(), found.len(), above.join(", ")),
    );
}

/// Whether a method is nowhere more than so many points below a plain one, and where it is.
fn not_below(found: &[Seeds], (method, loss): (&str, Option<&str>), plain: &str, at: usize, at_most: f64) -> (bool, String) {
    let below: Vec<String> = found
        .iter()
        .map(|world| (world, world.difference(method, loss, plain, at)))
        .filter(|(_, (difference, se))| *difference < -(at_most + tolerance(*se)) || difference.is_nan())
        .map(|(world, (difference, se))| format!("{} {difference:+.2} (SE {:.2})", world.plan.name, se.unwrap_or(f64::NAN)))
        .collect();
    let text = match below.is_empty() {
        true => format!("in all {} worlds", found.len()),
        false => format!("{} of {} worlds; not in {}", found.len() - below.len(), found.len(), below.join(", ")),
    };
    (below.is_empty(), text)
}
