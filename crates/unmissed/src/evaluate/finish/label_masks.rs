//! Mask variances of means over labels.
//!
//! Labels are masked pair by pair, and a mean over labels is a sum of functions of independent masks, so the inequality of Efron and
//! Stein bounds its variance by `m^-2 sum_j (1 - p_j) [h (f(h, P) - f(h - 1, P - 1))^2 + (P - h) (f(h, P) - f(h, P - 1))^2]`, with h hits and
//! P positives of label j: what each observed label adds. For the difference of two models it is what each observed label adds to one
//! less what it adds to the other; which hits they have in common is known from the rows that the tally has kept.
//!
//! # Assumes
//! Labels go missing independently across rows.

use super::{Finish, Key};
use crate::metrics::{LabelCounts, LabelTerm};

/// What a label loses with an observed hit, and with a positive that is no hit.
#[derive(Clone, Copy, Default)]
struct Lost {
    with_hit: f64,
    without: f64,
}

impl Finish<'_> {
    /// What one model loses at a label, with the label's counts; `None` without a hit.
    fn mask_loss(&self, key: Key, model: usize, label: u32, term: &dyn LabelTerm) -> Option<(Lost, LabelCounts)> {
        let (counts, positives) = (&self.tally.labels[model], &self.tally.positives);
        let (k, beta) = (self.settings.ks()[key.ki], self.settings.metrics[key.metric].beta);
        let (place, at) = (counts.ids.binary_search(&label).ok()?, positives.ids.binary_search(&label).ok()?);
        let within = counts.entries(place).take_while(|(rank, _, _)| (*rank as usize) < k);
        let (predicted, hits) = within.fold((0.0, 0.0), |(p, h), (_, of, hit)| (p + f64::from(of), h + f64::from(hit)));
        if hits == 0.0 {
            return None;
        }
        let inverse = self.tally.table.inverse_at(self.tally.table.place(label))[key.column()];
        let present = positives.counts[at] as f64;
        let of = |hits: f64, positives: f64| term.value(LabelCounts { hits, predicted, positives }, inverse, beta);
        let whole = of(hits, present);
        let lost = Lost { with_hit: whole - of(hits - 1.0, present - 1.0), without: whole - of(hits, present - 1.0) };
        Some((lost, LabelCounts { hits, predicted, positives: present }))
    }

    /// The probability that a label was missing, by the smallest propensity that may be the right one; `None` without propensities.
    fn missing(&self, key: Key, label: u32) -> Option<f64> {
        let known = if key.column() == 0 { self.settings.propensity_columns() } else { vec![key.column()] };
        let inverse = self.tally.table.inverse_at(self.tally.table.place(label));
        let largest = known.iter().map(|column| inverse[*column]).reduce(f64::max)?;
        Some((1.0 - 1.0 / largest).max(0.0))
    }

    /// The mask variance of the sum over labels of a model.
    pub(super) fn label_mask_variance(&self, key: Key, model: usize, term: &dyn LabelTerm) -> Option<f64> {
        let mut total = 0.0;
        for label in self.tally.labels[model].ids.iter().filter(|label| self.tally.positives.ids.binary_search(label).is_ok()) {
            if !self.in_group(key, *label) {
                continue;
            }
            let missing = self.missing(key, *label)?;
            if let Some((Lost { with_hit, without }, counts)) = self.mask_loss(key, model, *label, term) {
                let misses = counts.positives - counts.hits;
                total += missing * (counts.hits * with_hit.powi(2) + misses * without.powi(2));
            }
        }
        Some(total)
    }

    /// The mask variance of the difference of the sums over labels of two models.
    pub(super) fn label_mask_difference_variance(&self, key: Key, models: (usize, usize), term: &dyn LabelTerm) -> Option<f64> {
        let rows = self.tally.sample.as_ref().filter(|sample| sample.len() > 0)?;
        let alone = [models.0, models.1].map(|model| self.label_mask_variance(key, model, term));
        let (k, depth) = (self.settings.ks()[key.ki], self.settings.depth);
        // Observed labels by whether they are hits of the one and of the other model.
        let mut counts: Vec<(u32, [bool; 2])> = Vec::new();
        for row in 0..rows.len() {
            let tops = [models.0, models.1].map(|model| rows.top(model, row, depth)).map(|top| &top[..top.len().min(k)]);
            let labels = rows.labels(row).iter().filter(|label| self.in_group(key, **label));
            counts.extend(labels.map(|label| (*label, tops.map(|top| top.contains(label)))));
        }
        counts.sort_unstable();
        let mut shared = 0.0;
        for same in counts.chunk_by(|x, y| x.0 == y.0) {
            let label = same[0].0;
            let lost = [models.0, models.1].map(|model| self.mask_loss(key, model, label, term).map(|(lost, _)| lost));
            let [Some(a), Some(b)] = lost else { continue };
            let of = |lost: Lost, is_hit: bool| if is_hit { lost.with_hit } else { lost.without };
            shared += self.missing(key, label)? * same.iter().map(|(_, hits)| of(a, hits[0]) * of(b, hits[1])).sum::<f64>();
        }
        let scale = self.settings.rows as f64 / rows.len() as f64;
        let [Some(a), Some(b)] = alone else { return None };
        Some((a + b - 2.0 * scale * shared).max(0.0))
    }
}
