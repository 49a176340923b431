//! From a tally to results: every value with its standard error and interval, comparisons, findings and notes.
//!
//! `totals.rs` looks totals up; `measure.rs` makes values and variances of them under propensities per label, `row_dependent.rs` under
//! row-dependent ones, `robust.rs` from pairs of known status, `omega.rs` from matched rows; `labels.rs` has means over labels, with
//! `jackknife.rs` (`label_loss.rs` is what a label loses with a row, `hit_parts.rs` and `hit_rates.rs` what coverage needs) or, on request, `bootstrap.rs`, and `label_masks.rs`. `uncertainty.rs` adds what
//! estimated propensities are uncertain by. [`compare`] compares models, `diagnose.rs` says what to know before believing the numbers, `limits.rs` what
//! intervals leave out.

mod bootstrap;
pub(in crate::evaluate) mod by_count;
pub mod compare;
mod diagnose;
mod gains;
mod hit_parts;
mod hit_rates;
mod interval;
mod jackknife;
mod label_loss;
mod label_masks;
mod label_sums;
mod labels;
mod limits;
mod measure;
mod omega;
mod out_of_fold;
mod pooled;
mod robust;
mod row_dependent;
mod sensitivity;
mod totals;
mod uncertainty;

pub(crate) use self::diagnose::orders as order_findings;

use self::bootstrap::{Replicates, replicates};
use self::interval::Measured;
use self::jackknife::Jackknife;
use self::label_sums::{LabelSums, label_sums, label_terms};
use self::uncertainty::SlopeCache;
use crate::error::{Error, Result};
use crate::evaluate::plan::settings::{GroupShare, Kind, KnownPairs, Settings, Term};
use crate::evaluate::report::{EvaluationResult, Row};
use crate::evaluate::tally::Tally;
use crate::evaluate::tally::exact_layout::ExactLayout;
use crate::evaluate::tally::layout::Layout;
use crate::metrics::{Assumption, Estimator, Shape};
use crate::progress::{Progress, Silent};
use crate::request::EMPTY_ROWS;
use std::cell::RefCell;

/// What observed labels are weighed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// A column of the table of inverse propensities.
    Column(usize),
    /// Row-dependent propensities, by place.
    RowDependent(usize),
    /// Pairs of known status, by place.
    KnownPairs(usize),
    /// Matched rows.
    Matched,
}

/// What is measured: one number per model.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key {
    metric: usize,
    ki: usize,
    estimator: Estimator,
    source: Source,
    group: usize,
}

impl Key {
    /// The column; that of what is observed where there is none.
    fn column(self) -> usize {
        match self.source {
            Source::Column(column) => column,
            Source::RowDependent(_) | Source::KnownPairs(_) | Source::Matched => 0,
        }
    }
}

/// A tally, and what follows from all of it.
struct Finish<'a> {
    tally: &'a Tally,
    settings: &'a Settings,
    layout: Layout,
    exact: ExactLayout,
    terms: Vec<Term>,
    labels: Vec<LabelSums>,
    /// Places of the label metrics among the metrics.
    label_places: Vec<usize>,
    replicates: Option<Replicates>,
    jackknife: Option<Jackknife>,
    slopes: RefCell<SlopeCache>,
}

impl Tally {
    /// Turns the tally into numbers. All shards must have been merged.
    pub fn finish(&self) -> Result<EvaluationResult> {
        self.finish_watched(&Silent)
    }

    /// The same with progress: the bootstrap takes long.
    pub fn finish_watched(&self, progress: &dyn Progress) -> Result<EvaluationResult> {
        if self.open.is_some() {
            return self.clone().closed()?.finish_watched(progress);
        }
        let finish = Finish::new(self, progress)?;
        let mut rows = finish.rows()?;
        let mut comparisons = compare::comparisons(&finish)?;
        let bounds = sensitivity::add(&finish, &mut rows, &mut comparisons);
        let findings = diagnose::findings(&finish, &rows, &comparisons)?;
        let mut notes = diagnose::notes(&finish);
        notes.extend(bounds);
        let groups = if self.settings.groups.len() > 1 { finish.shares() } else { Vec::new() };
        let conventions = self.settings.conventions().clone();
        Ok(EvaluationResult { rows, comparisons, groups, level: self.settings.level(), conventions, findings, notes })
    }
}

impl<'a> Finish<'a> {
    fn new(tally: &'a Tally, progress: &dyn Progress) -> Result<Finish<'a>> {
        tally.check_complete()?;
        let settings = &tally.settings;
        let terms = settings.terms()?;
        let exact =
            ExactLayout::new(settings, &terms).ok_or_else(|| Error::value("the tally has more cells than memory can hold"))?;
        let label_places: Vec<usize> = label_terms(settings)?.iter().map(|term| term.0).collect();
        let models = if label_places.is_empty() { 0 } else { settings.models.len() };
        Ok(Finish {
            tally,
            settings,
            layout: Layout::new(settings, terms.len()),
            exact,
            terms,
            labels: (0..models).map(|model| label_sums(tally, model)).collect::<Result<_>>()?,
            label_places,
            replicates: replicates(tally, progress)?,
            jackknife: Jackknife::new(tally)?,
            slopes: RefCell::default(),
        })
    }

    /// Rows that means are over.
    fn n(&self) -> f64 {
        let left_out = if self.settings.conventions().differs(&EMPTY_ROWS) { self.tally.totals.rows.unlabelled } else { 0 };
        self.settings.rows.saturating_sub(left_out) as f64
    }

    /// The rows that a number is a mean over: all of them where some are known better than by what is observed.
    fn n_of(&self, key: Key) -> f64 {
        if key.estimator == Estimator::DoublyRobust { self.settings.rows as f64 } else { self.n() }
    }

    /// Where the numbers of a metric and estimator come from.
    fn sources(&self, metric: usize, estimator: Estimator) -> Vec<Source> {
        let left_out = |column: &usize| estimator == Estimator::Unbiased && self.settings.metrics[metric].left_out.contains(column);
        let columns = self.settings.columns_of(estimator).into_iter().filter(|column| !left_out(column)).map(Source::Column);
        let by_row = self.settings.row_dependent.iter().enumerate().filter(|(_, of)| match estimator {
            Estimator::Unbiased => of.metrics[metric],
            Estimator::Ratio => of.fits.iter().flatten().any(|fit| fit.ratios[metric].iter().any(|ratios| !ratios.is_empty())),
            _ => false,
        });
        let known = (0..self.settings.robust.len()).filter(|_| estimator == Estimator::DoublyRobust);
        let matched = self.settings.omega.as_ref().filter(|_| estimator == Estimator::Omega).map(|_| Source::Matched);
        let by_row = by_row.map(|(place, _)| Source::RowDependent(place));
        columns.chain(by_row).chain(known.map(Source::KnownPairs)).chain(matched).collect()
    }

    /// Everything that is measured, in the order of reports.
    fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for (metric, chosen) in self.settings.metrics.iter().enumerate() {
            for ki in 0..self.settings.ks().len() {
                for estimator in chosen.estimators.iter().copied() {
                    for source in self.sources(metric, estimator) {
                        // The ratio of later and observed hits is one for all labels.
                        let groups = if estimator == Estimator::Ratio { 1 } else { self.settings.groups.len() };
                        keys.extend((0..groups).map(|group| Key { metric, ki, estimator, source, group }));
                    }
                }
            }
        }
        keys
    }

    /// Whether there is such a number for a model: fits to matched rows may be about other predictions.
    fn applies(&self, key: Key, model: usize) -> bool {
        let of = match key.source {
            Source::RowDependent(of) => of,
            Source::Matched => return self.settings.omega.as_ref().is_some_and(|omega| omega.models[model]),
            Source::Column(_) | Source::KnownPairs(_) => return true,
        };
        let fit = self.settings.row_dependent[of].fits[model].as_ref();
        fit.is_some_and(|fit| key.estimator != Estimator::Ratio || !fit.ratios[key.metric][key.ki].is_empty())
    }

    /// What reports call the propensities.
    fn origin(&self, key: Key) -> Option<String> {
        match key.source {
            Source::Column(column) => self.settings.columns[column].origin.clone(),
            Source::RowDependent(of) => Some(self.settings.row_dependent[of].origin.clone()),
            Source::KnownPairs(of) => match self.settings.robust[of] {
                KnownPairs::Shown => self.settings.columns.get(1).and_then(|column| column.origin.clone()),
                KnownPairs::Later => None,
            },
            Source::Matched => None,
        }
    }

    fn rows(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for key in self.keys() {
            for model in (0..self.settings.models.len()).filter(|model| self.applies(key, *model)) {
                let measured = self.measure(key, model);
                let (low, high) = measured.ends(self.settings.level());
                let bias = self.bias(key, model);
                let mut assumption = self.assumption(key)?.sentence().to_owned();
                if let Some((_, tau)) = self.settings.columns[key.column()].clip {
                    assumption = format!("{assumption} (inverse propensities clipped at {tau})");
                }
                rows.push(Row {
                    metric: self.settings.metrics[key.metric].name(),
                    k: self.settings.ks()[key.ki],
                    estimator: key.estimator,
                    propensity: self.origin(key),
                    group: self.settings.groups[key.group].0.clone(),
                    model: self.settings.models[model].clone(),
                    value: measured.value,
                    se: measured.se(),
                    low,
                    high,
                    n: self.n_of(key) as u64,
                    assumption,
                    bias,
                    expected_error: self.expected_error(key, model),
                    sensitivity: None,
                });
            }
        }
        Ok(rows)
    }

    /// The declared assumption, or what takes its place on a controlled set and under row-dependent propensities.
    fn assumption(&self, key: Key) -> Result<Assumption> {
        let metric = self.settings.metrics[key.metric].metric()?;
        let declared = metric.offer(key.estimator).map_or(Assumption::Complete, |offer| offer.assumption);
        Ok(match (key.estimator, metric.shape(), key.source) {
            (Estimator::DoublyRobust, _, Source::KnownPairs(of)) if self.settings.robust[of] == KnownPairs::Later => {
                Assumption::LaterRows
            }
            (Estimator::Unbiased, Shape::Product, Source::RowDependent(_)) => Assumption::RowDependentIndependent,
            (Estimator::Unbiased, _, Source::RowDependent(_)) => Assumption::RowDependent,
            (Estimator::Unbiased, Shape::Sum(term), _) if self.settings.is_controlled && term.pooled() => {
                Assumption::KnownRatePooled
            }
            (Estimator::Unbiased, Shape::Sum(_), _) if self.settings.is_controlled => Assumption::KnownRate,
            (Estimator::Unbiased, Shape::Product, _) if self.settings.controlled.is_some() => Assumption::WithoutReplacement,
            _ => declared,
        })
    }

    /// The value of one model with its variance.
    fn measure(&self, key: Key, model: usize) -> Measured {
        match (key.source, self.term(key)) {
            (_, None) => self.measure_label(key, model),
            (Source::Column(_), Some((_, Term { kind: Kind::Sum { pooled: true, .. }, .. }))) => self.measure_pooled(key, model),
            (Source::Column(_), Some((_, term))) => self.measure_column(key, term, model),
            (Source::RowDependent(of), Some((_, term))) if key.estimator == Estimator::Ratio => {
                self.measure_ratio(key, term, of, model)
            }
            (Source::RowDependent(of), Some((_, term))) => self.measure_by_row(key, term, of, model),
            (Source::KnownPairs(of), Some((_, term))) => self.measure_robust(key, term, of, model),
            (Source::Matched, Some((_, term))) => self.measure_omega(key, term, model),
        }
    }

    /// The difference of two models, its variance from paired rows.
    fn difference(&self, key: Key, pair: usize, a: usize, b: usize) -> Measured {
        let (of_a, of_b) = (self.measure(key, a), self.measure(key, b));
        let (Some(x), Some(y)) = (of_a.value, of_b.value) else { return Measured::default() };
        let variance = match (key.source, self.term(key)) {
            (_, None) => self.label_difference_variance(key, pair, a, b),
            (Source::Column(_), Some((_, Term { kind: Kind::Sum { pooled: true, .. }, .. }))) => {
                self.pooled_difference_variance(key, pair, (a, b))
            }
            (Source::Column(_), Some((_, term))) => self.column_difference_variance(key, term, pair, (a, b), (of_a, of_b)),
            (Source::RowDependent(of), Some((_, term))) if key.estimator == Estimator::Ratio => {
                self.ratio_difference_variance(key, term, of, pair, (a, b))
            }
            (Source::RowDependent(of), Some((_, term))) => self.by_row_difference_variance(key, term, of, pair, (a, b)),
            (Source::KnownPairs(of), Some((_, term))) => self.robust_difference_variance(key, term, of, pair, (a, b)),
            (Source::Matched, Some((_, term))) => self.omega_difference_variance(key, term, pair, (a, b)),
        };
        Measured::new(x - y, variance)
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
