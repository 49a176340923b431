//! `macro-recall`: the recall of each label, averaged over all m labels.
//!
//! `macro-recall@k = m^-1 sum_j TP_j / P_j`, 0 for a label without positives. Linear in the predictions: the labels with the highest
//! `p_ij / P_j` are best for each row, and one pass finds the optimum.
//!
//! # Assumes
//! Expected positives `P_j` of all rows, stored or not.
//!
//! # Reference
//! By hand: two rows with p = (0.9, 0.3) and (0.6, 0.1), k = 1, so P = (1.5, 0.4). Label 1 for the first row and 0 for the second:
//! (0.3 / 0.4 + 0.6 / 1.5) / 2 = 0.575.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! let scores = Scores::from_rows(2, [[(0, 0.9f32), (1, 0.3)], [(0, 0.6), (1, 0.1)]])?;
//! let request = OptimizeRequest { metric: "macro-recall".parse()?, k: 1, ..Default::default() };
//! let report = Optimization::new(&scores, request)?.run()?.report;
//! assert!((report.value - 0.575).abs() < 1e-6);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Counted, Objective, ObjectiveInputs};
use crate::optimize::terms::Terms;
use crate::spec::Named;

/// See the module's page.
pub(super) struct MacroRecall;

impl crate::sealed::Sealed for MacroRecall {}

impl Named for MacroRecall {
    fn name(&self) -> &'static str {
        "macro-recall"
    }
    fn summary(&self) -> &'static str {
        "recall of each label, averaged over labels"
    }
}

impl Objective for MacroRecall {
    fn needs_positives(&self) -> bool {
        true
    }
    fn is_metric(&self) -> bool {
        false
    }
    fn add_to(&self, terms: &mut Terms, times: f64, of: &ObjectiveInputs<'_>) {
        terms.add_linear(|label| [share(times / of.labels, of.positives[label]), 0.0]);
    }
    fn of_label(&self, _label: usize, counts: Counted, of: &ObjectiveInputs<'_>) -> f64 {
        share(counts.hits / of.labels, counts.positives)
    }
}

/// 0 of nothing.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
