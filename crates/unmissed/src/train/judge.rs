//! What decides between settings: the loss on rows that were held out, or a metric.

use super::fit::Checkpoint;
use crate::data::{Labels, Rate};
use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::metrics::{self, Estimator, Shape};
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
            evaluation = evaluation.rate(shown(rate, self.truth.cols()))?;
        } else if let Some(propensities) = self.propensities {
            evaluation = evaluation.propensity(propensities.clone());
        }
        let result = evaluation.run()?;
        let value = result.find(metric, *k, estimator).and_then(|row| row.value);
        value.map(Some).ok_or_else(|| Error::value(format!("{}@{k} has no value on the rows that were held out", metric)))
    }

    /// What is minimised.
    pub(super) fn cost(&self, loss: Option<f64>, metric: Option<f64>) -> f64 {
        let cost = match self.criterion {
            Criterion::Loss => loss,
            Criterion::Metric { metric: name, .. } => {
                // A product counts rows without any hit: the fewer the better.
                let few = metrics::find(name).is_ok_and(|metric| matches!(metric.shape(), Shape::Product));
                metric.map(|value| if few { value } else { -value })
            }
        };
        cost.unwrap_or(f64::INFINITY)
    }
}

/// The rate as evaluations take it.
fn shown(rate: &Rate, labels: usize) -> crate::evaluate::Rate {
    match rate {
        Rate::Shown { shown, of } => crate::evaluate::Rate::Shown { shown: *shown, of: *of },
        rate => crate::evaluate::Rate::PerLabel((0..labels).map(|label| rate.of(label)).collect()),
    }
}
