//! `timelapse`: propensities from two snapshots of the same rows.
//!
//! `p^_j = e_j / l_j`: l_j rows carry the label in the later snapshot, e_j of them already did in the earlier one. Shrunken:
//! posterior mean under `p_j ~ Beta(kappa phi, kappa (1 - phi))`, phi a curve in the earlier counts.
//!
//! # Assumes
//! That the later snapshot is the truth. It never is, so this is an upper bound of the propensity. Labels that were withdrawn
//! (in the earlier snapshot, not in the later one) break one-sidedness: they are counted, and taken as mistakes, that is left
//! out of e_j. Labels that only the later snapshot has are left out of the fit of phi: at an earlier count of 0 every ratio is 0,
//! by selection and not by propensity. They take the curve at half a positive, as do labels in neither.
//!
//! # Reference
//! The HPO example of this project's data page. 3 of 4 were known before:
//!
//! ```
//! use unmissed::data::Labels;
//! use unmissed::propensity::{estimators::timelapse::timelapse, Ratio, models};
//! let earlier = Labels::from_ids(2, [vec![0], vec![0, 1], vec![0], vec![1]])?;
//! let later = Labels::from_ids(2, [vec![0], vec![0, 1], vec![0], vec![0, 1]])?;
//! let estimate = timelapse(&earlier, &later, &Ratio::new(models::family("constant")?))?;
//! assert_eq!(estimate.propensities.values(), [0.75, 1.0]);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::evidence::same_shape;
use super::{
    CURVE, Estimate, EstimatorInput, EstimatorOption, LEVEL, PropensityEstimator, PropensityEstimatorSpec, PropensityEvidence,
    SEED, SHRINK,
};
use crate::data::{LabelStats, Labels};
use crate::error::Result;
use crate::propensity::fit::Fit;
use crate::propensity::ratio::{Counts, Ratio, estimate};
use crate::propensity::{Bound, Propensities, Sample};
use crate::spec::Named;
use serde::Serialize;

/// The entry in the list of estimators.
pub(super) struct Entry;

impl crate::sealed::Sealed for Entry {}

impl Named for Entry {
    fn name(&self) -> &'static str {
        "timelapse"
    }
    fn summary(&self) -> &'static str {
        "from two snapshots of the same rows: the share of later labels that were observed before (an upper bound)"
    }
}

impl PropensityEstimator for Entry {
    fn bound(&self) -> Bound {
        Bound::Upper
    }
    fn inputs(&self) -> &'static [EstimatorInput] {
        &[EstimatorInput::Later]
    }
    fn options(&self) -> &'static [EstimatorOption] {
        &[SHRINK, CURVE, LEVEL, SEED]
    }
    fn estimate(&self, evidence: &PropensityEvidence<'_>, spec: &PropensityEstimatorSpec) -> Result<Estimate> {
        let found = timelapse(evidence.train(), evidence.later_of(self.name())?, &spec.ratio()?)?;
        Ok(Estimate::new(found.propensities, found.fit)
            .count("earlier", found.earlier)
            .count("later", found.later)
            .count("withdrawn", found.withdrawn)
            .count("new_labels", found.new_labels))
    }
    fn audited(&self) -> &'static [&'static str] {
        &["", "shrink"]
    }
}

/// Propensities of all labels, and what the snapshots look like.
#[derive(Clone, Debug, Serialize)]
pub struct Timelapse {
    /// The estimate.
    pub propensities: Propensities,
    /// The curve in the earlier counts.
    pub fit: Fit,
    /// Positives of the earlier snapshot.
    pub earlier: u64,
    /// Positives of the later snapshot.
    pub later: u64,
    /// Positives of the earlier snapshot that the later one does not have.
    pub withdrawn: u64,
    /// Labels that only the later snapshot has.
    pub new_labels: u64,
}

/// Compares two snapshots row by row.
pub fn timelapse(earlier: &Labels<'_>, later: &Labels<'_>, how: &Ratio) -> Result<Timelapse> {
    same_shape(earlier, later)?;
    let later_stats = LabelStats::of(later);
    let earlier_stats = LabelStats::of(earlier);
    let (counts, wholes) = (earlier_stats.dense_counts()?, later_stats.dense_counts()?);
    let mut kept = vec![0u64; counts.len()];
    let mut marks = vec![usize::MAX; counts.len()];
    let mut withdrawn = 0;
    for row in 0..earlier.rows() {
        for label in later.row_ids(row) {
            marks[*label as usize] = row;
        }
        for label in earlier.row_ids(row) {
            if marks[*label as usize] == row {
                kept[*label as usize] += 1;
            } else {
                withdrawn += 1;
            }
        }
    }
    let labels: Vec<Counts> = (0..counts.len())
        .map(|label| Counts { count: counts[label], part: kept[label], whole: wholes[label], usable: true })
        .collect();
    let spec = PropensityEstimatorSpec::of_ratio(&Entry, how)?;
    let (mut propensities, fit) = estimate(spec, Bound::Upper, Sample::of(&earlier_stats), &labels, how)?;
    if withdrawn > 0 {
        propensities = propensities.with_note(format!(
            "{withdrawn} of {} earlier positives are not in the later snapshot: treated as mistakes, not as evidence",
            earlier_stats.positives()
        ));
    }
    let added = later_stats.positives() + withdrawn - earlier_stats.positives();
    if withdrawn > added {
        propensities = propensities
            .with_note(format!("more positives were withdrawn ({withdrawn}) than added ({added}): are the snapshots swapped?"));
    } else if withdrawn + added == 0 {
        propensities = propensities.with_note("both snapshots are the same: nothing can be learned from identical snapshots");
    }
    let new_labels = labels.iter().filter(|c| c.count == 0 && c.whole > 0).count() as u64;
    Ok(Timelapse { propensities, fit, earlier: earlier_stats.positives(), later: later_stats.positives(), withdrawn, new_labels })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propensity::models;

    fn notes(earlier: &[Vec<u32>], later: &[Vec<u32>]) -> String {
        let labels = |rows: &[Vec<u32>]| Labels::from_ids(2, rows.to_vec()).unwrap();
        let how = Ratio::new(models::family("constant").unwrap());
        timelapse(&labels(earlier), &labels(later), &how).unwrap().propensities.notes().join("; ")
    }

    #[test]
    fn swapped_and_identical_snapshots_are_suspicious() {
        let (few, many) = (vec![vec![0], vec![1], vec![]], vec![vec![0, 1], vec![1], vec![0]]);
        assert!(notes(&many, &few).contains("withdrawn (2) than added (0): are the snapshots swapped?"));
        assert!(notes(&few, &few).contains("identical snapshots"));
        let usual = notes(&few, &many);
        assert!(!usual.contains("swapped") && !usual.contains("identical"), "{usual}");
    }

    #[test]
    fn a_huge_declared_number_of_labels_is_refused() {
        let labels = Labels::from_ids(u64::from(u32::MAX), [vec![1]]).unwrap();
        let error = timelapse(&labels, &labels, &Ratio::new(models::family("constant").unwrap())).unwrap_err();
        assert!(error.to_string().starts_with("too many labels"), "{error}");
    }
}
