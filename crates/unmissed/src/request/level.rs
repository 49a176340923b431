//! [`Level`]: the level of intervals.

use crate::error::{Error, Result, digits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The level of intervals, a number between 0 and 1.
///
/// ```
/// use unmissed::request::Level;
/// assert_eq!(Level::default().get(), 0.95);
/// assert!(Level::new(1.0).is_err() && Level::new(f64::NAN).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Level(f64);

impl Level {
    /// Checks the number.
    pub fn new(level: f64) -> Result<Level> {
        if level > 0.0 && level < 1.0 {
            return Ok(Level(level));
        }
        Err(Error::value("the level is out of range").expected("a number between 0 and 1").found(digits(level)))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Default for Level {
    fn default() -> Level {
        Level(0.95)
    }
}

impl TryFrom<f64> for Level {
    type Error = Error;

    fn try_from(level: f64) -> Result<Level> {
        Level::new(level)
    }
}

impl From<Level> for f64 {
    fn from(level: Level) -> f64 {
        level.0
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&digits(self.0))
    }
}

impl FromStr for Level {
    type Err = Error;

    fn from_str(text: &str) -> Result<Level> {
        let number = text.trim().parse().map_err(|_| {
            Error::value("the level is not a number").expected("a number between 0 and 1").found(format!("'{text}'"))
        })?;
        Level::new(number)
    }
}
