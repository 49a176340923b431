//! Blocks of labels through a solver: in parallel, within a bound of memory, handed over as they are finished.

use super::batches::Batches;
use super::checked::{CheckedTraining, features};
use super::held_out::{Chances, HeldOut};
use super::plan::PLUGIN;
use super::problem::{PairSource, Pairs, Problem};
use super::rows::Rows;
use super::{adam, dual, joint, newton};
use crate::data::{Csr, Dataset, Labels, Rate};
use crate::error::{Error, Result, byte_count};
use crate::losses::{self, Loss};
use crate::predict::{Block, Model};
use crate::propensity::Propensities;
use crate::request::Solver;
use crate::rng::{Purpose, below, stream};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Labels of a block, as blocks are kept and models hold them.
pub const WIDTH: usize = 32;

/// Labels that are trained side by side: one vector register of the widest processors holds a number of each, and the weights
/// and moments of more would not stay in the caches.
const TOGETHER: usize = 16;

/// A block that is trained.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its weights.
    pub block: Block,
    /// The propensities of its labels, if they were learned jointly.
    pub propensities: Option<Vec<f64>>,
    /// Labels on which Newton's method did not converge within its steps.
    pub unconverged: usize,
    /// The largest number of Newton steps of any label, or the epochs of Adam.
    pub iterations: usize,
}

/// A model that is trained.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// The propensities that were learned jointly, by [`Solver::Joint`].
    pub propensities: Option<Propensities>,
    /// Labels on which Newton's method did not converge within its steps.
    pub unconverged: usize,
    /// The largest number of Newton steps of any label, or the epochs of Adam.
    pub iterations: usize,
}

impl Finished {
    /// One block of neighbouring ones.
    fn side_by_side(parts: Vec<Finished>, features: usize) -> Finished {
        let bias: Vec<f32> = parts.iter().flat_map(|part| &part.block.bias).copied().collect();
        let mut weights = vec![0.0; features * bias.len()];
        let mut column = 0;
        for part in &parts {
            let width = part.block.width();
            let lines = weights.chunks_exact_mut(bias.len()).zip(part.block.weights.chunks_exact(width));
            lines.for_each(|(to, from)| to[column..column + width].copy_from_slice(from));
            column += width;
        }
        let first = parts.first().map_or(0, |part| part.block.first);
        let unconverged = parts.iter().map(|part| part.unconverged).sum();
        let iterations = parts.iter().map(|part| part.iterations).max().unwrap_or_default();
        let propensities = parts.into_iter().map(|part| part.propensities).collect::<Option<Vec<_>>>().map(|parts| parts.concat());
        Finished { block: Block { first, bias, weights }, propensities, unconverged, iterations }
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
    pub(super) labels: KnownLabels<'a>,
}

/// What is known about the labels of such rows.
#[derive(Clone, Copy)]
pub(super) enum KnownLabels<'a> {
    /// As much as about those that are trained on: the loss of the training is taken.
    AsTrained,
    /// All of them: the log loss is taken.
    Complete,
    /// Those that were shown, at this rate; with the pairs that were, when they are known. The log loss of these is taken.
    Shown(&'a Rate, Option<&'a Labels<'a>>),
}

/// Rows in the form in which a solver reads them.
pub(super) struct Layout {
    batches: Batches,
    in_turn: Rows,
}

/// Takes a block that is trained.
pub(super) type Sink<'a> = dyn Fn(Finished) -> Result<()> + Sync + 'a;

impl CheckedTraining<'_> {
    /// Trains a model.
    pub fn fit(&self) -> Result<Fitted> {
        let finished = Mutex::new(Vec::new());
        self.fit_blocks(&blocks(self.labels())?, &|block| {
            finished.lock().unwrap_or_else(PoisonError::into_inner).push(block);
            Ok(())
        })?;
        self.assemble(finished.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Trains some blocks of labels, out of those that [`blocks`] names, and hands each over as it is finished: in any order, from
    /// any thread. A block does not depend on what else is trained.
    pub fn fit_blocks(&self, blocks: &[Range<u32>], sink: &(dyn Fn(Finished) -> Result<()> + Sync)) -> Result<()> {
        let rows: Vec<usize> = (0..self.data.rows()).collect();
        self.run(&rows, None, blocks, &[self.decay], sink).map(drop)
    }

    /// Trains on some rows of the data and sees after each round how well the model does on others: the mean loss per row and the
    /// best `depth` labels of each.
    pub fn fit_watching(&self, rows: &[usize], others: (&Dataset<'_>, &[usize]), depth: usize) -> Result<(Model, Vec<Checkpoint>)> {
        let finished = Mutex::new(Vec::new());
        let others = Others { data: others.0, rows: others.1, depth, labels: KnownLabels::AsTrained };
        let checkpoints = self.run(rows, Some(others), &blocks(self.labels())?, &[self.decay], &|block| {
            finished.lock().unwrap_or_else(PoisonError::into_inner).push(block);
            Ok(())
        })?;
        let fitted = self.assemble(finished.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        Ok((fitted.model, checkpoints))
    }

    pub(super) fn assemble(&self, mut finished: Vec<Finished>) -> Result<Fitted> {
        finished.sort_unstable_by_key(|finished| finished.block.first);
        let learned: Option<Vec<Vec<f64>>> = finished.iter().map(|finished| finished.propensities.clone()).collect();
        let propensities = learned.map(|parts| joint::learned(parts.concat())).transpose()?;
        let unconverged = finished.iter().map(|finished| finished.unconverged).sum();
        let iterations = finished.iter().map(|finished| finished.iterations).max().unwrap_or_default();
        let blocks = finished.into_iter().map(|finished| finished.block).collect();
        let model = Model::new(self.features.cols(), self.normalize, blocks)?;
        Ok(Fitted { model, propensities, unconverged, iterations })
    }

    /// The rows in the form in which the solver reads them.
    pub(super) fn layout(&self, rows: &[usize]) -> Result<Layout> {
        if rows.is_empty() {
            return Err(Error::value("there are no rows to train on").expected("at least one"));
        }
        let by_feature = |rows: &[usize], size| Batches::new(self.features, self.data.labels(), rows, size, self.normalize);
        let (batches, in_turn) = match self.solver {
            Solver::Adam(adam) | Solver::Joint(adam) => (by_feature(&shuffled(rows, self.seed), adam.batch_size)?, Rows::none()),
            Solver::Newton(_) => (by_feature(rows, newton::ROWS)?, Rows::none()),
            Solver::Dual(_) => (by_feature(&[], 1)?, Rows::new(self.features, self.data.labels(), rows, self.normalize)?),
        };
        Ok(Layout { batches, in_turn })
    }

    /// Trains the blocks on the rows. Solvers that go to an optimum do so for each of the decays in turn, Newton's method from where the
    /// one before it ended, and have a round for each; Adam takes the first, and has a round for each epoch.
    pub(super) fn run(
        &self,
        rows: &[usize],
        others: Option<Others<'_>>,
        blocks: &[Range<u32>],
        decays: &[f64],
        sink: &Sink<'_>,
    ) -> Result<Vec<Checkpoint>> {
        self.run_on(&self.layout(rows)?, rows, others, blocks, decays, sink)
    }

    /// The same where the rows were laid out before.
    pub(super) fn run_on(
        &self,
        layout: &Layout,
        rows: &[usize],
        others: Option<Others<'_>>,
        blocks: &[Range<u32>],
        decays: &[f64],
        sink: &Sink<'_>,
    ) -> Result<Vec<Checkpoint>> {
        let (labels, normalize) = (self.data.labels(), self.normalize);
        let Layout { batches, in_turn } = layout;
        let counts = counts(labels, rows);
        let propensities = match self.solver {
            Solver::Joint(_) => joint::starts(self),
            _ => self.possible(&counts, rows.len()),
        };
        let bias = starting_bias(&counts, rows.len(), &propensities, self.loss);
        let rounds = self.solver.adam().map_or(decays.len(), |adam| adam.epochs);
        adam::check_steps(rounds, batches)?;
        let held_out = match others {
            None => None,
            Some(Others { data, rows, depth, labels: known }) => {
                let (features, found) = (features(data)?, data.labels().cols());
                if (features.cols(), found) != (batches.features(), self.labels()) {
                    return Err(Error::value("the validation rows do not match the training rows")
                        .expected(format!("{} features and {} labels", batches.features(), self.labels()))
                        .found(format!("{} and {found}", features.cols())));
                }
                let batches = Batches::new(features, data.labels(), rows, newton::ROWS, normalize)?;
                let plugin = losses::find(PLUGIN)?;
                let (loss, chances) = match (known, self.pairs.as_deref()) {
                    (KnownLabels::AsTrained, None) => (self.loss, Chances::AsTrained),
                    (KnownLabels::AsTrained, Some(pairs)) => {
                        (self.loss, Chances::PerPair(Pairs { source: PairSource::Model(pairs), rows }))
                    }
                    (KnownLabels::Complete, _) => (plugin, Chances::PerLabel(vec![1.0; self.labels()])),
                    (KnownLabels::Shown(rate, None), _) => {
                        (plugin, Chances::PerLabel((0..self.labels()).map(|label| rate.of(label)).collect()))
                    }
                    (KnownLabels::Shown(_, Some(shown)), _) => {
                        (plugin, Chances::PerPair(Pairs { source: PairSource::Shown(shown), rows }))
                    }
                };
                Some(HeldOut::new(batches, loss, chances, self.labels(), depth, rounds))
            }
        };
        let problem = Problem {
            batches,
            rows: in_turn,
            held_out: held_out.as_ref(),
            loss: self.loss,
            propensities: &propensities,
            pairs: self.pairs.as_deref().map(|pairs| Pairs { source: PairSource::Model(pairs), rows }),
            weights: self.weights.as_deref(),
            bias: &bias,
            seed: self.seed,
            progress: self.progress,
        };
        let trained: usize = blocks.iter().map(|block| block.len()).sum();
        self.progress.begin("training", (trained * rounds) as u64);
        for some in blocks.chunks(self.at_once(batches, rows.len())?) {
            some.par_iter().with_max_len(1).try_for_each(|block| {
                let mut finished = self.train(&problem, block, decays)?;
                self.calibrate(&mut finished.block, &counts, &propensities);
                sink(finished)
            })?;
        }
        let checkpoint = |held_out: &HeldOut<'_>, round| {
            Ok(Checkpoint { loss: held_out.loss(round), predictions: held_out.predictions(round)? })
        };
        match &held_out {
            Some(held_out) => (0..held_out.rounds()).map(|round| checkpoint(held_out, round)).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// Folds the calibration into the weights, if there is one. Labels that were never observed have no scores to speak of.
    fn calibrate(&self, block: &mut Block, counts: &[u64], propensities: &[f64]) {
        let Some(calibration) = &self.calibration else { return };
        let width = block.width();
        let labels = block.first as usize..block.first as usize + width;
        let affine = |label: usize| match counts[label] {
            0 => (1.0, 0.0),
            count => calibration.of_label(count, propensities[label]),
        };
        let (scales, shifts): (Vec<f64>, Vec<f64>) = labels.map(affine).unzip();
        for line in block.weights.chunks_exact_mut(width) {
            line.iter_mut().zip(&scales).for_each(|(weight, scale)| *weight = (f64::from(*weight) * scale) as f32);
        }
        for (bias, (scale, shift)) in block.bias.iter_mut().zip(scales.iter().zip(&shifts)) {
            *bias = (f64::from(*bias) * scale + shift) as f32;
        }
    }

    fn train(&self, problem: &Problem<'_>, block: &Range<u32>, decays: &[f64]) -> Result<Finished> {
        let end = problem.labels().min(block.start as usize + WIDTH);
        if !(block.start as usize).is_multiple_of(WIDTH) || block.end as usize != end {
            return Err(Error::value("no such block of labels").expected(format!("{WIDTH} labels from a multiple of {WIDTH} on")));
        }
        let parts = (block.start..block.end).step_by(TOGETHER).map(|first| self.train_together(problem, first, decays));
        Ok(Finished::side_by_side(parts.collect::<Result<_>>()?, problem.batches.features()))
    }

    fn train_together(&self, problem: &Problem<'_>, first: u32, decays: &[f64]) -> Result<Finished> {
        let finished = match &self.solver {
            Solver::Adam(adam) => adam::train::<TOGETHER>(problem, first, adam, self.decay).map(|block| Finished {
                block,
                propensities: None,
                unconverged: 0,
                iterations: adam.epochs,
            }),
            Solver::Newton(newton) => newton::train::<TOGETHER>(problem, first, newton, decays),
            Solver::Dual(dual) => dual::train::<TOGETHER>(problem, first, dual, decays),
            Solver::Joint(adam) => joint::train::<TOGETHER>(problem, first, adam, self.decay, self.starts),
        }?;
        match finished.block.weights.iter().chain(&finished.block.bias).all(|weight| weight.is_finite()) {
            true => Ok(finished),
            false => Err(Error::value(format!("training diverged: weights of labels from {first} on are not finite"))
                .hint("use a larger decay, a smaller learning rate, or clip inverse propensities")),
        }
    }

    /// How many blocks fit into the memory at a time.
    fn at_once(&self, batches: &Batches, rows: usize) -> Result<usize> {
        let Some(memory) = self.memory else { return Ok(usize::MAX) };
        // Vectors by feature and by row; four more by feature are the finished block and its parts.
        let (by_feature, by_row, rows) = match self.solver {
            Solver::Adam(_) | Solver::Joint(_) => (7, 1, batches.largest()),
            // Row-dependent propensities are one more by row.
            Solver::Newton(_) => (9, if self.pairs.is_some() { 6 } else { 5 }, rows),
            Solver::Dual(_) => (6, 2, rows),
        };
        let line = (TOGETHER * size_of::<f32>()) as u64;
        let block = line * (by_feature * batches.features() as u64 + by_row * rows as u64);
        let blocks = memory / block.max(1);
        if blocks == 0 {
            return Err(Error::value("the memory limit is too small for one block of labels")
                .expected(format!("at least {}", byte_count(block)))
                .found(byte_count(memory)));
        }
        // As many as there are threads may start at any time, so more do not need a bound.
        Ok(if blocks as usize >= rayon::current_num_threads() { usize::MAX } else { blocks as usize })
    }
}

/// The blocks of so many labels.
///
/// ```
/// assert_eq!(unmissed::train::blocks(40)?, [0..32, 32..40]);
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn blocks(labels: usize) -> Result<Vec<Range<u32>>> {
    let id = |label: usize| u32::try_from(label).map_err(|_| Error::value("there are too many labels: ids have 32 bits"));
    (0..labels).step_by(WIDTH).map(|first| Ok(id(first)?..id(labels.min(first + WIDTH))?)).collect()
}

/// How often each label occurs on the rows.
pub(super) fn counts(labels: &Labels<'_>, rows: &[usize]) -> Vec<u64> {
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
