//! [`Evaluation`]: what to evaluate, against what, and how.

use super::findings::Finding;
use super::judged::{self, Judged};
use super::plan::groups::Groups;
use super::report::EvaluationResult;
use super::tally::Tally;
use crate::data::{Csr, IgnoredPairs, LabelStats, Labels, Names, Rate};
use crate::error::{Error, Result, digits};
use crate::metrics::{Estimator, weights};
use crate::progress::{Progress, Silent};
use crate::propensity::rows::{GivenCovariate, MatchedRows, RowModel};
use crate::propensity::{Propensities, Propensity};
use crate::request::{Conventions, EvaluateRequest, GroupsSpec, IntervalKind, KList, Level, Sensitivity, Shard, WeightsSpec};
use std::ops::Range;
use std::sync::Arc;

/// Builds an evaluation: data, and an [`EvaluateRequest`] that setters fill. See the module's page.
#[derive(Clone)]
pub struct Evaluation<'a> {
    pub(super) request: EvaluateRequest,
    pub(super) truth: &'a Labels<'a>,
    pub(super) models: Vec<(String, &'a Csr<'a, f32>)>,
    pub(super) train: Option<&'a LabelStats>,
    pub(super) propensities: Vec<Propensities>,
    pub(super) row_models: Vec<(String, RowModel)>,
    pub(super) row_covariates: Vec<(String, GivenCovariate<'a>)>,
    pub(super) groups: Option<Groups>,
    pub(super) weights: Option<(String, Vec<f64>)>,
    pub(super) shown: Option<&'a Labels<'a>>,
    pub(super) later: Option<LaterRows<'a>>,
    pub(super) matched: Option<MatchedRows<'a>>,
    pub(super) label_counts: Option<Vec<u32>>,
    /// Models that others are compared with, and nobody has to be told about.
    pub(super) only_compared: Vec<String>,
    pub(super) label_names: Option<&'a Names>,
    /// Findings of the caller about the data.
    pub(super) given_findings: Vec<Finding>,
    pub(super) judged: Option<Judged>,
    pub(super) ignored: Option<Arc<IgnoredPairs>>,
    /// What to know about how the data were prepared.
    pub(super) notes: Vec<String>,
    pub(super) progress: &'a dyn Progress,
}

/// Later labels of some of the test rows.
#[derive(Clone)]
pub(super) struct LaterRows<'a> {
    pub(super) labels: &'a Labels<'a>,
    pub(super) has_later: Vec<bool>,
    /// The probability of having later labels.
    pub(super) rho: Vec<f64>,
}

impl<'a> Evaluation<'a> {
    /// Models by name, each with scores for the rows of `truth` in the same order.
    pub fn new(truth: &'a Labels<'a>, models: &[(&str, &'a Csr<'a, f32>)]) -> Result<Evaluation<'a>> {
        if models.is_empty() {
            return Err(Error::value("nothing to evaluate").expected("the predictions of at least one model"));
        }
        if truth.rows() == 0 {
            return Err(Error::value("the test labels have no rows").expected("at least one row"));
        }
        for (name, scores) in models {
            if scores.nnz() == 0 && scores.rows() == truth.rows() {
                return Err(Error::value(format!("there are no predictions of '{name}'")).expected("at least one 'label:score'"));
            }
        }
        Evaluation::checked(truth, models)
    }

    /// The same, also of no rows.
    pub(super) fn checked(truth: &'a Labels<'a>, models: &[(&str, &'a Csr<'a, f32>)]) -> Result<Evaluation<'a>> {
        if models.is_empty() {
            return Err(Error::value("nothing to evaluate").expected("the predictions of at least one model"));
        }
        for (place, (name, scores)) in models.iter().enumerate() {
            if models[..place].iter().any(|(other, _)| other == name) {
                return Err(Error::value(format!("two models are called '{name}'")).hint("give each its own name: NAME=FILE"));
            }
            same(&format!("the predictions of '{name}'"), "rows", truth.rows(), scores.rows())?;
            same(&format!("the predictions of '{name}'"), "labels", truth.cols(), scores.cols())?;
        }
        let models = models.iter().map(|(name, scores)| ((*name).to_owned(), *scores)).collect();
        Ok(Evaluation { models, ..Evaluation::blank(truth) })
    }

    /// Nothing but labels.
    pub(super) fn blank(truth: &'a Labels<'a>) -> Evaluation<'a> {
        Evaluation {
            request: EvaluateRequest::default(),
            truth,
            models: Vec::new(),
            train: None,
            propensities: Vec::new(),
            row_models: Vec::new(),
            row_covariates: Vec::new(),
            groups: None,
            weights: None,
            shown: None,
            later: None,
            matched: None,
            label_counts: None,
            only_compared: Vec::new(),
            label_names: None,
            given_findings: Vec::new(),
            judged: None,
            ignored: None,
            notes: Vec::new(),
            progress: &Silent,
        }
    }

    /// How often labels occur in training: for findings, and for what a request names in terms of them.
    #[must_use]
    pub fn train(mut self, stats: &'a LabelStats) -> Self {
        self.train = Some(stats);
        self
    }

    /// Models that are only compared with: no evidence about them is asked for.
    #[must_use]
    pub(crate) fn only_compared(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.only_compared.extend(names);
        self
    }

    /// Everything that a request asks for. Propensities, groups and weights that it names are read or computed here, those of
    /// training counts from [`Evaluation::train`], which comes first; setters that follow change single choices.
    pub fn request(mut self, request: EvaluateRequest) -> Result<Self> {
        let (labels, train) = (self.truth.cols(), self.train);
        for spec in &request.propensities {
            self = self.propensity(spec.read(train, labels as u64)?);
        }
        if let Some(spec) = request.groups.as_ref().filter(|spec| **spec != GroupsSpec::Given) {
            self.groups = Some(Groups::from_spec(spec, train, labels as u64)?);
        }
        if let Some(spec) = request.weights.as_ref().filter(|spec| **spec != WeightsSpec::Given) {
            // Several propensities would give several weights.
            let only = if self.row_models.is_empty() && self.propensities.len() == 1 { self.propensities.first() } else { None };
            let weights = spec.of_labels(train, only, labels as u64)?;
            if !(self.propensities.is_empty() && self.row_models.is_empty()) {
                self.notes.extend(spec.corrects_twice());
            }
            self = self.weights(spec.to_string(), weights)?;
        }
        if let Some(tau) = request.clip {
            check_clip(tau)?;
        }
        if let Some(rate) = &request.rate {
            rate.check_draw(labels as u64)?;
        }
        if let Some(path) = &request.ignore {
            self.ignored = Some(Arc::new(IgnoredPairs::read(path, self.truth.rows(), labels)?));
        }
        self.request = request;
        Ok(self)
    }

    /// Adds propensities, per label or row-dependent.
    #[must_use]
    pub fn propensity(mut self, propensity: impl Into<Propensity>) -> Self {
        match propensity.into() {
            Propensity::PerLabel(propensities) => self.propensities.push(propensities),
            Propensity::RowDependent(rows) => self.row_models.push((rows.origin().to_string(), rows.model().clone())),
        }
        self
    }

    /// Adds row-dependent propensities under a name. Several under one name are fits of several models, each about its own
    /// predictions.
    #[must_use]
    pub fn row_propensity(mut self, origin: impl Into<String>, model: RowModel) -> Self {
        self.row_models.push((origin.into(), model));
        self
    }

    /// A given covariate of the test rows that a row model was fitted with, under the same name.
    pub fn row_covariate(mut self, name: &str, given: GivenCovariate<'a>) -> Result<Self> {
        given.check(name, self.truth.rows(), self.truth.cols())?;
        self.row_covariates.push((name.to_owned(), given));
        Ok(self)
    }

    /// Which metrics, as specs: `precision`, `macro-f:beta=2`, `recall:observed` (with its estimators). All unless given.
    pub fn metrics(mut self, specs: &[&str]) -> Result<Self> {
        self.request.metrics = Some(specs.iter().map(|text| text.parse()).collect::<Result<_>>()?);
        Ok(self)
    }

    /// Which estimators, for metrics that do not name their own. All that each metric has unless given.
    #[must_use]
    pub fn estimators(mut self, estimators: &[Estimator]) -> Self {
        self.request.estimators = Some(estimators.to_vec());
        self
    }

    /// Lengths of the top list.
    pub fn ks(mut self, ks: &[usize]) -> Result<Self> {
        self.request.k = KList::new(ks)?;
        Ok(self)
    }

    /// The level of the intervals.
    pub fn level(mut self, level: f64) -> Result<Self> {
        self.request.level = Level::new(level)?;
        Ok(self)
    }

    /// Which question intervals answer.
    #[must_use]
    pub fn interval(mut self, kind: IntervalKind) -> Self {
        self.request.interval = kind;
        self
    }

    /// Bootstrap replicates for means over labels, and the seed of everything random; 0 replicates take the jackknife.
    #[must_use]
    pub fn bootstrap(mut self, replicates: usize, seed: u64) -> Self {
        (self.request.bootstrap, self.request.seed) = (replicates, seed);
        self
    }

    /// Every metric by group of labels too.
    pub fn groups(mut self, groups: Groups) -> Result<Self> {
        same("the groups", "labels", self.truth.cols(), groups.labels())?;
        self.groups = Some(groups);
        self.request.groups = Some(GroupsSpec::Given);
        Ok(self)
    }

    /// Gains of labels for `weighted-precision`, under a name.
    pub fn weights(mut self, name: impl Into<String>, weights: Vec<f64>) -> Result<Self> {
        same("the weights", "labels", self.truth.cols(), weights.len())?;
        weights::check_values(&weights)?;
        self.weights = Some((name.into(), weights));
        self.request.weights = Some(WeightsSpec::Given);
        Ok(self)
    }

    /// Also estimates with inverse propensities cut at `tau`, with a bound of their bias.
    pub fn clip(mut self, tau: f64) -> Result<Self> {
        check_clip(tau)?;
        self.request.clip = Some(tau);
        Ok(self)
    }

    /// Also the bounds of unbiased sums and differences if propensities are off.
    #[must_use]
    pub fn sensitivity(mut self, sensitivity: Sensitivity) -> Self {
        self.request.sensitivity = Some(sensitivity);
        self
    }

    /// The test labels are a controlled set: labels were shown at this rate.
    pub fn rate(mut self, rate: Rate) -> Result<Self> {
        rate.check_draw(self.truth.cols() as u64)?;
        self.request.rate = Some(rate);
        Ok(self)
    }

    /// The pairs that were shown, relevant or not: for the self-normalised and the doubly robust estimate.
    pub fn shown(mut self, shown: &'a Labels<'a>) -> Result<Self> {
        same("the shown pairs", "rows", self.truth.rows(), shown.rows())?;
        same("the shown pairs", "labels", self.truth.cols(), shown.cols())?;
        self.shown = Some(shown);
        Ok(self)
    }

    /// Later labels of the test rows with `has_later`, which happened with probability `rho`: for the doubly robust estimate of
    /// precision. Later labels of other rows are ignored.
    pub fn later(mut self, labels: &'a Labels<'a>, has_later: Vec<bool>, rho: Vec<f64>) -> Result<Self> {
        same("the later labels", "rows", self.truth.rows(), labels.rows())?;
        same("the later labels", "labels", self.truth.cols(), labels.cols())?;
        same("the rows with later labels", "rows", self.truth.rows(), has_later.len())?;
        same("the probabilities of later labels", "rows", self.truth.rows(), rho.len())?;
        if !has_later.contains(&true) {
            return Err(Error::value("no row has later labels").expected("some of the test rows"));
        }
        if let Some(row) = rho.iter().position(|rho| !(*rho > 0.0 && *rho <= 1.0)) {
            return Err(Error::value(format!("the probability of later labels of row {row} is out of range"))
                .expected("a number in (0, 1]")
                .found(digits(rho[row]))
                .hint("rows that could never have later labels cannot be represented by others"));
        }
        self.later = Some(LaterRows { labels, has_later, rho });
        Ok(self)
    }

    /// Training rows with a later snapshot and out-of-fold predictions under the models' names: for the omega estimate.
    pub fn matched(mut self, matched: MatchedRows<'a>) -> Result<Self> {
        same("the matched rows", "labels", self.truth.cols(), matched.early().cols())?;
        self.matched = Some(matched);
        Ok(self)
    }

    /// How many relevant labels each row has, observed or not: for `recall-known`.
    pub fn label_counts(mut self, counts: Vec<u32>) -> Result<Self> {
        same("the label counts", "rows", self.truth.rows(), counts.len())?;
        let observed = |row: usize| self.truth.row_ids(row).len();
        if let Some(row) = (0..counts.len()).find(|row| (counts[*row] as usize) < observed(*row)) {
            return Err(Error::value(format!("the label count of row {row} is too small"))
                .expected(format!("at least its {} observed labels", observed(row)))
                .found(counts[row].to_string()));
        }
        self.label_counts = Some(counts);
        Ok(self)
    }

    /// What labels are called, for findings that name some.
    pub fn label_names(mut self, names: &'a Names) -> Result<Self> {
        names.check_len(self.truth.cols())?;
        self.label_names = Some(names);
        Ok(self)
    }

    /// Adds findings of the caller about the data, as [`test_in_training`](super::misalignment::test_in_training) does.
    #[must_use]
    pub fn finding(mut self, finding: Finding) -> Self {
        self.given_findings.push(finding);
        self
    }

    /// Judged pairs of the models' lists: for the judged estimate.
    #[must_use]
    pub fn judged(mut self, judged: Judged) -> Self {
        self.judged = Some(judged);
        self
    }

    /// Pairs that may not be predicted: they are taken out of the predictions of every model before the top k is selected. Test labels
    /// keep them.
    pub fn ignore(mut self, ignored: impl Into<Arc<IgnoredPairs>>) -> Result<Self> {
        let ignored = ignored.into();
        ignored.check(self.truth.rows(), self.truth.cols())?;
        self.ignored = Some(ignored);
        Ok(self)
    }

    /// Other choices than ours where libraries differ.
    #[must_use]
    pub fn conventions(mut self, conventions: Conventions) -> Self {
        self.request.conventions = conventions;
        self
    }

    /// Only the rows of shard `index` of `of`, both counted from 1. Inputs are those of the whole.
    pub fn shard(mut self, index: usize, of: usize) -> Result<Self> {
        self.request.shard = Shard::new(index, of)?;
        Ok(self)
    }

    /// Reports progress.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// The pass and its finish. Runs in the current rayon pool.
    pub fn run(&self) -> Result<EvaluationResult> {
        if !self.request.shard.is_whole() {
            return Err(Error::value("a shard is only a part of an evaluation").hint("tally all shards and merge the tallies"));
        }
        Ok(self.run_with_tally()?.1)
    }

    /// The same with the tally that it came from, which knows nothing of judged pairs.
    pub(crate) fn run_with_tally(&self) -> Result<(Tally, EvaluationResult)> {
        self.without_ignored(|kept| {
            let tally = super::pass::tally(kept, 0..kept.truth.rows())?;
            let mut result = tally.finish_watched(kept.progress)?;
            if let Some(judged) = &kept.judged {
                judged::report::add(kept, judged, &tally.settings, &mut result)?;
            }
            Ok((tally, result))
        })
    }

    /// Does something with the predictions that are left when ignored pairs are taken out of them: everything that looks at predictions,
    /// covariates and guesses included, must see only these.
    fn without_ignored<T>(&self, then: impl FnOnce(&Evaluation<'_>) -> Result<T>) -> Result<T> {
        let Some(ignored) = &self.ignored else { return then(self) };
        let kept = self.models.iter().map(|(_, scores)| ignored.remove_from(scores)).collect::<Result<Vec<_>>>()?;
        let names = self.models.iter().map(|(name, _)| name.clone());
        then(&Evaluation { models: names.zip(&kept).collect(), ..self.clone() })
    }

    /// The pass alone, over the rows of the shard.
    pub fn tally(&self) -> Result<Tally> {
        self.tally_rows(self.request.shard.range(self.truth.rows()))
    }

    /// The pass over any range of the rows. Tallies of ranges that cover all rows merge into that of the whole, to the last bit,
    /// wherever the ranges are cut.
    pub fn tally_rows(&self, rows: Range<usize>) -> Result<Tally> {
        if rows.start > rows.end || rows.end > self.truth.rows() {
            return Err(Error::value("the range of rows is out of bounds")
                .expected(format!("a range within the {} rows", self.truth.rows()))
                .found(format!("{}..{}", rows.start, rows.end)));
        }
        if self.judged.is_some() {
            return Err(Error::value("a tally cannot hold judged pairs")
                .hint("judged pairs are looked up in the lists of all rows at once: evaluate without shards and tallies"));
        }
        self.without_ignored(|kept| super::pass::tally(kept, rows))
    }
}

fn check_clip(tau: f64) -> Result<()> {
    if tau >= 1.0 && tau.is_finite() {
        return Ok(());
    }
    Err(Error::value("the clip is out of range").expected("an inverse propensity of at least 1").found(tau.to_string()))
}

/// Two things must have the same size.
pub(crate) fn same(what: &str, unit: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::value(format!("{what} do not fit the test labels"))
        .expected(format!("{expected} {unit}"))
        .found(found.to_string())
        .hint(match unit {
            "rows" => "row i of one file must be row i of the other",
            _ => "labels are counted from 0, and the header has their number",
        }))
}
