//! What must hold in the worlds, and what came out.

use super::Seeds;
use super::methods::{DEFAULT, STACK, STACK_POSITIVES};
use crate::experiments::Outcome;

/// Differences below this, in points, are none.
const NOTHING: f64 = 0.3;
/// How far below the uncorrected model a correction with estimated propensities may be, in points.
const AT_MOST: f64 = 1.0;

/// By how much a difference may be off: two standard errors, or nothing to speak of.
fn tolerance(se: Option<f64>) -> f64 {
    (2.0 * se.unwrap_or(0.0)).max(NOTHING)
}

pub(super) fn claims(outcome: &mut Outcome, found: &[Seeds]) {
    let shown = |world: &Seeds, (difference, se): (f64, Option<f64>)| {
        format!("{} {difference:+.2} (SE {:.2})", world.plan.name, se.unwrap_or(f64::NAN))
    };
    for (method, loss, what, at_most) in [
        (STACK, None, "the stack is not below training without a correction", 0.0),
        (STACK_POSITIVES, None, "nor is it where only controlled positives are known", 0.0),
        ("true", Some(DEFAULT), "the default correction with the true propensities is not below training without one", 0.0),
        ("shrunken", Some(DEFAULT), "with shrunken estimates it is at most a point below", AT_MOST),
        ("power, fitted", Some(DEFAULT), "with a fitted power law it is at most a point below", AT_MOST),
        ("jpv, fitted", Some(DEFAULT), "with a fitted JPV curve it is at most a point below", AT_MOST),
        ("richards, fitted", Some(DEFAULT), "with a fitted Richards curve it is at most a point below", AT_MOST),
    ] {
        for (at, k) in [1, 3, 5].into_iter().enumerate() {
            let below: Vec<String> = found
                .iter()
                .map(|world| (world, world.difference(method, loss, at)))
                .filter(|(_, (difference, se))| *difference < -(at_most + tolerance(*se)) || difference.is_nan())
                .map(|(world, found)| shown(world, found))
                .collect();
            let all = format!("{} of {} worlds", found.len() - below.len(), found.len());
            let text = if below.is_empty() {
                format!("in all {} worlds", found.len())
            } else {
                format!("{all}; not in {}", below.join(", "))
            };
            let claim = format!("{what}: P@{k}");
            match at {
                0 => outcome.must(claim, below.is_empty(), text),
                _ => outcome.reports(claim, text),
            }
        }
    }
    let above: Vec<&str> = found
        .iter()
        .filter(|world| {
            let (difference, se) = world.difference(STACK, None, 0);
            difference > tolerance(se)
        })
        .map(|world| world.plan.name)
        .collect();
    outcome.must(
        "the stack is above training without a correction in at least half of the worlds: P@1",
        2 * above.len() >= found.len(),
        format!("in {} of {}: {}", above.len(), found.len(), above.join(", ")),
    );
}
