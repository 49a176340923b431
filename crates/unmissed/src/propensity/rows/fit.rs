//! [`RowFit`]: what to fit row-dependent propensities to, and how.

use super::arrow::dot;
use super::balance::Balance;
use super::calibration::{calibration, dependence};
use super::file::VERSION;
use super::given::{check_leaks, check_name};
use super::matched::Matched;
use super::newton::{Point, maximise, maximise_evidence, propensity};
use super::refit::{Refits, bootstrap_weights};
use super::{Covariate, GivenCovariate, GivenName, RankHits, RowModel};
use crate::data::{Csr, KnownPair, LabelStats, Labels};
use crate::error::{Error, Result};
use crate::propensity::row_ids::check_row_ids;
use crate::rng::{Purpose, below, stream};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Fewer matched pairs than this say next to nothing.
const LEAST_PAIRS: usize = 30;
/// How often a model is refitted under a bootstrap over rows unless told otherwise.
pub const DEFAULT_REFITS: usize = 100;
/// The most refits: each is kept.
const MOST_REFITS: usize = 100_000;

/// What identifies the propensities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowEvidence {
    /// A later snapshot of the same rows: all of their relevant labels.
    Later,
    /// Relevant labels among those shown at random to the same rows: some of their relevant labels.
    Controlled,
    /// Judged pairs of the same rows: relevant labels among those that models listed.
    Judged,
}

/// The builder of a fit.
#[derive(Clone)]
pub struct RowFit<'a> {
    early: &'a Labels<'a>,
    later: Cow<'a, Labels<'a>>,
    /// How many pairs each label of `later` stands for; empty when each stands for itself.
    stands_for: Vec<f64>,
    /// How many pairs a judged one stands for on average.
    unit: f64,
    evidence: RowEvidence,
    scores: Option<(String, &'a Csr<'a, f32>)>,
    covariates: Option<Vec<Covariate>>,
    given: Vec<(String, GivenCovariate<'a>)>,
    folds: usize,
    replicates: usize,
    seed: u64,
}

impl<'a> RowFit<'a> {
    /// From labels as they were observed, and what is known of the same rows.
    pub fn new(early: &'a Labels<'a>, known: &'a Labels<'a>, evidence: RowEvidence) -> Result<RowFit<'a>> {
        if (early.rows(), early.cols()) != (known.rows(), known.cols()) {
            return Err(Error::value("matched pairs need the same rows twice")
                .expected(format!("{} rows and {} labels", early.rows(), early.cols()))
                .found(format!("{} rows and {} labels", known.rows(), known.cols()))
                .hint("without matched rows only the ratio of label frequencies is identified, not how it depends on the row"));
        }
        check_row_ids(early.rows())?;
        Ok(RowFit {
            early,
            later: Cow::Borrowed(known),
            stands_for: Vec::new(),
            unit: 1.0,
            evidence,
            scores: None,
            covariates: None,
            given: Vec::new(),
            folds: 5,
            replicates: DEFAULT_REFITS,
            seed: 0,
        })
    }

    /// From labels as they were observed, and pairs of the same rows that were judged. Only pairs that could be judged count, so what
    /// is fitted holds for labels that models list: those of the judged models and of others like them.
    pub fn judged(early: &'a Labels<'a>, pairs: &[KnownPair]) -> Result<RowFit<'a>> {
        check_row_ids(early.rows())?;
        let mut relevant: Vec<&KnownPair> = pairs.iter().filter(|pair| pair.relevant).collect();
        relevant.sort_by_key(|pair| (pair.row, pair.label));
        if let Some(pair) = relevant.iter().find(|pair| pair.row as usize >= early.rows() || pair.label as usize >= early.cols()) {
            return Err(Error::value("a judged pair is not of these rows")
                .expected(format!("rows below {} and labels below {}", early.rows(), early.cols()))
                .found(format!("row {}, label {}", pair.row, pair.label)));
        }
        let mut rows = vec![Vec::new(); early.rows()];
        relevant.iter().for_each(|pair| rows[pair.row as usize].push(pair.label));
        let judged: Vec<f64> = pairs.iter().filter(|pair| !pair.observed).map(|pair| pair.weight).collect();
        Ok(RowFit {
            early,
            later: Cow::Owned(Labels::from_ids(early.cols() as u64, rows)?),
            stands_for: relevant.iter().map(|pair| pair.weight).collect(),
            unit: judged.iter().sum::<f64>() / judged.len().max(1) as f64,
            evidence: RowEvidence::Judged,
            scores: None,
            covariates: None,
            given: Vec::new(),
            folds: 5,
            replicates: DEFAULT_REFITS,
            seed: 0,
        })
    }

    /// The audited model's predictions for the same rows, made without having been trained on them.
    pub fn scores(mut self, name: &str, scores: &'a Csr<'a, f32>) -> Result<Self> {
        if (scores.rows(), scores.cols()) != (self.early.rows(), self.early.cols()) {
            return Err(Error::value("the predictions are not for the matched rows")
                .expected(format!("{} rows and {} labels", self.early.rows(), self.early.cols()))
                .found(format!("{} rows and {} labels", scores.rows(), scores.cols())));
        }
        self.scores = Some((name.to_owned(), scores));
        Ok(self)
    }

    /// Which covariates; all that the data allow unless given.
    pub fn covariates(mut self, covariates: &[Covariate]) -> Self {
        self.covariates = Some(covariates.to_vec());
        self
    }

    /// Adds a covariate of labels, rows or pairs under a name. One that reveals the outcome is rejected.
    pub fn given(mut self, name: &str, given: GivenCovariate<'a>) -> Result<Self> {
        check_name(name, &self.given)?;
        given.check(name, self.early.rows(), self.early.cols())?;
        check_leaks(name, &given, self.early, &self.later)?;
        self.given.push((name.to_owned(), given));
        Ok(self)
    }

    /// In how many parts rows are left out for the reliability curve.
    pub fn folds(mut self, folds: usize) -> Result<Self> {
        if folds < 2 {
            return Err(Error::value("too few folds").expected("at least 2").found(folds.to_string()));
        }
        self.folds = folds;
        Ok(self)
    }

    /// How many times the model is refitted under a bootstrap over rows, and the seed of that and of the folds.
    pub fn replicates(mut self, replicates: usize, seed: u64) -> Self {
        (self.replicates, self.seed) = (replicates, seed);
        self
    }

    /// Fits.
    pub fn run(&self) -> Result<RowModel> {
        if self.replicates > MOST_REFITS {
            return Err(Error::value("too many refits")
                .expected(format!("at most {MOST_REFITS}"))
                .found(self.replicates.to_string()));
        }
        let covariates = self.chosen()?;
        // Not the observed counts: next to an effect of the label, a count that leaves the pair's own row out gives its outcome away,
        // and one that does not contains it. Counts of relevant labels know nothing of what was observed.
        let counts = self.counts()?;
        let scores = self.scores.as_ref().map(|(_, scores)| *scores);
        let mut pairs = Matched::collect(self.early, &self.later, scores, &covariates, &self.given, &counts);
        (pairs.stands_for, pairs.unit) = (self.stands_for.clone(), self.unit.max(1.0));
        let observed = pairs.observed.iter().filter(|observed| **observed).count();
        if pairs.len() < LEAST_PAIRS || observed == 0 || observed == pairs.len() {
            return Err(Error::value("the matched pairs do not identify propensities")
                .expected(format!("at least {LEAST_PAIRS} relevant pairs, some of them observed and some not"))
                .found(format!("{} pairs, {observed} of them observed", pairs.len()))
                .hint("a later snapshot must have labels that the training labels miss"));
        }
        let rows = self.early.rows();
        let once = vec![1.0; rows];
        let (point, variance) = maximise_evidence(&pairs, &once)?;
        let fold_of = self.folds_of_rows();
        let mut logits = self.cross_fitted(&pairs, &fold_of, variance, &point)?;
        let balance = Balance::new(&pairs, &covariates);
        let of_part: Vec<f64> = balance.pairs().iter().map(|pair| logits[*pair]).collect();
        let (correction, balanced) = balance.find(&once, &of_part, &vec![0.0; pairs.width])?;
        logits.iter_mut().enumerate().for_each(|(pair, logit)| *logit += dot(&correction, pairs.x(pair)));
        let predicted: Vec<f64> = logits.into_iter().map(propensity).collect();
        let weights = bootstrap_weights(rows, self.replicates, self.seed)?;
        let refits = Refits::new(&pairs, (&point, variance), (&balance, &correction), (&fold_of, self.folds));
        let replicates = weights.par_iter().map(|weights| refits.run(weights)).collect::<Result<Vec<_>>>()?;
        let unfinished = replicates.iter().filter(|(_, found)| !found).count();
        let replicates = replicates.into_iter().map(|(parameters, _)| parameters).collect();
        let mut matched_rows = pairs.rows.clone();
        matched_rows.dedup();
        let with_hits = self.scores.is_some() && self.evidence == RowEvidence::Later;
        Ok(RowModel {
            version: VERSION,
            evidence: self.evidence,
            audited: self.scores.as_ref().map(|(name, _)| name.clone()),
            rows: matched_rows.len() as u64,
            pairs: pairs.len() as u64,
            observed: observed as u64,
            scales: pairs.scales.clone(),
            labels: pairs.labels.clone(),
            effect_variance: variance,
            parameters: point.parameters(&correction),
            converged: point.converged && balanced,
            unfinished: unfinished as u64,
            given: self.given.iter().map(|(name, given)| GivenName::of(name, given)).collect(),
            replicates,
            hits: with_hits.then(|| RankHits::count(&pairs, &weights)),
            dependence: dependence(&pairs, &predicted),
            calibration: calibration(&pairs, &predicted, self.folds),
            covariates,
            counts,
        })
    }

    /// Relevant pairs by label.
    fn counts(&self) -> Result<Vec<u64>> {
        let mut counts = LabelStats::of(&self.later).dense_counts()?;
        if !self.stands_for.is_empty() {
            let mut sums = vec![0.0; counts.len()];
            self.later.ids().iter().zip(&self.stands_for).for_each(|(label, weight)| sums[*label as usize] += weight);
            counts = sums.into_iter().map(|sum: f64| sum.round() as u64).collect();
        }
        Ok(counts)
    }

    fn chosen(&self) -> Result<Vec<Covariate>> {
        let allowed = |covariate: &Covariate| self.scores.is_some() || !covariate.needs_scores();
        let Some(chosen) = &self.covariates else { return Ok(Covariate::ALL.into_iter().filter(allowed).collect()) };
        for (place, covariate) in chosen.iter().enumerate() {
            if !allowed(covariate) {
                return Err(Error::value(format!("'{}' needs the model's predictions for the matched rows", covariate.name()))
                    .hint("pass out-of-fold predictions for the training rows"));
            }
            if chosen[..place].contains(covariate) {
                return Err(Error::value(format!("the covariate '{}' is named twice", covariate.name())));
            }
        }
        Ok(chosen.clone())
    }

    fn folds_of_rows(&self) -> Vec<u64> {
        let fold = |row: usize| below(&mut stream(self.seed, Purpose::Folds, row as u64), self.folds as u64);
        (0..self.early.rows()).map(fold).collect()
    }

    /// The logit of each pair from a fit that left its row out.
    fn cross_fitted(&self, pairs: &Matched, fold_of: &[u64], variance: f64, start: &Point) -> Result<Vec<f64>> {
        let fits = (0..self.folds as u64)
            .into_par_iter()
            .map(|fold| {
                let weights: Vec<f64> = fold_of.iter().map(|of| f64::from(u8::from(*of != fold))).collect();
                maximise(pairs, &weights, variance, start)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok((0..pairs.len()).map(|pair| fits[fold_of[pairs.rows[pair] as usize] as usize].logit(pairs, pair)).collect())
    }
}
