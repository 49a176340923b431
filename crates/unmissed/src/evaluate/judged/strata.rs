//! Strata: groups of unobserved pairs that are similar before they are judged.
//!
//! By the best rank (bands that end at each k), by whether all models list the pair or some do, and by the label's training count
//! (thirds of the pairs). Fine strata make estimates sharper, but each needs pairs of its own, so the finest division is used that
//! still has at least [`PAIRS_PER_STRATUM`] pairs per stratum on average.

use super::pool::Pool;
use crate::data::LabelStats;
use std::collections::BTreeMap;

/// Fewer pairs than this per stratum, on average, say too little about its variance.
const PAIRS_PER_STRATUM: u64 = 8;

/// Marks pairs outside all strata: observed ones.
pub(super) const NO_STRATUM: u16 = u16::MAX;

/// The strata of a pool.
pub(super) struct Strata {
    pub(super) names: Vec<String>,
    /// By pair of the pool; [`NO_STRATUM`] for observed pairs.
    pub(super) of: Vec<u16>,
}

/// What describes a pair: rank band, whether models differ, count band.
type Cell = (usize, bool, usize);

impl Strata {
    /// The finest division that the budget allows.
    pub(super) fn new(pool: &Pool, ks: &[usize], train: Option<&LabelStats>, budget: u64) -> Strata {
        let cuts = train.map(|stats| count_cuts(pool, stats));
        let cell = |pair: usize| -> Cell {
            let rank = pool.best_rank(pair) as usize + 1;
            let band = ks.iter().position(|k| rank <= *k).unwrap_or(ks.len());
            let count = match (&cuts, train) {
                (Some(cuts), Some(stats)) => cuts.iter().filter(|cut| stats.count(pool.pairs[pair].1) >= **cut).count(),
                _ => 0,
            };
            (band, pool.models > 1 && pool.listed_by(pair) < pool.models, count)
        };
        let unobserved: Vec<usize> = (0..pool.len()).filter(|pair| !pool.observed[*pair]).collect();
        let cells: Vec<Cell> = unobserved.iter().map(|pair| cell(*pair)).collect();
        let coarser: [fn(Cell) -> Cell; 4] =
            [|cell| cell, |(band, differ, _)| (band, differ, 0), |(band, _, _)| (band, false, 0), |_| (0, false, 0)];
        let most = (budget / PAIRS_PER_STRATUM).max(1) as usize;
        let distinct = |coarse: fn(Cell) -> Cell| {
            let mut places: BTreeMap<Cell, u16> = cells.iter().map(|cell| (coarse(*cell), 0)).collect();
            places.values_mut().enumerate().for_each(|(place, number)| *number = place as u16);
            places
        };
        let chosen = coarser.iter().position(|coarse| distinct(*coarse).len() <= most).unwrap_or(coarser.len() - 1);
        let places = distinct(coarser[chosen]);
        let mut of = vec![NO_STRATUM; pool.len()];
        for (pair, cell) in unobserved.iter().zip(&cells) {
            of[*pair] = places.get(&coarser[chosen](*cell)).copied().unwrap_or(NO_STRATUM);
        }
        let several = pool.models > 1 && chosen < 2;
        let names = places.keys().map(|cell| name(*cell, ks, several, cuts.as_deref().filter(|_| chosen == 0), chosen == 3));
        Strata { names: names.collect(), of }
    }
}

/// Where thirds of the unobserved pairs are cut by training count, ascending and each once.
fn count_cuts(pool: &Pool, stats: &LabelStats) -> Vec<u64> {
    let mut counts: Vec<u64> =
        (0..pool.len()).filter(|pair| !pool.observed[*pair]).map(|pair| stats.count(pool.pairs[pair].1)).collect();
    counts.sort_unstable();
    let mut cuts: Vec<u64> = [1, 2].iter().filter_map(|third| counts.get(third * counts.len() / 3).copied()).collect();
    cuts.dedup();
    cuts.retain(|cut| counts.first().is_some_and(|least| cut > least));
    cuts
}

fn name((band, differ, count): Cell, ks: &[usize], several: bool, cuts: Option<&[u64]>, is_whole: bool) -> String {
    if is_whole {
        return "all".into();
    }
    let first = band.checked_sub(1).and_then(|before| ks.get(before)).map_or(1, |k| k + 1);
    let last = ks.get(band).copied().unwrap_or(first);
    let mut parts = vec![if first == last { format!("rank {first}") } else { format!("rank {first}-{last}") }];
    if several {
        parts.push(if differ { "models differ".into() } else { "models agree".into() });
    }
    if let Some(cuts) = cuts.filter(|cuts| !cuts.is_empty()) {
        parts.push(match (count.checked_sub(1).map(|below| cuts[below]), cuts.get(count)) {
            (None, Some(above)) => format!("count below {above}"),
            (Some(least), Some(above)) => format!("count {least} to {}", above - 1),
            (Some(least), None) => format!("count from {least}"),
            (None, None) => "any count".into(),
        });
    }
    parts.join("; ")
}
