//! [`RowFit`]: what to fit row-dependent propensities to, and how.

use super::calibration::{calibration, dependence};
use super::file::VERSION;
use super::matched::Matched;
use super::newton::{Point, maximise, maximise_evidence};
use super::{Covariate, RankHits, RowModel};
use crate::data::{Csr, LabelStats, Labels};
use crate::error::{Error, Result};
use crate::rng::{Purpose, below, stream};
use rand_distr::{Distribution, Poisson};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Fewer matched pairs than this say next to nothing.
const LEAST_PAIRS: usize = 30;

/// What identifies the propensities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// A later snapshot of the same rows: all of their relevant labels.
    Later,
    /// Relevant labels among those shown at random to the same rows: some of their relevant labels.
    Controlled,
}

/// A fit in the making.
#[derive(Clone)]
pub struct RowFit<'a> {
    early: &'a Labels<'a>,
    later: &'a Labels<'a>,
    evidence: Evidence,
    scores: Option<(String, &'a Csr<'a, f32>)>,
    covariates: Option<Vec<Covariate>>,
    folds: usize,
    replicates: usize,
    seed: u64,
}

impl<'a> RowFit<'a> {
    /// From labels as they were observed, and what is known of the same rows.
    pub fn new(early: &'a Labels<'a>, known: &'a Labels<'a>, evidence: Evidence) -> Result<RowFit<'a>> {
        if (early.rows(), early.cols()) != (known.rows(), known.cols()) {
            return Err(Error::value("matched pairs need the same rows twice")
                .expected(format!("{} rows and {} labels", early.rows(), early.cols()))
                .found(format!("{} rows and {} labels", known.rows(), known.cols()))
                .hint("without matching only the ratio of label frequencies is identified, not how it depends on the row"));
        }
        Ok(RowFit { early, later: known, evidence, scores: None, covariates: None, folds: 5, replicates: 100, seed: 0 })
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
        let covariates = self.chosen()?;
        // Not the observed counts: next to an effect of the label, a count that leaves the pair's own row out gives its outcome away,
        // and one that does not contains it. Counts of relevant labels know nothing of what was observed.
        let counts = LabelStats::of(self.later).dense_counts()?;
        let pairs = Matched::collect(self.early, self.later, self.scores.as_ref().map(|(_, scores)| *scores), &covariates, &counts);
        let observed = pairs.observed.iter().filter(|observed| **observed).count();
        if pairs.len() < LEAST_PAIRS || observed == 0 || observed == pairs.len() {
            return Err(Error::value("the matched pairs do not identify propensities")
                .expected(format!("at least {LEAST_PAIRS} relevant pairs, some of them observed and some not"))
                .found(format!("{} pairs, {observed} of them observed", pairs.len()))
                .hint("a later snapshot must have labels that the training labels miss"));
        }
        let rows = self.early.rows();
        let (point, variance) = maximise_evidence(&pairs, &vec![1.0; rows])?;
        let predicted = self.cross_fitted(&pairs, variance, &point)?;
        let weights = self.bootstrap_weights(rows)?;
        let refit = |weights: &Vec<f64>| Ok(maximise(&pairs, weights, variance, &point)?.parameters());
        let replicates = weights.par_iter().map(refit).collect::<Result<Vec<_>>>()?;
        let mut matched_rows = pairs.rows.clone();
        matched_rows.dedup();
        let with_hits = self.scores.is_some() && self.evidence == Evidence::Later;
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
            parameters: point.parameters(),
            replicates,
            hits: with_hits.then(|| RankHits::count(&pairs, &weights)),
            dependence: dependence(&pairs, &predicted),
            calibration: calibration(&pairs, &predicted, self.folds),
            covariates,
            counts,
        })
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

    /// The propensity of each pair from a fit that left its row out.
    fn cross_fitted(&self, pairs: &Matched, variance: f64, start: &Point) -> Result<Vec<f64>> {
        let fold_of: Vec<u64> = (0..self.early.rows())
            .map(|row| below(&mut stream(self.seed, Purpose::Folds, row as u64), self.folds as u64))
            .collect();
        let fits = (0..self.folds as u64)
            .into_par_iter()
            .map(|fold| {
                let weights: Vec<f64> = fold_of.iter().map(|of| f64::from(u8::from(*of != fold))).collect();
                Ok(maximise(pairs, &weights, variance, start)?.parameters())
            })
            .collect::<Result<Vec<_>>>()?;
        let predict = |pair: usize| {
            let fit = &fits[fold_of[pairs.rows[pair] as usize] as usize];
            fit.propensity(pairs.x(pair), Some(pairs.effects[pair] as usize))
        };
        Ok((0..pairs.len()).map(predict).collect())
    }

    /// Poisson(1) weights of rows, one list for each replicate.
    fn bootstrap_weights(&self, rows: usize) -> Result<Vec<Vec<f64>>> {
        let poisson = Poisson::new(1.0).map_err(|cause| Error::value(format!("cannot draw weights ({cause})")))?;
        let of_replicate = |replicate: usize| {
            let mut rng = stream(self.seed, Purpose::RowRefits, replicate as u64);
            (0..rows).map(|_| poisson.sample(&mut rng)).collect()
        };
        Ok((0..self.replicates).map(of_replicate).collect())
    }
}
