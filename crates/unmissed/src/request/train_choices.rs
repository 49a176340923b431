//! What can be chosen in a [`TrainRequest`](super::TrainRequest), as names that users type.

use crate::error::{Error, Result};
use crate::propensity::models::PropensitySpec;
use crate::spec::{Spec, unknown};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Rounds of alternating learning unless told.
const ROUNDS: usize = 6;

/// Text in files and on command lines: what `Display` writes and `FromStr` reads.
macro_rules! as_text {
    ($($choice:ty),*) => {$(
        impl TryFrom<String> for $choice {
            type Error = Error;

            fn try_from(text: String) -> Result<Self> {
                text.parse()
            }
        }

        impl From<$choice> for String {
            fn from(choice: $choice) -> String {
                choice.to_string()
            }
        }
    )*};
}

as_text!(LossChoice, SolverChoice, NormalizeChoice, JointLearning, TrainPropensity);

/// Which loss is minimised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LossChoice {
    /// Without propensities, the logistic loss or the squared hinge, whichever does better on held-out rows; the logistic loss when
    /// any setting of it is given. With propensities the likelihood of what is observed (`plugin-logistic`), or the squared hinge with
    /// scores that are divided by them, chosen in the same way; with joint learning the loss that it has.
    #[default]
    Auto,
    /// An entry of [`LOSSES`](crate::losses::LOSSES).
    Named(String),
}

impl From<&str> for LossChoice {
    fn from(name: &str) -> LossChoice {
        if name == "auto" { LossChoice::Auto } else { LossChoice::Named(name.to_owned()) }
    }
}

impl FromStr for LossChoice {
    type Err = Error;

    fn from_str(name: &str) -> Result<LossChoice> {
        Ok(name.into())
    }
}

impl fmt::Display for LossChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LossChoice::Auto => f.write_str("auto"),
            LossChoice::Named(name) => f.write_str(name),
        }
    }
}

/// Which propensities training corrects with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TrainPropensity {
    /// A propensity model, as a function of the label counts of the training data.
    Model(PropensitySpec),
    /// Propensities that the caller passes along with the data.
    Given,
}

impl FromStr for TrainPropensity {
    type Err = Error;

    fn from_str(text: &str) -> Result<TrainPropensity> {
        if text == "given" { Ok(TrainPropensity::Given) } else { text.parse().map(TrainPropensity::Model) }
    }
}

impl fmt::Display for TrainPropensity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrainPropensity::Model(spec) => spec.fmt(f),
            TrainPropensity::Given => f.write_str("given"),
        }
    }
}

/// Which solver trains a block of labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SolverChoice {
    /// The dual solver for squared hinges, Newton's method for other losses that have an optimum, else Adam; Adam as well where joint
    /// learning or the grid of settings is for it alone.
    #[default]
    Auto,
    /// To the optimum of a loss that has one.
    Newton,
    /// To the optimum of a squared hinge, over its dual.
    Dual,
    /// Small steps on batches of rows, for any loss.
    Adam,
}

impl SolverChoice {
    /// All of them.
    pub const ALL: [SolverChoice; 4] = [SolverChoice::Auto, SolverChoice::Newton, SolverChoice::Dual, SolverChoice::Adam];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            SolverChoice::Auto => "auto",
            SolverChoice::Newton => "newton",
            SolverChoice::Dual => "dual",
            SolverChoice::Adam => "adam",
        }
    }
}

impl FromStr for SolverChoice {
    type Err = Error;

    fn from_str(name: &str) -> Result<SolverChoice> {
        let found = Self::ALL.into_iter().find(|choice| choice.name() == name);
        found.ok_or_else(|| unknown("solver", name, &Self::ALL.map(SolverChoice::name)))
    }
}

impl fmt::Display for SolverChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How rows of features are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum NormalizeChoice {
    /// `l2` for sparse rows, `none` if at least half of all features are nonzero.
    #[default]
    Auto,
    /// Each row is divided by its Euclidean norm.
    L2,
    /// Rows are not scaled.
    None,
}

impl NormalizeChoice {
    /// All of them.
    pub const ALL: [NormalizeChoice; 3] = [NormalizeChoice::Auto, NormalizeChoice::L2, NormalizeChoice::None];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            NormalizeChoice::Auto => "auto",
            NormalizeChoice::L2 => "l2",
            NormalizeChoice::None => "none",
        }
    }
}

impl FromStr for NormalizeChoice {
    type Err = Error;

    fn from_str(name: &str) -> Result<NormalizeChoice> {
        let found = Self::ALL.into_iter().find(|choice| choice.name() == name);
        found.ok_or_else(|| unknown("normalisation of rows", name, &Self::ALL.map(NormalizeChoice::name)))
    }
}

impl fmt::Display for NormalizeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How propensities are learned from the observed labels alone.
///
/// ```
/// use unmissed::request::JointLearning;
/// assert_eq!("alternating".parse::<JointLearning>()?, JointLearning::Alternating { rounds: 6 });
/// assert_eq!("alternating:rounds=2".parse::<JointLearning>()?.to_string(), "alternating:rounds=2");
/// assert!("alternating:rounds=0".parse::<JointLearning>().is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum JointLearning {
    /// Along with the classifier, by the likelihood of both.
    Plugin,
    /// In turns with the classifier, on two halves of the rows.
    Alternating {
        /// The number of turns.
        rounds: usize,
    },
}

impl JointLearning {
    /// The names that users type.
    pub const NAMES: [&'static str; 2] = ["plugin", "alternating"];
}

impl FromStr for JointLearning {
    type Err = Error;

    /// `plugin`, `alternating` or `alternating:rounds=N`.
    fn from_str(text: &str) -> Result<JointLearning> {
        let spec: Spec = text.parse()?;
        match spec.name() {
            "plugin" => spec.allow(&[], &[]).map(|()| JointLearning::Plugin),
            "alternating" => {
                spec.allow(&["rounds"], &[])?;
                let rounds = spec.get("rounds").map_or(Some(ROUNDS), |rounds| rounds.parse().ok().filter(|rounds| *rounds > 0));
                let rounds = rounds.ok_or_else(|| {
                    Error::value("the number of rounds is out of range").expected("at least 1").found(format!("'{text}'"))
                })?;
                Ok(JointLearning::Alternating { rounds })
            }
            other => Err(unknown("joint learning", other, &JointLearning::NAMES)),
        }
    }
}

impl fmt::Display for JointLearning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JointLearning::Plugin => f.write_str("plugin"),
            JointLearning::Alternating { rounds } => write!(f, "alternating:rounds={rounds}"),
        }
    }
}
