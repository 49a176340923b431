//! `power`: a power of the prior.
//!
//! `p_j = min(1, (beta pi~_j)^gamma)`, `pi~_j = (n_j + alpha) / (n + alpha)`. `power:relative`, the default, has
//! `beta = 1 / max_j pi~_j`, so that the most frequent label has propensity 1: `p_j = (n_j / max_j n_j)^gamma`, gamma 1.
//! (The paper's text gives beta as its inverse; the works that it cites, and its own data statistics, mean this one.)
//!
//! # Assumes
//! That the chance of being observed grows with the share of rows that carry the label, whatever the size of the data. It is
//! a function of the prior, so copying the data changes nothing. Fails where rare labels are complete, as in curated sets,
//! and vanishes at a prior of 0: labels never seen are taken as half a positive, or smoothed with `alpha`.
//!
//! # Reference
//! Schultheis, Wydmuch, Babbar and Dembczynski, KDD 2022, and the recommendation works cited there for `n_j / max_j n_j`.
//!
//! ```
//! use unmissed::data::LabelStats;
//! let stats = LabelStats::from_counts(1000, &[25, 100, 50])?;
//! let p = unmissed::propensity::models::parse("power:gamma=0.5")?.propensities(&stats)?;
//! assert_eq!(p.origin().to_string(), "power:relative,gamma=0.5");
//! assert_eq!((p.get(0), p.get(1)), (0.5, 1.0));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{PropensityModel, PropensitySpec, read_constants};
use crate::error::{Error, Result};
use crate::propensity::{At, Curve, CurveParameter, Hint, ParameterScale, Phi};
use crate::spec::{Named, Spec};

/// See the module's page.
pub(super) struct Power;

impl crate::sealed::Sealed for Power {}

impl Named for Power {
    fn name(&self) -> &'static str {
        "power"
    }
    fn summary(&self) -> &'static str {
        "min(1, (beta * prior)^gamma); relative to the most frequent label unless beta is given"
    }
}

impl PropensityModel for Power {
    fn syntax(&self) -> &'static str {
        "power[:relative,gamma=1,alpha=0 | :beta=B,gamma=1,alpha=0]"
    }

    fn curves(&self) -> &'static [&'static dyn Curve] {
        &[&PowerCurve, &RelativeCurve]
    }

    fn parse(&self, arguments: Option<&str>) -> Result<PropensitySpec> {
        let spec = &Spec::new(self.name(), arguments)?;
        spec.allow(&["beta", "gamma", "alpha"], &["relative"])?;
        let relative = spec.words().iter().any(|word| word == "relative");
        Ok(PropensitySpec::Curve(match (spec.number("beta")?, relative) {
            (Some(_), true) => {
                return Err(Error::value(format!("'{spec}': 'relative' already determines beta")).hint("drop one of the two"));
            }
            (Some(beta), false) => read_constants(spec, &PowerCurve, vec![beta, 1.0], true)?,
            (None, _) => read_constants(spec, &RelativeCurve, vec![1.0], true)?,
        }))
    }

    /// `power:relative` fits gamma, `power` both constants.
    fn family(&self, arguments: Option<&str>) -> Result<Option<Phi>> {
        let (parsed, spec) = (self.parse(arguments)?, &Spec::new(self.name(), arguments)?);
        if spec.words().is_empty() && spec.get("beta").is_none() {
            return Ok(Some(read_constants(spec, &PowerCurve, vec![1.0, 1.0], true)?));
        }
        Ok(parsed.curve().cloned())
    }
}

const GAMMA: CurveParameter = CurveParameter { name: "gamma", low: 0.0, high: 20.0, free: true, scale: ParameterScale::Linear };

#[derive(Debug)]
struct PowerCurve;

impl crate::sealed::Sealed for PowerCurve {}

impl Curve for PowerCurve {
    fn name(&self) -> &'static str {
        "power"
    }
    fn parameters(&self) -> &'static [CurveParameter] {
        &[CurveParameter { name: "beta", low: 1e-12, high: 1e12, free: true, scale: ParameterScale::Log }, GAMMA]
    }
    fn value(&self, theta: &[f64], at: At) -> f64 {
        (theta[0] * at.prior).powf(theta[1])
    }
    fn gradient(&self, theta: &[f64], at: At, gradient: &mut [f64]) -> f64 {
        let base = theta[0] * at.prior;
        let p = base.powf(theta[1]);
        if p >= 1.0 {
            gradient.fill(0.0);
            return 1.0;
        }
        gradient[0] = theta[1] * p / theta[0];
        gradient[1] = p * base.ln();
        p
    }
    fn starts(&self, hint: Hint) -> Vec<Vec<f64>> {
        let slope = hint.slope.clamp(0.02, 10.0);
        let top = 1.0 / hint.priors[2];
        // ln q = -gamma ln beta - gamma ln pi~.
        let line = (-hint.level / slope).clamp(-27.0, 27.0).exp();
        vec![vec![line, slope], vec![top, slope], vec![top, 1.0], vec![top, 0.3], vec![10.0 * top, 0.5]]
    }
}

#[derive(Debug)]
struct RelativeCurve;

impl crate::sealed::Sealed for RelativeCurve {}

impl Curve for RelativeCurve {
    fn name(&self) -> &'static str {
        "power:relative"
    }
    fn parameters(&self) -> &'static [CurveParameter] {
        &[GAMMA]
    }
    fn value(&self, theta: &[f64], at: At) -> f64 {
        (at.prior / at.top).powf(theta[0])
    }
    fn gradient(&self, theta: &[f64], at: At, gradient: &mut [f64]) -> f64 {
        let base = at.prior / at.top;
        let p = base.powf(theta[0]);
        gradient[0] = if p >= 1.0 { 0.0 } else { p * base.ln() };
        p.min(1.0)
    }
    fn starts(&self, hint: Hint) -> Vec<Vec<f64>> {
        [hint.slope.clamp(0.02, 10.0), 0.1, 0.3, 0.6, 1.0].map(|gamma| vec![gamma]).to_vec()
    }
}
