//! The questions that several experiments ask about rankings and propensities.

use crate::data::{Csr, Labels};
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, Rate};
use crate::metrics::Estimator;

/// Precision at 1, 3 and 5 on complete labels, or on those of a controlled set, with standard errors over rows.
pub(super) fn precision(labels: &Labels<'_>, ranked: &Csr<'_, f32>, rate: Option<&Rate>) -> Result<[(f64, f64); 3]> {
    let estimator = if rate.is_some() { Estimator::Unbiased } else { Estimator::Observed };
    let evaluation = Evaluation::new(labels, &[("model", ranked)])?.metrics(&["precision"])?.estimators(&[estimator]);
    let evaluation = evaluation.ks(&[1, 3, 5])?.bootstrap(0, 0);
    let result = match rate {
        Some(rate) => evaluation.rate(rate.clone())?.run()?,
        None => evaluation.run()?,
    };
    let mut values = [(0.0, 0.0); 3];
    for (k, value) in [1, 3, 5].into_iter().zip(&mut values) {
        let row = result.find("precision", k, estimator);
        let found = row.and_then(|row| Some((row.value?, row.se.unwrap_or(f64::NAN))));
        *value = found.ok_or_else(|| Error::value(format!("precision@{k} has no value")))?;
    }
    Ok(values)
}

/// Root mean squared error of log inverse propensities.
pub(super) fn log_error(found: &[f64], truth: &[f64]) -> f64 {
    let square = |(found, truth): (&f64, &f64)| (found.ln() - truth.ln()).powi(2);
    (found.iter().zip(truth).map(square).sum::<f64>() / found.len().max(1) as f64).sqrt()
}

/// Correlation of log propensities.
pub(super) fn log_correlation(found: &[f64], truth: &[f64]) -> f64 {
    let n = found.len().max(1) as f64;
    let mean = |values: &[f64]| values.iter().map(|p| p.ln()).sum::<f64>() / n;
    let (a, b) = (mean(found), mean(truth));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in found.iter().zip(truth) {
        let (x, y) = (x.ln() - a, y.ln() - b);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    ab / (aa * bb).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_correlations_are_of_logarithms() {
        let truth = [0.1, 0.2, 0.4];
        let half = truth.map(|p| p / 2.0);
        assert!((log_error(&half, &truth) - 2f64.ln()).abs() < 1e-12);
        assert!((log_correlation(&half, &truth) - 1.0).abs() < 1e-12);
    }
}
