//! Lanes: lane 0 is what is observed, then one for each propensity model (or the known rate), then the clipped ones.

use super::classes::{Columns, classes};
use super::conventions::ABSENT_LABELS;
use super::label_tally::Positives;
use super::request::Evaluation;
use super::settings::{Lane, Rate};
use super::table::{BLOCK, Table};
use crate::error::Result;
use crate::propensity::Propensities;
use rayon::prelude::*;

/// The lanes of an evaluation and their table by label; `positives` are those of all rows.
pub(super) fn table(evaluation: &Evaluation<'_>, positives: &Positives) -> Result<(Vec<Lane>, Table)> {
    let labels = evaluation.truth.cols();
    let known = evaluation.rate.as_ref().map(|rate| {
        let values = match rate {
            Rate::Shown { shown, of } => vec![f64::from(*shown) / f64::from(*of); labels],
            Rate::PerLabel(rates) => rates.clone(),
        };
        Propensities::new(rate.name(), values)
    });
    let known = known.transpose()?;
    let models: Vec<&Propensities> = evaluation.propensities.iter().chain(&known).collect();
    let mut lanes = vec![Lane { origin: None, clip: None, uncertain: false }];
    for model in &models {
        let uncertain = (0..labels as u32).any(|label| model.inverse_variance(label).is_some());
        lanes.push(Lane { origin: Some(model.origin().to_string()), clip: None, uncertain });
    }
    if let (Some(tau), None) = (evaluation.clip, &known) {
        for parent in 1..=models.len() {
            lanes.push(Lane { clip: Some((parent, tau)), ..lanes[parent].clone() });
        }
    }
    let weights = evaluation.weights.as_ref().map(|(_, weights)| &weights[..]);
    let weight_lane = weights.map(|_| lanes.len());
    let width = (lanes.len() + usize::from(weights.is_some())).next_multiple_of(BLOCK);
    let shared = models.is_empty() && weights.is_none();
    let mut table = Table { width, shared, weight_lane, ..Table::default() };
    let examples = if shared { None } else { arrange(evaluation, positives, &models, &lanes, &mut table) };
    let rows = examples.as_ref().map_or(if shared { 1 } else { labels }, Vec::len);
    table.inverse = vec![0.0; width * if shared { 1 } else { rows + 1 }];
    // An allocation may start anywhere; lanes that start with a cache line take half the loads of those that straddle two.
    table.shift = if shared { 0 } else { table.inverse.as_ptr().align_offset(64).min(width) };
    let start = table.shift;
    let label_at = |place: usize| examples.as_ref().map_or(place, |examples| examples[place] as usize);
    table.inverse[start..start + rows * width].par_chunks_exact_mut(width).with_min_len(1 << 12).enumerate().for_each(
        |(place, row)| {
            row[0] = 1.0;
            for (lane, model) in models.iter().enumerate() {
                row[lane + 1] = 1.0 / model.values()[label_at(place)];
            }
            for (lane, kept) in lanes.iter().enumerate() {
                if let Some((parent, tau)) = kept.clip {
                    row[lane] = row[parent].min(tau);
                }
            }
            if let (Some(lane), Some(weights)) = (weight_lane, weights) {
                row[lane] = weights[label_at(place)];
            }
        },
    );
    table.ordered =
        !shared && !table.index.is_empty() && is_descending(&table.inverse[start..start + rows * width], &lanes, &table);
    if lanes.iter().any(|lane| lane.uncertain) {
        table.variance = vec![0.0; width * rows];
        for (place, row) in table.variance.chunks_exact_mut(width).enumerate() {
            for (lane, model) in models.iter().enumerate() {
                row[lane + 1] = model.inverse_variance(label_at(place) as u32).unwrap_or(0.0);
            }
            for (lane, kept) in lanes.iter().enumerate() {
                if let Some((parent, tau)) = kept.clip {
                    // Where the cut decides, the estimate of the propensity does not matter.
                    let is_cut = table.inverse[start + place * width + parent] > tau;
                    row[lane] = if is_cut { 0.0 } else { row[parent] };
                }
            }
        }
    }
    if let Some(groups) = &evaluation.groups {
        let code = |label: &u32| groups.codes()[*label as usize];
        table.group = examples.as_ref().map_or_else(|| groups.codes().to_vec(), |ids| ids.iter().map(code).collect());
    }
    Ok((lanes, table))
}

/// Whether every propensity lane descends from place to place, and its product with the weights does.
fn is_descending(inverse: &[f64], lanes: &[Lane], table: &Table) -> bool {
    let weight = |row: &[f64]| table.weight_lane.map_or(1.0, |lane| row[lane]);
    let falls = |before: &[f64], after: &[f64], lane: usize| {
        before[lane] >= after[lane] && before[lane] * weight(before) >= after[lane] * weight(after)
    };
    let rows = || inverse.chunks_exact(table.width);
    rows().zip(rows().skip(1)).all(|(before, after)| (1..lanes.len()).all(|lane| falls(before, after, lane)))
}

/// Settles where labels are in the table, and gives for each place a label that is there; `None` when places are labels.
fn arrange(
    evaluation: &Evaluation<'_>,
    positives: &Positives,
    models: &[&Propensities],
    lanes: &[Lane],
    table: &mut Table,
) -> Option<Vec<u32>> {
    let labels = evaluation.truth.cols();
    // Labels without a positive are never weighed, and often they are many.
    let counts_absent = evaluation.groups.is_some() && evaluation.conventions.differs(&ABSENT_LABELS);
    let only_positives = evaluation.clip.is_none() && evaluation.shown.is_none() && !counts_absent;
    if !lanes.iter().any(|lane| lane.uncertain) {
        let all: Vec<u32>;
        let wanted = if only_positives {
            &positives.ids
        } else {
            all = (0..labels as u32).collect();
            &all
        };
        let columns = Columns {
            propensities: models.iter().map(|model| model.values()).collect(),
            weights: evaluation.weights.as_ref().map(|(_, weights)| &weights[..]),
            groups: evaluation.groups.as_ref().map_or(&[][..], |groups| groups.codes()),
        };
        if let Some(found) = classes(labels, wanted, &columns) {
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
