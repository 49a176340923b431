//! [`Recalibration`]: what a controlled set says about the probabilities that trees give to labels.

use crate::error::{Error, Result};

/// Makes a probability of a complete label out of the probability `e` that the trees give to label j:
/// `sigmoid(slope * logit(e) + offset_j)`. The slope is positive, so that a larger `e` never makes a smaller one, and searches stay exact.
///
/// ```
/// use unmissed::predict::Recalibration;
/// let moved = Recalibration::new(1.0, vec![0.0, 3f64.ln()])?;
/// assert!((moved.at(0.25, 0) - 0.25).abs() < 1e-12 && (moved.at(0.25, 1) - 0.5).abs() < 1e-12);
/// assert!(Recalibration::new(-1.0, vec![0.0]).is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Recalibration {
    slope: f64,
    offsets: Vec<f64>,
}

impl Recalibration {
    /// An offset for each label; all numbers must be finite, and the slope above 0.
    pub fn new(slope: f64, offsets: Vec<f64>) -> Result<Recalibration> {
        if !(slope > 0.0 && slope.is_finite() && offsets.iter().all(|offset| offset.is_finite())) {
            return Err(Error::value("a recalibration has a finite slope above 0 and finite offsets"));
        }
        Ok(Recalibration { slope, offsets })
    }

    /// What logits are multiplied with.
    pub fn slope(&self) -> f64 {
        self.slope
    }

    /// What is added to them, by label.
    pub fn offsets(&self) -> &[f64] {
        &self.offsets
    }

    /// The probability of a label to which the trees give `chance`.
    pub fn at(&self, chance: f64, label: u32) -> f64 {
        self.moved(chance, self.offsets[label as usize])
    }

    /// The same for any offset.
    pub(super) fn moved(&self, chance: f64, offset: f64) -> f64 {
        let odds = (chance / (1.0 - chance)).powf(self.slope) * offset.exp();
        if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_stay_in_order_and_in_range() {
        for slope in [0.01, 0.5, 1.0, 3.0] {
            for offset in [-800.0, -3.0, 0.0, 2.0, 800.0] {
                let moved = Recalibration::new(slope, vec![offset]).unwrap();
                let chances = [0.0, 1e-300, 1e-9, 0.1, 0.5, 0.9, 1.0 - 1e-12, 1.0];
                let found = chances.map(|chance| moved.at(chance, 0));
                assert!(found.iter().all(|found| (0.0..=1.0).contains(found)), "{slope} {offset}: {found:?}");
                assert!(found.is_sorted(), "{slope} {offset}: {found:?}");
            }
        }
    }
}
