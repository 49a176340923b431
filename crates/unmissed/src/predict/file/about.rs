//! [`About`]: how a model came to be.

use super::tuning::Trial;
use crate::propensity::checks::EffectiveSampleSize;
use crate::request::{Criterion, Solver, TrainRequest};
use serde::{Deserialize, Serialize};

/// How a model came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The loss.
    pub loss: String,
    /// Where the propensities came from that it was trained with.
    pub propensity: Option<String>,
    /// The seed of the training.
    pub seed: u64,
    /// Number of rows that it was trained on.
    pub rows: Option<u64>,
    /// The version of this library that wrote the file.
    pub tool: String,
    /// What training was asked for; files of version 1 do not say.
    pub request: Option<TrainRequest>,
    /// What training took and found. Files call it as their first version did.
    #[serde(rename = "settings")]
    pub outcome: Option<TrainOutcome>,
    /// Training positives of each label: propensities of curves follow from them.
    #[serde(skip)]
    pub label_counts: Option<Vec<u64>>,
}

/// The settings that a model was trained with, and what was found on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainOutcome {
    /// The solver with its settings.
    #[serde(flatten)]
    pub solver: Solver,
    /// Strength of the L2 penalty.
    pub decay: f64,
    /// The largest inverse propensity.
    pub clip: Option<f64>,
    /// Whether labels had factors of the loss.
    pub weighted: bool,
    /// What decided between settings, when some were tried.
    pub criterion: Option<Criterion>,
    /// How many rows it was decided on.
    pub decided_on_rows: Option<u64>,
    /// The settings that were tried.
    pub tuning: Option<Vec<Trial>>,
    /// How many positives the training rests on, when they have different weights.
    pub effective_sample_size: Option<EffectiveSampleSize>,
    /// Labels that occur more often than their propensity allows, so that training raised it to their frequency.
    pub raised_propensities: usize,
}

impl About {
    /// What every training knows; the other fields are public.
    pub fn new(loss: impl Into<String>, seed: u64) -> About {
        About {
            loss: loss.into(),
            propensity: None,
            seed,
            rows: None,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            request: None,
            outcome: None,
            label_counts: None,
        }
    }
}

/// What files of version 1 say.
#[derive(Deserialize)]
pub(super) struct AboutOfVersion1 {
    loss: String,
    propensity: Option<String>,
    seed: u64,
    rows: Option<u64>,
    tool: String,
    #[serde(default)]
    settings: serde_json::Value,
}

impl From<AboutOfVersion1> for About {
    fn from(about: AboutOfVersion1) -> About {
        let AboutOfVersion1 { loss, propensity, seed, rows, tool, settings } = about;
        // Whatever was there was allowed; what training wrote is understood.
        let outcome = serde_json::from_value(settings).ok();
        About { loss, propensity, seed, rows, tool, request: None, outcome, label_counts: None }
    }
}
