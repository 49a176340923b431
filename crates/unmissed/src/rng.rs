//! Randomness that can be repeated: one seed gives an independent stream for each (purpose, index).
//!
//! The seed and the purpose are the key of a ChaCha8 generator and the index (a row, a label, a repetition) selects one
//! of its 2^64 streams. Streams do not depend on the order in which they are drawn, so results are the same whatever the
//! number of threads. [`uniform_at`] gives a number for each (row, label) in constant time, which is what masking needs.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a stream is used for. Two purposes never share a stream, whatever the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Removing labels, by row.
    Mask = 1,
    /// Assigning rows to parts, by row.
    Split = 2,
    /// Parameters of generated data, by label.
    GenerateLabels = 3,
    /// Rows of generated data, by row.
    GenerateRows = 4,
    /// Which labels a controlled row is shown, by row.
    Shown = 5,
    /// Monte Carlo estimates of statistics, by chunk.
    Statistics = 6,
    /// Halving a user's feedback into features and labels, by row.
    Halves = 7,
    /// Perturbed starting points of curve fits, by start.
    FitStarts = 8,
    /// Weights of rows in bootstrap replicates, by row.
    Bootstrap = 9,
    /// Where the weights of a model start, by label.
    Weights = 10,
    /// Rows into batches (stream 2^64 - 1), batches into the order of an epoch (by epoch).
    Batches = 11,
    /// Which rows are held out from training, by row.
    HeldOut = 12,
    /// Which rows a fit leaves out, by row.
    Folds = 13,
    /// Weights of rows in refits of row-dependent propensities, by replicate.
    RowRefits = 14,
    /// Which pairs stand for all that are not known to be positive, by row.
    PairSample = 15,
    /// The fold of a row for counting labels on their surest rows, by row.
    SureRows = 16,
    /// Where joint learning starts, by start and by label.
    JointStarts = 17,
    /// The order of rows in the passes of the dual solver, by the first label of a block.
    DualSteps = 18,
    /// Which rows a tally keeps (stream 0).
    RowSample = 19,
    /// Which pairs are judged, by round and stratum (stream 2^64 - 1: their order).
    Annotate = 20,
    /// Into which part of a cross-fit judged pairs go, by round and stratum.
    JudgedFolds = 21,
    /// Which rows are looked at for terms that cancel (stream 0).
    LookedAt = 22,
    /// The order of rows when predictions are optimised, by sweep.
    OptimizeOrder = 41,
    /// Labels that are drawn from probabilities, by row.
    OptimizeDraws = 42,
    /// What is drawn for whole labels along with them, by draw.
    OptimizeLabels = 43,
    /// Where the two parts of a node's labels start, by tree and range.
    TreeSplits = 40,
    /// Labels of a random tree into an order, by tree.
    TreeOrder = 44,
    /// The order of rows in the passes on a tree's nodes, by tree and lane.
    TreeSteps = 45,
    /// Which rows decide how the lanes of trees compare (stream 0).
    TreeHoldout = 46,
    /// Which judgements of an experiment are wrong, by row.
    #[cfg(feature = "experiments")]
    JudgeErrors = 47,
}

/// The stream for `index` under `purpose`.
pub(crate) fn stream(seed: u64, purpose: Purpose, index: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8] = purpose as u8;
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(index);
    rng
}

/// The key of one row for [`uniform_at`].
pub(crate) fn row_key(seed: u64, purpose: Purpose, row: u64) -> u64 {
    stream(seed, purpose, row).next_u64()
}

/// A uniform number in [0, 1) for a label of the row with this key: output number `label` of SplitMix64 started at the key.
pub(crate) fn uniform_at(row_key: u64, label: u32) -> f64 {
    let mut z = row_key.wrapping_add((u64::from(label) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// The next number of a stream, uniform in [0, 1).
pub(crate) fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// The next number of a stream, uniform among the whole numbers below `bound`; 0 when `bound` is 0.
pub(crate) fn below(rng: &mut impl Rng, bound: u64) -> u64 {
    loop {
        // Lemire's method: the upper half of the product is uniform once the few low halves that are too many are left out.
        let product = u128::from(rng.next_u64()) * u128::from(bound);
        let low = product as u64;
        if low >= bound || low >= bound.wrapping_neg() % bound.max(1) {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_index_alone() {
        let first = stream(7, Purpose::Mask, 0).next_u64();
        assert_eq!(first, stream(7, Purpose::Mask, 0).next_u64());
        for other in [stream(7, Purpose::Mask, 1), stream(7, Purpose::Split, 0), stream(8, Purpose::Mask, 0)] {
            assert_ne!(first, other.clone().next_u64());
        }
    }

    #[test]
    fn numbers_are_uniform() {
        let near = |mean: f64| (mean - 0.5).abs() < 4.0 * (1.0 / 12.0f64).sqrt() / 100.0;
        let key = row_key(1, Purpose::Mask, 12);
        assert!(near((0..10_000).map(|label| uniform_at(key, label)).sum::<f64>() / 1e4));
        let mut rng = stream(1, Purpose::Statistics, 0);
        assert!(near((0..10_000).map(|_| uniform(&mut rng)).sum::<f64>() / 1e4));
        let ones = (0..9_000).filter(|_| below(&mut rng, 3) == 1).count() as f64;
        assert!((ones - 3_000.0).abs() < 4.0 * 2_000f64.sqrt());
        assert_eq!(below(&mut rng, 0), 0);
    }

    /// Vigna's reference implementation of SplitMix64 started at 1234567 gives these numbers.
    #[test]
    fn splitmix_matches_its_reference() {
        let expected = [6457827717110365317u64, 3203168211198807973, 9817491932198370423];
        for (label, &word) in expected.iter().enumerate() {
            assert_eq!(uniform_at(1234567, label as u32), (word >> 11) as f64 / (1u64 << 53) as f64);
        }
    }

    /// A published stream of numbers must not move under an upgrade of a dependency.
    #[test]
    fn streams_are_pinned() {
        let words: Vec<u64> = [(0, 0), (42, 7)].map(|(seed, row)| row_key(seed, Purpose::Mask, row)).to_vec();
        assert_eq!(words, PINNED);
    }
    const PINNED: [u64; 2] = [4606029925845525861, 13561005698836044211];
}
