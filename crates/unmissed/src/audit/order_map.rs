//! Where in the plane of JPV's constants which of two models is ahead.
//!
//! For every (a, b) of a grid, the unbiased precision@k of one model minus that of the other, from hits by training count. There is
//! one number for each cell, so the picture shows the formula and nothing else.

use super::verdict::Verdict;
use crate::data::LabelStats;
use crate::error::Result;
use crate::evaluate::HitsByCount;
use crate::propensity::Sample;
use crate::propensity::models::jpv::Jpv;
use crate::propensity::models::{self, Preset, PropensityModel};
use rayon::prelude::*;
use serde::Serialize;

/// Cells of the grid along a and along b, and where they end; both begin at 0.
pub const COLUMNS: usize = 61;
/// See [`COLUMNS`].
pub const ROWS: usize = 41;
/// The largest a.
pub const MOST_A: f64 = 2.0;
/// The largest b.
pub const MOST_B: f64 = 10.0;

/// Differences of two models over (a, b).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrderMap {
    /// The model that is ahead as observed.
    pub first: String,
    /// The other.
    pub second: String,
    /// Length of the top list.
    pub k: usize,
    /// Values of a, ascending.
    pub a: Vec<f64>,
    /// Values of b, ascending.
    pub b: Vec<f64>,
    /// Unbiased precision@k of the first minus the second, by b, then by a.
    pub difference: Vec<f64>,
}

impl OrderMap {
    /// The map of two models of the tallies, by their places.
    pub fn new(hits: &HitsByCount, train: &LabelStats, k: usize, first: usize, second: usize) -> Result<OrderMap> {
        let sample = Sample::of(train);
        let a: Vec<f64> = (0..COLUMNS).map(|i| MOST_A * i as f64 / (COLUMNS - 1) as f64).collect();
        let b: Vec<f64> = (0..ROWS).map(|i| MOST_B * i as f64 / (ROWS - 1) as f64).collect();
        let cell = |place: usize| {
            let model = models::parse(&format!("jpv:a={},b={}", a[place % COLUMNS], b[place / COLUMNS]))?;
            let Some(phi) = model.curve() else { return Ok(f64::NAN) };
            phi.curve().check(sample)?;
            let inverse = |count| 1.0 / phi.at(sample, phi.seen(count));
            Ok(hits.unbiased(first, k, inverse) - hits.unbiased(second, k, inverse))
        };
        let difference = (0..COLUMNS * ROWS).into_par_iter().map(cell).collect::<Result<_>>()?;
        let name = |place: usize| hits.models[place].name.clone();
        Ok(OrderMap { first: name(first), second: name(second), k, a, b, difference })
    }

    /// The map of the two models that are ahead as observed; `None` for a single model, or with too few rows for JPV's curve.
    pub(super) fn of_leaders(hits: &HitsByCount, stats: &LabelStats, verdict: &Verdict) -> Result<Option<OrderMap>> {
        let value = |name: &str| {
            let scores = &verdict.standings.first()?.scores;
            scores.iter().find(|score| score.model == name)?.value
        };
        let mut order: Vec<usize> = (0..hits.models.len()).collect();
        order.sort_by(|a, b| {
            let [a, b] = [a, b].map(|place| value(&hits.models[*place].name).unwrap_or(0.0));
            b.total_cmp(&a)
        });
        match order[..] {
            [first, second, ..] if stats.rows() as f64 > std::f64::consts::E => {
                OrderMap::new(hits, stats, verdict.k, first, second).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Share of the cells in which the second model is ahead.
    pub fn share_of_second(&self) -> f64 {
        self.difference.iter().filter(|d| **d < 0.0).count() as f64 / self.difference.len().max(1) as f64
    }
}

/// JPV's constants of the literature that lie on the map: name, a, b.
pub fn presets() -> Vec<(&'static str, f64, f64)> {
    let place = |preset: &Preset| Some((preset.name, *preset.theta.first()?, *preset.theta.get(1)?));
    Jpv.presets().iter().filter_map(place).filter(|(_, a, b)| *a <= MOST_A && *b <= MOST_B).collect()
}
