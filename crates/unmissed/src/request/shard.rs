//! [`Shard`]: one part of the rows.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Part `index` of `of` parts of the rows, counted from 1.
///
/// ```
/// use unmissed::request::Shard;
/// assert_eq!("2/4".parse::<Shard>()?, Shard::new(2, 4)?);
/// assert!("5/4".parse::<Shard>().is_err() && "0/4".parse::<Shard>().is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(usize, usize)", into = "(usize, usize)")]
pub struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    /// Checks that `1 <= index <= of`.
    pub fn new(index: usize, of: usize) -> Result<Shard> {
        if (1..=of).contains(&index) {
            return Ok(Shard { index, of });
        }
        Err(Error::value("the shard is out of range").expected("i/n with 1 <= i <= n").found(format!("{index}/{of}")))
    }

    /// The whole: one part of one.
    pub fn whole() -> Shard {
        Shard { index: 1, of: 1 }
    }

    /// Whether it is everything.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Which of `count` things belong to this part.
    pub fn range(self, count: usize) -> std::ops::Range<usize> {
        // Products of two sizes may not fit into one.
        let at = |index: usize| ((count as u128 * index as u128) / self.of as u128) as usize;
        at(self.index - 1)..at(self.index)
    }
}

impl Default for Shard {
    fn default() -> Shard {
        Shard::whole()
    }
}

impl TryFrom<(usize, usize)> for Shard {
    type Error = Error;

    fn try_from((index, of): (usize, usize)) -> Result<Shard> {
        Shard::new(index, of)
    }
}

impl From<Shard> for (usize, usize) {
    fn from(shard: Shard) -> (usize, usize) {
        (shard.index, shard.of)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Shard> {
        let parts = text.split_once('/').and_then(|(index, of)| Some((index.trim().parse().ok()?, of.trim().parse().ok()?)));
        let (index, of) =
            parts.ok_or_else(|| Error::value("cannot read the shard").expected("i/n, as in 1/4").found(format!("'{text}'")))?;
        Shard::new(index, of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_cover_everything_once() {
        for (count, of) in [(0, 3), (2, 5), (100, 7), (7, 7)] {
            let parts = (1..=of).flat_map(|index| Shard::new(index, of).unwrap().range(count));
            assert!(parts.eq(0..count), "{count} in {of} parts");
        }
    }
}
