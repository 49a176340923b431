//! The pass over the rows: every row is read once, in parallel, and adds to the sums of every cell.
//!
//! [`tally`] sends chunks of rows through [`chunk`], which selects the top k of each row once and adds its terms:
//! `row_terms.rs` sums and products over labels, `sets.rs` other functions of the label set, `hajek.rs` what was shown, `mask.rs`
//! estimated mask variances, `row_dependent.rs` sums under row-dependent propensities, `robust.rs` doubly robust terms, `omega.rs` expected ones. What the
//! chunks selected is then counted by label.

mod chunk;
mod hajek;
mod mask;
mod omega;
mod robust;
mod row_dependent;
mod row_terms;
mod sets;
mod slack;
mod waiting;

use self::chunk::{CHUNK, ChunkResult, run_chunk};
use crate::error::Result;
use crate::evaluate::builder::Evaluation;
use crate::evaluate::plan::Plan;
use crate::evaluate::plan::settings::Settings;
use crate::evaluate::tally::labels::{LabelTally, Positives};
use crate::evaluate::tally::row_sample::{RowSample, sampled};
use crate::evaluate::tally::sums::Totals;
use crate::evaluate::tally::{Covered, Entries, Tally};
use crate::top_k::NONE;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Smaller chunks than this spend more time on their sums than on their rows.
const LEAST_ROWS: usize = 512;

/// The lists of a chunk of rows, by model, which are counted by label when all chunks are done.
pub(in crate::evaluate) struct Lists {
    pub(in crate::evaluate) tops: Vec<Vec<u32>>,
    pub(in crate::evaluate) hits: Vec<Vec<u64>>,
}

impl Lists {
    /// The list of a row that a pass from row 0 left, and the row's place in it. All chunks but the last have the same size.
    pub(in crate::evaluate) fn find(lists: &[Lists], row: usize, depth: usize) -> (&Lists, usize) {
        let size = lists[0].tops[0].len() / depth;
        (&lists[row / size], row % size)
    }
}

/// The tally of a range of the rows.
pub(in crate::evaluate) fn tally(evaluation: &Evaluation<'_>, rows: Range<usize>) -> Result<Tally> {
    let truth = evaluation.truth;
    let all = Positives::count(truth.cols(), truth.ids());
    let (settings, table, omega) = evaluation.settle(&all, &all)?;
    let plan = Plan::new(evaluation, &omega, &settings, &table)?;
    let has_entries = settings.request.bootstrap > 0 && settings.has_label_metrics()? && !settings.is_mask();
    let has_sample = settings.has_sample()?;
    let keeps_lists = settings.by_label()? || has_entries || has_sample;
    let (totals, lists) = pass(&plan, rows.clone(), CHUNK, keeps_lists)?;
    let labels = count_labels(&settings, &lists)?;
    let entries = has_entries.then(|| entries(evaluation, &settings, rows.clone(), &lists));
    let sample = has_sample.then(|| sample(evaluation, &settings, rows.clone(), &lists));
    let positives = if rows.len() == truth.rows() {
        all
    } else {
        let offsets = truth.offsets();
        Positives::count(truth.cols(), &truth.ids()[offsets[rows.start] as usize..offsets[rows.end] as usize])
    };
    let covered = Covered::new(rows.start as u64..rows.end as u64);
    Ok(Tally { covered, totals, labels, positives, entries, sample, settings, table, open: None })
}

/// The pass over a range of the rows, in chunks of this size at most: totals, and the lists of the chunks.
pub(in crate::evaluate) fn pass(
    plan: &Plan<'_>,
    rows: Range<usize>,
    size: usize,
    keeps_lists: bool,
) -> Result<(Totals, Vec<Lists>)> {
    let (progress, size) = (plan.evaluation.progress, size.clamp(LEAST_ROWS, CHUNK));
    progress.begin("evaluate", rows.len() as u64);
    // Totals do not depend on the order in which chunks are added.
    let totals = Mutex::new(Totals::new(&plan.layout, &plan.exact, plan.models.len()));
    let lists: Vec<Lists> = (0..rows.len().div_ceil(size))
        .into_par_iter()
        .map(|chunk| {
            let start = rows.start + chunk * size;
            let of_chunk = start..(start + size).min(rows.end);
            let ChunkResult { sums, tops, hits } = run_chunk(plan, of_chunk.clone());
            sums.add_to(plan, &mut totals.lock().unwrap_or_else(PoisonError::into_inner));
            progress.advance(of_chunk.len() as u64)?;
            Ok(if keeps_lists { Lists { tops, hits } } else { Lists { tops: Vec::new(), hits: Vec::new() } })
        })
        .collect::<Result<_>>()?;
    Ok((totals.into_inner().unwrap_or_else(PoisonError::into_inner), lists))
}

/// Counts by label what the chunks selected, for each model.
pub(in crate::evaluate) fn count_labels(settings: &Settings, lists: &[Lists]) -> Result<Vec<LabelTally>> {
    let by_label = settings.by_label()?;
    let count = |model: usize| {
        if !by_label {
            return LabelTally::count(0, 1, &[], &[]);
        }
        let tops: Vec<&[u32]> = lists.iter().map(|list| &*list.tops[model]).collect();
        let hits: Vec<&[u64]> = lists.iter().map(|list| &*list.hits[model]).collect();
        LabelTally::count(settings.labels as usize, settings.depth, &tops, &hits)
    };
    Ok((0..settings.models.len()).map(count).collect())
}

/// The sample of these rows.
fn sample(evaluation: &Evaluation<'_>, settings: &Settings, rows: Range<usize>, lists: &[Lists]) -> RowSample {
    let (depth, models) = (settings.depth, settings.models.len());
    let mut sample = RowSample::new(models);
    for row in sampled(settings.request.seed, rows.clone()) {
        let (chunk, local) = ((row - rows.start) / CHUNK, (row - rows.start) % CHUNK);
        let tops = lists[chunk].tops.iter().map(|tops| &tops[local * depth..(local + 1) * depth]);
        sample.push([row as u32; 2], evaluation.truth.row_ids(row), tops);
    }
    sample
}

/// What the bootstrap draws from. Rows fit into 32 bits: the plan has checked that.
fn entries(evaluation: &Evaluation<'_>, settings: &Settings, rows: Range<usize>, lists: &[Lists]) -> Entries {
    let (depth, words) = (settings.depth, settings.depth.div_ceil(64));
    let of_model = |model: usize| {
        let mut entries = Vec::new();
        for (chunk, list) in lists.iter().enumerate() {
            for (local, top) in list.tops[model].chunks_exact(depth).enumerate() {
                let row = (rows.start + chunk * CHUNK + local) as u32;
                for (rank, label) in top.iter().enumerate().filter(|(_, label)| **label != NONE) {
                    let hit = list.hits[model][local * words + rank / 64] >> (rank % 64) & 1;
                    entries.push([*label, row, 2 * rank as u32 + hit as u32]);
                }
            }
        }
        entries.par_sort_unstable();
        entries
    };
    let truth = evaluation.truth;
    let mut positives: Vec<[u32; 2]> =
        rows.clone().flat_map(|row| truth.row_ids(row).iter().map(move |label| [*label, row as u32])).collect();
    positives.par_sort_unstable();
    Entries { predicted: (0..settings.models.len()).map(of_model).collect(), positives }
}
