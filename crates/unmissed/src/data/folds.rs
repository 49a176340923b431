//! Folds: every row is predicted by a model that was not trained on it.
//!
//! Out-of-fold predictions are what estimates from matched rows need: a model's predictions for the rows that it was trained on are
//! better than those for new rows. Fold models are trained on fewer rows than the final one, so they are slightly worse; ten folds
//! or more
//! keep that small.

use super::csr::Csr;
use super::dataset::Dataset;
use crate::error::{Error, Result};
use crate::rng::{Purpose, row_key};

/// A seeded partition of the rows into folds of nearly equal size.
///
/// ```
/// use unmissed::data::Folds;
/// let folds = Folds::new(10, 3, 7)?;
/// let (train, test) = folds.part(0);
/// assert_eq!(train.len() + test.len(), 10);
/// assert!(test.iter().all(|row| !train.contains(row)));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folds {
    of: Vec<u32>,
    count: u32,
}

impl Folds {
    /// How many folds there are unless told otherwise.
    pub const DEFAULT: u32 = 10;
    /// How many predictions out-of-fold models give for each row unless told otherwise.
    pub const DEFAULT_K: usize = 100;

    /// Puts `rows` rows into `count` folds; the seed alone decides how.
    pub fn new(rows: usize, count: u32, seed: u64) -> Result<Folds> {
        if count < 2 || count as usize > rows {
            return Err(Error::value("the number of folds is out of range")
                .expected(format!("2 to {rows}, the number of rows"))
                .found(count.to_string()));
        }
        let mut order: Vec<(u64, usize)> = (0..rows).map(|row| (row_key(seed, Purpose::Folds, row as u64), row)).collect();
        order.sort_unstable();
        let mut of = vec![0; rows];
        for ((_, row), fold) in order.iter().zip((0..count).cycle()) {
            of[*row] = fold;
        }
        Ok(Folds { of, count })
    }

    /// Number of folds.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.of.len()
    }

    /// The rows to train on and the rows to predict, both ascending.
    pub fn part(&self, fold: u32) -> (Vec<usize>, Vec<usize>) {
        (0..self.of.len()).partition(|row| self.of[*row] != fold)
    }

    /// Predictions for every row of `data`, each by `predict(fold, train, test)` with the row in `test`. What `predict` gives has a
    /// row for each row of `test`, in the same order.
    pub fn predict(
        &self,
        data: &Dataset<'_>,
        mut predict: impl FnMut(u32, &Dataset<'static>, &Dataset<'static>) -> Result<Csr<'static, f32>>,
    ) -> Result<Csr<'static, f32>> {
        if data.rows() != self.rows() {
            return Err(Error::value("the folds are not those of the data")
                .expected(format!("{} rows", self.rows()))
                .found(data.rows().to_string()));
        }
        let labels = data.labels().cols();
        // For each row the fold's predictions and the row's place among them.
        let mut places = vec![0; self.rows()];
        let mut parts = Vec::with_capacity(self.count as usize);
        for fold in 0..self.count {
            let (train, test) = self.part(fold);
            let scores = predict(fold, &data.select_rows(&train), &data.select_rows(&test))?;
            for (unit, expected, found) in [("rows", test.len(), scores.rows()), ("labels", labels, scores.cols())] {
                if expected != found {
                    return Err(Error::value(format!("the predictions of fold {} do not match its test rows", fold + 1))
                        .expected(format!("{expected} {unit}"))
                        .found(found.to_string()));
                }
            }
            test.iter().enumerate().for_each(|(place, row)| places[*row] = place);
            parts.push(scores);
        }
        let row = |row: usize| {
            let (ids, values) = parts[self.of[row] as usize].row(places[row]);
            ids.iter().copied().zip(values.iter().copied()).collect::<Vec<_>>()
        };
        Csr::from_rows(labels as u64, (0..self.rows()).map(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels;

    #[test]
    fn folds_are_a_seeded_partition_of_nearly_equal_parts() {
        let folds = Folds::new(103, 10, 1).unwrap();
        let mut seen: Vec<usize> = (0..10).flat_map(|fold| folds.part(fold).1).collect();
        assert!((0..10).all(|fold| [10, 11].contains(&folds.part(fold).1.len())));
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..103));
        assert_eq!(folds, Folds::new(103, 10, 1).unwrap());
        assert_ne!(folds, Folds::new(103, 10, 2).unwrap());
        for (rows, count) in [(10, 1), (3, 4), (0, 2)] {
            assert!(Folds::new(rows, count, 0).is_err(), "{rows} rows, {count} folds");
        }
    }

    #[test]
    fn every_row_gets_the_prediction_that_was_made_for_it() {
        let data = Dataset::new(None, Labels::from_ids(50, (0..50).map(|row| [row])).unwrap()).unwrap();
        let folds = Folds::new(50, 7, 3).unwrap();
        let scores = folds
            .predict(&data, |fold, train, test| {
                assert_eq!(train.rows() + test.rows(), 50);
                Csr::from_rows(50, (0..test.rows()).map(|row| [(test.labels().row_ids(row)[0], fold as f32)]))
            })
            .unwrap();
        for row in 0..50 {
            let (ids, values) = scores.row(row);
            assert_eq!(ids, [row as u32]);
            assert!(folds.part(values[0] as u32).1.contains(&row));
        }
        let short = folds.predict(&data, |_, _, test| Csr::from_rows(50, (1..test.rows()).map(|_| [(0, 1.0)])));
        assert!(short.unwrap_err().to_string().starts_with("the predictions of fold 1 do not match its test rows"));
    }
}
