//! Work that depends on a few counts only, done once for each distinct combination of them.

use rayon::prelude::*;

/// `work(key)` for every key, in order; equal keys share the work.
pub(super) fn for_each_distinct<K: Ord + Copy + Send + Sync, V: Clone + Send + Sync>(
    keys: &[K],
    work: impl Fn(K) -> V + Sync,
) -> Vec<V> {
    let mut distinct = keys.to_vec();
    distinct.par_sort_unstable();
    distinct.dedup();
    let values: Vec<V> = distinct.par_iter().with_min_len(64).map(|key| work(*key)).collect();
    // Every key is among the distinct ones, so the place that a search gives is its own.
    keys.par_iter().map(|key| values[distinct.partition_point(|other| other < key)].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn equal_keys_share_the_work() {
        let calls = AtomicUsize::new(0);
        let values = for_each_distinct(&[3, 1, 3, 2, 1], |key| {
            calls.fetch_add(1, Ordering::Relaxed);
            key * 10
        });
        assert_eq!((values, calls.into_inner()), (vec![30, 10, 30, 20, 10], 3));
    }
}
