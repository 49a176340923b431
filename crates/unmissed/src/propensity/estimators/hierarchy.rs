//! `hierarchy`: propensities from ancestors that observed labels imply.
//!
//! If a label is observed on a row, its ancestors are relevant to that row. The paper's estimate is
//! `p^_j = #rows(j observed) / #rows(j observed, or a descendant is)`, for labels with more than 4 descendants;
//! [`Variant::Conditional`] is `#rows(j and a descendant observed) / #rows(a descendant observed)`.
//!
//! # Assumes
//! That the hierarchy is right and that annotators meant to give the ancestors. Rows where neither the label nor a descendant
//! was observed stay unseen, so the first is an upper bound; the second is consistent where labels go missing independently.
//! Many annotation schemes leave ancestors out by convention; then this measures the convention. Nearly all implied ancestors
//! being absent gives that away ([`Hierarchy::by_convention`]). Where a hierarchy tells what is missing, the better use of it
//! is to add it: [`impute`](crate::propensity::impute).
//!
//! # Reference
//! Jain, Prabhu and Varma, KDD 2016 (Wikipedia), as described by Schultheis et al., KDD 2022. Label 0 is observed on 2 of the
//! 4 rows that it belongs to, and on 1 of the 3 on which a kind of it is:
//!
//! ```
//! use unmissed::data::Labels;
//! use unmissed::propensity::{dag::Dag, estimators::hierarchy::{hierarchy, HierarchyOptions, Variant}, Ratio, models};
//! let labels = Labels::from_ids(2, [vec![0], vec![0, 1], vec![1], vec![1]])?;
//! let dag = Dag::new(2, vec![(1, 0)])?;
//! let ratio = Ratio::new(models::family("constant")?);
//! let paper = HierarchyOptions { threshold: 0, ..HierarchyOptions::default() };
//! assert_eq!(hierarchy(&labels, &dag, &paper, &ratio)?.propensities.get(0), 0.5);
//! let conditional = HierarchyOptions { variant: Variant::Conditional, ..paper };
//! assert_eq!(hierarchy(&labels, &dag, &conditional, &ratio)?.propensities.get(0), 1.0 / 3.0);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{
    CURVE, Estimate, EstimatorInput, EstimatorOption, LEVEL, OptionKind, PropensityEstimator, PropensityEstimatorSpec,
    PropensityEvidence, SEED, SHRINK,
};
use crate::data::{LabelStats, Labels};
use crate::error::{Error, Result};
pub use crate::propensity::dag::Dag;
use crate::propensity::fit::Fit;
use crate::propensity::ratio::{Counts, Ratio, estimate};
use crate::propensity::row_ids::check_row_ids;
use crate::propensity::{Bound, Propensities, Sample};
use crate::spec::Named;
use serde::Serialize;

/// Estimate only labels with more descendants than this.
pub const THRESHOLD: EstimatorOption = EstimatorOption {
    name: "threshold",
    kind: OptionKind::Whole,
    default: "4",
    help: "Estimate only labels with more descendants than this",
};
/// Which ratio to take.
pub const CONDITIONAL: EstimatorOption = EstimatorOption {
    name: "conditional",
    kind: OptionKind::Switch("conditional"),
    default: "false",
    help: "Use the share of implied labels that are observed: consistent if labels go missing independently",
};

/// The entry in the list of estimators.
pub(super) struct Entry;

impl crate::sealed::Sealed for Entry {}

impl Named for Entry {
    fn name(&self) -> &'static str {
        "hierarchy"
    }
    fn summary(&self) -> &'static str {
        "from ancestors that observed labels imply (an upper bound, if annotators record ancestors at all)"
    }
}

impl PropensityEstimator for Entry {
    fn bound(&self) -> Bound {
        Bound::Upper
    }
    fn inputs(&self) -> &'static [EstimatorInput] {
        &[EstimatorInput::Hierarchy]
    }
    fn options(&self) -> &'static [EstimatorOption] {
        &[THRESHOLD, CONDITIONAL, SHRINK, CURVE, LEVEL, SEED]
    }
    fn estimate(&self, evidence: &PropensityEvidence<'_>, spec: &PropensityEstimatorSpec) -> Result<Estimate> {
        let options = HierarchyOptions {
            threshold: spec.whole(&THRESHOLD)?,
            variant: if spec.is_on(&CONDITIONAL)? { Variant::Conditional } else { Variant::Union },
        };
        let dag = evidence.hierarchy_of(self.name())?;
        let found = hierarchy(evidence.train(), dag, &options, &spec.ratio()?)?;
        let remark = format!(
            "{} of {} labels have no descendant; {} have more than {}, and {} of those have data and were estimated.",
            found.without_descendants,
            dag.labels(),
            found.passing,
            options.threshold,
            found.estimated
        );
        Ok(Estimate::new(found.propensities, found.fit)
            .word("variant", found.variant.name())
            .count("without_descendants", found.without_descendants as u64)
            .count("passing", found.passing as u64)
            .count("estimated", found.estimated as u64)
            .count("implied", found.implied)
            .count("implied_and_observed", found.implied_and_observed)
            .remark(remark))
    }
}

/// Fewer implied ancestors observed than this share: left out by convention.
const CONVENTION: f64 = 0.1;

/// Which ratio to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Observed, of observed or implied: the paper's, an upper bound.
    #[default]
    Union,
    /// Use the share of implied labels that are observed: consistent if labels go missing independently.
    Conditional,
}

impl Variant {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Union => "union",
            Variant::Conditional => "conditional",
        }
    }
}

/// What to estimate and for which labels.
#[derive(Clone, Copy, Debug)]
pub struct HierarchyOptions {
    /// Labels need more descendants than this.
    pub threshold: u64,
    /// Which ratio to take.
    pub variant: Variant,
}

impl Default for HierarchyOptions {
    fn default() -> Self {
        HierarchyOptions { threshold: 4, variant: Variant::Union }
    }
}

/// Propensities of all labels, and what the hierarchy tells.
#[derive(Clone, Debug, Serialize)]
pub struct Hierarchy {
    /// The estimate.
    pub propensities: Propensities,
    /// The curve for labels without an estimate.
    pub fit: Fit,
    /// Which ratio was taken.
    pub variant: Variant,
    /// Labels without a descendant.
    pub without_descendants: usize,
    /// Labels with more descendants than the threshold.
    pub passing: usize,
    /// Those of them that have data, and so an estimate of their own.
    pub estimated: usize,
    /// (row, ancestor) pairs that observed labels imply.
    pub implied: u64,
    /// How many of those are observed.
    pub implied_and_observed: u64,
}

impl Hierarchy {
    /// Share of the implied ancestors that are observed.
    pub fn observed_share(&self) -> f64 {
        if self.implied == 0 { 1.0 } else { self.implied_and_observed as f64 / self.implied as f64 }
    }

    /// Whether annotators seem to leave ancestors out by convention.
    pub fn by_convention(&self) -> bool {
        self.observed_share() < CONVENTION
    }
}

/// Estimates propensities from a hierarchy.
pub fn hierarchy(labels: &Labels<'_>, dag: &Dag, options: &HierarchyOptions, how: &Ratio) -> Result<Hierarchy> {
    if labels.cols() != dag.labels() {
        return Err(Error::value("data and hierarchy have different numbers of labels")
            .expected(labels.cols().to_string())
            .found(dag.labels().to_string()));
    }
    check_row_ids(labels.rows())?;
    let stats = LabelStats::of(labels);
    let counts = stats.dense_counts()?;
    let (mut implied, mut both) = (vec![0u64; counts.len()], vec![0u64; counts.len()]);
    let (mut stamps, mut observed, mut stack) = (vec![0u32; counts.len()], vec![0u32; counts.len()], Vec::new());
    for row in 0..labels.rows() {
        let stamp = row as u32 + 1;
        for label in labels.row_ids(row) {
            observed[*label as usize] = stamp;
        }
        dag.ancestors(labels.row_ids(row), &mut stamps, stamp, &mut stack, |ancestor| {
            implied[ancestor as usize] += 1;
            both[ancestor as usize] += u64::from(observed[ancestor as usize] == stamp);
        });
    }
    let passes: Vec<bool> = (0..counts.len() as u32).map(|label| dag.has_more_descendants(label, options.threshold)).collect();
    let ratio = |label: usize| {
        let (part, whole) = match options.variant {
            Variant::Union => (counts[label], counts[label] + implied[label] - both[label]),
            Variant::Conditional => (both[label], implied[label]),
        };
        Counts { count: counts[label], part, whole, usable: passes[label] }
    };
    let all: Vec<Counts> = (0..counts.len()).map(ratio).collect();
    let bound = match options.variant {
        Variant::Union => Bound::Upper,
        Variant::Conditional => Bound::Exact,
    };
    let mut spec = PropensityEstimatorSpec::of_ratio(&Entry, how)?;
    spec.set(THRESHOLD.name, &options.threshold.to_string())?;
    spec.set(CONDITIONAL.name, &(options.variant == Variant::Conditional).to_string())?;
    let (propensities, fit) = estimate(spec, bound, Sample::of(&stats), &all, how)?;
    let mut result = Hierarchy {
        propensities,
        fit,
        variant: options.variant,
        without_descendants: (0..counts.len() as u32).filter(|label| dag.children(*label).is_empty()).count(),
        passing: passes.iter().filter(|passes| **passes).count(),
        estimated: all.iter().filter(|counts| counts.has_data(how)).count(),
        implied: implied.iter().sum(),
        implied_and_observed: both.iter().sum(),
    };
    if result.by_convention() {
        result.propensities = result.propensities.clone().with_note(format!(
            "only {:.1} % of the implied ancestors are observed: annotators seem to leave them out by convention, and these \
             numbers measure that convention, not how likely a label is to be missed",
            100.0 * result.observed_share()
        ));
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propensity::{ValueSource, models};

    #[test]
    fn estimated_labels_are_those_with_data_and_every_variant_has_its_name() {
        // 0 has a kind that is observed; 2 has one that is not.
        let labels = Labels::from_ids(4, [vec![0], vec![0, 1], vec![1]]).unwrap();
        let dag = Dag::new(4, vec![(1, 0), (3, 2)]).unwrap();
        let plain = Ratio::new(models::family("constant").unwrap());
        for (variant, how, name) in [
            (Variant::Union, plain.clone(), "hierarchy"),
            (Variant::Union, plain.clone().shrunken(), "hierarchy-shrunken"),
            (Variant::Conditional, plain.clone(), "hierarchy-conditional"),
            (Variant::Conditional, plain.shrunken(), "hierarchy-conditional-shrunken"),
        ] {
            let found = hierarchy(&labels, &dag, &HierarchyOptions { threshold: 0, variant }, &how).unwrap();
            assert_eq!((found.passing, found.estimated), (2, 1), "{name}");
            assert_eq!(found.propensities.origin().name(), name);
            assert!(how.shrink || found.propensities.from_source(ValueSource::Estimated) == found.estimated);
        }
    }
}
