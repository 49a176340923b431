//! `recall-known`: recall with a known number of relevant labels per row.
//!
//! `recall-known@k = |top k cap y| / |y|` with a given |y|, mean over rows. The number of relevant labels is sometimes known
//! although the labels are not: a form states how many categories an article has, or a count was kept when a list was truncated.
//! Then recall is a sum over
//! labels, and any per-label propensity corrects it: `sum_{j in top k} y~_j / (p_j |y|)`, the propensity-scored recall of the
//! paper. Without counts there is `recall`, whose unbiased estimate needs labels that go missing independently.
//!
//! Rows without labels count 0 (left out with `empty-rows=skip`); fewer than k predictions: the open slots are misses; ties go to
//! the smaller label; k may exceed the number of labels. In a group, the group's labels are summed and |y| is that of all labels, so groups
//! add up. A row with more observed labels than its count is an error.
//!
//! # Assumes
//! Unbiased: right per-label propensities and right counts, nothing more. Observed: nothing; it is a lower bound.
//!
//! # Reference
//! Schultheis, Wydmuch, Babbar and Dembczynski, KDD 2022, table of metrics. By hand: one hit with p = 0.5 among |y| = 4 relevant
//! labels is worth 2/4.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::Evaluation, propensity::Propensities};
//! let truth = Labels::from_ids(2, [vec![0]])?;
//! let scores = Csr::from_rows(2, [[(0, 0.9f32), (1, 0.5)]])?;
//! let p = Propensities::new("mine", vec![0.5, 1.0])?;
//! let evaluation = Evaluation::new(&truth, &[("a", &scores)])?.metrics(&["recall-known"])?.ks(&[1])?.propensity(p);
//! let result = evaluation.label_counts(vec![4])?.run()?;
//! assert_eq!((result.rows[0].value, result.rows[1].value), (Some(0.25), Some(0.5)));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Assumption, Estimator, Metric, ObservedBound, Offer, Shape, SumTerm};
use crate::spec::Named;

/// See the module's page.
pub(super) struct RecallKnown;

impl crate::sealed::Sealed for RecallKnown {}

impl Named for RecallKnown {
    fn name(&self) -> &'static str {
        "recall-known"
    }
    fn summary(&self) -> &'static str {
        "recall with a known number of relevant labels per row (--label-counts)"
    }
}

impl Metric for RecallKnown {
    fn observed_bound(&self) -> ObservedBound {
        ObservedBound::Floor
    }
    fn offers(&self) -> &'static [Offer] {
        static OFFERS: &[Offer] = &[
            Offer::of(Estimator::Observed, Assumption::LowerBound),
            Offer::of(Estimator::Unbiased, Assumption::LabelWiseCounts),
            Offer::of(Estimator::Normalized, Assumption::LabelWiseRelative),
        ];
        OFFERS
    }
    fn why_not(&self, _estimator: Estimator) -> &'static str {
        "rows are divided by different numbers, so counts by label do not bound the bias of clipping; 'precision' has such a bound"
    }
    fn shape(&self) -> Shape {
        Shape::Sum(&RecallKnown)
    }
}

impl SumTerm for RecallKnown {
    fn discount(&self, _rank: usize) -> f64 {
        1.0
    }
    fn scale(&self, _k: usize) -> f64 {
        1.0
    }
    fn by_relevant(&self) -> bool {
        true
    }
}
