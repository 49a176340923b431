//! The interface of a parametric propensity curve.

use crate::data::LabelStats;
use crate::error::Result;
use crate::sealed::Sealed;

/// One constant of a curve.
#[derive(Clone, Copy, Debug)]
pub struct CurveParameter {
    /// The symbol in the paper and the key in spec strings.
    pub name: &'static str,
    /// The smallest value that makes sense.
    pub low: f64,
    /// The largest value that makes sense.
    pub high: f64,
    /// Whether a fit may choose it; a parameter that only repeats what others can do is held at 1.
    pub free: bool,
    /// On which scale a search moves it.
    pub scale: ParameterScale,
}

/// The scale on which a search moves a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterScale {
    /// As it is.
    Linear,
    /// By its logarithm, which suits constants whose order of magnitude is unknown.
    Log,
    /// By the logarithm of one more, for those that may be 0.
    Log1p,
}

impl ParameterScale {
    /// The coordinate of a value.
    pub(crate) fn forward(self, value: f64) -> f64 {
        match self {
            ParameterScale::Linear => value,
            ParameterScale::Log => value.ln(),
            ParameterScale::Log1p => value.ln_1p(),
        }
    }

    /// The value at a coordinate.
    pub(crate) fn back(self, coordinate: f64) -> f64 {
        match self {
            ParameterScale::Linear => coordinate,
            ParameterScale::Log => coordinate.exp(),
            ParameterScale::Log1p => coordinate.exp_m1(),
        }
    }

    /// The derivative of the value by the coordinate.
    pub(crate) fn slope(self, value: f64) -> f64 {
        match self {
            ParameterScale::Linear => 1.0,
            ParameterScale::Log => value,
            ParameterScale::Log1p => value + 1.0,
        }
    }
}

/// What a curve may know about the training data besides a label's count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of rows, n.
    pub rows: f64,
    /// Positives of the most frequent label, max_j n_j.
    pub largest: f64,
}

impl Sample {
    /// Of counted labels.
    pub fn of(stats: &LabelStats) -> Sample {
        Sample { rows: stats.rows() as f64, largest: stats.largest() as f64 }
    }

    /// The same data copied `k` times: every count and the number of rows grow alike.
    #[must_use]
    pub fn copied(self, k: f64) -> Sample {
        Sample { rows: self.rows * k, largest: self.largest * k }
    }

    /// A label with `count` positives, its prior smoothed with `alpha`.
    pub fn at(self, count: f64, alpha: f64) -> At {
        At { sample: self, count, prior: (count + alpha) / (self.rows + alpha), top: (self.largest + alpha) / (self.rows + alpha) }
    }
}

/// Where a curve is evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct At {
    /// The data.
    pub sample: Sample,
    /// Positives of the label, n_j; half a positive for a label that was never observed.
    pub count: f64,
    /// Observed prior, smoothed: `pi~_j`.
    pub prior: f64,
    /// The same of the most frequent label.
    pub top: f64,
}

/// A propensity curve: value and gradient in its parameters. Only this crate implements it.
pub trait Curve: Sealed + Sync + std::fmt::Debug {
    /// The name in spec strings, with words that belong to the curve (`power:relative`).
    fn name(&self) -> &'static str;
    /// The parameters, in the order of `theta`.
    fn parameters(&self) -> &'static [CurveParameter];
    /// Whether the curve exists for these data at all; an error says why not.
    fn check(&self, _sample: Sample) -> Result<()> {
        Ok(())
    }
    /// The propensity. May exceed 1 where the formula does; callers clip.
    fn value(&self, theta: &[f64], at: At) -> f64;
    /// The propensity, and its derivatives by the parameters into `gradient`. Where the model clips, they are those of the
    /// clipped value, zero.
    fn gradient(&self, theta: &[f64], at: At, gradient: &mut [f64]) -> f64;
    /// Constants from which a search may start, given the smallest, median and largest prior, and a log-log line through the
    /// inverse propensities: `ln q = level - slope ln pi~`.
    fn starts(&self, hint: Hint) -> Vec<Vec<f64>>;
}

/// What the data suggest before any fit.
#[derive(Clone, Copy, Debug)]
pub struct Hint {
    /// The data.
    pub sample: Sample,
    /// The smallest prior that the fit sees, the median by label, and the largest.
    pub priors: [f64; 3],
    /// Inverse propensities of rare, middling and frequent labels (mean over a third of the labels each).
    pub inverse: [f64; 3],
    /// Intercept of the log-log line.
    pub level: f64,
    /// Slope of the log-log line.
    pub slope: f64,
}
