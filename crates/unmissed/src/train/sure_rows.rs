//! The rate at which a label is observed on the rows with its highest scores: a lower bound of its propensity.
//!
//! Rows are divided into folds at random. A plain model is trained on all folds but one and scores the rows of that one. The rows
//! with the highest scores of a label, the same number in each fold, are its *surest* rows: 1 % of all rows, at least 30. The model
//! was not trained on their labels, so the rate at which the label is observed there is unbiased, and the label's propensity cannot
//! be below it by more than chance. (A high quantile of fitted probabilities has no such guarantee: a weakly penalised model can
//! put it anywhere.)
//!
//! Only labels for which the answer could matter are checked: those whose propensity is below the largest possible rate.

use super::batches::Batches;
use super::checked::CheckedTraining;
use super::fit::{Finished, WIDTH, blocks};
use super::lines::{Lines, add_products};
use super::{joint, newton};
use crate::data::Dataset;
use crate::error::Result;
use crate::losses;
use crate::predict::Block;
use crate::progress::Progress;
use crate::propensity::Propensities;
use crate::propensity::estimators::anchors::SureRows;
use crate::propensity::quantiles::clopper_pearson;
use crate::request::{Newton, Solver, TrainRequest};
use crate::rng::{Purpose, below, stream};
use std::sync::{Mutex, PoisonError};

/// Each model is trained on two thirds of the rows; together they cost twice as much as one model of all rows.
const FOLDS: usize = 3;

/// The share of rows that count as surest, and their minimum number.
const SHARE: f64 = 0.01;
const LEAST: usize = 30;

/// The level of the limits below which no propensity may be.
pub(super) const LEVEL: f64 = 0.95;

/// The tolerance of the plain models: ranks need no more.
const TOLERANCE: f64 = 0.05;

impl CheckedTraining<'_> {
    /// Counts how often labels are observed on their surest rows: those for which `asked` holds, given the most that can be observed
    /// there; others count 0.
    pub(super) fn sure_rows(&self, asked: impl Fn(usize, f64) -> bool) -> Result<SureRows> {
        let data = self.data;
        let dealt = dealt(data.rows(), self.seed);
        let each = each(data.rows());
        let taken: Vec<usize> = dealt.iter().map(|rows| rows.len().min(each)).collect();
        let rows: u64 = taken.iter().map(|taken| *taken as u64).sum();
        let counts = crate::data::LabelStats::of(data.labels()).dense_counts()?;
        let most = |label: usize| clopper_pearson(counts[label].min(rows), rows, LEVEL).low;
        let wanted: Vec<_> = blocks(self.labels())?
            .into_iter()
            .filter(|block| block.clone().any(|label| asked(label as usize, most(label as usize))))
            .collect();
        let plain = self.plain()?;
        let observed = Mutex::new(vec![0; self.labels()]);
        for (fold, taken) in (0..FOLDS).zip(taken).filter(|(_, taken)| *taken > 0 && !wanted.is_empty()) {
            let others: Vec<usize> =
                dealt.iter().enumerate().filter(|(other, _)| *other != fold).flat_map(|(_, rows)| rows).copied().collect();
            let scored = Batches::new(self.features, data.labels(), &dealt[fold], newton::ROWS, self.normalize)?;
            let by_label = by_label(data, &dealt[fold]);
            plain.run(&others, None, &wanted, &[plain.decay], &|Finished { block, .. }| {
                let found = hits(&block, &scored, &by_label[block.first as usize..], taken);
                let mut observed = observed.lock().unwrap_or_else(PoisonError::into_inner);
                observed[block.first as usize..].iter_mut().zip(found).for_each(|(sum, hits)| *sum += hits);
                Ok(())
            })?;
        }
        Ok(SureRows { rows, observed: observed.into_inner().unwrap_or_else(PoisonError::into_inner) })
    }

    /// Learned propensities, with those marked that the data do not identify.
    pub(super) fn identified(&self, learned: Propensities) -> Result<Propensities> {
        joint::identified(learned, &self.sure_rows(|_, _| true)?)
    }

    /// The same data trained as if nothing were missing.
    fn plain(&self) -> Result<CheckedTraining<'_>> {
        let newton = Newton { tolerance: TOLERANCE, ..Newton::default() };
        self.uncorrected(losses::find("logistic")?, Solver::Newton(newton))
    }
}

/// How often each label of the data is observed on its surest rows: the evidence of the estimator `anchors`.
///
/// ```
/// use unmissed::data::{Dataset, Dense, Features, Labels};
/// use unmissed::{progress::Silent, request::TrainRequest, train::sure_rows};
/// // A label that is relevant wherever x > 0, and observed on half of these rows.
/// let x: Vec<f32> = (0..4000).map(|i| (i % 200) as f32 / 100.0 - 1.0).collect();
/// let ids = (0..4000).map(|i| if i % 200 > 100 && i / 200 % 2 == 0 { vec![0] } else { vec![] });
/// let data = Dataset::new(Some(Features::Dense(Dense::new(4000, 1, x)?)), Labels::from_ids(1, ids)?)?;
/// let found = sure_rows(&data, &TrainRequest::default(), &Silent)?;
/// assert!((found.observed[0] as f64 / found.rows as f64 - 0.5).abs() < 0.25);
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn sure_rows(data: &Dataset<'_>, request: &TrainRequest, progress: &dyn Progress) -> Result<SureRows> {
    let request = TrainRequest {
        normalize: request.normalize,
        memory: request.memory,
        seed: request.seed,
        ..TrainRequest::by_loss("logistic")
    };
    super::Trainer::new(request).progress(progress).check(data)?.sure_rows(|_, _| true)
}

/// The rows of each fold.
fn dealt(rows: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut dealt = vec![Vec::new(); FOLDS];
    for row in 0..rows {
        dealt[below(&mut stream(seed, Purpose::SureRows, row as u64), FOLDS as u64) as usize].push(row);
    }
    dealt
}

/// How many rows of each fold are the surest.
fn each(rows: usize) -> usize {
    ((SHARE * rows as f64).ceil() as usize).max(LEAST).div_ceil(FOLDS)
}

/// The places of each label's rows among some rows.
fn by_label(data: &Dataset<'_>, rows: &[usize]) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); data.labels().cols()];
    for (place, &row) in rows.iter().enumerate() {
        data.labels().row_ids(row).iter().for_each(|&label| found[label as usize].push(place));
    }
    found
}

/// On how many of the `taken` rows with the highest scores each label of the block is observed; ties go to the earlier row.
fn hits(block: &Block, rows: &Batches, by_label: &[Vec<usize>], taken: usize) -> Vec<u64> {
    let mut weights = Lines::<WIDTH>::zeros(rows.features());
    for (line, from) in weights.get_mut().iter_mut().zip(block.weights.chunks_exact(block.width())) {
        line[..from.len()].copy_from_slice(from);
    }
    let mut logits = Lines::<WIDTH>::zeros(rows.rows());
    let mut rest = logits.get_mut();
    for batch in rows.iter() {
        let lines;
        (lines, rest) = rest.split_at_mut(batch.rows());
        add_products(batch, weights.get(), lines);
    }
    let logits = logits.get();
    let mut order: Vec<usize> = Vec::with_capacity(logits.len());
    let one = |(column, places): (usize, &Vec<usize>)| {
        if places.is_empty() {
            return 0;
        }
        order.clear();
        order.extend(0..logits.len());
        let before = |a: &usize, b: &usize| logits[*b][column].total_cmp(&logits[*a][column]).then(a.cmp(b));
        let last = *order.select_nth_unstable_by(taken - 1, before).1;
        places.iter().filter(|place| before(place, &last).is_le()).count() as u64
    };
    by_label.iter().take(block.width()).enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dense, Features, Labels};
    use crate::progress::Silent;
    use crate::rng::{row_key, uniform_at};

    /// Two labels that are sure on the rows with the largest x and observed half of the time there, and one that is never sure.
    fn data(rows: usize) -> Dataset<'static> {
        let key = |row: usize| row_key(5, Purpose::GenerateRows, row as u64);
        let x = |row: usize| 6.0 * uniform_at(key(row), 0) - 3.0;
        let ids = (0..rows).map(|row| {
            let eta = 1.0 / (1.0 + (-4.0 * x(row)).exp());
            let one = |label: u32, eta: f64, p: f64| uniform_at(key(row), label + 10) < eta * p;
            let is = [one(0, eta, 0.5), one(1, 1.0 - eta, 0.5), one(2, 0.2, 0.5)];
            (0..3u32).filter(|label| is[*label as usize]).collect::<Vec<_>>()
        });
        let labels = Labels::from_ids(3, ids.collect::<Vec<_>>()).unwrap();
        let features = Dense::new(rows, 1, (0..rows).map(|row| x(row) as f32).collect::<Vec<_>>()).unwrap();
        Dataset::new(Some(Features::Dense(features)), labels).unwrap()
    }

    #[test]
    fn rates_on_the_surest_rows_are_the_propensity_where_a_label_is_sure() {
        let data = data(20_000);
        let found = sure_rows(&data, &TrainRequest::default(), &Silent).unwrap();
        assert_eq!(found.rows, 201);
        let rate = |label: usize| found.observed[label] as f64 / found.rows as f64;
        // 201 draws at 0.5, at 0.5 and at 0.1: four standard errors.
        assert!((rate(0) - 0.5).abs() < 0.15 && (rate(1) - 0.5).abs() < 0.15 && (rate(2) - 0.1).abs() < 0.09, "{found:?}");
        let limits = found.lower_limits(LEVEL);
        assert!(limits.iter().zip([0.5, 0.5, 0.5]).all(|(low, p)| *low < p) && limits[0] > 0.3, "{limits:?}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(|| sure_rows(&data, &TrainRequest::default(), &Silent).unwrap()), found);
    }

    #[test]
    fn only_labels_are_looked_at_for_which_it_matters() {
        let data = data(900);
        let trainer = super::super::Trainer::by_loss("logistic");
        let checked = trainer.check(&data).unwrap();
        let mut seen = Mutex::new(Vec::new());
        let none = checked.sure_rows(|label, most| {
            seen.lock().unwrap().push((label, most));
            false
        });
        assert_eq!(none.unwrap().observed, [0, 0, 0]);
        // All labels are on more than 30 rows, so all 30 surest could have them.
        let most = seen.get_mut().unwrap()[0].1;
        assert!((most - clopper_pearson(30, 30, LEVEL).low).abs() < 1e-12, "{most}");
    }
}
