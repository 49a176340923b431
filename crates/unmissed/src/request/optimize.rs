//! [`OptimizeRequest`]: which predictions are best for which metric.

use super::{Level, ObjectiveSpec, WeightsSpec};
use crate::error::{Error, Result, digits};
use crate::propensity::models::PropensitySpec;
use crate::spec::{Spec, unknown};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The largest number of labels per row: choices of all rows are held at once.
const LARGEST_K: usize = 1_000_000;

/// Which predictions are best for which metric. Fields that are not given have the defaults that are defined here.
///
/// ```
/// use unmissed::request::OptimizeRequest;
/// let request: OptimizeRequest = serde_json::from_str(r#"{ "metric": "coverage", "k": 3 }"#)?;
/// assert_eq!((request.metric.to_string(), request.method.name(), request.at_most), ("coverage".into(), "bca", false));
/// assert!(serde_json::from_str::<OptimizeRequest>(r#"{ "metrics": "coverage" }"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizeRequest {
    /// What is maximised: an objective or a mixture of several.
    pub metric: ObjectiveSpec,
    /// Labels per row.
    pub k: usize,
    /// Rows may have fewer than k labels if more would do harm.
    pub at_most: bool,
    /// How it is maximised, an entry of [`METHODS`](crate::optimize::methods::METHODS).
    pub method: Spec,
    /// Maximum number of passes over the rows.
    pub sweeps: usize,
    /// A pass that improves the objective by less ends the search.
    pub tolerance: f64,
    /// Where the expected number of positives of each label comes from.
    pub positives: Positives,
    /// Propensities by which scores are divided, unless they are [corrected](OptimizeRequest::corrected), and priors in any case.
    pub propensity: Option<PropensitySpec>,
    /// Scores are probabilities of relevant labels already, as a model gives that was trained with propensities.
    pub corrected: bool,
    /// Gains of labels for `weighted-precision`.
    pub weights: Option<WeightsSpec>,
    /// How many times labels are drawn from the probabilities, for expected values and their intervals; 0 draws none.
    pub draws: usize,
    /// Level of intervals.
    pub level: Level,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for OptimizeRequest {
    fn default() -> OptimizeRequest {
        OptimizeRequest {
            metric: ObjectiveSpec::default(),
            k: 5,
            at_most: false,
            method: Spec::named("bca"),
            sweeps: 100,
            tolerance: 1e-6,
            positives: Positives::Auto,
            propensity: None,
            corrected: false,
            weights: None,
            draws: 40,
            level: Level::default(),
            seed: 0,
        }
    }
}

impl OptimizeRequest {
    /// Checks what no type checks, for scores of so many labels.
    pub(crate) fn check(&self, labels: usize) -> Result<()> {
        if !(1..=LARGEST_K).contains(&self.k) {
            return Err(Error::value("k is out of range").expected(format!("1 to {LARGEST_K}")).found(self.k.to_string()));
        }
        if self.k > labels {
            return Err(Error::value("k is larger than the number of labels")
                .expected(format!("at most {labels}"))
                .found(self.k.to_string()));
        }
        if self.sweeps == 0 {
            return Err(Error::value("the number of sweeps is out of range").expected("at least 1").found("0"));
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(Error::value("the tolerance is out of range")
                .expected("a finite number of at least 0")
                .found(digits(self.tolerance)));
        }
        if self.draws == 1 || self.draws > 100_000 {
            return Err(Error::value("the number of draws is out of range")
                .expected("0, or 2 to 100000")
                .found(self.draws.to_string())
                .hint("one draw does not show how much values vary"));
        }
        Ok(())
    }
}

/// Where the expected number of positives of each label comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positives {
    /// From training counts when there are some, else from the scores if (almost) all of their mass is stored.
    #[default]
    Auto,
    /// From training counts over propensities, and at least what is stored.
    Train,
    /// The sum of the stored scores, as if what is not stored were 0.
    Stored,
}

impl Positives {
    /// All of them.
    pub const ALL: [Positives; 3] = [Positives::Auto, Positives::Train, Positives::Stored];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Positives::Auto => "auto",
            Positives::Train => "train",
            Positives::Stored => "stored",
        }
    }
}

impl fmt::Display for Positives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Positives {
    type Err = Error;

    fn from_str(name: &str) -> Result<Positives> {
        let names = Positives::ALL.map(Positives::name);
        Positives::ALL
            .into_iter()
            .find(|positives| positives.name() == name)
            .ok_or_else(|| unknown("source of expected positives", name, &names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_a_file() {
        let request = OptimizeRequest {
            metric: "0.25*precision+0.75*macro-f:beta=2".parse().unwrap(),
            method: "frank-wolfe".parse().unwrap(),
            positives: Positives::Stored,
            propensity: Some("jpv".parse().unwrap()),
            weights: Some("inverse-complete".parse().unwrap()),
            at_most: true,
            ..OptimizeRequest::default()
        };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<OptimizeRequest>(&text).unwrap(), request);
        assert_eq!(serde_json::from_str::<OptimizeRequest>("{}").unwrap(), OptimizeRequest::default());
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let message = |request: OptimizeRequest| request.check(10).unwrap_err().to_string();
        let default = OptimizeRequest::default;
        assert_eq!(
            message(OptimizeRequest { k: 11, ..default() }),
            "k is larger than the number of labels: expected at most 10, found 11"
        );
        assert!(message(OptimizeRequest { k: 0, ..default() }).starts_with("k is out of range"));
        assert!(message(OptimizeRequest { sweeps: 0, ..default() }).contains("sweeps"));
        assert!(message(OptimizeRequest { tolerance: f64::NAN, ..default() }).contains("tolerance"));
        assert!(message(OptimizeRequest { draws: 1, ..default() }).contains("draws"));
        assert!("stord".parse::<Positives>().unwrap_err().to_string().contains("did you mean 'stored'?"));
    }
}
