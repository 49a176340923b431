//! The result of an optimisation.

use super::candidates::Correction;
use super::expected::BeforeAfter;
use super::mass::Mass;
use crate::data::Scores;
use crate::metrics::Estimator;
use crate::predict::Weighting;
use serde::Serialize;

/// Labels for every row, lines for new rows, and what there is to know about both.
#[derive(Clone, Debug)]
pub struct Optimized {
    /// The labels of each row; their scores are their probabilities.
    pub predictions: Scores<'static>,
    /// The most probable labels of each row: what the optimised ones are compared with.
    pub most_probable: Scores<'static>,
    /// A line for each label, for new rows.
    pub weighting: Weighting,
    /// What came of it.
    pub report: OptimizeReport,
}

/// What came of an optimisation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptimizeReport {
    /// What was maximised.
    pub metric: String,
    /// Labels per row.
    pub k: usize,
    /// Whether rows may have fewer.
    pub at_most: bool,
    /// How it was searched.
    pub method: String,
    /// Whether low values are good.
    pub lower_is_better: bool,
    /// The objective of expected counts, for the most probable labels.
    pub value_before: f64,
    /// The objective of expected counts, for the optimised ones.
    pub value: f64,
    /// The same after each pass over the rows.
    pub values: Vec<f64>,
    /// Whether the search came to its end.
    pub converged: bool,
    /// Rows whose labels are not the most probable ones.
    pub rows_changed: u64,
    /// Expected values of the objective and of precision, when labels were drawn.
    pub expected: Vec<BeforeAfter>,
    /// How many times labels were drawn.
    pub draws: usize,
    /// Values on known labels, when there are some.
    pub measured: Vec<MeasuredRow>,
    /// Level of intervals.
    pub level: f64,
    /// How much of the expected positives is stored.
    pub mass: Mass,
    /// What dividing by propensities did.
    pub correction: Option<Correction>,
    /// Where propensities came from.
    pub propensity: Option<String>,
    /// What to know before believing the numbers.
    pub notes: Vec<String>,
}

/// A metric of both lists on known labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredRow {
    /// The values.
    #[serde(flatten)]
    pub values: BeforeAfter,
    /// How they were obtained.
    pub estimator: Estimator,
    /// Expected minus measured value after optimisation.
    pub optimism: Option<f64>,
    /// Expected minus measured gain.
    pub optimism_of_gain: Option<f64>,
}
