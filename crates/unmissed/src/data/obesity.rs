//! The obesity index of label counts: how heavy the tail is, without a model of it.
//!
//! Draw four labels that occur, independently and with replacement, and sort their counts to `X1 <= X2 <= X3 <= X4`. The
//! index is `P[X1 + X4 > X2 + X3]`: near 1/2 for light tails, towards 1 when the largest draw dwarfs the others. Counts are
//! whole numbers, so `X1 + X4 = X2 + X3` has a share of its own, which is reported beside the index.
//!
//! Both shares are exact while the number of pairs of distinct counts is moderate ([`MOST_PAIRS`]), and estimated from
//! seeded draws beyond that.
//!
//! # Reference
//! Cooke, Nieboer, Misiewicz: *Fat-Tailed Distributions*, 2014, chapter 7.

use crate::rng::{Purpose, below, stream};
use rayon::prelude::*;

/// The index is exact up to this many pairs of distinct counts; the work is this times the logarithm of the largest count.
const MOST_PAIRS: usize = 1 << 22;
/// The exact index needs memory in proportion to the largest count, and is not tried beyond this one.
const MOST_COUNT: u64 = 1 << 21;
/// Draws of four labels for an estimate: its standard error is at most 0.00025.
const DRAWS: u64 = 1 << 22;
/// Draws that share a stream, so that the estimate does not depend on the number of threads.
const CHUNK: u64 = 1 << 15;

/// The obesity index of label counts, and how it was found. See `P[X1 + X4 > X2 + X3]` in [`Obesity::of`].
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Obesity {
    /// `P[X1 + X4 > X2 + X3]`, strictly.
    pub index: f64,
    /// `P[X1 + X4 = X2 + X3]`.
    pub ties: f64,
    /// Standard error of `index`; 0 when it is exact.
    pub se: f64,
    /// Whether both shares are exact rather than estimated from draws.
    pub exact: bool,
}

impl Obesity {
    /// The index of these counts: the share of four independent draws, sorted to `X1 <= X2 <= X3 <= X4`, with
    /// `X1 + X4 > X2 + X3`. `None` without counts. The seed matters only when the index is not exact.
    ///
    /// ```
    /// use unmissed::data::Obesity;
    /// // Of the 16 draws from {1, 3}, the 4 with a single 3 have X1 + X4 = 4 > 2, those with three have 4 < 6.
    /// let obesity = Obesity::of(&[1, 3], 0).unwrap();
    /// assert_eq!((obesity.index, obesity.ties, obesity.exact), (4.0 / 16.0, 8.0 / 16.0, true));
    /// ```
    pub fn of(counts: &[u64], seed: u64) -> Option<Obesity> {
        let mut ascending = counts.to_vec();
        ascending.par_sort_unstable();
        Self::of_sorted(&ascending, seed)
    }

    /// The same for counts that ascend already.
    pub(crate) fn of_sorted(ascending: &[u64], seed: u64) -> Option<Obesity> {
        let largest = *ascending.last()?;
        let values: Vec<(u64, u64)> = ascending.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect();
        let exactly = is_affordable(values.len(), largest);
        Some(if exactly { exact(&values) } else { estimated(ascending, seed, DRAWS) })
    }
}

fn is_affordable(distinct: usize, largest: u64) -> bool {
    distinct * (distinct + 1) / 2 <= MOST_PAIRS && largest <= MOST_COUNT
}

/// Counts all ordered draws of four, given the distinct values (ascending) and how many labels have each.
///
/// Fix the outer pair `x_i < x_j`. An inner pair `x_u <= x_v` with `u >= i` and a sum below (or at) `x_i + x_j` lies within
/// it without further conditions, since `x_v <= x_i + x_j - x_u <= x_j`. So one sweep with `i` falling, over a tree of the
/// sums of pairs seen so far, replaces the four nested loops. All arithmetic is in whole numbers.
fn exact(values: &[(u64, u64)]) -> Obesity {
    let largest = values.last().map_or(0, |(value, _)| *value) as usize;
    let mut sums = Sums::new(2 * largest + 1);
    let wide = u128::from;
    let (mut above, mut equal) = (0u128, 0u128);
    for (i, &(low, weight)) in values.iter().enumerate().rev() {
        // Labels with a count strictly between the outer pair's.
        let mut between = 0;
        for &(high, other) in &values[i + 1..] {
            let outer = wide(weight) * wide(other);
            let sum = (low + high) as usize;
            // A sorted draw stands for 4! ordered ones, divided by the orders of equal values: hence 24, 12 and 4. The tree
            // holds inner pairs with both orders, so that its factor is half of that.
            let inner = 12 * wide(sums.below(sum)) + 12 * wide(weight) * wide(between) + 4 * wide(weight) * wide(weight);
            above += outer * inner;
            equal += outer * (12 * wide(sums.at[sum]) + 6 * outer);
            between += other;
        }
        equal += wide(weight).pow(4);
        sums.add(2 * low as usize, weight * weight);
        for &(high, other) in &values[i + 1..] {
            sums.add((low + high) as usize, 2 * weight * other);
        }
    }
    let all = values.iter().map(|(_, weight)| wide(*weight)).sum::<u128>().pow(4) as f64;
    Obesity { index: above as f64 / all, ties: equal as f64 / all, se: 0.0, exact: true }
}

/// Weights of sums, with fast totals of all below one (a Fenwick tree). The weights of all pairs of labels fit 64 bits
/// because ids have 32.
struct Sums {
    at: Vec<u64>,
    tree: Vec<u64>,
}

impl Sums {
    fn new(size: usize) -> Sums {
        Sums { at: vec![0; size], tree: vec![0; size + 1] }
    }

    fn add(&mut self, sum: usize, weight: u64) {
        self.at[sum] += weight;
        let mut node = sum + 1;
        while node < self.tree.len() {
            self.tree[node] += weight;
            node += node & node.wrapping_neg();
        }
    }

    fn below(&self, sum: usize) -> u64 {
        let (mut node, mut total) = (sum, 0);
        while node > 0 {
            total += self.tree[node];
            node &= node - 1;
        }
        total
    }
}

fn estimated(counts: &[u64], seed: u64, draws: u64) -> Obesity {
    let (above, equal) = (0..draws / CHUNK)
        .into_par_iter()
        .map(|chunk| {
            let mut rng = stream(seed, Purpose::Statistics, chunk);
            let (mut above, mut equal) = (0u64, 0u64);
            for _ in 0..CHUNK {
                let mut x = [0; 4].map(|_: u64| counts[below(&mut rng, counts.len() as u64) as usize]);
                x.sort_unstable();
                above += u64::from(x[0] + x[3] > x[1] + x[2]);
                equal += u64::from(x[0] + x[3] == x[1] + x[2]);
            }
            (above, equal)
        })
        .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    let share = |hits: u64| hits as f64 / draws as f64;
    let index = share(above);
    Obesity { index, ties: share(equal), se: (index * (1.0 - index) / draws as f64).sqrt(), exact: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All ordered draws, one by one.
    fn brute_force(counts: &[u64]) -> (f64, f64) {
        let (mut above, mut equal) = (0u32, 0u32);
        for a in counts {
            for b in counts {
                for c in counts {
                    for d in counts {
                        let mut x = [a, b, c, d];
                        x.sort();
                        above += u32::from(x[0] + x[3] > x[1] + x[2]);
                        equal += u32::from(x[0] + x[3] == x[1] + x[2]);
                    }
                }
            }
        }
        let all = counts.len().pow(4) as f64;
        (f64::from(above) / all, f64::from(equal) / all)
    }

    proptest! {
        #[test]
        fn exact_is_brute_force(counts in proptest::collection::vec(1u64..25, 1..12)) {
            let obesity = Obesity::of(&counts, 0).unwrap();
            prop_assert_eq!((obesity.index, obesity.ties), brute_force(&counts));
        }
    }

    #[test]
    fn estimates_agree_with_the_exact_index_on_any_number_of_threads() {
        let counts: Vec<u64> = (1..=3000u64).map(|rank| 100_000 / rank).rev().collect();
        let exact = Obesity::of_sorted(&counts, 0).unwrap();
        assert!(exact.exact);
        let draws = 1 << 17;
        let on = |threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| estimated(&counts, 5, draws))
        };
        let estimate = on(1);
        assert_eq!(estimate, on(4));
        assert!((estimate.index - exact.index).abs() < 4.0 * estimate.se, "{estimate:?} {exact:?}");
        let ties_se = (exact.ties * (1.0 - exact.ties) / draws as f64).sqrt();
        assert!((estimate.ties - exact.ties).abs() < 4.0 * ties_se, "{estimate:?} {exact:?}");
    }

    #[test]
    fn the_exact_way_has_its_limits() {
        assert!(is_affordable(2895, MOST_COUNT));
        assert!(!is_affordable(2896, 10_000) && !is_affordable(3, MOST_COUNT + 1));
        assert_eq!(Obesity::of(&[], 0), None);
    }
}
