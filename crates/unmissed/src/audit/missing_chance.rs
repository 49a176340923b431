//! The probability that a predicted, unobserved label is missing.
//!
//! - With judged pairs, it is the judgement, or how often similar pairs were judged relevant.
//! - With later labels of training rows and a model's predictions for them, it is measured: the regression of missed labels behind the
//!   omega estimate, `P(relevant | not observed)` by rank, score, label and row.
//! - With propensities per label alone, a label with propensity p is missing with probability `eta (1 - p) / (1 - eta p)`, where eta, how
//!   often predictions with such a score are relevant, is hits over the sum of propensities in each of 20 bins of scores. This
//!   assumes that a label is observed as often when a model ranks it high as otherwise. If models rank easily observed labels high,
//!   these probabilities are too large.
//! - Without any of these, nothing is known.

use super::label_table::LabelPropensities;
use super::rows_to_check::Look;
use crate::data::{Csr, Labels};
use crate::error::Result;
use crate::evaluate::judged::{Likely, LikelyPairs};
use crate::propensity::rows::{MissedModel, RankedRow, score_unit};
use crate::top_k::{NONE, top_k};
use serde::Serialize;

/// Bins of scores.
const BINS: usize = 20;
/// Rows that bins are made from.
const SAMPLE: usize = 20_000;

/// From what it is known how likely labels are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChanceFrom {
    /// Judged pairs.
    Judged,
    /// Labels that training rows turned out to have later.
    MissedLabels,
    /// Propensities per label.
    Propensities,
}

/// A prediction of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Predicted {
    /// From 0.
    pub(super) rank: usize,
    pub(super) label: u32,
    pub(super) score: f32,
    /// Whether it is observed, or known to be relevant.
    pub(super) is_hit: bool,
    /// How often predictions with such scores are relevant.
    pub(super) relevant: f64,
    /// Probability that the label is missing, unless it is a hit.
    pub(super) missing: Option<f64>,
}

/// What a model's predictions are told apart by.
pub(super) struct Chances<'a> {
    truth: &'a Labels<'a>,
    scores: &'a Csr<'a, f32>,
    k: usize,
    by: By<'a>,
    relevance: Relevance,
}

enum By<'a> {
    Judged(&'a LikelyPairs),
    Missed { model: Box<MissedModel>, unit: f64 },
    Propensities(&'a LabelPropensities),
    Nothing,
}

/// Buffers for one row after the other.
pub(super) struct RowReader {
    top: Vec<u32>,
    scratch: Vec<u64>,
    ranked: RankedRow,
    predicted: Vec<Predicted>,
}

impl RowReader {
    pub(super) fn new(k: usize) -> RowReader {
        RowReader { top: vec![NONE; k], scratch: Vec::new(), ranked: RankedRow::default(), predicted: Vec::new() }
    }
}

impl<'a> Chances<'a> {
    pub(super) fn new(look: &Look<'a>, name: &str, scores: &'a Csr<'a, f32>) -> Result<Chances<'a>> {
        let measured = look.matched.and_then(|matched| Some((matched, matched.scores(name)?)));
        let by = match (look.judged, measured, look.propensities) {
            (Some(pairs), ..) => By::Judged(pairs),
            (None, Some((matched, of_matched)), _) => {
                let model = MissedModel::fit(matched.early(), matched.later(), of_matched, look.k, look.seed)?;
                By::Missed { model: Box::new(model), unit: score_unit(scores) }
            }
            (None, None, Some(propensities)) => By::Propensities(propensities),
            (None, None, None) => By::Nothing,
        };
        let mut chances = Chances { truth: look.truth, scores, k: look.k, by, relevance: Relevance::default() };
        chances.relevance = Relevance::of(&chances);
        Ok(chances)
    }

    /// From what probabilities of missing labels are known.
    pub(super) fn from(&self) -> Option<ChanceFrom> {
        match self.by {
            By::Judged(_) => Some(ChanceFrom::Judged),
            By::Missed { .. } => Some(ChanceFrom::MissedLabels),
            By::Propensities(_) => Some(ChanceFrom::Propensities),
            By::Nothing => None,
        }
    }

    /// The top list of a row.
    pub(super) fn row<'r>(&self, row: usize, reader: &'r mut RowReader) -> &'r [Predicted] {
        let (ids, values) = self.scores.row(row);
        let observed = self.truth.row_ids(row);
        let count = top_k(ids, values, &mut reader.scratch, &mut reader.top);
        if let By::Missed { unit, .. } = &self.by {
            reader.ranked.fill((ids, values), observed, *unit);
        }
        reader.predicted.clear();
        for (rank, label) in reader.top[..count].iter().copied().enumerate() {
            let score = ids.iter().position(|id| *id == label).map_or(0.0, |place| values[place]);
            let relevant = self.relevance.at(score);
            let judged = match self.by {
                By::Judged(pairs) => pairs.get(row, label),
                _ => None,
            };
            let is_hit = observed.contains(&label) || judged == Some(Likely::Judged(1.0));
            let missing = match &self.by {
                _ if is_hit => None,
                By::Judged(_) => judged.map(Likely::share),
                By::Missed { model, .. } => Some(model.expected(&mut reader.ranked, rank, None)),
                By::Propensities(propensities) => {
                    let p = propensities.values.get(label);
                    Some(relevant * (1.0 - p) / f64::max(1.0 - relevant * p, 1e-12))
                }
                By::Nothing => None,
            };
            reader.predicted.push(Predicted { rank, label, score, is_hit, relevant, missing });
        }
        &reader.predicted
    }
}

/// How often predictions are relevant, by score.
#[derive(Default)]
struct Relevance {
    /// The lowest score of each bin but the first, ascending.
    from: Vec<f32>,
    /// The share of relevant ones in each bin.
    share: Vec<f64>,
}

impl Relevance {
    /// Of a selection of rows: relevant predictions over what they would be if all were relevant, in each bin.
    fn of(chances: &Chances<'_>) -> Relevance {
        let step = chances.truth.rows().div_ceil(SAMPLE).max(1);
        let mut pairs: Vec<(f32, f64, f64)> = Vec::new();
        let mut reader = RowReader::new(chances.k);
        for row in (0..chances.truth.rows()).step_by(step) {
            for predicted in chances.row(row, &mut reader) {
                let hit = f64::from(u8::from(predicted.is_hit));
                let (relevant, of) = match &chances.by {
                    By::Judged(_) | By::Missed { .. } => (predicted.missing.unwrap_or(hit), 1.0),
                    By::Propensities(propensities) => (hit, propensities.values.get(predicted.label)),
                    By::Nothing => (hit, 1.0),
                };
                pairs.push((predicted.score, relevant, of));
            }
        }
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut from, mut share) = (Vec::new(), Vec::new());
        let size = pairs.len().div_ceil(BINS).max(1);
        for bin in pairs.chunks(size) {
            if !share.is_empty() {
                from.push(bin[0].0);
            }
            let (relevant, of) = bin.iter().fold((0.0, 0.0), |(relevant, all), (_, hit, of)| (relevant + hit, all + of));
            share.push((relevant / f64::max(of, 1e-300)).min(1.0));
        }
        Relevance { from, share }
    }

    fn at(&self, score: f32) -> f64 {
        self.share.get(self.from.partition_point(|from| *from <= score)).copied().unwrap_or(0.0)
    }
}
