//! Whether labels of a row go missing together.
//!
//! Products and ratios of labels are corrected under the assumption that the labels of a row go missing independently. Two snapshots can
//! contradict it. With `r = y~ - e_j / l_j` for the relevant pairs of the later snapshot (e_j of the l_j rows observed label j), products
//! of two labels of a row have mean 0 under independence, since the rate of one label knows nothing of the other:
//! `t_i = (sum_j r)^2 - sum_j r^2`, `z = sum t_i / sqrt(sum t_i^2)` over rows. The correlation is `sum t_i` over what it would be if labels of
//! a row were missing all at once. Judged pairs stand for several each, and count so.
//!
//! ```
//! use unmissed::{data::Labels, propensity::together::missing_together};
//! let later = Labels::from_ids(2, vec![vec![0, 1]; 40])?;
//! let early = Labels::from_ids(2, (0..40).map(|row| if row % 2 == 0 { vec![0, 1] } else { vec![] }))?;
//! let together = missing_together(&early, &later).unwrap();
//! assert!((together.correlation - 1.0).abs() < 1e-12 && together.z > 6.0);
//! # Ok::<(), unmissed::Error>(())
//! ```

use crate::data::{KnownPair, Labels};

/// How labels of a row go missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Together {
    /// The mean correlation of two relevant labels of a row: 1 when they are observed or missing together, 0 when independently.
    pub correlation: f64,
    /// The same in standard errors over rows.
    pub z: f64,
    /// Rows that have two labels to look at.
    pub rows: u64,
}

/// A relevant pair.
struct Relevant {
    row: usize,
    label: u32,
    is_observed: bool,
    /// How many pairs it stands for.
    weight: f64,
}

/// Looks at the rows of two snapshots, in the same order; `None` when no row has two labels that are sometimes missing.
pub fn missing_together(early: &Labels<'_>, later: &Labels<'_>) -> Option<Together> {
    let mut marks = vec![usize::MAX; later.cols().max(early.cols())];
    test(later.cols(), |take| {
        marks.fill(usize::MAX);
        for row in 0..later.rows().min(early.rows()) {
            early.row_ids(row).iter().for_each(|label| marks[*label as usize] = row);
            let relevant = |label: &u32| Relevant { row, label: *label, is_observed: marks[*label as usize] == row, weight: 1.0 };
            later.row_ids(row).iter().for_each(|label| take(relevant(label)));
        }
    })
}

/// The same from judged pairs, each of which stands for several: products of two are weighted by both.
pub fn judged_missing_together(pairs: &[KnownPair]) -> Option<Together> {
    let mut relevant: Vec<&KnownPair> = pairs.iter().filter(|pair| pair.relevant).collect();
    relevant.sort_by_key(|pair| (pair.row, pair.label));
    let labels = relevant.iter().map(|pair| pair.label as usize + 1).max()?;
    test(labels, |take| {
        for &&KnownPair { row, label, observed, weight, .. } in &relevant {
            take(Relevant { row: row as usize, label, is_observed: observed, weight });
        }
    })
}

/// Goes over relevant pairs twice, row after row.
fn test(labels: usize, mut each: impl FnMut(&mut dyn FnMut(Relevant))) -> Option<Together> {
    let mut counts = vec![(0.0, 0.0); labels];
    each(&mut |pair| {
        let count = &mut counts[pair.label as usize];
        count.0 += if pair.is_observed { pair.weight } else { 0.0 };
        count.1 += pair.weight;
    });
    // Sums of the row at hand: residuals, their squares, standard deviations, variances, labels.
    let mut of_row = (usize::MAX, [0.0; 4], 0u32);
    let (mut sum, mut squares, mut most, mut rows) = (0.0, 0.0, 0.0, 0);
    let mut close = |[residuals, products, deviations, variances]: [f64; 4], labels: u32| {
        if labels > 1 {
            let t = residuals * residuals - products;
            sum += t;
            squares += t * t;
            most += deviations * deviations - variances;
            rows += 1;
        }
    };
    each(&mut |pair| {
        if of_row.0 != pair.row {
            close(of_row.1, of_row.2);
            of_row = (pair.row, [0.0; 4], 0);
        }
        let (observed, relevant) = counts[pair.label as usize];
        if observed > 0.0 && observed < relevant {
            let p = observed / relevant;
            let residual = pair.weight * (f64::from(u8::from(pair.is_observed)) - p);
            let deviation = pair.weight * (p * (1.0 - p)).sqrt();
            let parts = [residual, residual * residual, deviation, deviation * deviation];
            of_row.1.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            of_row.2 += 1;
        }
    });
    close(of_row.1, of_row.2);
    (rows > 0 && squares > 0.0 && most > 0.0).then(|| Together { correlation: sum / most, z: sum / squares.sqrt(), rows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream, uniform};

    /// Labels of rows that are observed with a probability of the row.
    fn snapshots(seed: u64, spread: f64) -> (Labels<'static>, Labels<'static>) {
        let (mut early, mut later) = (Vec::new(), Vec::new());
        for row in 0..400 {
            let mut rng = stream(seed, Purpose::GenerateRows, row);
            let care = 0.6 + spread * (uniform(&mut rng) - 0.5);
            let relevant: Vec<u32> = (0..30).filter(|_| uniform(&mut rng) < 0.2).collect();
            early.push(relevant.iter().copied().filter(|_| uniform(&mut rng) < care).collect::<Vec<u32>>());
            later.push(relevant);
        }
        (Labels::from_ids(30, early).unwrap(), Labels::from_ids(30, later).unwrap())
    }

    #[test]
    fn independent_labels_pass_and_others_are_found() {
        let z: Vec<f64> = (0..200).map(|seed| snapshots(seed, 0.0)).map(|(e, l)| missing_together(&e, &l).unwrap().z).collect();
        let beyond = z.iter().filter(|z| z.abs() > 1.96).count();
        assert!((2..=20).contains(&beyond), "{beyond} of 200 beyond the 5 % level");
        let mean = z.iter().sum::<f64>() / 200.0;
        assert!(mean.abs() < 0.25, "{mean}");
        let (early, later) = snapshots(7, 0.8);
        let found = missing_together(&early, &later).unwrap();
        // Var(care) / (0.6 * 0.4).
        assert!(found.z > 5.0 && (found.correlation - 0.8 * 0.8 / 12.0 / 0.24).abs() < 0.06, "{found:?}");
    }

    /// A fifth of the missing pairs is judged, and stands for all.
    #[test]
    fn judged_pairs_find_the_same() {
        let judged = |seed: u64, spread: f64| {
            let (early, later) = snapshots(seed, spread);
            let mut pairs = Vec::new();
            for row in 0..400u32 {
                let mut rng = stream(seed, Purpose::Mask, u64::from(row));
                for label in later.row_ids(row as usize) {
                    let observed = early.row_ids(row as usize).contains(label);
                    if observed || uniform(&mut rng) < 0.2 {
                        let weight = if observed { 1.0 } else { 5.0 };
                        pairs.push(KnownPair { row, label: *label, relevant: true, observed, weight });
                    }
                }
            }
            judged_missing_together(&pairs).unwrap()
        };
        let z: Vec<f64> = (0..200).map(|seed| judged(seed, 0.0).z).collect();
        let beyond = z.iter().filter(|z| z.abs() > 1.96).count();
        assert!(beyond <= 20, "{beyond} of 200 beyond the 5 % level");
        let found: Vec<f64> = (0..50).map(|seed| judged(seed, 0.8).correlation).collect();
        let mean = found.iter().sum::<f64>() / 50.0;
        assert!((mean - 0.8 * 0.8 / 12.0 / 0.24).abs() < 0.03, "{mean}");
    }

    #[test]
    fn nothing_missing_says_nothing() {
        let labels = Labels::from_ids(3, [vec![0, 1], vec![1, 2]]).unwrap();
        assert_eq!(missing_together(&labels, &labels), None);
    }
}
