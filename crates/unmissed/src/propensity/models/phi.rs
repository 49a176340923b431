//! [`Phi`]: a curve with numbers for its parameters, the phi of the paper.

use super::curve::{Curve, Sample};
use crate::data::LabelStats;
use crate::error::{Error, Result};
use crate::propensity::{Propensities, Source};
use std::collections::HashMap;
use std::fmt::Write;

/// A propensity curve with known constants.
///
/// ```
/// use unmissed::data::LabelStats;
/// use unmissed::propensity::models;
/// let stats = LabelStats::from_counts(50, &[1, 25, 0])?;
/// let p = models::parse("jpv")?.propensities(&stats)?;
/// assert!((p.get(0) / 0.25562221863533147 - 1.0).abs() < 1e-12);
/// assert!((p.get(1) / 0.5571545100089221 - 1.0).abs() < 1e-12);
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Phi {
    curve: &'static dyn Curve,
    theta: Vec<f64>,
    alpha: f64,
}

impl Phi {
    /// Checks the constants against the curve's bounds.
    pub fn new(curve: &'static dyn Curve, theta: Vec<f64>, alpha: f64) -> Result<Phi> {
        let phi = Phi { curve, theta, alpha };
        for (parameter, value) in curve.parameters().iter().zip(&phi.theta) {
            if !(parameter.low..=parameter.high).contains(value) {
                return Err(Error::value(format!("'{}': {} is out of range", phi.spec(), parameter.name))
                    .expected(format!("a number from {} to {}", parameter.low, parameter.high))
                    .found(value.to_string()));
            }
        }
        if !(alpha >= 0.0 && alpha.is_finite()) {
            return Err(Error::value(format!("'{}': alpha is out of range", phi.spec())).expected("a number of at least 0"));
        }
        Ok(phi)
    }

    /// The curve.
    pub fn curve(&self) -> &'static dyn Curve {
        self.curve
    }

    /// The constants, in the order of the curve's parameters.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// The smoothing of the prior.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The same curve with other constants.
    pub(crate) fn with_theta(&self, theta: Vec<f64>) -> Phi {
        Phi { theta, ..self.clone() }
    }

    /// The canonical spec string: every constant written out.
    pub fn spec(&self) -> String {
        let mut text = self.curve.name().to_owned();
        let mut separator = if text.contains(':') { ',' } else { ':' };
        let mut put = |key: &str, value: f64| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{key}={value}");
            separator = ',';
        };
        for (parameter, value) in self.curve.parameters().iter().zip(&self.theta) {
            put(parameter.name, *value);
        }
        if self.alpha > 0.0 {
            put("alpha", self.alpha);
        }
        text
    }

    /// The propensity of a label with `count` positives, at most 1. The formula as it stands: a count of 0 is taken as 0.
    pub fn at(&self, sample: Sample, count: f64) -> f64 {
        self.curve.value(&self.theta, sample.at(count, self.alpha)).min(1.0)
    }

    /// A propensity for each label. A label that was never seen counts as half a positive, so that curves that vanish at 0
    /// have a value there too.
    pub fn propensities(&self, stats: &LabelStats) -> Result<Propensities> {
        let sample = Sample::of(stats);
        self.curve.check(sample)?;
        let counts = stats.dense_counts()?;
        let mut known = HashMap::new();
        let mut sources = Vec::with_capacity(counts.len());
        let mut values = Vec::with_capacity(counts.len());
        for &count in &counts {
            let value =
                *known.entry(count).or_insert_with(|| self.curve.value(&self.theta, sample.at(seen(count as f64), self.alpha)));
            values.push(value);
            sources.push(Source::Curve);
        }
        let unseen = counts.iter().filter(|count| **count == 0).count();
        let propensities = Propensities::clipping(self.spec(), values, sources)?;
        Ok(match unseen {
            0 => propensities,
            _ => {
                propensities.with_note(format!("{unseen} labels were never observed: the curve at half a positive stands for them"))
            }
        })
    }
}

/// The count at which a curve is evaluated: half a positive stands for none.
pub(crate) fn seen(count: f64) -> f64 {
    count.max(0.5)
}
