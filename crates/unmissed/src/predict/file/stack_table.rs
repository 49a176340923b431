//! What was compared on a controlled set before a model was put together.

use serde::{Deserialize, Serialize};

/// What was compared on the controlled set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackTable {
    /// Controlled rows.
    pub rows: u64,
    /// Pairs of them that the regression used.
    pub pairs: u64,
    /// How many of these are positive.
    pub positives: u64,
    /// Whether the pairs that were shown are known, not only the positive ones.
    pub shown: bool,
    /// The models, with their log loss on rows that they were not fitted to.
    pub lines: Vec<StackLine>,
    /// By how much the log loss of the stack is below that of the recalibrated model.
    pub gain: f64,
    /// Its standard error over rows.
    pub gain_se: f64,
    /// Whether the stack was taken: there are enough rows, the gain exceeds its standard error, and so does that over the uncorrected model.
    pub taken: bool,
    /// The constant and the coefficients of the uncorrected model, the joint model and the log frequency.
    pub coefficients: [f64; 4],
    /// The variance of label effects.
    pub effect_variance: f64,
}

impl StackTable {
    /// On fewer controlled rows nothing is taken: a standard error over so few rows says little. In simulations with 10 rows
    /// recalibrations that passed did harm in the mean, with 30 they did not.
    pub const FEWEST_ROWS: u64 = 20;
}

/// One model of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackLine {
    /// `uncorrected`, `joint`, `recalibrated` or `stack`.
    pub model: String,
    /// The mean over controlled rows of the log loss, summed over the pairs of a row.
    pub loss: f64,
    /// Its standard error over rows.
    pub se: f64,
}

/// How later labels took part in a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaterOutcome {
    /// Rows with later labels, which took the place of their observed ones.
    pub rows: u64,
    /// All rows.
    pub of: u64,
    /// Labels that these rows gained.
    pub added: u64,
    /// Labels that these rows lost.
    pub withdrawn: u64,
}
