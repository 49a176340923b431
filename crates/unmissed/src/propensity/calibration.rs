//! Calibration by bands: inverse propensities for scores, so that each band of labels implies as many positives as were observed.
//!
//! A shrunken estimate has the smallest error label by label, but it is biased in sums over labels, above all where it is
//! floored at 1. Labels are put into bands by their training counts, each with enough controlled positives, and all inverse propensities of a band
//! are multiplied with `F = sum v_j / sum E_j q_j`: what was seen in the controlled set over what the estimate expects there. The error of
//! F is common to the labels of a band; a label's own error is independent of the others'.

use crate::error::Result;
use crate::propensity::Propensities;

/// A band needs this many controlled positives, for a relative error of F of a seventh; and there are at most so many bands.
const POSITIVES: u64 = 50;
const BANDS: u64 = 8;

/// What is known of one label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Positives in training.
    pub(super) count: u64,
    /// Positives in the controlled set.
    pub(super) positives: u64,
    /// Expected controlled positives if nothing were missing.
    pub(super) exposure: f64,
    /// The shrunken inverse propensity, without a floor, and its variance.
    pub(super) inverse: f64,
    pub(super) variance: f64,
}

/// Adds calibrated inverse propensities with their errors; `curve` are errors that labels without exposure have in common.
pub(super) fn calibrated(propensities: Propensities, labels: &[Seen], curve: Vec<Vec<f64>>) -> Result<Propensities> {
    let mut inverses: Vec<f64> = labels.iter().map(|label| label.inverse).collect();
    let mut variances: Vec<f64> = labels.iter().map(|label| label.variance).collect();
    let mut errors = curve;
    // A band's own error takes the place of the curve's, which is common to all bands.
    for (label, seen) in labels.iter().enumerate().filter(|(_, seen)| seen.exposure > 0.0) {
        debug_assert!(seen.count > 0);
        errors.iter_mut().for_each(|error| error[label] = 0.0);
    }
    for band in bands(labels) {
        let sum = |of: &dyn Fn(&Seen) -> f64| band.iter().map(|label| of(&labels[*label])).sum::<f64>();
        let (seen, expected) = (sum(&|label| label.positives as f64), sum(&|label| label.exposure * label.inverse));
        let factor = seen / expected;
        // Both are counts: positives of the controlled rows, and training counts behind the exposures.
        let of_counts = sum(&|label| (label.exposure * label.inverse).powi(2) / label.count as f64) / expected.powi(2);
        let relative = (1.0 / seen + of_counts).sqrt();
        let mut error = vec![0.0; labels.len()];
        for label in band {
            inverses[label] *= factor;
            variances[label] *= factor * factor;
            error[label] = inverses[label] * relative;
        }
        errors.push(error);
    }
    propensities.with_score_inverses(inverses)?.with_inverse_variances(variances)?.with_common_errors(errors)
}

/// Labels with exposure, by count; those of one count stay together, and each band has enough positives.
fn bands(labels: &[Seen]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..labels.len()).filter(|label| labels[*label].exposure > 0.0).collect();
    order.sort_by_key(|label| labels[*label].count);
    let total: u64 = order.iter().map(|label| labels[*label].positives).sum();
    let enough = POSITIVES.max(total / BANDS);
    let mut bands: Vec<Vec<usize>> = Vec::new();
    let (mut band, mut positives, mut left) = (Vec::new(), 0, total);
    for same in order.chunk_by(|a, b| labels[*a].count == labels[*b].count) {
        band.extend_from_slice(same);
        let of_count: u64 = same.iter().map(|label| labels[*label].positives).sum();
        positives += of_count;
        left -= of_count;
        if positives >= enough && left >= enough {
            bands.push(std::mem::take(&mut band));
            positives = 0;
        }
    }
    if positives > 0 {
        bands.push(band);
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_stand_for_what_was_seen() {
        let label = |place: u64| Seen {
            count: 1 + place / 10,
            positives: place % 7,
            exposure: 1.0 + place as f64 / 50.0,
            inverse: 3.0 / (1.0 + place as f64 / 40.0),
            variance: 0.1,
        };
        let mut labels: Vec<Seen> = (0..200).map(label).collect();
        labels.push(Seen { count: 0, positives: 1, exposure: 0.0, inverse: 9.0, variance: 0.0 });
        let found = bands(&labels);
        assert!(found.len() > 2 && found.len() <= BANDS as usize, "{}", found.len());
        let p = Propensities::new("x", vec![0.5; 201]).unwrap();
        let p = calibrated(p, &labels, vec![vec![0.2; 201]]).unwrap();
        for band in &found {
            let seen: u64 = band.iter().map(|label| labels[*label].positives).sum();
            let expected: f64 = band.iter().map(|label| labels[*label].exposure * p.score_inverse(*label as u32)).sum();
            assert!(seen >= POSITIVES && (expected - seen as f64).abs() < 1e-9, "{seen} {expected}");
        }
        // The label without exposure keeps the curve and its error; the others have that of their band.
        assert_eq!((p.score_inverse(200), p.common_errors()[0][200], p.common_errors()[0][0]), (9.0, 0.2, 0.0));
        assert_eq!(p.common_errors().len(), found.len() + 1);
    }
}
