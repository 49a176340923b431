//! `macro-f`: the F measure of each label, averaged over all m labels.
//!
//! `macro-f@k = m^-1 sum_j (1 + b^2) TP_j / (b^2 P_j + Pred_j)`, where a label is predicted for a row when it is in the row's top
//! k; `macro-f:beta=2` sets b (1 by default, larger values favour recall). Unbiased: `TP_j / p_j` and `P_j / p_j` for the sums.
//!
//! 0/0 = 0: a label that is neither present nor predicted counts 0 (1 with the convention `absent-labels=one`). Fewer than k predictions: nothing is predicted in the open
//! slots; k may exceed the number of labels. In a group, the mean is over the group's labels.
//!
//! # Assumes
//! Unbiased: right per-label propensities; as a ratio of unbiased sums it is consistent, not unbiased. Labels with few
//! positives are far from that limit: the interval, a jackknife over rows, is about the expected value at this number of rows, and a
//! note says how much the value would rise with many more, where that is more than half a standard error.
//!
//! # Reference
//! scikit-learn's `f1_score(average="macro", zero_division=0)`: y = `[[1,0],[1,1]]`, predictions `[[1,0],[0,1]]` gives
//! (2/3 + 1)/2.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::Evaluation};
//! let truth = Labels::from_ids(2, [vec![0], vec![0, 1]])?;
//! let scores = Csr::from_rows(2, [[(0, 1.0f32)], [(1, 1.0)]])?;
//! let result = Evaluation::new(&truth, &[("a", &scores)])?.metrics(&["macro-f"])?.ks(&[1])?.run()?;
//! assert!((result.rows[0].value.unwrap() - 5.0 / 6.0).abs() < 1e-15);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Assumption, Estimator, LabelCounts, LabelTerm, Metric, Offer, Shape};
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

impl Metric for MacroF {
    fn offers(&self) -> &'static [Offer] {
        static OFFERS: &[Offer] =
            &[Offer::of(Estimator::Observed, Assumption::Complete), Offer::of(Estimator::Unbiased, Assumption::Consistent)];
        OFFERS
    }
    fn why_not(&self, _estimator: Estimator) -> &'static str {
        "macro-f is a ratio for each label, so it has no common best value to divide by and no single clipping bias"
    }
    fn shape(&self) -> Shape {
        Shape::Label(&MacroF)
    }
}

impl LabelTerm for MacroF {
    #[inline(always)]
    fn value(&self, counts: LabelCounts, inverse: f64, beta: f64) -> f64 {
        // With a hit the label is predicted at least once, so nothing is divided by 0.
        if counts.hits <= 0.0 {
            return 0.0;
        }
        let b2 = beta * beta;
        (1.0 + b2) * inverse * counts.hits / (b2 * inverse * counts.positives + counts.predicted)
    }
    fn has_beta(&self) -> bool {
        true
    }
    fn is_open_when_absent(&self) -> bool {
        true
    }
}
