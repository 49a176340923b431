//! Targets: what is estimated, as a sum over pairs.
//!
//! Every metric here is `known + sum_u g_u y_u`: what observed labels are worth, and a gain for each unobserved pair of the lists. A
//! difference of two models has the difference of their gains, so that pairs on which both agree cost nothing; a ratio of two sums
//! is replaced by its linear part.

/// A sum over pairs. Gains are by place among all pairs, ascending; parts of rows are by row, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Target {
    pub(super) gains: Vec<(u32, f64)>,
    /// What observed labels of rows are worth, where that is not 0.
    pub(super) known: Vec<(u32, f64)>,
}

impl Target {
    /// What observed labels are worth.
    pub(super) fn known(&self) -> f64 {
        self.known.iter().map(|(_, value)| value).sum()
    }

    /// `a self + b other`.
    pub(super) fn combined(&self, a: f64, other: &Target, b: f64) -> Target {
        Target { gains: merged(&self.gains, a, &other.gains, b), known: merged(&self.known, a, &other.known, b) }
    }

    /// What all unobserved pairs together are worth if all are relevant.
    pub(super) fn largest(&self) -> f64 {
        self.gains.iter().map(|(_, gain)| gain).sum()
    }
}

fn merged(x: &[(u32, f64)], a: f64, y: &[(u32, f64)], b: f64) -> Vec<(u32, f64)> {
    let mut all = Vec::with_capacity(x.len() + y.len());
    let (mut i, mut j) = (0, 0);
    loop {
        let value = match (x.get(i), y.get(j)) {
            (Some(left), Some(right)) if left.0 == right.0 => {
                (i, j) = (i + 1, j + 1);
                (left.0, a * left.1 + b * right.1)
            }
            (Some(left), right) if right.is_none_or(|right| left.0 < right.0) => {
                i += 1;
                (left.0, a * left.1)
            }
            (_, Some(right)) => {
                j += 1;
                (right.0, b * right.1)
            }
            _ => return all,
        };
        if value.1 != 0.0 {
            all.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_on_which_both_agree_fall_out_of_a_difference() {
        let target = |gains: &[(u32, f64)]| Target { gains: gains.to_vec(), known: vec![(0, 1.0)] };
        let difference = target(&[(1, 0.5), (3, 0.5)]).combined(1.0, &target(&[(0, 0.5), (3, 0.5), (9, 0.25)]), -1.0);
        assert_eq!(difference.gains, [(0, -0.5), (1, 0.5), (9, -0.25)]);
        assert_eq!((difference.known(), difference.largest()), (0.0, -0.25));
    }
}
