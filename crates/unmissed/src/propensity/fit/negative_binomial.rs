//! The likelihood of controlled positives: `v_j ~ Poisson(E_j q_j)`, `q_j ~ Gamma(mean 1/phi_j, shape kappa)`.
//!
//! Integrated over q_j this is the negative binomial
//! `ln P = sum_{i<v} ln(1 + i/kappa) + v ln mu - (v + kappa) ln(1 + mu/kappa) - ln v!`, `mu_j = E_j / phi_j`. The first sum
//! depends on v_j only and the rest on sums over labels that share phi and E, so the work is per distinct count.

use super::evidence::CurveEvidence;
use super::likelihood::Likelihood;
use crate::error::{Error, Result};
use crate::propensity::At;
use statrs::function::gamma::{digamma, ln_gamma};
use std::collections::BTreeMap;

/// Up to this v the sums are added up term by term.
const TERMS: u64 = 2000;

pub(super) struct NegativeBinomial {
    places: Vec<At>,
    exposures: Vec<f64>,
    /// Labels at each place and the sum of their v.
    labels: Vec<f64>,
    sums: Vec<f64>,
    /// How many labels have each v.
    histogram: Vec<(u64, f64)>,
    total: f64,
    log_factorials: f64,
}

impl NegativeBinomial {
    pub(super) fn of(evidence: &CurveEvidence, alpha: f64) -> Result<NegativeBinomial> {
        let controlled = evidence.controlled().ok_or_else(|| {
            Error::value("the likelihood needs the counts of a controlled set")
                .expected("a controlled set")
                .found("propensities without counts")
                .hint("fit with the squared or the log loss instead")
        })?;
        let mut places: BTreeMap<(u64, u64), (f64, f64)> = BTreeMap::new();
        let mut histogram: BTreeMap<u64, f64> = BTreeMap::new();
        for (place, count) in evidence.counts().iter().enumerate() {
            let (v, exposure) = (controlled.positives[place], controlled.exposures[place]);
            let entry = places.entry((count.to_bits(), exposure.to_bits())).or_default();
            *entry = (entry.0 + 1.0, entry.1 + v as f64);
            *histogram.entry(v).or_default() += 1.0;
        }
        let histogram: Vec<_> = histogram.into_iter().collect();
        Ok(NegativeBinomial {
            places: places.keys().map(|key| evidence.sample().at(f64::from_bits(key.0), alpha)).collect(),
            exposures: places.keys().map(|key| f64::from_bits(key.1)).collect(),
            labels: places.values().map(|entry| entry.0).collect(),
            sums: places.values().map(|entry| entry.1).collect(),
            total: evidence.len() as f64,
            log_factorials: histogram.iter().map(|(v, labels)| labels * ln_gamma(*v as f64 + 1.0)).sum(),
            histogram,
        })
    }

    /// `sum_{i<v} ln(1 + i/kappa)` and `sum_{i<v} i/(kappa + i)`, summed over labels.
    fn rising(&self, kappa: f64) -> (f64, f64) {
        let (mut value, mut slope) = (0.0, 0.0);
        let (mut next, mut logs, mut shares) = (0u64, 0.0, 0.0);
        for &(v, labels) in &self.histogram {
            if v <= TERMS {
                while next < v {
                    let i = next as f64;
                    logs += (i / kappa).ln_1p();
                    shares += i / (kappa + i);
                    next += 1;
                }
                value += labels * logs;
                slope += labels * shares;
            } else {
                let v = v as f64;
                value += labels * (ln_gamma(kappa + v) - ln_gamma(kappa) - v * kappa.ln());
                slope += labels * (v - kappa * (digamma(kappa + v) - digamma(kappa)));
            }
        }
        (value, slope)
    }
}

impl Likelihood for NegativeBinomial {
    fn name(&self) -> &'static str {
        "negative-binomial"
    }

    fn places(&self) -> &[At] {
        &self.places
    }

    fn labels(&self) -> f64 {
        self.total
    }

    fn value(&self, p: &[f64], kappa: f64, by_p: &mut [f64]) -> (f64, f64) {
        let (rising, shares) = self.rising(kappa);
        let (mut value, mut by_log_kappa) = (rising - self.log_factorials, -shares);
        for (place, &p) in p.iter().enumerate() {
            let mu = self.exposures[place] / p;
            let (sum, weight) = (self.sums[place], self.sums[place] + self.labels[place] * kappa);
            let log = (mu / kappa).ln_1p();
            value += sum * mu.ln() - weight * log;
            by_log_kappa += weight * mu / (kappa + mu) - self.labels[place] * kappa * log;
            // d mu / d p = -mu / p.
            by_p[place] = (weight / (kappa + mu) - sum / mu) * mu / p;
        }
        (value, by_log_kappa)
    }

    fn information(&self, p: &[f64], kappa: f64) -> Vec<f64> {
        let at = |(place, p): (usize, &f64)| {
            let mu = self.exposures[place] / p;
            self.labels[place] * (mu / p).powi(2) / (mu + mu * mu / kappa)
        };
        p.iter().enumerate().map(at).collect()
    }
}
