//! The weights of a block of lanes or labels in few bytes.
//!
//! A block has *slots*, one for each feature with a weight that is not zero, in the order of the features; a slot has *entries*: a lane
//! and a weight. The bytes of a block, in which numbers are little-endian:
//!
//! | part | bytes | |
//! |---|---|---|
//! | head | 8 | the number of slots and of entries, u32 each |
//! | marks | 12 per 64 slots | for every 64th slot its feature, where the differences after it start, and its first entry, u32 each |
//! | differences | 1 to 5 per slot | for all other slots the feature less the one before less 1, in groups of 7 bits from the lowest on; the highest bit of a byte says that another one follows |
//! | counts | 1 per slot | how many entries it has |
//! | lanes | 1 per entry | |
//! | weights | 2 per entry | half precision |
//!
//! The bytes are taken from files as they are, so nothing may rely on them before [`Packed::check`].

use super::half::{from_half, is_finite, to_half};
use crate::error::{Error, Result};
use std::ops::Range;

/// The most lanes of a block.
pub(crate) const WIDTH: usize = 64;

/// Slots between two marks.
const MARKED: usize = 64;
const HEAD: usize = 8;
const MARK: usize = 12;

/// The weights of a block, as training hands them over.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Unpacked {
    features: Vec<u32>,
    counts: Vec<u8>,
    lanes: Vec<u8>,
    values: Vec<u16>,
    /// Whether a weight is no number, or infinite.
    overflows: bool,
}

/// The most bytes of a block of so many features and lanes, about.
pub(crate) fn most_bytes(features: u64, lanes: u64) -> u64 {
    HEAD as u64 + features * (3 * lanes + 3)
}

impl Unpacked {
    /// Adds a feature, larger than those before, with a weight for each of at most [`WIDTH`] lanes; those of at most `least` are dropped.
    pub(crate) fn push(&mut self, feature: u32, weights: &[f32], least: f32) {
        let before = self.lanes.len();
        for (lane, weight) in weights.iter().enumerate() {
            let half = to_half(*weight);
            self.overflows |= !weight.is_finite();
            if weight.abs() > least && from_half(half) != 0.0 {
                self.push_entry(lane as u8, half);
            }
        }
        self.close_slot(feature, before);
    }

    /// Adds an entry to the slot that is closed next.
    pub(crate) fn push_entry(&mut self, lane: u8, half: u16) {
        self.lanes.push(lane);
        self.values.push(half);
    }

    /// Makes a slot of the entries from `before` on, if there are any.
    pub(crate) fn close_slot(&mut self, feature: u32, before: usize) {
        let count = self.lanes.len() - before;
        if count > 0 {
            self.features.push(feature);
            self.counts.push(count as u8);
        }
    }

    /// Number of weights.
    pub(crate) fn entries(&self) -> usize {
        self.lanes.len()
    }

    /// The bytes of the block.
    pub(crate) fn pack(&self) -> Result<Vec<u8>> {
        if self.overflows {
            return Err(overflow());
        }
        // Differences take at most 5 bytes.
        if u32::try_from(self.lanes.len()).is_err() || u32::try_from(self.features.len().saturating_mul(5)).is_err() {
            return Err(Error::value("a block has too many weights").hint("drop small weights, or take fewer features"));
        }
        let (mut marks, mut differences) = (Vec::new(), Vec::with_capacity(self.features.len()));
        let (mut entry, mut before) = (0u32, 0);
        for (slot, (&feature, &count)) in self.features.iter().zip(&self.counts).enumerate() {
            if slot % MARKED == 0 {
                marks.extend([feature, differences.len() as u32, entry].into_iter().flat_map(u32::to_le_bytes));
            } else {
                let mut rest = feature - before - 1;
                while rest >= 0x80 {
                    differences.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                differences.push(rest as u8);
            }
            entry += u32::from(count);
            before = feature;
        }
        let parts = [&marks, &differences, &self.counts, &self.lanes];
        let mut bytes = Vec::with_capacity(HEAD + parts.iter().map(|part| part.len()).sum::<usize>() + 2 * self.values.len());
        bytes.extend([self.features.len() as u32, entry].into_iter().flat_map(u32::to_le_bytes));
        parts.into_iter().for_each(|part| bytes.extend_from_slice(part));
        bytes.extend(self.values.iter().flat_map(|value| value.to_le_bytes()));
        Ok(bytes)
    }
}

/// What weights are called that a file cannot hold and nothing can be predicted with.
pub(crate) fn overflow() -> Error {
    Error::value("the weights overflow")
        .expected("features and costs of moderate size")
        .hint("scale the features, or train with a smaller cost or a larger decay")
}

/// The bytes of a block, taken apart.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'a> {
    marks: &'a [[u8; MARK]],
    differences: &'a [u8],
    counts: &'a [u8],
    lanes: &'a [u8],
    values: &'a [[u8; 2]],
}

/// What a mark says.
struct Mark {
    feature: u32,
    differences: usize,
    entry: u32,
}

fn number(bytes: &[u8], place: usize) -> u32 {
    bytes[place * 4..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

impl<'a> Packed<'a> {
    /// Takes the bytes apart; none when they are too few for what the head says.
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Packed<'a>> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let (slots, entries) = (number(head, 0) as usize, number(head, 1) as usize);
        let (marks, rest) = rest.split_at_checked(slots.div_ceil(MARKED).checked_mul(MARK)?)?;
        let (rest, values) = rest.split_at_checked(rest.len().checked_sub(entries.checked_mul(2)?)?)?;
        let (rest, lanes) = rest.split_at_checked(rest.len().checked_sub(entries)?)?;
        let (differences, counts) = rest.split_at_checked(rest.len().checked_sub(slots)?)?;
        Some(Packed { marks: marks.as_chunks().0, differences, counts, lanes, values: values.as_chunks().0 })
    }

    /// Number of weights.
    pub(crate) fn entries(&self) -> usize {
        self.lanes.len()
    }

    /// Whether the block is one of so many features and lanes. All else may rely on it then.
    pub(crate) fn check(&self, features: usize, width: usize) -> bool {
        let (mut at, mut entry, mut next) = (0usize, 0u64, 0u64);
        for (slot, &count) in self.counts.iter().enumerate() {
            let feature = if slot % MARKED == 0 {
                let mark = self.mark(slot / MARKED);
                if (mark.differences, u64::from(mark.entry)) != (at, entry) {
                    return false;
                }
                u64::from(mark.feature)
            } else {
                let Some(difference) = difference_checked(self.differences, &mut at) else { return false };
                next + difference
            };
            if feature < next || feature >= features as u64 || count == 0 || usize::from(count) > width {
                return false;
            }
            next = feature + 1;
            entry += u64::from(count);
        }
        at == self.differences.len()
            && entry == self.lanes.len() as u64
            && self.lanes.iter().all(|lane| usize::from(*lane) < width)
            && self.values.iter().all(|value| is_finite(u16::from_le_bytes(*value)))
    }

    fn mark(&self, number_of: usize) -> Mark {
        let mark = &self.marks[number_of];
        Mark { feature: number(mark, 0), differences: number(mark, 1) as usize, entry: number(mark, 2) }
    }

    /// Shows each slot: its feature, its first entry and how many it has.
    #[inline(always)]
    fn for_each_slot(&self, mut show: impl FnMut(u32, u32, u8)) {
        for (number_of, counts) in self.counts.chunks(MARKED).enumerate() {
            let mark = self.mark(number_of);
            let (mut feature, mut entry, mut at) = (mark.feature, mark.entry, mark.differences);
            for (slot, &count) in counts.iter().enumerate() {
                if slot > 0 {
                    feature += difference(self.differences, &mut at) + 1;
                }
                show(feature, entry, count);
                entry += u32::from(count);
            }
        }
    }

    /// Shows each weight: its feature, its lane, and itself.
    pub(crate) fn for_each(&self, mut show: impl FnMut(u32, usize, f32)) {
        self.for_each_slot(|feature, entry, count| {
            let entries = entry as usize..entry as usize + usize::from(count);
            for (lane, value) in self.lanes[entries.clone()].iter().zip(&self.values[entries]) {
                show(feature, usize::from(*lane), from_half(u16::from_le_bytes(*value)));
            }
        });
    }

    /// Spreads the block out: worth its while for several rows.
    pub(crate) fn spread(&self, lookup: &mut Lookup) {
        if lookup.stamp == LAST_STAMP {
            lookup.slots.fill(0);
            lookup.stamp = 0;
        }
        lookup.stamp += 1;
        let stamp = u64::from(lookup.stamp) << 8;
        self.for_each_slot(|feature, entry, count| {
            lookup.slots[feature as usize] = u64::from(entry) << 32 | stamp | u64::from(count);
        });
    }

    /// Adds a row's products with the weights to the sums of the lanes, after [`Packed::spread`].
    #[inline]
    pub(crate) fn add_spread(&self, lookup: &Lookup, features: &[u32], values: &[f32], sums: &mut [f32; WIDTH]) {
        for (&feature, &value) in features.iter().zip(values) {
            let slot = lookup.slots[feature as usize];
            if slot as u32 >> 8 == lookup.stamp {
                let start = (slot >> 32) as usize;
                self.add(start..start + usize::from(slot as u8), value, sums);
            }
        }
    }

    /// The same for a single row, whose features ascend: each is searched from the mark on where the one before it was found.
    pub(crate) fn add_searched(&self, features: &[u32], values: &[f32], sums: &mut [f32; WIDTH]) {
        let mut from = 0;
        for (&feature, &value) in features.iter().zip(values) {
            let first = |number_of: usize| number(&self.marks[number_of], 0);
            // Steps of twice the length lead beyond it, halving finds the last mark that is not.
            let mut step = 1;
            while from + step < self.marks.len() && first(from + step) <= feature {
                step *= 2;
            }
            let until = self.marks.len().min(from + step);
            let ahead = self.marks[from..until].partition_point(|mark| number(mark, 0) <= feature);
            if ahead == 0 {
                continue;
            }
            from += ahead - 1;
            let mark = self.mark(from);
            let (mut id, mut entry, mut at) = (mark.feature, mark.entry, mark.differences);
            for (slot, &count) in self.counts.iter().skip(from * MARKED).take(MARKED).enumerate() {
                if slot > 0 {
                    id += difference(self.differences, &mut at) + 1;
                }
                if id >= feature {
                    if id == feature {
                        self.add(entry as usize..entry as usize + usize::from(count), value, sums);
                    }
                    break;
                }
                entry += u32::from(count);
            }
        }
    }

    #[inline(always)]
    fn add(&self, entries: Range<usize>, value: f32, sums: &mut [f32; WIDTH]) {
        for (&lane, &weight) in self.lanes[entries.clone()].iter().zip(&self.values[entries]) {
            sums[usize::from(lane) % WIDTH] += value * from_half(u16::from_le_bytes(weight));
        }
    }
}

/// The difference at a place, which moves on behind it.
#[inline(always)]
fn difference(bytes: &[u8], at: &mut usize) -> u32 {
    let mut byte = bytes[*at];
    *at += 1;
    let mut number = u32::from(byte & 0x7f);
    let mut shift = 7;
    while byte >= 0x80 {
        byte = bytes[*at];
        *at += 1;
        number |= u32::from(byte & 0x7f) << shift;
        shift += 7;
    }
    number
}

/// The same where nothing is known about the bytes; none when they end, or when the number has more than 32 bits.
fn difference_checked(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for shift in [0, 7, 14, 21, 28] {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return (number <= u64::from(u32::MAX)).then_some(number);
        }
    }
    None
}

/// Stamps have 24 bits.
const LAST_STAMP: u32 = (1 << 24) - 1;

/// Room to look features up in.
pub(crate) struct Lookup {
    /// For each feature, from the highest bits on: its first entry (32 bits) in the last block that was spread out here and has it, the
    /// stamp of that block (24), and how many entries there are (8).
    slots: Vec<u64>,
    stamp: u32,
}

impl Lookup {
    pub(crate) fn new(features: usize) -> Lookup {
        Lookup { slots: vec![0; features], stamp: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of 40 lanes and 500 features, of which some have no weights.
    fn block() -> Unpacked {
        let mut block = Unpacked::default();
        for feature in (0..70_000u32).filter(|feature| feature % 3 != 1 && (*feature < 400 || feature % 1000 == 0)) {
            let weight = |lane: u32| if (feature + lane).is_multiple_of(7) { (feature + lane) as f32 / 100.0 } else { 0.0 };
            block.push(feature, &(0..40).map(weight).collect::<Vec<f32>>(), 0.05);
        }
        block
    }

    #[test]
    fn weights_come_back_and_small_ones_do_not() {
        let bytes = block().pack().unwrap();
        let packed = Packed::of(&bytes).unwrap();
        assert!(packed.check(70_000, 40));
        let mut found = Vec::new();
        packed.for_each(|feature, lane, weight| found.push((feature, lane, weight)));
        assert_eq!((found.len(), packed.entries()), (block().entries(), block().entries()));
        assert!(found.is_sorted_by_key(|entry| (entry.0, entry.1)));
        for (feature, lane, weight) in found {
            let exact = (feature + lane as u32) as f32 / 100.0;
            assert!(exact > 0.05 && (weight - exact).abs() <= exact / 2048.0, "{feature} {lane}: {weight}");
        }
        let empty = Unpacked::default().pack().unwrap();
        assert!(Packed::of(&empty).unwrap().check(0, 1));
    }

    #[test]
    fn weights_that_are_no_numbers_are_not_packed() {
        for weight in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut block = block();
            block.push(80_000, &[1.0, weight], 0.5);
            assert!(block.pack().unwrap_err().to_string().starts_with("the weights overflow"), "{weight}");
        }
    }

    #[test]
    fn looking_up_and_searching_add_the_same() {
        let bytes = block().pack().unwrap();
        let packed = Packed::of(&bytes).unwrap();
        let mut lookup = Lookup::new(70_000);
        packed.spread(&mut lookup);
        for step in [1usize, 2, 5, 17, 99, 499, 1000] {
            let features: Vec<u32> = (0..70_000).step_by(step).collect();
            let values: Vec<f32> = features.iter().map(|feature| (*feature as f32).cos()).collect();
            let (mut spread, mut searched) = ([0.0; WIDTH], [0.0; WIDTH]);
            packed.add_spread(&lookup, &features, &values, &mut spread);
            packed.add_searched(&features, &values, &mut searched);
            assert_eq!(spread, searched);
            assert!(spread.iter().any(|sum| *sum != 0.0));
        }
    }

    /// What passes the check can be used without a panic, whatever it is.
    #[test]
    fn broken_bytes_are_rejected_or_harmless() {
        let bytes = block().pack().unwrap();
        assert!(!Packed::of(&bytes).unwrap().check(69_000, 40) && !Packed::of(&bytes).unwrap().check(70_000, 39));
        let mut lookup = Lookup::new(70_000);
        let mut rejected = 0;
        let broken = (0..bytes.len()).map(|place| {
            let mut broken = bytes.clone();
            broken[place] ^= 1 << (place % 8);
            broken
        });
        for broken in broken.chain((0..bytes.len()).map(|length| bytes[..length].to_vec())) {
            let Some(packed) = Packed::of(&broken).filter(|packed| packed.check(70_000, 40)) else {
                rejected += 1;
                continue;
            };
            packed.spread(&mut lookup);
            packed.add_spread(&lookup, &[0, 5, 69_000], &[1.0; 3], &mut [0.0; WIDTH]);
            packed.add_searched(&[0, 5, 69_000], &[1.0; 3], &mut [0.0; WIDTH]);
            packed.for_each(|_, _, _| {});
        }
        assert!(rejected > bytes.len());
    }

    #[test]
    fn features_that_need_many_bits_are_kept() {
        let mut block = Unpacked::default();
        for feature in [0, 1, 128, 129, 17_000, 3_000_000, u32::MAX - 1] {
            block.push(feature, &[1.0], 0.0);
        }
        let bytes = block.pack().unwrap();
        let packed = Packed::of(&bytes).unwrap();
        assert!(packed.check(u32::MAX as usize, 1) && !packed.check(u32::MAX as usize - 1, 1));
        let mut found = Vec::new();
        packed.for_each(|feature, _, _| found.push(feature));
        assert_eq!(found, [0, 1, 128, 129, 17_000, 3_000_000, u32::MAX - 1]);
    }
}
