//! Row sums of the self-normalised estimate: how much of the top k was shown.
//!
//! `sum s g y / sum s g` over the rows, g the discount over the rate; a row with fewer than k predictions has fewer slots, which
//! are known, so the ratio is multiplied with the mean share of predicted slots.
//!
//! Mask intervals ask what other shown pairs would have given: with R the ratio and c the rate, the variance of
//! `sum s g (y - R)` is estimated by `sum_{shown} (1 - c) g^2 (y - R)^2`, which splits into sums that do not need R. Pairs that are shown
//! without replacement vary less, so this is rather too large.

use crate::evaluate::plan::Plan;
use crate::evaluate::plan::settings::Kind;
use crate::evaluate::tally::exact::ExactSum;
use crate::evaluate::tally::exact_layout::slot;

/// The column of the known rate.
const COLUMN: usize = 1;

/// Adds the shown weight of a row, its square, and its products with the row terms of a group, by model and by pair.
pub(in crate::evaluate) fn sum_row(
    plan: &Plan<'_>,
    row: usize,
    tops: &[&[u32]],
    group: usize,
    terms: &[f64],
    sums: &mut [ExactSum],
) {
    let Some(shown) = plan.shown else { return };
    let shown = shown.row_ids(row);
    let inverse = |label: u32| plan.table.inverse_at(plan.table.place(label))[COLUMN];
    for (place, term) in plan.terms.iter().enumerate() {
        let Kind::Sum { discounts, .. } = &term.kind else { continue };
        for (ki, k) in plan.settings.ks().iter().enumerate() {
            // The shown labels of each top list with their weights.
            let weights_of = |top: &&[u32]| {
                let kept = top.iter().take(*k).enumerate().filter(|(_, label)| shown.contains(label));
                kept.map(|(rank, label)| (*label, discounts[rank] * inverse(*label))).collect::<Vec<(u32, f64)>>()
            };
            let weights: Vec<Vec<(u32, f64)>> = tops.iter().map(weights_of).collect();
            let total = |model: usize| weights[model].iter().map(|entry| entry.1).sum::<f64>();
            let x = |model: usize| terms[plan.term_at(model, place, ki) + COLUMN];
            let missing = |a: usize, b: usize| -> f64 {
                let of_both = |(label, weight): &(u32, f64)| {
                    let other = weights[b].iter().find(|other| other.0 == *label)?;
                    Some((1.0 - 1.0 / inverse(*label)) * weight * other.1)
                };
                weights[a].iter().filter_map(of_both).sum()
            };
            for (model, top) in tops.iter().enumerate() {
                let h = total(model);
                let at = |slot: usize| plan.exact.shown([group, model, place, ki], slot);
                sums[at(slot::H)].add(h);
                sums[at(slot::HH)].add_product(h, h);
                sums[at(slot::XH)].add_product(x(model), h);
                sums[at(slot::SLOTS)].add(discounts[..(*k).min(top.len())].iter().sum());
                if plan.mask {
                    sums[at(slot::MASK_H)].add(missing(model, model));
                }
            }
            for (pair, (a, b)) in plan.pairs.iter().copied().enumerate() {
                let at = |slot: usize| plan.exact.shown_pair([group, pair, place, ki], slot);
                if plan.mask {
                    sums[at(slot::CROSS_HH)].add(missing(a, b));
                } else {
                    sums[at(slot::CROSS_XH)].add_product(x(a), total(b));
                    sums[at(slot::CROSS_HX)].add_product(total(a), x(b));
                    sums[at(slot::CROSS_HH)].add_product(total(a), total(b));
                }
            }
        }
    }
}
