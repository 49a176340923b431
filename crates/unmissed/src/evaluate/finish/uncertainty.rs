//! What uncertain propensities add to the variance of a value, or of the difference of two models.
//!
//! With G_j the slope of the value in the inverse propensity of label j and `Cov(q) = diag(v) + sum_r c_r c_r'`, it is
//! `sum_j (G_j^2 - sum_i g_ij^2) v_j + sum_r (sum_j G_j c_jr)^2`; two models: with `G_j^a - G_j^b`. g_ij is what row i has in the slope: the
//! variance of the row's own term is among those of row terms, since these are computed with the same noisy q. Slopes of sums over labels are the hits of labels, those of
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

/// Numbers by label, ascending.
type Slopes = Vec<(u32, f64)>;

/// What rows of the sample have in slopes: label, row, and as much as all rows that it stands for.
pub(super) type RowSlopes = Vec<(u32, u32, f64)>;

/// The slopes of the models in one cell, which all pairs of models share.
#[derive(Default)]
pub(super) struct SlopeCache {
    key: Option<Key>,
    of_models: Vec<(usize, Rc<(Slopes, RowSlopes)>)>,
}

/// Squares of what rows have in slopes, by label; a label may come several times.
fn squares(mut of_rows: RowSlopes) -> Slopes {
    of_rows.sort_by(|x, y| (x.0, x.1).cmp(&(y.0, y.1)).then(x.2.total_cmp(&y.2)));
    let of_row = |same: &[(u32, u32, f64)]| (same[0].0, same.iter().map(|entry| entry.2).sum::<f64>().powi(2));
    of_rows.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)).map(of_row).collect()
}

impl Finish<'_> {
    /// See the module's page; 0 where propensities are known.
    pub(super) fn uncertainty(&self, key: Key, a: usize, b: Option<usize>) -> f64 {
        let is_weighed = matches!(key.estimator, Estimator::Unbiased | Estimator::Clipped | Estimator::Normalized);
        let Source::Column(column) = key.source else { return 0.0 };
        if !is_weighed || !self.settings.columns[column].uncertain {
            return 0.0;
        }
        let (mut all, mut of_rows) = (*self.cached_slopes(key, a)).clone();
        if let Some(b) = b {
            let (others, of_other_rows) = &*self.cached_slopes(key, b);
            all.extend(others.iter().map(|(label, slope)| (*label, -slope)));
            all.sort_by_key(|entry| entry.0);
            of_rows.extend(of_other_rows.iter().map(|(label, row, slope)| (*label, *row, -slope)));
        }
        let (table, errors) = (&self.tally.table, self.settings.errors_of(column));
        let mut common = vec![0.0; errors.len()];
        let mut total = 0.0;
        for same in all.chunk_by(|x, y| x.0 == y.0) {
            let (slope, place) = (same.iter().map(|entry| entry.1).sum::<f64>(), table.place(same[0].0));
            total += slope * slope * table.variance(place, column);
            common.iter_mut().zip(&table.errors(place)[errors.clone()]).for_each(|(sum, error)| *sum += slope * error);
        }
        let within: f64 = squares(of_rows).iter().map(|(label, square)| square * table.variance(table.place(*label), column)).sum();
        let weight = self.tally.sample.as_ref().map_or(1.0, |rows| self.row_weight(rows));
        (total - within / weight).max(0.0) + common.iter().map(|sum| sum * sum).sum::<f64>()
    }

    fn cached_slopes(&self, key: Key, model: usize) -> Rc<(Slopes, RowSlopes)> {
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

    fn slopes_of(&self, key: Key, model: usize) -> (Slopes, RowSlopes) {
        let Some((_, term)) = self.term(key) else { return self.label_slopes(key, model) };
        let cell = Cell { term, ki: key.ki, group: key.group, column: key.column() };
        let rows = self.tally.sample.as_ref().filter(|sample| sample.len() > 0);
        let mut slopes = Vec::new();
        let of_rows = match (&term.kind, key.estimator, rows) {
            (Kind::Sum { by_relevant: true, .. }, _, _) => Vec::new(),
            (Kind::Sum { pooled: true, .. }, _, Some(rows)) => {
                let of_rows = self.pooled_slopes(key, model, rows);
                slopes.extend(of_rows.iter().map(|(label, _, slope)| (*label, *slope)));
                of_rows
            }
            (Kind::Sum { .. }, Estimator::Normalized, Some(rows)) => {
                let best = self.best(key, Best::D);
                let (ratio, factor) = ((self.total(key, model, Of::X) / best).value(), term.scale(key.ki) / best.value());
                let mut of_rows = self.best_slopes(key, term, rows);
                of_rows.iter_mut().for_each(|(_, _, gain)| *gain *= -ratio / best.value());
                slopes.extend(of_rows.iter().map(|(label, _, gain)| (*label, *gain)));
                slopes.extend(hit_gains(self.tally, cell, model).into_iter().map(|(label, gain)| (label, gain * factor)));
                of_rows.extend(self.hit_slopes(key, term, model, rows).into_iter().map(|(l, row, gain)| (l, row, gain * factor)));
                of_rows
            }
            (Kind::Sum { .. }, _, rows) => {
                slopes.extend(hit_gains(self.tally, cell, model).into_iter().map(|(label, gain)| (label, gain / self.n())));
                let of_rows = rows.map(|rows| self.hit_slopes(key, term, model, rows)).unwrap_or_default();
                of_rows.into_iter().map(|(label, row, gain)| (label, row, gain / self.n())).collect()
            }
            (Kind::Product, _, Some(rows)) => self.product_slopes(key, model, rows),
            (Kind::Set { term, .. }, _, Some(rows)) => self.set_slopes(key, *term, model, rows),
            (Kind::Product | Kind::Set { .. }, _, None) => Vec::new(),
        };
        if !matches!(term.kind, Kind::Sum { .. }) {
            slopes.extend(of_rows.iter().map(|(label, _, slope)| (*label, *slope)));
        }
        // Within a label by size, so that the order of rows does not matter.
        slopes.sort_by(|x, y| x.0.cmp(&y.0).then(x.1.total_cmp(&y.1)));
        let slopes = slopes.chunk_by(|x, y| x.0 == y.0).map(|same| (same[0].0, same.iter().map(|entry| entry.1).sum())).collect();
        (slopes, of_rows)
    }

    /// What the hits of rows of the sample gain.
    fn hit_slopes(&self, key: Key, term: &Term, model: usize, rows: &RowSample) -> RowSlopes {
        let Kind::Sum { discounts, scales, weighted, by_relevant: false, pooled: false } = &term.kind else { return Vec::new() };
        let (table, k, weight) = (&self.tally.table, self.settings.ks()[key.ki], self.row_weight(rows) / scales[key.ki]);
        let mut slopes = Vec::new();
        for row in 0..rows.len() {
            for (label, rank) in self.ranked(key, model, rows, row).into_iter().filter(|(_, rank)| (*rank as usize) < k) {
                let gain = if *weighted { table.weight(table.place(label)) } else { 1.0 };
                slopes.push((label, row as u32, weight * discounts[rank as usize] * gain));
            }
        }
        slopes
    }

    /// Slopes of a mean over labels, to which the hits of a label contribute alike.
    fn label_slopes(&self, key: Key, model: usize) -> (Slopes, RowSlopes) {
        let Some(term) = self.label_term(key) else { return Default::default() };
        let (counts, positives) = (&self.tally.labels[model], &self.tally.positives);
        let (k, beta, labels) = (self.settings.ks()[key.ki], self.settings.metrics[key.metric].beta, self.divisor(key, term));
        let (mut slopes, mut of_hits) = (Vec::new(), Vec::new());
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
            let slope = rise / (2.0 * step * labels);
            slopes.push((*label, slope));
            of_hits.push(slope / hits);
        }
        let mut of_rows = Vec::new();
        for rows in self.tally.sample.iter().filter(|rows| rows.len() > 0) {
            let weight = self.row_weight(rows);
            for row in 0..rows.len() {
                let hits = self.ranked(key, model, rows, row).into_iter().filter(|(_, rank)| (*rank as usize) < k);
                let places = hits.filter_map(|(label, _)| slopes.binary_search_by_key(&label, |entry| entry.0).ok());
                of_rows.extend(places.map(|place| (slopes[place].0, row as u32, weight * of_hits[place])));
            }
        }
        (slopes, of_rows)
    }

    /// How much a row of the sample stands for.
    pub(super) fn row_weight(&self, rows: &RowSample) -> f64 {
        self.settings.rows as f64 / rows.len() as f64
    }

    /// Slopes of the total of the best row terms.
    fn best_slopes(&self, key: Key, term: &Term, rows: &RowSample) -> RowSlopes {
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
            slopes.extend(best.map(|((_, label, gain), discount)| (*label, row as u32, weight * discount * gain)));
        }
        slopes
    }

    /// The labels of a row in the group with their ranks; [`UNRANKED`] outside the top list.
    pub(super) fn ranked(&self, key: Key, model: usize, rows: &RowSample, row: usize) -> Vec<(u32, u32)> {
        let top = rows.top(model, row, self.settings.depth);
        let rank = |label: u32| top.iter().position(|other| *other == label).map_or(UNRANKED, |rank| rank as u32);
        rows.labels(row).iter().filter(|label| self.in_group(key, **label)).map(|label| (*label, rank(*label))).collect()
    }

    pub(super) fn inverse(&self, key: Key, label: u32) -> f64 {
        self.tally.table.inverse_at(self.tally.table.place(label))[key.column()]
    }

    /// Slopes of `mean prod (1 - q)` over the hits.
    fn product_slopes(&self, key: Key, model: usize, rows: &RowSample) -> RowSlopes {
        let (k, weight) = (self.settings.ks()[key.ki], self.row_weight(rows) / self.n());
        let mut slopes = Vec::new();
        for row in 0..rows.len() {
            let mut hits = self.ranked(key, model, rows, row);
            hits.retain(|(_, rank)| (*rank as usize) < k);
            for (label, _) in &hits {
                let others = hits.iter().filter(|(other, _)| other != label);
                let product: f64 = others.map(|(other, _)| 1.0 - self.inverse(key, *other)).product();
                slopes.push((*label, row as u32, -weight * product));
            }
        }
        slopes
    }

    /// Slopes of a mean of functions of the label set.
    fn set_slopes(&self, key: Key, term: &'static dyn SetTerm, model: usize, rows: &RowSample) -> RowSlopes {
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
                slopes.extend(whole.zip(moved).map(|(whole, moved)| (*label, row as u32, weight * (moved - whole))));
            }
        }
        slopes
    }
}
