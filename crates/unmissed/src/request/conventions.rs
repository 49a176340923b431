//! Conventions: choices that a definition leaves open and on which libraries differ, as switches.
//!
//! The first choice of each is ours. Results carry all of them, whatever was chosen. Ties and k beyond the number of labels are no
//! switches: no choice there but ours depends on the scores alone. A short list of predictions is one neither: no library divides
//! by its length.
//!
//! ```
//! use unmissed::request::Conventions;
//! let chosen: Conventions = "empty-rows=skip,coverage-of=present".parse()?;
//! assert_eq!(chosen.get("empty-rows"), "skip");
//! assert_eq!(chosen.get("absent-labels"), "zero");
//! let error = "empty-rows=drop".parse::<Conventions>().unwrap_err();
//! assert_eq!(error.to_string(), "unknown choice of 'empty-rows' 'drop': expected one of count, skip");
//! # Ok::<(), unmissed::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::spec::{self, Named, unknown};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something that libraries do differently.
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    name: &'static str,
    summary: &'static str,
    /// Names of the choices, ours first.
    choices: &'static [&'static str],
}

impl Named for Convention {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
}

impl Convention {
    /// Names of the choices; the first is the default.
    pub fn choices(&self) -> &'static [&'static str] {
        self.choices
    }
}

/// Rows without an observed label in means over rows: they count (0; abandonment: 1), or are left out.
pub(crate) static EMPTY_ROWS: Convention = Convention {
    name: "empty-rows",
    summary: "rows without labels: count (as 0; abandonment 1) or skip (the mean is over rows with labels)",
    choices: &["count", "skip"],
};

/// Macro-F of a label that is neither present nor predicted, 0/0.
pub(crate) static ABSENT_LABELS: Convention = Convention {
    name: "absent-labels",
    summary: "macro-f of labels that are neither present nor predicted: zero or one",
    choices: &["zero", "one"],
};

/// What coverage is a share of.
pub(crate) static COVERAGE_OF: Convention = Convention {
    name: "coverage-of",
    summary: "what coverage is a share of: all labels, or those present in the test rows",
    choices: &["all", "present"],
};

/// All conventions.
pub static CONVENTIONS: &[&Convention] = &[&EMPTY_ROWS, &ABSENT_LABELS, &COVERAGE_OF];

/// What was chosen of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conventions(BTreeMap<String, String>);

impl Default for Conventions {
    fn default() -> Conventions {
        Conventions(CONVENTIONS.iter().map(|convention| (convention.name.into(), convention.choices[0].into())).collect())
    }
}

impl Conventions {
    /// The choice of the convention called `name`; empty when there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Whether another choice than ours was made.
    pub(crate) fn differs(&self, convention: &Convention) -> bool {
        self.get(convention.name) != convention.choices[0]
    }

    /// The choices that are not ours, as users write them.
    pub(crate) fn changed(&self) -> Vec<String> {
        let changed = CONVENTIONS.iter().filter(|convention| self.differs(convention));
        changed.map(|convention| format!("{}={}", convention.name, self.get(convention.name))).collect()
    }
}

impl std::str::FromStr for Conventions {
    type Err = Error;

    /// `name=choice,name=choice`; what is not named is ours.
    fn from_str(text: &str) -> Result<Conventions> {
        let mut all = Conventions::default();
        let mut seen: Vec<&str> = Vec::new();
        for part in text.split(',') {
            let Some((name, choice)) = part.trim().split_once('=') else {
                return Err(Error::value("cannot read the conventions")
                    .expected("name=choice,name=choice, as in empty-rows=skip")
                    .found(format!("'{part}'")));
            };
            let convention = spec::find(CONVENTIONS, "convention", name)?;
            if !convention.choices.contains(&choice) {
                return Err(unknown(&format!("choice of '{name}'"), choice, convention.choices));
            }
            if seen.contains(&name) {
                return Err(Error::value(format!("the convention '{name}' occurs twice")).expected("each once"));
            }
            seen.push(name);
            all.0.insert(name.into(), choice.into());
        }
        Ok(all)
    }
}
