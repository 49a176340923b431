//! [`AuditRequest`]: what an audit looks at, and how.

use super::{EvaluateRequest, Gates, GroupsSpec, KList, Level, WeightsSpec};
use crate::data::Rate;
use crate::propensity::models::PropensitySpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What an audit looks at, and how. Fields that are not given have the defaults that are defined here; what the audit shares with
/// an evaluation
/// has the defaults of an [`EvaluateRequest`].
///
/// ```
/// use unmissed::request::{AuditRequest, EvaluateRequest};
/// let request: AuditRequest = serde_json::from_str(r#"{ "name": "Wikipedia", "propensities": ["power"] }"#)?;
/// assert_eq!((request.k, request.bootstrap), (EvaluateRequest::default().k, EvaluateRequest::default().bootstrap));
/// assert!(serde_json::from_str::<AuditRequest>(r#"{ "title": "Wikipedia" }"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditRequest {
    /// What the data are called; a known name decides about the constants of models that have several.
    pub name: String,
    /// Propensity models; when `None` the usual one, `jpv`, as far as there are training labels.
    pub propensities: Option<Vec<PropensitySpec>>,
    /// Lengths of the top list; the verdict is about the first.
    pub k: KList,
    /// Level of intervals.
    pub level: Level,
    /// Bootstrap replicates for means over labels; 0 turns them off.
    pub bootstrap: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Groups of labels; when `None` head, torso and tail, as far as there are training labels.
    pub groups: Option<GroupsSpec>,
    /// Gains of labels for `weighted-precision`.
    pub weights: Option<WeightsSpec>,
    /// The rate at which the pairs of the controlled set were shown; without such a set, those of the test set.
    pub rate: Option<Rate>,
    /// What the audit is to fail on.
    pub gates: Gates,
    /// Pairs that may not be predicted: a file with `row label` per line.
    pub ignore: Option<PathBuf>,
}

impl Default for AuditRequest {
    fn default() -> AuditRequest {
        let EvaluateRequest { k, level, bootstrap, seed, weights, ignore, .. } = EvaluateRequest::default();
        AuditRequest {
            name: String::new(),
            propensities: None,
            k,
            level,
            bootstrap,
            seed,
            groups: None,
            weights,
            rate: None,
            gates: Gates::default(),
            ignore,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_a_file() {
        let request = AuditRequest {
            name: "a;b \"c\"".into(),
            propensities: Some(vec!["jpv:a=0.5,b=0.4".parse().unwrap(), "table:a,,b.csv".parse().unwrap()]),
            k: KList::new(&[2, 7]).unwrap(),
            level: Level::new(0.9).unwrap(),
            bootstrap: 3,
            seed: u64::MAX,
            groups: Some(GroupsSpec::Deciles),
            weights: Some("effective:beta=0.9".parse().unwrap()),
            rate: Some("2/9".parse().unwrap()),
            gates: Gates {
                fail_on: vec!["U001".into(), "warning".into()],
                fail_below: vec!["precision@2:unbiased=0.5".parse().unwrap()],
                fail_if_worse: true,
            },
            ignore: Some("pairs.txt".into()),
        };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<AuditRequest>(&text).unwrap(), request);
        assert_eq!(serde_json::from_str::<AuditRequest>("{}").unwrap(), AuditRequest::default());
        for broken in [r#"{"k":[0]}"#, r#"{"level":1}"#, r#"{"propensities":["nobody"]}"#, r#"{"test":"file"}"#] {
            assert!(serde_json::from_str::<AuditRequest>(broken).is_err(), "{broken}");
        }
    }
}
