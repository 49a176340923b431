//! The weights of all nodes of a model's trees.
//!
//! The lanes of a node are in blocks of at most [`WIDTH`], whose bytes (`packed.rs`) lie one after the other, as in the file. A file that
//! is mapped is not read before it is needed: a block is checked when it is used for the first time, against its digest and for what
//! it says, and only what is checked is relied on.

use super::arrays::Array;
use crate::error::{Error, Result};
use crate::predict::packed::{Packed, Unpacked, WIDTH, overflow};
use crate::tree::Tree;
use rayon::prelude::*;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bytes of the digest of a block: the first half of its BLAKE3.
pub(crate) const DIGEST: usize = 16;

/// The lanes of a node, counted from its first, in blocks.
pub(crate) fn blocks_of(lanes: usize) -> impl Iterator<Item = Range<usize>> {
    let each = lanes.div_ceil(lanes.div_ceil(WIDTH).max(1)).max(1);
    (0..lanes).step_by(each).map(move |first| first..lanes.min(first + each))
}

/// How many lanes each block of some trees has.
pub(crate) fn widths(trees: &[Tree]) -> Vec<u8> {
    let of_node = |lanes: Range<usize>| blocks_of(lanes.len()).map(|block| block.len() as u8);
    trees.iter().flat_map(|tree| (0..tree.nodes()).flat_map(move |node| of_node(tree.lanes(node)))).collect()
}

/// Blocks that follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Blocks {
    /// What is added to the score of each lane.
    pub(crate) bias: Vec<f32>,
    /// For each block how many bytes it has.
    pub(crate) lengths: Vec<u64>,
    /// For each block how many weights it has.
    pub(crate) nonzeros: Vec<u32>,
    /// [`DIGEST`] bytes for each block.
    pub(crate) digests: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
}

impl Blocks {
    /// Adds a block.
    pub(crate) fn push(&mut self, bias: &[f32], weights: &Unpacked) -> Result<()> {
        if !bias.iter().all(|bias| bias.is_finite()) {
            return Err(overflow());
        }
        let bytes = weights.pack()?;
        self.bias.extend_from_slice(bias);
        self.lengths.push(bytes.len() as u64);
        self.nonzeros.push(weights.entries() as u32);
        self.digests.extend_from_slice(&digest(&bytes));
        self.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    /// Adds the blocks that come after these.
    pub(crate) fn append(&mut self, next: &Blocks) {
        self.bias.extend_from_slice(&next.bias);
        self.lengths.extend_from_slice(&next.lengths);
        self.nonzeros.extend_from_slice(&next.nonzeros);
        self.digests.extend_from_slice(&next.digests);
        self.bytes.extend_from_slice(&next.bytes);
    }
}

pub(crate) fn digest(bytes: &[u8]) -> [u8; DIGEST] {
    std::array::from_fn(|place| blake3::hash(bytes).as_bytes()[place])
}

/// Where each of so many bytes starts, and where the last ends.
pub(crate) fn starts_of(lengths: &[u64]) -> Vec<u64> {
    let mut starts = Vec::with_capacity(lengths.len() + 1);
    starts.push(0);
    lengths.iter().for_each(|length| starts.push(starts[starts.len() - 1] + length));
    starts
}

/// The arrays. See the module's page.
#[derive(Debug)]
pub(crate) struct Weights {
    /// One for each lane of all trees.
    pub(crate) bias: Array<f32>,
    /// Where the bytes of each block start, and where the last ends.
    pub(crate) starts: Array<u64>,
    pub(crate) nonzeros: Array<u32>,
    pub(crate) digests: Array<u8>,
    pub(crate) bytes: Array<u8>,
    widths: Vec<u8>,
    features: usize,
    /// Which blocks are known to be as they should.
    checked: Vec<AtomicBool>,
    /// Where they come from, for errors.
    file: Option<PathBuf>,
}

impl Clone for Weights {
    fn clone(&self) -> Weights {
        Weights {
            bias: self.bias.clone(),
            starts: self.starts.clone(),
            nonzeros: self.nonzeros.clone(),
            digests: self.digests.clone(),
            bytes: self.bytes.clone(),
            widths: self.widths.clone(),
            features: self.features,
            checked: self.checked.iter().map(|checked| checked.load(Relaxed).into()).collect(),
            file: self.file.clone(),
        }
    }
}

impl PartialEq for Weights {
    /// What was checked and where it lies make no difference.
    fn eq(&self, other: &Weights) -> bool {
        (&self.bias, &self.starts, &self.bytes, self.features) == (&other.bias, &other.starts, &other.bytes, other.features)
    }
}

impl Weights {
    /// Checks that the arrays have the shape of weights of these trees, over so many features. The bytes of blocks are checked as they are
    /// used.
    pub(crate) fn new(
        trees: &[Tree],
        features: usize,
        bias: Array<f32>,
        (starts, nonzeros): (Array<u64>, Array<u32>),
        (digests, bytes): (Array<u8>, Array<u8>),
        file: Option<PathBuf>,
    ) -> Result<Weights> {
        let broken = |what: &str| Error::value(format!("the weights are not those of the trees: {what}"));
        let widths = widths(trees);
        if bias.len() != trees.iter().map(|tree| tree.ends().len()).sum::<usize>() || !bias.iter().all(|bias| bias.is_finite()) {
            return Err(broken("not a finite bias for each lane"));
        }
        let in_order = starts.first() == Some(&0) && starts.is_sorted() && starts.last() == Some(&(bytes.len() as u64));
        if starts.len() != widths.len() + 1 || !in_order {
            return Err(broken("bytes of blocks"));
        }
        if nonzeros.len() != widths.len() || digests.len() != DIGEST * widths.len() {
            return Err(broken("numbers or digests of blocks"));
        }
        let checked = widths.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Weights { bias, starts, nonzeros, digests, bytes, widths, features, checked, file })
    }

    /// The weights of blocks in the order of trees, nodes and lanes.
    pub(crate) fn of_blocks(trees: &[Tree], features: usize, blocks: Blocks) -> Result<Weights> {
        let Blocks { bias, lengths, nonzeros, digests, bytes } = blocks;
        let starts = starts_of(&lengths);
        let shape = (starts.into(), nonzeros.into());
        Weights::new(trees, features, bias.into(), shape, (digests.into(), bytes.into()), None)
    }

    /// Bytes of all arrays.
    pub(crate) fn size(&self) -> u64 {
        let sizes = [
            size_of_val(&*self.bias),
            size_of_val(&*self.starts),
            size_of_val(&*self.nonzeros),
            size_of_val(&*self.digests),
            size_of_val(&*self.bytes),
        ];
        sizes.iter().map(|size| *size as u64).sum()
    }

    /// One block; an error when it is damaged.
    pub(super) fn block(&self, block: usize) -> Result<Packed<'_>> {
        let bytes = &self.bytes[self.starts[block] as usize..self.starts[block + 1] as usize];
        let known = self.checked[block].load(Relaxed);
        let damaged = |what: &str| {
            let error = Error::format(format!("the model file is damaged: block {block} of its weights {what}"));
            let error = error.hint("write or copy it again");
            self.file.iter().fold(error, |error, file| error.in_file(file))
        };
        if !known && digest(bytes) != self.digests[DIGEST * block..][..DIGEST] {
            return Err(damaged("does not have its digest"));
        }
        let packed = Packed::of(bytes).ok_or_else(|| damaged("is cut off"))?;
        if !known {
            if packed.entries() as u64 != u64::from(self.nonzeros[block])
                || !packed.check(self.features, usize::from(self.widths[block]))
            {
                return Err(damaged("contradicts itself"));
            }
            self.checked[block].store(true, Relaxed);
        }
        Ok(packed)
    }

    /// Checks all blocks that were not used yet.
    pub(crate) fn verify(&self) -> Result<()> {
        (0..self.widths.len()).into_par_iter().with_min_len(16).try_for_each(|block| self.block(block).map(drop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::half::to_half;

    #[test]
    fn nodes_are_in_blocks_of_alike_width() {
        let widths = |lanes: usize| blocks_of(lanes).map(|block| block.len()).collect::<Vec<_>>();
        assert_eq!((widths(1), widths(64), widths(65)), (vec![1], vec![64], vec![33, 32]));
        assert_eq!(widths(470).iter().sum::<usize>(), 470);
        assert!(widths(0).is_empty());
    }

    /// A tree of three labels below one node, with weights for features 1 and 4.
    fn blocks() -> Blocks {
        let mut weights = Unpacked::default();
        weights.push(1, &[0.5, 0.0, 1.0], 0.1);
        weights.push(4, &[0.0, 2.0, 0.05], 0.1);
        let mut blocks = Blocks::default();
        blocks.push(&[0.0; 3], &weights).unwrap();
        blocks
    }

    #[test]
    fn what_is_not_the_weights_of_the_trees_is_rejected() {
        let trees = [Tree::new(vec![0, 1, 2], vec![0, 3], vec![1, 2, 3]).unwrap()];
        let new = |features: usize, change: &dyn Fn(&mut Blocks)| {
            let mut blocks = blocks();
            change(&mut blocks);
            Weights::of_blocks(&trees, features, blocks).and_then(|weights| weights.verify())
        };
        assert!(new(5, &|_| {}).is_ok());
        assert!(new(4, &|_| {}).is_err());
        assert!(new(5, &|b| b.bias[1] = f32::NAN).is_err());
        assert!(new(5, &|b| b.bias.truncate(2)).is_err());
        assert!(new(5, &|b| b.lengths[0] += 1).is_err());
        assert!(new(5, &|b| b.lengths.clear()).is_err());
        assert!(new(5, &|b| b.nonzeros[0] = 4).is_err());
        assert!(new(5, &|b| b.digests[3] ^= 1).is_err());
        assert!(new(5, &|b| b.bytes[12] ^= 1).is_err());
        // A digest that fits does not make it right.
        let last = blocks().bytes.len() - 2;
        assert!(
            new(5, &|b| {
                b.bytes[last..].copy_from_slice(&0x7c00u16.to_le_bytes());
                b.digests = digest(&b.bytes).to_vec();
            })
            .is_err()
        );
        assert!(
            new(5, &|b| {
                b.bytes[last..].copy_from_slice(&to_half(3.0).to_le_bytes());
                b.digests = digest(&b.bytes).to_vec();
            })
            .is_ok()
        );
    }
}
