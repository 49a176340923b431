//! What decides between settings: the loss on rows that were held out, or a metric.

use super::fit::Checkpoint;
use crate::data::{Labels, Rate};
use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::metrics::{self, Estimator};
use crate::propensity::Propensities;
use crate::request::Criterion;

/// What the rows that decide are like.
pub(super) struct Judge<'a> {
    pub(super) criterion: &'a Criterion,
    pub(super) truth: Labels<'static>,
    /// The propensities of the rows' labels, when some may be missing.
    pub(super) propensities: Option<&'a Propensities>,
    /// The rate of a controlled set.
    pub(super) rate: Option<&'a Rate>,
}

impl Judge<'_> {
    /// How many labels of each row it looks at.
    pub(super) fn depth(&self) -> usize {
        match self.criterion {
            Criterion::Loss => 1,
            Criterion::Metric { k, .. } => *k,
        }
    }

    /// The value of the metric, when that is the criterion.
    pub(super) fn metric(&self, checkpoint: &Checkpoint) -> Result<Option<f64>> {
        let Criterion::Metric { metric, k, estimator } = self.criterion else { return Ok(None) };
        let corrected = self.propensities.is_some() || self.rate.is_some();
        let estimator = estimator.unwrap_or(if corrected { Estimator::Unbiased } else { Estimator::Observed });
        let mut evaluation = Evaluation::new(&self.truth, &[("model", &checkpoint.predictions)])?
            .metrics(&[metric])?
            .estimators(&[estimator])
            .ks(&[*k])?
            .bootstrap(0, 0);
        if let Some(rate) = self.rate {
            evaluation = evaluation.rate(rate.clone())?;
        } else if let Some(propensities) = self.propensities {
            evaluation = evaluation.propensity(propensities.clone());
        }
        let result = evaluation.run()?;
        let value = result.find(metric, *k, estimator)?.value;
        value.map(Some).ok_or_else(|| Error::value(format!("{}@{k} has no value on the held-out rows", metric)))
    }

    /// What is minimised.
    pub(super) fn cost(&self, loss: Option<f64>, metric: Option<f64>) -> f64 {
        let cost = match self.criterion {
            Criterion::Loss => loss,
            Criterion::Metric { metric: name, .. } => {
                let low_is_good = metrics::find(name).is_ok_and(|metric| metric.lower_is_better());
                metric.map(|value| if low_is_good { value } else { -value })
            }
        };
        cost.unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::METRICS;

    #[test]
    fn every_metric_says_itself_which_value_is_better() {
        for metric in METRICS {
            let criterion = Criterion::Metric { metric: metric.name().to_owned(), k: 1, estimator: None };
            let truth = Labels::from_ids(1, [vec![0]]).unwrap();
            let judge = Judge { criterion: &criterion, truth, propensities: None, rate: None };
            let is_cheaper_when_low = judge.cost(None, Some(0.1)) < judge.cost(None, Some(0.9));
            assert_eq!(is_cheaper_when_low, metric.lower_is_better(), "{}", metric.name());
            assert_eq!(judge.cost(Some(1.0), None), f64::INFINITY, "no value is the worst");
        }
    }
}
