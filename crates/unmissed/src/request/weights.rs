//! [`WeightsSpec`]: how much labels count.

use crate::error::{Error, Result};
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
