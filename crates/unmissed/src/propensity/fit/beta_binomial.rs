//! The likelihood of ratios: e_j of l_j, `e_j ~ Binomial(l_j, p_j)`, `p_j ~ Beta(kappa phi_j, kappa (1 - phi_j))`.
//!
//! `ln P = ln B(e + kappa phi, l - e + kappa (1 - phi)) - ln B(kappa phi, kappa (1 - phi))`, up to a constant. Labels with
//! the same count, e and l share a term.

use super::likelihood::Likelihood;
use crate::propensity::models::{At, Sample};
use rayon::prelude::*;
use statrs::function::gamma::{digamma, ln_gamma};
use std::collections::BTreeMap;

pub(crate) struct BetaBinomial {
    places: Vec<At>,
    /// e, l and the number of labels at each place.
    terms: Vec<(f64, f64, f64)>,
    total: f64,
}

impl BetaBinomial {
    /// From `(n_j, e_j, l_j)`.
    pub(crate) fn of(sample: Sample, alpha: f64, labels: impl IntoIterator<Item = (u64, u64, u64)>) -> BetaBinomial {
        let mut groups: BTreeMap<(u64, u64, u64), f64> = BTreeMap::new();
        for label in labels {
            *groups.entry(label).or_default() += 1.0;
        }
        BetaBinomial {
            places: groups.keys().map(|key| sample.at(key.0 as f64, alpha)).collect(),
            terms: groups.iter().map(|(key, labels)| (key.1 as f64, key.2 as f64, *labels)).collect(),
            total: groups.values().sum(),
        }
    }
}

impl Likelihood for BetaBinomial {
    fn places(&self) -> &[At] {
        &self.places
    }

    fn labels(&self) -> f64 {
        self.total
    }

    fn value(&self, p: &[f64], kappa: f64, by_p: &mut [f64]) -> (f64, f64) {
        let terms: Vec<(f64, f64, f64)> = (0..p.len())
            .into_par_iter()
            .with_min_len(512)
            .map(|place| {
                let (e, l, labels) = self.terms[place];
                // Beta needs both shapes positive.
                let phi = p[place].clamp(1e-9, 1.0 - 1e-6);
                let (a, b) = (kappa * phi, kappa * (1.0 - phi));
                let value =
                    ln_gamma(e + a) - ln_gamma(a) + ln_gamma(l - e + b) - ln_gamma(b) + ln_gamma(kappa) - ln_gamma(l + kappa);
                let (by_a, by_b) = (digamma(e + a) - digamma(a), digamma(l - e + b) - digamma(b));
                let by_kappa = phi * by_a + (1.0 - phi) * by_b + digamma(kappa) - digamma(l + kappa);
                (labels * value, labels * kappa * (by_a - by_b), labels * kappa * by_kappa)
            })
            .collect();
        let (mut value, mut by_log_kappa) = (0.0, 0.0);
        for (place, term) in terms.into_iter().enumerate() {
            value += term.0;
            by_p[place] = term.1;
            by_log_kappa += term.2;
        }
        (value, by_log_kappa)
    }

    fn information(&self, p: &[f64], kappa: f64) -> Vec<f64> {
        let at = |(p, (_, l, labels)): (&f64, &(f64, f64, f64))| {
            let phi = p.clamp(1e-9, 1.0 - 1e-6);
            labels * l / (phi * (1.0 - phi) * (1.0 + (l - 1.0) / (kappa + 1.0)))
        };
        p.iter().zip(&self.terms).map(at).collect()
    }
}
