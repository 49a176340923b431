//! Machine judges: how often they are right, and how many human judgements they save.

use super::completed::{Completed, Items};
use super::estimate::Estimator;
use super::sample::Sample;
use super::target::Target;
use crate::data::MachineJudgements;
use crate::request::IntervalKind;

/// From which value on a machine's judgement means relevant.
const MIDDLE: f64 = 0.5;

/// What human judgements say about a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MachineReport {
    /// Pairs that both judged.
    pub(super) both: usize,
    /// Of the relevant pairs, the share that the machine calls relevant; of the irrelevant ones, the share that it calls irrelevant.
    pub(super) right: Option<(f64, f64)>,
    /// How many more human judgements the same interval would take without it.
    pub(super) saved: f64,
}

/// `with` and `without` are completed labels that do and do not know of the machine; `target` is what the interval is about.
pub(super) fn report(
    sample: &Sample,
    machine: &MachineJudgements,
    (with, without): (&Completed, &Completed),
    (target, rows): (&Target, f64),
) -> MachineReport {
    let variance = |of: &Completed| Estimator::new(of, &sample.pairs, rows, IntervalKind::Mask).estimate(target).variance;
    let (before, after) = (variance(without), variance(with));
    let saved = if after > 0.0 { sample.judged as f64 * (before / after - 1.0) } else { 0.0 };
    let Items::Strata(rounds) = &with.items else { return MachineReport { both: 0, right: None, saved } };
    // By what people said: weights of all pairs, and of those where the machine agrees.
    let mut sums = [(0.0, 0.0); 2];
    let (mut both, mut is_share) = (0, true);
    for round in rounds {
        for stratum in &round.strata {
            let weight = round.weight * stratum.size / stratum.items.len().max(1) as f64;
            for item in stratum.items.iter().filter(|item| item.y != 0.5) {
                let (row, label) = sample.pairs[item.place as usize];
                let Some(value) = machine.get(row, label) else { continue };
                both += 1;
                is_share &= (0.0..=1.0).contains(&value);
                let sum = &mut sums[usize::from(item.y == 1.0)];
                let agrees = (value >= MIDDLE) == (item.y == 1.0);
                *sum = (sum.0 + weight, sum.1 + if agrees { weight } else { 0.0 });
            }
        }
    }
    let [irrelevant, relevant] = sums;
    let is_known = is_share && relevant.0 > 0.0 && irrelevant.0 > 0.0;
    MachineReport { both, right: is_known.then(|| (relevant.1 / relevant.0, irrelevant.1 / irrelevant.0)), saved }
}
