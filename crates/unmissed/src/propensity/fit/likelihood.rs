//! Maximum likelihood for a curve and the scatter around it.

use super::coordinates::Coordinates;
use super::evidence::Evidence;
use super::quality::Quality;
use super::residuals::Residuals;
use super::starts::{self, Start};
use super::{Fit, Loss, Options, mse, solver};
use crate::error::{Error, Result};
use crate::propensity::models::{At, Phi};
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
pub(crate) fn maximise(likelihood: &dyn Likelihood, family: &Phi, evidence: &Evidence, options: &Options) -> Result<Fit> {
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
        loss: Loss::NegativeBinomial,
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
    evidence: &Evidence,
    options: &Options,
    coordinates: &Coordinates,
) -> Result<Vec<(&'static str, Vec<f64>)>> {
    let mut guesses = Vec::new();
    for loss in [Loss::Squared, Loss::Log] {
        let Ok(residuals) = Residuals::new(family, evidence, loss) else { continue };
        let found = starts::search(&residuals, coordinates, starts::starts(family, evidence, options));
        guesses.extend(found.into_iter().filter(|start| start.objective.is_finite()).take(STARTS / 2).map(|s| (s.origin, s.theta)));
    }
    let hint = starts::hint(family, evidence);
    guesses.extend(family.curve().starts(hint).into_iter().take(STARTS / 2).map(|theta| ("data", theta)));
    guesses.push(("given", family.theta().to_vec()));
    Ok(guesses)
}
