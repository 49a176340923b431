//! A linear score for each label, stored in blocks of labels.
//!
//! The score of label `j` on a row `x` is `z_j = b_j + sum_f W[f, j] x_f`, with the row scaled first as [`Normalize`] says.
//! Weights are held feature by feature inside a block of neighbouring labels, so that one feature of a row meets the
//! weights of all labels of the block in neighbouring memory: the layout in which they are trained and used.

use crate::error::{Error, Result};

/// How rows of features are scaled before they meet the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// Each row is divided by its Euclidean norm; a row of zeros stays as it is.
    L2,
    /// Rows are taken as they are.
    None,
}

impl Normalize {
    /// The factor for a row with these values.
    ///
    /// ```
    /// use unmissed::predict::Normalize;
    /// assert_eq!(Normalize::L2.factor(&[3.0, 4.0]), 0.2);
    /// assert_eq!(Normalize::L2.factor(&[0.0]), 1.0);
    /// assert_eq!(Normalize::None.factor(&[3.0, 4.0]), 1.0);
    /// ```
    pub fn factor(self, row: &[f32]) -> f32 {
        let norm = row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        if self == Normalize::None || norm == 0.0 { 1.0 } else { (1.0 / norm) as f32 }
    }
}

/// The weights of neighbouring labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The first label.
    pub first: u32,
    /// What is added to each label's score; as many as the block has labels.
    pub bias: Vec<f32>,
    /// Weights, feature by feature: `weights[feature * width + (label - first)]`.
    pub weights: Vec<f32>,
}

impl Block {
    /// Number of labels.
    pub fn width(&self) -> usize {
        self.bias.len()
    }
}

/// One linear scorer for each label. See the module's page.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    features: usize,
    normalize: Normalize,
    blocks: Vec<Block>,
}

impl Model {
    /// Checks that the blocks cover labels 0, 1, ... one after the other and hold finite weights for `features` features.
    pub fn new(features: usize, normalize: Normalize, blocks: Vec<Block>) -> Result<Model> {
        let mut labels = 0;
        for block in &blocks {
            let broken = |what: &str| Err(Error::value(format!("the block of labels from {} on {what}", block.first)));
            if block.first as usize != labels {
                return broken(&format!("does not follow label {labels}"));
            }
            if features.checked_mul(block.width()) != Some(block.weights.len()) {
                return broken(&format!(
                    "has {} weights for {features} features and {} labels",
                    block.weights.len(),
                    block.width()
                ));
            }
            if !block.weights.iter().chain(&block.bias).all(|weight| weight.is_finite()) {
                return broken("has weights that are not finite");
            }
            labels += block.width();
        }
        Ok(Model { features, normalize, blocks })
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.blocks.iter().map(Block::width).sum()
    }

    /// How rows are scaled.
    pub fn normalize(&self) -> Normalize {
        self.normalize
    }

    /// The weights.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }
}
