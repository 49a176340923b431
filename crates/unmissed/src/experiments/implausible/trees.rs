//! The same at a real extreme scale: models on trees over the labels of data sets that have very many.
//!
//! Nobody knows which of their labels are missing, so there is no truth to compare with; but values above 100 % cannot be right. A tree is
//! trained on the observed labels as they are, and ranks labels by their probability, or by their probability divided by the
//! propensity, which is what PfastreXML was the first to do.

use super::super::linear_models::marked;
use super::super::measures::{Seen, precision};
use super::super::{Context, DataFolder};
use crate::data::{Dataset, LabelStats};
use crate::error::{Error, Result};
use crate::metrics::Estimator;
use crate::predict::{PredictOptions, TreeSearch};
use crate::propensity::Propensities;
use crate::propensity::models::PropensitySpec;
use crate::request::TreeRequest;
use crate::train::TreeTrainer;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// From so many labels on there are trees instead of a scorer for each label.
pub(super) const MANY: usize = 10_000;

/// What is scored, normalised and not, at 1, 3 and 5.
#[derive(Serialize, Deserialize)]
pub(super) struct Scored {
    pub(super) ranked_by: String,
    pub(super) estimate: String,
    pub(super) values: [f64; 3],
}

/// Which labels come first, and by which estimate they are scored.
const RANKINGS: [&str; 2] = ["probability", "probability / propensity"];
const ESTIMATES: [(&str, Option<Estimator>); 3] =
    [("as observed", None), ("normalized", Some(Estimator::Normalized)), ("unnormalized", Some(Estimator::Unbiased))];

/// All values of a data set.
pub(super) fn scored(context: &Context<'_>, given: &DataFolder, (train, test): &(Dataset<'_>, Dataset<'_>)) -> Result<Vec<Scored>> {
    let request = TreeRequest { trees: context.size.pick(1, 1, 3), seed: context.seed, ..TreeRequest::default() };
    let settings = json!([marked(train)?, marked(test)?, request]);
    context.part(&format!("trees on {}", given.name), &settings, || {
        let spec: PropensitySpec = "jpv".parse()?;
        let propensities = spec.propensities(&LabelStats::of(train.labels()))?;
        let (model, _) = TreeTrainer::new(request.clone()).progress(context.progress).train(train)?;
        let features = test.features().ok_or_else(|| Error::value("the test rows have no features"))?;
        let mut found = Vec::new();
        for (ranked_by, divided) in RANKINGS.into_iter().zip([None, Some(&propensities)]) {
            let options = PredictOptions { k: 5, propensities: divided, progress: context.progress, ..PredictOptions::default() };
            let ranked = model.predict(features, &options, TreeSearch::default())?.scores;
            for (estimate, estimator) in ESTIMATES {
                let values = values(test, &ranked, estimator, &propensities)?;
                found.push(Scored { ranked_by: ranked_by.into(), estimate: estimate.into(), values });
            }
        }
        Ok(found)
    })
}

fn values(
    test: &Dataset<'_>,
    ranked: &crate::data::Scores<'_>,
    estimator: Option<Estimator>,
    propensities: &Propensities,
) -> Result<[f64; 3]> {
    let seen = estimator.map_or(Seen::Complete, |estimator| Seen::Missing(propensities, estimator));
    Ok(precision(test.labels(), ranked, &seen)?.map(|(value, _)| value))
}
