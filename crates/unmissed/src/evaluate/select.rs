//! The top k of a row, without sorting the row.
//!
//! Ranks go by score, highest first, and equal scores by the smaller label. For small k the scores are first laid out in 16
//! columns: the k-th largest column maximum is a lower bound of the k-th largest score, found with a few vector instructions
//! and no branches, and only the handful of entries that reach it are sorted.

/// Marks an open slot in a list of labels.
pub(super) const NONE: u32 = u32::MAX;

const COLUMNS: usize = 16;
const SMALL_K: usize = 8;

/// Score and label as one number that ascends in the order of ranks.
#[inline(always)]
fn key(score: f32, label: u32) -> u64 {
    // Adding zero makes -0 and 0 the same score.
    let bits = (score + 0.0).to_bits();
    let ascending = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(!ascending) << 32 | u64::from(label)
}

/// Fills `top` with the labels of the highest scores, in order, and says how many there are; open slots get [`NONE`].
#[inline(always)]
pub(super) fn top_k(ids: &[u32], scores: &[f32], scratch: &mut Vec<u64>, top: &mut [u32]) -> usize {
    let k = top.len();
    scratch.clear();
    if k <= SMALL_K && scores.len() >= 2 * COLUMNS {
        let bound = lower_bound(scores, k);
        // One bit an entry, found without branches; then only the few that pass are looked at.
        for (chunk, block) in scores.chunks(COLUMNS).enumerate() {
            let mut passing =
                block.iter().enumerate().fold(0u32, |bits, (place, score)| bits | u32::from(*score >= bound) << place);
            while passing != 0 {
                let place = chunk * COLUMNS + passing.trailing_zeros() as usize;
                scratch.push(key(scores[place], ids[place]));
                passing &= passing - 1;
            }
        }
    } else {
        scratch.extend(ids.iter().zip(scores).map(|(id, score)| key(*score, *id)));
    }
    if scratch.len() > 4 * k + 16 {
        scratch.select_nth_unstable(k - 1);
        scratch.truncate(k);
    }
    scratch.sort_unstable();
    let count = scratch.len().min(k);
    for (slot, key) in top.iter_mut().zip(&*scratch) {
        *slot = *key as u32;
    }
    top[count..].fill(NONE);
    count
}

/// A number that at least k scores reach: the k-th largest of the column maxima.
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
    let mut best = [f32::NEG_INFINITY; SMALL_K];
    for mut value in columns {
        for slot in &mut best {
            let (high, low) = if value > *slot { (value, *slot) } else { (*slot, value) };
            (*slot, value) = (high, low);
        }
    }
    best[k - 1]
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
    fn zeros_of_either_sign_tie() {
        let mut top = [0; 2];
        top_k(&[5, 3], &[0.0, -0.0], &mut Vec::new(), &mut top);
        assert_eq!(top, [3, 5]);
    }
}
