//! A chunk of rows: selects the top k of each row once and sums the row terms of every cell.
//!
//! What a row adds depends on the row alone, and sums do not depend on the order of rows, so chunks may be any rows. They
//! have at most [`CHUNK`], as many as fit into the words of fixed point.

use super::omega::OmegaScratch;
use super::row_dependent::FitScratch;
use super::row_terms::sum_groups;
use super::waiting::Waiting;
use crate::evaluate::plan::Plan;
use crate::evaluate::tally::fixed::{BLOCK, MOST_TERMS};
use crate::evaluate::tally::sums::ChunkSums;
use crate::metrics::UNRANKED;
use crate::prefetch::prefetch;
use crate::top_k::{NONE, top_k};
use std::ops::Range;

/// Rows in a chunk.
pub(in crate::evaluate) const CHUNK: usize = MOST_TERMS;

/// Label ids in a line of the processor's cache.
const IDS_PER_LINE: usize = 64 / size_of::<u32>();

/// Rows whose labels are looked up together.
const BATCH: usize = 32;

/// What a chunk yields.
pub(in crate::evaluate) struct ChunkResult {
    pub(in crate::evaluate) sums: ChunkSums,
    /// For each model, as many labels per row as top lists are long; open slots are [`NONE`].
    pub(in crate::evaluate) tops: Vec<Vec<u32>>,
    /// For each model, a word for each 64 slots of a row: bit r says that the label at rank r is observed.
    pub(in crate::evaluate) hits: Vec<Vec<u64>>,
}

/// A relevant label in the top list.
#[derive(Clone, Copy)]
pub(in crate::evaluate) struct Hit {
    pub(in crate::evaluate) rank: u32,
    /// Place among the row's labels.
    pub(in crate::evaluate) at: u32,
}

/// Buffers that are reused from row to row.
#[derive(Default)]
pub(in crate::evaluate) struct Scratch {
    keys: Vec<u64>,
    /// Labels of the rows of the batch, sorted within each row.
    pub(in crate::evaluate) batch: Vec<u32>,
    /// Places in the table of these labels.
    batch_places: Vec<usize>,
    /// Inverse propensities of these labels, column last.
    pub(in crate::evaluate) inverse: Vec<f64>,
    /// Where the labels of the row at hand start in the batch.
    pub(in crate::evaluate) start: usize,
    /// Where those of the next row do.
    next: usize,
    /// Places in the table of the row's labels.
    pub(in crate::evaluate) places: Vec<usize>,
    /// Ranks of the row's labels, by model.
    pub(in crate::evaluate) ranks: Vec<Vec<u32>>,
    pub(in crate::evaluate) hits: Vec<Vec<Hit>>,
    lens: Vec<usize>,
    /// 1 divided by the row's given number of relevant labels; 1 when none are given.
    share: f64,
    /// All labels of the row, as places among the row's labels.
    pub(in crate::evaluate) everybody: Vec<u32>,
    /// Labels of the group at hand, as places among the row's labels.
    pub(in crate::evaluate) members: Vec<u32>,
    /// Hits of the group at hand, by model.
    pub(in crate::evaluate) group_hits: Vec<Vec<Hit>>,
    /// Where the columns of the group's labels start, in the order of the table.
    pub(in crate::evaluate) order: Vec<u64>,
    /// The largest inverse propensities of the group, times weights or not.
    pub(in crate::evaluate) best: Vec<[f64; BLOCK]>,
    /// Row terms of the row at hand, and of rows before it.
    pub(in crate::evaluate) waiting: Waiting,
    pub(in crate::evaluate) sets: super::sets::SetScratch,
    pub(in crate::evaluate) fits: FitScratch,
    pub(in crate::evaluate) omega: OmegaScratch,
}

impl Scratch {
    /// What the row's sums are multiplied with.
    #[inline(always)]
    pub(in crate::evaluate) fn factor(&self, by_relevant: bool) -> f64 {
        if by_relevant { self.share } else { 1.0 }
    }
}

/// Compiled for several instruction sets, of which the best that the processor has is taken at run time.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(in crate::evaluate) fn run_chunk(plan: &Plan<'_>, rows: Range<usize>) -> ChunkResult {
    let (kmax, words) = (plan.settings.depth, plan.words());
    let models = plan.models.len();
    let mut result = ChunkResult {
        sums: ChunkSums::new(plan),
        tops: vec![vec![NONE; rows.len() * kmax]; models],
        hits: vec![vec![0; rows.len() * words]; models],
    };
    let mut scratch = Scratch {
        ranks: vec![Vec::new(); models],
        hits: vec![Vec::new(); models],
        group_hits: vec![Vec::new(); models],
        lens: vec![0; models],
        waiting: Waiting::new(plan),
        ..Scratch::default()
    };
    let has_more = plan.has_more();
    for row in rows.clone() {
        let local = row - rows.start;
        if local.is_multiple_of(BATCH) {
            gather(plan, row..(row + BATCH).min(rows.end), &mut scratch);
        }
        select_and_match(plan, row, local, &mut scratch, &mut result);
        let ChunkResult { sums, tops, .. } = &mut result;
        sum_groups(plan, &mut scratch, sums, |s, group, sums| {
            if has_more {
                let top = |model: usize| &tops[model][local * kmax..local * kmax + s.lens[model]];
                let tops: Vec<&[u32]> = (0..models).map(top).collect();
                super::hajek::sum_row(plan, row, &tops, group, s.waiting.terms(), &mut sums.exact);
                super::row_dependent::sum_row(plan, row, group, s, &mut sums.exact);
                super::robust::sum_row(plan, row, &tops, group, &mut sums.exact);
                super::omega::sum_row(plan, row, group, &mut s.omega, &mut sums.exact);
                super::slack::sum_row(plan, group, s, &mut sums.exact);
            }
        });
    }
    scratch.waiting.add_all(plan, &mut result.sums);
    result
}

/// Copies the columns of all labels of the next rows. They are anywhere in memory, and loads that do not wait for each other
/// overlap: one by one, when they are needed, they would take most of the time of the pass.
#[inline(always)]
fn gather(plan: &Plan<'_>, rows: Range<usize>, s: &mut Scratch) {
    let width = plan.layout.width;
    s.batch.clear();
    if plan.truth.is_sorted() {
        let offsets = plan.truth.offsets();
        s.batch.extend_from_slice(&plan.truth.ids()[offsets[rows.start] as usize..offsets[rows.end] as usize]);
    } else {
        for row in rows {
            let start = s.batch.len();
            s.batch.extend_from_slice(plan.truth.row_ids(row));
            s.batch[start..].sort_unstable();
        }
    }
    s.batch_places.clear();
    s.batch_places.extend(s.batch.iter().map(|label| plan.table.place(*label)));
    s.inverse.resize(s.batch.len() * width, 0.0);
    for (place, into) in s.batch_places.iter().zip(s.inverse.chunks_exact_mut(width)) {
        let base = plan.table.base(*place);
        let from = &plan.table.inverse[base..base + width];
        for (into, from) in into.chunks_exact_mut(BLOCK).zip(from.chunks_exact(BLOCK)) {
            into.copy_from_slice(from);
        }
    }
    s.start = 0;
    s.next = 0;
}

/// The top lists of a row, and where the row's labels are in them.
#[inline(always)]
fn select_and_match(plan: &Plan<'_>, row: usize, local: usize, s: &mut Scratch, result: &mut ChunkResult) {
    let (kmax, words) = (plan.settings.depth, plan.words());
    (s.start, s.next) = (s.next, s.next + plan.truth.row_ids(row).len());
    let truth = &s.batch[s.start..s.next];
    s.places.clear();
    s.places.extend_from_slice(&s.batch_places[s.start..s.next]);
    // A row without relevant labels has no hits either: any number will do.
    s.share = plan.label_counts.map_or(1.0, |counts| 1.0 / f64::from(counts[row].max(1)));
    result.sums.rows.unlabelled += u64::from(truth.is_empty());
    for (model, scores) in plan.models.iter().enumerate() {
        let (ids, values) = scores.row(row);
        if row + 1 < scores.rows() {
            // Scores are read in order, which the processor foresees; which of the labels are needed depends on them.
            scores.row_ids(row + 1).iter().step_by(IDS_PER_LINE).for_each(prefetch);
        }
        let top = &mut result.tops[model][local * kmax..(local + 1) * kmax];
        let len = top_k(ids, values, &mut s.keys, top);
        s.lens[model] = len;
        result.sums.rows.silent[model] += u64::from(len == 0);
        let (ranks, hits) = (&mut s.ranks[model], &mut s.hits[model]);
        ranks.clear();
        hits.clear();
        if kmax <= SHORT_TOP {
            result.hits[model][local * words] = match_short(truth, top, ranks, hits);
            continue;
        }
        ranks.resize(truth.len(), UNRANKED);
        for (rank, label) in top[..len].iter().enumerate() {
            if let Some(at) = position(truth, *label) {
                ranks[at] = rank as u32;
                hits.push(Hit { rank: rank as u32, at: at as u32 });
                result.hits[model][local * words + rank / 64] |= 1 << (rank % 64);
            }
        }
    }
}

/// Top lists up to this length are compared with a label as a whole.
const SHORT_TOP: usize = 8;

/// Finds the labels of a row in a short top list; gives a bit for each rank that is a hit.
#[inline(always)]
fn match_short(truth: &[u32], top: &[u32], ranks: &mut Vec<u32>, hits: &mut Vec<Hit>) -> u64 {
    let mut padded = [NONE; SHORT_TOP];
    padded[..top.len()].copy_from_slice(top);
    let mut found = 0u32;
    // At the end a place for labels that are not in the list.
    let mut at_rank = [0u32; 33];
    for (at, label) in truth.iter().enumerate() {
        let bits = padded.iter().enumerate().fold(0, |bits, (rank, other)| bits | if other == label { 1 << rank } else { 0u32 });
        found |= bits;
        at_rank[bits.trailing_zeros() as usize] = at as u32;
        ranks.push(if bits == 0 { UNRANKED } else { bits.trailing_zeros() });
    }
    let mut left = found;
    while left != 0 {
        let rank = left.trailing_zeros();
        hits.push(Hit { rank, at: at_rank[rank as usize] });
        left &= left - 1;
    }
    u64::from(found)
}

/// Where a label is in a sorted list: by scanning short ones, which is faster than searching.
#[inline(always)]
fn position(sorted: &[u32], label: u32) -> Option<usize> {
    const SHORT: usize = 24;
    if sorted.len() > SHORT {
        return sorted.binary_search(&label).ok();
    }
    // No early exit: a short list is compared whole, without a branch for each label.
    let below = sorted.iter().map(|other| usize::from(*other < label)).sum::<usize>();
    (sorted.get(below) == Some(&label)).then_some(below)
}
