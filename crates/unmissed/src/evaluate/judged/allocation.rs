//! Allocation: how many pairs are drawn from each stratum.
//!
//! The variance of a stratified total is `sum_h A_h^2 / n_h + constant` with `A_h = N_h sd_h`. Neyman's allocation is proportional to A_h;
//! in whole numbers, with at least 2 pairs per stratum and at most all, it is found exactly by giving pairs one at a time where the
//! variance
//! falls most, by `A_h^2 / (n (n + 1))`.
//!
//! # Reference
//! Neyman, "On the two different aspects of the representative method", 1934; Wright, "Exact optimal sample allocation", 2017. By hand:
//! A = (4, 2), budget 6: gains of a third pair are 16/6 and 4/6, of a fourth 16/12 in the first stratum, so 4 and 2.

use std::collections::BinaryHeap;

/// The fewest pairs of a stratum: with one, nothing is known about its variance.
const LEAST: u64 = 2;

/// Pairs by stratum, given `(N_h, A_h)`. All of them when the budget is larger.
pub(super) fn allocate(strata: &[(u64, f64)], budget: u64) -> Vec<u64> {
    let mut drawn: Vec<u64> = strata.iter().map(|(size, _)| (*size).min(LEAST)).collect();
    let mut left = budget.saturating_sub(drawn.iter().sum());
    /// A stratum by what its next pair is worth; of equal ones the first.
    #[derive(PartialEq)]
    struct Next(f64, std::cmp::Reverse<usize>);
    impl Eq for Next {}
    impl Ord for Next {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
        }
    }
    impl PartialOrd for Next {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    let next = |place: usize, drawn: u64| {
        let (size, spread) = strata[place];
        let n = drawn as f64;
        (drawn < size).then(|| Next(spread * spread / (n * (n + 1.0)), std::cmp::Reverse(place)))
    };
    let mut heap: BinaryHeap<Next> = (0..strata.len()).filter_map(|place| next(place, drawn[place])).collect();
    while left > 0
        && let Some(Next(_, std::cmp::Reverse(place))) = heap.pop()
    {
        drawn[place] += 1;
        left -= 1;
        heap.extend(next(place, drawn[place]));
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_go_where_the_variance_falls_most() {
        assert_eq!(allocate(&[(100, 4.0), (100, 2.0)], 6), [4, 2]);
        assert_eq!(allocate(&[(1000, 30.0), (1000, 10.0)], 400), [300, 100]);
        // At least 2, at most all, and all when there is budget for all.
        assert_eq!(allocate(&[(100, 0.0), (3, 5.0), (1, 1.0)], 10), [6, 3, 1]);
        assert_eq!(allocate(&[(5, 1.0), (3, 5.0)], 100), [5, 3]);
        assert_eq!(allocate(&[(9, 1.0), (9, 1.0), (9, 1.0)], 3), [2, 2, 2]);
    }
}
