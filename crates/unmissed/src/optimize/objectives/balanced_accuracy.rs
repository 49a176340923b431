//! `balanced-accuracy`: the mean of a label's recall and of its recall of rows without it, averaged over all m labels.
//!
//! `balanced-accuracy@k = m^-1 sum_j (TP_j / P_j + TN_j / N_j) / 2`, with `N_j = n - P_j` and `TN_j = N_j - (Pred_j - TP_j)`; a part
//! without rows is 0. Linear in the predictions, so one pass finds the optimum.
//!
//! # Assumes
//! Expected positives `P_j` of all rows, stored or not.
//!
//! # Reference
//! scikit-learn's `balanced_accuracy_score` of each label. By hand: two rows, one label, p = (0.9, 0.1), at most 1 label per row, so
//! P = N = 1. Given to the first row alone: (0.9 + 1 - 0.1) / 2 = 0.9.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! let scores = Scores::from_rows(1, [[(0, 0.9f32)], [(0, 0.1)]])?;
//! let request = OptimizeRequest { metric: "balanced-accuracy".parse()?, k: 1, at_most: true, ..Default::default() };
//! let report = Optimization::new(&scores, request)?.run()?.report;
//! assert!((report.value - 0.9).abs() < 1e-6);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::macro_recall::share;
use super::{Counted, Objective, ObjectiveInputs};
use crate::optimize::terms::Terms;
use crate::spec::Named;

/// See the module's page.
pub(super) struct BalancedAccuracy;

impl crate::sealed::Sealed for BalancedAccuracy {}

impl Named for BalancedAccuracy {
    fn name(&self) -> &'static str {
        "balanced-accuracy"
    }
    fn summary(&self) -> &'static str {
        "mean of each label's recall on rows with it and without it, averaged over labels"
    }
}

impl Objective for BalancedAccuracy {
    fn needs_positives(&self) -> bool {
        true
    }
    fn is_metric(&self) -> bool {
        false
    }
    fn add_to(&self, terms: &mut Terms, times: f64, of: &ObjectiveInputs<'_>) {
        let half = 0.5 * times / of.labels;
        terms.add_linear(|label| {
            let negatives = share(half, of.rows - of.positives[label]);
            [share(half, of.positives[label]) + negatives, -negatives]
        });
        let with_negatives = of.positives.iter().filter(|positives| **positives < of.rows).count();
        terms.add_constant(half * with_negatives as f64);
    }
    fn of_label(&self, _label: usize, counts: Counted, of: &ObjectiveInputs<'_>) -> f64 {
        let negatives = of.rows - counts.positives;
        let true_negatives = negatives - (counts.predicted - counts.hits);
        0.5 * (share(counts.hits, counts.positives) + share(true_negatives, negatives)) / of.labels
    }
}
