//! [`Audit`]: what there is, put together.

use super::provenance::{InputFile, Provenance};
use crate::data::{Csr, Dataset};
use crate::error::Result;
use crate::evaluate::{Evaluation, Groups, Rate};
use crate::progress::{Progress, Silent};
use crate::propensity::Propensities;
use crate::propensity::models::PropensitySpec;

/// An audit in the making. See the module's page.
#[derive(Clone)]
pub struct Audit<'a> {
    pub(super) name: String,
    pub(super) test: &'a Dataset<'a>,
    pub(super) models: Vec<(String, &'a Csr<'a, f32>)>,
    pub(super) train: Option<&'a Dataset<'a>>,
    pub(super) given: Option<Vec<PropensitySpec>>,
    pub(super) known: Vec<Propensities>,
    pub(super) controlled: Option<(&'a Dataset<'a>, crate::data::Rate)>,
    pub(super) later: Option<&'a Dataset<'a>>,
    pub(super) train_predictions: Vec<(String, &'a Csr<'a, f32>)>,
    pub(super) truth: Option<&'a Dataset<'a>>,
    pub(super) rate: Option<Rate>,
    pub(super) groups: Option<Groups>,
    pub(super) weights: Option<(String, Vec<f64>)>,
    pub(super) ks: Vec<usize>,
    pub(super) level: f64,
    pub(super) provenance: Provenance,
    pub(super) progress: &'a dyn Progress,
}

impl<'a> Audit<'a> {
    /// Models by name, each with scores for the rows of `test` in the same order.
    pub fn new(test: &'a Dataset<'a>, models: &[(&str, &'a Csr<'a, f32>)]) -> Result<Audit<'a>> {
        // Checks shapes and names.
        Evaluation::new(test.labels(), models)?;
        Ok(Audit {
            name: String::new(),
            test,
            models: models.iter().map(|(name, scores)| ((*name).to_owned(), *scores)).collect(),
            train: None,
            given: None,
            known: Vec::new(),
            controlled: None,
            later: None,
            train_predictions: Vec::new(),
            truth: None,
            rate: None,
            groups: None,
            weights: None,
            ks: vec![1, 3, 5],
            level: 0.95,
            provenance: Provenance {
                bootstrap: 200,
                version: env!("CARGO_PKG_VERSION").into(),
                target: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
                ..Provenance::default()
            },
            progress: &Silent,
        })
    }

    /// What the data are called; a known name decides about the constants of models that have several.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The training data: what curves, groups and evidence are compared with.
    #[must_use]
    pub fn train(mut self, train: &'a Dataset<'a>) -> Self {
        self.train = Some(train);
        self
    }

    /// Looks at these propensity models instead of the usual ones; estimates from evidence are added all the same.
    #[must_use]
    pub fn propensities(mut self, models: Vec<PropensitySpec>) -> Self {
        self.given = Some(models);
        self
    }

    /// Adds propensities that are known by label.
    #[must_use]
    pub fn known(mut self, propensities: Propensities) -> Self {
        self.known.push(propensities);
        self
    }

    /// A set whose pairs were shown at known rates; propensities are estimated from it.
    #[must_use]
    pub fn controlled(mut self, controlled: &'a Dataset<'a>, rates: crate::data::Rate) -> Self {
        self.controlled = Some((controlled, rates));
        self
    }

    /// A later snapshot of the training rows, in the same order.
    #[must_use]
    pub fn later(mut self, later: &'a Dataset<'a>) -> Self {
        self.later = Some(later);
        self
    }

    /// A model's out-of-fold predictions for the training rows: with a later snapshot (or a controlled set) of the same rows, scores
    /// are estimated with propensities that depend on the row.
    #[must_use]
    pub fn train_predictions(mut self, model: impl Into<String>, scores: &'a Csr<'a, f32>) -> Self {
        self.train_predictions.push((model.into(), scores));
        self
    }

    /// The test rows with complete labels: shown beside the estimates.
    #[must_use]
    pub fn truth(mut self, truth: &'a Dataset<'a>) -> Self {
        self.truth = Some(truth);
        self
    }

    /// The test labels themselves are a controlled set, shown at this rate.
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }

    /// Groups of labels; head, torso and tail by share of the training positives unless given.
    #[must_use]
    pub fn groups(mut self, groups: Groups) -> Self {
        self.groups = Some(groups);
        self
    }

    /// Gains of labels, under a name.
    #[must_use]
    pub fn weights(mut self, name: impl Into<String>, weights: Vec<f64>) -> Self {
        self.weights = Some((name.into(), weights));
        self
    }

    /// Lengths of the top list; 1, 3 and 5 unless given.
    #[must_use]
    pub fn ks(mut self, ks: &[usize]) -> Self {
        self.ks = ks.to_vec();
        self.ks.sort_unstable();
        self.ks.dedup();
        self
    }

    /// Level of intervals; 0.95 unless given.
    #[must_use]
    pub fn level(mut self, level: f64) -> Self {
        self.level = level;
        self
    }

    /// Seed of everything random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.provenance.seed = seed;
        self
    }

    /// Bootstrap replicates for means over labels; 200 unless given.
    #[must_use]
    pub fn bootstrap(mut self, replicates: usize) -> Self {
        self.provenance.bootstrap = replicates;
        self
    }

    /// The command and the files, for those who want to repeat the run.
    #[must_use]
    pub fn from_files(mut self, command: impl Into<String>, files: Vec<InputFile>) -> Self {
        (self.provenance.command, self.provenance.files) = (Some(command.into()), files);
        self
    }

    /// Who watches.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }
}
