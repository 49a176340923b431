//! Functions of a label set under independent missingness.
//!
//! With S the observed labels, every function f of the true set has the unbiased estimate
//! `sum_{A in S} f(A) prod_{j in A} q_j prod_{j in S \ A} (1 - q_j)`: an expectation over subsets A of S in which label j is kept
//! with the "probability" q_j >= 1. The subsets need not be listed: what depends on |A| alone needs only the distribution of
//! |A|, a product of polynomials ([`sizes`]), and `1/|A|` is an integral of one ([`Work::leave_one_out`]).
//!
//! # Assumes
//! Labels of a row go missing independently of each other.
//!
//! # Reference
//! Schultheis et al., KDD 2022, appendix on the inverse of the observation matrix. By hand, two labels with q = 2: |A| is
//! 0, 1, 2 with "probabilities" 1, -4, 4.
//!
//! ```
//! use unmissed::metrics::independent::sizes;
//! assert_eq!(sizes([2.0, 2.0].into_iter(), 2), [1.0, -4.0, 4.0]);
//! assert_eq!(sizes([2.0, 2.0].into_iter(), 1), [1.0, 0.0], "the last stands for 'one or more'");
//! ```

/// Terms that are larger than their sum by more than this leave too few digits to mean anything.
pub const LIMIT: f64 = 1e8;

/// The signed distribution of the number of kept labels: coefficients of `prod (1 - q + q x)`. The last of at most `cap + 1`
/// coefficients stands for `cap` or more.
pub fn sizes(q: impl Iterator<Item = f64>, cap: usize) -> Vec<f64> {
    let mut c = Vec::new();
    sizes_into(q, cap, &mut c);
    c
}

fn sizes_into(q: impl Iterator<Item = f64>, cap: usize, c: &mut Vec<f64>) {
    c.clear();
    c.push(1.0);
    for q in q {
        if c.len() <= cap {
            c.push(0.0);
            for i in (1..c.len()).rev() {
                c[i] = c[i] * (1.0 - q) + c[i - 1] * q;
            }
            c[0] *= 1.0 - q;
        } else {
            // The last one absorbs: who is at the cap stays there.
            let last = c.len() - 1;
            if last > 0 {
                c[last] += c[last - 1] * q;
                for i in (1..last).rev() {
                    c[i] = c[i] * (1.0 - q) + c[i - 1] * q;
                }
                c[0] *= 1.0 - q;
            }
        }
    }
}

/// Scratch space and quadrature nodes, one for each thread.
#[derive(Debug, Default)]
pub struct Work {
    rules: Vec<Vec<(f64, f64)>>,
    prefix: Vec<f64>,
    shares: Vec<f64>,
    sizes: Vec<f64>,
}

impl Work {
    /// The signed distribution of the number of kept labels other than j; see [`sizes`].
    pub fn sizes_without(&mut self, q: &[f64], j: usize, cap: usize) -> &[f64] {
        sizes_into(q[..j].iter().chain(&q[j + 1..]).copied(), cap, &mut self.sizes);
        &self.sizes
    }

    /// For each label j of S: `q_j integral_0^1 prod_{i != j} (1 - q_i + q_i t) dt`, which is the estimate of `1[j in y] / |y|`.
    pub fn leave_one_out(&mut self, q: &[f64]) -> &[f64] {
        let count = q.len().div_ceil(2);
        while self.rules.len() <= count {
            self.rules.push(gauss_legendre(self.rules.len()));
        }
        self.shares.clear();
        self.shares.resize(q.len(), 0.0);
        for &(t, weight) in &self.rules[count] {
            self.prefix.clear();
            let mut product = weight;
            for q in q {
                self.prefix.push(product);
                product *= 1.0 - q + q * t;
            }
            let mut suffix = 1.0;
            for (j, q) in q.iter().enumerate().rev() {
                self.shares[j] += q * self.prefix[j] * suffix;
                suffix *= 1.0 - q + q * t;
            }
        }
        &self.shares
    }
}

/// Nodes and weights on [0, 1], exact for polynomials of degree `2 count - 1`.
fn gauss_legendre(count: usize) -> Vec<(f64, f64)> {
    let n = count as f64;
    (0..count)
        .map(|i| {
            // Newton from Chebyshev's guess converges to the last bit within a few steps.
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut before, mut value) = (1.0, x);
                for degree in 2..=count {
                    let d = degree as f64;
                    (before, value) = (value, ((2.0 * d - 1.0) * x * value - (d - 1.0) * before) / d);
                }
                slope = n * (x * value - before) / (x * x - 1.0);
                let step = value / slope;
                x -= step;
                if step.abs() < 1e-16 {
                    break;
                }
            }
            (0.5 * (1.0 - x), 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// numpy.polynomial.legendre.leggauss(3): 0.7745966692414834 and 5/9, moved to [0, 1].
    #[test]
    fn nodes_match_their_reference() {
        let rule = gauss_legendre(3);
        assert!((rule[2].0 - 0.5 * (1.0 + 0.7745966692414834)).abs() < 1e-15);
        assert!((rule[2].1 - 5.0 / 18.0).abs() < 1e-15);
        for count in 1..60 {
            let rule = gauss_legendre(count);
            assert!((rule.iter().map(|r| r.1).sum::<f64>() - 1.0).abs() < 1e-13, "{count}");
            let power = 2 * count - 1;
            let integral: f64 = rule.iter().map(|r| r.1 * r.0.powi(power as i32)).sum();
            assert!((integral * (power + 1) as f64 - 1.0).abs() < 1e-11, "{count}: {integral}");
        }
    }

    #[test]
    fn shares_are_those_of_all_subsets() {
        let q = [1.5, 4.0, 2.0, 1.0, 3.0];
        let mut work = Work::default();
        let shares = work.leave_one_out(&q);
        for (j, share) in shares.iter().enumerate() {
            let mut expected = 0.0;
            for set in 0u32..1 << q.len() {
                if set >> j & 1 == 1 {
                    let weight: f64 = (0..q.len()).map(|i| if set >> i & 1 == 1 { q[i] } else { 1.0 - q[i] }).product();
                    expected += weight / f64::from(set.count_ones());
                }
            }
            assert!((share - expected).abs() < 1e-12);
        }
    }
}
