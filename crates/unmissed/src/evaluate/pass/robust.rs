//! Doubly robust row terms: what the labels of the top list add, in and out of the observed ones.

use crate::evaluate::plan::Plan;
use crate::evaluate::tally::exact::ExactSum;
use crate::evaluate::tally::exact_layout::slot;

/// Adds the terms of a row, their squares, and the products of those of two models. They are those of precision, before it is
/// divided by k.
pub(super) fn sum_row(plan: &Plan<'_>, row: usize, tops: &[&[u32]], group: usize, sums: &mut [ExactSum]) {
    let is_member = |label: u32| match plan.groups {
        Some(groups) if group > 0 => groups.of(label).is_some_and(|code| usize::from(code) + 1 == group),
        _ => true,
    };
    for (of, robust) in plan.robust.iter().enumerate() {
        let at_ks = |model: usize| -> Vec<f64> {
            let labels = tops[model].iter().enumerate();
            let terms: Vec<f64> =
                labels.map(|(rank, label)| if is_member(*label) { robust.term(model, row, *label, rank) } else { 0.0 }).collect();
            plan.settings.ks().iter().map(|k| terms.iter().take(*k).sum()).collect()
        };
        let terms: Vec<Vec<f64>> = (0..tops.len()).map(at_ks).collect();
        for ki in 0..plan.settings.ks().len() {
            for (model, terms) in terms.iter().enumerate() {
                sums[plan.exact.robust(of, group, model, ki, slot::ROBUST)].add(terms[ki]);
                sums[plan.exact.robust(of, group, model, ki, slot::ROBUST_SQUARES)].add_product(terms[ki], terms[ki]);
            }
            for (pair, (a, b)) in plan.pairs.iter().copied().enumerate() {
                sums[plan.exact.robust_pair(of, group, pair, ki)].add_product(terms[a][ki], terms[b][ki]);
            }
        }
    }
}
