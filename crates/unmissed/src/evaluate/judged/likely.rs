//! How likely single pairs are relevant, from judged ones: to find missing labels.

use super::Judged;
use super::completed::{Completed, Items};
use super::guesses::Covariates;
use super::pool::Pool;
use super::sample::{Design, Sample};
use crate::data::{Csr, LabelStats, Labels};
use crate::error::Result;
use crate::sigmoid::sigmoid;

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
        let judgement = |row: u32, label: u32| self.machine.as_ref().and_then(|machine| machine.get(row, label));
        let machine = self.machine.as_ref().map(|_| &judgement as &dyn Fn(u32, u32) -> Option<f64>);
        let covariates = strata.map(|of| Covariates::new(&sample.pairs, of, &pool, truth, train, machine));
        let completed = Completed::new(&sample, covariates.as_ref(), seed);
        let calibrated = Calibration::of(&completed.items);
        let guessed = |(share, covered): (&f64, &bool)| covered.then(|| Likely::Guessed(calibrated.of_guess(*share)));
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

/// What guesses come to: `sigmoid(a + b logit(guess))`, fitted to judged pairs with guesses that did not see them, each for the pairs that it
/// stands for. The highest of many guesses are too high by chance; b says how much of a difference comes true.
struct Calibration {
    shift: f64,
    slope: f64,
}

/// Newton steps of a calibration, and one over the variance of its slope around 0: a few judged pairs do not tell guesses apart.
const STEPS: usize = 25;
const PENALTY: f64 = 4.0;

impl Calibration {
    fn of(items: &Items) -> Calibration {
        let Items::Strata(rounds) = items else { return Calibration { shift: 0.0, slope: 1.0 } };
        // Logit of the guess, judgement, weight.
        let mut judged: Vec<(f64, f64, f64)> = Vec::new();
        for round in rounds {
            for stratum in &round.strata {
                let weight = round.weight * stratum.size / stratum.items.len().max(1) as f64;
                judged.extend(stratum.items.iter().map(|item| (logit(item.guess), item.y, weight)));
            }
        }
        // As many as there are judgements, so that the penalty knows how few they are.
        let all: f64 = judged.iter().map(|(_, _, weight)| weight).sum();
        let scale = judged.len() as f64 / all.max(f64::MIN_POSITIVE);
        let relevant: f64 = judged.iter().map(|(_, y, weight)| scale * weight * y).sum();
        let mut at = Calibration { shift: logit((relevant + 0.5) / (judged.len() as f64 + 1.0)), slope: 0.0 };
        for _ in 0..STEPS {
            let mut sums = [0.0, PENALTY * at.slope, 1e-6, 0.0, PENALTY];
            for (x, y, weight) in &judged {
                let share = sigmoid(at.shift + at.slope * x);
                let (residual, curvature) = (scale * weight * (share - y), scale * weight * share * (1.0 - share));
                let parts = [residual, residual * x, curvature, curvature * x, curvature * x * x];
                sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            }
            let [a, b, aa, ab, bb] = sums;
            let determinant = aa * bb - ab * ab;
            at.shift -= ((bb * a - ab * b) / determinant).clamp(-2.0, 2.0);
            at.slope -= ((aa * b - ab * a) / determinant).clamp(-0.5, 0.5);
        }
        at.slope = at.slope.clamp(0.0, 1.0);
        at
    }

    fn of_guess(&self, guess: f64) -> f64 {
        sigmoid(self.shift + self.slope * logit(guess))
    }
}

fn logit(share: f64) -> f64 {
    let share = share.clamp(1e-4, 1.0 - 1e-4);
    (share / (1.0 - share)).ln()
}
