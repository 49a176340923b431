//! [`Audit`]: a request and the data that it is about.

use super::baseline::Baseline;
use super::naming::Naming;
use super::provenance::InputFile;
use crate::data::{Csr, Dataset, IgnoredPairs};
use crate::error::{Error, Result};
use crate::evaluate::judged::Judged;
use crate::evaluate::{Evaluation, Groups, same};
use crate::metrics::weights;
use crate::progress::{Progress, Silent};
use crate::propensity::Propensities;
use crate::request::AuditRequest;
use std::sync::Arc;

/// Builds an audit. See the module's page.
#[derive(Clone)]
pub struct Audit<'a> {
    pub(super) request: AuditRequest,
    pub(super) test: &'a Dataset<'a>,
    pub(super) models: Vec<(String, &'a Csr<'a, f32>)>,
    pub(super) train: Option<&'a Dataset<'a>>,
    pub(super) propensities: Vec<Propensities>,
    pub(super) controlled: Option<&'a Dataset<'a>>,
    pub(super) later: Option<&'a Dataset<'a>>,
    pub(super) train_predictions: Vec<(String, &'a Csr<'a, f32>)>,
    pub(super) truth: Option<&'a Dataset<'a>>,
    pub(super) baseline: Option<&'a Baseline>,
    pub(super) judged: Option<Judged>,
    pub(super) groups: Option<Groups>,
    pub(super) weights: Option<(String, Vec<f64>)>,
    pub(super) naming: Naming<'a>,
    pub(super) ignored: Option<Arc<IgnoredPairs>>,
    pub(super) source: Option<(String, Vec<InputFile>)>,
    pub(super) progress: &'a dyn Progress,
}

impl<'a> Audit<'a> {
    /// Models by name, each with scores for the rows of `test` in the same order.
    pub fn new(test: &'a Dataset<'a>, models: &[(&str, &'a Csr<'a, f32>)]) -> Result<Audit<'a>> {
        // Checks shapes and names.
        Evaluation::new(test.labels(), models)?;
        Ok(Audit {
            request: AuditRequest::default(),
            test,
            models: models.iter().map(|(name, scores)| ((*name).to_owned(), *scores)).collect(),
            train: None,
            propensities: Vec::new(),
            controlled: None,
            later: None,
            train_predictions: Vec::new(),
            truth: None,
            baseline: None,
            judged: None,
            groups: None,
            weights: None,
            naming: Naming::default(),
            ignored: None,
            source: None,
            progress: &Silent,
        })
    }

    /// What to look at, and how; the defaults of [`AuditRequest`] unless given.
    #[must_use]
    pub fn request(mut self, request: AuditRequest) -> Self {
        self.request = request;
        self
    }

    /// The training data: what curves, groups and evidence are compared with.
    #[must_use]
    pub fn train(mut self, train: &'a Dataset<'a>) -> Self {
        self.train = Some(train);
        self
    }

    /// Adds propensities that are given by label, beside the models of the request.
    #[must_use]
    pub fn propensity(mut self, propensities: Propensities) -> Self {
        self.propensities.push(propensities);
        self
    }

    /// A set whose pairs were shown at the rate of the request; propensities are estimated from it.
    #[must_use]
    pub fn controlled(mut self, controlled: &'a Dataset<'a>) -> Self {
        self.controlled = Some(controlled);
        self
    }

    /// A later snapshot of the training rows, in the same order; propensities are estimated from it.
    #[must_use]
    pub fn later(mut self, later: &'a Dataset<'a>) -> Self {
        self.later = Some(later);
        self
    }

    /// A model's out-of-fold predictions for the training rows: with a later snapshot (or a controlled set) of the same rows, scores
    /// are estimated with row-dependent propensities.
    #[must_use]
    pub fn train_predictions(mut self, model: impl Into<String>, scores: &'a Csr<'a, f32>) -> Self {
        self.train_predictions.push((model.into(), scores));
        self
    }

    /// The test rows with complete labels: shown beside the estimates.
    pub fn truth(mut self, truth: &'a Dataset<'a>) -> Result<Self> {
        let shape = |data: &Dataset<'_>| (data.labels().rows(), data.labels().cols());
        if shape(self.test) != shape(truth) {
            let words = |(rows, labels): (usize, usize)| format!("{rows} rows and {labels} labels");
            return Err(Error::value("the complete labels are not those of the test rows")
                .expected(words(shape(self.test)))
                .found(words(shape(truth)))
                .hint("row i of one must be row i of the other"));
        }
        self.truth = Some(truth);
        Ok(self)
    }

    /// An earlier audit of the same test rows: its models are compared with these, row by row.
    #[must_use]
    pub fn baseline(mut self, baseline: &'a Baseline) -> Self {
        self.baseline = Some(baseline);
        self
    }

    /// Judged pairs of the models' lists on the test rows.
    #[must_use]
    pub fn judged(mut self, judged: Judged) -> Self {
        self.judged = Some(judged);
        self
    }

    /// Groups of labels that no [`GroupsSpec`](crate::request::GroupsSpec) describes.
    pub fn groups(mut self, groups: Groups) -> Result<Self> {
        same("the groups", "labels", self.test.labels().cols(), groups.labels())?;
        self.groups = Some(groups);
        Ok(self)
    }

    /// Gains of labels that no [`WeightsSpec`](crate::request::WeightsSpec) describes, under a name.
    pub fn weights(mut self, name: impl Into<String>, weights: Vec<f64>) -> Result<Self> {
        same("the weights", "labels", self.test.labels().cols(), weights.len())?;
        weights::check_values(&weights)?;
        self.weights = Some((name.into(), weights));
        Ok(self)
    }

    /// What labels and test rows are called.
    pub fn names(mut self, naming: Naming<'a>) -> Result<Self> {
        naming.check(self.test)?;
        self.naming = naming;
        Ok(self)
    }

    /// Pairs that may not be predicted, where no file has them.
    pub fn ignore(mut self, ignored: impl Into<Arc<IgnoredPairs>>) -> Result<Self> {
        let ignored = ignored.into();
        ignored.check(self.test.rows(), self.test.labels().cols())?;
        self.ignored = Some(ignored);
        Ok(self)
    }

    /// The command and the files, for those who want to repeat the run.
    #[must_use]
    pub fn source(mut self, command: impl Into<String>, files: Vec<InputFile>) -> Self {
        self.source = Some((command.into(), files));
        self
    }

    /// Where progress is reported.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }
}
