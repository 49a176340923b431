//! Items and users of a survey: who likes what, and how often that is observed.

use super::super::{GeneratorSettings, row_number};
use crate::data::{Dataset, Dense, Features, Labels, check_label_limit};
use crate::error::Result;
use crate::rng::{Purpose, below, row_key, stream, uniform_at};
use crate::sigmoid::sigmoid;
use rand_chacha::rand_core::Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Smallest propensity: without it, scatter could make an item practically unobservable, and its weight astronomical.
const LEAST: f64 = 1e-3;
/// Larger constants make no other data, only numbers that break down.
const MOST: f64 = 1e3;
/// The same for the scatter, which is an exponent.
const MOST_SCATTER: f64 = 100.0;

pub(super) struct Item {
    direction: Vec<f64>,
    bias: f64,
    pub(super) prior: f64,
    /// The mean over the pairs in which it is relevant.
    pub(super) propensity: f64,
    /// The log odds of the propensity where the liking is 0.
    observed: f64,
}

/// What does not depend on the part.
pub(super) struct World {
    pub(super) items: Vec<Item>,
    strength: f64,
    noise: f64,
    rise: f64,
    dim: usize,
    seed: u64,
}

/// Users with what is relevant to them, and what of it is observed.
pub(super) struct Users {
    pub(super) relevant: Dataset<'static>,
    pub(super) observed: Labels<'static>,
}

impl World {
    pub(super) fn new(settings: &GeneratorSettings, seed: u64) -> Result<World> {
        let up_to =
            |name, most: f64| settings.number(name, &format!("a number from 0 to {most}"), |number| (0.0..=most).contains(&number));
        let (items, dim) = (settings.whole("items", 1)?, settings.whole("dim", 1)?);
        let share = settings.number("relevant", "a share above 0 and below 1", |share| share > 0.0 && share < 1.0)?;
        let relevant = share * items as f64;
        check_label_limit(items as u64)?;
        settings.check_size(items, dim)?;
        let (tail, strength, noise) = (up_to("tail", MOST)?, up_to("strength", MOST)?, up_to("noise", MOST)?);
        let (gamma, scatter, rise) = (up_to("gamma", MOST)?, up_to("scatter", MOST_SCATTER)?, up_to("rise", MOST_SCATTER)?);
        let mut drawn: Vec<(u64, Vec<f64>, f64)> = (0..items as u64)
            .map(|label| {
                let mut rng = stream(seed, Purpose::GenerateLabels, label);
                let key = rng.next_u64();
                let direction: Vec<f64> = (0..dim).map(|_| StandardNormal.sample(&mut rng)).collect();
                (key, direction, StandardNormal.sample(&mut rng))
            })
            .collect();
        // Ranks are shuffled over labels, so that the number of a label says nothing about its frequency.
        let mut order: Vec<usize> = (0..items).collect();
        order.sort_unstable_by_key(|label| (drawn[*label].0, *label));
        let by_rank = priors(items, relevant, tail);
        let mut prior = vec![0.0; items];
        order.iter().zip(&by_rank).for_each(|(label, value)| prior[*label] = *value);
        let items = drawn
            .par_iter_mut()
            .zip(prior)
            .map(|((_, direction, deviate), prior)| {
                let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
                direction.iter_mut().for_each(|x| *x /= length);
                let curve = (prior / by_rank[0]).powf(gamma) * (scatter * *deviate).exp();
                let (direction, bias, curve) = (std::mem::take(direction), bias(prior, strength), curve.clamp(LEAST, 1.0));
                let relevant = |x: f64| sigmoid(bias + strength * x) / prior;
                let liking = normal_mean(|x| x * relevant(x));
                let observed = (curve / (1.0 - curve)).ln() - rise * liking;
                let propensity = match rise == 0.0 || curve == 1.0 {
                    true => curve,
                    false => normal_mean(|x| relevant(x) * sigmoid(observed + rise * x)).clamp(f64::MIN_POSITIVE, 1.0),
                };
                Item { direction, bias, prior, propensity, observed }
            })
            .collect();
        Ok(World { items, strength, noise, rise, dim, seed })
    }

    /// The probability that a relevant item is observed on a user with such a liking.
    fn propensity(&self, item: &Item, liking: f64) -> f64 {
        if self.rise == 0.0 || item.propensity == 1.0 { item.propensity } else { sigmoid(item.observed + self.rise * liking) }
    }

    /// Users of a part with what is relevant among the items that `candidates` gives for the row, and what of it is observed. The
    /// same uniform numbers as in [`mask`](crate::data::mask) decide.
    pub(super) fn users<C: IntoIterator<Item = u32>>(
        &self,
        users: usize,
        part: u64,
        candidates: impl Fn(u64) -> C + Sync,
    ) -> Result<Users> {
        type Lists = Vec<(Vec<u32>, Vec<u32>)>;
        let (features, labels): (Vec<Vec<f32>>, Lists) = (0..users)
            .into_par_iter()
            .map(|row| {
                let row = row_number(part, row);
                let mut rng = stream(self.seed, Purpose::GenerateRows, row);
                let key = rng.next_u64();
                let taste: Vec<f64> = (0..self.dim).map(|_| StandardNormal.sample(&mut rng)).collect();
                let mut noisy = |x: &f64| -> f32 {
                    let deviate: f64 = StandardNormal.sample(&mut rng);
                    (x + self.noise * deviate) as f32
                };
                let features = taste.iter().map(&mut noisy).collect();
                let mask = row_key(self.seed, Purpose::Mask, row);
                let (mut relevant, mut observed) = (Vec::new(), Vec::new());
                for label in candidates(row) {
                    let item = &self.items[label as usize];
                    let liking: f64 = taste.iter().zip(&item.direction).map(|(t, v)| t * v).sum();
                    if uniform_at(key, label) < sigmoid(item.bias + self.strength * liking) {
                        relevant.push(label);
                        if uniform_at(mask, label) < self.propensity(item, liking) {
                            observed.push(label);
                        }
                    }
                }
                (features, (relevant, observed))
            })
            .unzip();
        let (relevant, observed): (Vec<_>, Vec<_>) = labels.into_iter().unzip();
        let features = Features::Dense(Dense::new(users, self.dim, features.concat())?);
        let items = self.items.len() as u64;
        let relevant = Dataset::new(Some(features), Labels::from_ids(items, relevant)?)?;
        Ok(Users { relevant, observed: Labels::from_ids(items, observed)? })
    }
}

/// The zero of a rising function, by halving [low, high] until it cannot be halved.
pub(in super::super) fn zero(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
}

/// Priors by rank, with the wanted sum.
pub(in super::super) fn priors(items: usize, relevant: f64, tail: f64) -> Vec<f64> {
    let prior = |rank: usize, log_c: f64| sigmoid(log_c - tail * (rank as f64).ln());
    let sum = |log_c: f64| (1..=items).map(|rank| prior(rank, log_c)).sum::<f64>();
    // With a steep tail the wanted sum takes a constant that lifts many ranks close to 1.
    let most = 700f64.max(50.0 + tail * (items as f64).ln());
    let log_c = zero(-700.0, most, |log_c| sum(log_c) - relevant);
    (1..=items).map(|rank| prior(rank, log_c)).collect()
}

/// The mean of a function over a standard normal x. The trapezoid rule is as good as exact for a smooth function that vanishes at
/// both ends.
pub(in super::super) fn normal_mean(f: impl Fn(f64) -> f64) -> f64 {
    let nodes = || (-80..=80).map(|i| f64::from(i) * 0.1).map(|x| (x, (-0.5 * x * x).exp()));
    let total: f64 = nodes().map(|(_, weight)| weight).sum();
    nodes().map(|(x, weight)| weight * f(x)).sum::<f64>() / total
}

/// The bias at which `E s(bias + strength x)` over a standard normal x is the prior.
pub(in super::super) fn bias(prior: f64, strength: f64) -> f64 {
    let reach = 700.0 + 8.0 * strength;
    zero(-reach, reach, |bias| normal_mean(|x| sigmoid(bias + strength * x)) - prior)
}

/// `count` of the items, uniformly without replacement (Floyd's algorithm), ascending.
pub(crate) fn draw(seed: u64, row: u64, count: u32, items: u32) -> BTreeSet<u32> {
    let mut rng = stream(seed, Purpose::Shown, row);
    let mut drawn = BTreeSet::new();
    for last in items - count..items {
        // At most `last`, so nothing is cut off.
        let item = below(&mut rng, u64::from(last) + 1) as u32;
        if !drawn.insert(item) {
            drawn.insert(last);
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priors_have_the_wanted_sum_and_a_long_tail() {
        let priors = priors(1000, 20.0, 0.8);
        assert!((priors.iter().sum::<f64>() - 20.0).abs() < 1e-9);
        assert!(priors.windows(2).all(|pair| pair[0] > pair[1]) && priors[0] < 1.0);
        assert!(priors[0] / priors[999] > 50.0);
        // Without taste, the prior is the sigmoid of the bias.
        assert!((sigmoid(bias(0.2, 0.0)) - 0.2).abs() < 1e-12);
        assert!(bias(0.02, 2.5) < bias(0.03, 2.5));
    }
}
