//! A batch of rows, and the checks before any of it is used.

use super::Evaluator;
use crate::data::{Csr, IgnoredDigest, IgnoredPairs, Labels};
use crate::error::{Error, Result};
use crate::evaluate::builder::same;
use crate::evaluate::tally::open::MOST_NUMBERS;
use crate::evaluate::tally::{Covered, too_many_rows};
use std::borrow::Cow;

/// Observed labels of some rows and the predictions of every model for them, in the same order.
pub struct Batch<'a> {
    truth: &'a Labels<'a>,
    models: Vec<Cow<'a, Csr<'a, f32>>>,
    numbers: Option<Vec<u32>>,
    ignored: Option<&'a IgnoredPairs>,
}

/// What a batch that is taken adds to what is known about the stream.
pub(super) struct Taken {
    /// The numbers of the rows.
    pub(super) numbers: Vec<u32>,
    /// With those of the rows before.
    pub(super) covered: Covered,
    pub(super) automatic: bool,
    pub(super) ignored: Option<(IgnoredDigest, u64)>,
}

impl<'a> Batch<'a> {
    /// Labels and the scores of each model, in the order of the models' names.
    pub fn new(truth: &'a Labels<'a>, models: &[&'a Csr<'a, f32>]) -> Result<Batch<'a>> {
        for scores in models {
            same("the predictions of the batch", "rows", truth.rows(), scores.rows())?;
        }
        Ok(Batch { truth, models: models.iter().map(|scores| Cow::Borrowed(*scores)).collect(), numbers: None, ignored: None })
    }

    /// The rows' own numbers, below 2^32 - 1; each may come once in a stream. Without them rows are numbered as they come.
    pub fn numbers(mut self, numbers: &[u64]) -> Result<Self> {
        same("the row numbers of the batch", "rows", self.truth.rows(), numbers.len())?;
        let narrow = |number: &u64| {
            u32::try_from(*number).ok().filter(|number| u64::from(*number) < MOST_NUMBERS).ok_or_else(|| {
                Error::value("a row number is out of range")
                    .expected(format!("a whole number below {MOST_NUMBERS}"))
                    .found(number.to_string())
            })
        };
        self.numbers = Some(numbers.iter().map(narrow).collect::<Result<_>>()?);
        Ok(self)
    }

    /// Pairs of these rows, counted from the first of the batch, that may not be predicted.
    pub fn ignore(mut self, ignored: &'a IgnoredPairs) -> Result<Self> {
        ignored.check(self.truth.rows(), self.truth.cols())?;
        for scores in &mut self.models {
            *scores = Cow::Owned(ignored.remove_from(scores)?);
        }
        self.ignored = Some(ignored);
        Ok(self)
    }

    pub(super) fn truth(&self) -> &Labels<'a> {
        self.truth
    }

    pub(super) fn models(&self) -> Vec<&Csr<'a, f32>> {
        self.models.iter().map(|scores| &**scores).collect()
    }

    pub(super) fn rows(&self) -> usize {
        self.truth.rows()
    }

    pub(super) fn entries(&self) -> usize {
        self.models.iter().map(|scores| scores.nnz()).sum::<usize>() + self.truth.nnz()
    }
}

/// A row that was there before.
pub(super) fn row_twice(row: u64) -> Error {
    Error::value("a row occurs twice").expected("every row number once in a stream").found(format!("row {row} again"))
}

impl Evaluator {
    /// Rejects what does not fit the stream.
    pub(super) fn check(&self, batch: &Batch<'_>) -> Result<Taken> {
        let labels = self.labels();
        let other = |what: &str, found: usize| {
            Error::value(format!("{what} of the batch have another number of labels than the stream"))
                .expected(labels.to_string())
                .found(found.to_string())
                .hint("every batch has all labels as columns, including those that none of its rows has")
        };
        if batch.truth.cols() != labels {
            return Err(other("the labels", batch.truth.cols()));
        }
        if let Some(scores) = batch.models.iter().find(|scores| scores.cols() != labels) {
            return Err(other("the predictions", scores.cols()));
        }
        let names = &self.settings.models;
        if batch.models.len() != names.len() {
            return Err(Error::value("the batch does not have the predictions of every model")
                .expected(format!("those of {}", names.join(", ")))
                .found(format!("{} matrices", batch.models.len())));
        }
        if let Some(rate) = &self.settings.request.rate {
            rate.check_rows(batch.truth)?;
        }
        let next = self.state.next();
        let end = next + batch.rows() as u64;
        if batch.numbers.is_none() && end > MOST_NUMBERS || self.rows() + batch.rows() as u64 > MOST_NUMBERS {
            return Err(too_many_rows(self.rows() + batch.rows() as u64));
        }
        let of_batch = match &batch.numbers {
            Some(numbers) => Covered::of_numbers(numbers).map_err(row_twice)?,
            None => Covered::new(next..end),
        };
        let numbers = batch.numbers.clone().unwrap_or_else(|| (next as u32..end as u32).collect());
        let covered = self.state.with(&of_batch, &numbers).map_err(row_twice)?;
        let ignored = batch.ignored.map(|ignored| {
            let mut digest = IgnoredDigest::default();
            for (row, number) in numbers.iter().enumerate() {
                ignored.labels().row_ids(row).iter().for_each(|label| digest.add(u64::from(*number), *label));
            }
            (digest, ignored.shared_with(batch.truth))
        });
        Ok(Taken { covered, automatic: batch.numbers.is_none(), numbers, ignored })
    }
}
