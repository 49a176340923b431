//! Controlled sets: labels that were shown to a row at random, at a known rate.
//!
//! Sums are unbiased with `p = rate`, and rows without a positive stay in the mean: leaving them out inflates the estimate. When
//! r of m labels are shown without replacement, they are not shown independently, so products need another formula:
//! abandonment@k is estimated by `sum_{a <= h} (-1)^a C(h, a) (m)_a / (r)_a`, with h shown hits in the top k and
//! `(x)_a = x (x - 1) ... (x - a + 1)`. It needs k <= r. Recall and ndcg-min need joint rates of whole label sets, up to all m
//! labels at once, and those are 0 beyond r labels: they have no unbiased estimate.
//!
//! When the shown pairs are known, the self-normalised (Hajek) estimate divides the shown gain by the shown weight,
//! `sum s g y / sum s g`. It stays in range and varies less.
//!
//! # Assumes
//! The labels were drawn uniformly, whatever the row.
//!
//! # Reference
//! Horvitz and Thompson, "A generalization of sampling without replacement from a finite universe", 1952. By hand: one hit, 16
//! of 300 shown: 1 - 300/16; two hits: 1 - 2*300/16 + 300*299/(16*15).
//!
//! ```
//! use unmissed::evaluate::controlled::abandonment;
//! let table = abandonment(16, 300, 2);
//! assert_eq!(table[1], 1.0 - 300.0 / 16.0);
//! assert!((table[2] - (1.0 - 37.5 + 89700.0 / 240.0)).abs() < 1e-12);
//! ```

/// The estimate of abandonment for 0, 1, ..., `most` shown hits.
pub fn abandonment(shown: u32, of: u32, most: usize) -> Vec<f64> {
    (0..=most)
        .map(|hits| {
            let (mut total, mut choose, mut ratio) = (0.0, 1.0, 1.0);
            for a in 0..=hits {
                if a > 0 {
                    let before = (a - 1) as f64;
                    choose *= (hits - a + 1) as f64 / a as f64;
                    ratio *= (f64::from(of) - before) / (f64::from(shown) - before);
                }
                total += if a % 2 == 0 { choose * ratio } else { -choose * ratio };
            }
            total
        })
        .collect()
}
