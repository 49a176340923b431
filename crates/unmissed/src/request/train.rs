//! [`TrainRequest`]: what training minimises, how, and which settings it tries.

use super::{Criterion, JointLearning, LossChoice, NormalizeChoice, SolverChoice, TrainPropensity, WeightsSpec};
use crate::data::Rate;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What training minimises, how, and which settings it tries. What is not given takes the default that is here, or, where a
/// default depends on the data, the one that training chooses.
///
/// ```
/// use unmissed::request::{LossChoice, TrainRequest};
/// let request: TrainRequest = serde_json::from_str(r#"{ "loss": "unbiased-logistic", "decay": [0.001] }"#)?;
/// assert_eq!((request.loss, request.holdout), (LossChoice::from("unbiased-logistic"), 0.1));
/// assert!(serde_json::from_str::<TrainRequest>(r#"{ "los": "logistic" }"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainRequest {
    /// What is minimised.
    pub loss: LossChoice,
    /// The propensities of labels; without them nothing is taken to be missing.
    pub propensity: Option<TrainPropensity>,
    /// Inverse propensities are clipped at this value: less variance, some bias.
    pub clip: Option<f64>,
    /// Whether propensities are raised to what the data allow: the label's frequency, and the lower limit of how often it is observed
    /// on the rows on which it is surest. Those that are mostly noise, by their own intervals, are shrunken first. Otherwise they are
    /// taken as they are.
    pub raise: bool,
    /// A factor of the loss for each label.
    pub weights: Option<WeightsSpec>,
    /// A bias-controlled set: an uncorrected model and one by joint learning are put together on it.
    pub controlled: Option<TrainControlled>,
    /// Later labels of the training rows, which take the place of the observed ones.
    pub later: Option<TrainLater>,
    /// How propensities are learned from the observed labels, if they are; `propensity` is then where they start.
    pub joint: Option<JointLearning>,
    /// From how many starts joint learning by the likelihood begins; the best stays, label by label.
    pub starts: usize,
    /// How blocks of labels are trained.
    pub solver: SolverChoice,
    /// Strength of the L2 penalty. Empty: the solver's default. Several values are for `tune`, which tries them all.
    pub decay: Vec<f64>,
    /// Solvers that go to the optimum: the share of its first value to which the gradient's norm has to fall.
    pub tolerance: Option<f64>,
    /// Solvers that go to the optimum: the most steps of Newton's method, or passes over the rows of the dual solver.
    pub max_steps: Option<usize>,
    /// Adam: the learning rate. Empty: the default. Several values are for `tune`, which tries them all.
    pub learning_rate: Vec<f64>,
    /// Adam: rows per batch.
    pub batch_size: Option<usize>,
    /// Adam: passes over all rows; the most of them when rows are held out.
    pub epochs: Option<usize>,
    /// Whether several settings are tried.
    pub tune: bool,
    /// The settings that are tried, by the name of a grid; `decay` and `learning_rate` replace its values.
    pub grid: String,
    /// What decides between settings; when `None`, the loss on held-out rows, or the log loss on a validation set.
    pub criterion: Option<Criterion>,
    /// The share of rows that are held out to decide on. 0: none, and Adam runs through all epochs.
    pub holdout: f64,
    /// A set to decide on instead of held-out rows.
    pub validation: Option<Validation>,
    /// Whether scores are made log-odds on held-out rows; when `None`, where the loss and the decay are chosen as well: in plain
    /// training with nothing else asked for.
    pub calibrate: Option<bool>,
    /// How rows of features are scaled.
    pub normalize: NormalizeChoice,
    /// The most bytes that blocks in work may take, on top of the data. The model does not depend on it.
    pub memory: Option<u64>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for TrainRequest {
    fn default() -> TrainRequest {
        TrainRequest {
            loss: LossChoice::Auto,
            propensity: None,
            clip: None,
            raise: true,
            weights: None,
            controlled: None,
            later: None,
            joint: None,
            starts: 1,
            solver: SolverChoice::Auto,
            decay: Vec::new(),
            tolerance: None,
            max_steps: None,
            learning_rate: Vec::new(),
            batch_size: None,
            epochs: None,
            tune: false,
            grid: "default".to_owned(),
            criterion: None,
            holdout: 0.1,
            validation: None,
            calibrate: None,
            normalize: NormalizeChoice::Auto,
            memory: None,
            seed: 0,
        }
    }
}

impl TrainRequest {
    /// Training by a loss, everything else by default.
    pub fn by_loss(name: &str) -> TrainRequest {
        TrainRequest { loss: name.into(), ..TrainRequest::default() }
    }

    /// The same without what the model does not depend on: what its file keeps.
    #[must_use]
    pub fn recorded(&self) -> TrainRequest {
        TrainRequest { memory: None, ..self.clone() }
    }
}

/// A bias-controlled set to train with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainControlled {
    /// Its file; `None` for rows that the caller passes along with the data.
    pub file: Option<PathBuf>,
    /// The rate at which labels were shown.
    pub rate: Option<Rate>,
    /// The file of the pairs that were shown, when they are known; `None` also for pairs that the caller passes along.
    pub shown: Option<PathBuf>,
    /// Judged csv files about the rows of the file, in place of a rate and shown pairs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<PathBuf>,
}

/// Later labels to train with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainLater {
    /// The later snapshot of the training rows; `None` for labels that the caller passes along with the data.
    pub file: Option<PathBuf>,
    /// A csv with a column `row`: the rows that have later labels, when not all do.
    pub rows: Option<PathBuf>,
}

/// A set of rows on which settings are decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Validation {
    /// Its file; `None` for rows that the caller passes along with the data.
    pub file: Option<PathBuf>,
    /// The rate at which labels were shown, when it is a controlled set; otherwise its labels are complete.
    pub rate: Option<Rate>,
    /// The file of the pairs that were shown, when it is a controlled set and they are known; `None` also for pairs that the caller
    /// passes along with the data.
    pub shown: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_a_file() {
        let request = TrainRequest {
            loss: "bounded-logistic".into(),
            propensity: Some("jpv:a=0.5,b=0.4".parse().unwrap()),
            clip: Some(20.0),
            weights: Some("inverse".parse().unwrap()),
            joint: Some("alternating:rounds=3".parse().unwrap()),
            solver: SolverChoice::Adam,
            decay: vec![0.0, 1e-3],
            learning_rate: vec![0.1],
            epochs: Some(7),
            tune: true,
            grid: "paper".into(),
            criterion: Some("precision@3:unbiased".parse().unwrap()),
            validation: Some(Validation { file: Some("controlled.txt".into()), rate: Some("2/9".parse().unwrap()), shown: None }),
            normalize: NormalizeChoice::L2,
            memory: Some(1 << 40),
            seed: u64::MAX,
            ..TrainRequest::default()
        };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<TrainRequest>(&text).unwrap(), request);
        assert_eq!(serde_json::from_str::<TrainRequest>("{}").unwrap(), TrainRequest::default());
        for broken in [r#"{"solver":"newtn"}"#, r#"{"criterion":"best"}"#, r#"{"joint":"apart"}"#, r#"{"normalize":"l3"}"#] {
            assert!(serde_json::from_str::<TrainRequest>(broken).is_err(), "{broken}");
        }
    }
}
