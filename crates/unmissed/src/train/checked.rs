//! [`CheckedTraining`]: settings that were checked against the data, with nothing left open.

use super::fit::WIDTH;
use super::lines::check_room;
use super::plan::{Plan, check_decay, to_optimum};
use super::sure_rows::LEVEL;
use crate::data::{Dataset, Features, LabelStats};
use crate::error::{Error, Result, digits};
use crate::losses::Loss;
use crate::predict::Normalize;
use crate::predict::file::{Calibration, Setting};
use crate::progress::Progress;
use crate::propensity::Propensities;
use crate::propensity::checks::{EffectiveSampleSize, effective_sample_size};
use crate::propensity::rows::PairPropensities;
use crate::request::Solver;
use std::borrow::Cow;
use std::sync::Arc;

/// What solvers that go to the optimum take unless told: see `docs/training.md` for what it was measured on.
const DECAY: f64 = 3e-5;

/// The same for squared hinges, which weigh rows beyond the margin with nothing.
const HINGE_DECAY: f64 = 1e-4;

/// Training on certain data with one setting, checked: only this trains. [`Trainer::check`](super::Trainer::check) makes it.
#[derive(Clone)]
pub struct CheckedTraining<'a> {
    pub(super) data: &'a Dataset<'a>,
    pub(super) features: &'a Features<'a>,
    pub(super) loss: &'static dyn Loss,
    pub(super) solver: Solver,
    pub(super) normalize: Normalize,
    pub(super) decay: f64,
    /// Whether the decay was asked for; otherwise it follows from the data and the propensities.
    decay_given: bool,
    pub(super) clip: Option<f64>,
    /// From how many starts joint learning begins.
    pub(super) starts: usize,
    /// What propensities are at least, by label, as far as the data say.
    least: Option<Arc<[f64]>>,
    pub(super) propensities: Option<Cow<'a, Propensities>>,
    /// Whether the propensities that were given were mostly noise, which was taken out.
    pub(super) shrunken: bool,
    /// Propensities of pairs where they depend on the row; those by label are then their means.
    pub(super) pairs: Option<Arc<PairPropensities>>,
    pub(super) weights: Option<Cow<'a, [f64]>>,
    /// What makes log-odds of the scores that the loss leaves.
    pub(super) calibration: Option<Arc<Calibration>>,
    pub(super) memory: Option<u64>,
    pub(super) seed: u64,
    pub(super) progress: &'a dyn Progress,
}

/// What training is given besides a plan.
pub(super) struct Inputs<'a> {
    pub(super) data: &'a Dataset<'a>,
    pub(super) propensities: Option<Cow<'a, Propensities>>,
    pub(super) shrunken: bool,
    pub(super) pairs: Option<Arc<PairPropensities>>,
    pub(super) weights: Option<Cow<'a, [f64]>>,
    pub(super) clip: Option<f64>,
    pub(super) memory: Option<u64>,
    pub(super) seed: u64,
    pub(super) progress: &'a dyn Progress,
}

impl<'a> CheckedTraining<'a> {
    pub(super) fn new(plan: &Plan, inputs: Inputs<'a>) -> Result<CheckedTraining<'a>> {
        let Inputs { data, propensities, shrunken, pairs, weights, clip, memory, seed, progress } = inputs;
        let features = features(data)?;
        let labels = data.labels().cols();
        if data.rows() == 0 || labels == 0 {
            return Err(Error::value("there is nothing to train on").expected("at least one row and one label"));
        }
        if u32::try_from(features.cols()).is_err() || u32::try_from(labels).is_err() {
            return Err(Error::value("there are too many features or labels: ids have 32 bits"));
        }
        check_room(features.cols(), labels.min(WIDTH))?;
        let lengths = [("propensities", propensities.as_ref().map(|p| p.len())), ("weights", weights.as_ref().map(|w| w.len()))];
        for (what, length) in lengths {
            if let Some(length) = length.filter(|length| *length != labels) {
                return Err(Error::value(format!("the {what} do not match the labels of the data"))
                    .expected(labels.to_string())
                    .found(length.to_string()));
            }
        }
        if let Some((label, weight)) =
            weights.iter().flat_map(|weights| weights.iter()).enumerate().find(|(_, w)| !(w.is_finite() && **w >= 0.0))
        {
            return Err(Error::value(format!("the weight of label {label} is out of range"))
                .expected("a finite number of at least 0")
                .found(digits(*weight)));
        }
        if let Some(pairs) = &pairs {
            check_pairs(pairs, data, plan.solver)?;
        }
        let checked = CheckedTraining {
            data,
            features,
            loss: plan.loss,
            solver: plan.solver,
            normalize: plan.normalize.unwrap_or_else(|| Normalize::usual(features)),
            decay: plan.decay.unwrap_or(0.0),
            decay_given: plan.decay.is_some(),
            clip,
            starts: plan.starts,
            least: None,
            propensities,
            shrunken,
            pairs,
            weights,
            calibration: None,
            memory,
            seed,
            progress,
        };
        checked.with_usual_decay()
    }

    /// The same by a loss that corrects nothing, with all labels alike and the default decay.
    pub(super) fn uncorrected(&self, loss: &'static dyn Loss, solver: Solver) -> Result<Self> {
        let plain = CheckedTraining {
            loss,
            solver,
            decay_given: false,
            clip: None,
            least: None,
            propensities: None,
            shrunken: false,
            pairs: None,
            weights: None,
            calibration: None,
            ..self.clone()
        };
        plain.with_usual_decay()
    }

    /// The same with the decay that follows from the data, unless it was given. For solvers that go to the optimum 3e-5 (1e-4 for
    /// squared hinges) times the mean squared norm of rows, so that the size of features does not matter; labels whose observed pairs
    /// weigh more get more of it ([`Loss::weight`]). For Adam 0: stopping early does for it what the penalty does for an optimum.
    fn with_usual_decay(mut self) -> Result<Self> {
        if self.decay_given {
            return Ok(self);
        }
        self.decay = match self.solver {
            Solver::Adam(_) | Solver::Joint(_) => 0.0,
            Solver::Newton(_) | Solver::Dual(_) => {
                let decay = if self.loss.squared_hinge(1.0).is_some() { HINGE_DECAY } else { DECAY };
                decay * self.squared_norm()
            }
        };
        Ok(self)
    }

    /// The mean squared norm of rows, to which decays are relative; 1 when all rows are zero.
    pub(super) fn squared_norm(&self) -> f64 {
        let norm = if self.normalize == Normalize::L2 { 1.0 } else { squared_norm(self.features) };
        if norm > 0.0 { norm } else { 1.0 }
    }

    /// The same with other propensities for the same labels.
    pub(super) fn with_propensities(&self, propensities: Propensities) -> Result<Self> {
        CheckedTraining { propensities: Some(Cow::Owned(propensities)), ..self.clone() }.with_usual_decay()
    }

    /// The same with propensities raised to what they are at least.
    pub(super) fn with_least(&self, least: &[f64]) -> Self {
        CheckedTraining { least: Some(least.into()), ..self.clone() }
    }

    /// What the propensities of labels are at least: the lower limits of how often labels are observed on the rows on which they are
    /// surest. `None` when training makes no use of propensities by label.
    pub(super) fn least_propensities(&self) -> Result<Option<Vec<f64>>> {
        if self.propensities.is_none() || self.pairs.is_some() || !self.loss.nature().corrects {
            return Ok(None);
        }
        let asked = self.clipped();
        Ok(Some(self.sure_rows(|label, most| asked[label] < most)?.lower_limits(LEVEL)))
    }

    /// The same with another setting and, for Adam, number of epochs.
    pub(super) fn with_setting(&self, setting: &Setting, epochs: Option<usize>) -> Result<Self> {
        let mut solver = setting.solver(self.solver);
        if let (Some(mut adam), Some(epochs)) = (solver.adam(), epochs) {
            adam.epochs = epochs;
            solver = solver.with_adam(adam);
        }
        solver.check()?;
        check_decay(setting.decay)?;
        Ok(CheckedTraining { solver, decay: setting.decay, decay_given: true, ..self.clone() })
    }

    /// The same by another loss, with the solver that goes to its optimum.
    pub(super) fn with_loss(&self, loss: &'static dyn Loss, decay: f64) -> Self {
        let solver = to_optimum(loss);
        CheckedTraining { loss, solver, decay, decay_given: true, ..self.clone() }
    }

    /// The same with solutions that are so many times further from the optimum.
    pub(super) fn with_looser_tolerance(mut self, factor: f64) -> Self {
        match &mut self.solver {
            Solver::Newton(newton) => newton.tolerance *= factor,
            Solver::Dual(dual) => dual.tolerance *= factor,
            Solver::Adam(_) | Solver::Joint(_) => {}
        }
        self
    }

    /// The same with other labels for the same rows, and without what belongs to the labels.
    pub(super) fn with_labels<'b>(&self, data: &'b Dataset<'b>) -> CheckedTraining<'b>
    where
        'a: 'b,
    {
        CheckedTraining { data, propensities: None, weights: None, ..self.clone() }
    }

    /// The same with another decay on some labels of the same rows, with their propensities.
    pub(super) fn with_sample<'b>(&self, data: &'b Dataset<'b>, propensities: &'b Propensities, decay: f64) -> CheckedTraining<'b>
    where
        'a: 'b,
    {
        let propensities = Some(Cow::Borrowed(propensities));
        CheckedTraining { data, propensities, least: None, weights: None, decay, decay_given: true, ..self.clone() }
    }

    /// The same with scores that are made log-odds.
    pub(super) fn with_calibration(&self, calibration: &Calibration) -> Self {
        CheckedTraining { calibration: Some(Arc::new(calibration.clone())), ..self.clone() }
    }

    /// The same, shown elsewhere.
    pub(super) fn with_progress<'b>(&self, progress: &'b dyn Progress) -> CheckedTraining<'b>
    where
        'a: 'b,
    {
        CheckedTraining { progress, ..self.clone() }
    }

    /// Whether the model allows for missing labels: its loss does, or what is done with its scores.
    pub(super) fn corrects(&self) -> bool {
        self.loss.nature().corrects || self.calibration.as_ref().is_some_and(|calibration| calibration.divides)
    }

    /// The loss that is minimised.
    pub fn loss(&self) -> &'static dyn Loss {
        self.loss
    }

    /// The solver with its settings.
    pub fn solver(&self) -> Solver {
        self.solver
    }

    /// Strength of the L2 penalty.
    pub fn decay(&self) -> f64 {
        self.decay
    }

    /// How rows are scaled.
    pub fn normalize(&self) -> Normalize {
        self.normalize
    }

    pub(super) fn labels(&self) -> usize {
        self.data.labels().cols()
    }

    /// How many observed positives the training rests on, as far as their weights go; `None` when all count the same.
    pub fn effective_sample_size(&self) -> Result<Option<EffectiveSampleSize>> {
        match &self.propensities {
            Some(propensities) if self.corrects() => {
                let stats = LabelStats::of(self.data.labels());
                let used =
                    Propensities::new(propensities.origin().clone(), self.possible(&stats.dense_counts()?, self.data.rows()))?;
                effective_sample_size(&used, &stats).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The propensities that are asked for: clipped, or 1 when there are none.
    pub(super) fn clipped(&self) -> Vec<f64> {
        let least = self.clip.map_or(0.0, |most| 1.0 / most);
        match &self.propensities {
            Some(propensities) => propensities.values().iter().map(|p| p.max(least)).collect(),
            None => vec![1.0; self.labels()],
        }
    }

    /// The propensities that training uses on labels that occur so often in so many rows. Below its frequency, and below how often it
    /// is observed where it is surest, the propensity of a label fits no truth, and a loss without a lower bound has no optimum:
    /// there it is raised.
    pub(super) fn possible(&self, counts: &[u64], rows: usize) -> Vec<f64> {
        let mut propensities = self.clipped();
        let mut raise = |label: usize, least: f64| propensities[label] = propensities[label].max(least.min(1.0));
        if self.least.is_some() || !self.loss.nature().bounded {
            counts.iter().enumerate().for_each(|(label, count)| raise(label, *count as f64 / rows.max(1) as f64));
        }
        self.least.iter().flat_map(|least| least.iter()).enumerate().for_each(|(label, least)| raise(label, *least));
        propensities
    }

    /// The propensities that training uses, those that were raised marked; `None` when it uses none.
    pub(super) fn used(&self) -> Result<Option<Propensities>> {
        let Some(propensities) = self.propensities.as_deref().filter(|_| self.corrects()) else { return Ok(None) };
        let counts = LabelStats::of(self.data.labels()).dense_counts()?;
        propensities.clone().raised(&self.possible(&counts, self.data.rows())).map(Some)
    }

    /// How many labels occur more often than their propensity allows, so that training raises it.
    pub fn raised(&self) -> Result<usize> {
        let used = self.possible(&LabelStats::of(self.data.labels()).dense_counts()?, self.data.rows());
        Ok(used.iter().zip(self.clipped()).filter(|(used, asked)| **used > *asked).count())
    }
}

/// Row-dependent propensities must be those of the data, and there must be a solver for them.
fn check_pairs(pairs: &PairPropensities, data: &Dataset<'_>, solver: Solver) -> Result<()> {
    if !matches!(solver, Solver::Newton(_)) {
        return Err(Error::value("row-dependent propensities are for Newton's method").found(solver.name()));
    }
    if (pairs.rows(), pairs.labels()) != (data.rows(), data.labels().cols()) {
        return Err(Error::value("the row-dependent propensities are not those of the training data")
            .expected(format!("{} rows and {} labels", data.rows(), data.labels().cols()))
            .found(format!("{} and {}", pairs.rows(), pairs.labels())));
    }
    Ok(())
}

/// The features of data that have some.
pub(super) fn features<'a>(data: &'a Dataset<'_>) -> Result<&'a Features<'a>> {
    data.features().ok_or_else(|| {
        Error::value("the data have no features to train on").hint("training needs rows of 'labels feature:value ...'")
    })
}

/// The mean over rows of the squared norm.
fn squared_norm(features: &Features<'_>) -> f64 {
    let sum: f64 = match features {
        Features::Sparse(matrix) => matrix.values().iter().map(|value| f64::from(*value).powi(2)).sum(),
        Features::Dense(matrix) => (0..matrix.rows()).flat_map(|row| matrix.row(row)).map(|value| f64::from(*value).powi(2)).sum(),
    };
    sum / features.rows().max(1) as f64
}
