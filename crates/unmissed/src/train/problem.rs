//! What every solver is given: rows in batches, the loss, and what belongs to each label.

use super::batches::{Batch, Batches};
use super::held_out::HeldOut;
use super::lines::Line;
use super::rows::Rows;
use crate::losses::{Loss, Point};
use crate::progress::Progress;

/// A training problem. Everything by label has as many entries as there are labels.
pub(super) struct Problem<'a> {
    /// The rows by feature; none for a solver that reads them one after the other.
    pub(super) batches: &'a Batches,
    /// The rows one after the other; none for solvers that read them by feature.
    pub(super) rows: &'a Rows,
    /// Rows that are scored after each round of training, not trained on.
    pub(super) held_out: Option<&'a HeldOut>,
    /// What is minimised.
    pub(super) loss: &'static dyn Loss,
    /// Propensities, clipped as asked.
    pub(super) propensities: &'a [f64],
    /// Factors of the loss.
    pub(super) weights: Option<&'a [f64]>,
    /// Where the bias starts.
    pub(super) bias: &'a [f32],
    /// The seed of whatever is random.
    pub(super) seed: u64,
    /// Where progress is shown.
    pub(super) progress: &'a dyn Progress,
}

/// The part of a problem that belongs to one block of labels.
pub(super) struct Part<'a, const W: usize> {
    /// The first label.
    pub(super) first: u32,
    /// Number of labels; columns beyond are trained on nothing and dropped.
    pub(super) width: usize,
    /// Propensities of the columns, as the sweeps want them.
    pub(super) propensities: Line<W>,
    /// Factors of the loss.
    pub(super) weights: Line<W>,
    /// Where the bias starts.
    pub(super) bias: Line<W>,
    exact: [f64; W],
    loss: &'a dyn Loss,
}

impl<'a> Problem<'a> {
    /// Number of labels.
    pub(super) fn labels(&self) -> usize {
        self.propensities.len()
    }

    /// The part of the labels from `first` on.
    pub(super) fn part<const W: usize>(&self, first: u32) -> Part<'a, W> {
        let labels = first as usize..self.labels().min(first as usize + W);
        let mut part = Part {
            first,
            width: labels.len(),
            propensities: [1.0; W],
            weights: [1.0; W],
            bias: [0.0; W],
            exact: [1.0; W],
            loss: self.loss,
        };
        for (column, label) in labels.enumerate() {
            part.exact[column] = self.propensities[label];
            part.propensities[column] = self.propensities[label] as f32;
            part.weights[column] = self.weights.map_or(1.0, |weights| weights[label] as f32);
            part.bias[column] = self.bias[label];
        }
        part
    }
}

impl<const W: usize> Part<'_, W> {
    /// Takes other propensities: those that are learned move.
    pub(super) fn set_propensities(&mut self, propensities: [f64; W]) {
        self.exact = propensities;
        self.propensities = propensities.map(|p| p as f32);
    }

    /// The propensities of the columns.
    pub(super) fn exact_propensities(&self) -> [f64; W] {
        self.exact
    }

    /// What a row of a batch counts for in the batch's mean loss.
    pub(super) fn share(&self, batch: &Batch) -> Line<W> {
        self.weights.map(|weight| weight / batch.rows() as f32)
    }

    /// The observed pairs of a batch: (place of the row, column).
    pub(super) fn positives(&self, batch: &Batch) -> impl Iterator<Item = (usize, usize)> {
        let first = self.first;
        batch.positives(first, self.width).iter().map(move |&(label, place)| (place as usize, (label - first) as usize))
    }

    /// The loss of an observed pair.
    pub(super) fn observed(&self, column: usize, logit: f32) -> Point {
        self.loss.at(f64::from(logit), true, self.exact[column])
    }

    /// What an observed and an unobserved pair cost, when the loss is a squared hinge.
    pub(super) fn squared_hinge(&self, lane: usize) -> Option<[f64; 2]> {
        self.loss.squared_hinge(self.exact[lane])
    }

    /// The loss of an unobserved pair.
    pub(super) fn unobserved(&self, column: usize, logit: f32) -> Point {
        self.loss.at(f64::from(logit), false, self.exact[column])
    }
}
