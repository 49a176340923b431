//! What the jackknife of a function of hits needs about single labels.
//!
//! With Poisson hits of expectation l, `g(h) = 1 - (1 - q)^h` has the variance `E[h (g(h) - g(h-1))^2] r(q^2 l)`, `r(x) = (1 - e^-x) / x`: the
//! jackknife's share of the label, which is too large by what several hits share, times a factor below 1. Two models with c
//! expected hits in common have the covariance `E[common hits of (g_a(h) - g_a(h-1)) (g_b(h) - g_b(h-1))] r(q^2 c)`. The factor is averaged
//! over what l can be for a label with so many hits; of pairs of models, the geometric mean of both models' factors is taken, which
//! cannot make a variance negative.
//!
//! As observed (q = 1) only labels with one hit have a share. Where nearly all labels have several, these are few or none while
//! some labels may still be missed, so the same variance is also summed over all labels: `sum_j e^-l (1 - e^-l)`, and for pairs of models
//! `sum_j e^-(a+b) (e^c - 1)` with a, b and c in the same proportion for all labels.

use super::hit_rates::{HitRates, MOST};
use super::label_loss::{Cells, Counted, Counts, LabelParts};
use crate::evaluate::tally::row_sample::RowSample;
use rayon::prelude::*;

/// Sums over labels, by cell: of one model, or products of two.
#[derive(Clone)]
pub(super) struct HitParts {
    /// The jackknife's own.
    plain: Vec<f64>,
    /// Times the factor.
    thinned: Vec<f64>,
    /// Over all labels, as observed.
    mixed: Vec<f64>,
}

/// The sums of one cell.
#[derive(Clone, Copy)]
pub(super) struct HitPart {
    pub(super) plain: f64,
    pub(super) thinned: f64,
    pub(super) mixed: f64,
}

impl HitPart {
    /// Of a difference of models, from both and their products.
    pub(super) fn difference(a: HitPart, b: HitPart, both: HitPart) -> HitPart {
        let of = |a: f64, b: f64, both: f64| (a + b - 2.0 * both).max(0.0);
        HitPart {
            plain: of(a.plain, b.plain, both.plain),
            thinned: of(a.thinned, b.thinned, both.thinned),
            mixed: of(a.mixed, b.mixed, both.mixed),
        }
    }
}

/// `(1 - e^-x) / x`.
fn thinning(x: f64) -> f64 {
    if x > 0.0 { -(-x).exp_m1() / x } else { 1.0 }
}

/// The expected hits of a model's labels, by group and k.
pub(super) struct ModelRates {
    rates: Vec<HitRates>,
    ks: usize,
    /// By k and hits from 1 to [`MOST`]: factors at squared inverse propensities of `e^0, e^STEP, ...`. There may be a million labels, and a
    /// mean over expected hits for each would take longer than everything else.
    factors: Vec<Vec<f64>>,
}

/// The step of the table of factors, and how many it has.
const STEP: f64 = 0.1;
const STEPS: usize = 140;

impl ModelRates {
    pub(super) fn new(parts: &LabelParts<'_>, counts: &Counts) -> ModelRates {
        let cells = parts.cells;
        let mut labels_with = vec![vec![0.0; MOST + 1]; cells.groups * cells.ks];
        for ((_, labels), with) in parts.tally.settings.groups.iter().zip(labels_with.chunks_mut(cells.ks)) {
            with.iter_mut().for_each(|with| with[0] = *labels as f64);
        }
        for (_, label) in counts.iter() {
            for (ki, hits) in (0..cells.ks).map(|ki| (ki, label.at(ki).hits)).filter(|(_, hits)| *hits > 0.0) {
                for group in parts.groups(label) {
                    let with = &mut labels_with[group * cells.ks + ki];
                    with[0] -= 1.0;
                    if let Some(with) = with.get_mut(hits as usize) {
                        *with += 1.0;
                    }
                }
            }
        }
        let rates: Vec<HitRates> = labels_with.iter().map(|with| HitRates::new(with)).collect();
        ModelRates::with_factors(rates, cells.ks)
    }

    fn with_factors(rates: Vec<HitRates>, ks: usize) -> ModelRates {
        let of_hits = |rates: &HitRates| {
            let at = |hits: usize, step: usize| rates.given(hits as f64, |rate| thinning((step as f64 * STEP).exp() * rate));
            (1..=MOST).map(|hits| (0..=STEPS).map(|step| at(hits, step)).collect()).collect::<Vec<Vec<f64>>>()
        };
        let factors = rates[..ks].par_iter().flat_map_iter(of_hits).collect();
        ModelRates { rates, ks, factors }
    }

    fn at(&self, group: usize, ki: usize) -> &HitRates {
        &self.rates[group * self.ks + ki]
    }

    /// The factor of a label with these hits and this inverse propensity.
    fn factor(&self, ki: usize, hits: f64, inverse: f64) -> f64 {
        let place = 2.0 * inverse.ln() / STEP;
        if hits > MOST as f64 || !(0.0..STEPS as f64).contains(&place) {
            return self.at(0, ki).given(hits, |rate| thinning(inverse * inverse * rate));
        }
        let (table, low) = (&self.factors[ki * MOST + hits as usize - 1], place as usize);
        table[low] + (place - low as f64) * (table[low + 1] - table[low])
    }
}

impl HitParts {
    fn zeros(cells: Cells) -> HitParts {
        let zeros = vec![0.0; cells.len()];
        HitParts { plain: zeros.clone(), thinned: zeros.clone(), mixed: zeros }
    }

    pub(super) fn at(&self, at: usize) -> HitPart {
        HitPart { plain: self.plain[at], thinned: self.thinned[at], mixed: self.mixed[at] }
    }

    /// Puts a number into the observed column of every cell of functions of hits, by group and k.
    fn mix(&mut self, parts: &LabelParts<'_>, of: impl Fn(usize, usize) -> f64) {
        let cells = parts.cells;
        for (term, _) in parts.of_hits() {
            for group in 0..cells.groups {
                for ki in 0..cells.ks {
                    self.mixed[cells.at(group, term, ki, 0)] = of(group, ki);
                }
            }
        }
    }

    /// Of one model.
    pub(super) fn of_model(parts: &LabelParts<'_>, counts: &Counts, rates: &ModelRates) -> HitParts {
        let mut all = HitParts::zeros(parts.cells);
        for (term, function) in parts.of_hits() {
            for (_, label) in counts.iter() {
                let inverse = parts.inverse(label, function);
                for (ki, hits) in (0..parts.cells.ks).map(|ki| (ki, label.at(ki).hits)).filter(|(_, hits)| *hits > 0.0) {
                    let mut values = parts.hit_loss(label, function, ki);
                    values.iter_mut().for_each(|loss| *loss = loss.powi(2) * hits);
                    parts.put(label, term, ki, &values, &mut all.plain);
                    for (value, inverse) in values.iter_mut().zip(inverse).filter(|(value, _)| **value > 0.0) {
                        *value *= rates.factor(ki, hits, *inverse);
                    }
                    parts.put(label, term, ki, &values, &mut all.thinned);
                }
            }
        }
        all.mix(parts, |group, ki| rates.at(group, ki).sum(|rate| (-rate).exp() * -(-rate).exp_m1()));
        all
    }

    /// Products of two models, from the rows in which both have hits.
    pub(super) fn of_pair(
        parts: &LabelParts<'_>,
        counts: &[Counts],
        rates: &[ModelRates],
        sample: &RowSample,
        (a, b): (usize, usize),
    ) -> HitParts {
        let (cells, mut all) = (parts.cells, HitParts::zeros(parts.cells));
        if parts.of_hits().next().is_none() {
            return all;
        }
        let scale = parts.tally.settings.rows as f64 / sample.len() as f64;
        let common = common_hits(parts, sample, (a, b));
        // Hits of labels that have not too many: of a, of b, and common ones.
        let mut totals = vec![[0.0; 3]; cells.groups * cells.ks];
        let mut add = |label: Counted<'_>, ki: usize, which: usize, hits: f64| {
            parts.groups(label).for_each(|group| totals[group * cells.ks + ki][which] += hits);
        };
        let few =
            |label: u32, ki: usize| [a, b].iter().all(|of| counts[*of].of(label).is_none_or(|of| of.at(ki).hits <= MOST as f64));
        for (which, model) in [a, b].into_iter().enumerate() {
            for (label, counted) in counts[model].iter() {
                for ki in (0..cells.ks).filter(|ki| few(label, *ki)) {
                    add(counted, ki, which, counted.at(ki).hits);
                }
            }
        }
        for same in common.chunk_by(|x, y| x.0 == y.0) {
            let label = same[0].0;
            let (Some(of_a), Some(of_b)) = (counts[a].of(label), counts[b].of(label)) else { continue };
            for ki in 0..cells.ks {
                let both = same.partition_point(|(_, first)| *first <= ki) as f64 * scale;
                if both == 0.0 {
                    continue;
                }
                if few(label, ki) {
                    add(of_a, ki, 2, both);
                }
                for (term, function) in parts.of_hits() {
                    let losses = [of_a, of_b].map(|of| parts.hit_loss(of, function, ki));
                    let mut values: Vec<f64> = losses[0].iter().zip(&losses[1]).map(|(x, y)| x * y * both).collect();
                    parts.put(of_a, term, ki, &values, &mut all.plain);
                    for (value, inverse) in values.iter_mut().zip(parts.inverse(of_a, function)).filter(|(value, _)| **value != 0.0)
                    {
                        let factor = |model: usize, hits: f64| rates[model].factor(ki, hits, *inverse);
                        *value *= (factor(a, of_a.at(ki).hits) * factor(b, of_b.at(ki).hits)).sqrt();
                    }
                    parts.put(of_a, term, ki, &values, &mut all.thinned);
                }
            }
        }
        all.mix(parts, |group, ki| {
            let [hits_a, hits_b, both] = totals[group * cells.ks + ki];
            if both == 0.0 {
                return 0.0;
            }
            let of = |model: usize, own: f64, other: f64| {
                let covariance = |rate: f64| (-rate * (1.0 + other / own)).exp() * (rate * both.min(own) / own).exp_m1();
                rates[model].at(group, ki).sum(covariance)
            };
            (of(a, hits_a, hits_b) + of(b, hits_b, hits_a)) / 2.0
        });
        all
    }
}

/// Labels that both models have right in a row of the sample, with the first k from which on both do; sorted.
fn common_hits(parts: &LabelParts<'_>, sample: &RowSample, (a, b): (usize, usize)) -> Vec<(u32, usize)> {
    let (settings, ks) = (&parts.tally.settings, parts.tally.settings.ks());
    let mut common = Vec::new();
    for row in 0..sample.len() {
        let (labels, of_b) = (sample.labels(row), sample.top(b, row, settings.depth));
        for (rank, label) in sample.top(a, row, settings.depth).iter().enumerate() {
            let Some(other) = of_b.iter().position(|other| other == label) else { continue };
            if labels.binary_search(label).is_ok() {
                common.push((*label, ks.partition_point(|k| *k <= rank.max(other))));
            }
        }
    }
    common.sort_unstable();
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_of_the_table_are_those_of_the_mixture() {
        let rates = HitRates::new(&(0..=MOST).map(|hits| 1000.0 * 0.6f64.powi(hits as i32)).collect::<Vec<f64>>());
        let model = ModelRates::with_factors(vec![rates.clone()], 1);
        for hits in [1.0, 2.0, 7.0, 24.0, 40.0] {
            for inverse in [1.0f64, 1.03, 2.7, 31.0, 900.0, 5000.0] {
                let exact = rates.given(hits, |rate| thinning(inverse * inverse * rate));
                let found = model.factor(0, hits, inverse);
                assert!((found / exact - 1.0).abs() < 2e-3, "{hits} {inverse}: {found} {exact}");
            }
        }
    }
}
