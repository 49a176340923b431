//! Options of estimators, and what they take.

use crate::error::{Error, Result, digits};
use crate::propensity::{Phi, models};
use std::fmt;

/// An option of an estimator: a key of its spec, an option of the command line and a keyword in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EstimatorOption {
    /// Its name, in lower case.
    pub name: &'static str,
    /// What values it takes.
    pub kind: OptionKind,
    /// The value unless another is given, as it would be typed.
    pub default: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// What values an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// On or off; in a spec its bare name turns it on. An estimate with it has this word in its name.
    Switch(&'static str),
    /// A whole number.
    Whole,
    /// A level of intervals.
    Level,
    /// The family of a curve, as [`models::family`] reads it.
    Curve,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OptionValue {
    Switch(bool),
    Whole(u64),
    Level(f64),
    Curve(Phi),
}

/// The curve for labels without evidence.
pub const CURVE: EstimatorOption = EstimatorOption {
    name: "curve",
    kind: OptionKind::Curve,
    default: "power",
    help: "The curve for labels without evidence, and towards which estimates are shrunken",
};
/// Whether to shrink.
pub const SHRINK: EstimatorOption = EstimatorOption {
    name: "shrink",
    kind: OptionKind::Switch("shrunken"),
    default: "false",
    help: "Shrink the estimate of each label towards the curve",
};
/// The level of intervals.
pub const LEVEL: EstimatorOption =
    EstimatorOption { name: "level", kind: OptionKind::Level, default: "0.95", help: "Level of intervals" };
/// The seed of the fit.
pub const SEED: EstimatorOption = EstimatorOption {
    name: "seed",
    kind: OptionKind::Whole,
    default: "0",
    help: "Seed of all random choices: the same seed gives the same result on any number of threads",
};

impl EstimatorOption {
    /// Refuses what the option does not take.
    pub fn check(&self, text: &str) -> Result<()> {
        self.parse(text).map(|_| ())
    }

    pub(super) fn parse(&self, text: &str) -> Result<OptionValue> {
        let wrong =
            |expected: &str| Error::value(format!("'{}' is out of range", self.name)).expected(expected).found(format!("'{text}'"));
        match self.kind {
            OptionKind::Switch(_) => text.parse().map(OptionValue::Switch).map_err(|_| wrong("true or false")),
            OptionKind::Whole => text.parse().map(OptionValue::Whole).map_err(|_| wrong("a whole number")),
            OptionKind::Level => match text.parse::<f64>() {
                Ok(level) if level > 0.0 && level < 1.0 => Ok(OptionValue::Level(level)),
                _ => Err(wrong("a number between 0 and 1, as in 0.95")),
            },
            OptionKind::Curve => models::family(text).map(OptionValue::Curve),
        }
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Switch(on) => write!(f, "{on}"),
            OptionValue::Whole(number) => write!(f, "{number}"),
            OptionValue::Level(level) => f.write_str(&digits(*level)),
            OptionValue::Curve(family) => {
                let name = family.curve().name();
                let is_plain = models::family(name).is_ok_and(|plain| plain == *family);
                f.write_str(&if is_plain { name.to_owned() } else { family.spec() })
            }
        }
    }
}
