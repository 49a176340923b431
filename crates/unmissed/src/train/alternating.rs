//! Alternating learning of classifier and propensities, from observed labels alone.
//!
//! The rows are halved at random. In each round the classifier f is trained by the unbiased loss at the current p on one half,
//! and then p, on the other half, by the same loss where 1/eta takes the place of 1/p:
//! `-(y / eta) ln p - (1 - y / eta) ln(1 - p)` with eta = f(x). Its minimum over a half of n rows is `p = 1/n sum y / eta`. The
//! halves swap from round to round, so no row decides about p that its own eta was trained on.
//!
//! `1/eta` has no bound, so eta counts as at least a hundredth of the label's observed frequency on the half; p is at most 1. (A
//! higher bound would make p smaller and f larger from round to round, until every label were always relevant and p its
//! frequency, which fits the data as well.) A label that does not occur on a half keeps its p. The start is the propensities
//! that are given, or 1/2: without rows on which a label is nearly sure, every start is a fixed point.
//!
//! # Where it fails
//! Every p is a fixed point: whatever p is, the classifier that it leads to gives it back, but for noise and the bound on eta. The
//! method is here to reproduce the paper, not to be used.
//!
//! The mean goes over all rows. Those on which a label is all but never relevant should contribute rare, huge terms, and in a
//! sample contribute none: there p falls towards the label's frequency. Treat the result as a hint, and prefer a controlled set.
//!
//! # Reference
//! Zhu et al.: *Unbiased implicit recommendation and propensity estimation via combinational joint learning*, RecSys 2020, as
//! the paper's appendix puts it.

use super::checked::CheckedTraining;
use super::fit::{Finished, blocks};
use super::plan::ALTERNATING;
use crate::data::{Dataset, Features, split_rows_for};
use crate::error::{Error, Result};
use crate::predict::{Block, Normalize};
use crate::propensity::{Bound, Learned, Propensities};
use crate::rng::Purpose;
use crate::sigmoid::sigmoid;
use std::sync::{Mutex, PoisonError};

/// Where p starts when nothing is given.
const START: f64 = 0.5;

/// What eta is at least, as a share of the label's frequency.
const LEAST: f64 = 0.01;

impl CheckedTraining<'_> {
    /// Learns propensities in so many rounds, by alternating learning; the settings of this training are those of f.
    pub fn alternating(&self, rounds: usize) -> Result<Propensities> {
        alternating(self, rounds)
    }
}

fn alternating(training: &CheckedTraining<'_>, rounds: usize) -> Result<Propensities> {
    if training.loss.name() != ALTERNATING {
        return Err(Error::value("alternating learning works with one loss only")
            .expected(format!("'{ALTERNATING}'"))
            .found(format!("'{}'", training.loss.name())));
    }
    let (data, labels) = (training.data, training.labels());
    let halves = split_rows_for(Purpose::HeldOut, data.rows(), 0.5, training.seed)?;
    let halves = [halves.0, halves.1];
    let positives = [by_label(data, &halves[0]), by_label(data, &halves[1])];
    let start = if training.propensities.is_some() { training.clipped() } else { vec![START; labels] };
    let mut propensities = Propensities::new(Learned::Alternating, start)?;
    for round in 0..rounds {
        let (train, test) = (round % 2, 1 - round % 2);
        let next = Mutex::new(propensities.values().to_vec());
        let update = |Finished { block, .. }: Finished| {
            let mut p = vec![None; block.width()];
            for (column, p) in p.iter_mut().enumerate() {
                let rows = &positives[test][block.first as usize + column];
                *p = propensity(training.features, &block, column, training.normalize, rows, halves[test].len());
            }
            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
            for (place, p) in next[block.first as usize..].iter_mut().zip(p) {
                *place = p.unwrap_or(*place);
            }
            Ok(())
        };
        training.with_propensities(propensities.clone())?.run(
            &halves[train],
            None,
            &blocks(labels)?,
            &[training.decay],
            &update,
        )?;
        propensities = Propensities::new(Learned::Alternating, next.into_inner().unwrap_or_else(PoisonError::into_inner))?;
    }
    Ok(propensities.with_bound(Bound::None).with_note("learned in turns with the classifier from observed labels alone"))
}

/// The rows of each label.
fn by_label(data: &Dataset<'_>, rows: &[usize]) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); data.labels().cols()];
    for &row in rows {
        data.labels().row_ids(row).iter().for_each(|&label| found[label as usize].push(row));
    }
    found
}

/// The minimum of the module's loss for one label, given the rows with it and how many rows there are.
fn propensity(
    features: &Features<'_>,
    block: &Block,
    column: usize,
    normalize: Normalize,
    positives: &[usize],
    rows: usize,
) -> Option<f64> {
    if positives.is_empty() {
        return None;
    }
    let width = block.width();
    let least = LEAST * positives.len() as f64 / rows as f64;
    let inverse = |row: usize| {
        let weight = |feature: usize| f64::from(block.weights[feature * width + column]);
        let (sum, factor) = match features {
            Features::Sparse(matrix) => {
                let (ids, values) = matrix.row(row);
                let products = ids.iter().zip(values).map(|(&id, &value)| weight(id as usize) * f64::from(value));
                (products.sum::<f64>(), normalize.factor(values))
            }
            Features::Dense(matrix) => {
                let values = matrix.row(row);
                let products = values.iter().enumerate().map(|(id, &value)| weight(id) * f64::from(value));
                (products.sum::<f64>(), normalize.factor(values))
            }
        };
        let logit = f64::from(block.bias[column]) + sum * f64::from(factor);
        1.0 / sigmoid(logit).max(least)
    };
    let mean = positives.iter().map(|&row| inverse(row)).sum::<f64>() / rows as f64;
    Some(mean.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dense;

    /// The closed form is where central differences of the loss vanish.
    #[test]
    fn the_propensity_is_the_minimum_of_its_loss() {
        let values: Vec<f32> = (0..40).map(|i| (i as f32 * 0.37).sin() * 2.0).collect();
        let features = Features::Dense(Dense::new(40, 1, values.clone()).unwrap());
        let block = Block { first: 0, bias: vec![0.8], weights: vec![0.6] };
        let positives: Vec<usize> = (0..40).step_by(3).collect();
        let p = propensity(&features, &block, 0, Normalize::None, &positives, 40).unwrap();
        let loss = |p: f64| -> f64 {
            let one = |row: usize| {
                let eta = sigmoid(f64::from(0.8 + 0.6 * values[row]));
                let y = if row.is_multiple_of(3) { 1.0 / eta } else { 0.0 };
                -y * p.ln() - (1.0 - y) * (1.0 - p).ln()
            };
            (0..40).map(one).sum()
        };
        assert!(p > 0.3 && p < 0.95, "{p}");
        let slope = (loss(p + 1e-5) - loss(p - 1e-5)) / 2e-5;
        assert!(slope.abs() < 1e-4, "{slope}");
        assert_eq!(propensity(&features, &block, 0, Normalize::None, &[], 40), None);
    }
}
