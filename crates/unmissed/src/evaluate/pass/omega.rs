//! Row terms of the omega estimate: observed labels of the top list count 1, the others what the regression expects of them.

use crate::evaluate::plan::Plan;
use crate::evaluate::tally::exact::ExactSum;
use crate::evaluate::tally::exact_layout::slot;
use crate::propensity::rows::RankedRow;

/// Buffers that are reused from row to row.
#[derive(Default)]
pub(in crate::evaluate) struct OmegaScratch {
    ranked: RankedRow,
    /// By model and rank: label, and the probability that it is relevant.
    expected: Vec<Vec<(u32, f64)>>,
    /// By model, term and k.
    terms: Vec<f64>,
}

/// Adds the row terms of a group, their squares, and the products of those of two models. The groups of a row come one after the other,
/// all labels first.
pub(super) fn sum_row(plan: &Plan<'_>, row: usize, group: usize, s: &mut OmegaScratch, sums: &mut [ExactSum]) {
    if plan.omega.is_empty() {
        return;
    }
    if group == 0 {
        expect(plan, row, s);
    }
    let (ks, models) = (plan.settings.ks(), plan.omega.len());
    let cells = plan.terms.len() * ks.len();
    s.terms.clear();
    for labels in &s.expected {
        for term in &plan.terms {
            let mut labels = labels.iter().enumerate();
            let (mut sum, mut taken) = (0.0, 0);
            for k in ks {
                for (rank, (label, expected)) in labels.by_ref().take(k - taken) {
                    if plan.evaluation.is_member(*label, group) {
                        sum += plan.evaluation.gain(term, rank, *label) * expected;
                    }
                }
                taken = *k;
                s.terms.push(sum);
            }
        }
    }
    for place in 0..plan.terms.len() {
        for ki in 0..ks.len() {
            let of = |model: usize| s.terms[model * cells + place * ks.len() + ki];
            for model in (0..models).filter(|model| plan.omega[*model].is_some()) {
                let at = |slot: usize| plan.exact.omega([group, model, place, ki], slot);
                sums[at(slot::OMEGA)].add(of(model));
                sums[at(slot::OMEGA_SQUARES)].add_product(of(model), of(model));
            }
            for (pair, (a, b)) in plan.pairs.iter().copied().enumerate() {
                sums[plan.exact.omega_pair([group, pair, place, ki])].add_product(of(a), of(b));
            }
        }
    }
}

/// What is known and expected of the first labels of a row.
fn expect(plan: &Plan<'_>, row: usize, s: &mut OmegaScratch) {
    s.expected.resize(plan.omega.len(), Vec::new());
    for (model, fit) in plan.omega.iter().enumerate() {
        s.expected[model].clear();
        let Some(fit) = fit else { continue };
        s.ranked.fill(plan.models[model].row(row), plan.truth.row_ids(row), fit.unit);
        for rank in 0..s.ranked.labels.len().min(plan.settings.kmax()) {
            let (label, is_observed) = s.ranked.labels[rank];
            let expected = if is_observed { 1.0 } else { fit.model.expected(&mut s.ranked, rank, None) };
            s.expected[model].push((label, expected));
        }
    }
}
