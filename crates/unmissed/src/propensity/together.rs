//! Whether labels of a row go missing together.
//!
//! Products and ratios of labels are corrected under the assumption that the labels of a row go missing independently. Two snapshots can
//! contradict it. With `r = y~ - e_j / l_j` for the relevant pairs of the later snapshot (e_j of the l_j rows observed label j), products
//! of two labels of a row have mean 0 under independence, since the rate of one label knows nothing of the other:
//! `t_i = (sum_j r)^2 - sum_j r^2`, `z = sum t_i / sqrt(sum t_i^2)` over rows. The correlation is `sum t_i` over what it would be if labels of
//! a row were missing all at once.
//!
//! ```
//! use unmissed::{data::Labels, propensity::together::missing_together};
//! let later = Labels::from_ids(2, vec![vec![0, 1]; 40])?;
//! let early = Labels::from_ids(2, (0..40).map(|row| if row % 2 == 0 { vec![0, 1] } else { vec![] }))?;
//! let together = missing_together(&early, &later).unwrap();
//! assert!((together.correlation - 1.0).abs() < 1e-12 && together.z > 6.0);
//! # Ok::<(), unmissed::Error>(())
//! ```

use crate::data::Labels;

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

/// Looks at the rows of two snapshots, in the same order; `None` when no row has two labels that are sometimes missing.
pub fn missing_together(early: &Labels<'_>, later: &Labels<'_>) -> Option<Together> {
    let mut marks = vec![usize::MAX; later.cols().max(early.cols())];
    let mut counts = vec![(0u32, 0u32); later.cols()];
    let mut each = |of: &mut dyn FnMut(usize, u32, bool)| {
        marks.fill(usize::MAX);
        for row in 0..later.rows().min(early.rows()) {
            early.row_ids(row).iter().for_each(|label| marks[*label as usize] = row);
            later.row_ids(row).iter().for_each(|label| of(row, *label, marks[*label as usize] == row));
        }
    };
    each(&mut |_, label, is_observed| {
        let count = &mut counts[label as usize];
        count.0 += u32::from(is_observed);
        count.1 += 1;
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
    each(&mut |row, label, is_observed| {
        if of_row.0 != row {
            close(of_row.1, of_row.2);
            of_row = (row, [0.0; 4], 0);
        }
        let (observed, relevant) = counts[label as usize];
        if observed > 0 && observed < relevant {
            let p = f64::from(observed) / f64::from(relevant);
            let (residual, variance) = (f64::from(u8::from(is_observed)) - p, p * (1.0 - p));
            let parts = [residual, residual * residual, variance.sqrt(), variance];
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

    #[test]
    fn nothing_missing_says_nothing() {
        let labels = Labels::from_ids(3, [vec![0, 1], vec![1, 2]]).unwrap();
        assert_eq!(missing_together(&labels, &labels), None);
    }
}
