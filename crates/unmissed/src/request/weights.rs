//! [`WeightsSpec`]: how much labels count.

use crate::data::{LabelStats, read_full_column};
use crate::error::{Error, Result};
use crate::metrics::weights as schemes;
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
    /// The weight of each label. Schemes need training counts; `inverse-complete` also needs propensities.
    pub fn of_labels(&self, stats: Option<&LabelStats>, propensities: Option<&Propensities>, labels: u64) -> Result<Vec<f64>> {
        match self {
            WeightsSpec::Scheme(spec) => {
                let stats = stats.ok_or_else(|| {
                    Error::value(format!("the weights '{spec}' follow from training counts"))
                        .hint("pass the training labels: --train on the command line, train= in Python")
                })?;
                schemes::from_spec(&spec.to_string(), stats, propensities)
            }
            WeightsSpec::File(path) => {
                let weight = |cell: &str| cell.parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight >= 0.0);
                read_full_column(path, "label", "weight", labels, "a finite number of at least 0", weight)
            }
            WeightsSpec::Given => Err(Error::value("the request uses weights that were not passed")),
        }
    }

    /// The warning if these weights are combined with propensities and correct for missing labels a second time; `None` if they do
    /// not.
    ///
    /// ```
    /// use unmissed::request::WeightsSpec;
    /// let twice = |text: &str| text.parse::<WeightsSpec>().unwrap().corrects_twice().is_some();
    /// assert!(twice("inverse") && twice("log") && !twice("inverse-complete") && !twice("uniform"));
    /// ```
    pub fn corrects_twice(&self) -> Option<String> {
        match self {
            WeightsSpec::Scheme(spec) if schemes::follows_observed(spec.name()) => Some(format!(
                "the weights '{spec}' follow from observed frequencies: together with propensities, they correct rarely \
                 observed labels twice; 'inverse-complete' follows from complete frequencies"
            )),
            _ => None,
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
        let spec: Spec = text.parse()?;
        schemes::check_name(spec.name())
            .map_err(|error| if text.contains('.') { error.hint(format!("there is no file '{text}'")) } else { error })?;
        Ok(WeightsSpec::Scheme(spec))
    }
}
