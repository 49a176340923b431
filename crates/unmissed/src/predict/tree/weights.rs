//! The weights of all nodes of a model's trees.
//!
//! The lanes of a node are in blocks of at most [`WIDTH`]. A block has *slots*, one for each feature with a weight that is not zero, in
//! the order of the features; a slot has *entries*: a lane, in one byte, and a weight of half precision. All of them lie one after
//! the other in a few arrays, as in the file.

use super::arrays::Array;
use super::half::{from_half, is_finite, to_half};
use crate::error::{Error, Result};
use crate::tree::Tree;
use rayon::prelude::*;
use std::ops::Range;

/// The most lanes of a block.
pub(crate) const WIDTH: usize = 64;

/// Slots between two marks.
const MARKED: usize = 32;

/// The lanes of a node, counted from its first, in blocks.
pub(crate) fn blocks_of(lanes: usize) -> impl Iterator<Item = Range<usize>> {
    let each = lanes.div_ceil(lanes.div_ceil(WIDTH).max(1)).max(1);
    (0..lanes).step_by(each).map(move |first| first..lanes.min(first + each))
}

/// The weights of a block, as training hands them over.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BlockWeights {
    /// What is added to the score of each lane.
    pub(crate) bias: Vec<f32>,
    pub(crate) features: Vec<u32>,
    pub(crate) counts: Vec<u8>,
    pub(crate) lanes: Vec<u8>,
    pub(crate) values: Vec<u16>,
}

impl BlockWeights {
    /// Adds a feature with a weight for each lane, of which those of at most `least` are dropped.
    pub(crate) fn push(&mut self, feature: u32, weights: &[f32], least: f32) {
        let before = self.lanes.len();
        for (lane, weight) in weights.iter().enumerate() {
            let half = to_half(*weight);
            if weight.abs() > least && from_half(half) != 0.0 {
                self.lanes.push(lane as u8);
                self.values.push(half);
            }
        }
        let count = self.lanes.len() - before;
        if count > 0 {
            self.features.push(feature);
            self.counts.push(count as u8);
        }
    }
}

/// The arrays. See the module's page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weights {
    /// One for each lane of all trees.
    pub(crate) bias: Array<f32>,
    /// The first slot of each block, and at the end the number of slots.
    pub(crate) slots: Array<u64>,
    /// The first entry of each block, and at the end the number of entries.
    pub(crate) entries: Array<u64>,
    pub(crate) features: Array<u32>,
    pub(crate) counts: Array<u8>,
    pub(crate) lanes: Array<u8>,
    pub(crate) values: Array<u16>,
    /// For every [`MARKED`]-th slot of a block its first entry, counted from the block's first; and where the marks of each block are.
    marks: Vec<u32>,
    mark_starts: Vec<usize>,
}

impl Weights {
    /// Checks that the arrays are weights of these trees, over so many features.
    pub(crate) fn new(
        trees: &[Tree],
        features_count: usize,
        [slots, entries]: [Array<u64>; 2],
        (bias, features): (Array<f32>, Array<u32>),
        [counts, lanes]: [Array<u8>; 2],
        values: Array<u16>,
    ) -> Result<Weights> {
        let broken = |what: &str| Error::value(format!("the weights are not those of the trees: {what}"));
        let widths: Vec<usize> = trees
            .iter()
            .flat_map(|tree| (0..tree.nodes()).flat_map(|node| blocks_of(tree.lanes(node).len()).map(|block| block.len())))
            .collect();
        if bias.len() != trees.iter().map(|tree| tree.ends().len()).sum::<usize>() || !bias.iter().all(|bias| bias.is_finite()) {
            return Err(broken("not a finite bias for each lane"));
        }
        let runs = |starts: &[u64], total: usize| {
            starts.len() == widths.len() + 1
                && starts[0] == 0
                && starts[widths.len()] == total as u64
                && starts.windows(2).all(|pair| pair[0] <= pair[1])
        };
        if !runs(&slots, features.len()) || counts.len() != features.len() {
            return Err(broken("slots of blocks"));
        }
        if !runs(&entries, lanes.len()) || values.len() != lanes.len() {
            return Err(broken("entries of blocks"));
        }
        let marks_of = |(block, &width): (usize, &usize)| -> Result<Vec<u32>> {
            let (own_slots, own) = (range(&slots, block), range(&entries, block));
            let ids = &features[own_slots.clone()];
            if !ids.windows(2).all(|pair| pair[0] < pair[1]) || ids.last().is_some_and(|last| *last as usize >= features_count) {
                return Err(broken("features of a block"));
            }
            let (mut at, mut marks) = (0u64, Vec::with_capacity(ids.len().div_ceil(MARKED)));
            for (slot, &count) in counts[own_slots].iter().enumerate() {
                if count == 0 || usize::from(count) > width {
                    return Err(broken("entries of a slot"));
                }
                if slot % MARKED == 0 {
                    marks.push(u32::try_from(at).map_err(|_| broken("a block has too many entries"))?);
                }
                at += u64::from(count);
            }
            if at != own.len() as u64 || u32::try_from(at).is_err() {
                return Err(broken("entries of a block"));
            }
            if !lanes[own.clone()].iter().all(|lane| usize::from(*lane) < width)
                || !values[own].iter().all(|value| is_finite(*value))
            {
                return Err(broken("lanes or weights of a block"));
            }
            Ok(marks)
        };
        let made = widths.par_iter().enumerate().with_min_len(16).map(marks_of).collect::<Result<Vec<_>>>()?;
        let (mut marks, mut mark_starts) = (Vec::new(), Vec::with_capacity(widths.len()));
        for of_block in made {
            mark_starts.push(marks.len());
            marks.extend(of_block);
        }
        Ok(Weights { bias, slots, entries, features, counts, lanes, values, marks, mark_starts })
    }

    /// The arrays of blocks in the order of trees, nodes and lanes.
    pub(crate) fn of_blocks(trees: &[Tree], features: usize, blocks: impl IntoIterator<Item = BlockWeights>) -> Result<Weights> {
        let mut all = BlockWeights::default();
        let (mut slots, mut entries) = (vec![0u64], vec![0u64]);
        for block in blocks {
            all.bias.extend(block.bias);
            all.features.extend(block.features);
            all.counts.extend(block.counts);
            all.lanes.extend(block.lanes);
            all.values.extend(block.values);
            slots.push(all.features.len() as u64);
            entries.push(all.lanes.len() as u64);
        }
        let BlockWeights { bias, features: ids, counts, lanes, values } = all;
        let starts = [slots.into(), entries.into()];
        Weights::new(trees, features, starts, (bias.into(), ids.into()), [counts.into(), lanes.into()], values.into())
    }

    /// Bytes of all arrays.
    pub(crate) fn bytes(&self) -> u64 {
        let sizes = [
            size_of_val(&*self.bias),
            size_of_val(&*self.slots),
            size_of_val(&*self.entries),
            size_of_val(&*self.features),
            size_of_val(&*self.counts),
            size_of_val(&*self.lanes),
            size_of_val(&*self.values),
            size_of_val(self.marks.as_slice()),
        ];
        sizes.iter().map(|size| *size as u64).sum()
    }

    /// One block.
    pub(super) fn block(&self, block: usize) -> BlockView<'_> {
        let (slots, entries) = (range(&self.slots, block), range(&self.entries, block));
        BlockView {
            features: &self.features[slots.clone()],
            counts: &self.counts[slots],
            lanes: &self.lanes[entries.clone()],
            values: &self.values[entries],
            marks: &self.marks[self.mark_starts[block]..],
        }
    }
}

fn range(starts: &[u64], block: usize) -> Range<usize> {
    starts[block] as usize..starts[block + 1] as usize
}

/// The weights of one block.
#[derive(Clone, Copy)]
pub(super) struct BlockView<'a> {
    features: &'a [u32],
    counts: &'a [u8],
    lanes: &'a [u8],
    values: &'a [u16],
    marks: &'a [u32],
}

/// Room to look features up in.
pub(super) struct Lookup {
    /// For each feature the last block that was spread out here and has it, and its slot there.
    slots: Vec<(u32, u32)>,
    /// Where the entries of each slot start.
    starts: Vec<u32>,
    stamp: u32,
}

impl Lookup {
    pub(super) fn new(features: usize) -> Lookup {
        Lookup { slots: vec![(0, 0); features], starts: Vec::new(), stamp: 0 }
    }
}

impl BlockView<'_> {
    /// Spreads the block out: worth its while for several rows.
    pub(super) fn spread(&self, lookup: &mut Lookup) {
        if lookup.stamp == u32::MAX {
            lookup.slots.fill((0, 0));
            lookup.stamp = 0;
        }
        lookup.stamp += 1;
        lookup.starts.clear();
        let mut at = 0;
        for ((slot, &feature), &count) in (0u32..).zip(self.features).zip(self.counts) {
            lookup.slots[feature as usize] = (lookup.stamp, slot);
            lookup.starts.push(at);
            at += u32::from(count);
        }
        lookup.starts.push(at);
    }

    /// Adds a row's products with the weights to the sums of the lanes, after [`BlockView::spread`].
    #[inline]
    pub(super) fn add_spread(&self, lookup: &Lookup, features: &[u32], values: &[f32], sums: &mut [f32; WIDTH]) {
        for (&feature, &value) in features.iter().zip(values) {
            let (stamp, slot) = lookup.slots[feature as usize];
            if stamp == lookup.stamp {
                let entries = lookup.starts[slot as usize] as usize..lookup.starts[slot as usize + 1] as usize;
                self.add(entries, value, sums);
            }
        }
    }

    /// The same for a single row, whose features ascend: each is searched from where the one before it was found.
    pub(super) fn add_searched(&self, features: &[u32], values: &[f32], sums: &mut [f32; WIDTH]) {
        let mut from = 0;
        for (&feature, &value) in features.iter().zip(values) {
            // Steps of twice the length lead beyond it, halving finds it.
            let mut step = 1;
            while from + step < self.features.len() && self.features[from + step] < feature {
                step *= 2;
            }
            let until = self.features.len().min(from + step + 1);
            from += self.features[from..until].partition_point(|id| *id < feature);
            if self.features.get(from) == Some(&feature) {
                let marked = from / MARKED;
                let skipped: u32 = self.counts[marked * MARKED..from].iter().map(|count| u32::from(*count)).sum();
                let start = (self.marks[marked] + skipped) as usize;
                self.add(start..start + usize::from(self.counts[from]), value, sums);
            }
        }
    }

    #[inline(always)]
    fn add(&self, entries: Range<usize>, value: f32, sums: &mut [f32; WIDTH]) {
        for (&lane, &weight) in self.lanes[entries.clone()].iter().zip(&self.values[entries]) {
            sums[usize::from(lane) % WIDTH] += value * from_half(weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_in_blocks_of_alike_width() {
        let widths = |lanes: usize| blocks_of(lanes).map(|block| block.len()).collect::<Vec<_>>();
        assert_eq!((widths(1), widths(64), widths(65)), (vec![1], vec![64], vec![33, 32]));
        assert_eq!(widths(470).iter().sum::<usize>(), 470);
        assert!(widths(0).is_empty());
    }

    /// The arrays of a tree of three labels below one node, with weights for features 1 and 4.
    struct Parts {
        starts: [Vec<u64>; 2],
        bias: Vec<f32>,
        features: Vec<u32>,
        bytes: [Vec<u8>; 2],
        values: Vec<u16>,
    }

    #[test]
    fn what_is_not_the_weights_of_the_trees_is_rejected() {
        let new = |change: &dyn Fn(&mut Parts)| {
            let mut parts = Parts {
                starts: [vec![0, 2], vec![0, 3]],
                bias: vec![0.0; 3],
                features: vec![1, 4],
                bytes: [vec![2, 1], vec![0, 2, 1]],
                values: vec![to_half(0.5); 3],
            };
            change(&mut parts);
            let Parts { starts, bias, features, bytes, values } = parts;
            let trees = [Tree::new(vec![0, 1, 2], vec![0, 3], vec![1, 2, 3]).unwrap()];
            let (starts, bytes) = (starts.map(Array::from), bytes.map(Array::from));
            Weights::new(&trees, 5, starts, (bias.into(), features.into()), bytes, values.into())
        };
        assert!(new(&|_| {}).is_ok());
        assert!(new(&|p| p.bias[1] = f32::NAN).is_err());
        assert!(new(&|p| p.bias.truncate(2)).is_err());
        assert!(new(&|p| p.starts[0] = vec![0]).is_err());
        assert!(new(&|p| p.starts[0] = vec![1, 2]).is_err());
        assert!(new(&|p| p.starts[1] = vec![0, 4]).is_err());
        assert!(new(&|p| p.features[1] = 5).is_err());
        assert!(new(&|p| p.features[1] = 1).is_err());
        assert!(new(&|p| p.bytes[0] = vec![3, 0]).is_err());
        assert!(new(&|p| p.bytes[0] = vec![2, 2]).is_err());
        assert!(new(&|p| p.bytes[0] = vec![255, 1]).is_err());
        assert!(new(&|p| p.bytes[1][2] = 3).is_err());
        assert!(new(&|p| p.bytes[1].truncate(2)).is_err());
        assert!(new(&|p| p.values[0] = 0x7c00).is_err());
    }

    #[test]
    fn looking_up_and_searching_add_the_same() {
        let mut block = BlockWeights { bias: vec![0.0; 40], ..BlockWeights::default() };
        for feature in (0..500u32).filter(|feature| feature % 3 != 1) {
            let weights: Vec<f32> =
                (0..40u32).map(|lane| if (feature + lane) % 7 == 0 { (feature + lane) as f32 / 100.0 } else { 0.0 }).collect();
            block.push(feature, &weights, 0.05);
        }
        let tree = Tree::new((0..40).collect(), vec![0, 40], (1..=40).collect()).unwrap();
        let weights = Weights::of_blocks(&[tree], 500, [block]).unwrap();
        let mut lookup = Lookup::new(500);
        weights.block(0).spread(&mut lookup);
        for step in [1usize, 2, 5, 17, 99, 499] {
            let features: Vec<u32> = (0..500).step_by(step).collect();
            let values: Vec<f32> = features.iter().map(|feature| (*feature as f32).sin()).collect();
            let (mut spread, mut searched) = ([0.0; WIDTH], [0.0; WIDTH]);
            weights.block(0).add_spread(&lookup, &features, &values, &mut spread);
            weights.block(0).add_searched(&features, &values, &mut searched);
            assert_eq!(spread, searched);
            assert!(step > 99 || spread.iter().any(|sum| *sum != 0.0));
        }
    }
}
