//! Propensity estimators: propensities from evidence beyond the training labels.
//!
//! | name | from | bound |
//! |---|---|---|
//! | [`direct`] | a bias-controlled sample, label by label | exact |
//! | [`shrunken`] | the same, shrunken towards a fitted curve, more so with less data | exact |
//! | [`timelapse`] | a later snapshot of the same rows | upper |
//! | [`hierarchy`] | ancestors that observed labels imply | upper |
//! | [`relation`] | items viewed together with items that were bought with a label | none |
//! | [`judged`] | judged pairs of models' top lists | none |
//! | [`anchors`] | observed labels alone, on the rows with a label's highest scores | lower |
//!
//! An estimator is an entry of [`PROPENSITY_ESTIMATORS`]: it names the evidence that it needs and its options, and turns
//! [`PropensityEvidence`] into an [`Estimate`]. The command line, Python and the audit use the list, so a new estimator is one file
//! and one line. With values for its options it is a [`PropensityEstimatorSpec`]. Each file also has a plain function for
//! those who know which estimator they want.
//!
//! All but `direct` give a value for every label: where the data say nothing, the fitted curve does, and the value is marked
//! (`anchors`, which has no curve, takes half an observation).
//! Never estimate propensities and evaluate on the same controlled rows: split them.

pub mod anchors;
pub mod direct;
mod estimate;
mod evidence;
pub mod hierarchy;
pub mod judged;
mod options;
pub mod relation;
pub mod shrunken;
mod spec;
pub mod timelapse;

pub use anchors::SureRows;
pub use direct::Direct;
pub use estimate::{Diagnostic, Estimate, EstimatedValues};
pub use evidence::{ControlledSet, EstimatorInput, InputField, PropensityEvidence, RelationPairs};
pub use hierarchy::Hierarchy;
pub use judged::JudgedPropensities;
pub use options::{CURVE, EstimatorOption, LEVEL, OptionKind, SEED, SHRINK};
pub use relation::Relation;
pub use shrunken::Shrunken;
pub use spec::PropensityEstimatorSpec;
pub use timelapse::Timelapse;

use crate::error::Result;
use crate::propensity::Bound;
use crate::sealed::Sealed;
use crate::spec::Named;

/// All propensity estimators.
pub static PROPENSITY_ESTIMATORS: &[&dyn PropensityEstimator] =
    &[&direct::Entry, &shrunken::Entry, &timelapse::Entry, &hierarchy::Entry, &relation::Entry, &judged::Entry, &anchors::Entry];

/// A way to get propensities from evidence. Only this crate implements it.
pub trait PropensityEstimator: Named + Sealed + Sync {
    /// In which sense the estimate, with default options, bounds the propensity.
    fn bound(&self) -> Bound;
    /// The evidence that it needs besides the training labels.
    fn inputs(&self) -> &'static [EstimatorInput];
    /// Its options.
    fn options(&self) -> &'static [EstimatorOption];
    /// Estimates propensities.
    fn estimate(&self, evidence: &PropensityEvidence<'_>, spec: &PropensityEstimatorSpec) -> Result<Estimate>;
    /// The options with which an audit asks it, as in a spec after the colon.
    fn audited(&self) -> &'static [&'static str] {
        &[""]
    }
}

/// The estimators that an audit uses, at its level and seed: those whose evidence is available.
pub fn audited(evidence: &PropensityEvidence<'_>, level: f64, seed: u64) -> Result<Vec<PropensityEstimatorSpec>> {
    let possible = PROPENSITY_ESTIMATORS.iter().filter(|entry| entry.inputs().iter().all(|input| evidence.has(*input)));
    let specs = possible.flat_map(|entry| entry.audited().iter().map(|options| (entry.name(), *options)));
    specs
        .map(|(name, options)| {
            let spec: PropensityEstimatorSpec =
                if options.is_empty() { name.parse()? } else { format!("{name}:{options}").parse()? };
            Ok(spec.with_level_and_seed(level, seed))
        })
        .collect()
}
