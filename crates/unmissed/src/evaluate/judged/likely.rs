//! How likely single pairs are relevant, from judged ones: for those who look for missing labels.

use super::Judged;
use super::completed::{Completed, Items};
use super::guesses::Covariates;
use super::pool::Pool;
use super::sample::{Design, Sample};
use crate::data::{Csr, LabelStats, Labels};
use crate::error::Result;

/// Unobserved pairs of models' lists with what judgements say about them.
pub(crate) struct LikelyPairs {
    pairs: Vec<(u32, u32)>,
    likely: Vec<Option<Likely>>,
}

/// What is known of one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Likely {
    /// It was judged: 1, 0, or one half for what nobody could tell.
    Judged(f64),
    /// Pairs like it are relevant so often.
    Guessed(f64),
}

impl Likely {
    /// The probability that the pair is relevant.
    pub(crate) fn share(self) -> f64 {
        let (Likely::Judged(share) | Likely::Guessed(share)) = self;
        share
    }
}

impl LikelyPairs {
    /// About a pair; `None` where it could not be drawn.
    pub(crate) fn get(&self, row: usize, label: u32) -> Option<Likely> {
        self.likely[self.pairs.binary_search(&(row as u32, label)).ok()?]
    }
}

impl Judged {
    /// The unobserved pairs of the first k labels of the models' lists.
    pub(crate) fn likely_pairs(
        &self,
        truth: &Labels<'_>,
        models: &[&Csr<'_, f32>],
        train: Option<&LabelStats>,
        k: usize,
        seed: u64,
    ) -> Result<LikelyPairs> {
        let pool = Pool::new(truth, models, k);
        let sample = Sample::new(&self.judgements, self.plan.as_ref(), &pool, truth)?;
        let strata = match &sample.design {
            Design::Strata(rounds) => rounds.first().and_then(|round| round.of.as_ref()),
            Design::Poisson(_) => None,
        };
        let said = |row: u32, label: u32| self.machine.as_ref().and_then(|machine| machine.get(row, label));
        let machine = self.machine.as_ref().map(|_| &said as &dyn Fn(u32, u32) -> Option<f64>);
        let covariates = strata.map(|of| Covariates::new(&sample.pairs, of, &pool, truth, train, machine));
        let completed = Completed::new(&sample, covariates.as_ref(), seed);
        let guessed = |(share, covered): (&f64, &bool)| covered.then_some(Likely::Guessed(*share));
        let mut likely: Vec<Option<Likely>> = completed.likely.iter().zip(&sample.covered).map(guessed).collect();
        let mut judge = |place: u32, y: f64| likely[place as usize] = Some(Likely::Judged(y));
        match &completed.items {
            Items::Strata(rounds) => {
                let strata = rounds.iter().flat_map(|round| &round.strata);
                strata.flat_map(|stratum| &stratum.items).for_each(|item| judge(item.place, item.y));
            }
            Items::Poisson(items, _) => items.iter().for_each(|(item, _)| judge(item.place, item.y)),
        }
        Ok(LikelyPairs { pairs: sample.pairs, likely })
    }
}
