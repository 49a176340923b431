//! Parts through the solver: in parallel, within a bound of memory, handed over as they are finished.

use super::node::{AllRows, NodeRows, Numbers};
use super::parts::Part;
use super::solve::{Settings, solve};
use crate::error::{Error, Result, byte_count};
use crate::predict::tree::weights::Blocks;
use crate::progress::Progress;
use crate::train::lines::check_room;
use crate::tree::Tree;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// What all parts are trained with.
pub(super) struct Fit<'a> {
    pub(super) all: &'a AllRows<'a>,
    pub(super) trees: &'a [Tree],
    pub(super) parts: &'a [Part],
    pub(super) settings: Settings,
    /// What is added to the logit of each lane of each tree.
    pub(super) shifts: Vec<Vec<f32>>,
    /// The most bytes that parts in work may take.
    pub(super) memory: Option<u64>,
    pub(super) progress: &'a dyn Progress,
}

/// That the memory holds each of some parts, and the weights of the roots: what is tried before them, on fewer rows, takes about as much.
pub(super) fn check_memory(
    memory: Option<u64>,
    all: &AllRows<'_>,
    parts: &[Part],
    wanted: impl Iterator<Item = usize>,
) -> Result<()> {
    // All features are those of the roots.
    let widths = parts.iter().filter(|part| part.level == 0).flat_map(|part| &part.nodes).flat_map(|(_, blocks)| blocks);
    check_room(all.features.cols(), widths.map(ExactSizeIterator::len).max().unwrap_or(0))?;
    match (memory, wanted.map(|part| parts[part].memory).max()) {
        (Some(memory), Some(most)) if most > memory => Err(Error::value("the memory does not hold one node")
            .expected(format!("at least {}", byte_count(most)))
            .found(byte_count(memory))),
        _ => Ok(()),
    }
}

impl Fit<'_> {
    /// Trains some parts and hands each over as it is finished: in any order, from any thread. A part comes out the same whatever else is
    /// trained.
    pub(super) fn run(&self, wanted: &[usize], sink: &(dyn Fn(usize, Blocks) -> Result<()> + Sync)) -> Result<()> {
        let threads = rayon::current_num_threads();
        let Some(memory) = self.memory else { return self.run_some(wanted, threads, sink) };
        let need = |part: &usize| self.parts[*part].memory;
        let most = wanted.iter().map(need).max().unwrap_or(0);
        // The largest parts, mostly those of the roots, are trained few at a time, all others by all threads.
        let (large, small): (Vec<usize>, Vec<usize>) = wanted.iter().partition(|part| need(part) > memory / threads as u64);
        self.run_some(&large, (memory / most.max(1)).max(1) as usize, sink)?;
        self.run_some(&small, threads, sink)
    }

    fn run_some(&self, wanted: &[usize], at_once: usize, sink: &(dyn Fn(usize, Blocks) -> Result<()> + Sync)) -> Result<()> {
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        (0..at_once.min(wanted.len())).into_par_iter().with_max_len(1).try_for_each(|_| {
            while !failed.load(Relaxed)
                && let Some(&part) = wanted.get(next.fetch_add(1, Relaxed))
            {
                let done = self.part(&self.parts[part]).and_then(|blocks| sink(part, blocks));
                if done.is_err() {
                    failed.store(true, Relaxed);
                    return done;
                }
            }
            Ok(())
        })
    }

    fn part(&self, part: &Part) -> Result<Blocks> {
        let tree = &self.trees[part.tree];
        let mut numbers = Numbers::new(self.all.features.cols());
        let mut blocks = Blocks::default();
        for (node, lanes) in &part.nodes {
            let rows = NodeRows::of(self.all, tree, *node, &mut numbers);
            for block in lanes {
                let first = tree.lanes(*node).start + block.start;
                let mut solved = solve(&rows, block.clone(), &self.settings, (part.tree as u64) << 48 ^ first as u64);
                let shifts = &self.shifts[part.tree][first..];
                solved.bias.iter_mut().zip(shifts).for_each(|(bias, shift)| *bias += shift);
                blocks.push(&solved.bias, &solved.weights)?;
                self.progress.advance(block.len() as u64)?;
            }
        }
        Ok(blocks)
    }
}
