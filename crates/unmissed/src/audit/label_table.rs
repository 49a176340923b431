//! What is known about every label: how often it was trained on, observed, predicted and hit, and its propensity.

use super::naming::Naming;
use super::result::CandidateKind;
use crate::data::{LabelStats, Names};
use crate::error::Result;
use crate::evaluate::Tally;
use crate::propensity::Propensities;
use crate::propensity::quantiles::normal_half_width;
use serde::Serialize;

/// Labels that the result lists; a file has all of them.
pub(super) const LISTED: usize = 200;

/// Counts of all labels; the columns of a table, by label.
#[derive(Clone, Debug, Default)]
pub struct LabelTable {
    /// Length of the top list.
    pub k: usize,
    /// Level of intervals.
    pub level: f64,
    /// Names, where they are known.
    pub names: Option<Names>,
    /// Training rows that have the label, where there is training data.
    pub trained: Option<Vec<u64>>,
    /// Test rows that have it.
    pub positives: Vec<u32>,
    /// The models.
    pub models: Vec<ModelCounts>,
    /// Propensities and where they come from, where there are any.
    pub propensities: Option<LabelPropensities>,
}

/// Counts of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCounts {
    /// Its name.
    pub name: String,
    /// Test rows that have the label in the top k.
    pub predicted: Vec<u32>,
    /// Of these, rows that have it observed.
    pub hits: Vec<u32>,
}

/// The propensities of a table.
#[derive(Clone, Debug)]
pub struct LabelPropensities {
    /// What they are called in this audit.
    pub source: String,
    /// How they came about.
    pub kind: CandidateKind,
    /// One for each label.
    pub values: Propensities,
}

/// A share with its interval; `None` of nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// One label, as the page and programs have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelLine {
    /// The label.
    pub label: u32,
    /// Its name.
    pub name: Option<String>,
    /// Training rows that have it.
    pub trained: Option<u64>,
    /// Test rows that have it.
    pub positives: u32,
    /// Its propensity.
    pub propensity: Option<f64>,
    /// Share of its relevant labels that is probably missing, 1 - propensity.
    pub missing: Option<f64>,
    /// What each model makes of it.
    pub models: Vec<LabelScores>,
}

/// What a model makes of a label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelScores {
    /// The model.
    pub model: String,
    /// Rows that have the label in the top k.
    pub predicted: u32,
    /// Of these, rows that have it observed.
    pub hits: u32,
    /// Observed share of the predicted ones.
    pub precision: Option<Share>,
    /// Predicted share of the observed ones.
    pub recall: Option<Share>,
    /// Harmonic mean of the two.
    pub f: Option<f64>,
}

impl LabelTable {
    pub(super) fn new(
        tally: &Tally,
        is_shown: impl Fn(&str) -> bool,
        level: f64,
        stats: Option<&LabelStats>,
        propensities: Option<LabelPropensities>,
        naming: Naming<'_>,
    ) -> Result<LabelTable> {
        let counts = tally.label_counts()?;
        let labels = counts.positives.len() as u32;
        let shown = counts.models.into_iter().filter(|(name, ..)| is_shown(name));
        let models = shown.map(|(name, predicted, hits)| ModelCounts { name, predicted, hits });
        Ok(LabelTable {
            k: counts.k,
            level,
            names: naming.labels.cloned(),
            trained: stats.map(|stats| (0..labels).map(|label| stats.count(label)).collect()),
            positives: counts.positives,
            models: models.collect(),
            propensities,
        })
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.positives.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positives.is_empty()
    }

    /// Everything about one label.
    pub fn line(&self, label: usize) -> LabelLine {
        let z = normal_half_width(self.level);
        let positives = self.positives[label];
        let of_model = |model: &ModelCounts| {
            let (predicted, hits) = (model.predicted[label], model.hits[label]);
            LabelScores {
                model: model.name.clone(),
                predicted,
                hits,
                precision: wilson(hits, predicted, z),
                recall: wilson(hits, positives, z),
                f: (predicted + positives > 0).then(|| 2.0 * f64::from(hits) / f64::from(predicted + positives)),
            }
        };
        let propensity = self.propensities.as_ref().map(|p| p.values.get(label as u32));
        LabelLine {
            label: label as u32,
            name: self.names.as_ref().and_then(|names| names.get(label)).map(str::to_owned),
            trained: self.trained.as_ref().map(|trained| trained[label]),
            positives,
            propensity,
            missing: propensity.map(|p| 1.0 - p),
            models: self.models.iter().map(of_model).collect(),
        }
    }

    /// The labels that matter most, at most `most`: with several models those on which their hits differ most, with one those with the
    /// most errors.
    pub fn leading(&self, most: usize) -> Vec<LabelLine> {
        let mut order: Vec<(u64, u32, u32)> = (0u32..)
            .zip(&self.positives)
            .map(|(label, positives)| (self.weight(label as usize), *positives, label))
            .filter(|(weight, ..)| *weight > 0)
            .collect();
        let first = |a: &(u64, u32, u32), b: &(u64, u32, u32)| (b.0, b.1, a.2).cmp(&(a.0, a.1, b.2));
        if order.len() > most && most > 0 {
            order.select_nth_unstable_by(most - 1, first);
            order.truncate(most);
        }
        order.sort_unstable_by(first);
        order.iter().take(most).map(|(.., label)| self.line(*label as usize)).collect()
    }

    fn weight(&self, label: usize) -> u64 {
        match &self.models[..] {
            [] => 0,
            [model] => u64::from(self.positives[label]) + u64::from(model.predicted[label]) - 2 * u64::from(model.hits[label]),
            models => {
                let hits = || models.iter().map(|model| u64::from(model.hits[label]));
                hits().max().unwrap_or(0) - hits().min().unwrap_or(0)
            }
        }
    }
}

/// Wilson's interval of a share.
fn wilson(hits: u32, of: u32, z: f64) -> Option<Share> {
    if of == 0 {
        return None;
    }
    let (n, value) = (f64::from(of), f64::from(hits) / f64::from(of));
    let (centre, scale) = (value + z * z / (2.0 * n), 1.0 + z * z / n);
    let half = z * (value * (1.0 - value) / n + z * z / (4.0 * n * n)).sqrt();
    // Exact at the ends, where rounding would leave the range.
    let low = if hits == 0 { 0.0 } else { (centre - half) / scale };
    let high = if hits == of { 1.0 } else { (centre + half) / scale };
    Some(Share { value, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(models: &[(&str, [u32; 4], [u32; 4])]) -> LabelTable {
        let model = |(name, predicted, hits): &(&str, [u32; 4], [u32; 4])| ModelCounts {
            name: (*name).into(),
            predicted: predicted.to_vec(),
            hits: hits.to_vec(),
        };
        LabelTable {
            k: 5,
            level: 0.95,
            positives: vec![10, 4, 0, 7],
            models: models.iter().map(model).collect(),
            ..LabelTable::default()
        }
    }

    #[test]
    fn labels_with_the_largest_differences_or_the_most_errors_come_first() {
        let labels = |lines: Vec<LabelLine>| lines.iter().map(|line| line.label).collect::<Vec<_>>();
        let one = table(&[("a", [10, 4, 3, 0], [9, 4, 0, 0])]);
        assert_eq!(labels(one.leading(9)), [3, 2, 0]);
        assert_eq!(labels(one.leading(1)), [3]);
        let two = table(&[("a", [10, 4, 3, 0], [9, 4, 0, 0]), ("b", [10, 4, 0, 0], [4, 1, 0, 0])]);
        assert_eq!(labels(two.leading(9)), [0, 1]);
        assert!(two.leading(0).is_empty() && table(&[]).leading(3).is_empty());
    }

    #[test]
    fn a_line_has_shares_with_intervals_where_there_are_any() {
        let line = table(&[("a", [10, 4, 3, 0], [9, 4, 0, 0])]).line(0);
        let precision = line.models[0].precision.unwrap();
        // R: prop.test(9, 10, correct = FALSE)$conf.int
        assert!(
            (precision.value - 0.9).abs() < 1e-12
                && (precision.low - 0.5958500).abs() < 1e-6
                && (precision.high - 0.9821238).abs() < 1e-6
        );
        assert_eq!(line.models[0].f, Some(0.9));
        let never = table(&[("a", [10, 4, 3, 0], [9, 4, 0, 0])]).line(3);
        assert!(never.models[0].precision.is_none() && never.models[0].recall.unwrap().low == 0.0);
    }
}
