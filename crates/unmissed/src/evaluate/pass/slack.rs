//! What pairs of a row and a label add to differences of models through their odds of being missed: for sensitivity by pair.

use super::chunk::{Hit, Scratch};
use crate::evaluate::plan::Plan;
use crate::evaluate::plan::settings::Kind;
use crate::evaluate::tally::exact::ExactSum;
use crate::evaluate::tally::exact_layout::slot;

/// Adds the parts of a row above and below 0, of all labels.
pub(super) fn sum_row(plan: &Plan<'_>, group: usize, s: &Scratch, sums: &mut [ExactSum]) {
    if group > 0 || !plan.settings.request.sensitivity.is_some_and(|asked| asked.is_by_pair()) {
        return;
    }
    for (place, term) in plan.terms.iter().enumerate() {
        let Kind::Sum { discounts, weighted, by_relevant: false, .. } = &term.kind else { continue };
        for (ki, k) in plan.settings.ks().iter().enumerate() {
            let gain_of = |hits: &[Hit], at: u32| {
                let hit = hits.iter().find(|hit| hit.at == at && (hit.rank as usize) < *k);
                hit.map_or(0.0, |hit| discounts[hit.rank as usize])
            };
            for (pair, (a, b)) in plan.pairs.iter().copied().enumerate() {
                let (of_a, of_b) = (&s.group_hits[a], &s.group_hits[b]);
                let only_b = of_b.iter().filter(|hit| of_a.iter().all(|other| other.at != hit.at));
                for hit in of_a.iter().chain(only_b) {
                    let weight = if *weighted { plan.table.weight(s.places[hit.at as usize]) } else { 1.0 };
                    let gain = weight * (gain_of(of_a, hit.at) - gain_of(of_b, hit.at));
                    if gain == 0.0 {
                        continue;
                    }
                    let slot = if gain > 0.0 { slot::SLACK_UP } else { slot::SLACK_DOWN };
                    let start = (s.start + hit.at as usize) * plan.layout.width;
                    for column in 0..plan.settings.columns.len() {
                        let odds = (s.inverse[start + column] - 1.0).max(0.0);
                        sums[plan.exact.slack_pair([pair, place, ki], slot, column)].add(gain.abs() * odds);
                    }
                }
            }
        }
    }
}
