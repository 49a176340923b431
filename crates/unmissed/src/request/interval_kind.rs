//! [`IntervalKind`]: which question an interval answers.

use crate::error::{Error, Result};
use crate::spec::unknown;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which question an interval answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalKind {
    /// What would other rows have given?
    #[default]
    Population,
    /// What would other missing labels have given on these rows?
    Mask,
}

impl IntervalKind {
    /// All of them.
    pub const ALL: [IntervalKind; 2] = [IntervalKind::Population, IntervalKind::Mask];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            IntervalKind::Population => "population",
            IntervalKind::Mask => "mask",
        }
    }
}

impl fmt::Display for IntervalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for IntervalKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<IntervalKind> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| unknown("kind of interval", name, &Self::ALL.map(IntervalKind::name)))
    }
}
