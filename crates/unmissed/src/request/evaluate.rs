//! [`EvaluateRequest`]: which numbers an evaluation computes, and how.

use super::{Conventions, GroupsSpec, IntervalKind, JudgedMethod, KList, Level, Sensitivity, Shard, WeightsSpec};
use crate::data::Rate;
use crate::metrics::Estimator;
use crate::propensity::models::PropensitySpec;
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which numbers an evaluation computes, and how. Fields that are not given have the defaults that are defined here.
///
/// ```
/// use unmissed::request::EvaluateRequest;
/// let request: EvaluateRequest = serde_json::from_str(r#"{ "k": [1, 10], "propensities": ["jpv"] }"#)?;
/// assert_eq!((request.k.largest(), request.level.get()), (10, 0.95));
/// assert!(serde_json::from_str::<EvaluateRequest>(r#"{ "klist": [1] }"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluateRequest {
    /// Propensity models.
    pub propensities: Vec<PropensitySpec>,
    /// Metrics as specs (`precision`, `macro-f:beta=2`, `recall:observed`); all when `None`.
    pub metrics: Option<Vec<Spec>>,
    /// Estimators, for metrics that do not name their own; all that each metric has when `None`.
    pub estimators: Option<Vec<Estimator>>,
    /// Lengths of the top list.
    pub k: KList,
    /// Level of intervals.
    pub level: Level,
    /// Which question intervals answer.
    pub interval: IntervalKind,
    /// Bootstrap replicates for means over labels; 0 takes the jackknife instead.
    pub bootstrap: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Every metric by group of labels too.
    pub groups: Option<GroupsSpec>,
    /// Gains of labels for `weighted-precision`.
    pub weights: Option<WeightsSpec>,
    /// Add estimates with inverse propensities clipped at this value.
    pub clip: Option<f64>,
    /// Also bounds of unbiased sums and differences if propensities are off.
    pub sensitivity: Option<Sensitivity>,
    /// The test labels are a controlled set, shown at this rate.
    pub rate: Option<Rate>,
    /// How estimates are made from judged pairs.
    pub judged_method: JudgedMethod,
    /// Choices where libraries differ.
    pub conventions: Conventions,
    /// Pairs that may not be predicted: a file with `row label` per line.
    pub ignore: Option<PathBuf>,
    /// Which part of the rows.
    pub shard: Shard,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_a_file() {
        let request = EvaluateRequest {
            propensities: vec!["jpv:a=0.5,b=0.4".parse().unwrap(), "table:a.csv".parse().unwrap()],
            metrics: Some(vec!["macro-f:beta=2".parse().unwrap()]),
            estimators: Some(vec![Estimator::Hajek]),
            k: KList::new(&[7]).unwrap(),
            groups: Some(GroupsSpec::Counts(vec![10, 2])),
            weights: Some("inverse".parse().unwrap()),
            rate: Some("2/9".parse().unwrap()),
            conventions: "empty-rows=skip".parse().unwrap(),
            shard: Shard::new(2, 3).unwrap(),
            judged_method: JudgedMethod::HorvitzThompson,
            clip: Some(10.0),
            ignore: Some("filter_labels_test.txt".into()),
            sensitivity: Some("1.5:pair".parse().unwrap()),
            ..EvaluateRequest::default()
        };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<EvaluateRequest>(&text).unwrap(), request);
        assert_eq!(serde_json::from_str::<EvaluateRequest>("{}").unwrap(), EvaluateRequest::default());
        for broken in [r#"{"k":[]}"#, r#"{"level":2}"#, r#"{"shard":[3,2]}"#, r#"{"interval":"both"}"#] {
            assert!(serde_json::from_str::<EvaluateRequest>(broken).is_err(), "{broken}");
        }
    }
}
