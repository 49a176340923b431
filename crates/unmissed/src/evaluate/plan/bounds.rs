//! How large row terms can get: known before any row is read, so that their sums can be kept in fixed point.
//!
//! A sum over labels is at most the largest gain of a label times the sum of the discounts; the complement of a product of
//! `1 - q` is at most `1 + max(1, q - 1)^k`; functions of the label set are at most 1 as observed. Bounds follow from all
//! labels, whether the rows have them or not, so parts of the rows have the same.
//!
//! Fixed point has 76 bits. When the bound exceeds the smallest gain by more than [`WIDEST`], too few of them are left for the small
//! terms, and the term is summed without a bound, which takes longer.

use super::settings::{Kind, Settings, Term};
use crate::error::Result;
use crate::evaluate::tally::fixed::exponent_of;
use std::ops::RangeInclusive;

/// The largest bound, as a power of two, in units of the smallest positive row term.
const WIDEST: i32 = 28;
/// Bounds that leave room for the units of products among floats.
const POSSIBLE: RangeInclusive<i32> = -300..=400;

/// What is known about all labels: the largest inverse propensity of each column, and the smallest positive and the largest weight.
pub(super) struct Extremes {
    pub(super) inverse: Vec<f64>,
    pub(super) weights: (f64, f64),
}

/// The bounds of all terms, in order; `abandonment` are the estimates by number of hits of a set that was shown without replacement.
pub(super) fn bounds(settings: &Settings, extremes: &Extremes, abandonment: Option<&[f64]>) -> Result<Vec<Vec<i32>>> {
    let terms = settings.terms()?;
    Ok(terms.iter().map(|term| of_term(term, settings, extremes, abandonment)).collect())
}

fn of_term(term: &Term, settings: &Settings, extremes: &Extremes, abandonment: Option<&[f64]>) -> Vec<i32> {
    let unit = match &term.kind {
        Kind::Set { .. } => return vec![exponent_of(1.0)],
        // How many relevant labels a row has is not bounded by k.
        Kind::Sum { pooled: true, .. } => return Vec::new(),
        Kind::Sum { discounts, weighted, .. } => {
            let least = discounts.iter().copied().filter(|discount| *discount > 0.0).fold(f64::INFINITY, f64::min);
            least * if *weighted { extremes.weights.0 } else { 1.0 }
        }
        Kind::Product => 1.0,
    };
    let largest = |ki: usize, column: usize| match &term.kind {
        Kind::Sum { discounts, weighted, .. } => {
            let discounted: f64 = discounts[..settings.ks()[ki]].iter().sum();
            discounted * extremes.inverse[column] * if *weighted { extremes.weights.1 } else { 1.0 }
        }
        Kind::Product => {
            let table = abandonment.filter(|_| column == 1).unwrap_or_default();
            let of_table = table.iter().map(|estimate| estimate.abs()).fold(0.0, f64::max);
            let of_product = (extremes.inverse[column] - 1.0).max(1.0).powi(settings.ks()[ki].min(i32::MAX as usize) as i32);
            1.0 + of_table.max(of_product)
        }
        Kind::Set { .. } => 1.0,
    };
    let cells = (0..settings.ks().len()).flat_map(|ki| (0..settings.columns.len()).map(move |column| (ki, column)));
    let bounds: Vec<i32> = cells.map(|(ki, column)| exponent_of(largest(ki, column))).collect();
    let fits = |bound: &i32| POSSIBLE.contains(bound) && bound - exponent_of(unit) <= WIDEST;
    if unit.is_finite() && bounds.iter().all(fits) { bounds } else { Vec::new() }
}
