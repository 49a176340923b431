//! Claims about the table, and the results.

use super::cells::{Cell, Set};
use crate::experiments::Outcome;
use crate::experiments::biased_data::{NOISES, mean_se};

/// Exact standard errors that an unbiased estimate may be off.
const ERRORS: f64 = 4.0;
/// Cells that rest on fewer hits are not asserted.
const EFFECTIVE: f64 = 100.0;
/// Points (of 1) by which a wrong estimate is off somewhere on artificial data.
const OFF: f64 = 0.1;

pub(super) fn claims(outcome: &mut Outcome, set: &Set) {
    compatible(outcome, set);
    incompatible(outcome, set);
    for noise in 0..NOISES.len() {
        training(outcome, set, noise);
    }
    for metric in 0..NOISES.len() {
        order(outcome, set, metric);
    }
}

fn compatible(outcome: &mut Outcome, set: &Set) {
    let asserted: Vec<&Cell> = set.all().iter().filter(|cell| cell.effective >= EFFECTIVE).collect();
    let worst = asserted.iter().map(|cell| cell.deviation()).fold(0.0, f64::max);
    let few = set.all().len() - asserted.len();
    outcome.must(
        format!("{}: the compatible PSP@1 is P@1 on complete labels within {ERRORS} exact mask SE", set.name),
        worst <= ERRORS,
        format!(
            "at most {worst:.2} SE in {} cells; {few} with an effective sample size below {EFFECTIVE} not asserted",
            asserted.len()
        ),
    );
}

fn incompatible(outcome: &mut Outcome, set: &Set) {
    let off = |cell: &Cell| (cell.unbiased[1 - cell.noise][0] - cell.precision[0]).abs();
    let largest = set.all().iter().map(off).fold(0.0, f64::max);
    let found = format!("by up to {:.1} points", 100.0 * largest);
    let what = format!("{}: the incompatible PSP@1 is off by more than {:.0} points somewhere", set.name, 100.0 * OFF);
    match set.artificial {
        true => outcome.must(what, largest > OFF, found),
        false => outcome.reports(what, found),
    }
}

/// The right propensities against the wrong ones and none, paired by repetition.
fn training(outcome: &mut Outcome, set: &Set, noise: usize) {
    let name = NOISES[noise];
    for (other, against) in [(1 - noise, NOISES[1 - noise]), (2, "nothing")] {
        let pairs = set.of(noise, noise).into_iter().zip(set.of(noise, other));
        let differences: Vec<f64> = pairs.map(|(right, wrong)| 100.0 * (right.precision[0] - wrong.precision[0])).collect();
        let (mean, se) = mean_se(&differences);
        let found = match se {
            Some(se) => format!("P@1 differs by {mean:+.2} points, SE {se:.2}, over {} repetitions", differences.len()),
            None => format!("P@1 differs by {mean:+.2} points in one repetition"),
        };
        let what = format!("{}, labels missing by {name}: training with {name} beats training with {against}", set.name);
        match (set.artificial && other < 2, se) {
            (true, Some(se)) => outcome.must(what, mean > 2.0 * se, found),
            _ => outcome.reports(what, found),
        }
    }
}

/// Whether the wrong PSP@1 puts the model that fits it first, although it is the worse one.
fn order(outcome: &mut Outcome, set: &Set, metric: usize) {
    let noise = 1 - metric;
    let pairs: Vec<_> = set.of(noise, metric).into_iter().zip(set.of(noise, noise)).collect();
    let misled = |(fits, right): &&(&Cell, &Cell)| {
        fits.unbiased[metric][0] > right.unbiased[metric][0] && fits.precision[0] < right.precision[0]
    };
    outcome.reports(
        format!("{}, labels missing by {}: PSP@1 {} prefers the worse model", set.name, NOISES[noise], NOISES[metric]),
        format!("in {} of {} repetitions", pairs.iter().filter(misled).count(), pairs.len()),
    );
}
