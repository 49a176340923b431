//! Estimates from judged pairs among the other results: rows, comparisons, findings, notes.

use super::Judged;
use super::completed::Completed;
use super::estimate::{Estimated, Estimator as SumEstimator};
use super::gains::{Places, SumOf};
use super::guesses::Covariates;
use super::notes;
use super::pool::Pool;
use super::sample::{Design, Sample};
use super::strata::NO_STRATUM;
use super::target::Target;
use crate::data::Csr;
use crate::error::Result;
use crate::evaluate::builder::Evaluation;
use crate::evaluate::compare::holm;
use crate::evaluate::plan::settings::Settings;
use crate::evaluate::report::{Comparison, EvaluationResult, Row};
use crate::metrics::{Estimator, Metric, Shape, SumTerm};
use crate::request::{IntervalKind, JudgedMethod};

/// What all cells share.
pub(super) struct Cells<'a> {
    pub(super) evaluation: &'a Evaluation<'a>,
    pub(super) settings: &'a Settings,
    pub(super) pool: Pool,
    pub(super) sample: Sample,
    places: Places,
}

/// A sum or a ratio of two, of one model.
enum Value {
    Sum(Target),
    /// Numerator, denominator.
    Ratio(Target, Target),
}

/// Adds what judged pairs say to a result.
pub(in crate::evaluate) fn add(
    evaluation: &Evaluation<'_>,
    judged: &Judged,
    settings: &Settings,
    result: &mut EvaluationResult,
) -> Result<()> {
    let scores: Vec<&Csr<'_, f32>> = evaluation.models.iter().map(|(_, scores)| *scores).collect();
    let pool = Pool::new(evaluation.truth, &scores, settings.kmax());
    let sample = Sample::new(&judged.judgements, judged.plan.as_ref(), &pool, evaluation.truth)?;
    let place = |((row, label), observed): (&(u32, u32), &bool)| match observed {
        true => None,
        false => sample.find(*row, *label).map(|place| place as u32),
    };
    let places = pool.pairs.iter().zip(&pool.observed).map(place).collect();
    let cells = Cells { evaluation, settings, pool, sample, places };
    let completed = cells.completed(judged, true);
    let mut estimator = SumEstimator::new(&completed, &cells.sample.pairs, settings.rows as f64, settings.request.interval);
    for (place, chosen) in settings.metrics.iter().enumerate().filter(|(_, chosen)| chosen.wants(Estimator::Judged)) {
        let metric = chosen.metric()?;
        let Shape::Sum(term) = metric.shape() else { continue };
        for k in settings.ks() {
            for group in 0..settings.groups.len() {
                cells.add_cell(&mut estimator, result, (place, metric, term), *k, group);
            }
        }
    }
    order(settings, result);
    let p: Vec<Option<f64>> = result.comparisons.iter().map(|comparison| comparison.p).collect();
    let stand = holm(&p, settings.level());
    result.comparisons.iter_mut().zip(stand).for_each(|(comparison, stands)| comparison.significant = stands);
    result.findings.extend(notes::findings(&cells, judged));
    result.findings.sort_by(|a, b| a.code.cmp(&b.code));
    result.notes.extend(notes::notes(&cells, judged, &completed));
    Ok(())
}

/// Rows go by metric and k, and judged ones come last in each.
fn order(settings: &Settings, result: &mut EvaluationResult) {
    let names: Vec<String> = settings.metrics.iter().map(|chosen| chosen.name()).collect();
    let place = |metric: &str, k: usize| (names.iter().position(|name| name == metric), k);
    result.rows.sort_by_key(|row| place(&row.metric, row.k));
    result.comparisons.sort_by_key(|comparison| place(&comparison.metric, comparison.k));
}

impl Cells<'_> {
    /// Whether a model's lists are meant to be judged; those that others are only compared with are not.
    pub(super) fn is_judged(&self, model: usize) -> bool {
        !self.evaluation.only_compared.contains(&self.settings.models[model])
    }

    /// Completed labels, with a machine's judgements or without.
    pub(super) fn completed(&self, judged: &Judged, with_machine: bool) -> Completed {
        let strata = match &self.sample.design {
            Design::Strata(rounds) => rounds.first().and_then(|round| round.of.as_ref()),
            Design::Poisson(_) => None,
        };
        let machine = judged.machine.as_ref().filter(|_| with_machine);
        let judgement = |row: u32, label: u32| machine.and_then(|machine| machine.get(row, label));
        let is_calibrated = self.settings.request.judged_method == JudgedMethod::Calibrated;
        let covariates = strata.filter(|_| is_calibrated).map(|of| {
            let machine = machine.map(|_| &judgement as &dyn Fn(u32, u32) -> Option<f64>);
            Covariates::new(&self.sample.pairs, of, &self.pool, self.evaluation.truth, self.evaluation.train, machine)
        });
        Completed::new(&self.sample, covariates.as_ref(), self.settings.request.seed)
    }

    /// What a label is worth in a group: its weight, or 0.
    fn worth(&self, term: &dyn SumTerm, group: usize) -> impl Fn(u32) -> f64 {
        let groups = self.evaluation.groups.as_ref();
        let weights = self.evaluation.weights.as_ref().map(|(_, weights)| weights).filter(|_| term.weighted());
        move |label: u32| {
            let is_inside = group == 0 || groups.and_then(|groups| groups.of(label)).is_some_and(|of| usize::from(of) + 1 == group);
            if is_inside { weights.map_or(1.0, |weights| weights[label as usize]) } else { 0.0 }
        }
    }

    /// The sum of one model.
    pub(super) fn sum(&self, term: &dyn SumTerm, k: usize, group: usize, model: usize) -> Target {
        let rows = if term.pooled() { 1.0 } else { self.settings.rows as f64 };
        let worth = self.worth(term, group);
        SumOf { term, k, rows, worth: &worth }.of_model(&self.pool, &self.places, model)
    }

    /// All relevant labels that are observed or can be judged.
    fn all_relevant(&self, term: &dyn SumTerm, group: usize) -> Target {
        let (worth, truth) = (self.worth(term, group), self.evaluation.truth);
        let mut target = Target::default();
        for row in 0..truth.rows() {
            let sum: f64 = truth.row_ids(row).iter().map(|label| worth(*label)).sum();
            if sum > 0.0 {
                target.known.push((row as u32, sum));
            }
        }
        for (place, (row, label)) in self.sample.pairs.iter().enumerate() {
            let gain = worth(*label);
            if gain > 0.0 && !truth.row_ids(*row as usize).contains(label) {
                target.gains.push((place as u32, gain));
            }
        }
        target
    }

    fn add_cell(
        &self,
        estimator: &mut SumEstimator<'_>,
        result: &mut EvaluationResult,
        (place, metric, term): (usize, &'static dyn Metric, &'static dyn SumTerm),
        k: usize,
        group: usize,
    ) {
        let settings = self.settings;
        let models = settings.models.len();
        let all = term.pooled().then(|| self.all_relevant(term, group));
        let values: Vec<Value> = (0..models)
            .map(|model| match &all {
                Some(all) => Value::Ratio(self.sum(term, k, group, model), all.clone()),
                None => Value::Sum(self.sum(term, k, group, model)),
            })
            .collect();
        let linear: Vec<Option<(f64, Target)>> = values.iter().map(|value| linear(estimator, value)).collect();
        let highest = metric.highest(settings.largest_weight);
        let name = settings.metrics[place].name();
        let assumption = metric.offer(Estimator::Judged).map_or("", |offer| offer.assumption.sentence());
        for (model, linear) in linear.iter().enumerate().filter(|(model, _)| self.is_judged(*model)) {
            let estimated = linear.as_ref().map(|(value, target)| Estimated { value: *value, ..estimator.estimate(target) });
            let ends = estimated.map(|estimated| {
                let limits = match &values[model] {
                    Value::Sum(target) if settings.request.interval == IntervalKind::Mask => {
                        (target.known(), target.known() + target.largest())
                    }
                    _ => (0.0, highest),
                };
                estimated.within(limits, settings.level())
            });
            result.rows.push(Row {
                metric: name.clone(),
                k,
                estimator: Estimator::Judged,
                propensity: None,
                group: settings.groups[group].0.clone(),
                model: settings.models[model].clone(),
                value: estimated.map(|estimated| estimated.value),
                se: estimated.map(|estimated| estimated.se()),
                low: ends.map(|(low, _)| low),
                high: ends.map(|(_, high)| high),
                n: settings.rows,
                assumption: assumption.to_owned(),
                bias: None,
                expected_error: None,
                sensitivity: None,
            });
        }
        for (a, b) in settings.pairs().into_iter().filter(|(a, b)| self.is_judged(*a) && self.is_judged(*b)) {
            let both = linear[a].as_ref().zip(linear[b].as_ref());
            let estimated = both.map(|((of_a, x), (of_b, y))| {
                let difference = x.combined(1.0, y, -1.0);
                Estimated { value: of_a - of_b, ..estimator.estimate(&difference) }
            });
            let ends = estimated.map(|estimated| estimated.around(settings.level()));
            result.comparisons.push(Comparison {
                metric: name.clone(),
                k,
                estimator: Estimator::Judged,
                propensity: None,
                group: settings.groups[group].0.clone(),
                a: settings.models[a].clone(),
                b: settings.models[b].clone(),
                difference: estimated.map(|estimated| estimated.value),
                se: estimated.map(|estimated| estimated.se()),
                low: ends.map(|(low, _)| low),
                high: ends.map(|(_, high)| high),
                p: estimated.map(|estimated| estimated.p()),
                significant: false,
                sensitivity: None,
            });
        }
    }

    /// Unobserved pairs of a model's list at k that could not be drawn, and all of them.
    pub(super) fn uncovered(&self, k: usize, model: usize) -> (usize, usize) {
        let listed = (0..self.pool.len()).filter(|pair| (self.pool.ranks(*pair)[model] as usize) < k);
        let places: Vec<u32> = listed.filter_map(|pair| self.places[pair]).collect();
        (places.iter().filter(|place| !self.sample.covered[**place as usize]).count(), places.len())
    }

    /// The number of strata that pairs were drawn from, and of pairs that could be drawn.
    pub(super) fn pool_size(&self) -> Option<usize> {
        match &self.sample.design {
            Design::Strata(rounds) => {
                let of = rounds.first()?.of.as_ref()?;
                Some(of.iter().filter(|stratum| **stratum != NO_STRATUM).count())
            }
            Design::Poisson(_) => None,
        }
    }
}

/// The value and its linear part; `None` for 0/0.
fn linear(estimator: &SumEstimator<'_>, value: &Value) -> Option<(f64, Target)> {
    match value {
        Value::Sum(target) => Some((estimator.value(target), target.clone())),
        Value::Ratio(numerator, denominator) => {
            let (n, d) = (estimator.value(numerator), estimator.value(denominator));
            (d > 0.0).then(|| (n / d, numerator.combined(1.0 / d, denominator, -n / (d * d))))
        }
    }
}
