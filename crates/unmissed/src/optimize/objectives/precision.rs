//! `precision`: the share of given labels that are relevant. The most probable labels of each row are best for it, whatever the
//! other rows have, so it is meant for mixtures.
//!
//! `precision@k = (n k)^-1 sum_j TP_j`. With fewer than k labels the open slots are misses.
//!
//! # Assumes
//! Probabilities of relevant labels; their order within a row is all that counts.
//!
//! # Reference
//! By hand: two rows, k = 1, probabilities (0.5, 0.25) and (0.25, 0.75): (0.5 + 0.75) / 2.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! let scores = Scores::from_rows(2, [[(0, 0.5f32), (1, 0.25)], [(0, 0.25), (1, 0.75)]])?;
//! let request = OptimizeRequest { metric: "precision".parse()?, k: 1, ..Default::default() };
//! let found = Optimization::new(&scores, request)?.run()?;
//! assert_eq!(found.report.value, 0.625);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Counted, Objective, ObjectiveInputs};
use crate::optimize::terms::Terms;
use crate::spec::Named;

/// See the module's page.
pub(super) struct Precision;

impl crate::sealed::Sealed for Precision {}

impl Named for Precision {
    fn name(&self) -> &'static str {
        "precision"
    }
    fn summary(&self) -> &'static str {
        "share of predicted labels that are relevant; for mixtures"
    }
}

impl Objective for Precision {
    fn add_to(&self, terms: &mut Terms, times: f64, of: &ObjectiveInputs<'_>) {
        terms.add_uniform(times / (of.rows * of.k));
    }
    fn of_label(&self, _label: usize, counts: Counted, of: &ObjectiveInputs<'_>) -> f64 {
        counts.hits / (of.rows * of.k)
    }
}
