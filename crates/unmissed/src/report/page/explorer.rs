//! What the sliders of the page need: hits by training count, and the constants to start from.

use crate::audit::AuditResult;
use crate::audit::flips::{MOST_A, MOST_B};
use crate::error::{Error, Result};
use crate::propensity::models;
use crate::report::figures::map::presets;
use serde_json::json;

pub(super) struct Explorer {
    /// JSON that may stand in a script element.
    pub(super) data: String,
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) most_a: f64,
    pub(super) most_b: f64,
    pub(super) k: usize,
    pub(super) depth: usize,
    pub(super) models: usize,
    pub(super) presets: Vec<(&'static str, f64, f64)>,
}

impl Explorer {
    /// `None` without training counts, without hits, or with too few rows for the curve.
    pub(super) fn new(result: &AuditResult) -> Result<Option<Explorer>> {
        let (Some(hits), Some(sample)) = (&result.tallies, &result.sample) else { return Ok(None) };
        if hits.depth() == 0 || sample.rows <= std::f64::consts::E {
            return Ok(None);
        }
        let spec = models::parse(&models::spec_for("jpv", &result.name)?)?;
        let theta = spec.curve().map_or(vec![0.55, 1.5], |phi| phi.theta().to_vec());
        // Counts that nobody hit add nothing to any score.
        let hit: Vec<usize> = (0..hits.counts.len())
            .filter(|place| hits.models.iter().any(|model| model.hits.iter().any(|rank| rank[*place] > 0)))
            .collect();
        let pick = |values: &[u64]| hit.iter().map(|place| values[*place]).collect::<Vec<u64>>();
        let models: Vec<_> = hits
            .models
            .iter()
            .map(|model| json!({"name": model.name, "hits": model.hits.iter().map(|rank| pick(rank)).collect::<Vec<_>>()}))
            .collect();
        let map = result
            .flips
            .as_ref()
            .map(|map| json!({"first": map.first, "second": map.second, "columns": map.a.len(), "rows": map.b.len()}));
        let data = json!({
            "rows": hits.rows, "n": sample.rows, "largest": sample.largest, "counts": pick(&hits.counts), "models": models, "map": map,
            "presets": presets(), "most": [MOST_A, MOST_B],
        });
        let text = serde_json::to_string(&data).map_err(|cause| Error::value(format!("cannot be written as json: {cause}")))?;
        Ok(Some(Explorer {
            data: in_script(&text),
            a: theta[0],
            b: theta[1],
            most_a: MOST_A,
            most_b: MOST_B,
            k: result.verdict.k.min(hits.depth()),
            depth: hits.depth(),
            models: hits.models.len(),
            presets: presets(),
        }))
    }
}

/// JSON in which no text can end the script element or be taken for markup.
fn in_script(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => safe.push(c),
        }
    }
    safe
}
