//! From a tally to rows: every value with its standard error and interval.

pub(in crate::evaluate) mod bootstrap;
pub(in crate::evaluate) mod by_count;
pub mod compare;
mod diagnose;
mod gains;
pub mod interval;
mod label_sums;
mod labels;

use self::bootstrap::{Replicates, replicates};
use self::gains::Cell;
use self::interval::{Measured, of_masked_ratio, of_mean, of_ratio};
use self::label_sums::{LabelSums, label_sums, label_terms};
use crate::error::Result;
use crate::evaluate::plan::settings::{GroupShare, Kind, Settings, Term};
use crate::evaluate::report::{EvaluationResult, Row};
use crate::evaluate::tally::Tally;
use crate::evaluate::tally::layout::{
    CROSS, CROSS_HH, CROSS_HX, CROSS_XH, D, DD, H, HH, Layout, MASK, MASK_DD, MASK_H, MASK_XD, SLOTS, UNLABELLED, VOID, X, XD, XH,
    XX,
};
use crate::metrics::{Assumption, Estimator, Shape};
use crate::progress::{Progress, Silent};
use crate::request::EMPTY_ROWS;
use crate::request::IntervalKind;

/// What is measured: one number a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::evaluate) struct Key {
    pub(in crate::evaluate) metric: usize,
    pub(in crate::evaluate) ki: usize,
    pub(in crate::evaluate) estimator: Estimator,
    pub(in crate::evaluate) column: usize,
    pub(in crate::evaluate) group: usize,
}

/// A tally with its totals.
pub(in crate::evaluate) struct Finish<'a> {
    pub(in crate::evaluate) tally: &'a Tally,
    pub(in crate::evaluate) settings: &'a Settings,
    pub(in crate::evaluate) layout: Layout,
    pub(in crate::evaluate) totals: Vec<f64>,
    terms: Vec<Term>,
    pub(in crate::evaluate) labels: Vec<LabelSums>,
    /// Places of the label metrics among those asked for.
    pub(in crate::evaluate) label_places: Vec<usize>,
    pub(in crate::evaluate) replicates: Option<Replicates>,
}

impl Tally {
    /// Turns the tally into numbers. All shards must have been merged.
    pub fn finish(&self) -> Result<EvaluationResult> {
        self.finish_watched(&Silent)
    }

    /// The same, watched: the bootstrap takes long.
    pub fn finish_watched(&self, progress: &dyn Progress) -> Result<EvaluationResult> {
        let finish = Finish::new(self, progress)?;
        let rows = finish.rows()?;
        let comparisons = compare::comparisons(&finish)?;
        let findings = diagnose::findings(&finish, &rows, &comparisons)?;
        let notes = diagnose::notes(&finish);
        let groups = if self.settings.groups.len() > 1 { finish.shares() } else { Vec::new() };
        Ok(EvaluationResult { rows, comparisons, groups, conventions: self.settings.conventions.clone(), findings, notes })
    }
}

impl<'a> Finish<'a> {
    fn new(tally: &'a Tally, progress: &dyn Progress) -> Result<Finish<'a>> {
        let settings = &tally.settings;
        let terms = settings.terms()?;
        let layout = Layout::new(settings, terms.len());
        let label_places: Vec<usize> = label_terms(settings)?.iter().map(|term| term.0).collect();
        let models = if label_places.is_empty() { 0 } else { settings.models.len() };
        Ok(Finish {
            tally,
            settings,
            layout,
            totals: tally.totals(layout.len())?,
            terms,
            labels: (0..models).map(|model| label_sums(tally, model)).collect::<Result<_>>()?,
            label_places,
            replicates: replicates(tally, progress)?,
        })
    }

    /// Rows that means are over.
    pub(in crate::evaluate) fn n(&self) -> f64 {
        let left_out =
            if self.settings.conventions.differs(&EMPTY_ROWS) { self.totals[self.layout.counter(UNLABELLED)] } else { 0.0 };
        self.settings.rows as f64 - left_out
    }

    /// Everything that is measured, in the order of reports.
    pub(in crate::evaluate) fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for (metric, chosen) in self.settings.metrics.iter().enumerate() {
            for ki in 0..self.settings.ks.len() {
                for estimator in &chosen.estimators {
                    for column in self.settings.columns_of(*estimator) {
                        for group in 0..self.settings.groups.len() {
                            keys.push(Key { metric, ki, estimator: *estimator, column, group });
                        }
                    }
                }
            }
        }
        keys
    }

    fn rows(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for key in self.keys() {
            for model in 0..self.settings.models.len() {
                let measured = self.measure(key, model);
                let (low, high) = measured.ends(self.settings.level);
                let bias = self.bias(key, model);
                let mut assumption = self.assumption(key)?.sentence().to_owned();
                if let Some((_, tau)) = self.settings.columns[key.column].clip {
                    assumption = format!("{assumption} (inverse propensities cut at {tau})");
                }
                rows.push(Row {
                    metric: self.settings.metrics[key.metric].name(),
                    k: self.settings.ks[key.ki],
                    estimator: key.estimator,
                    propensity: self.settings.columns[key.column].origin.clone(),
                    group: self.settings.groups[key.group].0.clone(),
                    model: self.settings.models[model].clone(),
                    value: measured.value,
                    se: measured.se(),
                    low,
                    high,
                    n: self.n() as u64,
                    assumption,
                    bias,
                });
            }
        }
        Ok(rows)
    }

    /// The declared assumption, or what takes its place on a controlled set.
    fn assumption(&self, key: Key) -> Result<Assumption> {
        let metric = self.settings.metrics[key.metric].metric()?;
        let declared = metric.offer(key.estimator).map_or(Assumption::Complete, |offer| offer.assumption);
        if !self.settings.is_controlled {
            return Ok(declared);
        }
        Ok(match (key.estimator, metric.shape()) {
            (Estimator::Unbiased, Shape::Sum(_)) => Assumption::KnownRate,
            (Estimator::Unbiased, Shape::Product) if self.settings.controlled.is_some() => Assumption::WithoutReplacement,
            _ => declared,
        })
    }

    pub(in crate::evaluate) fn term(&self, key: Key) -> Option<(usize, &Term)> {
        self.terms.iter().enumerate().find(|(_, term)| term.metric == key.metric)
    }

    /// A total of (key, model).
    pub(in crate::evaluate) fn total(&self, key: Key, model: usize, slot: usize) -> f64 {
        let Some((place, _)) = self.term(key) else { return f64::NAN };
        self.totals[self.layout.model(key.group, model, place, key.ki) + slot * self.layout.width + key.column]
    }

    /// A total of the best row terms.
    fn best(&self, key: Key, slot: usize) -> f64 {
        let Some((place, _)) = self.term(key) else { return f64::NAN };
        self.totals[self.layout.best(key.group, place, key.ki) + slot * self.layout.width + key.column]
    }

    fn cell<'b>(&self, key: Key, term: &'b Term) -> Cell<'b> {
        Cell { term, ki: key.ki, group: key.group, column: key.column }
    }

    fn bias(&self, key: Key, model: usize) -> Option<f64> {
        let (_, term) = self.term(key).filter(|_| key.estimator == Estimator::Clipped)?;
        gains::clipping_bias(self.tally, self.n(), self.cell(key, term), model)
    }

    pub(in crate::evaluate) fn is_mask(&self) -> bool {
        self.settings.interval == IntervalKind::Mask
    }

    /// Whether there is a mask variance: for what is observed only with one set of propensities, and not for products of labels that
    /// were shown without replacement.
    fn has_masked(&self, key: Key, term: &Term) -> bool {
        let without_replacement = matches!(term.kind, Kind::Product) && self.settings.controlled.is_some();
        key.column != 0 || (self.settings.only_column().is_some() && !without_replacement)
    }

    /// The value of one model with its variance.
    pub(in crate::evaluate) fn measure(&self, key: Key, model: usize) -> Measured {
        let Some((_, term)) = self.term(key) else { return self.measure_label(key, model) };
        if self.total(key, model, VOID) > 0.0 {
            return Measured::default();
        }
        let (n, x, xx) = (self.n(), self.total(key, model, X), self.total(key, model, XX));
        match key.estimator {
            Estimator::Normalized => {
                let (d, dd, xd) = (self.best(key, D), self.best(key, DD), self.total(key, model, XD));
                let variance = if self.is_mask() {
                    let masked = (self.total(key, model, MASK), self.total(key, model, MASK_XD), self.best(key, MASK_DD));
                    of_masked_ratio(x / d, d, masked)
                } else {
                    of_ratio(n, x / d, d, (xx, xd, dd))
                };
                Measured::new(x / d, variance)
            }
            Estimator::Hajek => {
                let [h, hh, xh, slots] = [H, HH, XH, SLOTS].map(|slot| self.total(key, model, slot));
                let share = slots / n;
                let variance = if self.is_mask() {
                    // Shown hits are among the shown pairs: their squares are their covariances with the shown weight.
                    let hits = self.total(key, model, MASK);
                    of_masked_ratio(x / h, h, (hits, hits, self.total(key, model, MASK_H)))
                } else {
                    of_ratio(n, x / h, h, (xx, xh, hh))
                };
                Measured::new(x / h * share, variance.map(|v| v * share * share))
            }
            Estimator::Ratio | Estimator::DoublyRobust => Measured::default(),
            Estimator::Observed | Estimator::Unbiased | Estimator::Clipped => {
                let value = if matches!(term.kind, Kind::Product) { 1.0 - x / n } else { x / n };
                let known = match self.settings.interval {
                    IntervalKind::Population => of_mean(n, x, xx),
                    IntervalKind::Mask if !self.has_masked(key, term) => None,
                    IntervalKind::Mask => Some(self.total(key, model, MASK).max(0.0) / (n * n)),
                };
                Measured::new(value, known.map(|v| v + gains::uncertainty(self.tally, n, self.cell(key, term), model, None)))
            }
        }
    }

    /// The difference of two models, its variance from paired rows.
    pub(in crate::evaluate) fn difference(&self, key: Key, pair: usize, a: usize, b: usize) -> Measured {
        let (of_a, of_b) = (self.measure(key, a), self.measure(key, b));
        let (Some(x), Some(y)) = (of_a.value, of_b.value) else { return Measured::default() };
        let Some((place, term)) = self.term(key) else {
            return Measured::new(x - y, self.label_difference_variance(key, a, b));
        };
        let n = self.n();
        let cross_of = |slot: usize| self.totals[self.layout.pair(slot, key.group, pair, place, key.ki) + key.column];
        let (cross, d) = (cross_of(CROSS), self.best(key, D));
        let both = |slot: usize| (self.total(key, a, slot), self.total(key, b, slot));
        // With the same denominator for both, the difference is one ratio.
        let squares = |of: usize| both(of).0 + both(of).1 - 2.0 * cross;
        let variance = match (key.estimator, self.settings.interval) {
            (Estimator::Hajek, kind) => {
                let ((xa, xb), (ha, hb), (sa, sb)) = (both(X), both(H), both(SLOTS));
                let (ra, rb) = (xa / ha, xb / hb);
                let products = match kind {
                    IntervalKind::Mask => cross - (ra + rb) * cross + ra * rb * cross_of(CROSS_HH),
                    IntervalKind::Population => {
                        let products = cross - rb * cross_of(CROSS_XH) - ra * cross_of(CROSS_HX) + ra * rb * cross_of(CROSS_HH);
                        products * n / (n - 1.0)
                    }
                };
                let covariance = products * (sa / n) * (sb / n) / (ha * hb);
                of_a.variance.zip(of_b.variance).map(|(a, b)| (a + b - 2.0 * covariance).max(0.0))
            }
            (Estimator::Normalized, IntervalKind::Mask) => {
                let (ad, bd) = both(MASK_XD);
                of_masked_ratio(x - y, d, (squares(MASK), ad - bd, self.best(key, MASK_DD)))
            }
            (Estimator::Normalized, IntervalKind::Population) => {
                let (ad, bd) = both(XD);
                of_ratio(n, x - y, d, (squares(XX), ad - bd, self.best(key, DD)))
            }
            (_, IntervalKind::Mask) if !self.has_masked(key, term) => None,
            (_, IntervalKind::Mask) => Some(squares(MASK).max(0.0) / (n * n)),
            (_, IntervalKind::Population) => {
                let (sa, sb) = both(X);
                of_mean(n, sa - sb, squares(XX))
            }
        };
        let extra = match key.estimator {
            Estimator::Unbiased | Estimator::Clipped => gains::uncertainty(self.tally, n, self.cell(key, term), a, Some(b)),
            _ => 0.0,
        };
        Measured::new(x - y, variance.map(|v| v + extra))
    }

    fn shares(&self) -> Vec<GroupShare> {
        let positives = &self.tally.positives;
        let mut held = vec![0u64; self.settings.groups.len()];
        for (label, count) in positives.ids.iter().zip(&positives.counts) {
            let group = usize::from(self.tally.table.group(self.tally.table.place(*label))) + 1;
            if let Some(held) = held.get_mut(group) {
                *held += count;
            }
        }
        held[0] = positives.total();
        let groups = self.settings.groups.iter().zip(&held);
        groups
            .map(|((name, labels), held)| GroupShare {
                name: name.clone(),
                labels: *labels,
                share_of_labels: *labels as f64 / self.settings.labels as f64,
                share_of_positives: *held as f64 / positives.total().max(1) as f64,
            })
            .collect()
    }
}
