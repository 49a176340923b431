//! [`KList`]: the lengths of the top list.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The largest k: top lists of all rows of a chunk are held at once.
const LARGEST: usize = 1_000_000;

/// Lengths of the top list: at least one, ascending, each once.
///
/// ```
/// use unmissed::request::KList;
/// assert_eq!(KList::default().as_slice(), [1, 3, 5]);
/// assert_eq!("5, 1,1".parse::<KList>()?.to_string(), "1,5");
/// assert!("0".parse::<KList>().is_err() && "".parse::<KList>().is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<usize>", into = "Vec<usize>")]
pub struct KList(Vec<usize>);

impl KList {
    /// Checks, sorts and removes repetitions.
    pub fn new(ks: &[usize]) -> Result<KList> {
        if let Some(k) = ks.iter().find(|k| !(1..=LARGEST).contains(*k)) {
            return Err(Error::value("k is out of range").expected(format!("1 to {LARGEST}")).found(k.to_string()));
        }
        if ks.is_empty() {
            return Err(Error::value("no k is given").expected("at least one"));
        }
        let mut ks = ks.to_vec();
        ks.sort_unstable();
        ks.dedup();
        Ok(KList(ks))
    }

    /// All of them, ascending.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }

    /// The smallest.
    pub fn first(&self) -> usize {
        self.0.first().copied().unwrap_or(1)
    }

    /// The largest.
    pub fn largest(&self) -> usize {
        self.0.last().copied().unwrap_or(1)
    }
}

impl Default for KList {
    fn default() -> KList {
        KList(vec![1, 3, 5])
    }
}

impl TryFrom<Vec<usize>> for KList {
    type Error = Error;

    fn try_from(ks: Vec<usize>) -> Result<KList> {
        KList::new(&ks)
    }
}

impl From<KList> for Vec<usize> {
    fn from(ks: KList) -> Vec<usize> {
        ks.0
    }
}

impl fmt::Display for KList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, k) in self.0.iter().enumerate() {
            write!(f, "{}{k}", if place == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl FromStr for KList {
    type Err = Error;

    /// Numbers separated by commas.
    fn from_str(text: &str) -> Result<KList> {
        let ks: Option<Vec<usize>> = text.split(',').map(|k| k.trim().parse().ok()).collect();
        let ks = ks.ok_or_else(|| {
            Error::value("cannot read k").expected("whole numbers separated by commas, as in 1,3,5").found(format!("'{text}'"))
        })?;
        KList::new(&ks)
    }
}
