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
    /// At least what each entry gains; nothing where the row has it already.
    bounds: Vec<f32>,
    gains: Vec<f64>,
    /// The best entries so far, the best first.
    best: Vec<(f64, u32)>,
}

/// Gives a row its best labels, and says whether they are others than before. Labels that gain as much as others keep their place.
pub(super) fn step(search: &Search<'_>, state: &mut State<'_>, choices: &mut Choices, row: usize, work: &mut Work) -> bool {
    let Work { probabilities, bounds, gains, best } = work;
    let (ids, p) = search.candidates.row(row, probabilities);
    // What the row's own labels gain is counted without them.
    best.clear();
    for place in choices.chosen(row) {
        let (id, p) = (ids[place as usize], p[place as usize]);
        let [a, b] = state.line_without(id, p);
        insert(best, (a * f64::from(p) + b, place));
    }
    let gain = |place: usize| {
        let [a, b] = state.line(ids[place]);
        a * f64::from(p[place]) + b
    };
    if search.terms.of_abandonment() == 0.0 {
        let of_labels = state.bounds();
        bounds.clear();
        bounds.extend(ids.iter().zip(p).map(|(id, p)| of_labels[*id as usize].at(*p)));
        best.iter().for_each(|(_, place)| bounds[*place as usize] = f32::NEG_INFINITY);
        select(bounds, gain, best, search.k, search.at_most);
    } else {
        gains.clear();
        gains.extend((0..ids.len()).map(gain));
        best.iter().for_each(|(_, place)| gains[*place as usize] = f64::NEG_INFINITY);
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

/// The k entries that gain most; with `at_most`, of those that gain anything. Only entries whose bounds are high enough are looked at.
fn select(bounds: &[f32], gain: impl Fn(usize) -> f64, best: &mut Vec<(f64, u32)>, k: usize, at_most: bool) {
    const AT_ONCE: usize = 16;
    if at_most {
        best.retain(|(gain, _)| *gain > 0.0);
    }
    let least = if at_most { 0.0 } else { f64::NEG_INFINITY };
    let bar_of = |best: &Vec<(f64, u32)>| {
        let bar = if best.len() < k { least } else { best[k - 1].0 };
        (bar, rounded_down(bar))
    };
    let (mut bar, mut low) = bar_of(best);
    for (bounds, first) in bounds.chunks(AT_ONCE).zip((0..).step_by(AT_ONCE)) {
        // A bound that is no number excludes nothing.
        if bounds.iter().fold(true, |all, bound| all & (*bound <= low)) {
            continue;
        }
        for (bound, place) in bounds.iter().zip(first..) {
            if *bound <= low {
                continue;
            }
            let gain = gain(place);
            if gain > bar {
                if best.len() == k {
                    best.pop();
                }
                insert(best, (gain, place as u32));
                (bar, low) = bar_of(best);
            }
        }
    }
}

/// The highest number in single precision that is not above this one.
fn rounded_down(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) > value { near.next_down() } else { near }
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
