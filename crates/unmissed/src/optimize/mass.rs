//! How many positives each label is expected to have, and how much of that the stored scores hold.
//!
//! Scores are usually lists: the 100 most probable of thousands of labels per row. A label's expected positives are the sum of its
//! probabilities over *all* rows, and where most of a rare label's rows do not store it, the stored sum is far too small: its F would be
//! claimed to be far too high. Training counts tell what is missing: label j has `n n_j / (N p_j)` expected positives in n rows, when
//! n_j of N training rows had it observed with propensity p_j.
//!
//! Without training counts the most that can be missing is known if rows store their highest scores: what is not stored is no more
//! probable than the least that is.

use super::candidates::Candidates;
use crate::data::LabelStats;
use crate::error::{Error, Result};
use crate::request::Positives;
use serde::Serialize;

/// The largest share of expected positives that may be missing from the stored scores for the stored sum to count as complete.
const TOLERATED: f64 = 0.01;

/// How much of the expected positives the stored scores hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mass {
    /// Where expected positives came from.
    pub source: Positives,
    /// The sum of stored probabilities.
    pub stored: f64,
    /// Expected positives of all labels together.
    pub expected: f64,
    /// The share of expected positives that is not stored: as training counts say, or `None` when nothing says so.
    pub not_stored: Option<f64>,
    /// The largest share that can be missing if rows store their highest scores.
    pub at_most: f64,
    /// Stored probabilities over what training counts say of the same labels: far above 1, the probabilities are too high.
    pub stored_over_counts: Option<f64>,
}

/// Expected positives by label, and what is known about their mass. `inverse` has the inverse propensities of priors.
pub(super) fn expected_positives(
    candidates: &Candidates<'_>,
    wanted: Positives,
    train: Option<&LabelStats>,
    inverse: Option<&[f64]>,
    needed_for: Option<&str>,
) -> Result<(Vec<f64>, Mass)> {
    let stored = candidates.sums();
    let total: f64 = stored.iter().sum();
    let missing = largest_missing(candidates);
    let at_most = if missing > 0.0 { missing / (missing + total) } else { 0.0 };
    let source = match (wanted, train) {
        (Positives::Auto | Positives::Train, Some(_)) => Positives::Train,
        (Positives::Train, None) => {
            return Err(Error::value("expected positives from training counts need training labels")
                .hint("pass the training labels: --train on the command line, train= in Python"));
        }
        (Positives::Stored, _) => Positives::Stored,
        (Positives::Auto, None) => {
            if let Some(objective) = needed_for.filter(|_| at_most > TOLERATED) {
                return Err(Error::value(format!(
                    "'{objective}' needs the expected positives of every label, but up to {:.0} % of them may not be stored",
                    100.0 * at_most
                ))
                .expected("training labels, or scores of (almost) all labels that can be relevant")
                .hint(
                    "pass the training labels (--train, train= in Python), store more scores per row, or assume that the stored \
                     scores are complete (--positives stored), which overstates the result",
                ));
            }
            Positives::Stored
        }
    };
    let Some(train) = train.filter(|_| source == Positives::Train) else {
        let mass = Mass { source, stored: total, expected: total, not_stored: None, at_most, stored_over_counts: None };
        return Ok((stored, mass));
    };
    if train.labels() != candidates.labels() as u64 {
        return Err(Error::value("the training labels do not fit the scores")
            .expected(format!("{} labels", candidates.labels()))
            .found(train.labels().to_string()));
    }
    if train.rows() == 0 {
        return Err(Error::value("the training labels have no rows").expected("at least one row"));
    }
    let rows = candidates.rows() as f64;
    let of_counts = |label: usize, count: u64| {
        let inverse = inverse.map_or(1.0, |inverse| inverse[label]);
        (rows * count as f64 / train.rows() as f64 * inverse).min(rows)
    };
    let counted: Vec<f64> = train.dense_counts()?.into_iter().enumerate().map(|(label, count)| of_counts(label, count)).collect();
    // What the scores say is there is there: a label cannot have more expected hits than positives.
    let positives: Vec<f64> = counted.iter().zip(&stored).map(|(counted, stored)| counted.max(*stored)).collect();
    let expected: f64 = positives.iter().sum();
    let of_all: f64 = counted.iter().sum();
    let mass = Mass {
        source,
        stored: total,
        expected,
        not_stored: Some(if expected > 0.0 { 1.0 - total / expected } else { 0.0 }),
        at_most,
        stored_over_counts: (of_all > 0.0).then(|| total / of_all),
    };
    Ok((positives, mass))
}

/// The most that unstored labels can add up to: in each row all that are not stored, as probable as the least that is.
fn largest_missing(candidates: &Candidates<'_>) -> f64 {
    let (scores, inverse) = (candidates.stored(), candidates.inverse());
    let of = |label: u32| inverse.map_or(1.0, |inverse| f64::from(inverse[label as usize]));
    let all: f64 = inverse.map_or(scores.cols() as f64, |inverse| inverse.iter().map(|q| f64::from(*q)).sum());
    scores
        .iter()
        .map(|(ids, values)| {
            let least = if values.is_empty() { 0.0 } else { f64::from(least_of(values)) };
            let stored: f64 = if inverse.is_none() { ids.len() as f64 } else { ids.iter().map(|label| of(*label)).sum() };
            least * (all - stored).max(0.0)
        })
        .sum()
}

/// The least of some numbers, in lanes that do not wait for each other.
fn least_of(values: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut least = [f32::INFINITY; LANES];
    for values in values.chunks(LANES) {
        least.iter_mut().zip(values).for_each(|(least, value)| *least = if *value < *least { *value } else { *least });
    }
    least.into_iter().fold(f32::INFINITY, f32::min)
}
