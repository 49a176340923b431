//! Several models against one estimate, as in the paper's appendix: mean squared error of inverse propensities.

use super::evidence::CurveEvidence;
use super::{Fit, FitOptions, fit};
use crate::error::{Error, Result};
use crate::propensity::models::PropensitySpec;
use crate::propensity::{Phi, Propensities};
use rayon::prelude::*;
use serde::Serialize;

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct FitComparison {
    /// The model with all its constants.
    pub spec: String,
    /// Mean squared difference of inverse propensities over the labels with an estimate.
    pub mse: f64,
    /// How the constants were found; `None` when they were given.
    pub fit: Option<Fit>,
}

/// `m^-1 sum_j (q^_j - 1/phi(pi~_j))^2` over the labels with an estimate.
pub fn mse(phi: &Phi, evidence: &CurveEvidence) -> f64 {
    let square = |(count, q): (&f64, &f64)| (q - 1.0 / phi.at(evidence.sample(), *count)).powi(2);
    evidence.counts().iter().zip(evidence.inverse()).map(square).sum::<f64>() / evidence.len().max(1) as f64
}

/// The same of propensities that are known by label.
pub fn mse_of(propensities: &Propensities, evidence: &CurveEvidence) -> Result<f64> {
    if propensities.len() != evidence.all_labels() {
        return Err(Error::value(format!("'{}' and the estimate have different numbers of labels", propensities.origin()))
            .expected(evidence.all_labels().to_string())
            .found(propensities.len().to_string()));
    }
    let square = |(label, q): (&u32, &f64)| (q - 1.0 / propensities.get(*label)).powi(2);
    Ok(evidence.labels().iter().zip(evidence.inverse()).map(square).sum::<f64>() / evidence.len().max(1) as f64)
}

/// The given models with their own constants, then the families with fitted ones.
///
/// ```
/// use unmissed::data::LabelStats;
/// use unmissed::propensity::{fit, models, Propensities};
/// let stats = LabelStats::from_counts(100, &[1, 4, 25])?;
/// // All three have 1/p = 3: a constant fits exactly, and 1 is off by 2 everywhere.
/// let p = Propensities::new("x", vec![1.0 / 3.0; 3])?;
/// let evidence = fit::CurveEvidence::from_propensities(&p, &stats)?;
/// let table = fit::compare(&[models::parse("constant")?], &[models::family("constant")?], &evidence, &Default::default())?;
/// assert!((table[0].mse - 4.0).abs() < 1e-12);
/// assert!(table[1].mse < 1e-12);
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn compare(
    given: &[PropensitySpec],
    families: &[Phi],
    evidence: &CurveEvidence,
    options: &FitOptions,
) -> Result<Vec<FitComparison>> {
    let mut table = Vec::new();
    for model in given {
        let mse = match model.curve() {
            Some(phi) => {
                phi.curve().check(evidence.sample())?;
                mse(phi, evidence)
            }
            None => mse_of(&model.per_label(None, evidence.all_labels() as u64)?, evidence)?,
        };
        table.push(FitComparison { spec: model.to_string(), mse, fit: None });
    }
    let fitted: Result<Vec<Fit>> = families.par_iter().map(|family| fit(family, evidence, options)).collect();
    table.extend(fitted?.into_iter().map(|fit| FitComparison { spec: fit.spec.clone(), mse: fit.mse, fit: Some(fit) }));
    Ok(table)
}
