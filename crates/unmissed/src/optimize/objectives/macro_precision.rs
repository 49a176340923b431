//! `macro-precision`: the precision of each label, averaged over all m labels.
//!
//! `macro-precision@k = m^-1 sum_j TP_j / Pred_j`, 0/0 = 0: each label is best given only to the rows with its highest
//! probabilities, but with exactly k labels per row some labels must take the rest.
//!
//! # Assumes
//! Calibrated probabilities. The expected value is exact: the denominator is not random.
//!
//! # Reference
//! By hand: two rows with p = (0.9, 0.3) and (0.6, 0.1), k = 1. Top labels: 0 and 0, (0.9 + 0.6) / 2 / 2 = 0.375. Label 1 for the second
//! row: (0.9 + 0.1) / 2 = 0.5; for the first: (0.3 + 0.6) / 2 = 0.45.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! let scores = Scores::from_rows(2, [[(0, 0.9f32), (1, 0.3)], [(0, 0.6), (1, 0.1)]])?;
//! let request = OptimizeRequest { metric: "macro-precision".parse()?, k: 1, ..Default::default() };
//! let report = Optimization::new(&scores, request)?.run()?.report;
//! assert!((report.value_before - 0.375).abs() < 1e-6 && report.value > 0.4499);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Counted, Objective, ObjectiveInputs};
use crate::optimize::terms::Terms;
use crate::spec::Named;

/// See the module's page.
pub(super) struct MacroPrecision;

impl crate::sealed::Sealed for MacroPrecision {}

impl Named for MacroPrecision {
    fn name(&self) -> &'static str {
        "macro-precision"
    }
    fn summary(&self) -> &'static str {
        "precision of each label, averaged over labels"
    }
}

impl Objective for MacroPrecision {
    fn is_metric(&self) -> bool {
        false
    }
    fn add_to(&self, terms: &mut Terms, times: f64, of: &ObjectiveInputs<'_>) {
        terms.add_fraction(times / of.labels, |_| 0.0);
    }
    fn of_label(&self, _label: usize, counts: Counted, of: &ObjectiveInputs<'_>) -> f64 {
        if counts.predicted > 0.0 { counts.hits / counts.predicted / of.labels } else { 0.0 }
    }
}
