//! Blocks of labels through a solver: in parallel, within a bound of memory, to whoever wants them.

use super::batches::Batches;
use super::held_out::HeldOut;
use super::problem::Problem;
use super::trainer::{Settled, Solver, Trainer};
use super::{adam, joint, newton};
use crate::data::{Csr, Dataset, Features, Labels};
use crate::error::{Error, Result};
use crate::losses::Loss;
use crate::predict::{Block, Model};
use crate::propensity::Propensities;
use crate::rng::{Purpose, below, stream};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Labels of a block, as blocks are kept and models hold them.
pub const WIDTH: usize = 32;

/// Labels that are trained side by side: one vector register of the widest processors holds a number of each, and the weights
/// and moments of more would not stay in the caches.
const LANES: usize = 16;

/// A block that is trained.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its weights.
    pub block: Block,
    /// The propensities of its labels, when they were learned along.
    pub propensities: Option<Vec<f64>>,
    /// Labels at which Newton's method ran out of steps before the gradient was small.
    pub unfinished: usize,
}

/// A model that is trained.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// The propensities that were learned along, by [`Solver::Joint`].
    pub propensities: Option<Propensities>,
    /// Labels at which Newton's method ran out of steps before the gradient was small.
    pub unfinished: usize,
}

impl Finished {
    /// One block of neighbouring ones.
    fn side_by_side(parts: Vec<Finished>, features: usize) -> Finished {
        let bias: Vec<f32> = parts.iter().flat_map(|part| &part.block.bias).copied().collect();
        let mut weights = vec![0.0; features * bias.len()];
        let mut lane = 0;
        for part in &parts {
            let width = part.block.width();
            let lines = weights.chunks_exact_mut(bias.len()).zip(part.block.weights.chunks_exact(width));
            lines.for_each(|(to, from)| to[lane..lane + width].copy_from_slice(from));
            lane += width;
        }
        let first = parts.first().map_or(0, |part| part.block.first);
        let unfinished = parts.iter().map(|part| part.unfinished).sum();
        let propensities = parts.into_iter().map(|part| part.propensities).collect::<Option<Vec<_>>>().map(|parts| parts.concat());
        Finished { block: Block { first, bias, weights }, propensities, unfinished }
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

/// Rows that a model in training is held against.
#[derive(Clone, Copy)]
pub(super) struct Others<'a> {
    pub(super) data: &'a Dataset<'a>,
    pub(super) rows: &'a [usize],
    pub(super) depth: usize,
}

/// Takes a block that is trained.
pub(super) type Sink<'a> = dyn Fn(Finished) -> Result<()> + Sync + 'a;

impl Trainer<'_> {
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
        Ok(self.fit_whole(data)?.model)
    }

    /// Trains a model, and says what there is to say about it.
    pub fn fit_whole(&self, data: &Dataset<'_>) -> Result<Fitted> {
        let finished = Mutex::new(Vec::new());
        let all = blocks(data.labels().cols());
        self.fit_blocks(data, &all, &|block| {
            finished.lock().unwrap_or_else(PoisonError::into_inner).push(block);
            Ok(())
        })?;
        self.assemble(data, finished.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Trains some blocks of labels, out of those that [`blocks`] names, and hands each over as it is finished: in any order, from
    /// any thread. A block comes out the same whatever else is trained.
    pub fn fit_blocks(
        &self,
        data: &Dataset<'_>,
        blocks: &[Range<u32>],
        sink: &(dyn Fn(Finished) -> Result<()> + Sync),
    ) -> Result<()> {
        let rows: Vec<usize> = (0..data.rows()).collect();
        self.run(data, &rows, None, blocks, sink).map(drop)
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
        let finished = Mutex::new(Vec::new());
        let others = Others { data: others.0, rows: others.1, depth };
        let checkpoints = self.run(data, rows, Some(others), &blocks(data.labels().cols()), &|block| {
            finished.lock().unwrap_or_else(PoisonError::into_inner).push(block);
            Ok(())
        })?;
        let fitted = self.assemble(data, finished.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        Ok((fitted.model, checkpoints))
    }

    fn assemble(&self, data: &Dataset<'_>, mut finished: Vec<Finished>) -> Result<Fitted> {
        finished.sort_unstable_by_key(|finished| finished.block.first);
        let learned: Option<Vec<Vec<f64>>> = finished.iter().map(|finished| finished.propensities.clone()).collect();
        let propensities = learned.map(|parts| joint::learned(parts.concat())).transpose()?;
        let unfinished = finished.iter().map(|finished| finished.unfinished).sum();
        let blocks = finished.into_iter().map(|finished| finished.block).collect();
        let model = Model::new(features(data)?.cols(), self.settled(data)?.normalize, blocks)?;
        Ok(Fitted { model, propensities, unfinished })
    }

    /// Trains the blocks on the rows.
    pub(super) fn run(
        &self,
        data: &Dataset<'_>,
        rows: &[usize],
        others: Option<Others<'_>>,
        blocks: &[Range<u32>],
        sink: &Sink<'_>,
    ) -> Result<Vec<Checkpoint>> {
        let (features, labels) = (features(data)?, data.labels());
        let many = labels.cols();
        self.check(many, rows.len())?;
        let counts = counts(labels, rows);
        let propensities = match self.solver {
            Solver::Joint(_) => joint::starts(self, many),
            _ => self.possible(&counts, rows.len()),
        };
        let Settled { normalize, decay, .. } = self.settled(data)?;
        let bias = starting_bias(&counts, rows.len(), &propensities, self.loss);
        let (rounds, batches) = match self.solver {
            Solver::Adam(adam) | Solver::Joint(adam) => {
                (adam.epochs, Batches::new(features, labels, &shuffled(rows, self.seed), adam.batch, normalize))
            }
            Solver::Newton(_) => (1, Batches::new(features, labels, rows, newton::ROWS, normalize)),
        };
        let held_out = match others {
            None => None,
            Some(Others { data, rows, depth }) => {
                let features = self::features(data)?;
                if (features.cols(), data.labels().cols()) != (batches.features(), many) {
                    return Err(Error::value("the rows to validate on are not like those to train on")
                        .expected(format!("{} features and {many} labels", batches.features()))
                        .found(format!("{} and {}", features.cols(), data.labels().cols())));
                }
                let batches = Batches::new(features, data.labels(), rows, newton::ROWS, normalize);
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
        let trained: usize = blocks.iter().map(|block| block.len()).sum();
        self.progress.begin("training", (trained * rounds) as u64);
        for some in blocks.chunks(self.at_once(&batches)?) {
            some.par_iter().with_max_len(1).try_for_each(|block| sink(self.train(&problem, block, decay)?))?;
        }
        let checkpoint =
            |held_out: &HeldOut, round| Ok(Checkpoint { loss: held_out.loss(round), predictions: held_out.predictions(round)? });
        match &held_out {
            Some(held_out) => (0..held_out.rounds()).map(|round| checkpoint(held_out, round)).collect(),
            None => Ok(Vec::new()),
        }
    }

    fn train(&self, problem: &Problem<'_>, block: &Range<u32>, decay: f64) -> Result<Finished> {
        let end = problem.labels().min(block.start as usize + WIDTH);
        if !(block.start as usize).is_multiple_of(WIDTH) || block.end as usize != end {
            return Err(Error::value("no such block of labels").expected(format!("{WIDTH} labels from a multiple of {WIDTH} on")));
        }
        let parts = (block.start..block.end).step_by(LANES).map(|first| self.train_lanes(problem, first, decay));
        Ok(Finished::side_by_side(parts.collect::<Result<_>>()?, problem.batches.features()))
    }

    fn train_lanes(&self, problem: &Problem<'_>, first: u32, decay: f64) -> Result<Finished> {
        let plain = |block| Finished { block, propensities: None, unfinished: 0 };
        let finished = match &self.solver {
            Solver::Adam(adam) => adam::train::<LANES>(problem, first, adam, decay).map(plain),
            Solver::Newton(newton) => newton::train::<LANES>(problem, first, newton, decay),
            Solver::Joint(adam) => joint::train::<LANES>(problem, first, adam, decay),
        }?;
        match finished.block.weights.iter().chain(&finished.block.bias).all(|weight| weight.is_finite()) {
            true => Ok(finished),
            false => Err(Error::value(format!("training ran away: weights of labels from {first} on are not finite"))
                .hint("use more decay, a smaller rate, or clip inverse propensities")),
        }
    }

    /// How many blocks fit into the memory at a time.
    fn at_once(&self, batches: &Batches) -> Result<usize> {
        let Some(memory) = self.memory else { return Ok(usize::MAX) };
        // Vectors by feature and by row; four more by feature are the finished block and its parts.
        let (by_feature, by_row, rows) = match self.solver {
            Solver::Adam(_) | Solver::Joint(_) => (7, 1, batches.largest()),
            Solver::Newton(_) => (9, 5, batches.rows()),
        };
        let line = (LANES * size_of::<f32>()) as u64;
        let block = line * (by_feature * batches.features() as u64 + by_row * rows as u64);
        let blocks = memory / block.max(1);
        if blocks == 0 {
            return Err(Error::value("the memory does not hold one block of labels")
                .expected(format!("at least {}", megabytes(block)))
                .found(megabytes(memory)));
        }
        // As many as there are threads may start at any time, so more do not need a bound.
        Ok(if blocks as usize >= rayon::current_num_threads() { usize::MAX } else { blocks as usize })
    }
}

/// The blocks of so many labels.
///
/// ```
/// assert_eq!(unmissed::train::blocks(40), [0..32, 32..40]);
/// ```
pub fn blocks(labels: usize) -> Vec<Range<u32>> {
    (0..labels).step_by(WIDTH).map(|first| first as u32..labels.min(first + WIDTH) as u32).collect()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// The features of data that have some.
pub(super) fn features<'a>(data: &'a Dataset<'_>) -> Result<&'a Features<'a>> {
    data.features().ok_or_else(|| {
        Error::value("the data have no features to train on").hint("training needs rows of 'labels feature:value ...'")
    })
}

/// How often each label occurs on the rows.
fn counts(labels: &Labels<'_>, rows: &[usize]) -> Vec<u64> {
    let mut counts = vec![0; labels.cols()];
    for &row in rows {
        labels.row_ids(row).iter().for_each(|&label| counts[label as usize] += 1);
    }
    counts
}

/// The log-odds of each label's corrected frequency, within reason.
fn starting_bias(counts: &[u64], rows: usize, propensities: &[f64], loss: &dyn Loss) -> Vec<f32> {
    let n = rows as f64;
    let corrects = loss.nature().corrects;
    let start = |(&count, &p): (&u64, &f64)| {
        let q = if corrects { 1.0 / p } else { 1.0 };
        let prior = ((count as f64 * q + 0.5) / (n + 1.0)).clamp(1e-7, 0.5);
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
