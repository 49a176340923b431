//! A model for complete labels out of two models for observed ones, on the evidence of a controlled set.
//!
//! Two linear models are trained on the training rows alone: `z^V` without a correction, `z^J` by joint learning of classifier and
//! propensities. A logistic regression on the pairs of the controlled set weights them:
//!
//! `logit P(y_ij = 1) = b0 + b1 z^V_ij + b2 z^J_ij + b3 ln((n_j + 1/2) / n) + u_j`, `u_j ~ N(0, tau^2)`,
//!
//! with n_j the observed count of the label on n training rows. The label effects u_j are shrunken by empirical Bayes, so a label
//! with few controlled pairs follows the others. When only the positives of the controlled set are known, not which pairs were
//! shown, a pair is positive with probability `c_j P(y_ij = 1)`, c_j the rate. The result is one linear model: the weights are
//! `b1 W^V + b2 W^J`, and the rest goes into the bias.
//!
//! **The guard.** Ten-fold cross-validation over controlled rows gives the log loss of the regression and that of `b0 + b1 z^V`, which
//! ranks labels as the uncorrected model does. Unless the regression is better than both that and the uncorrected model as it is, each by more
//! than one standard error (over rows), the uncorrected model stays; so it does on fewer than 20 rows, over which a standard error says little. The [`StackTable`] shows what was compared.
//!
//! # Assumes
//! Controlled rows are like the rows that will be predicted, and what was shown was chosen at random at the known rate. Neither
//! model may have seen the controlled rows: a base that was fitted to them looks better there than it is.
//!
//! # Reference
//! Wolpert: *Stacked generalization*, Neural Networks 1992, for fitting a combination on rows that the parts were not trained on.

mod guard;
mod pairs;
mod regression;
mod tree;

use crate::data::{Dataset, Labels, Rate};
use crate::error::{Error, Result};
use crate::predict::file::StackTable;
use crate::predict::{Block, Model};
use guard::Compared;
use pairs::{Logits, Pairs};
use regression::Regression;
pub(super) use regression::point;
use std::collections::HashMap;
pub(super) use tree::recalibrate;

/// What a stack is made of.
pub struct Stack<'a> {
    /// A model that was trained without a correction.
    pub uncorrected: &'a Model,
    /// A model that was trained by joint learning.
    pub joint: &'a Model,
    /// Observed counts of labels on the training rows.
    pub counts: &'a [u64],
    /// The number of training rows.
    pub rows: usize,
    /// The controlled rows, with the positives among what was shown.
    pub controlled: &'a Dataset<'a>,
    /// At which rate pairs were shown.
    pub rate: &'a Rate,
    /// The pairs that were shown, when they are known.
    pub shown: Option<&'a Labels<'a>>,
    /// How many pairs each shown pair stands for, by row and label, where they were not all drawn alike; 1 for those that are missing.
    pub weights: Option<&'a HashMap<(u32, u32), f64>>,
    /// The seed of folds and samples.
    pub seed: u64,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Stacked {
    /// The stack, or the uncorrected model where the guard did not let it pass.
    pub model: Model,
    /// What was compared.
    pub table: StackTable,
}

/// A controlled set, and what is known about the labels from the training rows.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) counts: &'a [u64],
    pub(super) rows: usize,
    pub(super) controlled: &'a Dataset<'a>,
    pub(super) rate: &'a Rate,
    pub(super) shown: Option<&'a Labels<'a>>,
    pub(super) weights: Option<&'a HashMap<(u32, u32), f64>>,
    pub(super) seed: u64,
}

/// A regression on the pairs, and whether the guard lets it pass.
struct Fitted {
    pairs: Pairs,
    whole: Regression,
    table: StackTable,
}

impl Evidence<'_> {
    /// Fits the regression of the pairs on their logits.
    fn fit(&self, logits: &dyn Logits) -> Result<Fitted> {
        let pairs = Pairs::collect(self, logits)?;
        let whole = Regression::stack(&pairs, &|_| true)?;
        let Compared { lines, gain, gain_se, taken } = guard::compare(&pairs, self.seed)?;
        let table = StackTable {
            rows: self.controlled.rows() as u64,
            pairs: pairs.len() as u64,
            positives: pairs.positives() as u64,
            shown: self.shown.is_some(),
            lines,
            gain,
            gain_se,
            taken: taken && self.controlled.rows() as u64 >= StackTable::FEWEST_ROWS,
            coefficients: whole.coefficients(&pairs.scales),
            effect_variance: whole.variance,
        };
        Ok(Fitted { pairs, whole, table })
    }

    /// Rejects a controlled set that is not about so many features and labels.
    fn check(&self, features: usize, labels: usize) -> Result<()> {
        self.rate.check_draw(labels as u64)?;
        let shapes = [
            ("label counts", labels, self.counts.len()),
            ("labels of the controlled set", labels, self.controlled.labels().cols()),
            ("features of the controlled set", features, self.controlled.features().map_or(0, |features| features.cols())),
            ("rows of shown pairs", self.controlled.rows(), self.shown.map_or(self.controlled.rows(), |shown| shown.rows())),
            ("labels of shown pairs", labels, self.shown.map_or(labels, |shown| shown.cols())),
        ];
        for (what, expected, found) in shapes {
            if expected != found {
                return Err(Error::value(format!("the number of {what} does not fit the training data"))
                    .expected(expected.to_string())
                    .found(found.to_string()));
            }
        }
        Ok(())
    }
}

impl Stack<'_> {
    /// Fits the regression, and puts the models together if the guard lets it pass.
    pub fn fit(&self) -> Result<Stacked> {
        let Stack { uncorrected, joint, counts, rows, controlled, rate, shown, weights, seed } = *self;
        let of = |model: &Model| (model.features(), model.labels(), model.normalize());
        if of(uncorrected) != of(joint) {
            return Err(Error::value("the two models have different features or labels, or scale rows differently"));
        }
        let evidence = Evidence { counts, rows, controlled, rate, shown, weights, seed };
        evidence.check(uncorrected.features(), uncorrected.labels())?;
        let Fitted { pairs, whole, table } = evidence.fit(self)?;
        let model = if table.taken { self.combined(&whole, table.coefficients, &pairs)? } else { uncorrected.clone() };
        Ok(Stacked { model, table })
    }

    /// `b1 W^V + b2 W^J` with everything else in the bias.
    fn combined(&self, whole: &Regression, [constant, plain, joint, frequency]: [f64; 4], pairs: &Pairs) -> Result<Model> {
        let mixed = |a: f32, b: f32| plain * f64::from(a) + joint * f64::from(b);
        let blocks = self.uncorrected.blocks().zip(self.joint.blocks()).map(|(a, b)| {
            let bias = a.bias.iter().zip(&b.bias).enumerate().map(|(column, (a_bias, b_bias))| {
                let label = a.first as usize + column;
                let of_label = frequency * pairs.frequencies[label] + whole.effects[label];
                (mixed(*a_bias, *b_bias) + constant + of_label) as f32
            });
            let bias = bias.collect();
            let weights = a.weights.iter().zip(&b.weights).map(|(a, b)| mixed(*a, *b) as f32).collect();
            Block { first: a.first, bias, weights }
        });
        Model::new(self.uncorrected.features(), self.uncorrected.normalize(), blocks.collect())
    }
}

#[cfg(test)]
mod tests;
