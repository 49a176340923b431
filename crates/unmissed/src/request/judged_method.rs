//! [`JudgedMethod`]: how estimates are made from judged pairs.

use crate::error::{Error, Result};
use crate::spec::unknown;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How estimates are made from judged pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedMethod {
    /// Guesses for all pairs, corrected by the judged ones: unbiased, and sharper where guesses are good.
    #[default]
    Calibrated,
    /// Judged pairs weighted by their inverse probabilities, and nothing else.
    HorvitzThompson,
}

impl JudgedMethod {
    /// All of them.
    pub const ALL: [JudgedMethod; 2] = [JudgedMethod::Calibrated, JudgedMethod::HorvitzThompson];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            JudgedMethod::Calibrated => "calibrated",
            JudgedMethod::HorvitzThompson => "horvitz-thompson",
        }
    }
}

impl fmt::Display for JudgedMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for JudgedMethod {
    type Err = Error;

    fn from_str(name: &str) -> Result<JudgedMethod> {
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| unknown("way to use judged pairs", name, &Self::ALL.map(JudgedMethod::name)))
    }
}
