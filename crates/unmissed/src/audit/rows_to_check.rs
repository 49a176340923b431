//! Rows worth a look: confident predictions that count as errors, divided into possibly missing labels and real errors.
//!
//! `missing_chance.rs` has the probability that an unobserved prediction is a missing label, and its source.

use super::label_table::LabelPropensities;
use super::missing_chance::{ChanceFrom, Chances, Predicted, RowReader};
use super::naming::Naming;
use crate::data::{Csr, Labels, brief};
use crate::error::Result;
use crate::evaluate::judged::LikelyPairs;
use crate::propensity::rows::MatchedRows;
use rayon::prelude::*;
use serde::Serialize;
use std::cmp::Ordering;
use std::ops::Range;

/// Rows of each kind for each model.
const LISTED: usize = 100;
/// Characters of a text.
const TEXT: usize = 400;
/// Observed labels that are listed.
const OBSERVED: usize = 8;
/// Rows that are worked on at once.
const CHUNK: usize = 4096;
/// From this probability of a missing label on a prediction is worth the time of somebody who knows; below it is listed as an error.
const WORTH_ASKING: f64 = 0.2;

/// Rows worth a look, the most striking first for each model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RowsToCheck {
    /// Length of the top list.
    pub k: usize,
    /// Predictions that count as errors and may be missing labels, the most probable first.
    pub possibly_missing: Vec<RowToCheck>,
    /// Confident predictions that are probably real errors; where nothing is known of missing labels all that count as errors.
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
    /// From what that is known.
    pub missing_from: Option<ChanceFrom>,
    /// Some of the labels that the row is observed to have, with their names.
    pub observed: Vec<(u32, Option<String>)>,
    /// How many it has.
    pub observed_count: usize,
}

/// A prediction that is not observed, with its row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Miss {
    row: usize,
    of: Predicted,
}

/// What all models are looked at with.
pub(super) struct Look<'a> {
    pub(super) truth: &'a Labels<'a>,
    /// Length of the top lists.
    pub(super) k: usize,
    pub(super) propensities: Option<&'a LabelPropensities>,
    /// What judged pairs say about the models' lists.
    pub(super) judged: Option<&'a LikelyPairs>,
    /// Training rows whose later labels are known.
    pub(super) matched: Option<&'a MatchedRows<'a>>,
    pub(super) seed: u64,
    pub(super) naming: Naming<'a>,
}

impl RowsToCheck {
    pub(super) fn new(models: &[(String, &Csr<'_, f32>)], look: &Look<'_>) -> Result<RowsToCheck> {
        let mut all = RowsToCheck { k: look.k, ..RowsToCheck::default() };
        for (name, scores) in models {
            let chances = Chances::new(look, name, scores)?;
            let chunks: Vec<[Vec<Miss>; 2]> = (0..look.truth.rows().div_ceil(CHUNK))
                .into_par_iter()
                .map(|chunk| {
                    let rows = chunk * CHUNK..look.truth.rows().min((chunk + 1) * CHUNK);
                    look.misses(&chances, rows)
                })
                .collect();
            let (mut missing, mut errors) = (Vec::new(), Vec::new());
            for [of_missing, of_errors] in chunks {
                missing.extend(of_missing);
                errors.extend(of_errors);
            }
            let shown = |miss: Miss| look.shown(name, miss, chances.from());
            all.possibly_missing.extend(leading(missing, by_missing).into_iter().map(shown));
            all.errors.extend(leading(errors, by_relevance).into_iter().map(shown));
        }
        Ok(all)
    }
}

/// The most probable missing label first.
fn by_missing(a: &Miss, b: &Miss) -> Ordering {
    b.of.missing.partial_cmp(&a.of.missing).unwrap_or(Ordering::Equal).then(by_place(a, b))
}

/// The most confident error first.
fn by_relevance(a: &Miss, b: &Miss) -> Ordering {
    let less_missing = || a.of.missing.partial_cmp(&b.of.missing).unwrap_or(Ordering::Equal);
    b.of.relevant.total_cmp(&a.of.relevant).then_with(less_missing).then(by_place(a, b))
}

/// Higher scores first; where everything is the same, the order of the data.
fn by_place(a: &Miss, b: &Miss) -> Ordering {
    b.of.score.total_cmp(&a.of.score).then((a.row, a.of.label).cmp(&(b.row, b.of.label)))
}

fn leading(mut misses: Vec<Miss>, order: fn(&Miss, &Miss) -> Ordering) -> Vec<Miss> {
    misses.sort_unstable_by(order);
    misses.truncate(LISTED);
    misses
}

impl Look<'_> {
    /// The most striking prediction of each row, for both lists.
    fn misses(&self, chances: &Chances<'_>, rows: Range<usize>) -> [Vec<Miss>; 2] {
        let (mut missing, mut errors) = (Vec::new(), Vec::new());
        let mut reader = RowReader::new(self.k);
        for row in rows {
            let mut found: [Option<Miss>; 2] = [None, None];
            for of in chances.row(row, &mut reader).iter().filter(|predicted| !predicted.is_hit) {
                let miss = Miss { row, of: *of };
                let may_be_missing = of.missing.is_some_and(|missing| missing >= WORTH_ASKING);
                let (slot, order): (_, fn(&Miss, &Miss) -> Ordering) =
                    if may_be_missing { (&mut found[0], by_missing) } else { (&mut found[1], by_relevance) };
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

    fn shown(&self, model: &str, Miss { row, of }: Miss, from: Option<ChanceFrom>) -> RowToCheck {
        let observed = self.truth.row_ids(row);
        RowToCheck {
            model: model.to_owned(),
            row,
            row_name: self.naming.rows.and_then(|names| names.get(row)).map(str::to_owned),
            text: self.naming.texts.and_then(|texts| texts.get(row)).map(|text| brief(text, TEXT).into_owned()),
            label: of.label,
            label_name: self.naming.label(of.label),
            rank: of.rank + 1,
            score: of.score,
            relevant: of.relevant,
            propensity: self.propensities.map(|p| p.values.get(of.label)),
            missing: of.missing,
            missing_from: from,
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

    /// Label 0 is always observed, label 1 in every second row: what lacks label 1 may be missing it, what lacks label 0 an error.
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
        let look = Look { truth: &truth, k: 2, propensities: Some(&p), judged: None, matched: None, seed: 0, naming };
        let found = RowsToCheck::new(&[("a".into(), &scores)], &look).unwrap();
        let first = &found.possibly_missing[0];
        assert_eq!(
            (first.label, first.label_name.as_deref(), first.rank, first.text.as_deref()),
            (1, Some("flu"), 2, Some("row\\n1"))
        );
        assert!(first.missing.unwrap() > 0.9 && found.possibly_missing.len() == LISTED);
        assert_eq!(found.errors.len(), 1);
        assert_eq!((found.errors[0].row, found.errors[0].label, found.errors[0].missing), (7, 0, Some(0.0)));
        let look = Look { propensities: None, naming: Naming::default(), ..look };
        let without = RowsToCheck::new(&[("a".into(), &scores)], &look).unwrap();
        assert!(without.possibly_missing.is_empty() && without.errors[0].missing.is_none());
    }

    /// Half of label 1's relevant rows are not observed, but a model ranks it first where it is easily observed: only one in ten of what
    /// it predicts and is not observed is missing. The label's propensity says far more; the later labels of training rows know.
    #[test]
    fn probabilities_from_later_labels_come_true() {
        let rows = 4000;
        let labels = |row: usize, is_later: bool| match row % 20 {
            0..10 => vec![1],
            10 if is_later => vec![0, 1],
            _ => vec![0],
        };
        let of = |is_later| Labels::from_ids(2, (0..rows).map(|row| labels(row, is_later))).unwrap();
        let (early, later) = (of(false), of(true));
        let scores = Csr::from_rows(2, (0..rows).map(|_| [(0u32, 1.0f32), (1, 2.0)])).unwrap();
        let matched = MatchedRows::new(&early, &later).unwrap().predictions("a", &scores).unwrap();
        let values = Propensities::new("given", vec![1.0, 0.5]).unwrap();
        let p = LabelPropensities { source: "given".into(), kind: crate::audit::CandidateKind::Assumed, values };
        let look = Look {
            truth: &early,
            k: 1,
            propensities: Some(&p),
            judged: None,
            matched: Some(&matched),
            seed: 0,
            naming: Naming::default(),
        };
        let found = RowsToCheck::new(&[("a".into(), &scores)], &look).unwrap();
        assert!(found.possibly_missing.is_empty());
        let first = &found.errors[0];
        assert_eq!(first.missing_from, Some(ChanceFrom::MissedLabels));
        assert!((first.missing.unwrap() - 0.1).abs() < 0.01 && (first.relevant - 0.55).abs() < 0.01, "{first:?}");
        let by_label = RowsToCheck::new(&[("a".into(), &scores)], &Look { matched: None, ..look }).unwrap();
        assert_eq!(by_label.possibly_missing[0].missing, Some(1.0));
    }
}
