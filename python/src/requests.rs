//! The library's default requests.

use crate::evaluate::json;
use pyo3::prelude::*;
use serde_json::json as object;
use unmissed::request::{AnnotateRequest, AuditRequest, EvaluateRequest, OptimizeRequest, TrainRequest, TreeRequest};

/// The default request of each verb, as JSON.
#[pyfunction]
pub(crate) fn default_requests() -> PyResult<String> {
    json(&object!({
        "annotate": AnnotateRequest::default(),
        "audit": AuditRequest::default(),
        "evaluate": EvaluateRequest::default(),
        "optimize": OptimizeRequest::default(),
        "train": TrainRequest::default(),
        "tree": TreeRequest::default(),
    }))
}
