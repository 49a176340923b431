//! Which loss and decay training took, and what else it tried.

use serde::{Deserialize, Serialize};

/// The losses and decays that were tried, and what they were tried on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Held-out rows.
    pub rows: u64,
    /// Labels on which decays were tried.
    pub labels: u64,
    /// Pairs of them that were observed on the held-out rows.
    pub positives: u64,
    /// How often rows were held out before it was clear which loss is better, or as often as it is tried.
    #[serde(default = "once")]
    pub rounds: u64,
    /// Everything that was tried, in order.
    pub candidates: Vec<Candidate>,
}

/// A loss with a decay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The loss.
    pub loss: String,
    /// Strength of the L2 penalty.
    pub decay: f64,
    /// What decides between the decays of a plain loss: the mean over observed pairs of held-out rows of
    /// `-ln(e^z / (e^z + sum e^z'))`, where z is the pair's calibrated score and the sum goes over the labels of its row that were
    /// tried and not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking_loss: Option<f64>,
    /// What decides between the decays of a loss that corrects: the negative log likelihood of what is observed, per held-out row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
    /// For the best decay of each loss: the mean of precision at 1 to 5 on held-out rows, among more of the labels, half of which are the
    /// most frequent ones; with propensities, an observed pair counts `1/p`. The highest is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// How long it took. Not part of model files: the same run makes the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Whether it is the best.
    pub chosen: bool,
}

/// Older files held rows out once.
fn once() -> u64 {
    1
}

impl Choice {
    /// What did best.
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.chosen)
    }
}
