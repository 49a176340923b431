//! [`Origin`]: where propensities came from, as data.

use super::Phi;
use super::estimators::PropensityEstimatorSpec;
use super::models::PropensitySpec;
use crate::data::Rate;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where propensities came from. Two are equal when they say the same; the text is for people and for columns of results, and
/// is never read back.
///
/// ```
/// use unmissed::propensity::{models, Origin};
/// let curve = Origin::from(models::parse("power:beta=1.3339351098466912,gamma=0.5")?);
/// assert_eq!(curve.to_string(), "power:beta=1.3339351098466912,gamma=0.5");
/// assert_eq!(curve.name(), "power:beta=1.334,gamma=0.5");
/// let json = serde_json::to_string(&curve).unwrap();
/// assert_eq!(serde_json::from_str::<Origin>(&json).unwrap(), curve);
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A propensity model: a curve with its constants (given or fitted), a table, or a row-dependent model in a file.
    Model(PropensitySpec),
    /// A propensity estimator.
    Estimate {
        /// The estimator and its options.
        estimator: PropensityEstimatorSpec,
        /// The fitted curve behind the estimate.
        curve: Phi,
    },
    /// The known rate at which the labels of a controlled set were shown.
    Rate(Rate),
    /// Learned together with a classifier.
    Learned(Learned),
    /// Given by the user, under this name.
    Given(String),
}

/// How propensities were learned together with a classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Learned {
    /// As parameters of the plug-in loss.
    Plugin,
    /// In turns with the classifier.
    Alternating,
}

impl Origin {
    /// Of an estimate and the curve behind it.
    pub(super) fn estimate(estimator: PropensityEstimatorSpec, curve: &Phi) -> Origin {
        Origin::Estimate { estimator, curve: curve.clone() }
    }

    /// A short name for tables: constants with four significant digits, estimates without the curve behind them.
    pub fn name(&self) -> String {
        match self {
            Origin::Model(PropensitySpec::Curve(phi)) => phi.short(),
            Origin::Estimate { estimator, .. } => estimator.name(),
            Origin::Model(_) | Origin::Rate(_) | Origin::Learned(_) | Origin::Given(_) => self.to_string(),
        }
    }

    /// The curve, when the propensities are the values of one.
    pub fn curve(&self) -> Option<&Phi> {
        match self {
            Origin::Model(spec) => spec.curve(),
            Origin::Estimate { .. } | Origin::Rate(_) | Origin::Learned(_) | Origin::Given(_) => None,
        }
    }

    /// The fitted curve behind an estimate: towards which it was shrunken, or which gives the values of labels without data.
    pub fn curve_behind(&self) -> Option<&Phi> {
        match self {
            Origin::Estimate { curve, .. } => Some(curve),
            Origin::Model(_) | Origin::Rate(_) | Origin::Learned(_) | Origin::Given(_) => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Model(spec) => write!(f, "{spec}"),
            Origin::Estimate { estimator, curve } => write!(f, "{}({})", estimator.name(), curve.short()),
            Origin::Rate(rate) => write!(f, "rate:{rate}"),
            Origin::Learned(Learned::Plugin) => f.write_str("joint:plugin"),
            Origin::Learned(Learned::Alternating) => f.write_str("joint:alternating"),
            Origin::Given(name) => f.write_str(name),
        }
    }
}

impl From<PropensitySpec> for Origin {
    fn from(spec: PropensitySpec) -> Origin {
        Origin::Model(spec)
    }
}

impl From<Rate> for Origin {
    fn from(rate: Rate) -> Origin {
        Origin::Rate(rate)
    }
}

impl From<Learned> for Origin {
    fn from(learned: Learned) -> Origin {
        Origin::Learned(learned)
    }
}

impl From<&str> for Origin {
    fn from(name: &str) -> Origin {
        Origin::Given(name.to_owned())
    }
}

impl From<String> for Origin {
    fn from(name: String) -> Origin {
        Origin::Given(name)
    }
}
