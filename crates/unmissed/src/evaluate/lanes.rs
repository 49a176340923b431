//! Lanes: lane 0 is what is observed, then one for each propensity model (or the known rate), then the clipped ones.

use super::request::Evaluation;
use super::settings::{Lane, Rate};
use super::table::{BLOCK, Table};
use crate::error::Result;
use crate::propensity::Propensities;
use rayon::prelude::*;

/// The lanes of an evaluation and their table by label.
pub(super) fn table(evaluation: &Evaluation<'_>) -> Result<(Vec<Lane>, Table)> {
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
        lanes.push(Lane { origin: Some(model.origin().to_owned()), clip: None, uncertain });
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
    table.inverse = vec![0.0; width * if shared { 1 } else { labels + 1 }];
    // An allocation may start anywhere; lanes that start with a cache line take half the loads of those that straddle two.
    table.shift = if shared { 0 } else { table.inverse.as_ptr().align_offset(64).min(width) };
    let (start, rows) = (table.shift, if shared { 1 } else { labels });
    table.inverse[start..start + rows * width].par_chunks_exact_mut(width).with_min_len(1 << 12).enumerate().for_each(
        |(label, row)| {
            row[0] = 1.0;
            for (lane, model) in models.iter().enumerate() {
                row[lane + 1] = 1.0 / model.values()[label];
            }
            for (lane, kept) in lanes.iter().enumerate() {
                if let Some((parent, tau)) = kept.clip {
                    row[lane] = row[parent].min(tau);
                }
            }
            if let (Some(lane), Some(weights)) = (weight_lane, weights) {
                row[lane] = weights[label];
            }
        },
    );
    if lanes.iter().any(|lane| lane.uncertain) {
        table.variance = vec![0.0; width * labels];
        for (label, row) in table.variance.chunks_exact_mut(width).enumerate() {
            for (lane, model) in models.iter().enumerate() {
                row[lane + 1] = model.inverse_variance(label as u32).unwrap_or(0.0);
            }
            for (lane, kept) in lanes.iter().enumerate() {
                if let Some((parent, tau)) = kept.clip {
                    // Where the cut decides, the estimate of the propensity does not matter.
                    let is_cut = table.inverse[table.shift + label * width + parent] > tau;
                    row[lane] = if is_cut { 0.0 } else { row[parent] };
                }
            }
        }
    }
    if let Some(groups) = &evaluation.groups {
        table.group = groups.codes().to_vec();
    }
    Ok((lanes, table))
}
