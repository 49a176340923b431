//! Maximum likelihood for a curve and the scatter around it.

use super::coordinates::Coordinates;
use super::evidence::CurveEvidence;
use super::quality::Quality;
use super::residuals::Residuals;
use super::starts::{self, Start};
use super::{Fit, FitLoss, FitOptions, mse, solver};
use crate::error::{Error, Result};
use crate::propensity::{At, Phi};
use rayon::prelude::*;

/// Where the search for ln kappa may go. Beyond the upper end a scatter cannot be told from none.
const LOG_KAPPA: (f64, f64) = (-4.0, 14.0);
/// Log-likelihood that a finite kappa must gain over none at all to be believed.
const GAIN: f64 = 0.01;
/// How many least-squares fits the likelihood search starts from.
const STARTS: usize = 4;
const ITERATIONS: u64 = 300;

/// A likelihood of counts, given a mean curve phi and a shape kappa of the scatter around it.
pub(crate) trait Likelihood: Sync {
    /// What it is called in reports.
    fn name(&self) -> &'static str;
    /// Distinct places on the curve.
    fn places(&self) -> &[At];
    /// Number of labels.
    fn labels(&self) -> f64;
    /// The log-likelihood given p at the places; derivatives by p into `by_p`, and by ln kappa as the second number.
    fn value(&self, p: &[f64], kappa: f64, by_p: &mut [f64]) -> (f64, f64);
    /// Expected information about p at each place.
    fn information(&self, p: &[f64], kappa: f64) -> Vec<f64>;
}

/// Finds the constants and the shape under which the counts are most likely.
pub(crate) fn maximise(likelihood: &dyn Likelihood, family: &Phi, evidence: &CurveEvidence, options: &FitOptions) -> Result<Fit> {
    options.check()?;
    let coordinates = Coordinates::new(family);
    let k = coordinates.len();
    if likelihood.places().is_empty() {
        return Err(Error::value("no label has data to fit a curve to").expected("labels with positives"));
    }
    let objective = |x: &[f64], gradient: &mut [f64]| {
        let theta = coordinates.theta(&x[..k]);
        let places = likelihood.places();
        let (mut scratch, mut row) = (vec![0.0; theta.len()], vec![0.0; k]);
        let mut by_theta = vec![0.0; places.len() * k];
        let mut p = vec![0.0; places.len()];
        for (place, at) in places.iter().enumerate() {
            p[place] = coordinates.value(&theta, *at, &mut scratch, &mut row);
            by_theta[place * k..][..k].copy_from_slice(&row);
        }
        let mut by_p = vec![0.0; places.len()];
        let (value, by_log_kappa) = likelihood.value(&p, x[k].exp(), &mut by_p);
        gradient.fill(0.0);
        for (place, slope) in by_p.iter().enumerate() {
            for (g, d) in gradient.iter_mut().zip(&by_theta[place * k..][..k]) {
                *g -= slope * d / likelihood.labels();
            }
        }
        gradient[k] = -by_log_kappa / likelihood.labels();
        -value / likelihood.labels()
    };
    let (mut low, mut high) = coordinates.bounds();
    low.push(LOG_KAPPA.0);
    high.push(LOG_KAPPA.1);
    let mut searched: Vec<(Start, f64)> = first_guesses(family, evidence, options, &coordinates)?
        .into_par_iter()
        .map(|(origin, theta)| {
            let mut start = coordinates.point(&theta);
            start.push(5f64.ln());
            let solved = solver::minimise(&objective, (low.clone(), high.clone()), start, ITERATIONS);
            let theta = coordinates.theta(&solved.x[..k]);
            (Start { origin, theta, objective: solved.cost, stop: solved.stop }, solved.x[k])
        })
        .collect();
    searched.sort_by(|a, b| a.0.objective.total_cmp(&b.0.objective));
    let (best, log_kappa) = searched[0].clone();
    let phi = family.with_theta(best.theta.clone());
    let unscattered = {
        let mut x = coordinates.point(&best.theta);
        x.push(LOG_KAPPA.1);
        objective(&x, &mut vec![0.0; k + 1])
    };
    let kappa = ((unscattered - best.objective) * likelihood.labels() > GAIN).then_some(log_kappa.exp());
    let shape = kappa.unwrap_or(LOG_KAPPA.1.exp());
    let p: Vec<f64> = likelihood.places().iter().map(|at| phi.curve().value(phi.theta(), *at).clamp(1e-12, 1.0)).collect();
    let weights = likelihood.places().iter().copied().zip(likelihood.information(&p, shape)).collect();
    let quality = Quality::new(&phi, &coordinates, weights);
    Ok(Fit {
        spec: phi.spec(),
        loss: likelihood.name(),
        objective: best.objective,
        mse: mse(&phi, evidence),
        labels: likelihood.labels() as usize,
        zeros: evidence.zeros(),
        left_out: evidence.left_out(),
        range: evidence.range(),
        stop: best.stop,
        standard_errors: quality.standard_errors(&phi),
        degenerate: quality.faults(best.stop),
        kappa,
        starts: searched.into_iter().map(|(start, _)| start).collect(),
        sample: evidence.sample(),
        phi,
        quality,
    })
}

/// The best least-squares fits, by inverse and by logarithm, and the caller's constants.
fn first_guesses(
    family: &Phi,
    evidence: &CurveEvidence,
    options: &FitOptions,
    coordinates: &Coordinates,
) -> Result<Vec<(&'static str, Vec<f64>)>> {
    let mut guesses = Vec::new();
    for loss in [FitLoss::Squared, FitLoss::Log] {
        let Ok(residuals) = Residuals::new(family, evidence, loss) else { continue };
        let found = starts::search(&residuals, coordinates, starts::starts(family, evidence, options));
        guesses.extend(found.into_iter().filter(|start| start.objective.is_finite()).take(STARTS / 2).map(|s| (s.origin, s.theta)));
    }
    let hint = starts::hint(family, evidence);
    guesses.extend(family.curve().starts(hint).into_iter().take(STARTS / 2).map(|theta| ("data", theta)));
    guesses.push(("given", family.theta().to_vec()));
    // Good searches end at the same point: once is enough.
    let mut distinct: Vec<(&'static str, Vec<f64>)> = Vec::new();
    for (origin, theta) in guesses {
        let point = coordinates.point(&theta);
        let close =
            |other: &Vec<f64>| coordinates.point(other).iter().zip(&point).all(|(a, b)| (a - b).abs() < 1e-3 * (1.0 + b.abs()));
        if !distinct.iter().any(|(_, other)| close(other)) {
            distinct.push((origin, theta));
        }
    }
    Ok(distinct)
}

#[cfg(test)]
mod tests {
    use super::super::{BetaBinomial, negative_binomial::NegativeBinomial};
    use super::*;
    use crate::propensity::Sample;

    const SAMPLE: Sample = Sample { rows: 1000.0, largest: 500.0 };

    fn negative_binomial(labels: &[(u64, u64, f64)]) -> NegativeBinomial {
        NegativeBinomial::of(&CurveEvidence::from_controlled(SAMPLE, labels.iter().copied()), 0.0).unwrap()
    }

    /// scipy 1.17.1: `nbinom.logpmf(3, 5, 5/7)`, `nbinom.logpmf(0, 5, 5/7)` (mean 2, shape 5), and
    /// `betabinom.logpmf(3, 7, 3, 7) - log(comb(7, 3))` (phi 0.3, kappa 10).
    #[test]
    fn values_match_scipy() {
        // Exposure 1 and p 1/2: mean 2. The two labels share a place.
        let (value, _) = negative_binomial(&[(10, 3, 1.0), (10, 0, 1.0)]).value(&[0.5], 5.0, &mut [0.0]);
        assert!((value - (-1.8853020271027543 - 1.6823611831060645)).abs() < 1e-12, "{value}");
        let (value, _) = BetaBinomial::of(SAMPLE, 0.0, [(10, 3, 7)]).value(&[0.3], 10.0, &mut [0.0]);
        assert!((value + 5.250526702711689).abs() < 1e-12, "{value}");
    }

    #[test]
    fn derivatives_match_central_differences() {
        let counts = negative_binomial(&[(3, 0, 0.5), (3, 2, 0.5), (40, 5, 2.0), (90, 3000, 700.0)]);
        let ratios = BetaBinomial::of(SAMPLE, 0.0, [(3, 3, 5), (9, 9, 10), (40, 40, 70)]);
        for likelihood in [&counts as &dyn Likelihood, &ratios] {
            for kappa in [0.3, 7.0, 2000.0] {
                let p = [0.2, 0.5, 0.8];
                let mut slopes = [0.0; 3];
                let (_, by_log_kappa) = likelihood.value(&p, kappa, &mut slopes);
                let at = |p: &[f64], kappa: f64| likelihood.value(p, kappa, &mut [0.0; 3]).0;
                let step = 1e-5;
                let difference = (at(&p, kappa * f64::exp(step)) - at(&p, kappa * f64::exp(-step))) / (2.0 * step);
                assert!((difference - by_log_kappa).abs() < 1e-4 * difference.abs() + 1e-4, "{difference} {by_log_kappa}");
                for place in 0..3 {
                    let moved = |by: f64| {
                        let mut p = p;
                        p[place] += by;
                        at(&p, kappa)
                    };
                    let difference = (moved(step) - moved(-step)) / (2.0 * step);
                    assert!((difference - slopes[place]).abs() < 1e-5 * difference.abs() + 1e-4, "{difference} {slopes:?}");
                }
            }
        }
    }
}
