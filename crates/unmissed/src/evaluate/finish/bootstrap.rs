//! Bootstrap over rows for metrics that are means over labels.
//!
//! In replicate b each row has an independent Poisson(1) weight, which depends on the seed, the row's absolute number and b alone:
//! not on threads or shards. The work goes label by label: the rows of a label are few, and all replicates are counted at once.
//! The standard error is that of the replicates; the interval is centred at the value, not at the replicates, since a bootstrap
//! sample loses hits that only one row has, and percentiles would be off by that.
//!
//! # Assumes
//! Rows are independent. Mean over labels of a function that is smooth in the counts; labels with one positive are not.
//!
//! # Reference
//! Hanley and MacGibbon, "Creating non-parametric bootstrap samples using Poisson frequencies", 2006.

use super::label_sums::label_terms;
use crate::error::Result;
use crate::evaluate::tally::{Entries, Tally};
use crate::metrics::LabelCounts;
use crate::progress::Progress;
use crate::rng::{Purpose, row_key, uniform_at};
use rayon::prelude::*;

/// Labels in a block; the sums of blocks are added in order.
const LABELS: usize = 1 << 10;

/// Sums over labels by (model, group, term, k, column), each with one number for every replicate.
pub(super) struct Replicates {
    sums: Vec<f64>,
    count: usize,
    sizes: [usize; 4],
}

impl Replicates {
    /// The replicates of one cell.
    pub(super) fn of(&self, model: usize, group: usize, term: usize, k: usize, column: usize) -> &[f64] {
        let [groups, terms, ks, columns] = self.sizes;
        let cell = (((model * groups + group) * terms + term) * ks + k) * columns + column;
        &self.sums[cell * self.count..(cell + 1) * self.count]
    }
}

/// The variance of numbers.
pub(super) fn variance(values: impl ExactSizeIterator<Item = f64> + Clone) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (n > 1.0).then(|| values.map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// P[Poisson(1) <= w].
const CUMULATIVE: [f64; 9] = [
    0.36787944117144233,
    0.7357588823428847,
    0.9196986029286058,
    0.9810118431238462,
    0.9963401531726563,
    0.9994058151824183,
    0.9999167588507119,
    0.9999897508033253,
    0.999998874797402,
];

/// Weights of a row in all replicates.
fn weights(key: u64, into: &mut [f64]) {
    for (replicate, weight) in into.iter_mut().enumerate() {
        let u = uniform_at(key, replicate as u32);
        *weight = CUMULATIVE.iter().map(|c| f64::from(u8::from(u >= *c))).sum();
    }
}

/// Draws the replicates.
pub(super) fn replicates(tally: &Tally, progress: &dyn Progress) -> Result<Option<Replicates>> {
    let settings = &tally.settings;
    let terms = label_terms(settings)?;
    let (Some(entries), false) = (&tally.entries, terms.is_empty()) else { return Ok(None) };
    let sizes = [settings.groups.len(), terms.len(), settings.ks().len(), settings.columns.len()];
    let mut all = Replicates { sums: Vec::new(), count: settings.request.bootstrap, sizes };
    // Labels come and go by model, so their number is not known before.
    progress.begin("bootstrap", 0);
    for model in 0..settings.models.len() {
        all.sums.extend(model_replicates(tally, entries, model, progress)?);
    }
    Ok(Some(all))
}

fn model_replicates(tally: &Tally, entries: &Entries, model: usize, progress: &dyn Progress) -> Result<Vec<f64>> {
    let settings = &tally.settings;
    let key = |row: u32| row_key(settings.request.seed, Purpose::Bootstrap, row.into());
    let terms = label_terms(settings)?;
    let (count, ks, columns) = (settings.request.bootstrap, settings.ks().len(), settings.columns.len());
    let predicted = &entries.predicted[model];
    let runs: Vec<&[[u32; 3]]> = predicted.chunk_by(|a, b| a[0] == b[0]).collect();
    let len = settings.groups.len() * terms.len() * ks * columns * count;
    let blocks = runs
        .par_chunks(LABELS)
        .map(|runs| {
            let mut sums = vec![0.0; len];
            let mut weight = vec![0.0; count];
            let mut counts = vec![0.0; (2 * ks + 1) * count];
            let mut values = vec![0.0; columns];
            for run in runs.iter().filter(|run| run.iter().any(|entry| entry[2] & 1 == 1)) {
                let label = run[0][0];
                progress.advance(1)?;
                counts.fill(0.0);
                let mut put = |slot: usize, weight: &[f64]| {
                    counts[slot * count..(slot + 1) * count].iter_mut().zip(weight).for_each(|(c, w)| *c += w);
                };
                for [_, row, code] in run.iter().copied() {
                    weights(key(row), &mut weight);
                    for (ki, k) in settings.ks().iter().enumerate().filter(|(_, k)| ((code / 2) as usize) < **k) {
                        debug_assert!(*k > 0);
                        put(ki, &weight);
                        if code & 1 == 1 {
                            put(ks + ki, &weight);
                        }
                    }
                }
                let from = entries.positives.partition_point(|entry| entry[0] < label);
                for [_, row] in entries.positives[from..].iter().take_while(|entry| entry[0] == label) {
                    weights(key(*row), &mut weight);
                    put(2 * ks, &weight);
                }
                let at = tally.table.place(label);
                let (inverse, group) = (&tally.table.inverse_at(at)[..columns], usize::from(tally.table.group(at)) + 1);
                for (term, (metric, function, beta)) in terms.iter().enumerate() {
                    let needed = settings.columns_needed(*metric);
                    for ki in 0..ks {
                        for replicate in 0..count {
                            let part = |slot: usize| counts[slot * count + replicate];
                            let counts = LabelCounts { hits: part(ks + ki), predicted: part(ki), positives: part(2 * ks) };
                            if counts.hits == 0.0 {
                                continue;
                            }
                            values.fill(0.0);
                            function.add(counts, &inverse[..needed], *beta, &mut values);
                            for group in [0, group].into_iter().filter(|group| *group < settings.groups.len()) {
                                let cell = ((group * terms.len() + term) * ks + ki) * columns;
                                for (column, value) in values[..needed].iter().enumerate() {
                                    sums[(cell + column) * count + replicate] += value;
                                }
                            }
                        }
                    }
                }
            }
            Ok(sums)
        })
        .collect::<Result<Vec<Vec<f64>>>>()?;
    let mut all = vec![0.0; len];
    for block in blocks {
        all.iter_mut().zip(block).for_each(|(sum, part)| *sum += part);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_poisson() {
        let mut weight = vec![0.0; 20_000];
        weights(row_key(3, Purpose::Bootstrap, 5), &mut weight);
        let mean = weight.iter().sum::<f64>() / 2e4;
        let spread = variance(weight.iter().copied()).unwrap();
        assert!((mean - 1.0).abs() < 4.0 / 2e4f64.sqrt(), "{mean}");
        assert!((spread - 1.0).abs() < 4.0 * (3.0f64 / 2e4).sqrt(), "{spread}");
    }
}
