//! [`About`]: how a model came to be.

use super::calibration::Calibration;
use super::choice::Choice;
use super::stack_table::{LaterOutcome, StackTable};
use super::tuning::Trial;
use crate::error::{Error, Result};
use crate::propensity::checks::EffectiveSampleSize;
use crate::propensity::{Learned, Origin};
use crate::request::{Criterion, Solver, TrainRequest, TreeRequest};
use serde::{Deserialize, Serialize};

/// How a model came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The loss.
    pub loss: String,
    /// Where the propensities came from that it was trained with.
    pub propensity: Option<Origin>,
    /// The seed of the training.
    pub seed: u64,
    /// Number of rows that it was trained on.
    pub rows: Option<u64>,
    /// The version of this library that wrote the file.
    pub tool: String,
    /// What training was asked for; files of version 1 do not say.
    pub request: Option<TrainRequest>,
    /// The same for models on trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeRequest>,
    /// What was compared on a controlled set before the probabilities of trees were recalibrated, or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recalibration: Option<StackTable>,
    /// What was added to the logits on trees for each doubling of the rows of a lane, as held-out rows decided.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub logits_by_count: f64,
    /// What was changed about the propensities of a model on trees, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjusted: Option<AdjustedPropensities>,
    /// How later labels took part in the training of a model on trees, when there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<LaterOutcome>,
    /// What training took and found. Files call it as their first version did.
    #[serde(rename = "settings")]
    pub outcome: Option<TrainOutcome>,
    /// Training positives of each label: propensities of curves follow from them.
    #[serde(skip)]
    pub label_counts: Option<Vec<u64>>,
}

/// How the propensities that were used differ from those that were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdjustedPropensities {
    /// Labels that are observed on more rows than their propensity allows: it was raised to their frequency.
    pub raised: usize,
    /// Whether they were mostly noise, which was taken out.
    pub shrunken: bool,
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
    /// Which losses and decays were tried, when the loss was left open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// What made log-odds of the scores that the loss left, when something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// How many positives the training rests on, when they have different weights.
    pub effective_sample_size: Option<EffectiveSampleSize>,
    /// Labels that are observed more often than their propensity allows, so that training raised it.
    pub raised_propensities: usize,
    /// Whether the propensities that were given were mostly noise, which was taken out before training.
    #[serde(default)]
    pub shrunken_propensities: bool,
    /// What was compared on a controlled set, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackTable>,
    /// How later labels took part, when there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<LaterOutcome>,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
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
            tree: None,
            recalibration: None,
            logits_by_count: 0.0,
            adjusted: None,
            later: None,
            outcome: None,
            label_counts: None,
        }
    }

    /// For programs that show it: as files have it, but with the origin of the propensities as a text.
    pub fn to_json(&self) -> Result<serde_json::Value> {
        let json = serde_json::to_value(self).map_err(|cause| Error::value(format!("cannot write about the model ({cause})")));
        let mut json = json?;
        json["propensity"] = self.propensity.as_ref().map(Origin::to_string).into();
        Ok(json)
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

/// Where propensities came from that version 1 kept as a text.
fn origin_of_text(text: String) -> Origin {
    let learned = [Learned::Plugin, Learned::Alternating].map(Origin::from).into_iter().find(|origin| origin.to_string() == text);
    learned.unwrap_or_else(|| text.parse().map_or(Origin::Given(text), Origin::Model))
}

impl From<AboutOfVersion1> for About {
    fn from(about: AboutOfVersion1) -> About {
        let AboutOfVersion1 { loss, propensity, seed, rows, tool, settings } = about;
        // Whatever was there was allowed; what training wrote is understood.
        let outcome = serde_json::from_value(settings).ok();
        let propensity = propensity.map(origin_of_text);
        About {
            loss,
            propensity,
            seed,
            rows,
            tool,
            request: None,
            tree: None,
            recalibration: None,
            logits_by_count: 0.0,
            adjusted: None,
            later: None,
            outcome,
            label_counts: None,
        }
    }
}
