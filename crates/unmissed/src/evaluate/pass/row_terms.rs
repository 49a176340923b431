//! Row terms: what one row adds to the sums of every cell.
//!
//! Columns go in blocks of [`BLOCK`], so that one instruction serves several propensity models. Rows and groups without a hit add
//! nothing but their best row term. Terms with a bound wait until several rows have some (`waiting.rs`); the others go into exact sums.

use super::chunk::Scratch;
use crate::evaluate::plan::Plan;
use crate::evaluate::plan::settings::Kind;
use crate::evaluate::tally::exact::ExactSum;
use crate::evaluate::tally::exact_layout::slot;
use crate::evaluate::tally::fixed::BLOCK;
use crate::evaluate::tally::sums::ChunkSums;
use crate::top_k::{FEW, sort_few};

/// Adds the row terms of all labels together and of each group; `after` sees the row terms of each.
#[inline(always)]
pub(in crate::evaluate) fn sum_groups(
    plan: &Plan<'_>,
    s: &mut Scratch,
    sums: &mut ChunkSums,
    after: impl Fn(&mut Scratch, usize, &mut ChunkSums),
) {
    // All labels of the row are members: the list is always 0, 1, ..., and only its length changes.
    while s.everybody.len() < s.places.len() {
        s.everybody.push(s.everybody.len() as u32);
    }
    s.everybody.truncate(s.places.len());
    std::mem::swap(&mut s.members, &mut s.everybody);
    std::mem::swap(&mut s.group_hits, &mut s.hits);
    sum_group(plan, 0, s, sums);
    after(s, 0, sums);
    std::mem::swap(&mut s.members, &mut s.everybody);
    std::mem::swap(&mut s.group_hits, &mut s.hits);
    for group in 1..plan.settings.groups.len() {
        let is_member = |at: u32| usize::from(plan.table.group(s.places[at as usize])) + 1 == group;
        s.members.clear();
        s.members.extend((0..s.places.len() as u32).filter(|at| is_member(*at)));
        for (group_hits, hits) in s.group_hits.iter_mut().zip(&s.hits) {
            group_hits.clear();
            group_hits.extend(hits.iter().filter(|hit| is_member(hit.at)));
        }
        sum_group(plan, group, s, sums);
        after(s, group, sums);
    }
}

/// Adds the row terms of one group.
#[inline(always)]
fn sum_group(plan: &Plan<'_>, group: usize, s: &mut Scratch, sums: &mut ChunkSums) {
    s.waiting.open(group);
    let any_hit = s.group_hits.iter().any(|hits| !hits.is_empty());
    if s.group_hits.iter().any(Vec::is_empty) {
        s.waiting.terms_mut().fill(0.0);
    }
    if s.members.is_empty() {
        return;
    }
    if plan.needs_best && plan.table.ordered {
        order(plan, s);
    }
    for block in 0..plan.layout.width / BLOCK {
        for model in 0..plan.models.len() {
            if !s.group_hits[model].is_empty() {
                sum_model(plan, group, model, block, s, sums);
            }
        }
        if plan.needs_best {
            sum_best(plan, group, block, s, sums);
        }
    }
    super::sets::sum_sets(plan, group, s, sums);
    if any_hit && !plan.mask {
        sum_unbounded_pairs(plan, group, s, sums);
    }
    if plan.mask {
        super::mask::sum_mask(plan, group, s, &mut sums.exact);
    }
    if any_hit || plan.needs_best {
        s.waiting.keep(plan, group, sums);
    }
}

#[inline(always)]
fn block_of(values: &[f64], start: usize) -> [f64; BLOCK] {
    let mut block = [0.0; BLOCK];
    block.copy_from_slice(&values[start..start + BLOCK]);
    block
}

/// The weight among the columns of a label.
#[inline(always)]
fn weight_of(plan: &Plan<'_>, columns: &[f64], base: usize) -> f64 {
    plan.table.weight_column.map_or(1.0, |column| columns[base + column])
}

/// The columns of a block that have a meaning, as columns of the table.
#[inline(always)]
fn columns_of(plan: &Plan<'_>, block: usize) -> std::ops::Range<usize> {
    block * BLOCK..((block + 1) * BLOCK).min(plan.settings.columns.len())
}

/// The larger and the smaller of two, column by column.
#[inline(always)]
fn ordered(a: [f64; BLOCK], b: [f64; BLOCK]) -> ([f64; BLOCK], [f64; BLOCK]) {
    // Not by comparing: a conditional move back to where a number came from would become a slow masked store.
    let larger = std::array::from_fn(|column| a[column].max(b[column]));
    let smaller = std::array::from_fn(|column| a[column].min(b[column]));
    (larger, smaller)
}

/// Where the columns of the labels of the group start, largest inverse propensity first, when one order serves all columns.
#[inline(always)]
fn order(plan: &Plan<'_>, s: &mut Scratch) {
    let key = |at: u32| (s.places[at as usize] as u64) << 32 | u64::from(at);
    s.order.clear();
    if s.members.len() <= FEW {
        let mut few = [u64::MAX; FEW];
        few.iter_mut().zip(&s.members).for_each(|(slot, at)| *slot = key(*at));
        sort_few(&mut few);
        s.order.extend_from_slice(&few[..s.members.len()]);
    } else {
        s.order.extend(s.members.iter().map(|at| key(*at)));
        s.order.sort_unstable();
    }
    let start = s.start;
    s.order.iter_mut().for_each(|key| *key = ((start as u64) + (*key & 0xFFFF_FFFF)) * plan.layout.width as u64);
}

/// The inverse propensities of all relevant labels of the group, which are its relevant labels in expectation.
#[inline(always)]
fn all_relevant(plan: &Plan<'_>, s: &Scratch, block: usize) -> [f64; BLOCK] {
    let mut total = [0.0; BLOCK];
    for at in &s.members {
        let q = block_of(&s.inverse, (s.start + *at as usize) * plan.layout.width + block * BLOCK);
        total.iter_mut().zip(q).for_each(|(total, q)| *total += q);
    }
    total
}

/// The best row terms that any ranking could have: the largest inverse propensities (times weights) first.
#[inline(always)]
fn sum_best(plan: &Plan<'_>, group: usize, block: usize, s: &mut Scratch, sums: &mut ChunkSums) {
    let count = s.members.len().min(plan.settings.kmax());
    let mut sorted_for = None;
    for (place, term) in plan.terms.iter().enumerate() {
        let Kind::Sum { discounts, weighted, by_relevant, pooled, .. } = &term.kind else { continue };
        if sorted_for != Some(*weighted) {
            sorted_for = Some(*weighted);
            sort_best(plan, block, *weighted, count, s);
        }
        let factor = s.factor(*by_relevant);
        let mut total = [0.0; BLOCK];
        let mut rank = 0;
        for (ki, k) in plan.settings.ks().iter().enumerate() {
            if *pooled {
                total = all_relevant(plan, s, block);
            }
            while !*pooled && rank < (*k).min(count) {
                for (total, best) in total.iter_mut().zip(&s.best[rank]) {
                    *total += discounts[rank] * best;
                }
                rank += 1;
            }
            let value = total.map(|total| total * factor);
            if term.bounds.is_empty() {
                add_best(plan, (group, place, ki, block), value, s, sums);
            } else {
                let at = plan.term_at(0, place, ki) + block * BLOCK;
                s.waiting.best_mut()[at..at + BLOCK].copy_from_slice(&value);
            }
        }
    }
}

/// The largest inverse propensities of the group, times weights or not, column by column.
#[inline(always)]
fn sort_best(plan: &Plan<'_>, block: usize, weighted: bool, count: usize, s: &mut Scratch) {
    let best = &mut s.best;
    if best.len() < count {
        best.resize(count, [0.0; BLOCK]);
    }
    let value_of = |base: usize| {
        let mut value = block_of(&s.inverse, base + block * BLOCK);
        if weighted {
            let weight = weight_of(plan, &s.inverse, base);
            value.iter_mut().for_each(|v| *v *= weight);
        }
        value
    };
    if plan.table.ordered {
        best[..count].iter_mut().zip(&s.order).for_each(|(slot, base)| *slot = value_of(*base as usize));
        return;
    }
    for (seen, at) in s.members.iter().enumerate() {
        let mut value = value_of((s.start + *at as usize) * plan.layout.width);
        // Insertion in all columns at once, without branches.
        for slot in &mut best[..seen.min(count)] {
            (*slot, value) = ordered(*slot, value);
        }
        if seen < count {
            best[seen] = value;
        }
    }
}

/// Adds best row terms without a bound.
fn add_best(
    plan: &Plan<'_>,
    (group, place, ki, block): (usize, usize, usize, usize),
    value: [f64; BLOCK],
    s: &Scratch,
    sums: &mut ChunkSums,
) {
    for column in columns_of(plan, block) {
        let d = value[column % BLOCK];
        let at = |slot: usize| plan.exact.best(group, place, ki, slot, column);
        sums.exact[at(slot::D)].add(d);
        sums.exact[at(slot::DD)].add_product(d, d);
        for model in 0..plan.models.len() {
            let x = s.waiting.terms()[plan.term_at(model, place, ki) + column];
            let at = plan.exact.model([group, model, place, ki], slot::XD, column);
            if !s.group_hits[model].is_empty() {
                sums.exact[at].add_product(x, d);
            }
        }
    }
}

/// The row terms of sums and products of one model and block of columns.
#[inline(always)]
fn sum_model(plan: &Plan<'_>, group: usize, model: usize, block: usize, s: &mut Scratch, sums: &mut ChunkSums) {
    let (layout, ks) = (plan.layout, plan.settings.ks());
    for (place, term) in plan.terms.iter().enumerate() {
        let mut total = [if matches!(term.kind, Kind::Product) { 1.0 } else { 0.0 }; BLOCK];
        let hits = &s.group_hits[model];
        let mut next = 0;
        for (ki, k) in ks.iter().enumerate() {
            let value = match &term.kind {
                Kind::Sum { discounts, weighted, by_relevant, .. } => {
                    while next < hits.len() && (hits[next].rank as usize) < *k {
                        let base = (s.start + hits[next].at as usize) * layout.width;
                        let q = block_of(&s.inverse, base + block * BLOCK);
                        let gain =
                            discounts[hits[next].rank as usize] * if *weighted { weight_of(plan, &s.inverse, base) } else { 1.0 };
                        for column in 0..BLOCK {
                            total[column] += gain * q[column];
                        }
                        next += 1;
                    }
                    let factor = s.factor(*by_relevant);
                    total.map(|t| t * factor)
                }
                Kind::Product => {
                    while next < hits.len() && (hits[next].rank as usize) < *k {
                        let base = (s.start + hits[next].at as usize) * layout.width;
                        let q = block_of(&s.inverse, base + block * BLOCK);
                        for column in 0..BLOCK {
                            total[column] *= 1.0 - q[column];
                        }
                        next += 1;
                    }
                    let mut value = total.map(|t| 1.0 - t);
                    if let Some(table) = &plan.abandonment {
                        // Column 0 is what was observed, column 1 the known rate.
                        if block == 0 {
                            value[1] = 1.0 - table[next];
                        }
                    }
                    value
                }
                Kind::Set { .. } => break,
            };
            let at = plan.term_at(model, place, ki) + block * BLOCK;
            s.waiting.terms_mut()[at..at + BLOCK].copy_from_slice(&value);
            if term.bounds.is_empty() {
                add_terms(plan, ([group, model, place, ki], block), value, sums);
            }
        }
    }
}

/// Adds row terms without a bound.
fn add_terms(plan: &Plan<'_>, (cell, block): ([usize; 4], usize), value: [f64; BLOCK], sums: &mut ChunkSums) {
    for column in columns_of(plan, block) {
        let (at, value) = (|slot: usize| plan.exact.model(cell, slot, column), value[column % BLOCK]);
        sums.exact[at(slot::X)].add(value);
        sums.exact[at(slot::XX)].add_product(value, value);
    }
}

/// Adds the products of the row terms of each pair of models that have no bound.
#[inline(always)]
fn sum_unbounded_pairs(plan: &Plan<'_>, group: usize, s: &Scratch, sums: &mut ChunkSums) {
    let columns = plan.settings.columns.len();
    for (pair, (a, b)) in plan.pairs.iter().copied().enumerate() {
        for (place, term) in plan.terms.iter().enumerate() {
            for ki in 0..plan.settings.ks().len() {
                let (of_a, of_b) = (plan.term_at(a, place, ki), plan.term_at(b, place, ki));
                for column in term.unbounded(columns) {
                    let sum: &mut ExactSum = &mut sums.exact[plan.exact.pair([group, pair, place, ki], column)];
                    sum.add_product(s.waiting.terms()[of_a + column], s.waiting.terms()[of_b + column]);
                }
            }
        }
    }
}
