//! [`Sensitivity`]: how wrong propensities may be.

use crate::error::{Error, Result, digits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How far the odds of being missed may be off, and whether that is one factor for each label or one for each pair.
///
/// ```
/// use unmissed::request::Sensitivity;
/// let given: Sensitivity = "1.5:pair".parse()?;
/// assert_eq!((given.gamma(), given.is_by_pair(), given.to_string()), (1.5, true, "1.5:pair".to_owned()));
/// assert_eq!(Sensitivity::default(), "2".parse()?);
/// assert!("0.5".parse::<Sensitivity>().is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sensitivity {
    gamma: f64,
    by_pair: bool,
}

impl Sensitivity {
    /// The odds are at most this factor off, a number of at least 1; by label unless `by_pair`.
    pub fn new(gamma: f64, by_pair: bool) -> Result<Sensitivity> {
        if gamma >= 1.0 && gamma.is_finite() {
            return Ok(Sensitivity { gamma, by_pair });
        }
        Err(Error::value("the sensitivity is out of range")
            .expected("a factor of at least 1 by which the odds of being missed may be off")
            .found(digits(gamma)))
    }

    /// The factor.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// Whether each pair of a row and a label has a factor of its own.
    pub fn is_by_pair(&self) -> bool {
        self.by_pair
    }
}

impl Default for Sensitivity {
    fn default() -> Sensitivity {
        Sensitivity { gamma: 2.0, by_pair: false }
    }
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", digits(self.gamma), if self.by_pair { ":pair" } else { "" })
    }
}

impl FromStr for Sensitivity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Sensitivity> {
        let wrong =
            || Error::value("cannot read the sensitivity").expected("GAMMA or GAMMA:pair, as in 2").found(format!("'{text}'"));
        let (gamma, by_pair) = match text.trim().split_once(':') {
            None => (text.trim(), false),
            Some((gamma, "label")) => (gamma, false),
            Some((gamma, "pair")) => (gamma, true),
            Some(_) => return Err(wrong()),
        };
        Sensitivity::new(gamma.parse().map_err(|_| wrong())?, by_pair)
    }
}

impl TryFrom<String> for Sensitivity {
    type Error = Error;

    fn try_from(text: String) -> Result<Sensitivity> {
        text.parse()
    }
}

impl From<Sensitivity> for String {
    fn from(given: Sensitivity) -> String {
        given.to_string()
    }
}
