//! Masks that violate the assumptions of estimators in known ways.
//!
//! [`mask`](super::mask()) keeps each label independently with one propensity per label. Here labels of a row can go missing together, and
//! propensities can depend on the row:
//!
//! - `correlation` R: a label is kept when `Phi(sqrt(R) a_i + sqrt(1 - R) e_ij) < p_ij`, with standard normal a of the row and e of the
//!   pair (a Gaussian copula). Each label is kept as often as without it.
//! - `by` with a strength s: `logit p_ij = logit p_j + s z_ij`. z is standard normal for each row, or for each of some groups of rows
//!   (as if each group had its annotator), or minus the logarithm of the rank that a model gives the label, standardised over relevant
//!   pairs: what the model ranks first is observed more often.
//!
//! The propensity of a label is then the mean of `p_ij` over its relevant pairs. [`Masked`] has these means: they are what an estimator with one
//! propensity per label would best use.

use super::csr::{Csr, Labels};
use crate::error::{Error, Result, digits};
use crate::moments::Moments;
use crate::normal::{at_most, quantile};
use crate::rng::{Purpose, row_key, uniform_at};
use crate::sigmoid::sigmoid;
use rayon::prelude::*;

/// Numbers of a row that belong to no label: labels are below these.
const TOGETHER: u32 = u32::MAX;
const CARE: u32 = u32::MAX - 1;
const GROUP: u32 = u32::MAX - 2;

/// What propensities depend on besides the label.
#[derive(Clone, Copy, Debug)]
pub enum MaskBy<'a> {
    /// The row.
    Row,
    /// The group of the row, of so many.
    Group(u32),
    /// The rank of the label in a model's predictions.
    Rank(&'a Csr<'a, f32>),
}

impl MaskBy<'_> {
    /// How many groups of rows there are unless told otherwise.
    pub const DEFAULT_GROUPS: u32 = 10;
}

/// How labels go missing besides their propensities. See the module's page.
#[derive(Clone, Copy, Debug)]
pub struct MaskShape<'a> {
    /// From 0 (independent labels) to 1.
    pub correlation: f64,
    /// What propensities depend on.
    pub by: Option<MaskBy<'a>>,
    /// Strength of the dependence: log odds per standard deviation.
    pub strength: f64,
}

impl Default for MaskShape<'_> {
    fn default() -> Self {
        MaskShape { correlation: 0.0, by: None, strength: 1.0 }
    }
}

/// What is left, and how likely that was.
#[derive(Clone, Debug, PartialEq)]
pub struct Masked {
    /// The labels that are kept.
    pub labels: Labels<'static>,
    /// By label: the mean probability of being kept, over the pairs that there were.
    pub propensities: Vec<f64>,
}

impl MaskShape<'_> {
    /// Removes labels. Depends on the seed, the row and the label alone.
    ///
    /// ```
    /// use unmissed::data::{Labels, MaskShape};
    /// let complete = Labels::from_ids(2, (0..1000).map(|_| [0, 1]))?;
    /// let together = MaskShape { correlation: 1.0, ..MaskShape::default() }.mask(&complete, &[0.5; 2], 1)?;
    /// // Both labels of a row, or none.
    /// assert!((0..1000).all(|row| together.labels.row_ids(row).len() != 1));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn mask(&self, labels: &Labels<'_>, propensities: &[f64], seed: u64) -> Result<Masked> {
        super::mask::check_propensities(labels, propensities)?;
        self.check(labels)?;
        let keys: Vec<u64> =
            (0..labels.rows()).into_par_iter().with_min_len(1 << 10).map(|row| row_key(seed, Purpose::Mask, row as u64)).collect();
        let ranks = match self.by {
            Some(MaskBy::Rank(scores)) => Some(Ranks::new(labels, scores)),
            _ => None,
        };
        let moved = |row: usize, label: u32| {
            let p = propensities[label as usize];
            let z = match self.by {
                None => return p,
                Some(MaskBy::Row) => quantile(uniform_at(keys[row], CARE)),
                Some(MaskBy::Group(groups)) => {
                    let group = (uniform_at(keys[row], GROUP) * f64::from(groups)) as u64;
                    quantile(uniform_at(row_key(seed, Purpose::Mask, u64::MAX - group), CARE))
                }
                Some(MaskBy::Rank(scores)) => ranks.as_ref().map_or(0.0, |ranks| ranks.of(scores, row, label)),
            };
            sigmoid((p / (1.0 - p)).ln() + self.strength * z)
        };
        let (shared, own) = (self.correlation.sqrt(), (1.0 - self.correlation).sqrt());
        let is_kept = |row: usize, label: u32, p: f64| {
            let u = uniform_at(keys[row], label);
            if self.correlation == 0.0 {
                return u < p;
            }
            let z = shared * quantile(uniform_at(keys[row], TOGETHER)) + own * quantile(u);
            at_most(z) < p
        };
        let kept =
            labels.filter_map(labels.cols() as u64, |row, label, ()| is_kept(row, label, moved(row, label)).then_some(label))?;
        if self.by.is_none() {
            return Ok(Masked { labels: kept, propensities: propensities.to_vec() });
        }
        let mut sums = vec![(0.0, 0u64); labels.cols()];
        for row in 0..labels.rows() {
            for label in labels.row_ids(row) {
                let sum = &mut sums[*label as usize];
                *sum = (sum.0 + moved(row, *label), sum.1 + 1);
            }
        }
        let mean = |((sum, count), p): (&(f64, u64), &f64)| if *count == 0 { *p } else { (sum / *count as f64).min(1.0) };
        Ok(Masked { labels: kept, propensities: sums.iter().zip(propensities).map(mean).collect() })
    }

    fn check(&self, labels: &Labels<'_>) -> Result<()> {
        if !(0.0..=1.0).contains(&self.correlation) {
            return Err(Error::value("the correlation of a row's labels is out of range")
                .expected("a number from 0 to 1")
                .found(digits(self.correlation)));
        }
        if !(self.strength.is_finite() && self.strength >= 0.0) {
            return Err(Error::value("the strength of a dependence is out of range")
                .expected("0 or a positive number")
                .found(digits(self.strength)));
        }
        match self.by {
            Some(MaskBy::Group(0)) => Err(Error::value("no group of rows").expected("at least one group")),
            Some(MaskBy::Rank(scores)) if (scores.rows(), scores.cols()) != (labels.rows(), labels.cols()) => {
                Err(Error::value("the predictions are not for these rows and labels")
                    .expected(format!("{} rows and {} labels", labels.rows(), labels.cols()))
                    .found(format!("{} rows and {} labels", scores.rows(), scores.cols())))
            }
            _ => Ok(()),
        }
    }
}

/// Mean and standard deviation of minus the logarithm of ranks, over relevant pairs.
struct Ranks {
    mean: f64,
    deviation: f64,
}

impl Ranks {
    fn new(labels: &Labels<'_>, scores: &Csr<'_, f32>) -> Ranks {
        let heights = |row: usize| labels.row_ids(row).iter().map(move |label| height(scores, row, *label));
        let all: Moments = (0..labels.rows()).flat_map(heights).collect();
        let deviation = (all.deviations() / (labels.nnz() as f64).max(1.0)).sqrt();
        Ranks { mean: all.mean(), deviation: if deviation > 0.0 { deviation } else { 1.0 } }
    }

    fn of(&self, scores: &Csr<'_, f32>, row: usize, label: u32) -> f64 {
        (height(scores, row, label) - self.mean) / self.deviation
    }
}

/// Minus the logarithm of a label's rank, counted from 1; what is not listed follows the last.
fn height(scores: &Csr<'_, f32>, row: usize, label: u32) -> f64 {
    let (ids, values) = scores.row(row);
    let own = ids.iter().position(|id| *id == label);
    let before = match own {
        Some(own) => ids.iter().zip(values).filter(|(id, v)| **v > values[own] || (**v == values[own] && **id < label)).count(),
        None => ids.len(),
    };
    -((before + 1) as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 20_000;

    fn complete() -> Labels<'static> {
        Labels::from_ids(3, (0..ROWS).map(|_| [0, 1, 2])).unwrap()
    }

    /// How often labels 0 and 1 are kept, and both.
    fn shares(labels: &Labels<'_>) -> [f64; 3] {
        let has = |row: usize, label: u32| labels.row_ids(row).contains(&label);
        let share = |of: &dyn Fn(usize) -> bool| (0..ROWS).filter(|row| of(*row)).count() as f64 / ROWS as f64;
        [share(&|row| has(row, 0)), share(&|row| has(row, 1)), share(&|row| has(row, 0) && has(row, 1))]
    }

    #[test]
    fn labels_that_go_missing_together_are_kept_as_often_as_others() {
        let p = [0.5, 0.5, 0.9];
        let masked = |correlation| MaskShape { correlation, ..MaskShape::default() }.mask(&complete(), &p, 4).unwrap();
        let alone = masked(0.0);
        assert_eq!(alone.labels, super::super::mask(&complete(), &p, 4).unwrap());
        assert_eq!(alone.propensities, p);
        let [a, b, both] = shares(&masked(0.5).labels);
        let se = 4.0 * (0.25 / ROWS as f64).sqrt();
        assert!((a - 0.5).abs() < se && (b - 0.5).abs() < se, "{a} {b}");
        // P(both below 0) of two normals with correlation 1/2 is 1/4 + asin(1/2) / (2 pi) = 1/3.
        assert!((both - 1.0 / 3.0).abs() < se, "{both}");
    }

    #[test]
    fn propensities_are_the_means_of_what_rows_have() {
        let p = [0.3, 0.7, 1.0];
        let scores = Csr::from_rows(3, (0..ROWS).map(|row| [(0, (row % 2) as f32), (1, 0.5), (2, 0.2)])).unwrap();
        for by in [MaskBy::Row, MaskBy::Group(5), MaskBy::Rank(&scores)] {
            let shape = MaskShape { by: Some(by), strength: 1.5, ..MaskShape::default() };
            let masked = shape.mask(&complete(), &p, 9).unwrap();
            let [a, b, both] = shares(&masked.labels);
            let se = 4.0 * (0.25 / ROWS as f64).sqrt();
            assert!((a - masked.propensities[0]).abs() < se && (b - masked.propensities[1]).abs() < se, "{by:?}: {a} {b}");
            assert_eq!(masked.propensities[2], 1.0);
            if matches!(by, MaskBy::Row) {
                assert!(both > a * b + 0.03, "careful rows are careful with both labels: {both} {a} {b}");
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let labels = complete();
        let scores = Csr::from_rows(3, [[(0u32, 1.0f32)]]).unwrap();
        let shape = MaskShape::default();
        for (shape, text) in [
            (MaskShape { correlation: 1.5, ..shape }, "expected a number from 0 to 1, found 1.5"),
            (MaskShape { strength: f64::NAN, ..shape }, "expected 0 or a positive number"),
            (MaskShape { by: Some(MaskBy::Group(0)), ..shape }, "expected at least one group"),
            (MaskShape { by: Some(MaskBy::Rank(&scores)), ..shape }, "expected 20000 rows and 3 labels, found 1 rows"),
        ] {
            let error = shape.mask(&labels, &[0.5; 3], 0).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
