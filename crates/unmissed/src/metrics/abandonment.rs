//! `abandonment`: the share of rows whose top k has nothing relevant.
//!
//! `abandonment@k = prod_{j in top k} (1 - y_j)`, mean over rows: 1 is bad. Several libraries return the complement, the hit
//! rate, under this name. Unbiased: `prod_{j in top k} (1 - y~_j / p_j)`. On a controlled set where r of m labels are shown
//! without replacement, `sum_a (-1)^a C(h, a) (m)_a / (r)_a` with h shown hits and falling factorials `(x)_a`; it needs k <= r.
//!
//! Rows without labels count 1 (left out with `empty-rows=skip`), as do rows without predictions; ties go to the smaller label; k may exceed the number of labels.
//!
//! # Assumes
//! Unbiased: labels of a row go missing independently of each other.
//!
//! # Reference
//! Schultheis et al., KDD 2022. By hand: hits with p = 0.5 and p = 0.25 give (1 - 2)(1 - 4) = 3.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::Evaluation, propensity::Propensities};
//! let truth = Labels::from_ids(3, [vec![0, 2]])?;
//! let scores = Csr::from_rows(3, [[(0, 0.9f32), (1, 0.5), (2, 0.1)]])?;
//! let p = Propensities::new("mine", vec![0.5, 1.0, 0.25])?;
//! let result = Evaluation::new(&truth, &[("a", &scores)])?.metrics(&["abandonment"])?.ks(&[1, 3])?.propensity(p).run()?;
//! let values: Vec<f64> = result.rows.iter().filter_map(|row| row.value).collect();
//! assert_eq!(values, [0.0, -1.0, 0.0, 3.0]);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Assumption, Estimator, Metric, ObservedBound, Offer, Shape};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Abandonment;

impl crate::sealed::Sealed for Abandonment {}

impl Named for Abandonment {
    fn name(&self) -> &'static str {
        "abandonment"
    }
    fn summary(&self) -> &'static str {
        "share of rows with nothing relevant in the top k (lower is better)"
    }
}

impl Metric for Abandonment {
    fn lower_is_better(&self) -> bool {
        true
    }
    fn observed_bound(&self) -> ObservedBound {
        ObservedBound::Ceiling
    }
    fn offers(&self) -> &'static [Offer] {
        static OFFERS: &[Offer] =
            &[Offer::of(Estimator::Observed, Assumption::Complete), Offer::of(Estimator::Unbiased, Assumption::Independent)];
        OFFERS
    }
    fn shape(&self) -> Shape {
        Shape::Product
    }
}
