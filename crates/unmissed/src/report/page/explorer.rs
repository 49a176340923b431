//! The sliders of the page and the data they work with.

use crate::audit::order_map::{MOST_A, MOST_B};
use crate::audit::{AuditResult, Explorer};
use crate::data::printable_json;
use crate::error::{Error, Result};

pub(super) struct ExplorerView {
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

impl ExplorerView {
    /// `None` when there is nothing to explore.
    pub(super) fn new(result: &AuditResult) -> Result<Option<ExplorerView>> {
        let Some(Explorer { data, constants: (a, b), k, depth }) = Explorer::new(result)? else { return Ok(None) };
        let text = serde_json::to_string(&data).map_err(|cause| Error::value(format!("cannot be written as json: {cause}")))?;
        Ok(Some(ExplorerView {
            data: in_script(&text),
            a,
            b,
            most_a: MOST_A,
            most_b: MOST_B,
            k,
            depth,
            models: data.models.len(),
            presets: data.presets,
        }))
    }
}

/// JSON in which no text can end the script element or be taken for markup.
pub(super) fn in_script(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in printable_json(json).chars() {
        match c {
            '<' | '>' | '&' => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => safe.push(c),
        }
    }
    safe
}
