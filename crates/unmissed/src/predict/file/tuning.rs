//! Settings of training that were tried, and how each did.

use crate::error::digits;
use crate::request::{Criterion, Solver};
use serde::{Deserialize, Serialize};

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The learning rate, for solvers that have one.
    #[serde(rename = "rate")]
    pub learning_rate: Option<f64>,
    /// Strength of the L2 penalty.
    pub decay: f64,
}

impl Setting {
    /// The solver with this setting's learning rate.
    pub(crate) fn solver(&self, solver: Solver) -> Solver {
        match (solver.adam(), self.learning_rate) {
            (Some(mut adam), Some(rate)) => {
                adam.learning_rate = rate;
                solver.with_adam(adam)
            }
            _ => solver,
        }
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(rate) = self.learning_rate {
            write!(f, "learning rate {}, ", digits(rate))?;
        }
        write!(f, "decay {}", digits(self.decay))
    }
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The setting.
    #[serde(flatten)]
    pub setting: Setting,
    /// Epochs until then, for Adam.
    #[serde(default)]
    pub epoch: Option<usize>,
    /// The mean over the rows that decide of the loss, summed over labels.
    #[serde(default)]
    pub loss: Option<f64>,
    /// The metric that decides, if one does.
    #[serde(default)]
    pub metric: Option<f64>,
    /// How long the setting took, with all its epochs. Not part of model files: the same run makes the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Whether it is the best.
    #[serde(default)]
    pub chosen: bool,
}

/// Everything that was tried, and what did best.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// What decided.
    pub criterion: Criterion,
    /// Rows that it was decided on.
    pub rows: u64,
    /// Labels that it was decided on, where not all were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<u64>,
    /// Everything that was tried, in order.
    pub trials: Vec<Trial>,
}

impl Tuning {
    /// What did best; the first of equals.
    pub fn best(&self) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.chosen)
    }
}
