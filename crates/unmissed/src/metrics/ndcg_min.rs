//! `ndcg-min`: discounted gain divided by the best that the row's own labels allow; the nDCG of most libraries.
//!
//! `ndcg-min@k = sum_{r <= k} y_{j(r)} / log2(r + 1) / sum_{r <= min(k, |y|)} 1 / log2(r + 1)`, mean over rows. Unbiased, with S
//! the observed labels: `sum_{j in S cap T} q_j d_j sum_a c_a / I(min(k, a + 1))`, where c_a are the coefficients of
//! `prod_{i in S \ j} (1 - q_i + q_i x)` and I the sums of discounts. A row with `prod (|1 - q_i| + q_i) > 1e8` makes the
//! estimate null (U009): its digits would be rounding.
//!
//! Rows without labels count 0 (left out with `empty-rows=skip`); fewer than k predictions: the open slots are misses; ties go to the smaller label; k may exceed
//! the number of labels.
//!
//! # Assumes
//! Unbiased: labels of a row go missing independently of each other. Its variance can be enormous. The propensity-scored nDCG
//! of other libraries divides by the observed number of labels and is not unbiased; it is available under their names.
//!
//! # Reference
//! Jarvelin and Kekalainen, "Cumulated gain-based evaluation of IR techniques", 2002. One label, at rank 1 of 3: 1, where
//! `ndcg` says 0.469.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::Evaluation};
//! let truth = Labels::from_ids(3, [vec![0]])?;
//! let scores = Csr::from_rows(3, [[(0, 0.9f32), (1, 0.5), (2, 0.1)]])?;
//! let result = Evaluation::new(&truth, &[("a", &scores)])?.metrics(&["ndcg-min"])?.ks(&[3])?.run()?;
//! assert_eq!(result.rows[0].value, Some(1.0));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::independent::{LIMIT, sizes};
use super::{Assumption, Estimator, Metric, Offer, SetTerm, Shape, Work, log_discount, log_discounts};
use crate::spec::Named;

/// See the module's page.
pub(super) struct NdcgMin;

impl crate::sealed::Sealed for NdcgMin {}

impl Named for NdcgMin {
    fn name(&self) -> &'static str {
        "ndcg-min"
    }
    fn summary(&self) -> &'static str {
        "discounted gain of the top k, divided by the best value that the row's labels allow (nDCG of most libraries)"
    }
}

impl Metric for NdcgMin {
    fn offers(&self) -> &'static [Offer] {
        static OFFERS: &[Offer] =
            &[Offer::of(Estimator::Observed, Assumption::Complete), Offer::of(Estimator::Unbiased, Assumption::Independent)];
        OFFERS
    }
    fn why_not(&self, _estimator: Estimator) -> &'static str {
        "ndcg-min divides each row by the best value that its number of relevant labels allows, so it is not a sum over labels; 'ndcg' is"
    }
    fn shape(&self) -> Shape {
        Shape::Set(&NdcgMin)
    }
}

fn gain(rank: u32, k: usize) -> f64 {
    if (rank as usize) < k { log_discount(rank as usize) } else { 0.0 }
}

fn ideal(size: usize, k: usize) -> f64 {
    log_discounts(size.min(k))
}

/// `E[1 / I(min(k, |A| + given))^power]` over the signed distribution of the set A, drawn with `q`.
fn inverse_ideal(q: impl Iterator<Item = f64>, given: usize, k: usize, power: i32) -> f64 {
    let coefficients = sizes(q, k.saturating_sub(given));
    coefficients.iter().enumerate().map(|(size, c)| c / ideal(size + given, k).powi(power)).sum()
}

impl SetTerm for NdcgMin {
    fn values(&self, hits: &[u32], relevant: usize, ks: &[usize], out: &mut [f64]) {
        let (mut found, mut total) = (0, 0.0);
        for (k, out) in ks.iter().zip(out) {
            while let Some(rank) = hits.get(found).filter(|rank| (**rank as usize) < *k) {
                total += log_discount(*rank as usize);
                found += 1;
            }
            *out = total / ideal(relevant, *k);
        }
    }

    fn growth(&self, q: f64) -> f64 {
        (1.0 - q).abs() + q
    }

    fn unbiased(&self, ranks: &[u32], q: &[f64], ks: &[usize], work: &mut Work, out: &mut [f64]) -> bool {
        out.fill(0.0);
        if q.iter().map(|q| self.growth(*q)).product::<f64>() > LIMIT {
            return false;
        }
        let largest = ks.iter().copied().max().unwrap_or(1);
        for (j, rank) in ranks.iter().enumerate().filter(|(_, rank)| (**rank as usize) < largest) {
            // One distribution serves every k: its last coefficient stands for so many others that no k tells them apart.
            let others = work.sizes_without(q, j, largest - 1);
            for (out, k) in out.iter_mut().zip(ks) {
                let gain = gain(*rank, *k);
                if gain > 0.0 {
                    let mean: f64 = others.iter().enumerate().map(|(size, c)| c / ideal(size + 1, *k)).sum();
                    *out += q[j] * gain * mean;
                }
            }
        }
        true
    }

    fn unbiased_product(&self, a: &[u32], b: &[u32], q: &[f64], k: usize, _work: &mut Work) -> f64 {
        let mut total = 0.0;
        for (i, rank_a) in a.iter().enumerate() {
            for (j, rank_b) in b.iter().enumerate() {
                let gains = gain(*rank_a, k) * gain(*rank_b, k);
                if gains > 0.0 {
                    let others = q.iter().enumerate().filter(|(l, _)| *l != i && *l != j).map(|(_, q)| *q);
                    let (given, weight) = if i == j { (1, q[i]) } else { (2, q[i] * q[j]) };
                    total += weight * gains * inverse_ideal(others, given, k, 2);
                }
            }
        }
        total
    }
}
