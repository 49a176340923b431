//! Models on trees in files of version 3, whose weights were in arrays over all blocks:
//!
//! | tensor | type and shape | |
//! |---|---|---|
//! | `blocks.slots`, `blocks.entries` | u64, blocks + 1 | the first slot and the first entry of each block |
//! | `trees.*`, `lanes.bias` | | as in later versions |
//! | `slots.features` | u32, slots | the feature of each slot |
//! | `entries.weights` | f16, entries | weights |
//! | `entries.lanes` | u8, entries | the lane of each weight in its block |
//! | `entries.counts` | u8, slots | how many entries each slot has |

use super::container::contradiction;
use super::tree::Tensors;
use crate::error::Result;
use crate::predict::packed::Unpacked;
use crate::predict::tree::arrays::Array;
use crate::predict::tree::weights::{Blocks, Weights, widths};
use crate::tree::Tree;
use safetensors::Dtype;
use std::ops::Range;

/// Takes trees and weights, from `blocks.slots` on.
pub(super) fn take(tensors: &mut Tensors<'_>, labels: usize, features: usize) -> Result<(Vec<Tree>, Weights)> {
    let broken = || contradiction("its weights are not those of its trees");
    let slots: Array<u64> = tensors.take("blocks.slots", Dtype::U64, None)?;
    let entries: Array<u64> = tensors.take("blocks.entries", Dtype::U64, None)?;
    let trees = tensors.trees(labels)?;
    let bias: Array<f32> = tensors.take("lanes.bias", Dtype::F32, None)?;
    let ids: Array<u32> = tensors.take("slots.features", Dtype::U32, None)?;
    let values: Array<u16> = tensors.take("entries.weights", Dtype::F16, None)?;
    let lanes: Array<u8> = tensors.take("entries.lanes", Dtype::U8, None)?;
    let counts: Array<u8> = tensors.take("entries.counts", Dtype::U8, None)?;
    let widths = widths(&trees);
    if bias.len() != widths.iter().map(|width| usize::from(*width)).sum::<usize>()
        || (slots.len(), entries.len()) != (widths.len() + 1, widths.len() + 1)
        || (counts.len(), values.len()) != (ids.len(), lanes.len())
    {
        return Err(broken());
    }
    let own = |starts: &[u64], block: usize, most: usize| -> Result<Range<usize>> {
        let range = starts[block]..starts[block + 1];
        let fits = range.start <= range.end && range.end <= most as u64;
        if fits { Ok(range.start as usize..range.end as usize) } else { Err(broken()) }
    };
    let (mut blocks, mut lane) = (Blocks::default(), 0);
    for (block, &width) in widths.iter().enumerate() {
        let (slots, entries) = (own(&slots, block, ids.len())?, own(&entries, block, lanes.len())?);
        let (ids, counts) = (&ids[slots.clone()], &counts[slots]);
        let mut pairs = lanes[entries.clone()].iter().zip(&values[entries]);
        let mut unpacked = Unpacked::default();
        if !ids.is_sorted_by(|a, b| a < b) {
            return Err(broken());
        }
        for (&feature, &count) in ids.iter().zip(counts) {
            let before = unpacked.entries();
            for _ in 0..count {
                let (&lane, &half) = pairs.next().ok_or_else(broken)?;
                unpacked.push_entry(lane, half);
            }
            unpacked.close_slot(feature, before);
        }
        if pairs.next().is_some() || counts.contains(&0) {
            return Err(broken());
        }
        blocks.push(&bias[lane..lane + usize::from(width)], &unpacked)?;
        lane += usize::from(width);
    }
    // What is left to check, lanes, ids and weights, is checked by the block.
    let weights = Weights::of_blocks(&trees, features, blocks).and_then(|weights| weights.verify().map(|()| weights));
    Ok((trees, weights.map_err(|error| contradiction(&error.to_string()))?))
}
