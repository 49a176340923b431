//! Rows worth a look: confident predictions that count as errors, those that are probably missing labels apart from real errors.
//!
//! How often a prediction with such a score is relevant is estimated from the test rows themselves: in each of 20 bins of scores,
//! `eta = hits / sum of propensities`, the unbiased share of relevant labels. A label with propensity p that is predicted and not
//! observed is then missing with probability `eta (1 - p) / (1 - eta p)`, and an error otherwise. Without propensities the two cannot be
//! told apart.

use super::label_table::LabelPropensities;
use super::naming::Naming;
use crate::data::{Csr, Labels, brief};
use crate::top_k::{NONE, top_k};
use rayon::prelude::*;
use serde::Serialize;
use std::cmp::Ordering;
use std::ops::Range;

/// Rows of each kind for each model.
const LISTED: usize = 100;
/// Bins of scores.
const BINS: usize = 20;
/// Rows that bins are made from.
const SAMPLE: usize = 20_000;
/// Characters of a text.
const TEXT: usize = 400;
/// Observed labels that are listed.
const OBSERVED: usize = 8;
/// Rows that are worked on at once.
const CHUNK: usize = 4096;
/// Below this probability of a missing label a prediction counts as a real error.
const UNLIKELY: f64 = 0.5;

/// Rows worth a look, the most striking first for each model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RowsToCheck {
    /// Length of the top list.
    pub k: usize,
    /// Predictions that count as errors and are probably missing labels.
    pub probably_missing: Vec<RowToCheck>,
    /// Confident predictions that are probably real errors; without propensities all that count as errors.
    pub errors: Vec<RowToCheck>,
}

/// One prediction of one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowToCheck {
    /// The model.
    pub model: String,
    /// The test row.
    pub row: usize,
    /// Its name.
    pub row_name: Option<String>,
    /// The start of its text.
    pub text: Option<String>,
    /// The predicted label.
    pub label: u32,
    /// Its name.
    pub label_name: Option<String>,
    /// Its rank, from 1.
    pub rank: usize,
    /// Its score.
    pub score: f32,
    /// How often predictions with such scores are relevant.
    pub relevant: f64,
    /// The propensity of the label.
    pub propensity: Option<f64>,
    /// Probability that the label is relevant and missing.
    pub missing: Option<f64>,
    /// Some of the labels that the row is observed to have, with their names.
    pub observed: Vec<(u32, Option<String>)>,
    /// How many it has.
    pub observed_count: usize,
}

/// A prediction that is not observed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Miss {
    row: usize,
    label: u32,
    rank: usize,
    score: f32,
    relevant: f64,
    missing: Option<f64>,
}

/// What all models are looked at with.
struct Look<'a> {
    truth: &'a Labels<'a>,
    k: usize,
    propensities: Option<&'a LabelPropensities>,
    naming: Naming<'a>,
}

impl RowsToCheck {
    pub(super) fn new(
        models: &[(String, &Csr<'_, f32>)],
        truth: &Labels<'_>,
        k: usize,
        propensities: Option<&LabelPropensities>,
        naming: Naming<'_>,
    ) -> RowsToCheck {
        let look = Look { truth, k, propensities, naming };
        let mut all = RowsToCheck { k, ..RowsToCheck::default() };
        for (name, scores) in models {
            let relevance = Relevance::of(&look, scores);
            let chunks: Vec<[Vec<Miss>; 2]> = (0..truth.rows().div_ceil(CHUNK))
                .into_par_iter()
                .map(|chunk| {
                    let rows = chunk * CHUNK..truth.rows().min((chunk + 1) * CHUNK);
                    look.misses(scores, rows, &relevance)
                })
                .collect();
            let (mut missing, mut errors) = (Vec::new(), Vec::new());
            for [of_missing, of_errors] in chunks {
                missing.extend(of_missing);
                errors.extend(of_errors);
            }
            all.probably_missing.extend(leading(missing, by_missing).into_iter().map(|miss| look.shown(name, miss)));
            all.errors.extend(leading(errors, by_relevance).into_iter().map(|miss| look.shown(name, miss)));
        }
        all
    }
}

/// The most probable missing label first.
fn by_missing(a: &Miss, b: &Miss) -> Ordering {
    b.missing.partial_cmp(&a.missing).unwrap_or(Ordering::Equal).then(by_place(a, b))
}

/// The most confident error first.
fn by_relevance(a: &Miss, b: &Miss) -> Ordering {
    let less_missing = || a.missing.partial_cmp(&b.missing).unwrap_or(Ordering::Equal);
    b.relevant.total_cmp(&a.relevant).then_with(less_missing).then(by_place(a, b))
}

/// Higher scores first; where everything is the same, the order of the data.
fn by_place(a: &Miss, b: &Miss) -> Ordering {
    b.score.total_cmp(&a.score).then((a.row, a.label).cmp(&(b.row, b.label)))
}

fn leading(mut misses: Vec<Miss>, order: fn(&Miss, &Miss) -> Ordering) -> Vec<Miss> {
    misses.sort_unstable_by(order);
    misses.truncate(LISTED);
    misses
}

/// How often predictions are relevant, by score.
struct Relevance {
    /// The lowest score of each bin but the first, ascending.
    from: Vec<f32>,
    /// The share of relevant ones in each bin.
    share: Vec<f64>,
}

impl Relevance {
    fn of(look: &Look<'_>, scores: &Csr<'_, f32>) -> Relevance {
        let step = look.truth.rows().div_ceil(SAMPLE).max(1);
        let mut pairs: Vec<(f32, f64, bool)> = Vec::new();
        let (mut top, mut scratch) = (vec![NONE; look.k], Vec::new());
        for row in (0..look.truth.rows()).step_by(step) {
            for (_, label, score) in top_of(scores, row, &mut top, &mut scratch) {
                pairs.push((score, look.propensity(label).unwrap_or(1.0), look.truth.row_ids(row).contains(&label)));
            }
        }
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut from, mut share) = (Vec::new(), Vec::new());
        let size = pairs.len().div_ceil(BINS).max(1);
        for bin in pairs.chunks(size) {
            if !share.is_empty() {
                from.push(bin[0].0);
            }
            let (hits, expected) =
                bin.iter().fold((0.0, 0.0), |(hits, all), (_, p, hit)| (hits + f64::from(u8::from(*hit)), all + p));
            share.push((hits / f64::max(expected, 1e-300)).min(1.0));
        }
        Relevance { from, share }
    }

    fn at(&self, score: f32) -> f64 {
        self.share.get(self.from.partition_point(|from| *from <= score)).copied().unwrap_or(0.0)
    }
}

/// Rank (from 0), label and score of a row's top list.
fn top_of<'a>(
    scores: &'a Csr<'_, f32>,
    row: usize,
    top: &'a mut [u32],
    scratch: &mut Vec<u64>,
) -> impl Iterator<Item = (usize, u32, f32)> + 'a {
    let (ids, values) = scores.row(row);
    let count = top_k(ids, values, scratch, top);
    let score = move |label: u32| ids.iter().position(|id| *id == label).map_or(0.0, |place| values[place]);
    top[..count].iter().enumerate().map(move |(rank, label)| (rank, *label, score(*label)))
}

impl Look<'_> {
    fn propensity(&self, label: u32) -> Option<f64> {
        self.propensities.map(|p| p.values.get(label))
    }

    /// The most striking prediction of each row, for both lists.
    fn misses(&self, scores: &Csr<'_, f32>, rows: Range<usize>, relevance: &Relevance) -> [Vec<Miss>; 2] {
        let (mut missing, mut errors) = (Vec::new(), Vec::new());
        let (mut top, mut scratch) = (vec![NONE; self.k], Vec::new());
        for row in rows {
            let observed = self.truth.row_ids(row);
            let mut found: [Option<Miss>; 2] = [None, None];
            for (rank, label, score) in
                top_of(scores, row, &mut top, &mut scratch).filter(|(_, label, _)| !observed.contains(label))
            {
                let relevant = relevance.at(score);
                let lacks = |p: f64| relevant * (1.0 - p) / f64::max(1.0 - relevant * p, 1e-12);
                let miss = Miss { row, label, rank, score, relevant, missing: self.propensity(label).map(lacks) };
                let is_missing = miss.missing.is_some_and(|missing| missing >= UNLIKELY);
                let (slot, order): (_, fn(&Miss, &Miss) -> Ordering) =
                    if is_missing { (&mut found[0], by_missing) } else { (&mut found[1], by_relevance) };
                if slot.is_none_or(|best| order(&miss, &best).is_lt()) {
                    *slot = Some(miss);
                }
            }
            let [of_missing, of_errors] = found;
            missing.extend(of_missing);
            errors.extend(of_errors);
        }
        [leading(missing, by_missing), leading(errors, by_relevance)]
    }

    fn shown(&self, model: &str, miss: Miss) -> RowToCheck {
        let observed = self.truth.row_ids(miss.row);
        RowToCheck {
            model: model.to_owned(),
            row: miss.row,
            row_name: self.naming.rows.and_then(|names| names.get(miss.row)).map(str::to_owned),
            text: self.naming.texts.and_then(|texts| texts.get(miss.row)).map(|text| brief(text, TEXT).into_owned()),
            label: miss.label,
            label_name: self.naming.label(miss.label),
            rank: miss.rank + 1,
            score: miss.score,
            relevant: miss.relevant,
            propensity: self.propensity(miss.label),
            missing: miss.missing,
            observed: observed.iter().take(OBSERVED).map(|label| (*label, self.naming.label(*label))).collect(),
            observed_count: observed.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Names, NamesOf, Texts};
    use crate::propensity::Propensities;

    /// Label 0 is always observed, label 1 in every second row: what lacks label 1 is probably a missing label, what lacks label 0 an error.
    #[test]
    fn missing_labels_are_told_from_errors_by_their_propensity() {
        let rows = 400;
        let labels: Vec<Vec<u32>> = (0..rows)
            .map(|row| {
                if row == 7 {
                    vec![2]
                } else if row % 2 == 0 {
                    vec![0, 1]
                } else {
                    vec![0, 2]
                }
            })
            .collect();
        let truth = Labels::from_ids(3, labels).unwrap();
        let scores = Csr::from_rows(3, (0..rows).map(|_| [(0u32, 2.0f32), (1, 1.0)])).unwrap();
        let values = Propensities::new("given", vec![1.0, 0.5, 1.0]).unwrap();
        let p = LabelPropensities { source: "given".into(), kind: crate::audit::CandidateKind::Assumed, values };
        let names = Names::new(NamesOf::Labels, ["cold", "flu", "pox"]).unwrap();
        let texts = Texts::new((0..rows).map(|row| format!("row\n{row}")));
        let naming = Naming { labels: Some(&names), rows: None, texts: Some(&texts) };
        let found = RowsToCheck::new(&[("a".into(), &scores)], &truth, 2, Some(&p), naming);
        let first = &found.probably_missing[0];
        assert_eq!(
            (first.label, first.label_name.as_deref(), first.rank, first.text.as_deref()),
            (1, Some("flu"), 2, Some("row\\n1"))
        );
        assert!(first.missing.unwrap() > 0.9 && found.probably_missing.len() == LISTED);
        assert_eq!(found.errors.len(), 1);
        assert_eq!((found.errors[0].row, found.errors[0].label, found.errors[0].missing), (7, 0, Some(0.0)));
        let without = RowsToCheck::new(&[("a".into(), &scores)], &truth, 2, None, Naming::default());
        assert!(without.probably_missing.is_empty() && without.errors[0].missing.is_none());
    }
}
