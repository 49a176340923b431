//! `judged`: propensities from judged pairs of models' top lists.
//!
//! Among the pairs of the pooled lists, label j has o_j observed ones, and an estimate `m_j = sum_judged y / f` of relevant ones that are
//! not observed, from judged pairs that were drawn with probability f. `p^_j = o_j / (o_j + m_j)`, shrunken towards a fitted curve as far
//! as judgements are thin. One judgement stands for d = mean(1/f) pairs, so the likelihood counts o_j / d and m_j / d, rounded.
//!
//! # Assumes
//! That judges are right, and that labels go missing from the pooled lists as they do elsewhere. They need not: labels that models rank
//! first are often missing less. So it is no bound in either direction; for scores of models whose lists were judged, the estimator
//! `judged` of an evaluation needs none of this.
//!
//! # Reference
//! The estimate of m_j is that of Horvitz and Thompson, 1952. By hand: 30 observed pairs of label 0; of 10 judged pairs, drawn with
//! probability 1/2 each, 5 are relevant, so 10 are missing:
//!
//! ```
//! use unmissed::data::{KnownPair, Labels};
//! use unmissed::propensity::{Ratio, estimators::judged::judged, models};
//! let train = Labels::from_ids(1, (0..100).map(|row| (row < 30).then_some(0)))?;
//! let pair = |row, relevant, observed| KnownPair { row, label: 0, relevant, observed, weight: if observed { 1.0 } else { 2.0 } };
//! let observed = (0..30).map(|row| pair(row, true, true));
//! let pairs: Vec<KnownPair> = observed.chain((30..40).map(|row| pair(row, row < 35, false))).collect();
//! let found = judged(&train, &pairs, &Ratio::new(models::family("constant")?))?;
//! assert_eq!(found.propensities.get(0), 0.75);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{
    CURVE, Estimate, EstimatorInput, EstimatorOption, LEVEL, PropensityEstimator, PropensityEstimatorSpec, PropensityEvidence,
    SEED, SHRINK,
};
use crate::data::{KnownPair, LabelStats, Labels};
use crate::error::{Error, Result};
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
        "judged"
    }
    fn summary(&self) -> &'static str {
        "from judged pairs of models' top lists (no bound in either direction)"
    }
}

impl PropensityEstimator for Entry {
    fn bound(&self) -> Bound {
        Bound::None
    }
    fn inputs(&self) -> &'static [EstimatorInput] {
        &[EstimatorInput::Judged]
    }
    fn options(&self) -> &'static [EstimatorOption] {
        &[CURVE, SHRINK, LEVEL, SEED]
    }
    fn estimate(&self, evidence: &PropensityEvidence<'_>, spec: &PropensityEstimatorSpec) -> Result<Estimate> {
        let found = judged(evidence.train(), evidence.judged_of(self.name())?, &spec.ratio()?)?;
        let remark = format!(
            "{} judged pairs; of the relevant pairs in the pooled lists about {:.1} % are observed.",
            found.judged,
            100.0 * found.observed_share
        );
        Ok(Estimate::new(found.propensities, found.fit).count("judged", found.judged).remark(remark))
    }
    fn audited(&self) -> &'static [&'static str] {
        &["shrink"]
    }
}

/// Propensities of all labels, and what judged pairs tell.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedPropensities {
    /// The estimate.
    pub propensities: Propensities,
    /// The curve for labels without an estimate.
    pub fit: Fit,
    /// How many pairs were judged.
    pub judged: u64,
    /// The share of relevant pairs of the pooled lists that is observed.
    pub observed_share: f64,
}

/// Estimates propensities from pairs whose relevance is known; labels are those of the training data.
pub fn judged(train: &Labels<'_>, pairs: &[KnownPair], how: &Ratio) -> Result<JudgedPropensities> {
    let stats = LabelStats::of(train);
    let counts = stats.dense_counts()?;
    // Observed pairs, and the weights of relevant ones that are not.
    let mut sums = vec![(0.0, 0.0); counts.len()];
    let (mut weights, mut judged) = (0.0, 0u64);
    for pair in pairs {
        let sum = sums.get_mut(pair.label as usize).ok_or_else(|| {
            Error::value("a judged pair has a label that the training data do not have")
                .expected(format!("a label below {}", counts.len()))
                .found(pair.label.to_string())
        })?;
        if pair.observed {
            sum.0 += 1.0;
        } else {
            (weights, judged) = (weights + pair.weight, judged + 1);
            sum.1 += if pair.relevant { pair.weight } else { 0.0 };
        }
    }
    if judged == 0 {
        return Err(Error::value("no pair is judged").expected("judged pairs that are not observed"));
    }
    let stands_for = weights / judged as f64;
    let scaled = |sum: f64| (sum / stands_for).round() as u64;
    let all: Vec<Counts> = sums
        .iter()
        .zip(&counts)
        .map(|((observed, missed), count)| {
            let part = scaled(*observed);
            Counts { count: *count, part, whole: part + scaled(*missed), usable: true }
        })
        .collect();
    let (observed, missed) = sums.iter().fold((0.0, 0.0), |(o, m), (observed, missed)| (o + observed, m + missed));
    let (propensities, fit) =
        estimate(PropensityEstimatorSpec::of_ratio(&Entry, how)?, Bound::None, Sample::of(&stats), &all, how)?;
    Ok(JudgedPropensities { propensities, fit, judged, observed_share: observed / (observed + missed) })
}
