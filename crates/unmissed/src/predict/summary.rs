//! A model in a few numbers.

use super::{Model, Normalize};
use serde::Serialize;

/// Sizes and weights of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelSummary {
    /// Number of features.
    pub features: usize,
    /// Number of labels.
    pub labels: usize,
    /// How rows are scaled.
    pub normalize: Normalize,
    /// Weights that are not zero, biases aside.
    pub nonzeros: u64,
    /// The share of weights that are zero; 0 when there are none.
    pub zero_share: f64,
    /// Bytes that the model takes in memory.
    pub bytes: u64,
    /// The Euclidean norm of a label's weights: minimum, quartiles and maximum over labels.
    pub norms: Option<[f64; 5]>,
    /// The same of the biases.
    pub biases: Option<[f64; 5]>,
}

impl Model {
    /// Sums the model up.
    ///
    /// ```
    /// use unmissed::predict::{Block, Model, Normalize};
    /// let block = Block { first: 0, bias: vec![-1.0, 0.0, 1.0], weights: vec![3.0, 0.0, 0.0, 4.0, 1.0, 0.0] };
    /// let summary = Model::new(2, Normalize::None, vec![block])?.summary();
    /// assert_eq!((summary.nonzeros, summary.zero_share), (3, 0.5));
    /// assert_eq!(summary.norms, Some([0.0, 0.5, 1.0, 3.0, 5.0]));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn summary(&self) -> ModelSummary {
        let (weights, nonzeros) = (self.features() as f64 * self.labels() as f64, self.nonzeros());
        ModelSummary {
            features: self.features(),
            labels: self.labels(),
            normalize: self.normalize(),
            nonzeros,
            zero_share: if weights == 0.0 { 0.0 } else { 1.0 - nonzeros as f64 / weights },
            bytes: self.bytes(),
            norms: quartiles(self.norms()),
            biases: quartiles(self.bias().iter().map(|bias| f64::from(*bias)).collect()),
        }
    }
}

/// Minimum, quartiles and maximum, by linear interpolation between neighbours; none of nothing.
fn quartiles(mut values: Vec<f64>) -> Option<[f64; 5]> {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([0.0, 0.25, 0.5, 0.75, 1.0].map(|share| {
        let place = share * last as f64;
        let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
        low + (high - low) * place.fract()
    }))
}
