//! Row sums of the self-normalised estimate: how much of the top k was shown.
//!
//! `sum s g y / sum s g` over the rows, g the discount over the rate; a row with fewer than k predictions has fewer slots, which
//! are known, so the ratio is multiplied with the mean share of predicted slots.

use super::layout::{H, HH, SLOTS, XH};
use super::pass::Plan;
use super::settings::Kind;

/// The lane of the known rate.
const LANE: usize = 1;

/// Adds the shown weight of a row, its square, and its product with the row terms of a group.
pub(super) fn sum_row(plan: &Plan<'_>, row: usize, tops: &[&[u32]], group: usize, terms: &[f64], sums: &mut [f64]) {
    let Some(shown) = plan.shown else { return };
    let (layout, shown) = (plan.layout, shown.row_ids(row));
    for (place, term) in plan.terms.iter().enumerate() {
        let Kind::Sum { discounts, scales, .. } = &term.kind else { continue };
        for (model, top) in tops.iter().enumerate() {
            let (mut weight, mut slots, mut rank) = (0.0, 0.0, 0);
            for (ki, k) in plan.settings.ks.iter().enumerate() {
                while rank < (*k).min(top.len()) {
                    let label = top[rank];
                    slots += discounts[rank];
                    if shown.contains(&label) {
                        weight += discounts[rank] * plan.table.lanes(plan.table.place(label))[LANE];
                    }
                    rank += 1;
                }
                let x = terms[plan.term_at(model, place, ki) + LANE];
                let start = layout.model(group, model, place, ki) + LANE;
                let h = weight * scales[ki];
                sums[start + H * layout.width] += h;
                sums[start + HH * layout.width] += h * h;
                sums[start + XH * layout.width] += x * h;
                sums[start + SLOTS * layout.width] += slots * scales[ki];
            }
        }
    }
}
