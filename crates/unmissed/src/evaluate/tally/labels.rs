//! Whole numbers by label: how often it was predicted and hit at each rank, and how often it is positive.
//!
//! Memory grows with the labels that are predicted or positive, not with all labels. Counts add, so tallies of parts merge
//! exactly.

use crate::top_k::NONE;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::ops::Range;

/// Predictions and hits of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::evaluate) struct LabelTally {
    /// Labels that are in some top list, ascending.
    pub(in crate::evaluate) ids: Vec<u32>,
    /// Where the entries of each label start, and at the end their number.
    pub(in crate::evaluate) offsets: Vec<u64>,
    /// Ranks, ascending within a label.
    pub(in crate::evaluate) ranks: Vec<u32>,
    /// Rows that have the label at this rank.
    pub(in crate::evaluate) predicted: Vec<u32>,
    /// Of these, rows that have it observed.
    pub(in crate::evaluate) hits: Vec<u32>,
}

/// Up to this many labels are counted; more of them, or ranks that do not fit into 15 bits, go by sorting.
const MOST_LABELS: usize = 1 << 25;
/// Labels are counted in ranges, in parallel; each goes over all rows, so more ranges than threads gain nothing. Counts are whole
/// numbers: the result is the same for any number of ranges.
fn ranges() -> usize {
    rayon::current_num_threads().clamp(1, 16)
}

/// A counter for each label and rank is the fastest, as long as there are not many more counters than there is to count.
const COUNTERS_PER_ENTRY: usize = 4;

impl LabelTally {
    /// Counts top lists: `kmax` labels per row, and a word of hits for each 64 of them.
    pub(in crate::evaluate) fn count(labels: usize, kmax: usize, tops: &[&[u32]], hits: &[&[u64]]) -> LabelTally {
        // Places in the lists have 32 bits: more than fit are counted one part after the other.
        let mut counted: Option<LabelTally> = None;
        let (mut first, mut entries) = (0, 0u64);
        for (place, top) in tops.iter().enumerate() {
            if entries + top.len() as u64 > u64::from(u32::MAX) {
                let part = LabelTally::count_part(labels, kmax, &tops[first..place], &hits[first..place]);
                counted = Some(counted.map_or(part.clone(), |all| all.merge(&part)));
                (first, entries) = (place, 0);
            }
            entries += top.len() as u64;
        }
        let part = LabelTally::count_part(labels, kmax, &tops[first..], &hits[first..]);
        match counted {
            None => part,
            Some(all) => all.merge(&part),
        }
    }

    fn count_part(labels: usize, kmax: usize, tops: &[&[u32]], hits: &[&[u64]]) -> LabelTally {
        let mut parts: Vec<LabelTally> = if labels <= MOST_LABELS && kmax < 1 << 15 {
            let size = labels.div_ceil(ranges()).max(1);
            let range = |part: usize| (part * size).min(labels)..((part + 1) * size).min(labels);
            let entries: usize = tops.iter().map(|top| top.len()).sum();
            let count = if labels * kmax <= COUNTERS_PER_ENTRY * entries { count_range } else { sort_range };
            (0..labels.div_ceil(size)).into_par_iter().map(|part| count(range(part), kmax, tops, hits)).collect()
        } else {
            vec![count_sorted(kmax, tops, hits)]
        };
        if parts.len() == 1 {
            return parts.swap_remove(0);
        }
        let mut all = LabelTally::new();
        let total = parts.iter().map(|part| part.ranks.len()).sum();
        [&mut all.ranks, &mut all.predicted, &mut all.hits].into_iter().for_each(|list| list.reserve_exact(total));
        for part in parts {
            let base = all.ranks.len() as u64;
            all.ids.extend(part.ids);
            all.offsets.extend(part.offsets[1..].iter().map(|offset| offset + base));
            all.ranks.extend(part.ranks);
            all.predicted.extend(part.predicted);
            all.hits.extend(part.hits);
        }
        all
    }

    /// The entries of the label at a place: (rank, predicted, hits).
    pub(in crate::evaluate) fn entries(&self, place: usize) -> impl Iterator<Item = (u32, u32, u32)> {
        self.range(place).map(|at| (self.ranks[at], self.predicted[at], self.hits[at]))
    }

    fn push(&mut self, label: u32, rank: u32, predicted: u32, hits: u32) {
        if self.ids.last() != Some(&label) {
            self.ids.push(label);
            self.offsets.push(self.ranks.len() as u64);
        }
        self.ranks.push(rank);
        self.predicted.push(predicted);
        self.hits.push(hits);
        if let Some(end) = self.offsets.last_mut() {
            *end = self.ranks.len() as u64;
        }
    }

    fn new() -> LabelTally {
        LabelTally { offsets: vec![0], ..LabelTally::default() }
    }

    /// The sum of two tallies.
    pub(in crate::evaluate) fn merge(&self, other: &LabelTally) -> LabelTally {
        let mut merged = LabelTally::new();
        let (labels, entries) = (self.ids.len() + other.ids.len(), self.ranks.len() + other.ranks.len());
        merged.ids.reserve(labels);
        merged.offsets.reserve(labels);
        [&mut merged.ranks, &mut merged.predicted, &mut merged.hits].into_iter().for_each(|list| list.reserve(entries));
        let (mut i, mut j) = (0, 0);
        while i < self.ids.len() || j < other.ids.len() {
            let left = self.ids.get(i).copied().unwrap_or(NONE);
            let right = other.ids.get(j).copied().unwrap_or(NONE);
            merged.ids.push(left.min(right));
            // Labels are smaller than `NONE`: a tally at its end is never the smaller one.
            match left.cmp(&right) {
                Ordering::Less => merged.copy(self, self.range(i)),
                Ordering::Greater => merged.copy(other, other.range(j)),
                Ordering::Equal => merged.add_ranks((self, self.range(i)), (other, other.range(j))),
            }
            i += usize::from(left <= right);
            j += usize::from(right <= left);
            merged.offsets.push(merged.ranks.len() as u64);
        }
        // What the labels of both share was counted twice.
        merged.shrink();
        merged
    }

    /// Adds another tally, in place where both have the same labels at the same ranks, as parts of many rows do.
    pub(in crate::evaluate) fn add(&mut self, other: &LabelTally) {
        if self.ids.is_empty() {
            self.clone_from(other);
            return;
        }
        if (&self.ids, &self.offsets, &self.ranks) != (&other.ids, &other.offsets, &other.ranks) {
            *self = self.merge(other);
            return;
        }
        let add = |ours: &mut Vec<u32>, theirs: &[u32]| {
            ours.iter_mut().zip(theirs).for_each(|(count, more)| *count = count.saturating_add(*more));
        };
        add(&mut self.predicted, &other.predicted);
        add(&mut self.hits, &other.hits);
    }

    /// Gives back what was reserved and not needed.
    fn shrink(&mut self) {
        self.ids.shrink_to_fit();
        self.offsets.shrink_to_fit();
        [&mut self.ranks, &mut self.predicted, &mut self.hits].into_iter().for_each(Vec::shrink_to_fit);
    }

    fn range(&self, place: usize) -> Range<usize> {
        self.offsets[place] as usize..self.offsets[place + 1] as usize
    }

    fn copy(&mut self, from: &LabelTally, range: Range<usize>) {
        self.ranks.extend_from_slice(&from.ranks[range.clone()]);
        self.predicted.extend_from_slice(&from.predicted[range.clone()]);
        self.hits.extend_from_slice(&from.hits[range]);
    }

    /// The entries of a label that both have.
    fn add_ranks(&mut self, (a, mut of_a): (&LabelTally, Range<usize>), (b, mut of_b): (&LabelTally, Range<usize>)) {
        while !of_a.is_empty() && !of_b.is_empty() {
            let (i, j) = (of_a.start, of_b.start);
            let (left, right) = (a.ranks[i], b.ranks[j]);
            let (in_a, in_b) = (u32::from(left <= right), u32::from(right <= left));
            self.ranks.push(left.min(right));
            // Counts of rows, of which there are fewer than 2^32.
            self.predicted.push((a.predicted[i] * in_a).saturating_add(b.predicted[j] * in_b));
            self.hits.push((a.hits[i] * in_a).saturating_add(b.hits[j] * in_b));
            of_a.start += in_a as usize;
            of_b.start += in_b as usize;
        }
        self.copy(a, of_a);
        self.copy(b, of_b);
    }
}

fn hit(words: &[u64], row: usize, rank: usize, kmax: usize) -> bool {
    words[row * kmax.div_ceil(64) + rank / 64] >> (rank % 64) & 1 == 1
}

/// Counts with a counter for each (label, rank, hit or not).
fn count_range(range: Range<usize>, kmax: usize, tops: &[&[u32]], hits: &[&[u64]]) -> LabelTally {
    let (start, size, words) = (range.start as u32, range.len() as u32, kmax.div_ceil(64));
    let mut counters = vec![[0u32; 2]; range.len() * kmax];
    for (tops, hits) in tops.iter().zip(hits) {
        for (top, hits) in tops.chunks_exact(kmax).zip(hits.chunks_exact(words)) {
            for (rank, label) in top.iter().enumerate() {
                let place = label.wrapping_sub(start);
                if place < size {
                    let is_hit = hits[rank / 64] >> (rank % 64) & 1;
                    counters[place as usize * kmax + rank][is_hit as usize] += 1;
                }
            }
        }
    }
    let mut tally = LabelTally::new();
    // As many of these as there are counters: mostly too many, but untouched memory is not there yet.
    [&mut tally.ranks, &mut tally.predicted, &mut tally.hits].into_iter().for_each(|list| list.reserve_exact(counters.len()));
    for (label, ranks) in (start..).zip(counters.chunks_exact(kmax)) {
        for (rank, [misses, hits]) in (0u32..).zip(ranks).filter(|(_, counts)| **counts != [0, 0]) {
            tally.push(label, rank, misses + hits, *hits);
        }
    }
    tally
}

/// Counting sort by label; what is left to count at a label is a few codes of rank and hit.
fn sort_range(range: Range<usize>, kmax: usize, tops: &[&[u32]], hits: &[&[u64]]) -> LabelTally {
    let (start, size) = (range.start as u32, range.len() as u32);
    // Where the codes of each label end, at first; then, as they are put in from behind, where they start.
    let mut cursors = vec![0u32; range.len() + 1];
    for label in tops.iter().copied().flatten() {
        let place = label.wrapping_sub(start);
        if place < size {
            cursors[place as usize] += 1;
        }
    }
    let mut total = 0;
    for cursor in &mut cursors {
        total += *cursor;
        *cursor = total;
    }
    let mut codes = vec![0u16; total as usize];
    let words = kmax.div_ceil(64);
    for (tops, hits) in tops.iter().zip(hits) {
        for (top, hits) in tops.chunks_exact(kmax).zip(hits.chunks_exact(words)) {
            for (rank, label) in top.iter().enumerate() {
                let place = label.wrapping_sub(start);
                if place < size {
                    let cursor = &mut cursors[place as usize];
                    *cursor -= 1;
                    codes[*cursor as usize] = (rank << 1) as u16 | (hits[rank / 64] >> (rank % 64) & 1) as u16;
                }
            }
        }
    }
    let mut tally = LabelTally::new();
    // As many of these as there are codes: mostly too many, but untouched memory is not there yet.
    [&mut tally.ranks, &mut tally.predicted, &mut tally.hits].into_iter().for_each(|list| list.reserve_exact(codes.len()));
    for (place, pair) in cursors.windows(2).enumerate() {
        let codes = &mut codes[pair[0] as usize..pair[1] as usize];
        codes.sort_unstable();
        for same in codes.chunk_by(|a, b| a >> 1 == b >> 1) {
            let hits = same.iter().filter(|code| **code & 1 == 1).count();
            tally.push(start + place as u32, u32::from(same[0] >> 1), same.len() as u32, hits as u32);
        }
    }
    tally
}

fn count_sorted(kmax: usize, tops: &[&[u32]], hits: &[&[u64]]) -> LabelTally {
    let mut entries: Vec<(u32, u32, bool)> = Vec::new();
    for (tops, hits) in tops.iter().zip(hits) {
        for (row, top) in tops.chunks_exact(kmax).enumerate() {
            let stored = top.iter().enumerate().filter(|(_, label)| **label != NONE);
            entries.extend(stored.map(|(rank, label)| (*label, rank as u32, hit(hits, row, rank, kmax))));
        }
    }
    entries.par_sort_unstable();
    let mut tally = LabelTally::new();
    for same in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        tally.push(same[0].0, same[0].1, same.len() as u32, same.iter().filter(|e| e.2).count() as u32);
    }
    tally
}

/// How often each label is positive.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::evaluate) struct Positives {
    /// Labels that are, ascending.
    pub(in crate::evaluate) ids: Vec<u32>,
    pub(in crate::evaluate) counts: Vec<u64>,
}

impl Positives {
    /// Counts labels, of which there are `labels`.
    pub(in crate::evaluate) fn count(labels: usize, ids: &[u32]) -> Positives {
        let (ids, counts) = if labels <= 8 * ids.len() + (1 << 20) {
            let size = labels.div_ceil(ranges()).max(1);
            let count = |part: usize| {
                let (start, end) = ((part * size).min(labels), ((part + 1) * size).min(labels));
                let mut counters = vec![0u32; end - start];
                for id in ids {
                    if let Some(counter) = counters.get_mut((*id as usize).wrapping_sub(start)) {
                        *counter += 1;
                    }
                }
                let present = counters.into_iter().zip(start as u32..).filter(|(count, _)| *count > 0);
                present.map(|(count, id)| (id, u64::from(count))).collect::<Vec<_>>()
            };
            let parts: Vec<Vec<(u32, u64)>> = (0..labels.div_ceil(size)).into_par_iter().map(count).collect();
            parts.into_iter().flatten().unzip()
        } else {
            let mut sorted = ids.to_vec();
            sorted.par_sort_unstable();
            sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).unzip()
        };
        Positives { ids, counts }
    }

    /// All of them together.
    pub(in crate::evaluate) fn total(&self) -> u64 {
        self.counts.iter().copied().fold(0, u64::saturating_add)
    }

    /// The sum of two.
    pub(in crate::evaluate) fn merge(&self, other: &Positives) -> Positives {
        let mut merged = Positives { ids: Vec::with_capacity(self.ids.len()), counts: Vec::with_capacity(self.ids.len()) };
        let (mut i, mut j) = (0, 0);
        while i < self.ids.len() || j < other.ids.len() {
            let left = self.ids.get(i).copied().unwrap_or(NONE);
            let right = other.ids.get(j).copied().unwrap_or(NONE);
            let of_left = if left <= right { self.counts[i] } else { 0 };
            let of_right = if right <= left { other.counts[j] } else { 0 };
            merged.ids.push(left.min(right));
            merged.counts.push(of_left.saturating_add(of_right));
            i += usize::from(left <= right);
            j += usize::from(right <= left);
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_of_counting_agree_and_parts_merge() {
        let tops: Vec<u32> = (0..300u32).map(|i| if i % 7 == 0 { NONE } else { i * i % 23 }).collect();
        let hits: Vec<u64> = (0..100).map(|row| row % 8).collect();
        let dense = LabelTally::count(23, 3, &[&tops], &[&hits]);
        assert_eq!(dense, count_sorted(3, &[&tops], &[&hits]));
        assert_eq!(dense, sort_range(0..23, 3, &[&tops], &[&hits]));
        let first = LabelTally::count(23, 3, &[&tops[..150]], &[&hits[..50]]);
        let second = LabelTally::count(23, 3, &[&tops[150..]], &[&hits[50..]]);
        assert_eq!(first.merge(&second), dense);
        let mut twice = dense.clone();
        twice.add(&dense);
        assert_eq!(twice, dense.merge(&dense));
        let mut parts = first.clone();
        parts.add(&second);
        assert_eq!(parts, dense);
        assert_eq!(LabelTally::count(23, 3, &[&tops[..150], &tops[150..]], &[&hits[..50], &hits[50..]]), dense);
        let ids = [3u32, 1, 3, 9];
        assert_eq!(Positives::count(10, &ids), Positives::count(10, &ids[..2]).merge(&Positives::count(10, &ids[2..])));
    }
}
