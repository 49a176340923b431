//! The input of every solver: rows in batches, the loss, and the settings of each label.

use super::batches::{Batch, Batches};
use super::held_out::HeldOut;
use super::lines::{Line, Lines};
use super::rows::Rows;
use crate::data::Labels;
use crate::losses::{Loss, Point};
use crate::progress::Progress;
use crate::propensity::rows::PairPropensities;

/// A training problem. Everything by label has as many entries as there are labels.
#[derive(Clone, Copy)]
pub(super) struct Problem<'a> {
    /// The rows by feature; none for a solver that reads them one after the other.
    pub(super) batches: &'a Batches,
    /// The rows one after the other; none for solvers that read them by feature.
    pub(super) rows: &'a Rows,
    /// Rows that are scored after each round of training, not trained on.
    pub(super) held_out: Option<&'a HeldOut<'a>>,
    /// What is minimised.
    pub(super) loss: &'static dyn Loss,
    /// Propensities, clipped as asked.
    pub(super) propensities: &'a [f64],
    /// Propensities of pairs where they depend on the row; those by label are then their means.
    pub(super) pairs: Option<Pairs<'a>>,
    /// Factors of the loss.
    pub(super) weights: Option<&'a [f64]>,
    /// Where the bias starts.
    pub(super) bias: &'a [f32],
    /// The seed of whatever is random.
    pub(super) seed: u64,
    /// Where progress is shown.
    pub(super) progress: &'a dyn Progress,
}

/// Propensities of single pairs, and which rows of the data those of the problem are.
#[derive(Clone, Copy)]
pub(super) struct Pairs<'a> {
    pub(super) source: PairSource<'a>,
    pub(super) rows: &'a [usize],
}

/// Where propensities of single pairs come from.
#[derive(Clone, Copy)]
pub(super) enum PairSource<'a> {
    /// A row-dependent model.
    Model(&'a PairPropensities),
    /// A controlled set: 1 for pairs that were shown, 0 for others, whose likelihood is 1 then: they count for nothing.
    Shown(&'a Labels<'a>),
}

impl Pairs<'_> {
    /// The propensities of the unobserved pairs of a block, by row.
    pub(super) fn lines<const W: usize>(&self, part: &Part<'_, W>) -> Lines<W> {
        let mut lines = Lines::zeros(self.rows.len());
        for (line, row) in lines.get_mut().iter_mut().zip(self.rows) {
            match self.source {
                PairSource::Model(propensities) => {
                    // Columns beyond the labels are trained on nothing, but still need a propensity.
                    line.fill(1.0);
                    propensities.fill(*row, part.first, &mut line[..part.width]);
                }
                PairSource::Shown(shown) => {
                    let columns = shown.row_ids(*row).iter().filter_map(|label| label.checked_sub(part.first));
                    columns.filter(|column| (*column as usize) < part.width).for_each(|column| line[column as usize] = 1.0);
                }
            }
        }
        lines
    }

    /// The propensity of an observed pair.
    pub(super) fn observed(&self, place: usize, first: u32, column: usize) -> f64 {
        match self.source {
            PairSource::Model(propensities) => propensities.get(self.rows[place], first + column as u32, true),
            PairSource::Shown(_) => 1.0,
        }
    }
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

    /// The part of the loss of an observed pair that is kept from falling below 0 over rows.
    pub(super) fn irrelevant(&self, column: usize, logit: f32) -> Option<Point> {
        self.loss.irrelevant(f64::from(logit), true, self.exact[column])
    }

    /// The loss of an observed pair.
    pub(super) fn observed(&self, column: usize, logit: f32) -> Point {
        self.loss.at(f64::from(logit), true, self.exact[column])
    }

    /// What an observed and an unobserved pair cost, when the loss is a squared hinge.
    pub(super) fn squared_hinge(&self, lane: usize) -> Option<[f64; 2]> {
        self.loss.squared_hinge(self.exact[lane])
    }
}
