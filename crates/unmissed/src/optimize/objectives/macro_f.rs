//! `macro-f`: the F measure of each label, averaged over all m labels.
//!
//! `macro-f@k = m^-1 sum_j (1 + b^2) TP_j / (b^2 P_j + Pred_j)`, 0/0 = 0; `macro-f:beta=2` sets b (1 by default, larger values favour
//! recall). A label that is given more often than it is worth takes away from others, so the best labels of a row depend on the other rows.
//!
//! # Assumes
//! Calibrated probabilities and expected positives `P_j` of all rows, stored or not. The search puts expected counts into the ratio;
//! the expected ratio itself is somewhat different for labels with few positives, and what is reported is drawn.
//!
//! # Reference
//! Schultheis, Wydmuch, Kotłowski, Babbar and Dembczyński, "Generalized test utilities for long-tail performance in extreme multi-label
//! classification", NeurIPS 2023. By hand: two rows with p = (0.9, 0.4) and (0.8, 0), k = 1. Top labels: 0 and 0, F = (2 x 1.7 / (1.7 + 2) + 0)
//! / 2 = 0.459. Label 1 for the first row: (2 x 0.8 / (1.7 + 1) + 2 x 0.4 / (0.4 + 1)) / 2 = 0.582.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! let scores = Scores::from_rows(2, [[(0, 0.9f32), (1, 0.4)], [(0, 0.8), (1, 0.0)]])?;
//! let request = OptimizeRequest { metric: "macro-f".parse()?, k: 1, ..Default::default() };
//! let found = Optimization::new(&scores, request)?.run()?;
//! assert!((found.report.value_before - 0.459459).abs() < 1e-6 && (found.report.value - 0.582010).abs() < 1e-6);
//! assert_eq!(found.predictions.row_ids(0), [1]);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Counted, Objective, ObjectiveInputs};
use crate::optimize::terms::Terms;
use crate::spec::Named;

/// See the module's page.
pub(super) struct MacroF;

impl crate::sealed::Sealed for MacroF {}

impl Named for MacroF {
    fn name(&self) -> &'static str {
        "macro-f"
    }
    fn summary(&self) -> &'static str {
        "F measure of each label, averaged over labels; macro-f:beta=1"
    }
}

impl Objective for MacroF {
    fn needs_positives(&self) -> bool {
        true
    }
    fn has_beta(&self) -> bool {
        true
    }
    fn add_to(&self, terms: &mut Terms, times: f64, of: &ObjectiveInputs<'_>) {
        let squared = of.beta * of.beta;
        terms.add_fraction(times * (1.0 + squared) / of.labels, |label| squared * of.positives[label]);
    }
    fn of_label(&self, _label: usize, counts: Counted, of: &ObjectiveInputs<'_>) -> f64 {
        if counts.hits <= 0.0 {
            return 0.0;
        }
        let squared = of.beta * of.beta;
        (1.0 + squared) * counts.hits / (squared * counts.positives + counts.predicted) / of.labels
    }
}
