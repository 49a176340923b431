//! What uncertain propensities add to the variance of a value, or of the difference of two models.
//!
//! With G_j the slope of the value in the inverse propensity of label j and `Cov(q) = diag(v) + sum_r c_r c_r'`, it is
//! `sum_j G_j^2 v_j + sum_r (sum_j G_j c_jr)^2`; two models: with `G_j^a - G_j^b`. Slopes of sums over labels are the hits of labels, those of
//! means over labels follow from counts by label. A normalized value `X / D` has the slope of `(X - R D) / D`; the best row terms
//! behind D, products and functions of the label set come from the rows that the tally has kept. Their estimates are linear in each
//! q_j, so that slopes are differences.
//!
//! # Assumes
//! Propensities were estimated from other rows than those that are evaluated. `recall-known` divides rows by numbers that the tally
//! does not keep: for it propensities are taken as known.

use super::gains::{Cell, hit_gains};
use super::totals::{Best, Of};
use super::{Finish, Key, Source};
use crate::evaluate::plan::settings::{Kind, Term};
use crate::evaluate::tally::row_sample::RowSample;
use crate::metrics::{Estimator, LabelCounts, SetTerm, UNRANKED, Work};
use std::rc::Rc;

/// Slopes by label, ascending.
type Slopes = Vec<(u32, f64)>;

/// The slopes of the models in one cell, which all pairs of models share.
#[derive(Default)]
pub(super) struct SlopeCache {
    key: Option<Key>,
    of_models: Vec<(usize, Rc<Slopes>)>,
}

impl Finish<'_> {
    /// See the module's page; 0 where propensities are known.
    pub(super) fn uncertainty(&self, key: Key, a: usize, b: Option<usize>) -> f64 {
        let is_weighed = matches!(key.estimator, Estimator::Unbiased | Estimator::Clipped | Estimator::Normalized);
        let Source::Column(column) = key.source else { return 0.0 };
        if !is_weighed || !self.settings.columns[column].uncertain {
            return 0.0;
        }
        let mut all = (*self.cached_slopes(key, a)).clone();
        if let Some(b) = b {
            all.extend(self.cached_slopes(key, b).iter().map(|(label, slope)| (*label, -slope)));
            all.sort_by_key(|entry| entry.0);
        }
        let (table, errors) = (&self.tally.table, self.settings.errors_of(column));
        let mut common = vec![0.0; errors.len()];
        let mut total = 0.0;
        for same in all.chunk_by(|x, y| x.0 == y.0) {
            let (slope, place) = (same.iter().map(|entry| entry.1).sum::<f64>(), table.place(same[0].0));
            total += slope * slope * table.variance(place, column);
            common.iter_mut().zip(&table.errors(place)[errors.clone()]).for_each(|(sum, error)| *sum += slope * error);
        }
        total + common.iter().map(|sum| sum * sum).sum::<f64>()
    }

    fn cached_slopes(&self, key: Key, model: usize) -> Rc<Slopes> {
        let mut cache = self.slopes.borrow_mut();
        if cache.key != Some(key) {
            *cache = SlopeCache { key: Some(key), of_models: Vec::new() };
        }
        if let Some((_, slopes)) = cache.of_models.iter().find(|(of, _)| *of == model) {
            return Rc::clone(slopes);
        }
        let slopes = Rc::new(self.slopes_of(key, model));
        cache.of_models.push((model, Rc::clone(&slopes)));
        slopes
    }

    fn slopes_of(&self, key: Key, model: usize) -> Slopes {
        let Some((_, term)) = self.term(key) else { return self.label_slopes(key, model) };
        let cell = Cell { term, ki: key.ki, group: key.group, column: key.column() };
        let rows = self.tally.sample.as_ref().filter(|sample| sample.len() > 0);
        let mut slopes = match (&term.kind, key.estimator, rows) {
            (Kind::Sum { by_relevant: true, .. }, _, _) => Vec::new(),
            (Kind::Sum { .. }, Estimator::Normalized, Some(rows)) => {
                let best = self.best(key, Best::D);
                let ratio = (self.total(key, model, Of::X) / best).value();
                let mut slopes = hit_gains(self.tally, cell, model);
                slopes.iter_mut().for_each(|(_, gain)| *gain *= term.scale(key.ki) / best.value());
                slopes.extend(
                    self.best_slopes(key, term, rows).into_iter().map(|(label, gain)| (label, -ratio * gain / best.value())),
                );
                slopes
            }
            (Kind::Sum { .. }, _, _) => {
                let mut slopes = hit_gains(self.tally, cell, model);
                slopes.iter_mut().for_each(|(_, gain)| *gain /= self.n());
                slopes
            }
            (Kind::Product, _, Some(rows)) => self.product_slopes(key, model, rows),
            (Kind::Set { term, .. }, _, Some(rows)) => self.set_slopes(key, *term, model, rows),
            (Kind::Product | Kind::Set { .. }, _, None) => Vec::new(),
        };
        // Within a label by size, so that the order of rows does not matter.
        slopes.sort_by(|x, y| x.0.cmp(&y.0).then(x.1.total_cmp(&y.1)));
        slopes.chunk_by(|x, y| x.0 == y.0).map(|same| (same[0].0, same.iter().map(|entry| entry.1).sum())).collect()
    }

    /// Slopes of a mean over labels.
    fn label_slopes(&self, key: Key, model: usize) -> Slopes {
        let Some(term) = self.label_term(key) else { return Vec::new() };
        let (counts, positives) = (&self.tally.labels[model], &self.tally.positives);
        let (k, beta, labels) = (self.settings.ks()[key.ki], self.settings.metrics[key.metric].beta, self.divisor(key, term));
        let mut slopes = Vec::new();
        for (place, label) in counts.ids.iter().enumerate() {
            let within = counts.entries(place).take_while(|(rank, _, _)| (*rank as usize) < k);
            let (predicted, hits) = within.fold((0.0, 0.0), |(p, h), (_, of, hit)| (p + f64::from(of), h + f64::from(hit)));
            let Some(at) = positives.ids.binary_search(label).ok().filter(|_| hits > 0.0 && self.in_group(key, *label)) else {
                continue;
            };
            let counts = LabelCounts { hits, predicted, positives: positives.counts[at] as f64 };
            let q = self.tally.table.inverse_at(self.tally.table.place(*label))[key.column()];
            let step = 1e-5 * q.max(1.0);
            let rise = term.value(counts, q + step, beta) - term.value(counts, q - step, beta);
            slopes.push((*label, rise / (2.0 * step * labels)));
        }
        slopes
    }

    /// How much a row of the sample stands for.
    fn row_weight(&self, rows: &RowSample) -> f64 {
        self.settings.rows as f64 / rows.len() as f64
    }

    /// Slopes of the total of the best row terms.
    fn best_slopes(&self, key: Key, term: &Term, rows: &RowSample) -> Slopes {
        let Kind::Sum { discounts, weighted, .. } = &term.kind else { return Vec::new() };
        let (table, column, weight) = (&self.tally.table, key.column(), self.row_weight(rows));
        let mut slopes = Vec::new();
        let mut order: Vec<(f64, u32, f64)> = Vec::new();
        for row in 0..rows.len() {
            let members = rows.labels(row).iter().filter(|label| self.in_group(key, **label));
            order.clear();
            order.extend(members.map(|label| {
                let place = table.place(*label);
                let gain = if *weighted { table.weight(place) } else { 1.0 };
                (table.inverse_at(place)[column] * gain, *label, gain)
            }));
            order.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
            let best = order.iter().zip(&discounts[..self.settings.ks()[key.ki]]);
            slopes.extend(best.map(|((_, label, gain), discount)| (*label, weight * discount * gain)));
        }
        slopes
    }

    /// The labels of a row in the group with their ranks; [`UNRANKED`] outside the top list.
    fn ranked(&self, key: Key, model: usize, rows: &RowSample, row: usize) -> Vec<(u32, u32)> {
        let top = rows.top(model, row, self.settings.depth);
        let rank = |label: u32| top.iter().position(|other| *other == label).map_or(UNRANKED, |rank| rank as u32);
        rows.labels(row).iter().filter(|label| self.in_group(key, **label)).map(|label| (*label, rank(*label))).collect()
    }

    fn inverse(&self, key: Key, label: u32) -> f64 {
        self.tally.table.inverse_at(self.tally.table.place(label))[key.column()]
    }

    /// Slopes of `mean prod (1 - q)` over the hits.
    fn product_slopes(&self, key: Key, model: usize, rows: &RowSample) -> Slopes {
        let (k, weight) = (self.settings.ks()[key.ki], self.row_weight(rows) / self.n());
        let mut slopes = Vec::new();
        for row in 0..rows.len() {
            let mut hits = self.ranked(key, model, rows, row);
            hits.retain(|(_, rank)| (*rank as usize) < k);
            for (label, _) in &hits {
                let others = hits.iter().filter(|(other, _)| other != label);
                let product: f64 = others.map(|(other, _)| 1.0 - self.inverse(key, *other)).product();
                slopes.push((*label, -weight * product));
            }
        }
        slopes
    }

    /// Slopes of a mean of functions of the label set.
    fn set_slopes(&self, key: Key, term: &'static dyn SetTerm, model: usize, rows: &RowSample) -> Slopes {
        let (ks, weight) = (&self.settings.ks()[key.ki..=key.ki], self.row_weight(rows) / self.n());
        let (mut slopes, mut work) = (Vec::new(), Work::default());
        for row in 0..rows.len() {
            let members = self.ranked(key, model, rows, row);
            if members.iter().all(|(_, rank)| *rank as usize >= ks[0]) {
                continue;
            }
            let ranks: Vec<u32> = members.iter().map(|(_, rank)| *rank).collect();
            let mut q: Vec<f64> = members.iter().map(|(label, _)| self.inverse(key, *label)).collect();
            let mut value = |q: &[f64]| {
                let mut out = [0.0];
                term.unbiased(&ranks, q, ks, &mut work, &mut out).then_some(out[0])
            };
            for (at, (label, _)) in members.iter().enumerate() {
                let (whole, of_label) = (value(&q), q[at]);
                q[at] += 1.0;
                let moved = value(&q);
                q[at] = of_label;
                slopes.extend(whole.zip(moved).map(|(whole, moved)| (*label, weight * (moved - whole))));
            }
        }
        slopes
    }
}
