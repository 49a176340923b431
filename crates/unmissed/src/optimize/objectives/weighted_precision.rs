//! `weighted-precision`: precision with a gain for each label.
//!
//! `weighted-precision@k = (n k)^-1 sum_j w_j TP_j`, so the labels with the highest `w_j p_ij` are best for each row.
//!
//! # Assumes
//! Weights say what matters: for a tail that is to count more, `inverse-complete` weights beside propensities (see
//! [`weights`](crate::metrics::weights)).
//!
//! # Reference
//! By hand: one row, k = 1, p = (0.5, 0.25), w = (1, 4): label 1 with 4 x 0.25.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! let scores = Scores::from_rows(2, [[(0, 0.5f32), (1, 0.25)]])?;
//! let request = OptimizeRequest { metric: "weighted-precision".parse()?, k: 1, ..Default::default() };
//! let found = Optimization::new(&scores, request)?.weights("mine", vec![1.0, 4.0])?.run()?;
//! assert_eq!((found.report.value, found.predictions.row_ids(0)), (1.0, &[1][..]));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Counted, Objective, ObjectiveInputs};
use crate::optimize::terms::Terms;
use crate::spec::Named;

/// See the module's page.
pub(super) struct WeightedPrecision;

impl crate::sealed::Sealed for WeightedPrecision {}

impl Named for WeightedPrecision {
    fn name(&self) -> &'static str {
        "weighted-precision"
    }
    fn summary(&self) -> &'static str {
        "precision with a gain for each label; needs weights"
    }
}

impl Objective for WeightedPrecision {
    fn needs_weights(&self) -> bool {
        true
    }
    fn add_to(&self, terms: &mut Terms, times: f64, of: &ObjectiveInputs<'_>) {
        let times = times / (of.rows * of.k);
        terms.add_linear(|label| [times * of.weights[label], 0.0]);
    }
    fn of_label(&self, label: usize, counts: Counted, of: &ObjectiveInputs<'_>) -> f64 {
        of.weights[label] * counts.hits / (of.rows * of.k)
    }
}
