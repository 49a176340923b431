//! [`Optimization`]: scores, what to optimise them for, and what is known about the labels.

use super::candidates::Candidates;
use super::choices::Choices;
use super::expected::{BeforeAfter, Draws};
use super::mass::{Mass, expected_positives};
use super::measured::Measurement;
use super::methods::{self, Search};
use super::objectives::{Mixture, ObjectiveInputs};
use super::report::{MeasuredRow, OptimizeReport, Optimized};
use crate::data::{LabelStats, Labels, Scores};
use crate::error::{Error, Result};
use crate::metrics::{Estimator, weights};
use crate::predict::weighting::{Weighting, best_places};
use crate::progress::{Progress, Silent};
use crate::propensity::rows::{CovariateLevel, Pair, Place, RowModel, score_unit};
use crate::propensity::{Propensities, Propensity};
use crate::request::{ObjectiveSpec, OptimizeRequest, Positives, WeightsSpec};
use crate::spec::Spec;
use rayon::prelude::*;

/// Builds an optimisation of predictions. See the module's page.
#[derive(Clone)]
pub struct Optimization<'a> {
    request: OptimizeRequest,
    scores: &'a Scores<'a>,
    train: Option<&'a LabelStats>,
    propensity: Option<Propensity>,
    weights: Option<Vec<f64>>,
    test: Option<&'a Labels<'a>>,
    progress: &'a dyn Progress,
}

/// Draws are fewer where each takes longer than so many steps over labels and chosen pairs.
const STEPS: usize = 100_000_000;
const FEWEST: usize = 12;

impl<'a> Optimization<'a> {
    /// Probabilities of labels, as many per row as can come into question.
    pub fn new(scores: &'a Scores<'a>, request: OptimizeRequest) -> Result<Optimization<'a>> {
        request.check(scores.cols())?;
        Mixture::new(&request.metric)?;
        methods::find(request.method.name())?;
        Ok(Optimization { request, scores, train: None, propensity: None, weights: None, test: None, progress: &Silent })
    }

    /// How often labels occur in training: for expected positives, and for what the request names in terms of counts.
    #[must_use]
    pub fn train(mut self, stats: &'a LabelStats) -> Self {
        self.train = Some(stats);
        self
    }

    /// Propensities that take the place of those that the request names.
    #[must_use]
    pub fn propensity(mut self, propensity: impl Into<Propensity>) -> Self {
        self.propensity = Some(propensity.into());
        self
    }

    /// Gains of labels that take the place of those that the request names.
    pub fn weights(mut self, name: impl Into<String>, weights: Vec<f64>) -> Result<Self> {
        let name = name.into();
        if weights.len() != self.scores.cols() {
            return Err(Error::value(format!("the weights '{name}' do not fit the scores"))
                .expected(format!("{} labels", self.scores.cols()))
                .found(weights.len().to_string()));
        }
        weights::check_values(&weights)?;
        self.weights = Some(weights);
        self.request.weights = Some(WeightsSpec::Given);
        Ok(self)
    }

    /// Known labels of the rows: what both lists are measured on. They take no part in the choice.
    pub fn test(mut self, labels: &'a Labels<'a>) -> Result<Self> {
        let (found, expected) = ((labels.rows(), labels.cols()), (self.scores.rows(), self.scores.cols()));
        if found != expected {
            return Err(Error::value("the test labels do not fit the scores")
                .expected(format!("{} rows and {} labels", expected.0, expected.1))
                .found(format!("{} and {}", found.0, found.1)));
        }
        self.test = Some(labels);
        Ok(self)
    }

    /// Reports progress.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Chooses labels for all rows, and says what that is worth.
    pub fn run(&self) -> Result<Optimized> {
        let request = &self.request;
        let mixture = Mixture::new(&request.metric)?;
        let propensity = self.settle_propensity()?;
        let per_label = propensity.as_ref().and_then(Propensity::per_label);
        let mut notes = Vec::new();
        let (candidates, of_priors) = self.candidates(propensity.as_ref(), &mut notes)?;
        let name = request.metric.to_string();
        let needed_for = mixture.needs_positives().then_some(name.as_str());
        let (positives, mass) = expected_positives(&candidates, request.positives, self.train, of_priors.as_deref(), needed_for)?;
        let weights = self.settle_weights(&mixture, per_label)?;
        let setting = ObjectiveInputs {
            rows: candidates.rows() as f64,
            labels: candidates.labels() as f64,
            k: request.k as f64,
            positives: &positives,
            weights: &weights,
            beta: 1.0,
        };
        let terms = mixture.terms(&setting);
        let start = Choices::most_probable(&candidates, request.k);
        let counts = start.counts(&candidates, &terms);
        let search = Search {
            candidates: &candidates,
            terms: &terms,
            start: &start,
            counts: &counts,
            k: request.k,
            at_most: request.at_most,
            sweeps: request.sweeps,
            tolerance: request.tolerance,
            seed: request.seed,
            progress: self.progress,
        };
        let found = methods::find(request.method.name())?.search(&search, &request.method)?;
        let sign = if mixture.lower_is_better() { -1.0 } else { 1.0 };
        let value_before = terms.of_labels(&counts) + start.of_rows(&candidates, &terms);
        let is_changed = |row: &usize| !same_labels(start.row(*row), found.choices.row(*row));
        let rows_changed = (0..candidates.rows()).into_par_iter().filter(is_changed).count();

        let precision = Mixture::new(&ObjectiveSpec::parse_at("precision")?.0)?;
        let mut metrics = vec![(name.clone(), &mixture)];
        if name != "precision" {
            metrics.push(("precision".to_owned(), &precision));
        }
        let steps = candidates.labels() + 2 * request.k * candidates.rows();
        let draws = if request.draws == 0 { 0 } else { request.draws.min((STEPS / steps).max(FEWEST)) };
        let divided_by = per_label.filter(|_| !request.corrected);
        let expected = if draws == 0 {
            Vec::new()
        } else {
            Draws {
                candidates: &candidates,
                setting,
                before: &start,
                after: &found.choices,
                uncertain: divided_by.filter(|p| p.is_uncertain()),
                count: draws,
                level: request.level.get(),
                seed: request.seed,
                progress: self.progress,
            }
            .expected(&metrics)?
        };
        let (predictions, most_probable) = (found.choices.scores(&candidates)?, start.scores(&candidates)?);
        let measured = match self.test {
            Some(truth) => {
                let measurement = Measurement {
                    truth,
                    before: &most_probable,
                    after: &predictions,
                    setting,
                    k: request.k,
                    level: request.level.get(),
                    propensities: per_label,
                    progress: self.progress,
                };
                metrics
                    .iter()
                    .map(|(name, mixture)| self.measured(&measurement, name, mixture, &expected))
                    .collect::<Result<Vec<_>>>()?
            }
            None => Vec::new(),
        };
        let mut report = OptimizeReport {
            metric: name,
            k: request.k,
            at_most: request.at_most,
            method: request.method.to_string(),
            lower_is_better: mixture.lower_is_better(),
            value_before: sign * value_before + 0.0,
            value: sign * found.value + 0.0,
            values: found.values.iter().map(|value| sign * value).collect(),
            converged: found.converged,
            rows_changed: rows_changed as u64,
            expected,
            draws,
            measured,
            level: request.level.get(),
            correction: candidates.correction(),
            propensity: propensity.as_ref().map(|propensity| propensity.origin().to_string()),
            mass,
            notes,
        };
        self.add_notes(&mut report, &mixture, divided_by);
        Ok(Optimized { predictions, most_probable, weighting: Weighting::new(found.lines)?, report })
    }

    /// Gives rows labels by lines that were found before, one row at a time; the request's metric and method take no part.
    pub fn apply(&self, weighting: &Weighting) -> Result<Scores<'static>> {
        let propensity = self.settle_propensity()?;
        let (candidates, _) = self.candidates(propensity.as_ref(), &mut Vec::new())?;
        if weighting.lines().len() != candidates.labels() {
            return Err(Error::value("the weighting does not match the labels")
                .expected(candidates.labels().to_string())
                .found(weighting.lines().len().to_string()));
        }
        let mut choices = Choices::none(candidates.rows(), self.request.k);
        let (mut scratch, mut best) = (Vec::new(), Vec::new());
        for row in 0..candidates.rows() {
            let (ids, p) = candidates.row(row, &mut scratch);
            best_places(ids, p, weighting.lines(), self.request.k, self.request.at_most, &mut best);
            choices.row_mut(row).iter_mut().zip(&best).for_each(|(slot, (_, place))| *slot = *place);
        }
        choices.scores(&candidates)
    }

    /// The probabilities of relevant labels, and by which factor priors of observed labels are too small.
    fn candidates(&self, propensity: Option<&Propensity>, notes: &mut Vec<String>) -> Result<(Candidates<'_>, Option<Vec<f64>>)> {
        let request = &self.request;
        let candidates = Candidates::new(self.scores, request.k, request.at_most)?;
        match propensity {
            None => Ok((candidates, None)),
            Some(Propensity::PerLabel(p)) if request.corrected => Ok((candidates, Some(p.inverse()))),
            Some(Propensity::PerLabel(p)) => Ok((candidates.divided_by(p)?, Some(p.inverse()))),
            Some(Propensity::RowDependent(_)) if request.corrected => {
                Err(Error::value("row-dependent propensities cannot be used with corrected scores")
                    .hint("priors are corrected by one propensity per label: a curve or a table"))
            }
            Some(Propensity::RowDependent(rows)) => {
                let before = candidates.sums();
                let divided = by_rows(candidates, rows.model(), self.scores)?;
                // How much larger the label's stored probabilities have become stands for its rows at large.
                let ratio = |(after, before): (f64, &f64)| if *before > 0.0 { after / before } else { 1.0 };
                let ratios = divided.sums().into_iter().zip(&before).map(ratio).collect();
                notes.push(
                    "priors are corrected by the mean of the row-dependent propensities over each label's stored pairs".to_owned(),
                );
                Ok((divided, Some(ratios)))
            }
        }
    }

    fn settle_propensity(&self) -> Result<Option<Propensity>> {
        let labels = self.scores.cols() as u64;
        let propensity = match (&self.propensity, &self.request.propensity) {
            (Some(given), _) => Some(given.clone()),
            (None, Some(spec)) => Some(spec.read(self.train, labels)?),
            (None, None) => None,
        };
        match &propensity {
            Some(propensity) if propensity.labels() as u64 != labels => {
                Err(Error::value("the number of propensities does not match the labels")
                    .expected(labels.to_string())
                    .found(propensity.labels().to_string()))
            }
            _ => Ok(propensity),
        }
    }

    fn settle_weights(&self, mixture: &Mixture, propensities: Option<&Propensities>) -> Result<Vec<f64>> {
        match (&self.weights, &self.request.weights) {
            _ if !mixture.needs_weights() => Ok(Vec::new()),
            (Some(weights), _) => Ok(weights.clone()),
            (None, Some(spec)) => spec.of_labels(self.train, propensities, self.scores.cols() as u64),
            (None, None) => Err(Error::value(format!("'{}' needs weights of labels", self.request.metric))
                .hint("name a scheme (--weights inverse-complete with --train and --propensity), or a csv 'label,weight'")),
        }
    }

    fn measured(
        &self,
        measurement: &Measurement<'_>,
        name: &str,
        mixture: &Mixture,
        expected: &[BeforeAfter],
    ) -> Result<MeasuredRow> {
        let spec = name.parse::<Spec>().ok().filter(|_| mixture.single().is_some_and(|objective| objective.is_metric()));
        let (values, estimator) = match spec {
            Some(spec) => measurement.by_evaluation(&spec)?,
            None => {
                let estimator = if measurement.propensities.is_some() { Estimator::Unbiased } else { Estimator::Observed };
                (measurement.by_counts(name.to_owned(), mixture), estimator)
            }
        };
        let claimed = expected.iter().find(|claimed| claimed.metric == name);
        Ok(MeasuredRow {
            optimism: claimed.map(|claimed| claimed.after - values.after),
            optimism_of_gain: claimed.map(|claimed| claimed.difference - values.difference),
            values,
            estimator,
        })
    }

    fn add_notes(&self, report: &mut OptimizeReport, mixture: &Mixture, divided_by: Option<&Propensities>) {
        let notes = &mut report.notes;
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        if !report.converged {
            notes.push(format!("the search did not converge in {} passes: raise the number of sweeps", self.request.sweeps));
        }
        let Mass { source, not_stored, at_most, stored_over_counts, .. } = report.mass;
        match (source, not_stored) {
            (Positives::Train, Some(share)) => notes.push(format!(
                "by the training counts, {} of the expected positives are not among the stored scores; they count as positives \
                 that cannot be predicted",
                percent(share)
            )),
            _ if mixture.needs_positives() && at_most > 0.0 => notes.push(format!(
                "the stored scores are assumed to hold all expected positives; up to {} of these may not be stored, and the \
                 reported values are then too high",
                percent(at_most)
            )),
            _ => {}
        }
        if let Some(ratio) = stored_over_counts.filter(|ratio| *ratio > 1.25) {
            notes.push(format!(
                "the stored probabilities add up to {ratio:.2} times the positives that the training counts imply: they are too \
                 high, and so are the reported values"
            ));
        }
        if let Some(spec) = self.request.weights.as_ref().filter(|_| mixture.needs_weights() && report.propensity.is_some()) {
            notes.extend(spec.corrects_twice());
        }
        if let Some(correction) = report.correction {
            notes.push(format!(
                "scores were divided by propensities: {} of the stored pairs exceeded 1 and were set to 1, which removed {} of the \
                 corrected probability",
                percent(correction.capped_share),
                percent(correction.capped_mass)
            ));
        }
        match divided_by {
            Some(p) if p.is_uncertain() => {
                notes.push("intervals of expected values include the uncertainty of the propensities".to_owned())
            }
            Some(_) => notes.push(
                "the propensities are taken as known: their uncertainty is not known, and intervals do not include it".to_owned(),
            ),
            None => {}
        }
        if !report.expected.is_empty() && report.measured.is_empty() {
            notes.push(
                "expected values assume that the probabilities are right; estimated probabilities that are chosen for being high \
                 are optimistic, and only known labels (--test, test= in Python) show by how much"
                    .to_owned(),
            );
        }
    }
}

fn same_labels(a: &[u32], b: &[u32]) -> bool {
    a.iter().all(|place| b.contains(place)) && b.iter().all(|place| a.contains(place))
}

/// Divides scores by the propensities that a row-dependent model gives for their pairs.
fn by_rows<'a>(candidates: Candidates<'a>, model: &RowModel, scores: &Scores<'_>) -> Result<Candidates<'a>> {
    let told: Vec<&str> =
        model.given().iter().filter(|given| given.level != CovariateLevel::Label).map(|given| given.name.as_str()).collect();
    if model.uses_observed_labels() || !told.is_empty() {
        let needs = if model.uses_observed_labels() { "the observed labels of the rows".to_owned() } else { told.join(", ") };
        return Err(Error::value("the row-dependent propensities need covariates that are not known for new rows")
            .expected("covariates of the label and of its rank among the scores")
            .found(needs)
            .hint("fit them without these, or use propensities per label"));
    }
    let unit = score_unit(scores);
    candidates.divided_by_pairs(|_, ids, values, propensities| {
        propensities.clear();
        let mut of_pair = Vec::new();
        for label in ids {
            let place = Place::find(ids, values, *label, unit);
            model.at(&Pair { label: *label, other_labels: 0, place, given: &[] }, &mut of_pair);
            propensities.push(of_pair.first().copied().unwrap_or(1.0));
        }
    })
}
