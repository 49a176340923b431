//! Reliability of predicted propensities on rows that were left out of the fit.

use super::matched::Matched;
use crate::propensity::quantiles::normal_half_width;
use serde::{Deserialize, Serialize};

/// Bins of a reliability curve.
const BINS: usize = 10;
/// Up to which k the dependence within rows is measured.
pub(super) const DEEPEST: usize = 50;

/// A bin of the reliability curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Mean predicted propensity.
    pub predicted: f64,
    /// Share of the pairs that were observed.
    pub observed: f64,
    /// Lower end of its 95 % interval, rows as units.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of pairs.
    pub pairs: u64,
}

/// The reliability curve: matched pairs in ten equal parts by their cross-fitted propensity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityCurve {
    /// In how many parts rows were left out.
    pub folds: usize,
    /// The curve, ascending.
    pub bins: Vec<Bin>,
    /// Mean distance of predicted and observed over all pairs.
    pub error: f64,
}

impl ReliabilityCurve {
    /// How many bins have their prediction outside the interval.
    pub fn outside(&self) -> usize {
        self.bins.iter().filter(|bin| bin.predicted < bin.low || bin.predicted > bin.high).count()
    }
}

/// The curve of cross-fitted predictions.
pub(super) fn calibration(pairs: &Matched, predicted: &[f64], folds: usize) -> ReliabilityCurve {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by(|a, b| predicted[*a].total_cmp(&predicted[*b]).then(a.cmp(b)));
    let size = pairs.len().div_ceil(BINS).max(1);
    let bins: Vec<Bin> = order.chunks(size).map(|members| bin(pairs, predicted, members)).collect();
    let distance = |bin: &Bin| bin.pairs as f64 * (bin.predicted - bin.observed).abs();
    let error = bins.iter().map(distance).sum::<f64>() / pairs.len().max(1) as f64;
    ReliabilityCurve { folds, bins, error }
}

fn bin(pairs: &Matched, predicted: &[f64], members: &[usize]) -> Bin {
    let n: f64 = members.iter().map(|pair| pairs.stands_for(*pair)).sum();
    let is_observed = |pair: usize| f64::from(u8::from(pairs.observed[pair]));
    let mean = members.iter().map(|pair| pairs.stands_for(*pair) * predicted[*pair]).sum::<f64>() / n;
    let share = members.iter().map(|pair| pairs.stands_for(*pair) * is_observed(*pair)).sum::<f64>() / n;
    let residual = |pair: &usize| (pairs.rows[*pair], pairs.stands_for(*pair) * (is_observed(*pair) - share));
    let mut by_row: Vec<(u32, f64)> = members.iter().map(residual).collect();
    by_row.sort_by_key(|(row, _)| *row);
    let square = |run: &[(u32, f64)]| run.iter().map(|(_, residual)| residual).sum::<f64>().powi(2);
    let spread = by_row.chunk_by(|a, b| a.0 == b.0).map(square).sum::<f64>().sqrt() / n;
    let half = normal_half_width(0.95) * spread;
    Bin {
        predicted: mean,
        observed: share,
        low: (share - half).max(0.0),
        high: (share + half).min(1.0),
        pairs: members.len() as u64,
    }
}

/// For each k: how much larger `Var sum (y~/p - 1)` over a row's relevant labels of the top k is than under independence.
pub(super) fn dependence(pairs: &Matched, predicted: &[f64]) -> Vec<f64> {
    let (mut together, mut alone) = (vec![0.0; DEEPEST], vec![0.0; DEEPEST]);
    let mut start = 0;
    while start < pairs.len() {
        let end = start + pairs.rows[start..].partition_point(|row| *row == pairs.rows[start]);
        let mut at_rank = [(0.0, 0.0); DEEPEST];
        for pair in (start..end).filter(|pair| pairs.ranks[*pair] < DEEPEST) {
            let residual = f64::from(u8::from(pairs.observed[pair])) / predicted[pair] - 1.0;
            at_rank[pairs.ranks[pair]] = (residual, pairs.stands_for(pair));
        }
        // Products of two pairs stand for as many as both do, a square for as many as its pair.
        let (mut sum, mut own, mut squares) = (0.0, 0.0, 0.0);
        for (rank, (residual, weight)) in at_rank.iter().enumerate() {
            sum += weight * residual;
            own += (weight * residual).powi(2);
            squares += weight * residual * residual;
            together[rank] += sum * sum - own + squares;
            alone[rank] += squares;
        }
        start = end;
    }
    let ratio = |(together, alone): (&f64, &f64)| if *alone > 0.0 { (together / alone).max(1.0) } else { 1.0 };
    together.iter().zip(&alone).map(ratio).collect()
}
