//! `coverage`: the share of the m labels with at least one hit.
//!
//! Expected: `coverage@k = m^-1 sum_j [1 - prod_i (1 - p_ij)]`, the product over the rows that are given label j. Once a label is as good
//! as certain to be right somewhere, giving it to more rows adds nothing.
//!
//! # Assumes
//! Calibrated probabilities, and labels of different rows that are independent given the features.
//!
//! # Reference
//! Schultheis et al., NeurIPS 2023. By hand: two rows with p = (0.9, 0.5) and (0.8, 0.1), k = 1. Label 1 for the first row, 0 for the
//! second: (0.8 + 0.5) / 2 = 0.65; label 0 for both: (1 - 0.1 x 0.2) / 2 = 0.49.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! let scores = Scores::from_rows(2, [[(0, 0.9f32), (1, 0.5)], [(0, 0.8), (1, 0.1)]])?;
//! let request = OptimizeRequest { metric: "coverage".parse()?, k: 1, ..Default::default() };
//! let report = Optimization::new(&scores, request)?.run()?.report;
//! assert!((report.value_before - 0.49).abs() < 1e-6 && (report.value - 0.65).abs() < 1e-6);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Counted, Objective, ObjectiveInputs};
use crate::optimize::terms::Terms;
use crate::spec::Named;

/// See the module's page.
pub(super) struct Coverage;

impl crate::sealed::Sealed for Coverage {}

impl Named for Coverage {
    fn name(&self) -> &'static str {
        "coverage"
    }
    fn summary(&self) -> &'static str {
        "share of all labels with at least one hit"
    }
}

impl Objective for Coverage {
    fn add_to(&self, terms: &mut Terms, times: f64, of: &ObjectiveInputs<'_>) {
        terms.add_cover(times / of.labels);
    }
    fn of_label(&self, _label: usize, counts: Counted, of: &ObjectiveInputs<'_>) -> f64 {
        if counts.hits > 0.0 { 1.0 / of.labels } else { 0.0 }
    }
}
