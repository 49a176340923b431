//! How large a model becomes, from a few of its parts.
//!
//! What a part keeps of its weights grows with the nonzero features on the rows of its labels, at a rate that hardly differs between parts of a level. So
//! the parts of a sample are trained first, and what they take is scaled up, level by level. They are parts of the model, so nothing is
//! trained twice.

use super::parts::Part;
use std::collections::BTreeMap;

/// Parts of each level that are trained first.
const SAMPLED: usize = 3;

/// Bytes of a label and of a block besides the weights: counts, orders, ends and biases; starts, numbers and digests.
const PER_LABEL: u64 = 8;
const PER_LANE: u64 = 12;
const PER_BLOCK: u64 = 28;

/// The parts to train first, ascending: of each level of the first tree some that are spread over it.
pub(super) fn sample(parts: &[Part]) -> Vec<usize> {
    let mut levels: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| part.tree == 0) {
        levels.entry(part.level).or_default().push(number);
    }
    let spread = |of_level: Vec<usize>| {
        let taken = SAMPLED.min(of_level.len());
        (0..taken).map(|place| of_level[(2 * place + 1) * of_level.len() / (2 * taken)]).collect::<Vec<usize>>()
    };
    levels.into_values().flat_map(spread).collect()
}

/// Bytes of the file, from what some parts took: `(part, bytes)`.
pub(super) fn estimate(parts: &[Part], labels: usize, taken: &[(usize, u64)]) -> u64 {
    let mut rates: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for &(part, bytes) in taken {
        let rate = rates.entry(parts[part].level).or_default();
        *rate = (rate.0 + bytes, rate.1 + parts[part].evidence);
    }
    let weights: f64 = parts
        .iter()
        .map(|part| {
            // Trees that are deeper than the first are rare; their last levels are like its last.
            let rate = rates.get(&part.level).or_else(|| rates.values().next_back());
            rate.map_or(0.0, |(bytes, evidence)| *bytes as f64 * part.evidence as f64 / (*evidence).max(1) as f64)
        })
        .sum();
    with_shapes(weights, parts, labels)
}

/// Bytes of the file, from those of all weights.
pub(super) fn with_shapes(weights: f64, parts: &[Part], labels: usize) -> u64 {
    let of_part = |part: &Part| PER_LANE * part.lanes() as u64 + PER_BLOCK * part.blocks() as u64;
    weights as u64 + PER_LABEL * labels as u64 + parts.iter().map(of_part).sum::<u64>()
}
