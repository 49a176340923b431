//! [`Calibration`]: from the scores that a loss leaves to log-odds.

use serde::{Deserialize, Serialize};

/// A factor and a summand for the scores of each label, as functions of how often the label was observed in training:
/// `logit P = scale(n) z + shift(n)`, both linear in `log2(n + 1)` between knots. The model holds scores after it.
///
/// ```
/// use unmissed::predict::file::Calibration;
/// let calibration = Calibration { first: 1, scales: vec![8.0, 4.0], shifts: vec![2.0, 0.0], divides: false };
/// assert_eq!(calibration.at(1), (8.0, 2.0));
/// assert_eq!(calibration.at(3), (4.0, 0.0));
/// assert_eq!(calibration.at(1_000), (4.0, 0.0));
/// assert_eq!(Calibration { divides: true, ..calibration }.of_label(3, 0.5), (4.0, 2f64.ln()));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// `log2(n + 1)` at the first knot; the next is one further.
    pub first: u32,
    /// The factors at the knots.
    pub scales: Vec<f64>,
    /// The summands at the knots.
    pub shifts: Vec<f64>,
    /// Whether the scores are about observed labels, so that `-ln p` is added to make log-odds of relevance: a division by the
    /// propensity where probabilities are small.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub divides: bool,
}

impl Calibration {
    /// The factor and the summand of a label that was observed so often; outside of the knots, those of the nearest.
    pub fn at(&self, count: u64) -> (f64, f64) {
        let (knot, part) = place(count, self.first, self.scales.len());
        let between = |values: &[f64]| match (values.get(knot), values.get(knot + 1)) {
            (Some(low), Some(high)) => low + part * (high - low),
            (Some(only), None) => *only,
            _ => f64::NAN,
        };
        (between(&self.scales), between(&self.shifts))
    }

    /// The same for a label that is observed with this probability where it is relevant, with all that is added to its scores.
    pub fn of_label(&self, count: u64, propensity: f64) -> (f64, f64) {
        let (scale, shift) = self.at(count);
        (scale, if self.divides { shift - propensity.ln() } else { shift })
    }
}

/// Between which of `knots` knots a label lies that was observed so often: the one below, and the share of the way to the next.
pub(crate) fn place(count: u64, first: u32, knots: usize) -> (usize, f64) {
    let last = knots.saturating_sub(1) as f64;
    let place = ((count as f64 + 1.0).log2() - f64::from(first)).clamp(0.0, last);
    let knot = (place.floor() as usize).min(knots.saturating_sub(2));
    (knot, place - knot as f64)
}
