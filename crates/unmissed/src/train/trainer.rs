//! [`Trainer`]: a request, and its inputs that are in memory.

use super::checked::{CheckedTraining, Inputs};
use super::evidence::{ControlledRows, LaterLabels};
use super::noisy::without_noise;
use super::plan::Plan;
use crate::data::{Dataset, KnownPair, LabelStats, Labels, read_full_column};
use crate::error::{Error, Result};
use crate::metrics::weights as schemes;
use crate::predict::file::LaterOutcome;
use crate::progress::{Progress, Silent};
use crate::propensity::models::PropensitySpec;
use crate::propensity::rows::PairPropensities;
use crate::propensity::{Propensities, Propensity};
use crate::request::{TrainPropensity, TrainRequest, WeightsSpec};
use std::borrow::Cow;
use std::sync::Arc;

/// A builder of trainings: a request, and what it needs that lies in memory. See the folder's page.
#[derive(Clone)]
pub struct Trainer<'a> {
    pub(super) request: TrainRequest,
    pub(super) propensities: Option<&'a Propensities>,
    pub(super) weights: Option<&'a [f64]>,
    pub(super) validation: Option<&'a Dataset<'a>>,
    pub(super) validation_shown: Option<&'a Labels<'a>>,
    pub(super) pairs: Option<Arc<PairPropensities>>,
    pub(super) controlled: Option<ControlledRows<'a>>,
    pub(super) later: Option<LaterLabels<'a>>,
    pub(super) later_outcome: Option<LaterOutcome>,
    /// What was asked for, where training goes on with another request.
    pub(super) asked: Option<Box<TrainRequest>>,
    pub(super) progress: &'a dyn Progress,
}

impl<'a> Trainer<'a> {
    /// Training as the request says.
    pub fn new(request: TrainRequest) -> Trainer<'a> {
        Trainer {
            request,
            propensities: None,
            weights: None,
            validation: None,
            validation_shown: None,
            pairs: None,
            controlled: None,
            later: None,
            later_outcome: None,
            asked: None,
            progress: &Silent,
        }
    }

    /// Training by the loss of that name, everything else by default.
    pub fn by_loss(name: &str) -> Trainer<'a> {
        Trainer::new(TrainRequest::by_loss(name))
    }

    /// The propensities of labels; if the request names a model, they are taken for its values.
    #[must_use]
    pub fn propensity(mut self, propensities: &'a Propensities) -> Self {
        self.propensities = Some(propensities);
        self.request.propensity.get_or_insert(TrainPropensity::Given);
        self
    }

    /// A factor of the loss for each label; if the request names a scheme, they are taken for its values.
    #[must_use]
    pub fn weights(mut self, weights: &'a [f64]) -> Self {
        self.weights = Some(weights);
        self.request.weights.get_or_insert(WeightsSpec::Given);
        self
    }

    /// Rows on which settings are decided; the request may say at which rate their labels were shown.
    #[must_use]
    pub fn validation(mut self, data: &'a Dataset<'a>) -> Self {
        self.validation = Some(data);
        self.request.validation.get_or_insert_default();
        self
    }

    /// The pairs of the validation set that were shown, when it is a controlled one and they are known.
    #[must_use]
    pub fn validation_shown(mut self, shown: &'a Labels<'a>) -> Self {
        self.validation_shown = Some(shown);
        self
    }

    /// A controlled set, at the rate that the request says, and the pairs that were shown, when they are known: two models are then
    /// trained, and put together where the controlled rows say that it is an improvement.
    #[must_use]
    pub fn controlled(mut self, data: &'a Dataset<'a>, shown: Option<&'a Labels<'a>>) -> Self {
        self.controlled = Some(ControlledRows { data, shown, known: None });
        self.request.controlled.get_or_insert_default();
        self
    }

    /// Rows that were not trained on, with pairs of theirs that are observed or judged
    /// ([`Judged::known_pairs`](crate::evaluate::judged::Judged::known_pairs)), as a controlled set.
    #[must_use]
    pub fn judged(mut self, data: &'a Dataset<'a>, known: &'a [KnownPair]) -> Self {
        self.controlled = Some(ControlledRows { data, shown: None, known: Some(known) });
        self.request.controlled.get_or_insert_default();
        self
    }

    /// Later labels of all training rows, in the same order, of which only those of some rows hold when `rows` says which.
    #[must_use]
    pub fn later(mut self, labels: &'a Labels<'a>, rows: Option<&'a [bool]>) -> Self {
        self.later = Some(LaterLabels { labels, rows });
        self.request.later.get_or_insert_default();
        self
    }

    /// Row-dependent propensities of the training rows, in place of those by label.
    #[must_use]
    pub fn row_propensity(mut self, propensities: PairPropensities) -> Self {
        self.pairs = Some(Arc::new(propensities));
        self.request.propensity.get_or_insert(TrainPropensity::Given);
        self
    }

    /// Where progress is shown.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// What is asked for.
    pub fn request(&self) -> &TrainRequest {
        &self.request
    }

    /// Checks the request against the data and decides everything that follows from them. The result trains with one setting; a
    /// search for settings and alternating learning are up to [`Trainer::train`].
    ///
    /// ```
    /// use unmissed::{data::{Dataset, Dense, Features, Labels}, request::TrainRequest, train::Trainer};
    /// let features = Dense::new(4, 1, vec![-2.0, -1.0, 1.0, 2.0])?;
    /// let labels = Labels::from_ids(2, [vec![0], vec![0], vec![1], vec![1]])?;
    /// let data = Dataset::new(Some(Features::Dense(features)), labels)?;
    /// let trainer = Trainer::new(TrainRequest { decay: vec![1e-3], ..TrainRequest::default() });
    /// let checked = trainer.check(&data)?;
    /// assert_eq!((checked.loss().name(), checked.decay()), ("logistic", 1e-3));
    /// let model = checked.fit()?.model;
    /// assert!(model.weight(0, 0) < 0.0 && model.weight(0, 1) > 0.0);
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn check<'b>(&self, data: &'b Dataset<'b>) -> Result<CheckedTraining<'b>>
    where
        'a: 'b,
    {
        self.checked(&Plan::new(&self.request)?, data)
    }

    pub(super) fn checked<'b>(&self, plan: &Plan, data: &'b Dataset<'b>) -> Result<CheckedTraining<'b>>
    where
        'a: 'b,
    {
        let request = &self.request;
        let missing = |what: &str| Error::value(format!("the request uses {what} that were not passed"));
        let pairs = match (&self.pairs, &request.propensity) {
            (Some(given), _) => Some(given.clone()),
            (None, Some(TrainPropensity::Model(spec))) if spec.is_row_dependent() => Some(Arc::new(of_rows(spec, data.labels())?)),
            _ => None,
        };
        let propensities = match (self.propensities, &request.propensity) {
            _ if pairs.is_some() => pairs.as_ref().map(|pairs| pairs.means()).transpose()?.map(Cow::Owned),
            (Some(given), _) => Some(Cow::Borrowed(given)),
            (None, None) => None,
            (None, Some(TrainPropensity::Given)) => return Err(missing("propensities")),
            (None, Some(TrainPropensity::Model(spec))) => Some(Cow::Owned(spec.propensities(&LabelStats::of(data.labels()))?)),
        };
        let counts = || LabelStats::of(data.labels()).dense_counts();
        let calm = match &propensities {
            Some(given) if request.raise && pairs.is_none() && given.len() == data.labels().cols() => {
                without_noise(given, &counts()?)?
            }
            _ => None,
        };
        let (shrunken, propensities) = (calm.is_some(), calm.map(Cow::Owned).or(propensities));
        let weights = match (self.weights, &request.weights) {
            (Some(given), _) => Some(Cow::Borrowed(given)),
            (None, None) => None,
            (None, Some(WeightsSpec::Given)) => return Err(missing("weights")),
            (None, Some(WeightsSpec::Scheme(spec))) => {
                let stats = LabelStats::of(data.labels());
                Some(Cow::Owned(schemes::from_spec(&spec.to_string(), &stats, propensities.as_deref())?))
            }
            (None, Some(WeightsSpec::File(path))) => {
                let weight = |cell: &str| cell.parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight >= 0.0);
                let labels = data.labels().cols() as u64;
                Some(Cow::Owned(read_full_column(path, "label", "weight", labels, "a finite number of at least 0", weight)?))
            }
        };
        let (clip, memory, seed, progress) = (request.clip, request.memory, request.seed, self.progress);
        CheckedTraining::new(plan, Inputs { data, propensities, shrunken, pairs, weights, clip, memory, seed, progress })
    }
}

/// The propensities of all pairs that a row-dependent model in a file gives.
fn of_rows(spec: &PropensitySpec, observed: &Labels<'_>) -> Result<PairPropensities> {
    match spec.read(None, observed.cols() as u64)? {
        Propensity::RowDependent(rows) => {
            Ok(rows.model().pair_propensities(observed, None, &[])?.with_origin(rows.origin().clone()))
        }
        Propensity::PerLabel(_) => Err(Error::value(format!("'{spec}' does not depend on the row"))),
    }
}
