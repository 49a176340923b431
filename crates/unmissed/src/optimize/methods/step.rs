//! One step of coordinate ascent: the best labels of one row while all other rows stay fixed.

use super::Search;
use crate::optimize::choices::{Choices, State};
use crate::top_k::NONE;

/// A set of labels is exchanged this many times at most in one step; mixtures with abandonment alone need several.
const EXCHANGES: usize = 20;

/// Memory that steps share.
#[derive(Default)]
pub(super) struct Work {
    probabilities: Vec<f32>,
    gains: Vec<f64>,
    /// The best entries so far, the best first.
    best: Vec<(f64, u32)>,
}

/// Gives a row its best labels, and says whether they are others than before. Labels that gain as much as others keep their place.
pub(super) fn step(search: &Search<'_>, state: &mut State<'_>, choices: &mut Choices, row: usize, work: &mut Work) -> bool {
    let Work { probabilities, gains, best } = work;
    let (ids, p) = search.candidates.row(row, probabilities);
    let lines = state.lines();
    gains.clear();
    gains.extend(ids.iter().zip(p).map(|(id, p)| {
        let [a, b] = lines[*id as usize];
        a * f64::from(*p) + b
    }));
    // What the row's own labels gain is counted without them.
    best.clear();
    for place in choices.chosen(row) {
        let (id, p) = (ids[place as usize], p[place as usize]);
        let [a, b] = state.line_without(id, p);
        let gain = a * f64::from(p) + b;
        gains[place as usize] = f64::NEG_INFINITY;
        insert(best, (gain, place));
    }
    if search.terms.of_abandonment() == 0.0 {
        select(gains, best, search.k, search.at_most);
    } else {
        exchange(gains, best, p, search);
    }
    let before = choices.row_mut(row);
    if before.iter().take_while(|place| **place != NONE).count() == best.len()
        && best.iter().all(|(_, place)| before.contains(place))
    {
        return false;
    }
    for place in before.iter().copied().filter(|place| *place != NONE) {
        if !best.iter().any(|(_, kept)| *kept == place) {
            state.change(ids[place as usize], p[place as usize], -1.0);
        }
    }
    for (_, place) in best.iter() {
        if !before.contains(place) {
            state.change(ids[*place as usize], p[*place as usize], 1.0);
        }
    }
    before.fill(NONE);
    before.iter_mut().zip(best).for_each(|(slot, (_, place))| *slot = *place);
    true
}

/// Keeps the list sorted, the best first; of equal ones the earlier stays before.
fn insert(best: &mut Vec<(f64, u32)>, entry: (f64, u32)) {
    let at = best.iter().rposition(|other| other.0 >= entry.0).map_or(0, |at| at + 1);
    best.insert(at, entry);
}

/// The k entries that gain most; with `at_most`, of those that gain anything.
fn select(gains: &[f64], best: &mut Vec<(f64, u32)>, k: usize, at_most: bool) {
    if at_most {
        best.retain(|(gain, _)| *gain > 0.0);
    }
    let least = if at_most { 0.0 } else { f64::NEG_INFINITY };
    let bar_of = |best: &Vec<(f64, u32)>| if best.len() < k { least } else { best[k - 1].0 };
    let mut bar = bar_of(best);
    for (gain, place) in gains.iter().zip(0..) {
        if *gain > bar {
            if best.len() == k {
                best.pop();
            }
            insert(best, (*gain, place));
            bar = bar_of(best);
        }
    }
}

/// One label after the other is exchanged for the best in its place, as long as that gains: the probability that the row is without a
/// hit ties its labels together.
fn exchange(gains: &mut [f64], best: &mut Vec<(f64, u32)>, p: &[f32], search: &Search<'_>) {
    let cost = search.terms.of_abandonment();
    for _ in 0..EXCHANGES * search.k {
        let mut is_changed = false;
        for slot in 0..search.k {
            let own = (slot < best.len()).then(|| best.swap_remove(slot));
            if let Some((gain, place)) = own {
                gains[place as usize] = gain;
            }
            let missed: f64 = best.iter().map(|(_, place)| 1.0 - f64::from(p[*place as usize])).product();
            let worth = |place: u32| gains[place as usize] + cost * missed * f64::from(p[place as usize]);
            let least = if search.at_most { 0.0 } else { f64::NEG_INFINITY };
            let mut chosen = own.map(|(_, place)| (worth(place), place)).filter(|(worth, _)| *worth > least);
            for place in 0..gains.len() as u32 {
                let worth = worth(place);
                // What gains no more than rounding would be exchanged for ever.
                if worth > chosen.map_or(least, |(most, _)| most + 1e-15 * most.abs()) && gains[place as usize] > f64::NEG_INFINITY
                {
                    chosen = Some((worth, place));
                }
            }
            is_changed |= chosen.map(|(_, place)| place) != own.map(|(_, place)| place);
            if let Some((_, place)) = chosen {
                best.push((gains[place as usize], place));
                let last = best.len() - 1;
                best.swap(slot.min(last), last);
                gains[place as usize] = f64::NEG_INFINITY;
            }
        }
        if !is_changed {
            return;
        }
    }
}
