//! [`TreeModel`]: trees, and the weights on their nodes.

use super::Recalibration;
use super::arrays::Array;
use super::weights::{Weights, blocks_of};
use crate::error::{Error, Result};
use crate::predict::Normalize;
use crate::tree::Tree;
use serde::Serialize;

/// Trees with a linear classifier for each lane of each node. See the folder's page.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeModel {
    pub(super) features: usize,
    pub(super) normalize: Normalize,
    pub(super) trees: Vec<Tree>,
    /// What probabilities are multiplied with, when the trees were trained on observed labels and corrected for those that are
    /// missing: the inverse propensity of each label.
    pub(super) inverse: Option<Vec<f64>>,
    /// What a controlled set said about the probabilities, when one did.
    pub(super) recalibration: Option<Recalibration>,
    pub(super) weights: Weights,
    /// For each tree its first lane, and for each of its nodes the first block.
    pub(super) first_lanes: Vec<usize>,
    pub(super) first_blocks: Vec<Vec<usize>>,
}

/// Sizes of a model on trees.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreeSummary {
    /// Number of features.
    pub features: usize,
    /// Number of labels.
    pub labels: usize,
    /// How rows are scaled.
    pub normalize: Normalize,
    /// Number of trees.
    pub trees: usize,
    /// Nodes of all trees.
    pub nodes: usize,
    /// The most nodes above a label.
    pub depth: usize,
    /// Lanes of the widest node.
    pub widest: usize,
    /// Whether probabilities are divided by propensities.
    pub corrected: bool,
    /// Whether probabilities are recalibrated on a controlled set.
    pub recalibrated: bool,
    /// Weights that are not zero, biases aside.
    pub nonzeros: u64,
    /// Bytes that the weights take.
    pub bytes: u64,
}

impl TreeModel {
    /// Puts checked weights and trees over the same labels together.
    pub(crate) fn new(
        features: usize,
        normalize: Normalize,
        trees: Vec<Tree>,
        inverse: Option<Vec<f64>>,
        weights: Weights,
    ) -> Result<TreeModel> {
        let Some(first) = trees.first() else { return Err(Error::value("a model on trees has no tree")) };
        if trees.iter().any(|tree| tree.labels() != first.labels()) {
            return Err(Error::value("the trees of a model have different labels"));
        }
        if let Some(inverse) = &inverse
            && (inverse.len() != first.labels() || !inverse.iter().all(|factor| factor.is_finite() && *factor >= 1.0))
        {
            return Err(Error::value("the model does not have an inverse propensity of at least 1 for each label"));
        }
        let (mut first_lanes, mut first_blocks) = (vec![0], Vec::with_capacity(trees.len()));
        let mut block = 0;
        for tree in &trees {
            first_lanes.push(first_lanes[first_lanes.len() - 1] + tree.ends().len());
            first_blocks.push(
                (0..tree.nodes())
                    .map(|node| {
                        let first = block;
                        block += blocks_of(tree.lanes(node).len()).count();
                        first
                    })
                    .collect(),
            );
        }
        Ok(TreeModel { features, normalize, trees, inverse, recalibration: None, weights, first_lanes, first_blocks })
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.trees[0].labels()
    }

    /// How rows are scaled.
    pub fn normalize(&self) -> Normalize {
        self.normalize
    }

    /// The trees.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// What probabilities are multiplied with for labels that are missing, when they are: the inverse propensity of each label.
    pub fn inverse_propensities(&self) -> Option<&[f64]> {
        self.inverse.as_deref()
    }

    /// What a controlled set said about the probabilities, when one did.
    pub fn recalibration(&self) -> Option<&Recalibration> {
        self.recalibration.as_ref()
    }

    /// The model whose probabilities are recalibrated; one that divides by propensities is corrected already.
    pub(crate) fn recalibrated(mut self, recalibration: Recalibration) -> Result<TreeModel> {
        if self.inverse.is_some() || recalibration.offsets().len() != self.labels() {
            return Err(Error::value("the model does not have an offset for each label, or it divides by propensities, too"));
        }
        self.recalibration = Some(recalibration);
        Ok(self)
    }

    /// The model with something added to the logit of each lane, tree after tree.
    pub(crate) fn shifted(mut self, shifts: &[f32]) -> TreeModel {
        self.weights.bias =
            Array::from(self.weights.bias.iter().zip(shifts).map(|(bias, shift)| bias + shift).collect::<Vec<f32>>());
        self
    }

    pub(crate) fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Checks what of a file was not read yet: weights stay there until they are needed, and are checked then.
    pub fn verify(&self) -> Result<()> {
        self.weights.verify()
    }

    /// Sums the model up.
    pub fn summary(&self) -> TreeSummary {
        let widest = |tree: &Tree| (0..tree.nodes()).map(|node| tree.lanes(node).len()).max().unwrap_or(0);
        TreeSummary {
            features: self.features,
            labels: self.labels(),
            normalize: self.normalize,
            trees: self.trees.len(),
            nodes: self.trees.iter().map(Tree::nodes).sum(),
            depth: self.trees.iter().map(Tree::depth).max().unwrap_or(0),
            widest: self.trees.iter().map(widest).max().unwrap_or(0),
            corrected: self.inverse.is_some(),
            recalibrated: self.recalibration.is_some(),
            nonzeros: self.weights.nonzeros.iter().map(|count| u64::from(*count)).sum(),
            bytes: self.weights.size(),
        }
    }
}
