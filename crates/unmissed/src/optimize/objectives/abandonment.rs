//! `abandonment`: the share of rows without a relevant label among those given. Lower is better.
//!
//! Expected: `abandonment@k = n^-1 sum_i prod_j (1 - p_ij)`, the product over the labels of row i. The most probable labels are best
//! for it alone; in a mixture it asks for one sure label per row and leaves the others to the rest. A mixture subtracts it.
//!
//! # Assumes
//! Labels of a row that are independent given its features. Where labels exclude each other the truth is lower, where they come together
//! higher. In mixtures a row's labels are exchanged one at a time, which need not find the best set.
//!
//! # Reference
//! By hand: one row with p = (0.5, 0.5, 0.1), k = 2: 0.5 x 0.5.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! let scores = Scores::from_rows(3, [[(0, 0.5f32), (1, 0.5), (2, 0.1)]])?;
//! let request = OptimizeRequest { metric: "abandonment".parse()?, k: 2, ..Default::default() };
//! assert_eq!(Optimization::new(&scores, request)?.run()?.report.value, 0.25);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Objective, ObjectiveInputs};
use crate::optimize::terms::Terms;
use crate::spec::Named;

/// See the module's page.
pub(super) struct Abandonment;

impl crate::sealed::Sealed for Abandonment {}

impl Named for Abandonment {
    fn name(&self) -> &'static str {
        "abandonment"
    }
    fn summary(&self) -> &'static str {
        "share of rows without a relevant label; a mixture subtracts it"
    }
}

impl Objective for Abandonment {
    fn lower_is_better(&self) -> bool {
        true
    }
    fn add_to(&self, terms: &mut Terms, times: f64, of: &ObjectiveInputs<'_>) {
        terms.add_abandonment(-times / of.rows);
    }
    fn of_row(&self, is_hit: bool) -> f64 {
        if is_hit { 0.0 } else { 1.0 }
    }
}
