//! `ndcg`: precision with a discount by rank, divided by the gain of k relevant labels.
//!
//! `ndcg@k = sum_{r <= k} y_{j(r)} / log2(r + 1) / sum_{r <= k} 1 / log2(r + 1)`, mean over rows. The denominator is that of the
//! paper, the same for every row, so the metric is a sum over labels; for the ideal of each row's own labels see `ndcg-min`.
//!
//! Rows without labels count 0 (left out with `empty-rows=skip`); fewer than k predictions: the open slots are misses; ties go to the smaller label; k may exceed
//! the number of labels. A row with fewer than k labels cannot reach 1.
//!
//! # Assumes
//! Unbiased: right per-label propensities, nothing more.
//!
//! # Reference
//! Schultheis, Wydmuch, Babbar and Dembczynski, KDD 2022, table of metrics. By hand: a single hit at rank 1 of k = 3 is worth
//! `1 / (1 + 1/log2(3) + 1/2)`.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::Evaluation};
//! let truth = Labels::from_ids(3, [vec![0]])?;
//! let scores = Csr::from_rows(3, [[(0, 0.9f32), (1, 0.5), (2, 0.1)]])?;
//! let result = Evaluation::new(&truth, &[("a", &scores)])?.metrics(&["ndcg"])?.ks(&[3])?.run()?;
//! assert!((result.rows[0].value.unwrap() - 1.0 / (1.0 + 1.0 / 3f64.log2() + 0.5)).abs() < 1e-15);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::estimator::of_unweighted_sums;
use super::{Estimator, Metric, ObservedBound, Offer, Shape, SumTerm, log_discount, log_discounts};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Ndcg;

impl crate::sealed::Sealed for Ndcg {}

impl Named for Ndcg {
    fn name(&self) -> &'static str {
        "ndcg"
    }
    fn summary(&self) -> &'static str {
        "discounted gain of the top k, divided by that of k relevant labels"
    }
}

impl Metric for Ndcg {
    fn observed_bound(&self) -> ObservedBound {
        ObservedBound::Floor
    }
    fn offers(&self) -> &'static [Offer] {
        of_unweighted_sums()
    }
    fn why_not(&self, _estimator: Estimator) -> &'static str {
        "guesses of pairs are fitted only for precision"
    }
    fn shape(&self) -> Shape {
        Shape::Sum(&Ndcg)
    }
}

impl SumTerm for Ndcg {
    fn discount(&self, rank: usize) -> f64 {
        log_discount(rank)
    }
    fn scale(&self, k: usize) -> f64 {
        log_discounts(k)
    }
}
