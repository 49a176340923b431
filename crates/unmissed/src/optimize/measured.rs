//! The scores of predictions on known labels.
//!
//! Metrics that [evaluation](crate::evaluate) has are its numbers, with its intervals of paired differences. Mixtures, and
//! objectives that are no metrics, are computed here from the labels' counts, with a jackknife over rows: leaving row i out changes
//! the value by `psi_i`, and the variance of a difference is `(n - 1) / n sum (psi_i - mean)^2` of the differences of both lists.

use super::expected::BeforeAfter;
use super::objectives::{Counted, Mixture, ObjectiveInputs};
use crate::data::{Labels, Scores};
use crate::error::Result;
use crate::evaluate::Evaluation;
use crate::metrics::{self, Estimator};
use crate::progress::Progress;
use crate::propensity::Propensities;
use crate::propensity::quantiles::normal_half_width;
use crate::spec::Spec;

/// Known labels of the rows, and what lists are measured by.
pub(super) struct Measurement<'a> {
    pub(super) truth: &'a Labels<'a>,
    pub(super) before: &'a Scores<'a>,
    pub(super) after: &'a Scores<'a>,
    pub(super) setting: ObjectiveInputs<'a>,
    pub(super) k: usize,
    pub(super) level: f64,
    pub(super) propensities: Option<&'a Propensities>,
    pub(super) progress: &'a dyn Progress,
}

const NAMES: [&str; 2] = ["most probable", "optimised"];

impl Measurement<'_> {
    /// A metric of evaluation. The estimator is said where it is not the expected one.
    pub(super) fn by_evaluation(&self, spec: &Spec) -> Result<(BeforeAfter, Estimator)> {
        let metric = metrics::find(spec.name())?;
        // Unbiased estimates that are not computed unless somebody asks for them vary too much to tell anything here.
        let has_unbiased = metric.offer(Estimator::Unbiased).is_some_and(|offer| offer.by_default);
        let estimator = if self.propensities.is_some() && has_unbiased { Estimator::Unbiased } else { Estimator::Observed };
        let models = [(NAMES[0], self.before), (NAMES[1], self.after)];
        let mut evaluation = Evaluation::new(self.truth, &models)?
            .metrics(&[&spec.to_string()])?
            .estimators(&[estimator])
            .ks(&[self.k])?
            .level(self.level)?
            .progress(self.progress);
        if let Some(propensities) = self.propensities {
            evaluation = evaluation.propensity(propensities.clone());
        }
        if !self.setting.weights.is_empty() {
            evaluation = evaluation.weights("given", self.setting.weights.to_vec())?;
        }
        let result = evaluation.run()?;
        let value = |name: &str| {
            let of = |row: &&crate::evaluate::Row| row.model == name && row.estimator == estimator && row.group == "all";
            result.rows.iter().find(of).and_then(|row| row.value).unwrap_or(f64::NAN)
        };
        let (before, after) = (value(NAMES[0]), value(NAMES[1]));
        let compared = result.comparisons.iter().find(|compared| compared.estimator == estimator && compared.group == "all");
        let sign = compared.map_or(1.0, |compared| if compared.a == NAMES[1] { 1.0 } else { -1.0 });
        let ends = compared.and_then(|compared| compared.low.zip(compared.high)).map(|(low, high)| (sign * low, sign * high));
        let named = BeforeAfter {
            metric: spec.to_string(),
            before,
            after,
            difference: after - before,
            low: ends.map(|(low, high)| low.min(high)),
            high: ends.map(|(low, high)| low.max(high)),
        };
        Ok((named, estimator))
    }

    /// Any objective, from the counts of labels.
    pub(super) fn by_counts(&self, name: String, mixture: &Mixture) -> BeforeAfter {
        let of_before = self.list(self.before, mixture);
        let of_after = self.list(self.after, mixture);
        let differences: Vec<f64> =
            of_before.left_out.iter().zip(&of_after.left_out).map(|(before, after)| after - before).collect();
        let rows = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / rows;
        let variance = (rows - 1.0) / rows * differences.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
        let (difference, half) = (of_after.value - of_before.value, normal_half_width(self.level) * variance.sqrt());
        BeforeAfter {
            metric: name,
            before: of_before.value,
            after: of_after.value,
            difference,
            low: Some(difference - half),
            high: Some(difference + half),
        }
    }

    fn list(&self, list: &Scores<'_>, mixture: &Mixture) -> Measured {
        let inverse = |label: u32| self.propensities.map_or(1.0, |propensities| propensities.score_inverse(label));
        let mut counts = vec![Counted::default(); self.truth.cols()];
        let mut is_relevant = vec![false; self.truth.cols()];
        // What a row has of each label: hits, predictions, positives.
        let parts = |row: usize, is_relevant: &mut Vec<bool>, parts: &mut Vec<(u32, Counted)>| {
            parts.clear();
            let (given, relevant) = (list.row_ids(row), self.truth.row_ids(row));
            relevant.iter().for_each(|label| is_relevant[*label as usize] = true);
            for label in given {
                let hits = if is_relevant[*label as usize] { inverse(*label) } else { 0.0 };
                parts.push((*label, Counted { hits, predicted: 1.0, positives: hits }));
                is_relevant[*label as usize] = false;
            }
            for label in relevant.iter().filter(|label| std::mem::take(&mut is_relevant[**label as usize])) {
                parts.push((*label, Counted { positives: inverse(*label), ..Counted::default() }));
            }
        };
        let mut of_row = Vec::new();
        let mut rows_hit = vec![false; self.truth.rows()];
        for (row, is_hit) in rows_hit.iter_mut().enumerate() {
            parts(row, &mut is_relevant, &mut of_row);
            for (label, part) in &of_row {
                let all = &mut counts[*label as usize];
                all.hits += part.hits;
                all.predicted += part.predicted;
                all.positives += part.positives;
                *is_hit |= part.hits > 0.0;
            }
        }
        let (rows, setting) = (self.truth.rows() as f64, &self.setting);
        let values: Vec<f64> = counts.iter().enumerate().map(|(label, counts)| mixture.of_label(label, *counts, setting)).collect();
        let row_value = |is_hit: bool| mixture.of_row(is_hit) / rows;
        let value = values.iter().sum::<f64>() + rows_hit.iter().map(|is_hit| row_value(*is_hit)).sum::<f64>();
        let mut left_out = Vec::with_capacity(rows_hit.len());
        for (row, is_hit) in rows_hit.iter().enumerate() {
            parts(row, &mut is_relevant, &mut of_row);
            let change = |(label, part): &(u32, Counted)| {
                let all = counts[*label as usize];
                let rest = Counted {
                    hits: all.hits - part.hits,
                    predicted: all.predicted - part.predicted,
                    positives: all.positives - part.positives,
                };
                values[*label as usize] - mixture.of_label(*label as usize, rest, setting)
            };
            left_out.push(of_row.iter().map(change).sum::<f64>() + row_value(*is_hit));
        }
        Measured { value, left_out }
    }
}

struct Measured {
    value: f64,
    /// What each row adds to the value.
    left_out: Vec<f64>,
}
