//! Sums over labels of what the top lists gain from each: for the uncertainty of propensities and the bias of clipping.
//!
//! Clipping at tau makes the expected value of a relevant label `p_j min(q_j, tau)`, which is too small by `(1 - tau p_j)_+`. How
//! many labels of a top list are relevant is unknown, at most all, so the bias is at most
//! `n^-1 sum over top lists of w d (1 - tau p_j)_+ / scale`. It is downwards.

use crate::evaluate::plan::settings::{Kind, Term};
use crate::evaluate::tally::Tally;

/// A cell of a sum over labels.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) term: &'a Term,
    pub(super) ki: usize,
    pub(super) group: usize,
    pub(super) column: usize,
}

/// Which counts of a label are gained.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Hits,
    Predictions,
}

/// Gains by label (ascending): `w_j sum_{r <= k} d_r count_jr / scale`.
fn gains(tally: &Tally, cell: Cell<'_>, model: usize, of: Of) -> Vec<(u32, f64)> {
    let Kind::Sum { discounts, scales, weighted, by_relevant: false, pooled: false } = &cell.term.kind else { return Vec::new() };
    let (labels, k) = (&tally.labels[model], tally.settings.ks()[cell.ki]);
    let mut gains = Vec::new();
    for (place, label) in labels.ids.iter().enumerate() {
        let entries = labels.entries(place).take_while(|(rank, _, _)| (*rank as usize) < k);
        let count = |(rank, predicted, hits)| {
            let rank: u32 = rank;
            discounts[rank as usize] * f64::from(if of == Of::Hits { hits } else { predicted })
        };
        let gain: f64 = entries.map(count).sum();
        // The table need not have labels that gain nothing.
        if gain == 0.0 {
            continue;
        }
        let at = tally.table.place(*label);
        if cell.group == 0 || usize::from(tally.table.group(at)) + 1 == cell.group {
            let weight = if *weighted { tally.table.weight(at) } else { 1.0 };
            gains.push((*label, gain * weight / scales[cell.ki]));
        }
    }
    gains
}

/// Gains of a model from its hits, by label (ascending).
pub(super) fn hit_gains(tally: &Tally, cell: Cell<'_>, model: usize) -> Vec<(u32, f64)> {
    gains(tally, cell, model, Of::Hits)
}

/// Gains of hits by label, of a model or of the difference of two.
pub(super) fn gains_of_hits(tally: &Tally, cell: Cell<'_>, a: usize, b: Option<usize>) -> Vec<(u32, f64)> {
    let mut all = gains(tally, cell, a, Of::Hits);
    if let Some(b) = b {
        all.extend(gains(tally, cell, b, Of::Hits).into_iter().map(|(label, gain)| (label, -gain)));
        all.sort_by_key(|entry| entry.0);
    }
    let sum = |same: &[(u32, f64)]| (same[0].0, same.iter().map(|entry| entry.1).sum());
    all.chunk_by(|x, y| x.0 == y.0).map(sum).collect()
}

/// The most that clipping can lower the expected value.
pub(super) fn clipping_bias(tally: &Tally, n: f64, cell: Cell<'_>, model: usize) -> Option<f64> {
    let (parent, tau) = tally.settings.columns[cell.column].clip?;
    let lost = |(label, gain): (u32, f64)| gain * (1.0 - tau / tally.table.inverse_at(tally.table.place(label))[parent]).max(0.0);
    let total: f64 = gains(tally, cell, model, Of::Predictions).into_iter().map(lost).sum();
    Some(total / n)
}
