//! Fitting a propensity curve to an estimate.
//!
//! The paper minimises `sum_j (1/p^_j - 1/phi(pi~_j))^2` over the constants of phi with Levenberg-Marquardt. The largest inverse
//! propensities, those of the rarest labels, dominate that sum, and models that are trained with such a curve rank frequent labels
//! badly. [`FitLoss::NegativeBinomial`] is the likelihood of what was counted, and the default where there are counts;
//! [`FitLoss::Log`] compares logarithms. Bounds belong to the model. A solver that
//! says "converged" may have stopped at a poor point, so the search runs from several starts (a log-log line, quantiles,
//! seeded perturbations), keeps the best, and reports the spread. Labels with the same count share a prior, and
//! `sum_j (q_j - phi)^2 = n_g (mean - phi)^2 + const`: the work is per distinct count, not per label.
//!
//! # Assumes
//! That the estimate is unbiased label by label. A label without a controlled positive has `q^ = 0` and stays in: leaving it
//! out would bias the curve upwards. Fails quietly where the data determine fewer constants than the curve has; such fits are
//! flagged in [`Fit::degenerate`] and have no standard errors.
//!
//! # Reference
//! Schultheis et al., KDD 2022, appendix on propensity fits; Branch, Coleman and Li 1999 for the bounded solver.
//!
//! ```
//! use unmissed::data::LabelStats;
//! use unmissed::propensity::{fit, models, Propensities};
//! // Propensities that lie on a curve are found again.
//! let counts: Vec<u64> = (1..=200).collect();
//! let stats = LabelStats::from_counts(1000, &counts)?;
//! let planted = models::parse("power:beta=4,gamma=0.5")?.propensities(&stats)?;
//! let planted = Propensities::new("planted", planted.values().to_vec())?;
//! let evidence = fit::CurveEvidence::from_propensities(&planted, &stats)?;
//! let fitted = fit::fit(&models::family("power")?, &evidence, &fit::FitOptions::default())?;
//! assert!(fitted.mse < 1e-12);
//! assert!((fitted.phi.theta()[0] - 4.0).abs() < 1e-4 && (fitted.phi.theta()[1] - 0.5).abs() < 1e-5);
//! # Ok::<(), unmissed::Error>(())
//! ```

mod beta_binomial;
mod compare;
mod coordinates;
mod evidence;
mod likelihood;
mod negative_binomial;
mod quality;
mod residuals;
mod solver;
mod starts;

pub use compare::{FitComparison, compare, mse, mse_of};
pub use evidence::CurveEvidence;
pub use solver::Stop;
pub use starts::Start;

pub(crate) use beta_binomial::BetaBinomial;
pub(crate) use likelihood::maximise;

use super::distinct::for_each_distinct;
use super::{Phi, Propensities, Sample};
use crate::data::LabelStats;
use crate::error::{Error, Result};
use coordinates::Coordinates;
use quality::Quality;
use residuals::Residuals;
use serde::Serialize;

/// What a fit minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitLoss {
    /// The likelihood where the counts of a controlled set are known, squared differences otherwise.
    #[default]
    Auto,
    /// Squared differences of inverse propensities, as in the paper.
    Squared,
    /// Squared differences of their logarithms. Labels with `q^ = 0` cannot take part.
    Log,
    /// The negative binomial likelihood of the controlled positives; see `shrunken`.
    NegativeBinomial,
}

impl FitLoss {
    /// All losses.
    pub const ALL: [FitLoss; 4] = [FitLoss::Auto, FitLoss::Squared, FitLoss::Log, FitLoss::NegativeBinomial];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            FitLoss::Auto => "auto",
            FitLoss::Squared => "squared",
            FitLoss::Log => "log",
            FitLoss::NegativeBinomial => "negative-binomial",
        }
    }

    /// The loss that is minimised on such evidence.
    fn on(self, evidence: &CurveEvidence) -> FitLoss {
        match (self, evidence.controlled()) {
            (FitLoss::Auto, Some(_)) => FitLoss::NegativeBinomial,
            (FitLoss::Auto, None) => FitLoss::Squared,
            (named, _) => named,
        }
    }
}

impl std::str::FromStr for FitLoss {
    type Err = Error;

    fn from_str(name: &str) -> Result<FitLoss> {
        let names = FitLoss::ALL.map(FitLoss::name);
        FitLoss::ALL.into_iter().find(|loss| loss.name() == name).ok_or_else(|| crate::spec::unknown("loss of a fit", name, &names))
    }
}

/// How to fit.
#[derive(Clone, Debug)]
pub struct FitOptions {
    /// What to minimise.
    pub loss: FitLoss,
    /// Number of starting points of the search.
    pub starts: usize,
    /// Seed of the perturbed starts.
    pub seed: u64,
}

impl Default for FitOptions {
    fn default() -> Self {
        FitOptions { loss: FitLoss::default(), starts: 16, seed: 0 }
    }
}

impl FitOptions {
    /// Refuses a search from nowhere.
    pub(super) fn check(&self) -> Result<()> {
        match self.starts {
            0 => Err(Error::value("a fit needs a point to start from").expected("starts of at least 1").found("0")),
            _ => Ok(()),
        }
    }
}

/// A fitted curve and what the fit is worth.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// The curve with its fitted constants.
    #[serde(skip)]
    pub phi: Phi,
    /// The same as a spec string.
    pub spec: String,
    /// What was minimised: the name of a [`FitLoss`], or `beta-binomial` for estimates that are ratios.
    pub loss: &'static str,
    /// Its value at the end: a mean over labels (of squares, or of the negative log-likelihood).
    pub objective: f64,
    /// Mean squared difference of inverse propensities, whatever was minimised.
    pub mse: f64,
    /// Labels that took part.
    pub labels: usize,
    /// Those of them with `q^ = 0` (no controlled positive).
    pub zeros: usize,
    /// Labels that could not take part (never observed, or `q^ = 0` under the log loss).
    pub left_out: usize,
    /// Smallest and largest count that the fit saw; beyond them the curve extrapolates.
    pub range: (f64, f64),
    /// Why the best search stopped.
    pub stop: Stop,
    /// All searches, best first.
    pub starts: Vec<Start>,
    /// Standard errors of the constants (under least squares as if all residuals had the same variance); none for those that are fixed, at a bound, or not determined by the data.
    pub standard_errors: Vec<Option<f64>>,
    /// What is wrong with the fit, in words; empty when nothing is.
    pub degenerate: Vec<String>,
    /// Shape of the scatter around the curve, for likelihood fits; `None` is infinite (no scatter beyond counting noise).
    pub kappa: Option<f64>,
    #[serde(skip)]
    sample: Sample,
    #[serde(skip)]
    quality: Quality,
}

impl Fit {
    /// The fitted propensity at a count.
    pub fn at(&self, count: f64) -> f64 {
        self.phi.at(self.sample, count)
    }

    /// The variance of the fitted `1/p` at a count, by the delta method; `None` where the data do not determine the constants.
    pub fn inverse_variance(&self, count: f64) -> Option<f64> {
        self.quality.inverse_variance(&self.phi, self.sample.at(count, self.phi.alpha()))
    }

    /// Independent errors of the fitted `1/p` that all counts have in common, one for each constant that the data determine.
    pub fn inverse_errors(&self, count: f64) -> Option<Vec<f64>> {
        self.quality.inverse_errors(&self.phi, self.sample.at(count, self.phi.alpha()))
    }

    /// The propensities of the labels of `stats`, with the errors of the curve, which labels have in common.
    pub fn propensities(&self, stats: &LabelStats) -> Result<Propensities> {
        let propensities = self.phi.propensities(stats)?;
        let places: Vec<u64> = stats.dense_counts()?;
        propensities.with_common_errors(common_errors(self, &places, |_| 1.0))
    }

    /// Worst objective over the searches divided by the best: how much it mattered where the search started.
    /// `None` with a single search, which has nothing to agree with.
    pub fn spread(&self) -> Option<f64> {
        if self.starts.len() < 2 {
            return None;
        }
        let worst = self.starts.iter().map(|start| start.objective).fold(self.objective, f64::max);
        Some(if self.objective > 0.0 { worst / self.objective } else { 1.0 })
    }
}

/// Errors of the curve at the counts of labels, each times a weight by label; empty where the data do not determine the constants.
pub(super) fn common_errors(fit: &Fit, counts: &[u64], weight: impl Fn(usize) -> f64) -> Vec<Vec<f64>> {
    let by_count = for_each_distinct(counts, |count| fit.inverse_errors(fit.phi.seen(count)));
    let errors = by_count.first().and_then(Option::as_ref).map_or(0, Vec::len);
    let of = |error: usize, label: usize| by_count[label].as_ref().map_or(0.0, |all| all[error] * weight(label));
    (0..errors).map(|error| (0..counts.len()).map(|label| of(error, label)).collect()).collect()
}

/// Fits the constants of a curve (those of `family` are one of the starts).
pub fn fit(family: &Phi, evidence: &CurveEvidence, options: &FitOptions) -> Result<Fit> {
    options.check()?;
    let coordinates = Coordinates::new(family);
    family.curve().check(evidence.sample())?;
    if evidence.len() < coordinates.len() {
        return Err(Error::value(format!("too few labels to fit '{}'", family.curve().name()))
            .expected(format!("at least {} labels with an estimate", coordinates.len()))
            .found(evidence.len().to_string()));
    }
    let loss = options.loss.on(evidence);
    if loss == FitLoss::NegativeBinomial {
        let likelihood = negative_binomial::NegativeBinomial::of(evidence, family.alpha())?;
        return maximise(&likelihood, family, evidence, options);
    }
    let residuals = Residuals::new(family, evidence, loss)?;
    let starts = starts::starts(family, evidence, options);
    let searched = starts::search(&residuals, &coordinates, starts);
    let best = searched.first().ok_or_else(|| Error::value("a fit needs at least one start").expected("starts of at least 1"))?;
    let phi = family.with_theta(best.theta.clone());
    let quality = Quality::new(&phi, &coordinates, residuals.weights(&phi));
    Ok(Fit {
        spec: phi.spec(),
        loss: loss.name(),
        objective: best.objective,
        mse: mse(&phi, evidence),
        labels: residuals.labels(),
        zeros: evidence.zeros(),
        left_out: evidence.left_out() + evidence.len() - residuals.labels(),
        range: evidence.range(),
        stop: best.stop,
        standard_errors: quality.standard_errors(&phi),
        degenerate: quality.faults(best.stop),
        kappa: None,
        starts: searched,
        sample: evidence.sample(),
        phi,
        quality,
    })
}
