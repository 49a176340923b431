//! The library's default requests.

use crate::evaluate::json;
use pyo3::prelude::*;
use serde_json::json as object;
use unmissed::request::{AuditRequest, EvaluateRequest, TrainRequest};

/// The default request of each verb, as JSON.
#[pyfunction]
pub(crate) fn default_requests() -> PyResult<String> {
    json(&object!({
        "audit": AuditRequest::default(),
        "evaluate": EvaluateRequest::default(),
        "train": TrainRequest::default(),
    }))
}
