//! The floor under the part of a loss that belongs to irrelevant pairs: `max(0, B)`, smooth enough for Newton's method.
//!
//! `B = 1/n sum (1 - y/p) l(0, z)` counts as `tau ln(1 + e^(B / tau))`, whose slope in B is `k = s(B / tau)`. With A the rest of the
//! loss, the objective is `tau ln(e^(A / tau) + e^((A + B) / tau))`, convex when A and A + B are. Its second derivative has, besides
//! those of the pairs, the term `k (1 - k) / tau B' B'^T`: without it steps would jump from one side of the floor to the other.

use super::batches::Batch;
use super::lines::Line;
use super::problem::Part;
use crate::losses::Loss;
use crate::sigmoid::sigmoid;

/// What the floor makes of the parts of irrelevant pairs, by column.
pub(super) struct Floor<const W: usize> {
    /// The smooth `max(0, B)`.
    pub(super) values: [f64; W],
    /// Its slope in B.
    pub(super) kept: [f64; W],
    widths: [f64; W],
    weights: [f64; W],
}

/// tau, as a share of the label's estimated frequency.
const WIDTH: f64 = 0.05;

impl<const W: usize> Floor<W> {
    /// From the means of the parts.
    pub(super) fn new(means: [f64; W], part: &Part<'_, W>) -> Floor<W> {
        // The bias starts at the log odds of the estimated frequency.
        let widths = part.bias.map(|bias| WIDTH * sigmoid(f64::from(bias)));
        let softplus = |z: f64| z.max(0.0) + (-z.abs()).exp().ln_1p();
        Floor {
            values: std::array::from_fn(|column| widths[column] * softplus(means[column] / widths[column])),
            kept: std::array::from_fn(|column| sigmoid(means[column] / widths[column])),
            widths,
            weights: part.weights.map(f64::from),
        }
    }

    /// The factor of `D D^T` in the second derivative, D the gradient `k B'` of the part as far as it counts, times the weight of
    /// the label.
    pub(super) fn bend(&self) -> [f64; W] {
        std::array::from_fn(|column| {
            let (kept, weight) = (self.kept[column], self.weights[column]);
            if kept > 1e-9 && weight > 0.0 { (1.0 - kept) / (kept * self.widths[column] * weight) } else { 0.0 }
        })
    }
}

/// The columns on which the part of irrelevant pairs is negative over the rows of a batch; none for losses without a floor.
pub(super) fn below<const W: usize>(loss: &dyn Loss, part: &Part<'_, W>, batch: &Batch, logits: &[Line<W>]) -> [bool; W] {
    if loss.irrelevant(0.0, false, 1.0).is_none() {
        return [false; W];
    }
    let mut sums = [0.0; W];
    loss.values(logits.as_flattened(), &part.propensities, &mut sums);
    for (place, column) in part.positives(batch) {
        let logit = logits[place][column];
        let irrelevant = part.irrelevant(column, logit).map_or(0.0, |part| part.value);
        sums[column] += irrelevant - loss.at(f64::from(logit), false, part.exact_propensities()[column]).value;
    }
    sums.map(|sum| sum < 0.0)
}
