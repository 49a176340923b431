//! [`MatchedRows`]: rows with two snapshots, and what audited models predict for them.

use super::{RowEvidence, RowFit, RowModel};
use crate::data::{Csr, Labels};
use crate::error::{Error, Result};

/// Fewer observed labels than this may all have been withdrawn.
const LEAST_LABELS: u64 = 20;

/// Rows whose labels are known twice, as they were observed and as a later snapshot has them, with out-of-fold predictions: all that
/// estimates from matched rows need.
#[derive(Clone)]
pub struct MatchedRows<'a> {
    early: &'a Labels<'a>,
    later: &'a Labels<'a>,
    predictions: Vec<(String, &'a Csr<'a, f32>)>,
}

impl<'a> MatchedRows<'a> {
    /// From labels as they were observed, and a later snapshot of the same rows in the same order.
    pub fn new(early: &'a Labels<'a>, later: &'a Labels<'a>) -> Result<MatchedRows<'a>> {
        // The same checks as those of a fit.
        RowFit::new(early, later, RowEvidence::Later)?;
        let rows = MatchedRows { early, later, predictions: Vec::new() };
        rows.check_retracted()?;
        Ok(rows)
    }

    /// Labels are withdrawn now and then; where most are, the rows are others.
    fn check_retracted(&self) -> Result<()> {
        let (retracted, all) = self.retracted();
        if all < LEAST_LABELS || retracted <= all / 2 {
            return Ok(());
        }
        let share = 100.0 * retracted as f64 / all as f64;
        Err(Error::value("the later snapshot does not have the same rows")
            .expected("the observed labels of each row, and those that were found since")
            .found(format!("{retracted} of {all} observed labels ({share:.1} %) are not in it"))
            .hint("are its rows in the same order, and is it the later of the two files?"))
    }

    /// Adds a model's predictions for these rows, made without having been trained on them.
    pub fn predictions(mut self, model: &str, scores: &'a Csr<'a, f32>) -> Result<Self> {
        RowFit::new(self.early, self.later, RowEvidence::Later)?.scores(model, scores)?;
        if self.predictions.iter().any(|(name, _)| name == model) {
            return Err(Error::value(format!("predictions of '{model}' for the matched rows are given twice")));
        }
        self.predictions.push((model.to_owned(), scores));
        Ok(self)
    }

    /// Observed labels.
    pub fn early(&self) -> &'a Labels<'a> {
        self.early
    }

    /// Labels of the later snapshot.
    pub fn later(&self) -> &'a Labels<'a> {
        self.later
    }

    /// The models that have predictions for these rows.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.predictions.iter().map(|(name, _)| name.as_str())
    }

    /// The predictions of a model for these rows.
    pub fn scores(&self, model: &str) -> Option<&'a Csr<'a, f32>> {
        self.predictions.iter().find(|(name, _)| name == model).map(|(_, scores)| *scores)
    }

    /// Row-dependent propensities of each model, with this many refits; errors where the rows identify none.
    pub fn row_models(&self, refits: usize, seed: u64) -> Vec<(String, Result<RowModel>)> {
        let fit = |(name, scores): &(String, &'a Csr<'a, f32>)| {
            let fit = RowFit::new(self.early, self.later, RowEvidence::Later).and_then(|fit| fit.scores(name, scores));
            (name.clone(), fit.and_then(|fit| fit.replicates(refits, seed).run()))
        };
        self.predictions.iter().map(fit).collect()
    }

    /// Observed labels that the later snapshot does not have, and all observed labels.
    pub fn retracted(&self) -> (u64, u64) {
        let mut marks = vec![usize::MAX; self.later.cols()];
        let mut retracted = 0;
        for row in 0..self.early.rows() {
            self.later.row_ids(row).iter().for_each(|label| marks[*label as usize] = row);
            retracted += self.early.row_ids(row).iter().filter(|label| marks[**label as usize] != row).count() as u64;
        }
        (retracted, self.early.nnz() as u64)
    }
}
