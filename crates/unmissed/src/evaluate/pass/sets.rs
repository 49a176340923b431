//! Row terms of metrics that are functions of the label set, such as recall.

use super::chunk::Scratch;
use crate::evaluate::plan::Plan;
use crate::evaluate::plan::settings::Kind;
use crate::evaluate::tally::exact_layout::slot;
use crate::evaluate::tally::sums::ChunkSums;
use crate::metrics::{UNRANKED, Work};

/// Buffers for functions of the label set.
#[derive(Default)]
pub(in crate::evaluate) struct SetScratch {
    work: Work,
    q: Vec<f64>,
    ranks: Vec<u32>,
    others: Vec<u32>,
    out: Vec<f64>,
}

impl SetScratch {
    /// Ranks of the group's labels under one model.
    fn rank(ranks: &[u32], members: &[u32], into: &mut Vec<u32>) {
        into.clear();
        into.extend(members.iter().map(|at| ranks[*at as usize]));
    }

    /// Inverse propensities of the group's labels in one column.
    fn weigh(&mut self, plan: &Plan<'_>, places: &[usize], members: &[u32], column: usize) {
        self.q.clear();
        self.q.extend(members.iter().map(|at| plan.table.inverse_at(places[*at as usize])[column]));
    }
}

/// Adds the row terms of one group.
#[inline(always)]
pub(in crate::evaluate) fn sum_sets(plan: &Plan<'_>, group: usize, s: &mut Scratch, sums: &mut ChunkSums) {
    let ks = plan.settings.ks();
    for (place, term) in plan.terms.iter().enumerate() {
        let Kind::Set { term, unbiased, left_out } = &term.kind else { continue };
        for model in 0..plan.models.len() {
            if s.group_hits[model].is_empty() {
                // Without a hit every estimate is exactly 0, however much the other terms would cancel.
                continue;
            }
            s.sets.ranks.clear();
            s.sets.ranks.extend(s.group_hits[model].iter().map(|hit| hit.rank));
            s.sets.out.resize(ks.len(), 0.0);
            term.values(&s.sets.ranks, s.members.len(), ks, &mut s.sets.out);
            for (ki, value) in s.sets.out.iter().copied().enumerate() {
                s.waiting.terms_mut()[plan.term_at(model, place, ki)] = value;
            }
            if !unbiased {
                continue;
            }
            SetScratch::rank(&s.ranks[model], &s.members, &mut s.sets.ranks);
            debug_assert!(s.sets.ranks.iter().any(|rank| *rank != UNRANKED));
            for (column, kept) in plan.settings.columns.iter().enumerate() {
                if kept.origin.is_none() || kept.clip.is_some() || left_out.contains(&column) {
                    continue;
                }
                s.sets.weigh(plan, &s.places, &s.members, column);
                let SetScratch { work, q, ranks, out, .. } = &mut s.sets;
                let sound = term.unbiased(ranks, q, ks, work, out);
                for (ki, value) in out.iter().enumerate() {
                    let at = |slot: usize| plan.exact.model([group, model, place, ki], slot, column);
                    if sound || ranks.iter().all(|rank| *rank as usize >= ks[ki]) {
                        sums.exact[at(slot::X)].add(*value);
                        sums.exact[at(slot::XX)].add_product(*value, *value);
                        s.waiting.terms_mut()[plan.term_at(model, place, ki) + column] = *value;
                    } else {
                        sums.exact[at(slot::VOID)].add(1.0);
                        s.waiting.terms_mut()[plan.term_at(model, place, ki) + column] = 0.0;
                    }
                }
            }
        }
    }
}

/// An estimate of the mask covariance of the unbiased row terms of two models: `f~_a f~_b` minus an unbiased estimate of
/// `f_a f_b`. The row terms must have been computed.
pub(in crate::evaluate) fn mask_covariance(
    plan: &Plan<'_>,
    s: &mut Scratch,
    cell: (usize, usize, usize),
    models: (usize, usize),
) -> f64 {
    let (term, ki, column) = cell;
    let Kind::Set { term: function, unbiased: true, left_out } = &plan.terms[term].kind else { return 0.0 };
    if left_out.contains(&column) {
        return 0.0;
    }
    let x = s.waiting.terms()[plan.term_at(models.0, term, ki) + column];
    let y = s.waiting.terms()[plan.term_at(models.1, term, ki) + column];
    SetScratch::rank(&s.ranks[models.0], &s.members, &mut s.sets.ranks);
    SetScratch::rank(&s.ranks[models.1], &s.members, &mut s.sets.others);
    s.sets.weigh(plan, &s.places, &s.members, column);
    let SetScratch { work, q, ranks, others, .. } = &mut s.sets;
    x * y - function.unbiased_product(ranks, others, q, plan.settings.ks()[ki], work)
}

/// An estimate of the mask covariance of the observed row terms of two models, from what each observed label adds; `p` are
/// propensities. Too large rather than too small, for one model.
pub(in crate::evaluate) fn observed_covariance(
    plan: &Plan<'_>,
    s: &Scratch,
    (term, ki): (usize, usize),
    models: (usize, usize),
    p: impl Fn(u32) -> f64,
) -> f64 {
    let Kind::Set { term: function, .. } = &plan.terms[term].kind else { return 0.0 };
    let value = |model: usize, without: Option<u32>| {
        let relevant = s.members.len() - usize::from(without.is_some());
        if relevant == 0 {
            return 0.0;
        }
        let kept = s.group_hits[model].iter().filter(|hit| Some(hit.at) != without);
        let mut out = [0.0];
        function.values(&kept.map(|hit| hit.rank).collect::<Vec<_>>(), relevant, &plan.settings.ks()[ki..=ki], &mut out);
        out[0]
    };
    let whole = (value(models.0, None), value(models.1, None));
    let added = |at: u32| (whole.0 - value(models.0, Some(at)), whole.1 - value(models.1, Some(at)));
    s.members.iter().map(|at| (added(*at), 1.0 - p(*at))).map(|((a, b), missing)| missing * a * b).sum()
}
