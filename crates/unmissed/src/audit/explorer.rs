//! What recomputing scores under other constants needs: hits by training count, and the constants to start from.

use super::order_map::{MOST_A, MOST_B, OrderMap, presets};
use super::result::AuditResult;
use crate::error::{Error, Result};
use crate::propensity::models;
use serde::Serialize;

/// What the sliders of the page work with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explorer {
    pub(crate) data: ExplorerData,
    /// JPV's constants to start from.
    pub(crate) constants: (f64, f64),
    /// Length of the top list to start from, and the longest.
    pub(crate) k: usize,
    pub(crate) depth: usize,
}

/// Hits by training count and the map's size, as the page's script reads them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ExplorerData {
    rows: u64,
    n: f64,
    largest: f64,
    counts: Vec<u64>,
    pub(crate) models: Vec<crate::evaluate::ModelHits>,
    map: Option<MapSize>,
    pub(crate) presets: Vec<(&'static str, f64, f64)>,
    most: (f64, f64),
}

/// The cells of the map and whom it compares.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct MapSize {
    first: String,
    second: String,
    columns: usize,
    rows: usize,
}

impl Explorer {
    /// `None` without training counts, without hits, or with too few rows for JPV's curve.
    pub(crate) fn new(result: &AuditResult) -> Result<Option<Explorer>> {
        let (Some(hits), Some(sample)) = (&result.tallies, &result.sample) else { return Ok(None) };
        if hits.depth() == 0 || sample.rows <= std::f64::consts::E {
            return Ok(None);
        }
        let spec = models::parse(&models::spec_for("jpv", &result.name)?)?;
        let Some([a, b]) = spec.curve().and_then(|phi| phi.theta().first_chunk::<2>()) else {
            return Err(Error::value("jpv has no constants a and b"));
        };
        // Counts that nobody hit add nothing to any score.
        let is_hit = |place: &usize| hits.models.iter().any(|model| model.hits.iter().any(|rank| rank[*place] > 0));
        let hit: Vec<usize> = (0..hits.counts.len()).filter(is_hit).collect();
        let pick = |values: &[u64]| hit.iter().map(|place| values[*place]).collect::<Vec<u64>>();
        let mut models = hits.models.clone();
        models.iter_mut().flat_map(|model| &mut model.hits).for_each(|rank| *rank = pick(rank));
        let size = |map: &OrderMap| MapSize {
            first: map.first.clone(),
            second: map.second.clone(),
            columns: map.a.len(),
            rows: map.b.len(),
        };
        let data = ExplorerData {
            rows: hits.rows,
            n: sample.rows,
            largest: sample.largest,
            counts: pick(&hits.counts),
            models,
            map: result.order_map.as_ref().map(size),
            presets: presets(),
            most: (MOST_A, MOST_B),
        };
        Ok(Some(Explorer { data, constants: (*a, *b), k: result.verdict.k.min(hits.depth()), depth: hits.depth() }))
    }
}
