//! The least-squares problem: one residual for each distinct count.

use super::coordinates::Coordinates;
use super::evidence::CurveEvidence;
use super::{FitLoss, solver::LeastSquares};
use crate::error::{Error, Result};
use crate::propensity::{At, Phi};

/// Labels that share a prior.
#[derive(Clone, Copy)]
struct Group {
    at: At,
    labels: f64,
    /// Mean of their targets.
    target: f64,
}

/// The weighted residuals `sqrt(n_g) (mean - phi)`, divided by the scatter of the targets.
pub(super) struct Residuals {
    loss: FitLoss,
    groups: Vec<Group>,
    labels: usize,
    /// Sum of squares within groups, which no curve can explain.
    within: f64,
    scale: f64,
    coordinates: Coordinates,
}

impl Residuals {
    pub(super) fn new(family: &Phi, evidence: &CurveEvidence, loss: FitLoss) -> Result<Residuals> {
        let sample = evidence.sample();
        let (mut groups, mut labels, mut within) = (Vec::new(), 0, 0.0);
        for (count, places) in evidence.groups() {
            let targets = places.iter().map(|place| evidence.inverse()[*place]);
            let targets: Vec<f64> = match loss {
                FitLoss::Log => targets.filter(|q| *q > 0.0).map(f64::ln).collect(),
                _ => targets.collect(),
            };
            if targets.is_empty() {
                continue;
            }
            let mean = targets.iter().sum::<f64>() / targets.len() as f64;
            within += targets.iter().map(|t| (t - mean).powi(2)).sum::<f64>();
            labels += targets.len();
            groups.push(Group { at: sample.at(count, family.alpha()), labels: targets.len() as f64, target: mean });
        }
        if groups.is_empty() {
            return Err(Error::value("no label has an estimate to fit a curve to").expected("at least one positive estimate"));
        }
        let total: f64 = groups.iter().map(|g| g.labels).sum();
        let mean = groups.iter().map(|g| g.labels * g.target).sum::<f64>() / total;
        let scatter = groups.iter().map(|g| g.labels * (g.target - mean).powi(2)).sum::<f64>();
        let scale = if scatter > 0.0 { scatter.sqrt() } else { total.sqrt() };
        Ok(Residuals { loss, groups, labels, within, scale, coordinates: Coordinates::new(family) })
    }

    pub(super) fn labels(&self) -> usize {
        self.labels
    }

    pub(super) fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// A coarser problem with at most `most` residuals: neighbouring counts merged. To rank starts by, not to report.
    pub(super) fn thinned(&self, most: usize) -> Residuals {
        let share = self.groups.len().div_ceil(most);
        let groups = self
            .groups
            .chunks(share)
            .map(|run| {
                let labels: f64 = run.iter().map(|g| g.labels).sum();
                let mean = |of: &dyn Fn(&Group) -> f64| run.iter().map(|g| g.labels * of(g)).sum::<f64>() / labels;
                let middle = run[run.len() / 2].at;
                let at = At { count: mean(&|g| g.at.count), prior: mean(&|g| g.at.prior), ..middle };
                Group { at, labels, target: mean(&|g| g.target) }
            })
            .collect();
        let coordinates = Coordinates::new(self.coordinates.family());
        Residuals { loss: self.loss, groups, labels: self.labels, within: self.within, scale: self.scale, coordinates }
    }

    /// The mean squared residual over labels that a half sum of squares of the scaled residuals stands for.
    pub(super) fn objective(&self, cost: f64) -> f64 {
        (2.0 * cost * self.scale * self.scale + self.within) / self.labels as f64
    }

    /// What the residual compares with the target, and its derivative by p.
    fn transformed(&self, p: f64) -> (f64, f64) {
        match self.loss {
            FitLoss::Log => (-p.ln(), -1.0 / p),
            _ => (1.0 / p, -1.0 / (p * p)),
        }
    }

    /// Where each group is, and how much one label-equivalent of information about p it carries: for standard errors.
    pub(super) fn weights(&self, phi: &Phi) -> Vec<(At, f64)> {
        let value = |g: &Group| phi.curve().value(phi.theta(), g.at).clamp(1e-12, 1.0);
        let fitted: f64 = self.groups.iter().map(|g| g.labels * (self.transformed(value(g)).0 - g.target).powi(2)).sum();
        let free = self.labels.saturating_sub(self.coordinates.len()).max(1) as f64;
        let variance = ((fitted + self.within) / free).max(f64::MIN_POSITIVE);
        self.groups.iter().map(|g| (g.at, g.labels * self.transformed(value(g)).1.powi(2) / variance)).collect()
    }
}

impl LeastSquares for Residuals {
    fn residuals(&self) -> usize {
        self.groups.len()
    }

    fn evaluate(&self, x: &[f64], residuals: &mut [f64], mut jacobian: Option<&mut [f64]>) {
        let theta = self.coordinates.theta(x);
        let (mut scratch, mut gradient) = (vec![0.0; theta.len()], vec![0.0; x.len()]);
        for (place, group) in self.groups.iter().enumerate() {
            let weight = group.labels.sqrt() / self.scale;
            let p = self.coordinates.value(&theta, group.at, &mut scratch, &mut gradient);
            let (value, slope) = self.transformed(p);
            residuals[place] = weight * (value - group.target);
            if let Some(jacobian) = jacobian.as_deref_mut() {
                for (cell, g) in jacobian[place * x.len()..].iter_mut().zip(&gradient) {
                    *cell = weight * slope * g;
                }
            }
        }
    }
}
