//! Ranks: which labels of a row come first.
//!
//! Ranks go by score, highest first, and equal scores by the smaller label: a strict order, so that nothing depends on the order of
//! work.
//! [`Key`] is that order as one number, [`FineKey`] where logits are behind the scores; [`top_k`] selects the top k of a row without sorting the row, [`rank_of`] finds
//! the rank of one label.
//!
//! For small k the scores are first laid out in 16 columns: the k-th largest column maximum is a lower bound of the k-th largest
//! score, and only the handful of entries that reach it are sorted, mostly by a network. All of that takes the same steps whatever
//! the scores are, so that the processor need not guess.

/// Marks an open slot in a list of labels.
pub(crate) const NONE: u32 = u32::MAX;

const COLUMNS: usize = 16;
/// Beyond this, too many entries reach the bound.
const SMALL_K: usize = 10;
/// As many entries as the network sorts.
pub(crate) const FEW: usize = 8;

/// Score and label as one number that ascends in the order of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u64);

impl Key {
    /// What comes after every score that is a number.
    pub(crate) const LAST: Key = Key(u64::MAX);

    #[inline(always)]
    pub(crate) fn new(score: f32, label: u32) -> Key {
        // Adding zero makes -0 and 0 the same score.
        let bits = (score + 0.0).to_bits();
        let ascending = bits ^ (((bits as i32) >> 31) as u32 | 1 << 31);
        Key(u64::from(!ascending) << 32 | u64::from(label))
    }

    /// The score.
    pub(crate) fn score(self) -> f32 {
        let ascending = !((self.0 >> 32) as u32);
        f32::from_bits(if ascending >> 31 == 1 { ascending & !(1 << 31) } else { !ascending })
    }

    /// The label.
    #[inline(always)]
    pub(crate) fn label(self) -> u32 {
        self.0 as u32
    }
}

/// A score in double precision, the logit behind it and the label, as one number that ascends in the order of ranks: where scores
/// are so close to their bound that they are the same number, logits still differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FineKey(u128);

impl FineKey {
    pub(crate) fn new(value: f64, logit: f32, label: u32) -> FineKey {
        // Adding zero makes -0 and 0 the same score.
        let bits = (value + 0.0).to_bits();
        let ascending = bits ^ (((bits as i64) >> 63) as u64 | 1 << 63);
        FineKey(u128::from(!ascending) << 64 | u128::from(Key::new(logit, label).0))
    }

    /// The score.
    pub(crate) fn value(self) -> f64 {
        let ascending = !((self.0 >> 64) as u64);
        f64::from_bits(if ascending >> 63 == 1 { ascending & !(1 << 63) } else { !ascending })
    }

    /// The logit.
    pub(crate) fn logit(self) -> f32 {
        Key(self.0 as u64).score()
    }

    /// The label.
    pub(crate) fn label(self) -> u32 {
        Key(self.0 as u64).label()
    }

    /// Whether nothing but the label tells it from another.
    pub(crate) fn ties(self, other: FineKey) -> bool {
        self.0 >> 32 == other.0 >> 32
    }
}

/// The rank of a label among the scores of a row, counted from 0, and its score; `None` when it has none.
pub(crate) fn rank_of(ids: &[u32], scores: &[f32], label: u32) -> Option<(usize, f32)> {
    let at = ids.iter().position(|id| *id == label)?;
    let key = Key::new(scores[at], label);
    let rank = ids.iter().zip(scores).filter(|(id, score)| Key::new(**score, **id) < key).count();
    Some((rank, scores[at]))
}

/// Fills `top` with the labels of the highest scores, in order, and says how many there are; open slots get [`NONE`].
#[inline(always)]
pub(crate) fn top_k(ids: &[u32], scores: &[f32], scratch: &mut Vec<u64>, top: &mut [u32]) -> usize {
    let (k, stored) = (top.len(), scores.len());
    if scratch.len() < stored {
        scratch.resize(stored, 0);
    }
    let found = if k <= SMALL_K && stored >= 2 * COLUMNS {
        keys_that_reach(lower_bound(scores, k), ids, scores, scratch)
    } else {
        scratch.iter_mut().zip(ids.iter().zip(scores)).for_each(|(slot, (id, score))| *slot = Key::new(*score, *id).0);
        stored
    };
    let count = found.min(k);
    if found <= FEW {
        let mut few = [u64::MAX; FEW];
        few[..found].copy_from_slice(&scratch[..found]);
        sort_few(&mut few);
        top.iter_mut().zip(few).for_each(|(slot, key)| *slot = key as u32);
    } else {
        let mut keys = &mut scratch[..found];
        if found > 4 * k + 16 {
            keys.select_nth_unstable(k - 1);
            keys = &mut keys[..k];
        }
        keys.sort_unstable();
        top.iter_mut().zip(keys).for_each(|(slot, key)| *slot = *key as u32);
    }
    top[count..].fill(NONE);
    count
}

/// A number that at least k scores reach: the k-th largest of the column maxima, which is the smallest of those that fewer than
/// k exceed.
#[inline(always)]
fn lower_bound(scores: &[f32], k: usize) -> f32 {
    let mut columns = [f32::NEG_INFINITY; COLUMNS];
    let (chunks, rest) = scores.as_chunks::<COLUMNS>();
    for chunk in chunks {
        for (column, score) in columns.iter_mut().zip(chunk) {
            *column = if *score > *column { *score } else { *column };
        }
    }
    for (column, score) in columns.iter_mut().zip(rest) {
        *column = if *score > *column { *score } else { *column };
    }
    let mut exceed = [0i32; COLUMNS];
    for other in columns {
        for (exceed, column) in exceed.iter_mut().zip(&columns) {
            *exceed += i32::from(other > *column);
        }
    }
    let mut bound = [f32::INFINITY; COLUMNS];
    for ((bound, column), exceed) in bound.iter_mut().zip(&columns).zip(&exceed) {
        *bound = if *exceed < k as i32 { *column } else { f32::INFINITY };
    }
    let mut half = COLUMNS / 2;
    while half > 0 {
        for place in 0..half {
            bound[place] = if bound[place + half] < bound[place] { bound[place + half] } else { bound[place] };
        }
        half /= 2;
    }
    bound[0]
}

/// Writes the keys of the entries that reach a bound, and says how many there are.
#[inline(always)]
fn keys_that_reach(bound: f32, ids: &[u32], scores: &[f32], keys: &mut [u64]) -> usize {
    // 128 entries at a time in eight lanes, a bit for each entry of a lane: 16 bits, so that two lanes share a word of 32.
    const AT_ONCE: usize = 128;
    let mut count = 0;
    for (ids, scores) in ids.chunks(AT_ONCE).zip(scores.chunks(AT_ONCE)) {
        let mut lanes = [0u32; 8];
        let (eights, rest) = scores.as_chunks::<8>();
        let mut flag = 1;
        for eight in eights {
            for (lane, score) in lanes.iter_mut().zip(eight) {
                *lane |= if *score >= bound { flag } else { 0 };
            }
            flag <<= 1;
        }
        for (lane, score) in lanes.iter_mut().zip(rest) {
            *lane |= if *score >= bound { flag } else { 0 };
        }
        let shared: [u32; 4] = std::array::from_fn(|lane| lanes[lane] | lanes[lane + 4] << 16);
        for (first, pair) in [(0, [shared[0], shared[1]]), (2, [shared[2], shared[3]])] {
            let mut reach = u64::from(pair[0]) | u64::from(pair[1]) << 32;
            while reach != 0 {
                let bit = reach.trailing_zeros() as usize;
                let place = 8 * (bit & 15) + first + (bit >> 5) + 4 * (bit >> 4 & 1);
                keys[count] = Key::new(scores[place], ids[place]).0;
                count += 1;
                reach &= reach - 1;
            }
        }
    }
    count
}

/// Sorts eight numbers with the 19 exchanges of Batcher's network.
#[inline(always)]
pub(crate) fn sort_few(keys: &mut [u64; FEW]) {
    // Spelt out: as a loop over pairs it would not be unrolled.
    macro_rules! exchange {
        ($(($a:literal, $b:literal))*) => {
            $((keys[$a], keys[$b]) = (keys[$a].min(keys[$b]), keys[$a].max(keys[$b]));)*
        };
    }
    exchange!((0, 1)(2, 3)(4, 5)(6, 7));
    exchange!((0, 2)(1, 3)(4, 6)(5, 7));
    exchange!((1, 2)(5, 6)(0, 4)(3, 7));
    exchange!((1, 5)(2, 6)(1, 4)(3, 6));
    exchange!((2, 4)(3, 5)(3, 4));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn selection_is_the_head_of_a_full_sort(
            scores in proptest::collection::vec((-3i8..4).prop_map(|x| f32::from(x) * 0.5), 0..200),
            k in 1usize..12,
        ) {
            let ids: Vec<u32> = (0..scores.len() as u32).map(|i| (i * 7919) % 10007).collect();
            let mut order: Vec<usize> = (0..ids.len()).collect();
            order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(ids[*a].cmp(&ids[*b])));
            let expected: Vec<u32> = order.iter().take(k).map(|i| ids[*i]).collect();
            let mut top = vec![0; k];
            let count = top_k(&ids, &scores, &mut Vec::new(), &mut top);
            prop_assert_eq!(&top[..count], &expected[..]);
            prop_assert!(top[count..].iter().all(|label| *label == NONE));
        }
    }

    #[test]
    fn the_network_sorts_every_order() {
        // By the 0-1 principle, a network that sorts all sequences of two values sorts everything.
        for bits in 0..1u32 << FEW {
            let mut keys: [u64; FEW] = std::array::from_fn(|place| u64::from(bits >> place & 1));
            sort_few(&mut keys);
            assert!(keys.is_sorted(), "{bits:b}");
        }
    }

    #[test]
    fn keys_ascend_as_ranks_do_and_give_back_what_they_hold() {
        let ranked = [(3.5, 7), (1.0, 2), (1.0, 9), (0.0, 0), (-1e-40, 1), (-2.0, 5), (-f32::MAX, 0)];
        for pair in ranked.windows(2) {
            assert!(Key::new(pair[0].0, pair[0].1) < Key::new(pair[1].0, pair[1].1), "{pair:?}");
        }
        for (score, label) in ranked {
            let key = Key::new(score, label);
            assert_eq!((key.score(), key.label()), (score, label));
            assert!(key < Key::LAST);
        }
        assert_eq!(Key::new(-0.0, 1), Key::new(0.0, 1));
        let (scores, ids): (Vec<f32>, Vec<u32>) = ranked.into_iter().rev().unzip();
        assert_eq!(rank_of(&ids, &scores, 9), Some((2, 1.0)));
        assert_eq!(rank_of(&ids, &scores, 4), None);
    }

    #[test]
    fn logits_decide_where_scores_do_not() {
        let ranked = [
            (3.5, 1.0, 7),
            (1.0, 9.0, 3),
            (1.0, 8.0, 2),
            (1.0, 8.0, 9),
            (0.0, 0.0, 0),
            (-1e-40, 0.0, 1),
            (-2.0, -1.0, 5),
            (-f64::MAX, 0.0, 0),
        ];
        let key = |(value, logit, label)| FineKey::new(value, logit, label);
        for pair in ranked.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{pair:?}");
        }
        for (value, logit, label) in ranked {
            let key = key((value, logit, label));
            assert_eq!((key.value(), key.logit(), key.label()), (value, logit, label));
        }
        assert_eq!(FineKey::new(-0.0, -0.0, 1), FineKey::new(0.0, 0.0, 1));
        assert!(key(ranked[2]).ties(key(ranked[3])) && !key(ranked[1]).ties(key(ranked[2])));
    }

    #[test]
    fn zeros_of_either_sign_tie() {
        let mut top = [0; 2];
        top_k(&[5, 3], &[0.0, -0.0], &mut Vec::new(), &mut top);
        assert_eq!(top, [3, 5]);
    }
}
