//! [`TreeRequest`]: which trees are trained, and how.

use super::{NormalizeChoice, TrainControlled, TrainLater, TrainPropensity};
use crate::error::{Error, Result, digits};
use crate::spec::unknown;
use crate::tree::TreeSpec;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which trees are trained, and how. What is not given takes the default that is here.
///
/// ```
/// use unmissed::request::TreeRequest;
/// let request: TreeRequest = serde_json::from_str(r#"{ "tree": "kmeans:leaf=64", "trees": 3 }"#)?;
/// assert_eq!((request.tree.to_string().as_str(), request.trees), ("kmeans:branch=64,leaf=64", 3));
/// assert!(serde_json::from_str::<TreeRequest>(r#"{ "tree": "oak" }"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TreeRequest {
    /// How a tree is made of the labels.
    pub tree: TreeSpec,
    /// Number of trees, whose probabilities are averaged.
    pub trees: usize,
    /// The propensities of labels; without them nothing is taken to be missing.
    pub propensity: Option<TrainPropensity>,
    /// How propensities are made use of.
    pub correction: TreeCorrection,
    /// Inverse propensities are clipped at this value: less variance, some bias.
    pub clip: Option<f64>,
    /// A controlled set, or judged pairs, on which probabilities are recalibrated where that is an improvement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controlled: Option<TrainControlled>,
    /// Later labels of all training rows, which replace the observed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<TrainLater>,
    /// What the loss of a row counts against the penalty `|w|^2 / 2` of a lane's weights, for rows of length 1.
    pub cost: f64,
    /// Passes of the solver over the rows of a node.
    pub passes: usize,
    /// A row is left out of a pass when none of its probabilities would change by more than this.
    pub tolerance: f64,
    /// Weights of at most this size are dropped, for rows of length 1; [`TreeRequest::usual_prune`] by default.
    pub prune: Option<f64>,
    /// Whether logits of lanes with many rows and with few are made comparable on held-out rows.
    #[serde(skip_serializing_if = "is_default")]
    pub calibrate: bool,
    /// How rows of features are scaled.
    pub normalize: NormalizeChoice,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for TreeRequest {
    fn default() -> TreeRequest {
        TreeRequest {
            tree: TreeSpec::default(),
            trees: 1,
            propensity: None,
            correction: TreeCorrection::Plugin,
            clip: None,
            controlled: None,
            later: None,
            cost: 12.0,
            passes: 10,
            tolerance: 1e-2,
            prune: None,
            calibrate: true,
            normalize: NormalizeChoice::Auto,
            seed: 0,
        }
    }
}

/// Files and folders of runs from before there was a choice do not have it.
fn is_default(calibrate: &bool) -> bool {
    *calibrate
}

/// How trees make use of propensities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TreeCorrection {
    /// Trained on the observed labels, and the probability of a label divided by its propensity. Right whatever labels have to do with
    /// each other in what goes missing: a node has no propensity of its own, since that depends on which of its labels go missing
    /// together, but a label has.
    #[default]
    Plugin,
    /// A row counts for a lane as much as the inverse propensities of its observed labels there. Right for ranking labels by how
    /// probable they are; scores are shares of the number of relevant labels, not probabilities.
    Count,
}

impl TreeCorrection {
    /// All of them.
    pub const ALL: [TreeCorrection; 2] = [TreeCorrection::Plugin, TreeCorrection::Count];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            TreeCorrection::Plugin => "plugin",
            TreeCorrection::Count => "count",
        }
    }
}

impl fmt::Display for TreeCorrection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TreeCorrection {
    type Err = Error;

    fn from_str(name: &str) -> Result<TreeCorrection> {
        let names = TreeCorrection::ALL.map(TreeCorrection::name);
        TreeCorrection::ALL
            .into_iter()
            .find(|choice| choice.name() == name)
            .ok_or_else(|| unknown("correction of trees", name, &names))
    }
}

impl TryFrom<String> for TreeCorrection {
    type Error = Error;

    fn try_from(text: String) -> Result<TreeCorrection> {
        text.parse()
    }
}

impl From<TreeCorrection> for String {
    fn from(choice: TreeCorrection) -> String {
        choice.to_string()
    }
}

impl TreeRequest {
    /// The most trees of an ensemble.
    pub const MOST_TREES: usize = 100;

    /// The largest cost. The solver computes in single precision, and far below this nothing is left of the penalty.
    pub const MOST_COST: f64 = 1e12;

    /// From so many labels on, models are large.
    pub const MANY_LABELS: usize = 20_000;

    /// Below which size weights are dropped unless the request says so: more of them where models are large. Small models keep more, because
    /// there dropping more saves few bytes and can cost precision.
    pub fn usual_prune(labels: usize) -> f64 {
        if labels < TreeRequest::MANY_LABELS { 0.4 } else { 0.55 }
    }

    /// Rejects numbers that are out of range and choices that do not go together.
    pub fn check(&self) -> Result<()> {
        let out = |what: &str, expected: &str, found: f64| {
            Err(Error::value(format!("the {what} is out of range")).expected(expected).found(digits(found)))
        };
        if !(1..=TreeRequest::MOST_TREES).contains(&self.trees) {
            return out("number of trees", &format!("1 to {}", TreeRequest::MOST_TREES), self.trees as f64);
        }
        if self.trees > 1 && self.tree.is_fixed() {
            return Err(Error::value(format!("every tree of '{}' is the same", self.tree))
                .hint("train one tree, or use 'kmeans' or 'random'"));
        }
        if !(self.cost > 0.0 && self.cost <= TreeRequest::MOST_COST) {
            return out("cost", &format!("a number above 0 and at most {:e}", TreeRequest::MOST_COST), self.cost);
        }
        if self.passes == 0 {
            return out("number of passes", "at least 1", 0.0);
        }
        if !(0.0..1.0).contains(&self.tolerance) {
            return out("tolerance", "a number from 0 to below 1", self.tolerance);
        }
        if let Some(prune) = self.prune.filter(|prune| !(*prune >= 0.0 && prune.is_finite())) {
            return out("size below which weights are dropped", "a finite number of at least 0", prune);
        }
        if let Some(clip) = self.clip.filter(|clip| !(*clip >= 1.0 && clip.is_finite())) {
            return out("largest inverse propensity", "a finite number of at least 1", clip);
        }
        if self.propensity.is_some() && self.controlled.is_some() {
            return Err(Error::value("evidence says what is missing: a controlled set takes no propensities beside it")
                .hint("leave the propensities out"));
        }
        match &self.later {
            Some(_) if self.propensity.is_some() || self.controlled.is_some() => {
                return Err(Error::value(
                    "evidence says what is missing: later labels take no propensities and no controlled set beside them",
                )
                .hint("use one of them"));
            }
            Some(TrainLater { rows: Some(_), .. }) => {
                return Err(Error::value("trees take later labels of all rows, not of some")
                    .hint("the other rows would need row-dependent propensities, and trees are corrected by those of labels"));
            }
            _ => {}
        }
        if self.propensity.is_none() && (self.correction != TreeCorrection::Plugin || self.clip.is_some()) {
            return Err(Error::value("a correction of trees needs propensities")
                .hint("give a propensity model, or leave the correction out"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_rejected() {
        let usual = TreeRequest::default;
        assert!(usual().check().is_ok());
        assert_eq!([0, 19_999, 20_000, 670_000].map(TreeRequest::usual_prune), [0.4, 0.4, 0.55, 0.55]);
        let text = serde_json::to_string(&usual()).unwrap();
        assert_eq!(serde_json::from_str::<TreeRequest>(&text).unwrap(), usual());
        for broken in [
            TreeRequest { trees: 0, ..usual() },
            TreeRequest { trees: 101, ..usual() },
            TreeRequest { trees: 2, tree: "huffman".parse().unwrap(), ..usual() },
            TreeRequest { cost: 0.0, ..usual() },
            TreeRequest { cost: f64::NAN, ..usual() },
            TreeRequest { cost: 1e300, ..usual() },
            TreeRequest { later: Some(TrainLater::default()), propensity: Some("jpv".parse().unwrap()), ..usual() },
            TreeRequest { later: Some(TrainLater::default()), controlled: Some(TrainControlled::default()), ..usual() },
            TreeRequest { later: Some(TrainLater { rows: Some("rows.csv".into()), ..TrainLater::default() }), ..usual() },
            TreeRequest { passes: 0, ..usual() },
            TreeRequest { tolerance: 1.0, ..usual() },
            TreeRequest { prune: Some(-1.0), ..usual() },
            TreeRequest { clip: Some(2.0), ..usual() },
            TreeRequest { correction: TreeCorrection::Count, ..usual() },
            TreeRequest { propensity: Some("jpv".parse().unwrap()), controlled: Some(TrainControlled::default()), ..usual() },
        ] {
            assert!(broken.check().is_err(), "{broken:?}");
        }
        assert!("plug".parse::<TreeCorrection>().unwrap_err().to_string().contains("did you mean 'plugin'?"));
    }
}
