//! [`Solver`]: how a block of labels is trained, with all settings known.

use crate::error::{Error, Result, digits};
use serde::{Deserialize, Serialize};

/// The most rows of a batch: places in a batch have 16 bits.
pub(crate) const LARGEST_BATCH: usize = 1 << 16;

/// The most epochs: the result on held-out rows is kept after each.
const MOST_EPOCHS: usize = 100_000;

/// How a block of labels is trained. Files name the settings as their first version did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "solver", rename_all = "lowercase")]
pub enum Solver {
    /// Small steps on batches of rows: for any loss.
    Adam(Adam),
    /// To the optimum: for convex losses.
    Newton(Newton),
    /// To the optimum, over the dual: for squared hinges.
    Dual(Dual),
    /// Adam, with the propensities of labels learned jointly: for `plugin-logistic`, whose likelihood has both.
    Joint(Adam),
}

/// Settings of Adam.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adam {
    /// The learning rate.
    #[serde(rename = "rate")]
    pub learning_rate: f64,
    /// Rows per batch.
    #[serde(rename = "batch")]
    pub batch_size: usize,
    /// Passes over all rows.
    pub epochs: usize,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { learning_rate: 0.02, batch_size: 512, epochs: 20 }
    }
}

/// Settings of Newton's method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Newton {
    /// The share of its first value to which the gradient's norm has to fall.
    pub tolerance: f64,
    /// The most steps.
    #[serde(rename = "steps")]
    pub max_steps: usize,
}

impl Default for Newton {
    fn default() -> Newton {
        Newton { tolerance: 1e-2, max_steps: 50 }
    }
}

/// Settings of dual coordinate descent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dual {
    /// The share of its first value to which the gradient's norm has to fall.
    pub tolerance: f64,
    /// Maximum number of passes over the rows.
    #[serde(rename = "passes")]
    pub max_passes: usize,
}

impl Default for Dual {
    fn default() -> Dual {
        Dual { tolerance: 2e-2, max_passes: 200 }
    }
}

impl Solver {
    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Solver::Adam(_) => "adam",
            Solver::Newton(_) => "newton",
            Solver::Dual(_) => "dual",
            Solver::Joint(_) => "joint",
        }
    }

    /// The settings of Adam, when it is one.
    pub fn adam(self) -> Option<Adam> {
        match self {
            Solver::Adam(adam) | Solver::Joint(adam) => Some(adam),
            Solver::Newton(_) | Solver::Dual(_) => None,
        }
    }

    /// The same with other settings of Adam; solvers that go to the optimum have none.
    pub(crate) fn with_adam(self, adam: Adam) -> Solver {
        match self {
            Solver::Adam(_) => Solver::Adam(adam),
            Solver::Joint(_) => Solver::Joint(adam),
            Solver::Newton(_) | Solver::Dual(_) => self,
        }
    }

    /// Checks the ranges of its settings.
    pub(crate) fn check(self) -> Result<()> {
        let positive = |number: f64| number.is_finite() && number > 0.0;
        let wrong = match self {
            Solver::Adam(adam) | Solver::Joint(adam) => {
                if !positive(adam.learning_rate) {
                    Some(("learning rate", "a number above 0".to_owned(), digits(adam.learning_rate)))
                } else if !(1..=LARGEST_BATCH).contains(&adam.batch_size) {
                    Some(("batch size", format!("1 to {LARGEST_BATCH} rows"), adam.batch_size.to_string()))
                } else if !(1..=MOST_EPOCHS).contains(&adam.epochs) {
                    Some(("number of epochs", format!("1 to {MOST_EPOCHS}"), adam.epochs.to_string()))
                } else {
                    None
                }
            }
            Solver::Newton(Newton { tolerance, .. }) | Solver::Dual(Dual { tolerance, .. }) => {
                (!positive(tolerance)).then(|| ("tolerance", "a number above 0".to_owned(), digits(tolerance)))
            }
        };
        match wrong {
            None => Ok(()),
            Some((what, expected, found)) => {
                Err(Error::value(format!("the solver's {what} is out of range")).expected(expected).found(found))
            }
        }
    }
}
