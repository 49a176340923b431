//! Estimates from a later snapshot of the training rows, without a previous fit.

use super::builder::Evaluation;
use crate::error::{Error, Result};
use crate::metrics::Estimator;
use crate::propensity::estimators::timelapse::timelapse;
use crate::propensity::rows::{DEFAULT_REFITS, MatchedRows};
use crate::propensity::{Ratio, models};

/// What estimates with row-dependent propensities from matched rows are called.
pub const ROWS: &str = "rows";

impl<'a> Evaluation<'a> {
    /// Everything that training rows with a later snapshot allow. With out-of-fold predictions under the models' names: the omega estimate,
    /// row-dependent propensities and the ratio of later and observed hits. Without any: one propensity per label, with a finding
    /// that says what that is worth. After [`Evaluation::request`], whose estimators, level and seed it follows.
    pub fn later_snapshot(mut self, matched: MatchedRows<'a>) -> Result<Self> {
        for name in matched.models() {
            if self.models.iter().all(|(model, _)| model != name) {
                let names: Vec<&str> = self.models.iter().map(|(model, _)| model.as_str()).collect();
                return Err(Error::value(format!("training predictions of '{name}', which has no test predictions"))
                    .expected(format!("names among {}", names.join(", ")))
                    .hint("use the same name, NAME=FILE, for training and test rows"));
            }
        }
        let wants = |estimator| self.request.estimators.as_ref().is_none_or(|named| named.contains(&estimator));
        let by_row = wants(Estimator::Unbiased) || wants(Estimator::Ratio);
        if matched.models().next().is_none() {
            // Shrunken towards a curve, so that all labels have a value.
            let how = Ratio::new(models::family("power")?).shrunken();
            self.propensities.push(timelapse(matched.early(), matched.later(), &how)?.propensities);
        } else if by_row {
            self.progress.begin("row-dependent propensities", 0);
            for (name, model) in matched.row_models(DEFAULT_REFITS, self.request.seed) {
                match model {
                    Ok(model) => self.row_models.push((ROWS.to_owned(), model)),
                    Err(error) => self.notes.push(format!("left out: row-dependent propensities of {name}: {error}")),
                }
            }
        }
        self.matched(matched)
    }
}
