//! Blocks that are trained on other machines: one process prepares the run and keeps finished blocks, others train them.
//!
//! [`Trainer::begin_blocks`] does what comes before the blocks and opens the store that [`Trainer::train_to`] uses too; [`Trainer::fit_elsewhere`] trains
//! some blocks anywhere, from the same data and what the run prepared. When all are kept, [`Trainer::train_to`] with `resume` finds
//! nothing left to train and finishes: the file has the bytes of a run on one machine.

use super::fit::Finished;
use super::plan::Plan;
use super::run::{Destination, Prepared};
use super::trainer::Trainer;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::predict::file::BlockNote;
use crate::predict::{Block, BlockStore};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A run whose blocks are trained elsewhere. It holds the store, so that no other run writes there.
pub struct BlockRun {
    store: BlockStore,
    prepared: String,
}

impl BlockRun {
    /// What training a block needs besides the request and the data.
    pub fn prepared(&self) -> &str {
        &self.prepared
    }

    /// The labels of the blocks that are still to be trained.
    pub fn missing(&self) -> Result<Vec<Range<u32>>> {
        self.store.missing()
    }

    /// Keeps a finished block.
    pub fn put(&self, block: &Block, note: BlockNote) -> Result<()> {
        self.store.put(block, note)
    }
}

impl Trainer<'_> {
    /// Prepares a run, or resumes one, and leaves the blocks to others.
    pub fn begin_blocks(&self, data: &Dataset<'_>, to: &Destination) -> Result<BlockRun> {
        self.check_elsewhere()?;
        let plan = Plan::new(&self.request)?;
        let training = self.checked(&plan, data)?;
        let (store, prepared) = self.open(&plan, &training, to)?;
        Ok(BlockRun { store, prepared: prepared.text()? })
    }

    /// Trains some blocks of a run; each is the same as in the run itself.
    pub fn fit_elsewhere(&self, data: &Dataset<'_>, prepared: &str, blocks: &[Range<u32>]) -> Result<Vec<(Block, BlockNote)>> {
        self.check_elsewhere()?;
        let plan = Plan::new(&self.request)?;
        let training = Prepared::parse(prepared)?.apply(&self.checked(&plan, data)?)?;
        let known = super::fit::blocks(training.labels())?;
        if let Some(other) = blocks.iter().find(|block| !known.contains(block)) {
            return Err(Error::value("the block does not belong to the run").found(format!("labels {other:?}")));
        }
        let finished = Mutex::new(Vec::new());
        training.fit_blocks(blocks, &|Finished { block, propensities, unconverged, iterations }| {
            let note = BlockNote { propensities, unconverged, iterations };
            finished.lock().unwrap_or_else(PoisonError::into_inner).push((block, note));
            Ok(())
        })?;
        Ok(finished.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn check_elsewhere(&self) -> Result<()> {
        if self.request.later.is_none() && self.request.controlled.is_none() {
            return Ok(());
        }
        Err(Error::value("blocks cannot be trained elsewhere with a controlled set or later labels")
            .hint("these train several models that depend on each other: train on one machine"))
    }
}
