//! [`Evaluation`]: what to evaluate, against what, and how.

use super::plan::groups::Groups;
use super::plan::settings::Rate;
use super::report::{EvaluationResult, Row};
use super::rows::LaterRows;
use crate::data::{Csr, LabelStats, Labels};
use crate::error::{Error, Result};
use crate::metrics::Estimator;
use crate::progress::{Progress, Silent};
use crate::propensity::rows::{GivenCovariate, RowModel};
use crate::propensity::{Propensities, Propensity};
use crate::request::Conventions;
use crate::request::IntervalKind;
use crate::spec::Spec;

/// The largest k: top lists are held for all rows.
const LARGEST_K: usize = 1_000_000;

/// An evaluation in the making. See the module's page.
#[derive(Clone)]
pub struct Evaluation<'a> {
    pub(super) truth: &'a Labels<'a>,
    pub(super) models: Vec<(String, &'a Csr<'a, f32>)>,
    pub(super) train: Option<&'a LabelStats>,
    pub(super) propensities: Vec<Propensities>,
    pub(super) row_models: Vec<(String, RowModel)>,
    pub(super) row_covariates: Vec<(String, GivenCovariate<'a>)>,
    pub(super) metrics: Option<Vec<Spec>>,
    pub(super) estimators: Option<Vec<Estimator>>,
    pub(super) ks: Vec<usize>,
    pub(super) level: f64,
    pub(super) interval: IntervalKind,
    pub(super) bootstrap: usize,
    pub(super) seed: u64,
    pub(super) groups: Option<Groups>,
    pub(super) weights: Option<(String, Vec<f64>)>,
    pub(super) clip: Option<f64>,
    pub(super) rate: Option<Rate>,
    pub(super) shown: Option<&'a Labels<'a>>,
    pub(super) later: Option<LaterRows<'a>>,
    pub(super) label_counts: Option<Vec<u32>>,
    pub(super) conventions: Conventions,
    pub(super) shard: (usize, usize),
    pub(super) progress: &'a dyn Progress,
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
        for (place, (name, scores)) in models.iter().enumerate() {
            if models[..place].iter().any(|(other, _)| other == name) {
                return Err(Error::value(format!("two models are called '{name}'")).hint("give each a name of its own: NAME=FILE"));
            }
            same(&format!("the predictions of '{name}'"), "rows", truth.rows(), scores.rows())?;
            same(&format!("the predictions of '{name}'"), "labels", truth.cols(), scores.cols())?;
            if scores.nnz() == 0 {
                return Err(Error::value(format!("the predictions of '{name}' are empty")).expected("at least one 'label:score'"));
            }
        }
        Ok(Evaluation {
            truth,
            models: models.iter().map(|(name, scores)| ((*name).to_owned(), *scores)).collect(),
            train: None,
            propensities: Vec::new(),
            row_models: Vec::new(),
            row_covariates: Vec::new(),
            metrics: None,
            estimators: None,
            ks: vec![1, 3, 5],
            level: 0.95,
            interval: IntervalKind::Population,
            bootstrap: 200,
            seed: 0,
            groups: None,
            weights: None,
            clip: None,
            rate: None,
            shown: None,
            later: None,
            label_counts: None,
            conventions: Conventions::default(),
            shard: (0, 1),
            progress: &Silent,
        })
    }

    /// How often labels occur in training: for findings.
    #[must_use]
    pub fn train(mut self, stats: &'a LabelStats) -> Self {
        self.train = Some(stats);
        self
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

    /// Adds propensities that depend on the row, for sums over labels, with the ratio baseline beside them.
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
        self.metrics = Some(specs.iter().map(|text| text.parse()).collect::<Result<_>>()?);
        Ok(self)
    }

    /// Which estimators, for metrics that do not name their own. All that each metric has unless given.
    #[must_use]
    pub fn estimators(mut self, estimators: &[Estimator]) -> Self {
        self.estimators = Some(estimators.to_vec());
        self
    }

    /// Lengths of the top list; 1, 3 and 5 unless given.
    pub fn ks(mut self, ks: &[usize]) -> Result<Self> {
        if let Some(k) = ks.iter().find(|k| !(1..=LARGEST_K).contains(*k)) {
            return Err(Error::value("k is out of range").expected(format!("1 to {LARGEST_K}")).found(k.to_string()));
        }
        if ks.is_empty() {
            return Err(Error::value("no k is given").expected("at least one"));
        }
        self.ks = ks.to_vec();
        self.ks.sort_unstable();
        self.ks.dedup();
        Ok(self)
    }

    /// The level of the intervals; 0.95 unless given.
    pub fn level(mut self, level: f64) -> Result<Self> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::value("the level is out of range").expected("a number between 0 and 1").found(level.to_string()));
        }
        self.level = level;
        Ok(self)
    }

    /// Which question intervals answer.
    #[must_use]
    pub fn interval(mut self, kind: IntervalKind) -> Self {
        self.interval = kind;
        self
    }

    /// Bootstrap replicates for means over labels, and their seed; 0 replicates turn them off, 200 unless given.
    #[must_use]
    pub fn bootstrap(mut self, replicates: usize, seed: u64) -> Self {
        (self.bootstrap, self.seed) = (replicates, seed);
        self
    }

    /// Every metric by group of labels too.
    pub fn groups(mut self, groups: Groups) -> Result<Self> {
        same("the groups", "labels", self.truth.cols(), groups.labels())?;
        self.groups = Some(groups);
        Ok(self)
    }

    /// Gains of labels for `weighted-precision`, under a name.
    pub fn weights(mut self, name: impl Into<String>, weights: Vec<f64>) -> Result<Self> {
        same("the weights", "labels", self.truth.cols(), weights.len())?;
        if let Some(label) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
            return Err(Error::value(format!("the weight of label {label} is out of range"))
                .expected("a finite number of at least 0")
                .found(weights[label].to_string()));
        }
        self.weights = Some((name.into(), weights));
        Ok(self)
    }

    /// Also estimates with inverse propensities cut at `tau`, with a bound of their bias.
    pub fn clip(mut self, tau: f64) -> Result<Self> {
        if !(tau >= 1.0 && tau.is_finite()) {
            return Err(Error::value("the clip is out of range")
                .expected("an inverse propensity of at least 1")
                .found(tau.to_string()));
        }
        self.clip = Some(tau);
        Ok(self)
    }

    /// The test labels are a controlled set: labels were shown at this rate.
    pub fn rate(mut self, rate: Rate) -> Result<Self> {
        match &rate {
            Rate::Shown { shown, of } if !(1..=*of).contains(shown) || *of as usize != self.truth.cols() => {
                return Err(Error::value("the rate is off")
                    .expected(format!("r/m with 1 <= r <= m and m = {} labels", self.truth.cols()))
                    .found(format!("{shown}/{of}")));
            }
            Rate::Shown { .. } => {}
            Rate::PerLabel(rates) => same("the rates", "labels", self.truth.cols(), rates.len())?,
        }
        self.rate = Some(rate);
        Ok(self)
    }

    /// The pairs that were shown, relevant or not: for the self-normalised estimate.
    pub fn shown(mut self, shown: &'a Labels<'a>) -> Result<Self> {
        same("the shown pairs", "rows", self.truth.rows(), shown.rows())?;
        same("the shown pairs", "labels", self.truth.cols(), shown.cols())?;
        self.shown = Some(shown);
        Ok(self)
    }

    /// Later labels of the test rows with `has_later`, which happened with probability `rho`: for the doubly robust estimate of
    /// precision. What is said of other rows is not looked at.
    pub fn later(mut self, labels: &'a Labels<'a>, has_later: Vec<bool>, rho: Vec<f64>) -> Result<Self> {
        same("the later labels", "rows", self.truth.rows(), labels.rows())?;
        same("the later labels", "labels", self.truth.cols(), labels.cols())?;
        if !has_later.contains(&true) {
            return Err(Error::value("no row has later labels").expected("some of the test rows"));
        }
        self.later = Some(LaterRows { labels, has_later, rho });
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

    /// Other choices than ours where libraries differ.
    #[must_use]
    pub fn conventions(mut self, conventions: Conventions) -> Self {
        self.conventions = conventions;
        self
    }

    /// Only the rows of shard `index` of `of`, both counted from 1. Inputs are those of the whole; shards are made of whole chunks
    /// of [`CHUNK`](super::CHUNK) rows.
    pub fn shard(mut self, index: usize, of: usize) -> Result<Self> {
        if !(1..=of).contains(&index) {
            return Err(Error::value("the shard is out of range").expected("i/n with 1 <= i <= n").found(format!("{index}/{of}")));
        }
        self.shard = (index - 1, of);
        Ok(self)
    }

    /// Who watches.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// The pass and its finish. Runs in the current rayon pool.
    pub fn run(&self) -> Result<EvaluationResult> {
        if self.shard.1 > 1 {
            return Err(
                Error::value("a shard is not a whole evaluation").hint("tally the shards, merge them, and finish the whole")
            );
        }
        let added = [self.by_row()?, super::rows::known_results(self)?];
        let mut result = self.label_wise_tally()?.finish_watched(self.progress)?;
        for (rows, notes) in added {
            result.rows.extend(rows);
            result.notes.extend(notes);
        }
        Ok(result)
    }

    /// Only what propensities that depend on the row add, and notes about it.
    pub fn by_row(&self) -> Result<(Vec<Row>, Vec<String>)> {
        super::rows::row_results(self)
    }
}

/// Two things must have the same size.
pub(super) fn same(what: &str, unit: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::value(format!("{what} do not fit the test labels"))
        .expected(format!("{expected} {unit}"))
        .found(found.to_string())
        .hint(match unit {
            "rows" => "row i of one file must be row i of the other",
            _ => "labels are counted from 0 and their number stands in the header",
        }))
}
