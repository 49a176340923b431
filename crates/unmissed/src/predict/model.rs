//! A linear score for each label, stored in blocks of labels.
//!
//! The score of label `j` on a row `x` is `z_j = b_j + sum_f W[f, j] x_f`, with the row scaled first as [`Normalize`] says.
//! Weights are held feature by feature inside a block of neighbouring labels, so that one feature of a row meets the
//! weights of all labels of the block in neighbouring memory: the layout in which they are trained and used.

use super::builder::Builder;
use super::kernel::WIDTH;
use super::panel::Panel;
use crate::data::Features;
use crate::error::{Error, Result, digits};
use rayon::prelude::*;
use std::ops::Range;

/// How rows of features are scaled before they meet the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// Each row is divided by its Euclidean norm; a row of zeros is not changed.
    L2,
    /// Rows are not scaled.
    None,
}

impl Normalize {
    /// What to do unless there is a reason: rows of sparse data, such as words of a text, are scaled; where at least half of all
    /// features are nonzero, their size is meaningful, and rows are not scaled.
    ///
    /// ```
    /// use unmissed::data::{Csr, Dense, Features};
    /// use unmissed::predict::Normalize;
    /// let points = Features::Dense(Dense::new(1, 2, vec![3.0, 4.0])?);
    /// let words = Features::Sparse(Csr::from_rows(5, [[(1, 1.0f32)], [(3, 1.0)]])?);
    /// assert_eq!((Normalize::usual(&points), Normalize::usual(&words)), (Normalize::None, Normalize::L2));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn usual(features: &Features<'_>) -> Normalize {
        match features {
            Features::Sparse(matrix) if 2 * matrix.nnz() < matrix.rows().saturating_mul(matrix.cols()) => Normalize::L2,
            _ => Normalize::None,
        }
    }

    /// The factor for a row with these values.
    ///
    /// ```
    /// use unmissed::predict::Normalize;
    /// assert_eq!(Normalize::L2.factor(&[3.0, 4.0]), 0.2);
    /// assert_eq!(Normalize::L2.factor(&[0.0]), 1.0);
    /// assert_eq!(Normalize::None.factor(&[3.0, 4.0]), 1.0);
    /// ```
    pub fn factor(self, row: &[f32]) -> f32 {
        self.factor_of(row.iter().copied())
    }

    pub(crate) fn factor_of(self, row: impl Iterator<Item = f32>) -> f32 {
        if self == Normalize::None {
            return 1.0;
        }
        let norm = row.map(|value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        if norm == 0.0 { 1.0 } else { (1.0 / norm) as f32 }
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

    /// Checks that there are finite weights for `features` features.
    pub(super) fn check(&self, features: usize) -> Result<()> {
        let broken = |what: String| Err(Error::value(format!("the block of labels from {} on {what}", self.first)));
        let (found, width) = (self.weights.len(), self.width());
        if features.checked_mul(width) != Some(found) {
            return broken(format!("has {found} weights for {features} features and {width} labels"));
        }
        if !self.weights.iter().chain(&self.bias).all(|weight| weight.is_finite()) {
            return broken("has weights that are not finite".into());
        }
        Ok(())
    }
}

/// One linear scorer for each label. See the module's page.
///
/// ```
/// use unmissed::predict::{Block, Model, Normalize};
/// // Two features, three labels in two blocks.
/// let first = Block { first: 0, bias: vec![0.5, 0.0], weights: vec![1.0, 2.0, -1.0, 0.0] };
/// let second = Block { first: 2, bias: vec![0.0], weights: vec![0.25, 4.0] };
/// let model = Model::new(2, Normalize::None, vec![first, second])?;
/// assert_eq!((model.features(), model.labels(), model.weight(1, 2)), (2, 3, 4.0));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    features: usize,
    labels: usize,
    normalize: Normalize,
    bias: Vec<f32>,
    panels: Vec<Panel>,
}

impl Model {
    /// Checks that the blocks cover labels 0, 1, ... one after the other and hold finite weights for `features` features.
    pub fn new(features: usize, normalize: Normalize, blocks: Vec<Block>) -> Result<Model> {
        if u32::try_from(features).is_err() {
            return Err(Error::value("too many features: ids have 32 bits"));
        }
        let mut builder = Builder::new(features);
        for block in blocks {
            block.check(features)?;
            if block.first as usize != builder.labels() {
                let what = format!("the block of labels from {} on does not follow label {}", block.first, builder.labels());
                return Err(Error::value(what));
            }
            builder.push(&block.bias, |from, column, lines| {
                for (line, weights) in lines.iter_mut().zip(block.weights.chunks_exact(block.width())) {
                    line.0[column..column + from.len()].copy_from_slice(&weights[from.clone()]);
                }
            })?;
        }
        Ok(builder.finish(normalize))
    }

    pub(super) fn from_panels(features: usize, normalize: Normalize, bias: Vec<f32>, panels: Vec<Panel>) -> Model {
        Model { features, labels: bias.len(), normalize, bias, panels }
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// How rows are scaled.
    pub fn normalize(&self) -> Normalize {
        self.normalize
    }

    /// What is added to each label's score.
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// One weight.
    ///
    /// # Panics
    /// When there is no such feature or label: which there are is the caller's knowledge, not input.
    pub fn weight(&self, feature: usize, label: u32) -> f32 {
        let (panel, column) = (label as usize / WIDTH, label as usize % WIDTH);
        assert!(feature < self.features && (label as usize) < self.labels, "no weight for feature {feature}, label {label}");
        self.panels[panel].copy(feature..feature + 1, &mut Vec::new())[0].0[column]
    }

    /// The weights in blocks of labels, one block at a time.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = Block> + '_ {
        (0..self.panels.len()).map(|panel| {
            let labels = self.panel_labels(panel);
            let lines = self.panels[panel].all_lines(self.features);
            let weights = lines.iter().flat_map(|line| &line.0[..labels.len()]).copied().collect();
            Block { first: labels.start as u32, bias: self.bias[labels].to_vec(), weights }
        })
    }

    /// The same model without weights of at most `least` in absolute value, stored sparsely where that takes fewer bytes.
    ///
    /// ```
    /// use unmissed::predict::{Block, Model, Normalize};
    /// let block = Block { first: 0, bias: vec![0.0], weights: vec![0.5, -0.01, 0.02] };
    /// let model = Model::new(3, Normalize::None, vec![block])?.prune(0.01)?;
    /// assert_eq!((model.weight(1, 0), model.weight(2, 0)), (0.0, 0.02));
    /// assert_eq!(model.nonzeros(), 2);
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn prune(self, least: f32) -> Result<Model> {
        check_prune(least)?;
        let Model { features, labels, .. } = self;
        let width = |panel: usize| WIDTH.min(labels - panel * WIDTH);
        let panels = self.panels.into_par_iter().enumerate();
        let panels = panels.map(|(at, panel)| panel.pruned(features, width(at), least)).collect();
        Ok(Model { panels, ..self })
    }

    /// Number of nonzero weights, biases aside.
    pub fn nonzeros(&self) -> u64 {
        self.panels.par_iter().map(|panel| panel.nonzeros() as u64).sum()
    }

    /// Bytes that the weights take in memory.
    pub fn bytes(&self) -> u64 {
        self.panels.iter().map(|panel| panel.bytes() as u64).sum::<u64>() + size_of_val(self.bias.as_slice()) as u64
    }

    /// The Euclidean norm of each label's weights, the bias aside.
    pub fn norms(&self) -> Vec<f64> {
        let norms = |panel: usize| -> Vec<f64> {
            let mut squares = [0.0f64; WIDTH];
            for line in self.panels[panel].all_lines(self.features).iter() {
                squares.iter_mut().zip(&line.0).for_each(|(sum, weight)| *sum += f64::from(*weight).powi(2));
            }
            squares[..self.panel_labels(panel).len()].iter().map(|square| square.sqrt()).collect()
        };
        (0..self.panels.len()).into_par_iter().flat_map_iter(norms).collect()
    }

    pub(super) fn panels(&self) -> &[Panel] {
        &self.panels
    }

    /// The labels of a panel.
    pub(super) fn panel_labels(&self, panel: usize) -> Range<usize> {
        panel * WIDTH..self.labels.min((panel + 1) * WIDTH)
    }
}

/// Rejects what is no size of weights.
pub(super) fn check_prune(least: f32) -> Result<()> {
    if least >= 0.0 && least.is_finite() {
        return Ok(());
    }
    Err(Error::value("the size below which weights are dropped is out of range")
        .expected("a finite number of at least 0")
        .found(digits(least.into())))
}
