//! Metrics that are means over labels, from the tallies.

use crate::error::Result;
use crate::evaluate::plan::settings::Settings;
use crate::evaluate::tally::Tally;
use crate::evaluate::tally::labels::LabelTally;
use crate::metrics::{LabelCounts, LabelTerm, Shape};
use rayon::prelude::*;

/// Labels in a block; the sums of blocks are added in order.
const LABELS: usize = 1 << 14;

/// The metrics that are means over labels: (place among those asked for, term, beta).
pub(super) fn label_terms(settings: &Settings) -> Result<Vec<(usize, &'static dyn LabelTerm, f64)>> {
    let mut terms = Vec::new();
    for (place, chosen) in settings.metrics.iter().enumerate() {
        if let Shape::Label(term) = chosen.metric()?.shape() {
            terms.push((place, term, chosen.beta));
        }
    }
    Ok(terms)
}

/// Sums over labels by (group, term, k, column) of one model.
pub(super) struct LabelSums {
    pub(super) sums: Vec<f64>,
    terms: usize,
    ks: usize,
    width: usize,
}

impl LabelSums {
    pub(super) fn at(&self, group: usize, term: usize, k: usize, column: usize) -> usize {
        ((group * self.terms + term) * self.ks + k) * self.width + column
    }
}

/// Sums the terms of every label with a hit.
pub(super) fn label_sums(tally: &Tally, model: usize) -> Result<LabelSums> {
    let settings = &tally.settings;
    let terms = label_terms(settings)?;
    let (ks, width) = (settings.ks(), tally.table.width);
    let mut all = LabelSums { sums: Vec::new(), terms: terms.len(), ks: ks.len(), width };
    let len = settings.groups.len() * terms.len() * ks.len() * width;
    let counts: &LabelTally = &tally.labels[model];
    let columns: Vec<usize> = terms.iter().map(|(place, _, _)| settings.columns_needed(*place)).collect();
    let blocks: Vec<Vec<f64>> = (0..counts.ids.len().div_ceil(LABELS))
        .into_par_iter()
        .map(|block| {
            let mut sums = vec![0.0; len];
            let range = block * LABELS..((block + 1) * LABELS).min(counts.ids.len());
            let mut positive = tally.positives.ids.partition_point(|id| *id < counts.ids[range.start]);
            for place in range {
                let label = counts.ids[place];
                while tally.positives.ids.get(positive).is_some_and(|id| *id < label) {
                    positive += 1;
                }
                if tally.positives.ids.get(positive) != Some(&label) {
                    continue;
                }
                let at = tally.table.place(label);
                let (inverse, group) = (tally.table.inverse_at(at), usize::from(tally.table.group(at)) + 1);
                let positives = tally.positives.counts[positive] as f64;
                let (mut hits, mut predicted) = (0u64, 0u64);
                let mut entries = counts.entries(place).peekable();
                for (ki, k) in ks.iter().enumerate() {
                    while let Some((_, p, h)) = entries.next_if(|(rank, _, _)| (*rank as usize) < *k) {
                        predicted += u64::from(p);
                        hits += u64::from(h);
                    }
                    if hits == 0 {
                        continue;
                    }
                    let counts = LabelCounts { hits: hits as f64, predicted: predicted as f64, positives };
                    for (term, (_, function, beta)) in terms.iter().enumerate() {
                        for group in [0, group].into_iter().filter(|group| *group < settings.groups.len()) {
                            let start = all.at(group, term, ki, 0);
                            let columns = columns[term];
                            function.add(counts, &inverse[..columns], *beta, &mut sums[start..start + columns]);
                        }
                    }
                }
            }
            sums
        })
        .collect();
    all.sums = vec![0.0; len];
    for block in blocks {
        all.sums.iter_mut().zip(block).for_each(|(sum, part)| *sum += part);
    }
    Ok(all)
}
