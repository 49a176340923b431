//! Removing labels as imperfect observation would: label j of a row is kept with probability `p_j`, independently.
//!
//! The uniform number `u_ij` of row i and label j depends on the seed, i and j alone, and the label is kept when
//! `u_ij < p_j`. So the result does not depend on threads, on the order of labels in a row, or on how rows are cut into
//! shards; and under the same seed, larger propensities keep everything that smaller ones keep.

use super::csr::Labels;
use crate::error::{Error, Result, digits};
use crate::rng::{Purpose, row_key, uniform_at};
use rayon::prelude::*;

/// The labels that are left when label j is kept with probability `propensities[j]`.
///
/// ```
/// use unmissed::data::{Labels, mask};
/// let complete = Labels::from_ids(2, (0..10_000).map(|_| [0, 1]))?;
/// let observed = mask(&complete, &[1.0, 0.25], 42)?;
/// let kept = |label| observed.ids().iter().filter(|id| **id == label).count() as f64;
/// assert_eq!(kept(0), 10_000.0);
/// assert!((kept(1) - 2_500.0).abs() < 4.0 * (10_000.0 * 0.25 * 0.75f64).sqrt());
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn mask(labels: &Labels<'_>, propensities: &[f64], seed: u64) -> Result<Labels<'static>> {
    mask_shard(labels, propensities, seed, 0)
}

/// The same for a shard: row i of `labels` is row `first_row + i` of the whole, and loses the labels that it would lose
/// there.
///
/// ```
/// use unmissed::data::{Labels, mask, mask_shard};
/// let complete = Labels::from_ids(3, (0..100).map(|_| [0, 1, 2]))?;
/// let whole = mask(&complete, &[0.5; 3], 1)?;
/// let shard = mask_shard(&complete.select_rows(&[40, 41]), &[0.5; 3], 1, 40)?;
/// assert_eq!(shard.row_ids(1), whole.row_ids(41));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn mask_shard(labels: &Labels<'_>, propensities: &[f64], seed: u64, first_row: u64) -> Result<Labels<'static>> {
    check_propensities(labels, propensities)?;
    // A key costs as much as dozens of labels, so each row makes its own only once.
    let key = |row| row_key(seed, Purpose::Mask, first_row + row as u64);
    let keys: Vec<u64> = (0..labels.rows()).into_par_iter().with_min_len(1 << 10).map(key).collect();
    labels.filter_map(labels.cols() as u64, |row, label, ()| {
        (uniform_at(keys[row], label) < propensities[label as usize]).then_some(label)
    })
}

/// That there is a propensity for each label.
pub(super) fn check_propensities(labels: &Labels<'_>, propensities: &[f64]) -> Result<()> {
    if propensities.len() != labels.cols() {
        return Err(Error::value("the number of propensities does not match the labels")
            .expected(labels.cols().to_string())
            .found(propensities.len().to_string()));
    }
    if let Some(label) = propensities.iter().position(|p| !(*p > 0.0 && *p <= 1.0)) {
        return Err(Error::value(format!("the propensity of label {label} is out of range"))
            .expected("a number above 0 and at most 1")
            .found(digits(propensities[label])));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::LabelStats;

    /// 4 000 rows and 60 labels from rare to frequent.
    fn complete() -> Labels<'static> {
        Labels::from_ids(60, (0..4000u32).map(|row| (0..60).filter(move |label| row.wrapping_mul(7919) % 4000 < 60 * (label + 1))))
            .unwrap()
    }

    fn rising() -> Vec<f64> {
        (0..60).map(|label| 0.05 + 0.015 * f64::from(label)).collect()
    }

    #[test]
    fn labels_are_kept_as_often_as_their_propensities_say() {
        let (complete, p) = (complete(), rising());
        let (before, after) = (LabelStats::of(&complete), LabelStats::of(&mask(&complete, &p, 11).unwrap()));
        let (mut chi_square, mut df) = (0.0, 0.0);
        for label in 0..60u32 {
            let (n, p) = (before.count(label) as f64, p[label as usize]);
            let variance = n * p * (1.0 - p);
            if variance >= 5.0 {
                chi_square += (after.count(label) as f64 - n * p).powi(2) / variance;
                df += 1.0;
            }
        }
        assert!(df > 50.0);
        assert!((chi_square - df).abs() < 4.0 * (2.0f64 * df).sqrt(), "{chi_square} on {df} degrees of freedom");
    }

    #[test]
    fn threads_and_the_order_of_labels_do_not_matter() {
        let (complete, p) = (complete(), rising());
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| mask(&complete, &p, 7).unwrap())
        };
        assert_eq!(on(1), on(4));
        let backwards =
            Labels::from_ids(60, complete.iter().map(|(ids, _)| ids.iter().rev().copied().collect::<Vec<_>>())).unwrap();
        assert_eq!(mask(&backwards, &p, 7).unwrap().into_sorted(), on(1));
        assert_ne!(mask(&complete, &p, 8).unwrap(), on(1));
    }

    #[test]
    fn larger_propensities_keep_what_smaller_ones_keep() {
        let (complete, p) = (complete(), rising());
        let larger: Vec<f64> = p.iter().map(|p| p.sqrt()).collect();
        let (few, many) = (mask(&complete, &p, 3).unwrap(), mask(&complete, &larger, 3).unwrap());
        assert!(few.nnz() < many.nnz() && many.nnz() < complete.nnz());
        assert!((0..few.rows()).all(|row| few.row_ids(row).iter().all(|id| many.row_ids(row).contains(id))));
    }

    #[test]
    fn impossible_propensities_name_the_label() {
        let labels = Labels::from_ids(2, [[0, 1]]).unwrap();
        for bad in [0.0, -0.5, 1.5, f64::NAN] {
            let message = mask(&labels, &[1.0, bad], 0).unwrap_err().to_string();
            assert!(message.starts_with("the propensity of label 1 is out of range: expected a number above 0"), "{message}");
        }
        assert!(mask(&labels, &[1.0], 0).unwrap_err().to_string().contains("expected 2, found 1"));
    }
}
