//! Where searches start, and how the best is found.

use super::coordinates::Coordinates;
use super::evidence::CurveEvidence;
use super::residuals::Residuals;
use super::solver::{self, Stop};
use super::{FitOptions, solver::Solved};
use crate::propensity::{Hint, ParameterScale, Phi};
use crate::rng::{Purpose, stream};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::Serialize;

/// More residuals than this, and starts are first ranked on a coarser problem.
const FEW: usize = 1024;
/// How many of them are continued.
const FINALISTS: usize = 3;
const ITERATIONS: u64 = 400;

/// One search: where it came from and where it ended.
#[derive(Clone, Debug, Serialize)]
pub struct Start {
    /// `data` (from a log-log line and quantiles), `given` (the constants that the caller had) or `perturbed`.
    pub origin: &'static str,
    /// The constants at the end.
    pub theta: Vec<f64>,
    /// The objective there.
    pub objective: f64,
    /// Why it stopped.
    pub stop: Stop,
}

/// Starting constants, at most as many as asked for.
pub(super) fn starts(family: &Phi, evidence: &CurveEvidence, options: &FitOptions) -> Vec<(&'static str, Vec<f64>)> {
    let coordinates = Coordinates::new(family);
    let mut starts: Vec<_> = family.curve().starts(hint(family, evidence)).into_iter().map(|theta| ("data", theta)).collect();
    starts.push(("given", family.theta().to_vec()));
    let given = starts.len();
    for index in given..options.starts {
        let mut rng = stream(options.seed, Purpose::FitStarts, index as u64);
        let mut x = coordinates.point(&starts[index % given].1);
        let (low, high) = coordinates.bounds();
        for place in 0..x.len() {
            let noise: f64 = StandardNormal.sample(&mut rng);
            x[place] += match coordinates.parameter(place).scale {
                ParameterScale::Linear => noise * 0.3 * x[place].abs().max(0.1),
                ParameterScale::Log | ParameterScale::Log1p => noise * 1.5,
            };
            x[place] = x[place].clamp(low[place], high[place]);
        }
        starts.push(("perturbed", coordinates.theta(&x)));
    }
    starts.truncate(options.starts.max(1));
    starts
}

/// What the data suggest: a weighted log-log line through the group means, and levels by thirds of the labels.
pub(super) fn hint(family: &Phi, evidence: &CurveEvidence) -> Hint {
    let sample = evidence.sample();
    let prior = |count: f64| sample.at(count, family.alpha()).prior;
    let groups: Vec<(f64, f64, f64)> = evidence
        .groups()
        .into_iter()
        .map(|(count, places)| {
            let sum: f64 = places.iter().map(|place| evidence.inverse()[*place]).sum();
            (prior(count), places.len() as f64, sum)
        })
        .collect();
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (prior, labels, sum) in groups.iter().filter(|(_, _, sum)| *sum > 0.0) {
        let (x, y) = (prior.ln(), (sum / labels).ln());
        (w, wx, wy, wxx, wxy) = (w + labels, wx + labels * x, wy + labels * y, wxx + labels * x * x, wxy + labels * x * y);
    }
    let determinant = w * wxx - wx * wx;
    let slope = if determinant > 1e-12 * w * wxx { -(w * wxy - wx * wy) / determinant } else { 0.0 };
    let level = if w > 0.0 { (wy + slope * wx) / w } else { 0.0 };
    let total: f64 = groups.iter().map(|g| g.1).sum();
    let (mut thirds, mut weights, mut median, mut below) = ([0.0; 3], [0.0; 3], 0.0, 0.0);
    for (prior, labels, sum) in &groups {
        let third = ((3.0 * below / total) as usize).min(2);
        thirds[third] += sum;
        weights[third] += labels;
        below += labels;
        if median == 0.0 && below >= 0.5 * total {
            median = *prior;
        }
    }
    let overall = (thirds.iter().sum::<f64>() / total).max(1.0);
    let inverse = [0, 1, 2].map(|i| if weights[i] > 0.0 { (thirds[i] / weights[i]).max(1.0) } else { overall });
    let ends = evidence.range();
    Hint { sample, priors: [prior(ends.0), median, prior(ends.1)], inverse, level, slope }
}

/// Runs all searches and gives them best first.
pub(super) fn search(residuals: &Residuals, coordinates: &Coordinates, starts: Vec<(&'static str, Vec<f64>)>) -> Vec<Start> {
    let finished = |origin, solved: Solved, problem: &Residuals| Start {
        origin,
        theta: coordinates.theta(&solved.x),
        objective: problem.objective(solved.cost),
        stop: solved.stop,
    };
    let run = |problem: &Residuals, theta: &[f64]| {
        solver::least_squares(problem, coordinates.bounds(), coordinates.point(theta), ITERATIONS)
    };
    let all = |problem: &Residuals, starts: Vec<(&'static str, Vec<f64>)>| {
        let mut ended: Vec<Start> =
            starts.into_par_iter().map(|(origin, theta)| finished(origin, run(problem, &theta), problem)).collect();
        ended.sort_by(|a, b| a.objective.total_cmp(&b.objective));
        ended
    };
    if residuals.group_count() <= FEW {
        return all(residuals, starts);
    }
    let mut ended = all(&residuals.thinned(FEW), starts);
    let finalists = ended.iter().take(FINALISTS).map(|start| (start.origin, start.theta.clone())).collect();
    let mut best = all(residuals, finalists);
    best.extend(ended.drain(FINALISTS.min(ended.len())..));
    best
}
