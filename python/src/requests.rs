//! The library's default requests, and the defaults of what has no request.

use crate::evaluate::json;
use pyo3::prelude::*;
use serde_json::json as object;
use unmissed::data::{DEFAULT_MIN_POSITIVES, DEFAULT_TEST_SHARE, Folds, MaskBy, MaskShape};
use unmissed::propensity::fit::FitOptions;
use unmissed::propensity::rows::DEFAULT_REFITS;
use unmissed::request::{AnnotateRequest, AuditRequest, EvaluateRequest, OptimizeRequest, TrainRequest, TreeRequest};

/// Defaults of functions that have no request, as JSON, by their names and keywords in Python.
#[pyfunction]
pub(crate) fn other_defaults() -> PyResult<String> {
    json(&object!({
        "cross_val_top_k": {"k": Folds::DEFAULT_K, "cv": Folds::DEFAULT},
        "fit_propensity": {"starts": FitOptions::default().starts, "loss": FitOptions::default().loss.name()},
        "fit_row_propensity": {"refits": DEFAULT_REFITS},
        "mask": {
            "correlation": MaskShape::default().correlation,
            "strength": MaskShape::default().strength,
            "groups": MaskBy::DEFAULT_GROUPS,
        },
        "split": {"min_positives": DEFAULT_MIN_POSITIVES, "test": DEFAULT_TEST_SHARE},
    }))
}

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
