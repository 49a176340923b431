//! The questions that several experiments ask about rankings and propensities.

use crate::data::{Csr, Labels};
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, Rate};
use crate::metrics::Estimator;
use crate::propensity::Propensities;

/// What is known about the labels that a ranking is held against.
pub(super) enum Seen<'a> {
    /// All of them.
    Complete,
    /// Those of items that were shown at random.
    Controlled(&'a Rate),
    /// Some are missing; this is how it is corrected.
    Missing(&'a Propensities, Estimator),
}

/// Precision at 1, 3 and 5, with standard errors over rows.
pub(super) fn precision(labels: &Labels<'_>, ranked: &Csr<'_, f32>, seen: &Seen<'_>) -> Result<[(f64, f64); 3]> {
    let evaluation = Evaluation::new(labels, &[("model", ranked)])?.metrics(&["precision"])?.ks(&[1, 3, 5])?.bootstrap(0, 0);
    let (estimator, evaluation) = match seen {
        Seen::Complete => (Estimator::Observed, evaluation),
        Seen::Controlled(rate) => (Estimator::Unbiased, evaluation.rate((*rate).clone())?),
        Seen::Missing(p, estimator) => (*estimator, evaluation.propensity((*p).clone())),
    };
    let result = evaluation.estimators(&[estimator]).run()?;
    let mut values = [(0.0, 0.0); 3];
    for (k, value) in [1, 3, 5].into_iter().zip(&mut values) {
        let row = result.find("precision", k, estimator)?;
        let found = row.value.map(|value| (value, row.se.unwrap_or(f64::NAN)));
        *value = found.ok_or_else(|| Error::value(format!("precision@{k} has no value")))?;
    }
    Ok(values)
}

/// Root mean squared error of log inverse propensities.
pub(super) fn log_error(found: &[f64], truth: &[f64]) -> f64 {
    let square = |(found, truth): (&f64, &f64)| (found.ln() - truth.ln()).powi(2);
    (found.iter().zip(truth).map(square).sum::<f64>() / found.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_of_logarithms() {
        let truth = [0.1, 0.2, 0.4];
        let half = truth.map(|p| p / 2.0);
        assert!((log_error(&half, &truth) - 2f64.ln()).abs() < 1e-12);
    }
}
