//! The general observation model for few labels: `eta~ = C eta`.
//!
//! `eta` gives each of the 2^m label sets its probability, and C[A, S] is the chance that a row with the true set S shows A.
//! Labels only go missing, so C[A, S] = 0 unless A is a subset of S. When a random set M of labels is kept, whatever the truth,
//! `C[A, S] = P[M and S meet in A]`; when labels are kept independently, C is the Kronecker product of
//! `[[1, 1 - p_j], [0, p_j]]`, and its inverse that of `[[1, -(1 - p_j)/p_j], [0, 1/p_j]]`. Sets are written as bits: label j
//! is bit j.
//!
//! # Assumes
//! At most 12 labels: there are 3^m numbers. C is triangular in the order of subsets with `C[S, S] = P[S is kept whole]` on the
//! diagonal, so it can be inverted unless some set is never seen whole; the error names a smallest such set.
//!
//! # Reference
//! Schultheis et al., KDD 2022, appendix. Two labels, each with propensity 1/2, can go missing together or never together. The
//! per-label propensities are the same, yet whatever loss is unbiased under one kind of missingness is biased under the
//! other: on the full set {0, 1}, with `l(A)` the loss when A is observed, they ask for
//! `(l({0,1}) + l({}))/2` and for `(l({0}) + l({1}))/2` to be the loss of the true set. Five equations, four unknowns:
//!
//! ```
//! use unmissed::propensity::noise::Observation;
//! let together = Observation::from_masks(2, &[0.5, 0.0, 0.0, 0.5])?;
//! let never_together = Observation::from_masks(2, &[0.0, 0.5, 0.5, 0.0])?;
//! for model in [&together, &never_together] {
//!     assert_eq!((model.propensity(0), model.propensity(1)), (0.5, 0.5));
//!     // Alone, each label looks the same under both.
//!     assert_eq!((model.get(0b01, 0b01), model.get(0b00, 0b01)), (0.5, 0.5));
//! }
//! // The loss that is unbiased under the first, for the 0-1 loss of 'both are relevant' (1 on {0,1}, 0 elsewhere) ...
//! let loss = together.inverse()?.unbiased(&[0.0, 0.0, 0.0, 1.0]);
//! assert_eq!(loss, [0.0, 0.0, 0.0, 2.0]);
//! // ... has mean 1 on the true set {0,1} under the first and 0 under the second.
//! assert_eq!(together.expected(&loss, 0b11), 1.0);
//! assert_eq!(never_together.expected(&loss, 0b11), 0.0);
//! // And under the second alone nothing can be said about both together.
//! let error = never_together.inverse().unwrap_err();
//! assert!(error.to_string().contains("{0, 1}"), "{error}");
//! # Ok::<(), unmissed::Error>(())
//! ```

use crate::error::{Error, Result};

/// The largest number of labels.
pub const MOST: usize = 12;

/// A matrix over label sets that is zero unless the row is a subset of the column: C, or its inverse.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    labels: usize,
    /// For each column S the entries of its subsets, the subset with compressed bits b at place b.
    columns: Vec<Vec<f64>>,
}

impl Observation {
    /// C when the set M of labels is kept with probability `masks[M]`.
    pub fn from_masks(labels: usize, masks: &[f64]) -> Result<Observation> {
        checked(labels)?;
        if masks.len() != 1 << labels {
            return Err(Error::value("the number of masks is wrong")
                .expected(format!("{}, one for each set of {labels} labels", 1 << labels))
                .found(masks.len().to_string()));
        }
        let total: f64 = masks.iter().sum();
        if masks.iter().any(|p| p.is_nan() || *p < 0.0) || (total - 1.0).abs() > 1e-9 {
            return Err(Error::value("the masks are not a distribution")
                .expected("probabilities that add up to 1")
                .found(total.to_string()));
        }
        let column = |set: usize| {
            let mut entries = vec![0.0; 1 << set.count_ones()];
            for (mask, p) in masks.iter().enumerate() {
                entries[compress(mask & set, set)] += p;
            }
            entries
        };
        Ok(Observation { labels, columns: (0..1 << labels).map(column).collect() })
    }

    /// C when labels are kept independently, label j with probability `p[j]`: a Kronecker product.
    ///
    /// ```
    /// use unmissed::propensity::noise::Observation;
    /// let c = Observation::independent(&[0.5, 0.25])?;
    /// assert_eq!((c.get(0b11, 0b11), c.get(0b00, 0b11)), (0.125, 0.375));
    /// // The inverse is the product of [[1, -(1-p)/p], [0, 1/p]].
    /// let inverse = c.inverse()?;
    /// assert_eq!((inverse.get(0b11, 0b11), inverse.get(0b10, 0b11)), (8.0, -4.0));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn independent(p: &[f64]) -> Result<Observation> {
        checked(p.len())?;
        if let Some(label) = p.iter().position(|p| !(0.0..=1.0).contains(p)) {
            return Err(Error::value(format!("the propensity of label {label} is out of range"))
                .expected("a number in [0, 1]")
                .found(p[label].to_string()));
        }
        Ok(Observation::product(p.len(), |label, seen| if seen { p[label] } else { 1.0 - p[label] }))
    }

    /// The product over the labels of S of `factor(label, whether it is in A)`.
    fn product(labels: usize, factor: impl Fn(usize, bool) -> f64) -> Observation {
        let column = |set: usize| {
            let mut entries = vec![1.0];
            for label in (0..labels).filter(|label| set >> label & 1 == 1) {
                let seen = entries.iter().map(|entry| entry * factor(label, true)).collect::<Vec<_>>();
                entries.iter_mut().for_each(|entry| *entry *= factor(label, false));
                entries.extend(seen);
            }
            entries
        };
        Observation { labels, columns: (0..1 << labels).map(column).collect() }
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// The entry for the observed set A and the true set S.
    pub fn get(&self, observed: usize, truth: usize) -> f64 {
        if observed & !truth != 0 { 0.0 } else { self.columns[truth][compress(observed, truth)] }
    }

    /// The chance that a relevant label is observed when it is the only one.
    pub fn propensity(&self, label: usize) -> f64 {
        self.get(1 << label, 1 << label)
    }

    /// C applied to a vector over label sets: `eta~ = C eta`.
    pub fn apply(&self, eta: &[f64]) -> Vec<f64> {
        let mut result = vec![0.0; self.columns.len()];
        for (set, entries) in self.columns.iter().enumerate() {
            for (bits, entry) in entries.iter().enumerate() {
                result[expand(bits, set)] += entry * eta[set];
            }
        }
        result
    }

    /// The mean of a loss over observed sets when the true set is S.
    pub fn expected(&self, loss: &[f64], truth: usize) -> f64 {
        self.columns[truth].iter().enumerate().map(|(bits, entry)| entry * loss[expand(bits, truth)]).sum()
    }

    /// For an inverse of C: the loss over observed sets whose mean is `loss` of the true set, `l~ = (C^-1)^T l`.
    pub fn unbiased(&self, loss: &[f64]) -> Vec<f64> {
        (0..self.columns.len()).map(|set| self.expected(loss, set)).collect()
    }

    /// The inverse, or the reason why there is none.
    pub fn inverse(&self) -> Result<Observation> {
        let whole = |set: usize| self.get(set, set);
        // By size, so that the set that is named is a smallest one.
        let mut sets: Vec<usize> = (0..self.columns.len()).collect();
        sets.sort_by_key(|set| set.count_ones());
        if let Some(set) = sets.iter().find(|set| whole(**set).abs() < 1e-300) {
            let names: Vec<String> =
                (0..self.labels).filter(|label| set >> label & 1 == 1).map(|label| label.to_string()).collect();
            return Err(Error::value("the observation matrix is singular")
                .expected("every set of labels to be seen whole with some probability")
                .found(format!("{{{}}} never is", names.join(", ")))
                .hint("joint quantities of these labels cannot be estimated from observed labels"));
        }
        let column = |set: usize| {
            let mut entries = vec![0.0; 1 << set.count_ones()];
            // From S down to the empty set: X[A, S] = -(sum over A < B <= S of C[A, B] X[B, S]) / C[A, A].
            for bits in (0..entries.len()).rev() {
                let observed = expand(bits, set);
                if observed == set {
                    entries[bits] = 1.0 / whole(set);
                    continue;
                }
                let rest = entries.len() - 1 - bits;
                let mut more = rest;
                let mut sum = 0.0;
                // Non-empty subsets of what A leaves of S.
                while more > 0 {
                    let between = bits | more;
                    sum += self.get(observed, expand(between, set)) * entries[between];
                    more = (more - 1) & rest;
                }
                entries[bits] = -sum / whole(observed);
            }
            entries
        };
        Ok(Observation { labels: self.labels, columns: (0..self.columns.len()).map(column).collect() })
    }
}

fn checked(labels: usize) -> Result<()> {
    if labels <= MOST {
        return Ok(());
    }
    Err(Error::value("too many labels for the general observation model")
        .expected(format!("at most {MOST}"))
        .found(labels.to_string())
        .hint("the number of label sets is 2 to that power; with independent labels, propensities are enough"))
}

/// The bits of `part` at the ones of `set`, moved together.
fn compress(part: usize, set: usize) -> usize {
    let (mut result, mut place, mut rest) = (0, 0, set);
    while rest != 0 {
        let bit = rest & rest.wrapping_neg();
        result |= usize::from(part & bit != 0) << place;
        place += 1;
        rest ^= bit;
    }
    result
}

/// The inverse of [`compress`].
fn expand(bits: usize, set: usize) -> usize {
    let (mut result, mut place, mut rest) = (0, 0, set);
    while rest != 0 {
        let bit = rest & rest.wrapping_neg();
        if bits >> place & 1 == 1 {
            result |= bit;
        }
        place += 1;
        rest ^= bit;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_product_agree_and_the_inverse_is_the_product_of_inverses() {
        let p = [0.9, 0.3, 0.5];
        let masks: Vec<f64> =
            (0..8usize).map(|mask| (0..3).map(|j| if mask >> j & 1 == 1 { p[j] } else { 1.0 - p[j] }).product()).collect();
        let (a, b) = (Observation::from_masks(3, &masks).unwrap(), Observation::independent(&p).unwrap());
        let inverse = b.inverse().unwrap();
        let expected = Observation::product(3, |j, seen| if seen { 1.0 / p[j] } else { -(1.0 - p[j]) / p[j] });
        for truth in 0..8 {
            for observed in 0..8 {
                assert!((a.get(observed, truth) - b.get(observed, truth)).abs() < 1e-15);
                assert!((inverse.get(observed, truth) - expected.get(observed, truth)).abs() < 1e-12);
            }
        }
        let eta = [0.1, 0.2, 0.05, 0.15, 0.1, 0.1, 0.1, 0.2];
        for (x, y) in inverse.apply(&b.apply(&eta)).iter().zip(eta) {
            assert!((x - y).abs() < 1e-14);
        }
    }

    #[test]
    fn twelve_labels_are_inverted_and_thirteen_refused() {
        let c = Observation::independent(&[0.5; 12]).unwrap();
        let eta: Vec<f64> = (0..4096).map(|i| i as f64 / (4095.0 * 2048.0)).collect();
        let back = c.inverse().unwrap().apply(&c.apply(&eta));
        assert!(back.iter().zip(&eta).all(|(x, y)| (x - y).abs() < 1e-12));
        assert!(Observation::independent(&[0.5; 13]).is_err());
        assert!(Observation::from_masks(1, &[0.5, 0.6]).is_err());
    }
}
