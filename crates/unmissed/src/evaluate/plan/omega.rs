//! The omega estimate in a plan: a regression of missed labels for each model, and what it leaves unexplained on the matched rows.
//!
//! `T = n^-1 sum_test [sum_r g_r y~ + sum_r g_r (1 - y~) w] + N^-1 sum_matched sum_r g_r (1 - y~)(y - w)`, with `g_r` the gain of rank r, w the
//! regression of missed labels ([`MissedModel`], cross-fitted on the N matched rows). The first part is summed by the pass, the
//! second, the residuals e, is known before it.

use super::settings::{ChosenMetric, Kind, Settings, Term};
use crate::error::{Error, Result};
use crate::evaluate::builder::Evaluation;
use crate::metrics::{Estimator, Shape};
use crate::propensity::rows::{MatchedRows, MissedModel, RankedRow, score_unit};
use serde::{Deserialize, Serialize};

/// What the finish needs to know of the matched rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::evaluate) struct Omega {
    /// Number of matched rows.
    pub(in crate::evaluate) rows: u64,
    /// By model: whether it has predictions for them.
    pub(in crate::evaluate) models: Vec<bool>,
    /// By group, model, term and k: the sum of the residuals of rows, before the division by k or by a sum of discounts.
    pub(in crate::evaluate) sums: Vec<f64>,
    /// The sum of their squares.
    pub(in crate::evaluate) squares: Vec<f64>,
    /// Sums of what is observed in the top lists of the matched rows.
    pub(in crate::evaluate) observed: Vec<f64>,
    /// Sums of its squares.
    pub(in crate::evaluate) observed_squares: Vec<f64>,
    /// By group, pair of models, term and k: the sum of the products of both models' residuals.
    pub(in crate::evaluate) products: Vec<f64>,
}

impl Omega {
    /// The place of a model's (or pair's) sums.
    fn at(&self, settings: &Settings, terms: usize, of_each: usize, [group, one, term, ki]: [usize; 4]) -> usize {
        ((group * of_each + one) * terms + term) * settings.ks().len() + ki
    }

    /// The mean residual of a model.
    pub(in crate::evaluate) fn mean(&self, settings: &Settings, terms: usize, at: [usize; 4]) -> f64 {
        self.sums[self.at(settings, terms, settings.models.len(), at)] / self.rows as f64
    }

    /// The sums of what is observed in the top lists of the matched rows, and of its squares.
    pub(in crate::evaluate) fn observed(&self, settings: &Settings, terms: usize, at: [usize; 4]) -> [f64; 2] {
        let place = self.at(settings, terms, settings.models.len(), at);
        [self.observed[place], self.observed_squares[place]]
    }

    /// The variance of the residuals of rows.
    pub(in crate::evaluate) fn variance(&self, settings: &Settings, terms: usize, at: [usize; 4]) -> Option<f64> {
        let place = self.at(settings, terms, settings.models.len(), at);
        self.spread(self.squares[place], self.sums[place], self.sums[place])
    }

    /// The covariance of the residuals of the two models of a pair.
    pub(in crate::evaluate) fn covariance(
        &self,
        settings: &Settings,
        terms: usize,
        [group, pair, term, ki]: [usize; 4],
        (a, b): (usize, usize),
    ) -> Option<f64> {
        let product = self.products[self.at(settings, terms, settings.pair_count(), [group, pair, term, ki])];
        let sum = |model: usize| self.sums[self.at(settings, terms, settings.models.len(), [group, model, term, ki])];
        self.spread(product, sum(a), sum(b))
    }

    /// Residuals of a fitted regression have a mean near 0, so little cancels.
    fn spread(&self, products: f64, a: f64, b: f64) -> Option<f64> {
        let n = self.rows as f64;
        (n > 1.0).then(|| (products - a * b / n) / (n - 1.0))
    }

    /// Whether there is a number for every cell.
    pub(in crate::evaluate) fn is_sound(&self, settings: &Settings, terms: usize) -> bool {
        let cells = |of_each: usize| {
            let sizes = [settings.groups.len(), of_each, terms, settings.ks().len()];
            sizes.iter().try_fold(1usize, |cells, size| cells.checked_mul(*size))
        };
        let sound = |values: &[f64], of_each: usize| Some(values.len()) == cells(of_each) && values.iter().all(|v| v.is_finite());
        let models = settings.models.len();
        self.models.len() == models
            && sound(&self.sums, models)
            && sound(&self.squares, models)
            && sound(&self.observed, models)
            && sound(&self.observed_squares, models)
            && sound(&self.products, settings.pair_count())
    }
}

/// What the pass needs of one model: its regression, and the unit of its score differences on the test rows.
pub(in crate::evaluate) struct OmegaFit {
    pub(in crate::evaluate) model: MissedModel,
    pub(in crate::evaluate) unit: f64,
}

impl<'a> Evaluation<'a> {
    /// The regressions by model, where something is computed with them.
    pub(in crate::evaluate) fn fit_omega(&self, metrics: &[ChosenMetric]) -> Result<Vec<Option<OmegaFit>>> {
        let Some(matched) = self.matched.as_ref().filter(|_| metrics.iter().any(|chosen| chosen.wants(Estimator::Omega))) else {
            return Ok(Vec::new());
        };
        self.progress.begin("missed labels", 0);
        let largest = self.request.k.largest();
        let fit = |(name, scores): &(String, &crate::data::Csr<'_, f32>)| {
            let Some(of_matched) = matched.scores(name) else { return Ok(None) };
            let longest = |offsets: &[u64]| offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize;
            let (needed, stored) = (largest.min(longest(scores.offsets())), longest(of_matched.offsets()));
            if stored < needed {
                return Err(Error::value(format!("the prediction lists of '{name}' for the matched rows are too short"))
                    .expected(format!("at least {needed} labels per row, as the test predictions have"))
                    .found(stored.to_string())
                    .hint("keep as many predictions per training row as per test row"));
            }
            let model = MissedModel::fit(matched.early(), matched.later(), of_matched, largest, self.request.seed)?;
            Ok(Some(OmegaFit { model, unit: score_unit(scores) }))
        };
        self.models.iter().map(fit).collect()
    }

    /// What the regressions leave unexplained on the matched rows.
    pub(super) fn omega_residuals(&self, fits: &[Option<OmegaFit>], settings: &Settings) -> Result<Option<Omega>> {
        let Some(matched) = self.matched.as_ref().filter(|_| fits.iter().any(Option::is_some)) else { return Ok(None) };
        let terms = settings.terms()?;
        let cells = terms.len() * settings.ks().len();
        let (groups, models, pairs) = (settings.groups.len(), settings.models.len(), settings.pairs());
        let mut omega = Omega {
            rows: matched.early().rows() as u64,
            models: fits.iter().map(Option::is_some).collect(),
            sums: vec![0.0; groups * models * cells],
            squares: vec![0.0; groups * models * cells],
            observed: vec![0.0; groups * models * cells],
            observed_squares: vec![0.0; groups * models * cells],
            products: vec![0.0; groups * pairs.len() * cells],
        };
        let mut residuals = Residuals::new(self, matched, fits, settings);
        for row in 0..matched.early().rows() {
            residuals.rank(row);
            for group in 0..groups {
                residuals.fill(&terms, group);
                for model in 0..models {
                    let start = (group * models + model) * cells;
                    for (cell, (e, observed)) in residuals.of(model).iter().zip(&residuals.observed[model]).enumerate() {
                        omega.sums[start + cell] += e;
                        omega.squares[start + cell] += e * e;
                        omega.observed[start + cell] += observed;
                        omega.observed_squares[start + cell] += observed * observed;
                    }
                }
                for (pair, (a, b)) in pairs.iter().enumerate() {
                    let start = (group * pairs.len() + pair) * cells;
                    for (cell, (a, b)) in residuals.of(*a).iter().zip(residuals.of(*b)).enumerate() {
                        omega.products[start + cell] += a * b;
                    }
                }
            }
        }
        Ok(Some(omega))
    }
}

/// The residuals of one matched row after the other.
struct Residuals<'r> {
    evaluation: &'r Evaluation<'r>,
    matched: &'r MatchedRows<'r>,
    fits: &'r [Option<OmegaFit>],
    settings: &'r Settings,
    units: Vec<f64>,
    ranked: RankedRow,
    /// By model: rank, label and residual of the row's first labels; none where the label was observed.
    pairs: Vec<Vec<(usize, u32, Option<f64>)>>,
    /// By model: sums by term and k.
    sums: Vec<Vec<f64>>,
    /// By model: sums of what is observed, by term and k.
    observed: Vec<Vec<f64>>,
}

impl<'r> Residuals<'r> {
    fn new(
        evaluation: &'r Evaluation<'r>,
        matched: &'r MatchedRows<'r>,
        fits: &'r [Option<OmegaFit>],
        settings: &'r Settings,
    ) -> Residuals<'r> {
        let unit = |name: &String| matched.scores(name).map_or(1.0, score_unit);
        Residuals {
            evaluation,
            matched,
            fits,
            settings,
            units: settings.models.iter().map(unit).collect(),
            ranked: RankedRow::default(),
            pairs: vec![Vec::new(); fits.len()],
            sums: vec![Vec::new(); fits.len()],
            observed: vec![Vec::new(); fits.len()],
        }
    }

    /// Residuals of the first labels of a row.
    fn rank(&mut self, row: usize) {
        for (model, fit) in self.fits.iter().enumerate() {
            self.pairs[model].clear();
            let scores = self.matched.scores(&self.settings.models[model]);
            let (Some(OmegaFit { model: missed, .. }), Some(scores)) = (fit, scores) else { continue };
            self.ranked.fill(scores.row(row), self.matched.early().row_ids(row), self.units[model]);
            let (relevant, fold) = (self.matched.later().row_ids(row), missed.fold(row));
            for rank in 0..self.ranked.labels.len().min(self.settings.kmax()) {
                let (label, is_observed) = self.ranked.labels[rank];
                let residual = (!is_observed).then(|| {
                    let is_missed = f64::from(u8::from(relevant.contains(&label)));
                    is_missed - missed.expected(&mut self.ranked, rank, Some(fold))
                });
                self.pairs[model].push((rank, label, residual));
            }
        }
    }

    /// Sums by term and k of the labels of a group.
    fn fill(&mut self, terms: &[Term], group: usize) {
        let is_member = |label: u32| self.evaluation.is_member(label, group);
        for ((pairs, sums), observed) in self.pairs.iter().zip(&mut self.sums).zip(&mut self.observed) {
            sums.clear();
            observed.clear();
            for term in terms {
                let mut pairs = pairs.iter().filter(|(_, label, _)| is_member(*label)).peekable();
                let (mut sum, mut seen) = (0.0, 0.0);
                for k in self.settings.ks() {
                    while let Some((rank, label, residual)) = pairs.next_if(|(rank, _, _)| rank < k) {
                        let gain = self.evaluation.gain(term, *rank, *label);
                        match residual {
                            Some(residual) => sum += gain * residual,
                            None => seen += gain,
                        }
                    }
                    sums.push(sum);
                    observed.push(seen);
                }
            }
        }
    }

    fn of(&self, model: usize) -> &[f64] {
        &self.sums[model]
    }
}

impl Evaluation<'_> {
    /// Whether a label belongs to a group; all of them to the first.
    pub(in crate::evaluate) fn is_member(&self, label: u32, group: usize) -> bool {
        match &self.groups {
            Some(groups) if group > 0 => groups.of(label).is_some_and(|code| usize::from(code) + 1 == group),
            _ => true,
        }
    }

    /// What a relevant label at a rank is worth; 0 in terms that are no sums of their own.
    pub(in crate::evaluate) fn gain(&self, term: &Term, rank: usize, label: u32) -> f64 {
        match &term.kind {
            Kind::Sum { discounts, weighted, by_relevant: false, .. } => {
                let weight = self.weights.as_ref().filter(|_| *weighted).map_or(1.0, |(_, weights)| weights[label as usize]);
                discounts[rank] * weight
            }
            _ => 0.0,
        }
    }

    /// What to know about the regressions.
    pub(super) fn omega_notes(&self, fits: &[Option<OmegaFit>]) -> Vec<String> {
        let mut notes = Vec::new();
        if fits.len() > 1 && fits.iter().any(Option::is_none) && fits.iter().any(Option::is_some) {
            notes.push("omega: models without predictions for the matched rows have no omega estimate".to_owned());
        }
        for ((name, _), fit) in self.models.iter().zip(fits) {
            if fit.as_ref().is_some_and(|fit| !fit.model.converged) {
                notes.push(format!(
                    "omega: the regression of missed labels of {name} did not converge; the estimate is valid, with more variance"
                ));
            }
        }
        notes
    }

    /// Why the data at hand allow no omega estimate; `None` when they do.
    pub(super) fn why_no_omega(&self, shape: Shape) -> Option<&'static str> {
        match (shape, &self.matched) {
            (_, None) => Some(
                "it needs matched rows: pass a later snapshot of the training rows (--later) and out-of-fold predictions for them \
                 (--train-predictions)",
            ),
            (Shape::Sum(term), _) if term.by_relevant() => Some("the numbers of relevant labels are known only for the test rows"),
            _ if self.request.rate.is_some() => Some("a controlled set has a known rate"),
            _ if self.request.conventions.differs(&crate::request::EMPTY_ROWS) => {
                Some("which rows have no label depends on which labels are missing: leave empty-rows out")
            }
            (_, Some(matched)) if matched.models().all(|name| self.models.iter().all(|(model, _)| model != name)) => {
                Some("no model has predictions for both the test rows and the matched rows: use the same name for both")
            }
            _ => None,
        }
    }
}
