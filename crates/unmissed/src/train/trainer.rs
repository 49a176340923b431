//! [`Trainer`]: what to train, and how.

use super::adam::Adam;
use super::batches::LARGEST_BATCH;
use super::fit::features;
use super::newton::Newton;
use crate::data::{Dataset, Features, LabelStats, Labels};
use crate::error::{Error, Result, digits};
use crate::losses::{self, Loss, Nature};
use crate::predict::Normalize;
use crate::progress::{Progress, Silent};
use crate::propensity::Propensities;
use crate::propensity::checks::{EffectiveSampleSize, effective_sample_size};

/// The most epochs: what held-out rows say after each is kept.
const MOST_EPOCHS: usize = 100_000;

/// How a block of labels is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Solver {
    /// Small steps on batches of rows: for any loss.
    Adam(Adam),
    /// To the optimum: for convex losses.
    Newton(Newton),
    /// Adam, and the propensities of labels are learned along: for `plugin-logistic`, whose likelihood has both.
    Joint(Adam),
}

impl Solver {
    /// The one to take unless there is a reason: to the optimum where there is one.
    pub fn usual(nature: Nature) -> Solver {
        if nature.convex { Solver::Newton(Newton::default()) } else { Solver::Adam(Adam::default()) }
    }

    /// The decay to take unless there is a reason. For Newton's method 3e-5 times the mean squared norm of rows, so that the size
    /// of features does not matter; labels whose observed pairs weigh more get more of it ([`Loss::weight`]). For Adam 0: an early
    /// end does for it what decay does for an optimum.
    pub fn usual_decay(self, squared_norm: f64) -> f64 {
        match self {
            Solver::Newton(_) if squared_norm > 0.0 => DECAY * squared_norm,
            Solver::Newton(_) => DECAY,
            Solver::Adam(_) | Solver::Joint(_) => 0.0,
        }
    }

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Solver::Adam(_) => "adam",
            Solver::Newton(_) => "newton",
            Solver::Joint(_) => "joint",
        }
    }

    /// The settings of Adam, when it is one.
    pub fn adam(self) -> Option<Adam> {
        match self {
            Solver::Adam(adam) | Solver::Joint(adam) => Some(adam),
            Solver::Newton(_) => None,
        }
    }

    /// The same with other settings of Adam; Newton's method has none.
    pub(super) fn with_adam(self, adam: Adam) -> Solver {
        match self {
            Solver::Adam(_) => Solver::Adam(adam),
            Solver::Joint(_) => Solver::Joint(adam),
            Solver::Newton(_) => self,
        }
    }
}

/// What Newton's method takes unless told: see `docs/training.md` for what it was measured on.
const DECAY: f64 = 3e-5;

/// The loss whose likelihood has the propensities in it.
pub(super) const PLUGIN: &str = "plugin-logistic";

/// Training in the making. See the folder's page.
#[derive(Clone, Copy)]
pub struct Trainer<'a> {
    pub(super) loss: &'static dyn Loss,
    pub(super) solver: Solver,
    pub(super) decay: Option<f64>,
    pub(super) clip: Option<f64>,
    pub(super) weights: Option<&'a [f64]>,
    pub(super) propensities: Option<&'a Propensities>,
    pub(super) normalize: Option<Normalize>,
    pub(super) memory: Option<u64>,
    pub(super) seed: u64,
    pub(super) progress: &'a dyn Progress,
}

impl<'a> Trainer<'a> {
    /// Training by the loss of that name, with the usual solver and decay.
    pub fn new(loss: &str) -> Result<Trainer<'a>> {
        let loss = losses::find(loss)?;
        let solver = Solver::usual(loss.nature());
        Ok(Trainer {
            loss,
            solver,
            decay: None,
            clip: None,
            weights: None,
            propensities: None,
            normalize: None,
            memory: None,
            seed: 0,
            progress: &Silent,
        })
    }

    /// How blocks are trained.
    pub fn solver(mut self, solver: Solver) -> Result<Self> {
        let positive = |number: f64| number.is_finite() && number > 0.0;
        let wrong = match solver {
            Solver::Adam(Adam { rate, .. }) | Solver::Joint(Adam { rate, .. }) if !positive(rate) => {
                Some(("rate", "a number above 0".to_owned(), digits(rate)))
            }
            Solver::Adam(Adam { batch, .. }) | Solver::Joint(Adam { batch, .. }) if !(1..=LARGEST_BATCH).contains(&batch) => {
                Some(("batch", format!("1 to {LARGEST_BATCH} rows"), batch.to_string()))
            }
            Solver::Adam(Adam { epochs, .. }) | Solver::Joint(Adam { epochs, .. }) if !(1..=MOST_EPOCHS).contains(&epochs) => {
                Some(("number of epochs", format!("1 to {MOST_EPOCHS}"), epochs.to_string()))
            }
            Solver::Newton(newton) if !positive(newton.tolerance) => {
                Some(("tolerance", "a number above 0".to_owned(), digits(newton.tolerance)))
            }
            _ => None,
        };
        if let Some((what, expected, found)) = wrong {
            return Err(Error::value(format!("the solver's {what} is out of range")).expected(expected).found(found));
        }
        self.solver = solver;
        Ok(self)
    }

    /// How strongly weights are drawn to zero; unless given, as [`Solver::usual_decay`] says.
    pub fn decay(mut self, decay: f64) -> Result<Self> {
        if !(decay.is_finite() && decay >= 0.0) {
            return Err(Error::value("the decay is out of range").expected("a number from 0 on").found(digits(decay)));
        }
        self.decay = Some(decay);
        Ok(self)
    }

    /// Inverse propensities above `most` count as `most`: less variance, some bias.
    pub fn clip(mut self, most: Option<f64>) -> Result<Self> {
        if let Some(most) = most
            && !(most.is_finite() && most >= 1.0)
        {
            return Err(Error::value("the clip is out of range").expected("a number from 1 on").found(digits(most)));
        }
        self.clip = most;
        Ok(self)
    }

    /// A factor of the loss for each label.
    pub fn weights(mut self, weights: Option<&'a [f64]>) -> Result<Self> {
        let broken = |weights: &[f64]| weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0));
        if let Some((weights, label)) = weights.and_then(|weights| Some((weights, broken(weights)?))) {
            return Err(Error::value(format!("the weight of label {label} is out of range"))
                .expected("a finite number of at least 0")
                .found(digits(weights[label])));
        }
        self.weights = weights;
        Ok(self)
    }

    /// The most bytes that blocks in work may take, on top of the data.
    pub fn memory(mut self, bytes: Option<u64>) -> Self {
        self.memory = bytes;
        self
    }

    /// The propensities of labels; without them nothing is taken to be missing.
    pub fn propensities(mut self, propensities: Option<&'a Propensities>) -> Self {
        self.propensities = propensities;
        self
    }

    /// How rows are scaled; unless given, as [`Normalize::usual`] says.
    pub fn normalize(mut self, normalize: Normalize) -> Self {
        self.normalize = Some(normalize);
        self
    }

    /// The same with everything decided that follows from the data unless it is given: scaling and decay.
    pub(super) fn settled(&self, data: &Dataset<'_>) -> Result<Settled<'a>> {
        let features = features(data)?;
        let normalize = self.normalize.unwrap_or_else(|| Normalize::usual(features));
        let decay = match self.decay {
            Some(decay) => decay,
            None => {
                let norm = if normalize == Normalize::L2 { 1.0 } else { squared_norm(features) };
                self.solver.usual_decay(norm)
            }
        };
        Ok(Settled { trainer: Trainer { normalize: Some(normalize), decay: Some(decay), ..*self }, normalize, decay })
    }

    /// The decay that training on these data takes: the one that is given, or as [`Solver::usual_decay`] says.
    pub fn decay_on(&self, data: &Dataset<'_>) -> Result<f64> {
        Ok(self.settled(data)?.decay)
    }

    /// The seed of whatever is random.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Who watches.
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// The loss.
    pub fn loss(&self) -> &'static dyn Loss {
        self.loss
    }

    /// The solver.
    pub fn chosen_solver(&self) -> Solver {
        self.solver
    }

    /// How many observed positives the training rests on, as far as their weights go; `None` when all count the same.
    pub fn effective_sample_size(&self, labels: &Labels<'_>) -> Result<Option<EffectiveSampleSize>> {
        match self.propensities {
            Some(propensities) if self.loss.nature().corrects => {
                let stats = LabelStats::of(labels);
                let used = Propensities::new(propensities.origin().clone(), self.possible(&stats.dense_counts()?, labels.rows()))?;
                effective_sample_size(&used, &stats).map(Some)
            }
            _ => Ok(None),
        }
    }

    pub(super) fn check(&self, labels: usize, rows: usize) -> Result<()> {
        if rows == 0 || labels == 0 {
            return Err(Error::value("there is nothing to train on").expected("at least one row and one label"));
        }
        for (what, length) in
            [("propensities", self.propensities.map(Propensities::len)), ("weights", self.weights.map(<[f64]>::len))]
        {
            if length.is_some_and(|length| length != labels) {
                return Err(Error::value(format!("the {what} are not those of the data's labels"))
                    .expected(format!("{labels}"))
                    .found(format!("{}", length.unwrap_or(0))));
            }
        }
        let nature = self.loss.nature();
        if matches!(self.solver, Solver::Joint(_)) && self.loss.name() != PLUGIN {
            return Err(Error::value("propensities can be learned along with one loss only")
                .expected(format!("'{PLUGIN}'"))
                .found(format!("'{}'", self.loss.name())));
        }
        if matches!(self.solver, Solver::Newton(_)) {
            if !nature.newton {
                return Err(Error::value(format!("Newton's method cannot train by '{}', which has no optimum", self.loss.name()))
                    .hint("use Adam"));
            }
            if self.decay == Some(0.0) {
                return Err(Error::value("Newton's method needs decay: without it there may be no optimum")
                    .expected("a decay above 0")
                    .found("0")
                    .hint("Adam does without, with an early end"));
            }
        }
        Ok(())
    }

    /// The propensities that are asked for: clipped, or 1 when there are none.
    pub(super) fn clipped(&self, labels: usize) -> Vec<f64> {
        let least = self.clip.map_or(0.0, |most| 1.0 / most);
        match self.propensities {
            Some(propensities) => propensities.values().iter().map(|p| p.max(least)).collect(),
            None => vec![1.0; labels],
        }
    }

    /// The propensities that training uses on labels that occur so often in so many rows. Below its frequency the propensity of a
    /// label fits no truth, and a loss without a lower bound has no optimum: there it is raised to the frequency.
    pub(super) fn possible(&self, counts: &[u64], rows: usize) -> Vec<f64> {
        let mut propensities = self.clipped(counts.len());
        if !self.loss.nature().bounded {
            let least = counts.iter().map(|count| *count as f64 / rows.max(1) as f64);
            propensities.iter_mut().zip(least).for_each(|(p, least)| *p = p.max(least));
        }
        propensities
    }

    /// How many labels occur more often than their propensity allows, so that training raises it.
    pub fn raised(&self, labels: &Labels<'_>) -> Result<usize> {
        let used = self.possible(&LabelStats::of(labels).dense_counts()?, labels.rows());
        Ok(used.iter().zip(self.clipped(labels.cols())).filter(|(used, asked)| **used > *asked).count())
    }
}

/// A trainer for certain data, with nothing left open.
#[derive(Clone, Copy)]
pub(super) struct Settled<'a> {
    pub(super) trainer: Trainer<'a>,
    pub(super) normalize: Normalize,
    pub(super) decay: f64,
}

/// The mean over rows of the squared norm.
fn squared_norm(features: &Features<'_>) -> f64 {
    let sum: f64 = match features {
        Features::Sparse(matrix) => matrix.values().iter().map(|value| f64::from(*value).powi(2)).sum(),
        Features::Dense(matrix) => (0..matrix.rows()).flat_map(|row| matrix.row(row)).map(|value| f64::from(*value).powi(2)).sum(),
    };
    sum / features.rows().max(1) as f64
}
