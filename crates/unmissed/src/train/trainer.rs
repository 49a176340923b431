//! [`Trainer`]: what to train, and how.

use super::adam::{self, Adam};
use super::batches::{Batches, LARGEST_BATCH};
use super::held_out::HeldOut;
use super::newton::{self, Newton};
use super::problem::Problem;
use crate::data::{Csr, Dataset, Features, Labels};
use crate::error::{Error, Result};
use crate::losses::{self, Loss};
use crate::predict::{Block, Model, Normalize};
use crate::progress::{Progress, Silent};
use crate::propensity::Propensities;
use crate::rng::{Purpose, below, stream};
use rayon::prelude::*;

/// Labels of a block: one vector register of the widest processors holds a number of each.
pub(super) const WIDTH: usize = 16;

/// How a block of labels is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Solver {
    /// Small steps on batches of rows: for any loss.
    Adam(Adam),
    /// To the optimum: for convex losses.
    Newton(Newton),
}

/// Training in the making. See the folder's page.
#[derive(Clone, Copy)]
pub struct Trainer<'a> {
    loss: &'static dyn Loss,
    solver: Solver,
    decay: f64,
    clip: Option<f64>,
    weights: Option<&'a [f64]>,
    propensities: Option<&'a Propensities>,
    normalize: Normalize,
    seed: u64,
    progress: &'a dyn Progress,
}

impl<'a> Trainer<'a> {
    /// Training by the loss of that name.
    pub fn new(loss: &str) -> Result<Trainer<'a>> {
        Ok(Trainer {
            loss: losses::find(loss)?,
            solver: Solver::Newton(Newton::default()),
            decay: 1e-4,
            clip: None,
            weights: None,
            propensities: None,
            normalize: Normalize::L2,
            seed: 0,
            progress: &Silent,
        })
    }

    /// How blocks are trained.
    pub fn solver(mut self, solver: Solver) -> Result<Self> {
        let positive = |number: f64| number.is_finite() && number > 0.0;
        let sound = match solver {
            Solver::Adam(adam) => positive(adam.rate) && (1..=LARGEST_BATCH).contains(&adam.batch),
            Solver::Newton(newton) => positive(newton.tolerance),
        };
        if !sound {
            return Err(Error::value("the solver's settings make no sense")
                .expected(format!("a positive rate and tolerance, a batch of 1 to {LARGEST_BATCH} rows"))
                .found(format!("{solver:?}")));
        }
        self.solver = solver;
        Ok(self)
    }

    /// How strongly weights are drawn to zero.
    pub fn decay(mut self, decay: f64) -> Result<Self> {
        if !(decay.is_finite() && decay >= 0.0) {
            return Err(Error::value("the decay is out of range").expected("a number from 0 on").found(decay.to_string()));
        }
        self.decay = decay;
        Ok(self)
    }

    /// Inverse propensities above `most` count as `most`: less variance, some bias.
    pub fn clip(mut self, most: Option<f64>) -> Result<Self> {
        if let Some(most) = most
            && !(most.is_finite() && most >= 1.0)
        {
            return Err(Error::value("the clip is out of range").expected("a number from 1 on").found(most.to_string()));
        }
        self.clip = most;
        Ok(self)
    }

    /// A factor of the loss for each label.
    pub fn weights(mut self, weights: Option<&'a [f64]>) -> Self {
        self.weights = weights;
        self
    }

    /// The propensities of labels; without them nothing is taken to be missing.
    pub fn propensities(mut self, propensities: Option<&'a Propensities>) -> Self {
        self.propensities = propensities;
        self
    }

    /// How rows are scaled.
    pub fn normalize(mut self, normalize: Normalize) -> Self {
        self.normalize = normalize;
        self
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

    /// Trains a model.
    ///
    /// ```
    /// use unmissed::{data::{Dataset, Dense, Features, Labels}, train::Trainer};
    /// let features = Dense::new(4, 1, vec![-2.0, -1.0, 1.0, 2.0])?;
    /// let labels = Labels::from_ids(2, [vec![0], vec![0], vec![1], vec![1]])?;
    /// let data = Dataset::new(Some(Features::Dense(features)), labels)?;
    /// let model = Trainer::new("logistic")?.fit(&data)?;
    /// let weights = [model.weight(0, 0), model.weight(0, 1)];
    /// assert!(weights[0] < 0.0 && weights[1] > 0.0);
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn fit(&self, data: &Dataset<'_>) -> Result<Model> {
        let rows = (0..data.rows()).collect::<Vec<_>>();
        Ok(self.run(data, &rows, None)?.0)
    }

    /// Trains on some rows of the data and sees after each round how well the model does on others: the mean loss of a row and
    /// the best `depth` labels of each.
    pub fn fit_watching(
        &self,
        data: &Dataset<'_>,
        rows: &[usize],
        others: (&Dataset<'_>, &[usize]),
        depth: usize,
    ) -> Result<(Model, Vec<Checkpoint>)> {
        let (model, held_out) = self.run(data, rows, Some((others.0, others.1, depth)))?;
        let held_out = held_out.as_ref();
        let rounds = 0..held_out.map_or(0, HeldOut::rounds);
        let checkpoint = |round| {
            let held_out = held_out?;
            Some(held_out.predictions(round).map(|predictions| Checkpoint { loss: held_out.loss(round), predictions }))
        };
        Ok((model, rounds.filter_map(checkpoint).collect::<Result<_>>()?))
    }

    fn run(
        &self,
        data: &Dataset<'_>,
        rows: &[usize],
        others: Option<(&Dataset<'_>, &[usize], usize)>,
    ) -> Result<(Model, Option<HeldOut>)> {
        let (features, labels) = (features(data)?, data.labels());
        let many = labels.cols();
        self.check(many, rows.len())?;
        let propensities = self.clipped(many);
        let bias = starting_bias(labels, rows, &propensities, self.loss);
        let (rounds, batches) = match self.solver {
            Solver::Adam(adam) => {
                (adam.epochs, Batches::new(features, labels, &shuffled(rows, self.seed), adam.batch, self.normalize))
            }
            Solver::Newton(_) => (1, Batches::new(features, labels, rows, newton::ROWS, self.normalize)),
        };
        let held_out = match others {
            None => None,
            Some((data, rows, depth)) => {
                let batches = Batches::new(self::features(data)?, data.labels(), rows, newton::ROWS, self.normalize);
                Some(HeldOut::new(batches, self.loss, many, depth, rounds))
            }
        };
        let problem = Problem {
            batches: &batches,
            held_out: held_out.as_ref(),
            loss: self.loss,
            propensities: &propensities,
            weights: self.weights,
            bias: &bias,
            seed: self.seed,
            progress: self.progress,
        };
        self.progress.begin("training", (many * rounds) as u64);
        let blocks = self.train_blocks::<WIDTH>(&problem)?;
        Ok((Model::new(features.cols(), self.normalize, blocks)?, held_out))
    }

    fn train_blocks<const W: usize>(&self, problem: &Problem<'_>) -> Result<Vec<Block>> {
        let firsts: Vec<u32> = (0..problem.labels() as u32).step_by(W).collect();
        firsts
            .into_par_iter()
            .with_max_len(1)
            .map(|first| match &self.solver {
                Solver::Adam(adam) => adam::train::<W>(problem, first, adam, self.decay),
                Solver::Newton(newton) => newton::train::<W>(problem, first, newton, self.decay),
            })
            .collect()
    }

    fn check(&self, labels: usize, rows: usize) -> Result<()> {
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
        if matches!(self.solver, Solver::Newton(_)) {
            if !nature.convex {
                return Err(Error::value(format!("Newton's method cannot train by '{}', which is not convex", self.loss.name()))
                    .hint("use Adam"));
            }
            if self.decay == 0.0 {
                return Err(Error::value("Newton's method needs decay: without it there may be no optimum")
                    .expected("a decay above 0")
                    .found("0"));
            }
        }
        Ok(())
    }

    fn clipped(&self, labels: usize) -> Vec<f64> {
        let least = self.clip.map_or(0.0, |most| 1.0 / most);
        match self.propensities {
            Some(propensities) => propensities.values().iter().map(|p| p.max(least)).collect(),
            None => vec![1.0; labels],
        }
    }
}

/// How a model did on held-out rows after a round of training.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The mean over rows of the loss, summed over labels.
    pub loss: f64,
    /// The best labels of each row with their logits.
    pub predictions: Csr<'static, f32>,
}

fn features<'a>(data: &'a Dataset<'_>) -> Result<&'a Features<'a>> {
    data.features().ok_or_else(|| {
        Error::value("the data have no features to train on").hint("training needs rows of 'labels feature:value ...'")
    })
}

/// The log-odds of each label's corrected frequency, within reason.
fn starting_bias(labels: &Labels<'_>, rows: &[usize], propensities: &[f64], loss: &dyn Loss) -> Vec<f32> {
    let mut counts = vec![0u32; labels.cols()];
    for &row in rows {
        labels.row_ids(row).iter().for_each(|&label| counts[label as usize] += 1);
    }
    let n = rows.len() as f64;
    let corrects = loss.nature().corrects;
    let start = |(&count, &p): (&u32, &f64)| {
        let q = if corrects { 1.0 / p } else { 1.0 };
        let prior = ((f64::from(count) * q + 0.5) / (n + 1.0)).clamp(1e-7, 0.5);
        (prior / (1.0 - prior)).ln() as f32
    };
    counts.iter().zip(propensities).map(start).collect()
}

/// The rows in random order.
fn shuffled(rows: &[usize], seed: u64) -> Vec<usize> {
    let mut rng = stream(seed, Purpose::Batches, u64::MAX);
    let mut rows = rows.to_vec();
    for last in (1..rows.len()).rev() {
        rows.swap(last, below(&mut rng, last as u64 + 1) as usize);
    }
    rows
}
