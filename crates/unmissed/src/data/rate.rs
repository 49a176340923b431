//! [`Rate`]: how likely a pair was to be shown in a controlled set.

use super::{Labels, read_full_column};
use crate::error::{Error, Result, digits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// How the labels of a controlled set were chosen: what evaluation, propensity estimators and training all take.
///
/// ```
/// use unmissed::data::Rate;
/// let rate: Rate = "16/300".parse()?;
/// assert_eq!(rate, Rate::Shown { shown: 16, of: 300 });
/// assert_eq!((rate.of(7), rate.to_string()), (16.0 / 300.0, "16/300".to_owned()));
/// assert_eq!("0.05".parse::<Rate>()?.common(), Some(0.05));
/// assert!("17/16".parse::<Rate>().is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// `shown` of `of` labels were shown to each row, drawn uniformly without replacement.
    Shown {
        /// How many were shown, r.
        shown: u32,
        /// Of how many, m.
        of: u32,
    },
    /// Each pair was shown at the same rate, independently.
    Common(f64),
    /// Each label was shown at a rate of its own, independently.
    PerLabel(Vec<f64>),
}

impl Rate {
    /// A rate as users write it (`16/300`, `0.05`), or the name of a csv `label,rate` with a rate for each label.
    pub fn read(text: &str, labels: u64) -> Result<Rate> {
        if Path::new(text).is_file() {
            let rates = read_full_column(text, "label", "rate", labels, IN_RANGE, |cell| cell.parse().ok().filter(in_range))?;
            return Ok(Rate::PerLabel(rates));
        }
        let looks_like_a_file = text.contains(char::is_alphabetic) && text.contains(['.', '/', '\\']);
        text.parse().map_err(|error: Error| match text.trim().parse::<f64>() {
            Err(_) if looks_like_a_file => error.hint(format!("if '{text}' is meant as a file: it does not exist")),
            _ => error,
        })
    }

    /// The rate as a source of propensities, as results name it.
    pub fn name(&self) -> String {
        format!("rate:{self}")
    }

    /// The rate of a label.
    pub fn of(&self, label: usize) -> f64 {
        match self {
            Rate::Shown { shown, of } => f64::from(*shown) / f64::from(*of),
            Rate::Common(rate) => *rate,
            Rate::PerLabel(rates) => rates[label],
        }
    }

    /// The rate, when all labels have the same.
    pub fn common(&self) -> Option<f64> {
        match self {
            Rate::PerLabel(rates) => rates.first().copied().filter(|first| rates.iter().all(|rate| rate == first)),
            Rate::Shown { .. } | Rate::Common(_) => Some(self.of(0)),
        }
    }

    /// Checks that rates are in (0, 1] and that there is one for each of so many labels.
    pub fn check(&self, labels: u64) -> Result<()> {
        let off = |found: String| {
            Err(Error::value("the rate of a controlled set is out of range")
                .expected("a number in (0, 1], or a fraction as in 16/300")
                .found(found))
        };
        match self {
            Rate::Shown { shown, of } if !(1..=*of).contains(shown) => off(format!("{shown}/{of}")),
            Rate::Shown { .. } => Ok(()),
            Rate::Common(rate) if !in_range(rate) => off(digits(*rate)),
            Rate::Common(_) => Ok(()),
            Rate::PerLabel(rates) if rates.len() as u64 != labels => {
                Err(Error::value("the number of rates does not match the labels")
                    .expected(labels.to_string())
                    .found(rates.len().to_string()))
            }
            Rate::PerLabel(rates) => match rates.iter().position(|rate| !in_range(rate)) {
                None => Ok(()),
                Some(label) => Err(Error::value(format!("the rate of label {label} is out of range"))
                    .expected(IN_RANGE)
                    .found(digits(rates[label]))),
            },
        }
    }

    /// Checks that no row has more positives than labels were shown to it.
    pub fn check_rows(&self, controlled: &Labels<'_>) -> Result<()> {
        let Rate::Shown { shown, of } = self else { return Ok(()) };
        let positives = |row: usize| controlled.row_ids(row).len();
        match (0..controlled.rows()).find(|row| positives(*row) > *shown as usize) {
            None => Ok(()),
            Some(row) => Err(Error::value(format!("row {row} of the controlled set contradicts the rate {shown}/{of}"))
                .expected(format!("at most {shown} positives: no more labels were shown to it"))
                .found(positives(row).to_string())
                .hint("if labels were shown independently, give the rate as a number")),
        }
    }

    /// Checks also that a draw without replacement was from all labels of the data.
    pub fn check_draw(&self, labels: u64) -> Result<()> {
        self.check(labels)?;
        match self {
            Rate::Shown { shown, of } if u64::from(*of) != labels => Err(Error::value("the rate does not match the labels")
                .expected(format!("r/m with m = {labels} labels"))
                .found(format!("{shown}/{of}"))
                .hint("for pairs that were shown independently give the rate as a number")),
            _ => Ok(()),
        }
    }
}

const IN_RANGE: &str = "a number in (0, 1]";

fn in_range(rate: &f64) -> bool {
    *rate > 0.0 && *rate <= 1.0
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Shown { shown, of } => write!(f, "{shown}/{of}"),
            Rate::Common(rate) => f.write_str(&digits(*rate)),
            Rate::PerLabel(_) => f.write_str("per-label"),
        }
    }
}

impl FromStr for Rate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Rate> {
        let rate = match text.split_once('/') {
            Some((shown, of)) => shown.trim().parse().ok().zip(of.trim().parse().ok()).map(|(shown, of)| Rate::Shown { shown, of }),
            None => text.trim().parse().ok().map(Rate::Common),
        };
        let Some(rate) = rate else {
            return Err(Error::value("not a rate")
                .expected("a number in (0, 1], a fraction as in 16/300, or the name of a csv 'label,rate'")
                .found(format!("'{text}'")));
        };
        rate.check(0).map_err(|error| error.found(format!("'{text}'")))?;
        Ok(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_checked_and_written_back() {
        for text in ["16/300", "0.25", "1"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in ["", "0", "1.5", "0/3", "4/3", "-1", "nan", "a/b", "1/0"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        assert!("1/3".parse::<Rate>().unwrap().check_draw(3).is_ok());
        assert!("1/3".parse::<Rate>().unwrap().check_draw(4).is_err());
        let hint = Rate::read("rates.csv", 3).unwrap_err().to_string();
        assert!(hint.contains("does not exist"), "{hint}");
    }

    #[test]
    fn a_csv_has_a_rate_for_every_label() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rates.csv");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Rate::read(path.to_str().unwrap(), 2)
        };
        assert_eq!(read("label,rate\n1,0.5\n0,0.25\n").unwrap(), Rate::PerLabel(vec![0.25, 0.5]));
        let missing = read("label,rate\n1,0.5\n").unwrap_err().to_string();
        assert!(missing.contains("label 0 has no rate"), "{missing}");
        let wrong = read("label,rate\n1,0.5\n0,2\n").unwrap_err();
        assert_eq!(wrong.line(), Some(3));
    }
}
