//! What decides between settings: the loss on rows that were held out, or a metric.

use super::fit::Checkpoint;
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, Rate};
use crate::metrics::{self, Estimator};
use crate::propensity::Propensities;
use std::fmt;
use std::str::FromStr;

/// What decides between settings.
///
/// ```
/// use unmissed::train::Criterion;
/// let criterion: Criterion = "precision@3:unbiased".parse()?;
/// assert_eq!(criterion.to_string(), "precision@3:unbiased");
/// assert_eq!("loss".parse::<Criterion>()?, Criterion::Loss);
/// assert!("precision".parse::<Criterion>().is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    /// The loss that is trained, on held-out rows.
    Loss,
    /// A metric of the best k labels.
    Metric {
        /// Its name.
        metric: String,
        /// How many labels.
        k: usize,
        /// How it is estimated; unless given, `unbiased` when there are propensities or a rate, else `observed`.
        estimator: Option<Estimator>,
    },
}

impl FromStr for Criterion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Criterion> {
        if text == "loss" {
            return Ok(Criterion::Loss);
        }
        let broken =
            || Error::value("cannot read the criterion").expected("loss, or METRIC@K[:ESTIMATOR]").found(format!("'{text}'"));
        let (name, rest) = text.split_once('@').ok_or_else(broken)?;
        let (k, estimator) = rest.split_once(':').map_or((rest, None), |(k, estimator)| (k, Some(estimator)));
        let k = k.parse().ok().filter(|k| *k > 0).ok_or_else(broken)?;
        let metric = metrics::find(name)?.name().to_owned();
        Ok(Criterion::Metric { metric, k, estimator: estimator.map(Estimator::of_name).transpose()? })
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Criterion::Loss => f.write_str("loss"),
            Criterion::Metric { metric, k, estimator: None } => write!(f, "{metric}@{k}"),
            Criterion::Metric { metric, k, estimator: Some(estimator) } => write!(f, "{metric}@{k}:{estimator}"),
        }
    }
}

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
        value.map(Some).ok_or_else(|| Error::value(format!("{}@{k} has no value on the rows that were held out", metric)))
    }

    /// What is to be made small.
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
