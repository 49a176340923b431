//! Estimated mask variances of row terms: these rows, and only which labels are missing is random.
//!
//! Sums: a label with gain g (weight times discount over scale) adds `g^2 q^2 (1 - p)`, an unbiased estimate of its share
//! `g^2 y (1 - p)/p`; for a clipped lane `g^2 min(q, tau)^2 (1 - p)`. Products and other functions of the label set: the squared estimate minus an unbiased
//! estimate of the square, `f~^2 - (f^2)~`; for products `f^2 = f`, since f is 0 or 1. Two models: the same with `g_a g_b`, and with
//! `f~_a f~_b - (f_a f_b)~`, where the product of two products is the product over the union of the lists.
//!
//! # Assumes
//! Labels of a row go missing independently of each other.

use super::layout::MASK;
use super::pass::{Hit, Plan, Scratch};
use super::sets::mask_covariance;
use super::settings::Kind;

/// Adds the mask variances of each model and the covariances of each pair.
pub(super) fn sum_mask(plan: &Plan<'_>, group: usize, s: &mut Scratch, sums: &mut [f64]) {
    let models = plan.models.len();
    let mut pair = 0;
    for a in 0..models {
        for b in a..models {
            for term in 0..plan.terms.len() {
                for ki in 0..plan.settings.ks.len() {
                    let start = if a == b {
                        plan.layout.model(group, a, term, ki) + MASK * plan.layout.width
                    } else {
                        plan.layout.pair(group, pair, term, ki)
                    };
                    for lane in 1..plan.settings.lanes.len() {
                        sums[start + lane] += covariance(plan, s, (term, ki, lane), (a, b));
                    }
                }
            }
            pair += usize::from(a != b);
        }
    }
}

fn covariance(plan: &Plan<'_>, s: &mut Scratch, cell: (usize, usize, usize), models: (usize, usize)) -> f64 {
    let (term, ki, lane) = cell;
    let k = plan.settings.ks[ki];
    let (a, b) = (top(&s.group_hits[models.0], k), top(&s.group_hits[models.1], k));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    match &plan.terms[term].kind {
        Kind::Sum { discounts, scales, weighted } => {
            let mut total = 0.0;
            for hit in a {
                let Some(other) = b.iter().find(|other| other.at == hit.at) else { continue };
                let place = s.places[hit.at as usize];
                let weight = if *weighted { plan.table.weight(place) } else { 1.0 };
                let q = plan.table.lanes(place);
                let p = 1.0 / plan.settings.lanes[lane].clip.map_or(q[lane], |(parent, _)| q[parent]);
                let gains = discounts[hit.rank as usize] * discounts[other.rank as usize] * weight * weight;
                total += gains * scales[ki] * scales[ki] * q[lane] * q[lane] * (1.0 - p);
            }
            total
        }
        Kind::Product => {
            let union = a.iter().chain(b.iter().filter(|hit| a.iter().all(|other| other.at != hit.at)));
            let both = match &plan.abandonment {
                Some(table) => table.get(union.count()).copied().unwrap_or(0.0),
                None => union.map(|hit| 1.0 - plan.table.lanes(s.places[hit.at as usize])[lane]).product(),
            };
            let x = 1.0 - s.terms[plan.term_at(models.0, term, ki) + lane];
            let y = 1.0 - s.terms[plan.term_at(models.1, term, ki) + lane];
            x * y - both
        }
        Kind::Set { .. } => mask_covariance(plan, s, cell, models),
    }
}

/// The hits at ranks below k.
fn top(hits: &[Hit], k: usize) -> &[Hit] {
    &hits[..hits.partition_point(|hit| (hit.rank as usize) < k)]
}
