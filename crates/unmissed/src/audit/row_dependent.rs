//! Propensities that depend on the row in an audit: one fit for each model whose predictions for the training rows are given.

use super::builder::Audit;
use crate::error::{Error, Result};
use crate::metrics::Estimator;
use crate::propensity::rows::{MatchedRows, ReliabilityCurve, RowEvidence, RowFit, RowModel};
use serde::Serialize;

pub use crate::evaluate::ROWS;

/// Their names in tables, and those of the other estimates that need no propensity model.
pub(super) fn short_name(origin: Option<&str>, estimator: Estimator) -> Option<&'static str> {
    match (origin, estimator) {
        (None, Estimator::Judged) => Some("judged pairs"),
        (None, Estimator::Omega) => Some("missed labels (omega)"),
        (Some(ROWS), Estimator::Ratio) => Some("ratio of later and observed"),
        (Some(ROWS), _) => Some("by row"),
        _ => None,
    }
}

/// What was fitted for one model.
#[derive(Clone, Debug, Serialize)]
pub struct RowDependentReport {
    /// The audited model.
    pub model: String,
    /// What the propensities are functions of, with coefficients.
    pub coefficients: Vec<(String, f64)>,
    /// Pairs that the evidence shows to be relevant.
    pub pairs: u64,
    /// How many of them were observed.
    pub observed: u64,
    /// How often predictions come true for rows that were left out.
    pub calibration: ReliabilityCurve,
    /// What to know about searches that did not come to their end.
    pub unfinished: Option<String>,
}

impl RowDependentReport {
    fn new(name: &str, model: &RowModel) -> RowDependentReport {
        let (_, pairs, observed) = model.sizes();
        RowDependentReport {
            model: name.to_owned(),
            coefficients: model.coefficients(),
            pairs,
            observed,
            calibration: model.calibration().clone(),
            unfinished: model.unfinished(),
        }
    }
}

/// Fitted models, what to report of them, and why some are not there.
#[derive(Default)]
pub(super) struct RowDependentFits {
    pub(super) models: Vec<RowModel>,
    pub(super) reports: Vec<RowDependentReport>,
    pub(super) left_out: Vec<String>,
}

impl Audit<'_> {
    /// The training rows with a later snapshot, and what models predict for them; `None` when there is no such snapshot.
    pub(super) fn matched_rows(&self) -> Result<Option<MatchedRows<'_>>> {
        let (Some(train), Some(later)) = (self.train, self.later) else { return Ok(None) };
        let rows = MatchedRows::new(train.labels(), later.labels())?;
        self.train_predictions.iter().try_fold(rows, |rows, (name, scores)| rows.predictions(name, scores)).map(Some)
    }

    /// A fit for each model that evidence and predictions allow.
    pub(super) fn fit_row_dependent(&self, seed: u64) -> Result<RowDependentFits> {
        let mut all = RowDependentFits::default();
        for (name, _) in &self.train_predictions {
            if self.models.iter().all(|(model, _)| model != name) {
                let names: Vec<&str> = self.models.iter().map(|(model, _)| model.as_str()).collect();
                return Err(Error::value(format!("training predictions of '{name}', which has no test predictions"))
                    .expected(format!("names among {}", names.join(", ")))
                    .hint("use the same name, NAME=FILE, for training and test rows"));
            }
        }
        let known = match (self.later, self.controlled) {
            (Some(later), _) => Some((later.labels(), RowEvidence::Later)),
            (None, Some(controlled)) => Some((controlled.labels(), RowEvidence::Controlled)),
            (None, None) => None,
        };
        let (Some(train), Some((known, evidence))) = (self.train, known) else {
            if self.train_predictions.is_empty() {
                return Ok(all);
            }
            return Err(Error::value("nothing identifies row-dependent propensities")
                .expected("training labels, and a later snapshot or a controlled set of the same rows")
                .hint("training predictions are only useful with one of these"));
        };
        for (name, scores) in &self.train_predictions {
            let fit = match RowFit::new(train.labels(), known, evidence) {
                // Predictions of other rows are a mistake, too little evidence is not.
                Ok(fit) => fit.scores(name, scores)?.replicates(REFITS, seed).run(),
                Err(error) => Err(error),
            };
            match fit {
                Ok(model) => {
                    all.reports.push(RowDependentReport::new(name, &model));
                    all.models.push(model);
                }
                Err(error) => all.left_out.push(format!("row-dependent propensities of {name}: {error}")),
            }
        }
        Ok(all)
    }
}

/// Refits that go into intervals.
const REFITS: usize = 100;
