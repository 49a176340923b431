//! Columns: column 0 is the observed value, then one for each propensity model (or the known rate), then the clipped ones.

use super::bounds::Extremes;
use super::classes::{Attributes, classes};
use super::settings::Column;
use super::table::Table;
use crate::data::Rate;
use crate::error::Result;
use crate::evaluate::builder::Evaluation;
use crate::evaluate::tally::fixed::BLOCK;
use crate::evaluate::tally::labels::Positives;
use crate::propensity::Propensities;
use crate::request::ABSENT_LABELS;
use rayon::prelude::*;

/// The columns of an evaluation, their table by label, and the largest values in them; `positives` are those of all rows.
pub(super) fn table(evaluation: &Evaluation<'_>, positives: &Positives) -> Result<(Vec<Column>, Table, Extremes)> {
    let labels = evaluation.truth.cols();
    let of_rate = |rate: &Rate| {
        rate.check_draw(labels as u64)?;
        Propensities::new(rate.name(), (0..labels).map(|label| rate.of(label)).collect())
    };
    let known = evaluation.request.rate.as_ref().map(of_rate).transpose()?;
    let models: Vec<&Propensities> = evaluation.propensities.iter().chain(&known).collect();
    let mut columns = vec![Column { origin: None, clip: None, uncertain: false, common_errors: 0 }];
    for model in &models {
        let (origin, common_errors) = (Some(model.origin().to_string()), model.common_errors().len());
        columns.push(Column { origin, clip: None, uncertain: model.is_uncertain(), common_errors });
    }
    if let (Some(tau), None) = (evaluation.request.clip, &known) {
        for parent in 1..=models.len() {
            columns.push(Column { clip: Some((parent, tau)), ..columns[parent].clone() });
        }
    }
    let weights = evaluation.weights.as_ref().map(|(_, weights)| &weights[..]);
    let weight_column = weights.map(|_| columns.len());
    let width = (columns.len() + usize::from(weights.is_some())).next_multiple_of(BLOCK);
    let shared = models.is_empty() && weights.is_none();
    let mut table = Table { width, shared, weight_column, ..Table::default() };
    let examples = if shared { None } else { arrange(evaluation, positives, &models, &columns, &mut table) };
    let rows = examples.as_ref().map_or(if shared { 1 } else { labels }, Vec::len);
    table.inverse = vec![0.0; width * if shared { 1 } else { rows + 1 }];
    // An allocation may start anywhere; columns that start with a cache line take half the loads of those that straddle two.
    table.shift = if shared { 0 } else { table.inverse.as_ptr().align_offset(64).min(width) };
    let start = table.shift;
    let label_at = |place: usize| examples.as_ref().map_or(place, |examples| examples[place] as usize);
    table.inverse[start..start + rows * width].par_chunks_exact_mut(width).with_min_len(1 << 12).enumerate().for_each(
        |(place, row)| {
            row[0] = 1.0;
            for (column, model) in models.iter().enumerate() {
                row[column + 1] = model.score_inverse(label_at(place) as u32);
            }
            for (column, kept) in columns.iter().enumerate() {
                if let Some((parent, tau)) = kept.clip {
                    row[column] = row[parent].min(tau);
                }
            }
            if let (Some(column), Some(weights)) = (weight_column, weights) {
                row[column] = weights[label_at(place)];
            }
        },
    );
    table.ordered =
        !shared && !table.index.is_empty() && is_descending(&table.inverse[start..start + rows * width], &columns, &table);
    if columns.iter().any(|column| column.uncertain) {
        table.variance = vec![0.0; width * rows];
        for (place, row) in table.variance.chunks_exact_mut(width).enumerate() {
            for (column, model) in models.iter().enumerate() {
                row[column + 1] = model.inverse_variance(label_at(place) as u32).unwrap_or(0.0);
            }
            for (column, kept) in columns.iter().enumerate() {
                if let Some((parent, tau)) = kept.clip {
                    // Where the cut decides, the estimate of the propensity does not matter.
                    let is_cut = table.inverse[start + place * width + parent] > tau;
                    row[column] = if is_cut { 0.0 } else { row[parent] };
                }
            }
        }
    }
    table.error_width = columns.iter().map(|column| column.common_errors).sum();
    if table.error_width > 0 {
        let parents = columns.iter().enumerate().map(|(column, kept)| (kept.clip.map_or(column, |(parent, _)| parent), kept.clip));
        let parents: Vec<_> = parents.filter(|(parent, _)| *parent > 0).collect();
        for place in 0..rows {
            for (parent, clip) in &parents {
                // Where the cut decides, the estimate of the propensity does not matter.
                let is_cut = clip.is_some_and(|(_, tau)| table.inverse[start + place * width + parent] > tau);
                let of_label = |error: &Vec<f64>| if is_cut { 0.0 } else { error[label_at(place)] };
                table.errors.extend(models[parent - 1].common_errors().iter().map(of_label));
            }
        }
    }
    if let Some(groups) = &evaluation.groups {
        let code = |label: &u32| groups.codes()[*label as usize];
        table.group = examples.as_ref().map_or_else(|| groups.codes().to_vec(), |ids| ids.iter().map(code).collect());
    }
    let extremes = extremes(&models, &columns, weights);
    Ok((columns, table, extremes))
}

/// The largest inverse propensity of each column, the smallest positive weight and the largest: of all labels, not only of those
/// that the rows have.
fn extremes(models: &[&Propensities], columns: &[Column], weights: Option<&[f64]>) -> Extremes {
    let largest = |model: &Propensities| match model.score_inverses() {
        Some(inverses) => inverses.par_iter().with_min_len(1 << 14).copied().reduce(|| 0.0, f64::max),
        None => 1.0 / model.values().par_iter().with_min_len(1 << 14).copied().reduce(|| f64::INFINITY, f64::min),
    };
    let mut inverse: Vec<f64> = std::iter::once(1.0).chain(models.iter().map(|model| largest(model))).collect();
    for column in &columns[inverse.len()..] {
        inverse.push(column.clip.map_or(1.0, |(parent, tau)| inverse[parent].min(tau)));
    }
    let of_weights = |weights: &[f64]| {
        let positive = weights.iter().copied().filter(|weight| *weight > 0.0);
        (positive.clone().fold(f64::INFINITY, f64::min), positive.fold(0.0, f64::max))
    };
    Extremes { inverse, weights: weights.map_or((1.0, 1.0), of_weights) }
}

/// Whether every propensity column descends from place to place, and its product with the weights does.
fn is_descending(inverse: &[f64], columns: &[Column], table: &Table) -> bool {
    let weight = |row: &[f64]| table.weight_column.map_or(1.0, |column| row[column]);
    let falls = |before: &[f64], after: &[f64], column: usize| {
        before[column] >= after[column] && before[column] * weight(before) >= after[column] * weight(after)
    };
    let rows = || inverse.chunks_exact(table.width);
    rows().zip(rows().skip(1)).all(|(before, after)| (1..columns.len()).all(|column| falls(before, after, column)))
}

/// Settles where labels are in the table, and gives for each place a label that is there; `None` when places are labels.
fn arrange(
    evaluation: &Evaluation<'_>,
    positives: &Positives,
    models: &[&Propensities],
    columns: &[Column],
    table: &mut Table,
) -> Option<Vec<u32>> {
    let labels = evaluation.truth.cols();
    // Labels without a positive are never weighed, and often they are many.
    let counts_absent = evaluation.groups.is_some() && evaluation.request.conventions.differs(&ABSENT_LABELS);
    let only_positives = evaluation.request.clip.is_none() && evaluation.shown.is_none() && !counts_absent;
    if !columns.iter().any(|column| column.uncertain) && models.iter().all(|model| model.score_inverses().is_none()) {
        let all: Vec<u32>;
        let wanted = if only_positives {
            &positives.ids
        } else {
            all = (0..labels as u32).collect();
            &all
        };
        let attributes = Attributes {
            propensities: models.iter().map(|model| model.values()).collect(),
            weights: evaluation.weights.as_ref().map(|(_, weights)| &weights[..]),
            groups: evaluation.groups.as_ref().map_or(&[][..], |groups| groups.codes()),
        };
        if let Some(found) = classes(labels, wanted, &attributes) {
            table.index = found.index;
            return Some(found.examples);
        }
    }
    if !only_positives {
        return None;
    }
    // Frequent labels together: most look-ups then stay within few pages of memory.
    const FREQUENT: u64 = 8;
    let counted = || positives.ids.iter().copied().zip(positives.counts.iter().copied());
    let frequent = counted().filter(|(_, count)| *count >= FREQUENT);
    let ids: Vec<u32> = frequent.chain(counted().filter(|(_, count)| *count < FREQUENT)).map(|(label, _)| label).collect();
    table.index = vec![0; labels];
    ids.iter().enumerate().for_each(|(place, label)| table.index[*label as usize] = place as u32);
    Some(ids)
}
