//! `coverage`: the share of the m labels with at least one hit.
//!
//! `coverage@k = m^-1 #{j : some row has j relevant and in its top k}`. The observed value is a lower bound: a missing label can
//! only add a hit. Unbiased, on request: `m^-1 sum_j [1 - (1 - q_j)^h_j]` with h_j observed hits.
//!
//! Divided by all m labels, whether they occur in the test rows or not (in a group: by the group's labels); with the convention
//! `coverage-of=present` by those that occur. Fewer than k
//! predictions: nothing is predicted in the open slots; k may exceed the number of labels.
//!
//! # Assumes
//! Unbiased: labels go missing independently across rows. Its variance explodes where p < 1/2, which is why it is not computed
//! unless asked for.
//!
//! # Reference
//! Schultheis et al., KDD 2022. By hand: two of four labels are hit.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::Evaluation};
//! let truth = Labels::from_ids(4, [vec![0], vec![0, 1], vec![2]])?;
//! let scores = Csr::from_rows(4, [[(0, 1.0f32)], [(1, 1.0)], [(3, 1.0)]])?;
//! let result = Evaluation::new(&truth, &[("a", &scores)])?.metrics(&["coverage"])?.ks(&[1])?.run()?;
//! assert_eq!(result.rows[0].value, Some(0.5));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Assumption, Estimator, LabelCounts, LabelTerm, Metric, ObservedBound, Offer, Shape};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Coverage;

impl crate::sealed::Sealed for Coverage {}

impl Named for Coverage {
    fn name(&self) -> &'static str {
        "coverage"
    }
    fn summary(&self) -> &'static str {
        "share of all labels with at least one hit; the observed value is a lower bound"
    }
}

impl Metric for Coverage {
    fn observed_bound(&self) -> ObservedBound {
        ObservedBound::Floor
    }
    fn offers(&self) -> &'static [Offer] {
        static OFFERS: &[Offer] = &[
            Offer::of(Estimator::Observed, Assumption::LowerBound),
            Offer::on_request(Estimator::Unbiased, Assumption::IndependentRows),
        ];
        OFFERS
    }
    fn why_not(&self, _estimator: Estimator) -> &'static str {
        "coverage needs one hit per label, so it is not a sum over rows; the observed value is a lower bound"
    }
    fn shape(&self) -> Shape {
        Shape::Label(&Coverage)
    }
}

/// Not inlined: compilers compute powers in advance, also where they turn out not to be needed.
#[inline(never)]
fn unbiased(hits: f64, inverse: f64) -> f64 {
    // Hits are whole numbers far below 2^31: a row has a label once.
    1.0 - (1.0 - inverse).powi(hits as i32)
}

impl LabelTerm for Coverage {
    #[inline(always)]
    fn value(&self, counts: LabelCounts, inverse: f64, _beta: f64) -> f64 {
        if counts.hits <= 0.0 {
            0.0
        } else if inverse == 1.0 {
            1.0
        } else {
            unbiased(counts.hits, inverse)
        }
    }
    fn is_of_hits(&self) -> bool {
        true
    }
    fn may_be_of_present(&self) -> bool {
        true
    }
}
