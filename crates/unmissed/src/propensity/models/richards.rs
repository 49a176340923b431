//! `richards`: a generalised logistic curve in the prior.
//!
//! `p_j = c + (d - c) / (e + f exp(-g pi~_j))^(1/h)`. From c at small priors (for large f) to d at large ones, with steepness
//! g and asymmetry h. Scaling e and f by t and (d - c) by t^(1/h) changes nothing, so fits hold e at 1.
//!
//! # Assumes
//! Nothing but a smooth passage between two levels. With `0 <= c, d <= 1` and f, g, h positive (e = 1) every value is in
//! (0, 1]; without these bounds fits run to negative propensities. Five free constants are more than most data determine: as
//! f and h go to 0 together it becomes a Gompertz curve, so report the curve, not single constants.
//!
//! # Reference
//! Richards, "A flexible growth function for empirical use", 1959, as used by Schultheis et al., KDD 2022. With
//! `c = 0, d = e = f = h = 1` it is the logistic function, which at 0 is 1/2 and at ln 3 is 3/4:
//!
//! ```
//! use unmissed::propensity::{models::parse, Sample};
//! let phi = parse("richards:c=0,d=1,f=1,g=1,h=1")?.curve().unwrap().clone();
//! let sample = Sample { rows: 1.0, largest: 1.0 };
//! assert_eq!(phi.at(sample, 0.0), 0.5);
//! assert!((phi.at(sample, 3f64.ln()) - 0.75).abs() < 1e-12);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{PropensityModel, PropensitySpec, read_constants};
use crate::error::{Error, Result};
use crate::propensity::{At, Curve, CurveParameter, Hint, ParameterScale, Phi, Sample};
use crate::spec::{Named, Spec};

/// See the module's page.
pub(super) struct Richards;

impl crate::sealed::Sealed for Richards {}

impl Named for Richards {
    fn name(&self) -> &'static str {
        "richards"
    }
    fn summary(&self) -> &'static str {
        "a generalised logistic curve in the prior, from level c to level d; fit its constants"
    }
}

const KEYS: &[&str] = &["c", "d", "e", "f", "g", "h", "alpha"];

impl PropensityModel for Richards {
    fn syntax(&self) -> &'static str {
        "richards:c=C,d=D,e=1,f=F,g=G,h=H[,alpha=0]"
    }

    fn curves(&self) -> &'static [&'static dyn Curve] {
        &[&RichardsCurve]
    }

    fn parse(&self, arguments: Option<&str>) -> Result<PropensitySpec> {
        let spec = &Spec::new(self.name(), arguments)?;
        spec.allow(KEYS, &[])?;
        let missing: Vec<&str> = ["c", "d", "f", "g", "h"].into_iter().filter(|key| spec.get(key).is_none()).collect();
        if !missing.is_empty() {
            return Err(Error::value(format!("'{spec}': {} not given", missing.join(", ")))
                .expected(self.syntax())
                .hint("there are no published constants for this curve: fit them to an estimate"));
        }
        let phi = read_constants(spec, &RichardsCurve, vec![1.0; 6], true)?;
        // With e below 1 the curve may pass d on its way: the largest prior is where it would.
        let (theta, top) = (phi.theta(), Sample { rows: 1.0, largest: 1.0 });
        let ends = [0.0, 1.0].map(|prior| phi.curve().value(theta, top.at(prior, 0.0)));
        if ends.iter().any(|p| !(*p > 0.0 && *p <= 1.0 + 1e-12)) {
            return Err(Error::value(format!("'{spec}' leaves (0, 1]"))
                .expected("propensities in (0, 1] at priors 0 and 1")
                .found(format!("{} and {}", ends[0], ends[1])));
        }
        Ok(PropensitySpec::Curve(phi))
    }

    fn family(&self, arguments: Option<&str>) -> Result<Option<Phi>> {
        let spec = &Spec::new(self.name(), arguments)?;
        spec.allow(KEYS, &[])?;
        let theta = vec![0.1, 0.9, 1.0, 1.0, 10.0, 1.0];
        Ok(Some(Phi::new(&RichardsCurve, theta, spec.number("alpha")?.unwrap_or(0.0))?))
    }
}

/// Where c, d, e, f, g and h stand in theta.
#[derive(Debug)]
struct RichardsCurve;

impl crate::sealed::Sealed for RichardsCurve {}

impl Curve for RichardsCurve {
    fn name(&self) -> &'static str {
        "richards"
    }

    fn parameters(&self) -> &'static [CurveParameter] {
        &[
            CurveParameter { name: "c", low: 0.0, high: 1.0, free: true, scale: ParameterScale::Linear },
            CurveParameter { name: "d", low: 0.0, high: 1.0, free: true, scale: ParameterScale::Linear },
            CurveParameter { name: "e", low: 1e-9, high: 1e9, free: false, scale: ParameterScale::Log },
            CurveParameter { name: "f", low: 1e-7, high: 1e9, free: true, scale: ParameterScale::Log },
            CurveParameter { name: "g", low: 1e-3, high: 1e9, free: true, scale: ParameterScale::Log },
            CurveParameter { name: "h", low: 1e-7, high: 1e4, free: true, scale: ParameterScale::Log },
        ]
    }

    fn value(&self, theta: &[f64], at: At) -> f64 {
        let &[c, d, e, f, g, h] = theta else { return f64::NAN };
        // ln(e + x) = ln1p(e + x - 1) keeps the Gompertz limit (f and h tiny) exact.
        let log_base = (e - 1.0 + f * (-g * at.prior).exp()).ln_1p();
        c + (d - c) * (-log_base / h).exp()
    }

    fn gradient(&self, theta: &[f64], at: At, gradient: &mut [f64]) -> f64 {
        let &[c, d, e, f, g, h] = theta else { return f64::NAN };
        let decay = (-g * at.prior).exp();
        let base = e + f * decay;
        let log_base = (e - 1.0 + f * decay).ln_1p();
        let share = (-log_base / h).exp();
        // d share / d base = -share / (h base).
        let by_base = -(d - c) * share / (h * base);
        gradient.copy_from_slice(&[
            1.0 - share,
            share,
            by_base,
            by_base * decay,
            -by_base * f * at.prior * decay,
            (d - c) * share * log_base / (h * h),
        ]);
        c + (d - c) * share
    }

    fn starts(&self, hint: Hint) -> Vec<Vec<f64>> {
        let [low, middle, high] = hint.inverse.map(|q| (1.0 / q).clamp(1e-4, 1.0));
        let [_, median, top] = hint.priors;
        let mut starts = Vec::new();
        for g in [1.0 / top, 3.0 / top, 1.0 / median, 0.1 / median] {
            // A logistic through the low and the high level.
            starts.push(vec![0.5 * low, high, 1.0, (high / low).max(1.1), g, 1.0]);
            // Nearly Gompertz: share exp(-(f/h) exp(-g pi)).
            starts.push(vec![0.0, high.max(middle), 1.0, 0.01 * (high / low).max(1.1).ln(), g, 0.01]);
        }
        starts
    }
}
