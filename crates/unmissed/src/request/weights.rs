//! [`WeightsSpec`]: how much labels count.

use crate::data::{LabelStats, read_full_column};
use crate::error::{Error, Result};
use crate::metrics::weights;
use crate::propensity::Propensities;
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How much labels count in `weighted-precision`, or in a loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightsSpec {
    /// A scheme of [`metrics::weights`](crate::metrics::weights), such as `inverse`.
    Scheme(Spec),
    /// A csv `label,weight`.
    File(PathBuf),
    /// Weights that the caller passes along with the data.
    Given,
}

impl WeightsSpec {
    /// The weights themselves, one for each of `labels` labels: those of a scheme follow from training counts, and for some from
    /// propensities too.
    pub fn weights(&self, train: Option<&LabelStats>, propensities: Option<&Propensities>, labels: usize) -> Result<Vec<f64>> {
        match self {
            WeightsSpec::Scheme(spec) => {
                let train = train.ok_or_else(|| {
                    Error::value(format!("the weights '{spec}' follow from training counts")).hint("give the training labels")
                })?;
                weights::from_spec(&spec.to_string(), train, propensities)
            }
            WeightsSpec::File(path) => {
                let parse = |cell: &str| cell.parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight >= 0.0);
                read_full_column(path, "label", "weight", labels as u64, "a finite number of at least 0", parse)
            }
            WeightsSpec::Given => Err(Error::value("given weights have no other source").hint("pass them along with the data")),
        }
    }
}

impl fmt::Display for WeightsSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeightsSpec::Scheme(spec) => spec.fmt(f),
            WeightsSpec::File(path) => write!(f, "{}", path.display()),
            WeightsSpec::Given => f.write_str("given"),
        }
    }
}

impl FromStr for WeightsSpec {
    type Err = Error;

    /// The name of a csv that exists, or a scheme.
    fn from_str(text: &str) -> Result<WeightsSpec> {
        if Path::new(text).is_file() {
            return Ok(WeightsSpec::File(text.into()));
        }
        text.parse().map(WeightsSpec::Scheme)
    }
}
