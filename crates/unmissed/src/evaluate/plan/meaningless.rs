//! Which unbiased functions of the label set would be numerically meaningless: found on some of the rows, before the pass.
//!
//! One row whose terms cancel beyond the last digit makes the whole estimate null, and estimates of this kind take longer than all
//! others together. Where such rows are found, the estimate is left out, unless its metric was asked for by name.

use super::settings::ChosenMetric;
use crate::error::{Error, Result};
use crate::evaluate::builder::Evaluation;
use crate::evaluate::findings::{Finding, U009};
use crate::metrics::independent::LIMIT;
use crate::metrics::{Estimator, SetTerm, Shape};

/// How many rows are looked at.
const ROWS: usize = 4096;

/// Takes columns out of metrics, and says so.
pub(super) fn leave_out(evaluation: &Evaluation<'_>, metrics: &mut Vec<ChosenMetric>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if evaluation.request.metrics.is_some() || evaluation.request.rate.is_some() {
        return Ok(findings);
    }
    for chosen in metrics.iter_mut().filter(|chosen| chosen.wants(Estimator::Unbiased)) {
        let Shape::Set(term) = chosen.metric()?.shape() else { continue };
        for (place, propensities) in evaluation.propensities.iter().enumerate() {
            let (beyond, looked_at) = count(evaluation, term, &|label| propensities.score_inverse(label));
            if beyond > 0 {
                // The first column is what is observed.
                chosen.left_out.push(place + 1);
                let text = format!(
                    "with {}, unbiased {} is left out: its terms cancel beyond 1e8 in {beyond} of {looked_at} rows looked at (ask for the \
                     metric by name to compute it all the same)",
                    propensities.origin(),
                    chosen.name()
                );
                findings.push(Finding::new(&U009, text).of_propensity(propensities.origin().to_string()));
            }
        }
        if chosen.left_out.len() == evaluation.propensities.len() {
            chosen.estimators.retain(|estimator| *estimator != Estimator::Unbiased);
        }
    }
    metrics.retain(|chosen| !chosen.estimators.is_empty());
    match findings.first().filter(|_| metrics.is_empty()) {
        Some(finding) => Err(Error::value("nothing is left to compute").found(finding.message.clone())),
        None => Ok(findings),
    }
}

/// Rows whose terms cancel, and how many were looked at, evenly over all.
fn count(evaluation: &Evaluation<'_>, term: &'static dyn SetTerm, inverse: &dyn Fn(u32) -> f64) -> (usize, usize) {
    let rows = evaluation.truth.rows();
    let step = rows.div_ceil(ROWS).max(1);
    let growth = |row: usize| evaluation.truth.row_ids(row).iter().map(|label| term.growth(inverse(*label))).product::<f64>();
    let looked_at = (0..rows).step_by(step);
    (looked_at.clone().filter(|row| growth(*row) > LIMIT).count(), looked_at.count())
}
