//! `constant`: every label has the same propensity, 1 unless told otherwise.
//!
//! `p_j = p`. With `p = 1` nothing is missing and every estimator falls back to what is observed.
//!
//! # Assumes
//! Labels go missing at a rate that does not depend on how frequent they are. Fails on every long-tailed data set that has
//! been looked at: rare labels are missing more often.
//!
//! # Reference
//! The baseline phi_1 in the experiments of Schultheis, Wydmuch, Babbar and Dembczynski, "On Missing Labels, Long-tails and
//! Propensities in Extreme Multi-label Classification", KDD 2022.
//!
//! ```
//! use unmissed::data::LabelStats;
//! let stats = LabelStats::from_counts(10, &[1, 9])?;
//! assert_eq!(unmissed::propensity::models::parse("constant")?.propensities(&stats)?.values(), [1.0, 1.0]);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{PropensityModel, PropensitySpec, read_constants};
use crate::error::Result;
use crate::propensity::{At, Curve, CurveParameter, Hint, ParameterScale, Phi};
use crate::spec::{Named, Spec};

/// See the module's page.
pub(super) struct Constant;

impl crate::sealed::Sealed for Constant {}

impl Named for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }
    fn summary(&self) -> &'static str {
        "the same propensity for every label; 1 (nothing is missing) unless p is given"
    }
}

impl PropensityModel for Constant {
    fn syntax(&self) -> &'static str {
        "constant[:p=1]"
    }
    fn curves(&self) -> &'static [&'static dyn Curve] {
        &[&Flat]
    }
    fn parse(&self, arguments: Option<&str>) -> Result<PropensitySpec> {
        let spec = &Spec::new(self.name(), arguments)?;
        spec.allow(&["p"], &[])?;
        Ok(PropensitySpec::Curve(read_constants(spec, &Flat, vec![1.0], false)?))
    }
    fn family(&self, arguments: Option<&str>) -> Result<Option<Phi>> {
        Ok(self.parse(arguments)?.curve().cloned())
    }
}

#[derive(Debug)]
struct Flat;

impl crate::sealed::Sealed for Flat {}

impl Curve for Flat {
    fn name(&self) -> &'static str {
        "constant"
    }
    fn parameters(&self) -> &'static [CurveParameter] {
        &[CurveParameter { name: "p", low: 1e-9, high: 1.0, free: true, scale: ParameterScale::Log }]
    }
    fn value(&self, theta: &[f64], _at: At) -> f64 {
        theta[0]
    }
    fn gradient(&self, theta: &[f64], _at: At, gradient: &mut [f64]) -> f64 {
        gradient[0] = 1.0;
        theta[0]
    }
    fn starts(&self, hint: Hint) -> Vec<Vec<f64>> {
        hint.inverse.iter().map(|q| vec![1.0 / q]).collect()
    }
}
