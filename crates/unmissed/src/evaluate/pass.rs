//! The one pass over the rows: selects the top k of each row once and sums the row terms of every cell.
//!
//! Rows go in chunks of [`CHUNK`] by their absolute number. The sums of a chunk depend on its rows alone and are kept apart until
//! the finish adds them in order, so the result is the same to the last bit for any number of threads, and for any number of
//! shards, whose borders lie between chunks.

use super::layout::{Layout, ROWS, UNLABELLED};
use super::row_terms::sum_groups;
use super::select::{NONE, top_k};
use super::settings::{Settings, Term};
use super::table::{BLOCK, Table};
use crate::data::{Csr, Labels};
use crate::metrics::UNRANKED;

/// Rows in a chunk. A part of the tally format.
pub const CHUNK: usize = 4096;

/// Rows whose labels are looked up together.
const BATCH: usize = 32;

/// What the pass needs to know.
pub(super) struct Plan<'a> {
    pub(super) settings: &'a Settings,
    pub(super) terms: Vec<Term>,
    pub(super) layout: Layout,
    pub(super) table: &'a Table,
    pub(super) truth: &'a Labels<'a>,
    pub(super) models: Vec<&'a Csr<'a, f32>>,
    pub(super) shown: Option<&'a Labels<'a>>,
    /// How many relevant labels each row has, when that is given.
    pub(super) label_counts: Option<&'a [u32]>,
    /// For a set shown without replacement: the estimate of abandonment by the number of hits.
    pub(super) abandonment: Option<Vec<f64>>,
    pub(super) needs_best: bool,
    pub(super) mask: bool,
    /// The lane of the propensities when there is one set of them.
    pub(super) only_lane: Option<usize>,
}

/// What a chunk yields.
pub(super) struct ChunkResult {
    pub(super) sums: Vec<f64>,
    /// For each model, as many labels a row as top lists are long; open slots are [`NONE`].
    pub(super) tops: Vec<Vec<u32>>,
    /// For each model, a word for each 64 slots of a row: bit r says that the label at rank r is observed.
    pub(super) hits: Vec<Vec<u64>>,
}

/// A relevant label in the top list.
#[derive(Clone, Copy)]
pub(super) struct Hit {
    pub(super) rank: u32,
    /// Place among the row's labels.
    pub(super) at: u32,
}

/// Buffers that are reused from row to row.
#[derive(Default)]
pub(super) struct Scratch {
    keys: Vec<u64>,
    /// Labels of the rows of the batch, sorted within each row.
    batch: Vec<u32>,
    /// Places in the table of these labels.
    batch_places: Vec<usize>,
    /// Lanes of these labels.
    pub(super) lanes: Vec<f64>,
    /// Where the labels of the row at hand start in the batch.
    pub(super) start: usize,
    /// Where those of the next row do.
    next: usize,
    /// Places in the table of the row's labels.
    pub(super) places: Vec<usize>,
    /// Ranks of the row's labels, by model.
    pub(super) ranks: Vec<Vec<u32>>,
    pub(super) hits: Vec<Vec<Hit>>,
    lens: Vec<usize>,
    /// 1 divided by the row's given number of relevant labels; 1 when none are given.
    share: f64,
    /// All labels of the row, as places among the row's labels.
    pub(super) everybody: Vec<u32>,
    /// Labels of the group at hand, as places among the row's labels.
    pub(super) members: Vec<u32>,
    /// Hits of the group at hand, by model.
    pub(super) group_hits: Vec<Vec<Hit>>,
    /// Where the lanes of the group's labels start, in the order of the table.
    pub(super) order: Vec<u64>,
    pub(super) best: Vec<[f64; BLOCK]>,
    /// Row terms by (model, term, k, lane).
    pub(super) terms: Vec<f64>,
    pub(super) sets: super::sets::SetScratch,
}

impl Scratch {
    /// What the row's sums are multiplied with.
    #[inline(always)]
    pub(super) fn factor(&self, by_relevant: bool) -> f64 {
        if by_relevant { self.share } else { 1.0 }
    }
}

impl Plan<'_> {
    /// Rows of a chunk.
    pub(super) fn rows(&self, chunk: usize) -> std::ops::Range<usize> {
        chunk * CHUNK..((chunk + 1) * CHUNK).min(self.truth.rows())
    }

    /// Words that hold the hits of one row.
    pub(super) fn words(&self) -> usize {
        self.settings.depth.div_ceil(64)
    }

    /// Where the row terms of (model, term, k) are among those of the row.
    #[inline(always)]
    pub(super) fn term_at(&self, model: usize, term: usize, k: usize) -> usize {
        ((model * self.terms.len() + term) * self.settings.ks.len() + k) * self.layout.width
    }

    /// Runs one chunk.
    pub(super) fn run(&self, chunk: usize) -> ChunkResult {
        run_chunk(self, chunk)
    }
}

/// Compiled for several instruction sets, of which the best that the processor has is taken at run time.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn run_chunk(plan: &Plan<'_>, chunk: usize) -> ChunkResult {
    let (rows, kmax, words) = (plan.rows(chunk), plan.settings.depth, plan.words());
    let models = plan.models.len();
    let mut result = ChunkResult {
        sums: vec![0.0; plan.layout.len()],
        tops: vec![vec![NONE; rows.len() * kmax]; models],
        hits: vec![vec![0; rows.len() * words]; models],
    };
    let mut scratch = Scratch {
        ranks: vec![Vec::new(); models],
        hits: vec![Vec::new(); models],
        group_hits: vec![Vec::new(); models],
        lens: vec![0; models],
        terms: vec![0.0; models * plan.terms.len() * plan.settings.ks.len() * plan.layout.width],
        ..Scratch::default()
    };
    let first = rows.start;
    for row in rows {
        if (row - first).is_multiple_of(BATCH) {
            gather(plan, row..(row + BATCH).min(plan.rows(chunk).end), &mut scratch);
        }
        select_and_match(plan, row, row - first, &mut scratch, &mut result);
        let local = row - first;
        let ChunkResult { sums, tops, .. } = &mut result;
        sum_groups(plan, &mut scratch, sums, |s, group, sums| {
            if plan.shown.is_some() {
                let top = |model: usize| &tops[model][local * kmax..local * kmax + s.lens[model]];
                let tops: Vec<&[u32]> = (0..models).map(top).collect();
                super::hajek::sum_row(plan, row, &tops, group, &s.terms, sums);
            }
        });
    }
    result
}

/// Copies the lanes of all labels of the next rows. They are anywhere in memory, and loads that do not wait for each other
/// overlap: one by one, when they are needed, they would take most of the time of the pass.
#[inline(always)]
fn gather(plan: &Plan<'_>, rows: std::ops::Range<usize>, s: &mut Scratch) {
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
    s.lanes.resize(s.batch.len() * width, 0.0);
    for (place, into) in s.batch_places.iter().zip(s.lanes.chunks_exact_mut(width)) {
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
    result.sums[plan.layout.counter(ROWS)] += 1.0;
    result.sums[plan.layout.counter(UNLABELLED)] += f64::from(u8::from(truth.is_empty()));
    for (model, scores) in plan.models.iter().enumerate() {
        let (ids, values) = scores.row(row);
        let top = &mut result.tops[model][local * kmax..(local + 1) * kmax];
        let len = top_k(ids, values, &mut s.keys, top);
        s.lens[model] = len;
        result.sums[plan.layout.silent(model)] += f64::from(u8::from(len == 0));
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
