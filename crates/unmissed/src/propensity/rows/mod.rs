//! Row-dependent propensities: `p(i, j) = sigmoid(b'x(i, j) + u_j)`.
//!
//! One number per label cannot express that a label goes missing less often from rows that are clearly about it. Here the
//! probability that
//! a relevant label was observed follows from covariates of the label, the row and the pair ([`Covariate`]) and an effect of each
//! label, shrunken towards 0: `u_j ~ N(0, v)`. Both are fitted by penalised likelihood to matched pairs: pairs that a later snapshot
//! (or a controlled set of the same rows) shows to be relevant, and whether they were observed. v is chosen by empirical Bayes. A last step moves b
//! until the inverse-propensity estimate is right on the matched rows themselves (`balance.rs`).
//!
//! A [`RowModel`] carries what its users need to know: replicates refitted under a bootstrap over rows, a reliability curve of
//! predictions for rows that were left out ([`ReliabilityCurve`]), and hits by rank in both snapshots for the ratio baseline
//! ([`RankHits`]).
//!
//! # Assumes
//! The later snapshot is the truth of its rows (else the target is what it says), and other rows go missing in the same way given the
//! covariates. Scores must be the model's predictions for rows that it was not trained on: out-of-fold predictions.
//!
//! # Reference
//! MacKay, "Bayesian interpolation", 1992, for the choice of v.

pub(crate) mod arrow;
mod balance;
mod calibration;
mod covariates;
mod file;
mod fit;
mod given;
mod given_file;
mod matched;
mod matched_rows;
mod missed;
mod newton;
mod pair_propensities;
mod rank_hits;
mod refit;

pub use calibration::{Bin, ReliabilityCurve};
pub use covariates::{Covariate, Pair, Place, score_unit};
pub use fit::{DEFAULT_REFITS, RowEvidence, RowFit};
pub use given::{CovariateLevel, GivenCovariate, GivenName};
pub use given_file::read_columns;
pub use matched_rows::MatchedRows;
pub(crate) use missed::{MissedModel, RankedRow};
pub use pair_propensities::PairPropensities;
pub use rank_hits::RankHits;

use newton::Parameters;
use serde::{Deserialize, Serialize};

/// A fitted model of propensities by row and label. See the module's page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "a model of row-dependent propensities")]
pub struct RowModel {
    version: u32,
    evidence: RowEvidence,
    audited: Option<String>,
    covariates: Vec<Covariate>,
    given: Vec<GivenName>,
    rows: u64,
    pairs: u64,
    observed: u64,
    /// Relevant pairs of the evidence, by label.
    counts: Vec<u64>,
    /// What each column of the covariates is divided by.
    scales: Vec<f64>,
    /// Labels that have an effect of their own, ascending.
    labels: Vec<u32>,
    effect_variance: f64,
    parameters: Parameters,
    replicates: Vec<Parameters>,
    /// Whether the searches came to their ends.
    converged: bool,
    /// Refits whose search did not.
    unfinished: u64,
    hits: Option<RankHits>,
    dependence: Vec<f64>,
    calibration: ReliabilityCurve,
}

impl RowModel {
    /// What identified the propensities.
    pub fn evidence(&self) -> RowEvidence {
        self.evidence
    }

    /// The name of the audited model whose predictions are among the covariates.
    pub fn audited(&self) -> Option<&str> {
        self.audited.as_deref()
    }

    /// What the propensities are functions of, besides the label.
    pub fn covariates(&self) -> &[Covariate] {
        &self.covariates
    }

    /// Covariates that the user gave. Those of rows and pairs are needed again for the rows of an evaluation.
    pub fn given(&self) -> &[GivenName] {
        &self.given
    }

    /// What to know when a search ended before its optimum; `None` when all came to their ends.
    pub fn unfinished(&self) -> Option<String> {
        match (self.converged, self.unfinished) {
            (true, 0) => None,
            (true, refits) => Some(format!("{refits} of {} refits did not converge: intervals may be off", self.replicates.len())),
            (false, 0) => Some("the fit did not converge: leave covariates out, or give more rows".to_owned()),
            (false, refits) => Some(format!(
                "the fit did not converge, nor did {refits} of {} refits: leave covariates out, or give more rows",
                self.replicates.len()
            )),
        }
    }

    /// Whether a covariate is made of other observed labels of the row. Sums over labels stay unbiased then, products do not.
    pub fn uses_observed_labels(&self) -> bool {
        self.covariates.contains(&Covariate::OtherLabels)
    }

    /// Whether predictions of the audited model are among the covariates.
    pub fn uses_scores(&self) -> bool {
        self.covariates.iter().any(|covariate| covariate.needs_scores())
    }

    /// Number of labels.
    pub fn label_count(&self) -> usize {
        self.counts.len()
    }

    /// Number of rows with matched pairs, of matched pairs, and of those that were observed.
    pub fn sizes(&self) -> (u64, u64, u64) {
        (self.rows, self.pairs, self.observed)
    }

    /// The names of the columns, with their coefficients on the scale of the covariate itself.
    pub fn coefficients(&self) -> Vec<(String, f64)> {
        let names = covariates::names(&self.covariates, &self.given);
        names.into_iter().zip(&self.parameters.beta).zip(&self.scales).map(|((name, beta), scale)| (name, beta / scale)).collect()
    }

    /// The variance of label effects, on the scale of log odds.
    pub fn effect_variance(&self) -> f64 {
        self.effect_variance
    }

    /// How often predictions come true for rows that were left out.
    pub fn calibration(&self) -> &ReliabilityCurve {
        &self.calibration
    }

    /// Hits by rank in both snapshots; `None` for a controlled set, which shows only part of the labels.
    pub fn hits(&self) -> Option<&RankHits> {
        self.hits.as_ref()
    }

    /// How many refits there are.
    pub fn replicates(&self) -> usize {
        self.replicates.len()
    }

    /// How much larger the variance of a row's first k labels is than it would be if they went missing independently; at least 1.
    pub fn dependence(&self, k: usize) -> f64 {
        let last = self.dependence.len();
        k.checked_sub(1).and_then(|at| self.dependence.get(at.min(last.saturating_sub(1)))).copied().unwrap_or(1.0)
    }

    /// The propensity of an observed pair of a row that was not fitted to, then that of each refit.
    pub fn at(&self, pair: &Pair<'_>, out: &mut Vec<f64>) {
        let mut x = Vec::with_capacity(self.scales.len());
        let count = self.counts.get(pair.label as usize).copied().unwrap_or(0);
        covariates::describe(&self.covariates, count, pair.other_labels, pair.place, &mut x);
        let mut given = pair.given.iter().copied();
        x.extend(self.given.iter().map(|column| match column.level {
            CovariateLevel::Label => column.labels.get(pair.label as usize).copied().unwrap_or(0.0),
            CovariateLevel::Row | CovariateLevel::Pair => given.next().unwrap_or(0.0),
        }));
        x.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x /= scale);
        let effect = self.labels.binary_search(&pair.label).ok();
        out.clear();
        for parameters in std::iter::once(&self.parameters).chain(&self.replicates) {
            out.push(parameters.propensity(&x, effect));
        }
    }
}
