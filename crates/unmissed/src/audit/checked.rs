//! A request checked against the data: what the stages of an audit take.

use super::builder::Audit;
use super::candidates::{Known, usual_model};
use super::gates;
use super::provenance::Provenance;
use crate::data::{IgnoredPairs, LabelStats, Rate};
use crate::error::{Error, Result};
use crate::evaluate::Groups;
use crate::propensity::models::PropensitySpec;
use crate::request::{AuditRequest, GroupsSpec, WeightsSpec};
use std::sync::Arc;

/// A request whose parts fit each other and the data.
pub(super) struct Checked<'a> {
    /// The request, with what was passed along with the data.
    pub(super) request: AuditRequest,
    /// Propensity models of the request, or the usual ones.
    pub(super) models: Vec<PropensitySpec>,
    /// What is known about missing labels of the training rows.
    pub(super) known: Option<Known<'a>>,
    /// The rate at which the pairs of the test set were shown, when that is a controlled set.
    pub(super) test_rate: Option<Rate>,
    pub(super) groups: Option<Groups>,
    /// Gains of labels, with their name.
    pub(super) weights: Option<(String, Vec<f64>)>,
    /// Pairs that may not be predicted.
    pub(super) ignored: Option<Arc<IgnoredPairs>>,
}

impl Audit<'_> {
    /// Checks the request against the data.
    pub(super) fn check(&self, stats: Option<&LabelStats>) -> Result<Checked<'_>> {
        let mut request = self.request.clone();
        let labels = self.test.labels().cols() as u64;
        gates::check(&request.gates, &request.k, self.baseline.is_some())?;
        let test_rate = request.rate.clone().filter(|_| self.controlled.is_none());
        let models = match &request.propensities {
            Some(models) => models.clone(),
            None if stats.is_some() && test_rate.is_none() => vec![usual_model(&request.name)?],
            None => Vec::new(),
        };
        let known = self.known()?;
        if let Some(rate) = &test_rate {
            rate.check_draw(labels)?;
            if !(models.is_empty() && self.propensities.is_empty() && known.is_none()) {
                return Err(Error::value("a controlled test set has a known rate, so propensity models do not apply to it")
                    .hint("leave out either the rate of the test labels or the propensity models and the evidence for them"));
            }
        }
        if self.groups.is_some() {
            request.groups = Some(GroupsSpec::Given);
        }
        let groups = match (&self.groups, &request.groups) {
            (Some(given), _) => Some(given.clone()),
            (None, Some(spec)) => Some(Groups::from_spec(spec, stats, labels)?),
            (None, None) => {
                let stats = stats.filter(|stats| stats.positives() > 0);
                stats.map(|stats| Groups::from_spec(&GroupsSpec::default(), Some(stats), labels)).transpose()?
            }
        };
        if self.weights.is_some() {
            request.weights = Some(WeightsSpec::Given);
        }
        let weights = match (&self.weights, &request.weights) {
            (_, None) => None,
            (Some(given), Some(_)) => Some(given.clone()),
            (None, Some(spec)) => {
                // Weights by complete positives need to know the propensities.
                let propensities = match &models[..] {
                    [one] if request.propensities.is_some() => Some(one.per_label(stats, labels)?),
                    _ => None,
                };
                Some((spec.to_string(), spec.of_labels(stats, propensities.as_ref(), labels)?))
            }
        };
        let ignored = match &request.ignore {
            Some(path) => Some(Arc::new(IgnoredPairs::read(path, self.test.labels().rows(), labels as usize)?)),
            None => self.ignored.clone(),
        };
        Ok(Checked { request, models, known, test_rate, groups, weights, ignored })
    }

    fn known(&self) -> Result<Option<Known<'_>>> {
        match (self.controlled, self.later) {
            (Some(_), Some(_)) => {
                Err(Error::value("a controlled set and a later snapshot at once").hint("audit with one of the two"))
            }
            (Some(data), None) if data.labels() == self.test.labels() => {
                Err(Error::value("the controlled set is the test set")
                    .expected("other rows: an estimate must not be checked on the rows that it was made from")
                    .hint("split the controlled rows; or leave the controlled set out and keep its rate, which is then that of the test set"))
            }
            (Some(data), None) => match &self.request.rate {
                Some(rate) => Ok(Some(Known::Controlled { labels: data.labels(), rate })),
                None => Err(Error::value("a controlled set without the rate at which its pairs were shown")
                    .expected("a rate, as in 16/300")),
            },
            (None, Some(data)) => Ok(Some(Known::Later { labels: data.labels() })),
            (None, None) => Ok(None),
        }
    }

    /// How the run can be repeated.
    pub(super) fn provenance(&self, request: AuditRequest) -> Provenance {
        let (command, files) = self.source.clone().unzip();
        Provenance {
            command,
            request,
            version: env!("CARGO_PKG_VERSION").into(),
            target: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            files: files.unwrap_or_default(),
        }
    }
}
