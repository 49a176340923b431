//! `recall`: the share of a row's relevant labels that is in the top k.
//!
//! `recall@k = |top k cap y| / |y|`, mean over rows. Unbiased, with S the observed labels and T the top k:
//! `sum_{j in S cap T} q_j integral_0^1 prod_{i in S \ j} (1 - q_i + q_i t) dt`, the integral by Gauss-Legendre quadrature with
//! ceil(|S|/2) nodes, which is exact. A row with `prod max(1, |1 - q_i|) > 1e8` makes the estimate null (U009): its digits
//! would be rounding.
//!
//! Rows without labels count 0 (left out with `empty-rows=skip`) and stay in the mean (peers disagree, one of them with itself); ties go to the smaller label;
//! k may exceed the number of labels.
//!
//! # Assumes
//! Unbiased: labels of a row go missing independently of each other. Its variance can be enormous.
//!
//! # Reference
//! The general estimate `sum_{A in S} f(A) prod_A q prod_{S \ A} (1 - q)`, Schultheis et al., KDD 2022. By hand: S = {0, 1},
//! T = {0}, q = (2, 3): f({0}) 2 (-2) + f({0,1}) 2*3 = -4 + 3 = -1.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::Evaluation, propensity::Propensities};
//! let truth = Labels::from_ids(2, [vec![0, 1]])?;
//! let scores = Csr::from_rows(2, [[(0, 0.9f32), (1, 0.5)]])?;
//! let p = Propensities::new("mine", vec![0.5, 1.0 / 3.0])?;
//! let result = Evaluation::new(&truth, &[("a", &scores)])?.metrics(&["recall"])?.ks(&[1])?.propensity(p).run()?;
//! assert_eq!(result.rows[0].value, Some(0.5));
//! assert!((result.rows[1].value.unwrap() + 1.0).abs() < 1e-12);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::independent::{LIMIT, sizes};
use super::{Assumption, Estimator, Metric, Offer, SetTerm, Shape, Work};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Recall;

impl crate::sealed::Sealed for Recall {}

impl Named for Recall {
    fn name(&self) -> &'static str {
        "recall"
    }
    fn summary(&self) -> &'static str {
        "share of the relevant labels that is in the top k"
    }
}

impl Metric for Recall {
    fn offers(&self) -> &'static [Offer] {
        static OFFERS: &[Offer] =
            &[Offer::of(Estimator::Observed, Assumption::Complete), Offer::of(Estimator::Unbiased, Assumption::Independent)];
        OFFERS
    }
    fn why_not(&self, _estimator: Estimator) -> &'static str {
        "recall divides each row by its number of relevant labels, so it is not a sum over labels"
    }
    fn shape(&self) -> Shape {
        Shape::Set(&Recall)
    }
}

fn in_top(rank: u32, k: usize) -> bool {
    (rank as usize) < k
}

impl SetTerm for Recall {
    fn values(&self, hits: &[u32], relevant: usize, ks: &[usize], out: &mut [f64]) {
        let mut found = 0;
        for (k, out) in ks.iter().zip(out) {
            while hits.get(found).is_some_and(|rank| in_top(*rank, *k)) {
                found += 1;
            }
            *out = found as f64 / relevant as f64;
        }
    }

    fn growth(&self, q: f64) -> f64 {
        (1.0 - q).abs().max(1.0)
    }

    fn unbiased(&self, ranks: &[u32], q: &[f64], ks: &[usize], work: &mut Work, out: &mut [f64]) -> bool {
        out.fill(0.0);
        if q.iter().map(|q| self.growth(*q)).product::<f64>() > LIMIT {
            return false;
        }
        if ranks.iter().all(|rank| *rank == super::UNRANKED) {
            return true;
        }
        let shares = work.leave_one_out(q);
        for (rank, share) in ranks.iter().zip(shares) {
            for (k, out) in ks.iter().zip(&mut *out) {
                if in_top(*rank, *k) {
                    *out += share;
                }
            }
        }
        true
    }

    fn unbiased_product(&self, a: &[u32], b: &[u32], q: &[f64], k: usize, _work: &mut Work) -> f64 {
        // The set splits into four independent parts: in both tops, in one, in the other, in none.
        let part = |in_a: bool, in_b: bool| {
            let members = (0..q.len()).filter(|&i| in_top(a[i], k) == in_a && in_top(b[i], k) == in_b);
            sizes(members.map(|i| q[i]), q.len())
        };
        let (both, left, right, rest) = (part(true, true), part(true, false), part(false, true), part(false, false));
        let mut total = 0.0;
        for (c, pc) in both.iter().enumerate() {
            for (u, pu) in left.iter().enumerate() {
                for (v, pv) in right.iter().enumerate() {
                    let gain = ((c + u) * (c + v)) as f64;
                    if gain > 0.0 {
                        let inner = rest.iter().enumerate().map(|(w, pw)| pw / ((c + u + v + w) as f64).powi(2));
                        total += pc * pu * pv * gain * inner.sum::<f64>();
                    }
                }
            }
        }
        total
    }
}
