//! [`Candidates`]: the labels that rows can be given, with their probabilities.

use crate::data::Scores;
use crate::error::{Error, Result, digits};
use crate::prefetch::prefetch;
use crate::propensity::Propensities;
use rayon::prelude::*;
use serde::Serialize;
use std::borrow::Cow;

/// Probabilities of relevant labels: scores as they are, or divided by propensities as they are read and capped at 1.
pub(super) struct Candidates<'a> {
    scores: Cow<'a, Scores<'a>>,
    inverse: Option<Vec<f32>>,
}

/// What dividing by propensities did to the stored scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Correction {
    /// Stored pairs that came out above 1 and were set to 1.
    pub capped_pairs: u64,
    /// Their share of the stored pairs.
    pub capped_share: f64,
    /// How much probability capping took away, as a share of what was there before it.
    pub capped_mass: f64,
}

impl<'a> Candidates<'a> {
    /// Checks that scores are probabilities, and that rows have enough of them.
    pub(super) fn new(scores: &'a Scores<'a>, k: usize, at_most: bool) -> Result<Candidates<'a>> {
        if scores.rows() == 0 {
            return Err(Error::value("the scores have no rows").expected("at least one row"));
        }
        // Without an early exit within a part, the check is vector code.
        const AT_ONCE: usize = 1 << 10;
        let is_probability = |value: &f32| (0.0..=1.0).contains(value);
        let is_right = |part: &[f32]| part.iter().fold(true, |all, value| all & is_probability(value));
        let part = scores.values().par_chunks(AT_ONCE).position_first(|part| !is_right(part));
        let wrong = part.and_then(|part| (part * AT_ONCE..scores.nnz()).find(|place| !is_probability(&scores.values()[*place])));
        if let Some(place) = wrong {
            let row = scores.offsets().partition_point(|offset| *offset <= place as u64).saturating_sub(1);
            return Err(Error::value(format!(
                "the score of row {row}, label {} is not a probability (both counted from 0)",
                scores.ids()[place]
            ))
            .expected("a number in [0, 1]")
            .found(digits(f64::from(scores.values()[place])))
            .hint(
                "objectives are expected values: convert logits and distances to probabilities first, 1 / (1 + exp(-z)) for logits",
            ));
        }
        let stored = |row: usize| scores.row_ids(row).len();
        if !at_most && let Some(row) = (0..scores.rows()).find(|row| stored(*row) < k) {
            return Err(Error::value(format!("row {row} (counted from 0) has too few scores"))
                .expected(format!("at least {k}, for exactly {k} labels per row"))
                .found(if stored(row) == 0 { "none".to_owned() } else { stored(row).to_string() })
                .hint("store more scores per row, or ask for at most k labels (--at-most, at_most=True in Python)"));
        }
        if scores.nnz() == 0 {
            return Err(Error::value("there are no scores").expected("at least one 'label:score'"));
        }
        Ok(Candidates { scores: Cow::Borrowed(scores), inverse: None })
    }

    /// Divides by propensities per label.
    pub(super) fn divided_by(mut self, propensities: &Propensities) -> Result<Candidates<'a>> {
        if propensities.len() != self.scores.cols() {
            return Err(Error::value("the number of propensities does not match the labels")
                .expected(self.scores.cols().to_string())
                .found(propensities.len().to_string()));
        }
        self.inverse = Some(propensities.values().iter().map(|p| (1.0 / p) as f32).collect());
        Ok(self)
    }

    /// Divides by propensities of pairs, given by row, place in the row and label.
    pub(super) fn divided_by_pairs(
        mut self,
        of_row: impl Fn(usize, &[u32], &[f32], &mut Vec<f64>) + Sync,
    ) -> Result<Candidates<'a>> {
        let scores = &*self.scores;
        let rows = (0..scores.rows()).into_par_iter().map_init(Vec::new, |propensities, row| {
            let (ids, values) = scores.row(row);
            of_row(row, ids, values, propensities);
            ids.iter()
                .zip(values)
                .zip(&*propensities)
                .map(|((id, value), p)| (*id, (f64::from(*value) / p).min(1.0) as f32))
                .collect()
        });
        let rows: Vec<Vec<(u32, f32)>> = rows.collect();
        self.scores = Cow::Owned(Scores::from_rows(scores.cols() as u64, rows)?);
        Ok(self)
    }

    pub(super) fn rows(&self) -> usize {
        self.scores.rows()
    }

    pub(super) fn labels(&self) -> usize {
        self.scores.cols()
    }

    /// The scores before propensities per label divide them.
    pub(super) fn stored(&self) -> &Scores<'a> {
        &self.scores
    }

    pub(super) fn inverse(&self) -> Option<&[f32]> {
        self.inverse.as_deref()
    }

    /// The labels of a row and their probabilities.
    #[inline]
    pub(super) fn row<'s>(&'s self, row: usize, scratch: &'s mut Vec<f32>) -> (&'s [u32], &'s [f32]) {
        let (ids, values) = self.scores.row(row);
        let Some(inverse) = &self.inverse else { return (ids, values) };
        scratch.clear();
        scratch.extend(ids.iter().zip(values).map(|(id, value)| (value * inverse[*id as usize]).min(1.0)));
        (ids, scratch)
    }

    /// Asks for the memory of a row that comes soon.
    #[inline]
    pub(super) fn prefetch(&self, row: usize) {
        // The processor foresees the rest of a long row.
        const ENTRIES: usize = 256;
        const PER_LINE: usize = 64 / size_of::<u32>();
        let (ids, values) = self.scores.row(row);
        let ends = ids.len().min(ENTRIES);
        ids[..ends].iter().step_by(PER_LINE).for_each(prefetch);
        values[..ends].iter().step_by(PER_LINE).for_each(prefetch);
    }

    /// The labels at some places of a row, with their probabilities.
    #[inline]
    pub(super) fn entries(&self, row: usize, places: impl Iterator<Item = u32>) -> impl Iterator<Item = (u32, f32)> {
        let (ids, values) = self.scores.row(row);
        places.map(move |place| self.entry(ids[place as usize], values[place as usize]))
    }

    /// The probability of one entry.
    pub(super) fn at(&self, row: usize, place: u32) -> (u32, f32) {
        let (ids, values) = self.scores.row(row);
        self.entry(ids[place as usize], values[place as usize])
    }

    #[inline]
    fn entry(&self, id: u32, value: f32) -> (u32, f32) {
        (id, self.inverse.as_ref().map_or(value, |inverse| (value * inverse[id as usize]).min(1.0)))
    }

    /// The sum of each label's stored probabilities.
    pub(super) fn sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.labels()];
        let mut scratch = Vec::new();
        for row in 0..self.rows() {
            let (ids, values) = self.row(row, &mut scratch);
            ids.iter().zip(values).for_each(|(id, value)| sums[*id as usize] += f64::from(*value));
        }
        sums
    }

    /// What dividing by propensities per label did; `None` when nothing was divided.
    pub(super) fn correction(&self) -> Option<Correction> {
        let inverse = self.inverse.as_ref()?;
        let (mut pairs, mut above, mut total) = (0u64, 0.0, 0.0);
        for (id, value) in self.scores.ids().iter().zip(self.scores.values()) {
            let value = f64::from(value * inverse[*id as usize]);
            total += value;
            if value > 1.0 {
                pairs += 1;
                above += value - 1.0;
            }
        }
        let stored = self.scores.nnz().max(1) as f64;
        Some(Correction {
            capped_pairs: pairs,
            capped_share: pairs as f64 / stored,
            capped_mass: if total > 0.0 { above / total } else { 0.0 },
        })
    }
}
