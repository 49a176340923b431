//! [`Terms`]: what the search maximises, in the shapes that it knows.
//!
//! A function of the expected counts of each label, `TP_j` and `Pred_j`, and of `L_j = -sum ln(1 - p_ij)` over the rows that are given
//! label j: linear terms, fractions `s TP_j / (d_j + Pred_j)`, and `c (1 - exp(-L_j))`. Giving the label to one more row, where its
//! probability is p, then adds exactly `a_j p + b_j`, where a_j and b_j follow from the label's counts alone. So the best labels of a row
//! are those with the highest `a_j p_ij + b_j`, whatever the objective, and this line by label is all that the search looks at.
//!
//! Abandonment is a term of the row: `r prod (1 - p_ij)` is subtracted.

/// What is maximised. See the module's page.
#[derive(Clone, Debug)]
pub struct Terms {
    constant: f64,
    /// What every expected hit is worth.
    uniform: f64,
    /// What an expected hit and a prediction of each label are worth; empty when all are 0.
    linear: Vec<[f64; 2]>,
    fractions: Vec<Fraction>,
    cover: f64,
    /// What is subtracted per unit of a row's probability to be without a hit.
    abandonment: f64,
    labels: usize,
}

#[derive(Clone, Debug)]
struct Fraction {
    scale: f64,
    offsets: Vec<f64>,
}

/// Expected counts of a label.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// Expected hits.
    pub(super) hits: f64,
    /// Rows that are given the label.
    pub(super) predicted: f64,
    /// The negative logarithm of the probability that none of them is a hit.
    pub(super) missed: f64,
}

/// Stands for the logarithm of a probability of 0: far beyond all that single precision tells from 1.
const SURE: f64 = 40.0;

impl Terms {
    pub(super) fn new(labels: usize) -> Terms {
        Terms { constant: 0.0, uniform: 0.0, linear: Vec::new(), fractions: Vec::new(), cover: 0.0, abandonment: 0.0, labels }
    }

    pub(super) fn add_constant(&mut self, value: f64) {
        self.constant += value;
    }

    pub(super) fn add_uniform(&mut self, of_hit: f64) {
        self.uniform += of_hit;
    }

    /// What an expected hit and a prediction of each label are worth.
    pub(super) fn add_linear(&mut self, of_label: impl Fn(usize) -> [f64; 2]) {
        self.linear.resize(self.labels, [0.0; 2]);
        for (label, worth) in self.linear.iter_mut().enumerate() {
            let [hit, prediction] = of_label(label);
            *worth = [worth[0] + hit, worth[1] + prediction];
        }
    }

    /// `scale TP_j / (offset_j + Pred_j)`.
    pub(super) fn add_fraction(&mut self, scale: f64, offset: impl Fn(usize) -> f64) {
        self.fractions.push(Fraction { scale, offsets: (0..self.labels).map(offset).collect() });
    }

    pub(super) fn add_cover(&mut self, scale: f64) {
        self.cover += scale;
    }

    pub(super) fn add_abandonment(&mut self, per_row: f64) {
        self.abandonment += per_row;
    }

    /// What a row's probability to be without a hit costs; 0 when rows do not count by themselves.
    pub(super) fn of_abandonment(&self) -> f64 {
        self.abandonment
    }

    pub(super) fn labels(&self) -> usize {
        self.labels
    }

    /// One more row, or one less with `sign` -1.
    #[inline]
    pub(super) fn count(&self, counts: &mut Counts, probability: f64, sign: f64) {
        counts.hits += sign * probability;
        counts.predicted += sign;
        if self.cover != 0.0 {
            counts.missed += sign * if probability < 1.0 { -(-probability).ln_1p() } else { SURE };
        }
    }

    /// The line of a label with these counts: one more row with probability p adds `a p + b`.
    #[inline]
    pub(super) fn line(&self, label: usize, counts: Counts) -> [f64; 2] {
        let [mut a, mut b] = self.linear.get(label).copied().unwrap_or([0.0; 2]);
        a += self.uniform;
        for fraction in &self.fractions {
            let below = fraction.offsets[label] + counts.predicted;
            let slope = fraction.scale / (below + 1.0);
            a += slope;
            if below > 0.0 {
                b -= slope * counts.hits / below;
            }
        }
        if self.cover != 0.0 {
            a += self.cover * (-counts.missed).exp();
        }
        [a, b]
    }

    /// What a label adds to the value.
    pub(super) fn of_label(&self, label: usize, counts: Counts) -> f64 {
        let [hit, prediction] = self.linear.get(label).copied().unwrap_or([0.0; 2]);
        let mut value = (self.uniform + hit) * counts.hits + prediction * counts.predicted;
        for fraction in &self.fractions {
            let below = fraction.offsets[label] + counts.predicted;
            if below > 0.0 {
                value += fraction.scale * counts.hits / below;
            }
        }
        value + self.cover * -(-counts.missed).exp_m1()
    }

    /// The value of all labels; rows may add to it.
    pub(super) fn of_labels(&self, counts: &[Counts]) -> f64 {
        self.constant + counts.iter().enumerate().map(|(label, counts)| self.of_label(label, *counts)).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The line of a label is what one more row adds.
        #[test]
        fn lines_are_differences(
            rows in proptest::collection::vec(0.0f64..=1.0, 0..20), p in 0.0f64..=1.0, offset in 0.0f64..5.0,
            scales in proptest::array::uniform5(0.0f64..2.0),
        ) {
            let mut terms = Terms::new(1);
            terms.add_constant(3.0);
            terms.add_uniform(scales[0]);
            terms.add_linear(|_| [scales[1], -scales[2]]);
            terms.add_fraction(scales[3], |_| offset);
            terms.add_fraction(1.0, |_| 0.0);
            terms.add_cover(scales[4]);
            let mut counts = Counts::default();
            rows.iter().for_each(|p| terms.count(&mut counts, *p, 1.0));
            let (before, [a, b]) = (terms.of_labels(&[counts]), terms.line(0, counts));
            terms.count(&mut counts, p, 1.0);
            let added = terms.of_labels(&[counts]) - before;
            prop_assert!((added - (a * p + b)).abs() < 1e-9, "{} {}", added, a * p + b);
            terms.count(&mut counts, p, -1.0);
            prop_assert!((terms.of_labels(&[counts]) - before).abs() < 1e-9);
        }
    }
}
