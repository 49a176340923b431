//! Which labels stand for all of them, where training tries something on few.

/// `wanted` of the labels in `known`, which are in the order of their frequency, the most frequent first: the first `heads` of them, and
/// the others evenly from the rest. The most frequent labels decide about the first ranks, and what is fitted along frequencies must
/// not be extrapolated to them.
pub(super) fn label_sample(known: &[usize], wanted: usize, heads: usize) -> Vec<usize> {
    let wanted = wanted.min(known.len());
    let (heads, rest) = known.split_at(heads.min(wanted));
    let others = wanted - heads.len();
    let evenly = (0..others).map(|place| rest[(2 * place + 1) * rest.len() / (2 * others)]);
    heads.iter().copied().chain(evenly).collect()
}

#[cfg(test)]
mod tests {
    use super::label_sample;

    #[test]
    fn the_most_frequent_and_some_of_all_others() {
        let known: Vec<usize> = (0..100).collect();
        assert_eq!(label_sample(&known, 4, 0), [12, 37, 62, 87]);
        assert_eq!(label_sample(&known, 4, 2), [0, 1, 26, 75]);
        assert_eq!(label_sample(&known, 2, 2), [0, 1]);
        assert_eq!(label_sample(&known, 500, 10), known);
        assert!(label_sample(&[], 3, 1).is_empty());
    }
}
