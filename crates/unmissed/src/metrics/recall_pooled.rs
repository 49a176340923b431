//! `recall-pooled`: the share of all relevant labels, of all rows together, that is in the top k.
//!
//! `recall-pooled@k = sum_i |top k cap y_i| / sum_i |y_i|`, numerator and denominator summed over rows. Rows count by their number of relevant
//! labels, where `recall` counts each row once. Unbiased: `y~_j / p_j` for `y_j` in both sums, a ratio of unbiased sums.
//!
//! On a controlled set (labels shown at a known rate) it is what can be known of recall: shown hits over shown relevant labels. Recall row by row
//! is not offered there. It divides by the number of relevant labels of the row, of which a row was shown a few, and no function of those
//! has the right mean: with r labels shown, only polynomials of degree r in the row's labels can be estimated, and `1/|y|` is none.
//!
//! Rows without labels add nothing; fewer than k predictions: the open slots are misses; ties go to the smaller label; k may exceed the number of
//! labels. 0/0 is null. In a group both sums are over the group's labels. Computed without being asked for on controlled sets only.
//!
//! # Assumes
//! Unbiased: right per-label propensities (on a controlled set: labels shown at the given rate, whatever they are), and enough rows: consistent, not
//! unbiased. Intervals are by the delta method, over rows or over masks; observed values have none over masks.
//!
//! # Reference
//! Micro-averaged recall: Tsoumakas, Katakis and Vlahavas, "Mining multi-label data", 2010. By hand: rows with labels {0, 1} and {2}, ranked 0, 2 and
//! 2, 0: one of two and one of one are first, two of three together.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::Evaluation};
//! let truth = Labels::from_ids(3, [vec![0, 1], vec![2]])?;
//! let scores = Csr::from_rows(3, [[(0, 0.9f32), (2, 0.5)], [(2, 0.9), (0, 0.5)]])?;
//! let result = Evaluation::new(&truth, &[("a", &scores)])?.metrics(&["recall-pooled"])?.ks(&[1])?.run()?;
//! assert_eq!(result.rows[0].value, Some(2.0 / 3.0));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Assumption, Estimator, Metric, Offer, Shape, SumTerm};
use crate::spec::Named;

/// See the module's page.
pub(super) struct RecallPooled;

impl crate::sealed::Sealed for RecallPooled {}

impl Named for RecallPooled {
    fn name(&self) -> &'static str {
        "recall-pooled"
    }
    fn summary(&self) -> &'static str {
        "share of the relevant labels of all rows together that is in the top k; also on controlled sets"
    }
}

impl Metric for RecallPooled {
    fn offers(&self) -> &'static [Offer] {
        static OFFERS: &[Offer] = &[
            Offer::of(Estimator::Observed, Assumption::Complete),
            Offer::of(Estimator::Unbiased, Assumption::Consistent),
            Offer::of(Estimator::Judged, Assumption::JudgedPairsPooled),
        ];
        OFFERS
    }
    fn why_not(&self, _estimator: Estimator) -> &'static str {
        "it is a ratio of two sums over all rows, with the estimators observed, unbiased and judged only"
    }
    fn shape(&self) -> Shape {
        Shape::Sum(&RecallPooled)
    }
}

impl SumTerm for RecallPooled {
    fn discount(&self, _rank: usize) -> f64 {
        1.0
    }
    fn scale(&self, _k: usize) -> f64 {
        1.0
    }
    fn pooled(&self) -> bool {
        true
    }
}
