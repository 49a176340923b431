//! Estimates with variances that are right for the design.
//!
//! With residuals `e = g (y - w)` of judged pairs the variance is `sum_h N_h (N_h - n_h) s_h^2 / n_h`, that of a stratified sample with its
//! finite-population correction, and of rounds the sum of squared weights times variances. The sample variance of a few residuals is
//! unreliable where most gains are 0, as in differences, and 0 where all judgements are the same. The gains of all pairs of a stratum are
//! known, so it is mixed with the variance that these imply with the mean square of `y - w`, which counts as [`IMPLIED_PAIRS`] judged
//! pairs. To that mean square half a relevant and half an irrelevant pair are added, as in Jeffreys' prior: none of eight judged pairs is
//! relevant where one in twenty is, and the interval must account for that. Degrees of freedom are Satterthwaite's. Of independent
//! draws the
//! variance is `sum (1 - f) e^2 / f^2`.
//!
//! Where rows are a sample too, the variance of the mean over rows is added: that of expected row terms, that of relevance given what is
//! expected, and what residuals of pairs of one row have in common.

use super::completed::{Completed, Item, Items, RoundItems, StratumItems};
use super::interval::{t_quantile, t_two_sided, wilson};
use super::target::Target;
use crate::moments::Moments;
use crate::request::IntervalKind;

/// Judged pairs that the variance implied by all gains of a stratum counts as.
const IMPLIED_PAIRS: f64 = 8.0;
/// What is added to the relevant and to the irrelevant ones among judged pairs.
const HALF_A_PAIR: f64 = 0.5;
/// Judged pairs that what is assumed about a variance counts as.
const PRIOR_PAIRS: f64 = 2.0;
/// Fewer judged pairs in rows with others than this say nothing about what they have in common.
const LEAST_TOGETHER: usize = 30;

/// An estimate with all that is random about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimated {
    pub(super) value: f64,
    /// How far it may be off to each side for lack of judgements.
    pub(super) slack: f64,
    pub(super) variance: f64,
    pub(super) freedom: f64,
}

impl Estimated {
    pub(super) fn se(&self) -> f64 {
        self.variance.sqrt()
    }

    /// The interval of a value between two limits.
    pub(super) fn within(&self, limits: (f64, f64), level: f64) -> (f64, f64) {
        let t = t_quantile(level, self.freedom);
        // Guesses may move a share off its limit by noise alone, where a score interval no longer reaches the limit: the wider one.
        let (plain_low, plain_high) = self.around(level);
        let low = wilson(self.value - self.slack, self.variance, limits, t).0.min(plain_low);
        let high = wilson(self.value + self.slack, self.variance, limits, t).1.max(plain_high);
        (low.max(limits.0).min(self.value - self.slack), high.min(limits.1).max(self.value + self.slack))
    }

    /// The interval of a difference.
    pub(super) fn around(&self, level: f64) -> (f64, f64) {
        let reach = self.slack + t_quantile(level, self.freedom) * self.se();
        (self.value - reach, self.value + reach)
    }

    /// The probability of a value at least as far from 0 if it were 0; what lacks judgements counts for 0.
    pub(super) fn p(&self) -> f64 {
        let distance = (self.value.abs() - self.slack).max(0.0);
        if distance == 0.0 { 1.0 } else { t_two_sided(distance / self.se(), self.freedom) }
    }
}

/// Estimates sums over pairs. Holds a gain for every pair while it works on one sum.
pub(super) struct Estimator<'a> {
    pub(super) completed: &'a Completed,
    pub(super) pairs: &'a [(u32, u32)],
    pub(super) rows: f64,
    pub(super) interval: IntervalKind,
    gains: Vec<f64>,
}

impl<'a> Estimator<'a> {
    pub(super) fn new(completed: &'a Completed, pairs: &'a [(u32, u32)], rows: f64, interval: IntervalKind) -> Estimator<'a> {
        Estimator { completed, pairs, rows, interval, gains: vec![0.0; pairs.len()] }
    }

    /// The value alone.
    pub(super) fn value(&self, target: &Target) -> f64 {
        target.known() + target.gains.iter().map(|(place, gain)| gain * self.completed.value[*place as usize]).sum::<f64>()
    }

    /// The estimate of a sum.
    pub(super) fn estimate(&mut self, target: &Target) -> Estimated {
        let value = self.value(target);
        let slack = target.gains.iter().map(|(place, gain)| gain.abs() * self.completed.slack[*place as usize]).sum();
        target.gains.iter().for_each(|(place, gain)| self.gains[*place as usize] = *gain);
        let (of_design, mut freedom) = self.of_design(target);
        let mut variance = of_design;
        if self.interval == IntervalKind::Population {
            let of_rows = self.of_rows(target);
            variance += of_rows;
            let squares = of_design * of_design / freedom + of_rows * of_rows / (self.rows - 1.0).max(1.0);
            freedom = if squares > 0.0 { variance * variance / squares } else { f64::INFINITY };
        }
        target.gains.iter().for_each(|(place, _)| self.gains[*place as usize] = 0.0);
        Estimated { value, slack, variance, freedom }
    }

    /// The variance that the draw has, and its degrees of freedom.
    fn of_design(&self, target: &Target) -> (f64, f64) {
        let (mut variance, mut squares) = (0.0, 0.0);
        match &self.completed.items {
            Items::Strata(rounds) => {
                for round in rounds {
                    let implied = self.implied(round, target);
                    for (stratum, implied) in round.strata.iter().zip(implied) {
                        let n = stratum.items.len() as f64;
                        let open = stratum.size - n;
                        if n == 0.0 || open <= 0.0 {
                            continue;
                        }
                        let residual = |item: &Item| self.gains[item.place as usize] * (item.y - item.guess);
                        let mean = stratum.items.iter().map(residual).sum::<f64>() / n;
                        let deviations: f64 = stratum.items.iter().map(|item| (residual(item) - mean).powi(2)).sum();
                        let weight = n - 1.0 + IMPLIED_PAIRS;
                        let of_pair = (deviations + IMPLIED_PAIRS * implied) / weight;
                        let freedom = n - 1.0 + PRIOR_PAIRS;
                        let part = round.weight * round.weight * stratum.size * open * of_pair / n;
                        variance += part;
                        squares += part * part / freedom;
                    }
                }
            }
            Items::Poisson(items, rate) => {
                let n = items.len() as f64;
                for (item, probability) in items {
                    let gain = self.gains[item.place as usize];
                    let y = (n * item.y * item.y + PRIOR_PAIRS * rate) / (n + PRIOR_PAIRS);
                    let part = (1.0 - probability) * gain * gain * y / (probability * probability);
                    variance += part;
                    squares += part * part;
                }
            }
        }
        (variance, if squares > 0.0 { variance * variance / squares } else { f64::INFINITY })
    }

    /// By stratum: the variance of residuals that its share of relevant pairs implies, from the gains of all its pairs.
    fn implied(&self, round: &RoundItems, target: &Target) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); round.strata.len()];
        match &round.of {
            Some(of) => {
                for (place, gain) in &target.gains {
                    if let Some(sum) = sums.get_mut(usize::from(of[*place as usize])) {
                        *sum = (sum.0 + gain, sum.1 + gain * gain);
                    }
                }
                sums.iter_mut().zip(&round.strata).for_each(|(sum, stratum)| {
                    let size = stratum.size.max(1.0);
                    *sum = (sum.0 / size, sum.1 / size);
                });
            }
            // Only the judged pairs are known to be of a stratum.
            None => {
                for (sum, stratum) in sums.iter_mut().zip(&round.strata) {
                    let n = stratum.items.len().max(1) as f64;
                    let gain = |item: &Item| self.gains[item.place as usize];
                    *sum = (
                        stratum.items.iter().map(gain).sum::<f64>() / n,
                        stratum.items.iter().map(|item| gain(item).powi(2)).sum::<f64>() / n,
                    );
                }
            }
        }
        let implied = |((mean, square), stratum): (&(f64, f64), &StratumItems)| {
            let n = stratum.items.len() as f64;
            // Guesses take out what the gains of a stratum differ by.
            if self.completed.is_calibrated {
                let residuals: f64 = stratum.items.iter().map(|item| (item.y - item.guess).powi(2)).sum();
                square * (residuals + HALF_A_PAIR) / (n + 2.0 * HALF_A_PAIR)
            } else {
                let relevant: f64 = stratum.items.iter().map(|item| item.y).sum();
                let rate = ((relevant + HALF_A_PAIR) / (n + 2.0 * HALF_A_PAIR)).max(stratum.rate);
                (square * rate - (mean * rate).powi(2)).max(0.0)
            }
        };
        sums.iter().zip(&round.strata).map(implied).collect()
    }

    /// The variance that rows have which are a sample.
    fn of_rows(&self, target: &Target) -> f64 {
        if self.rows < 2.0 {
            return 0.0;
        }
        let likely = |place: u32| self.completed.likely[place as usize].clamp(0.0, 1.0);
        let (mut terms, mut given) = (Moments::default(), 0.0);
        let mut known = target.known.iter().peekable();
        for of_row in target.gains.chunk_by(|a, b| self.pairs[a.0 as usize].0 == self.pairs[b.0 as usize].0) {
            let row = self.pairs[of_row[0].0 as usize].0;
            while let Some((_, term)) = known.next_if(|(other, _)| *other < row) {
                terms.add(*term);
            }
            let term = known.next_if(|(other, _)| *other == row).map_or(0.0, |(_, term)| *term);
            terms.add(term + of_row.iter().map(|(place, gain)| gain * likely(*place)).sum::<f64>());
            given += of_row.iter().map(|(place, gain)| gain * gain * likely(*place) * (1.0 - likely(*place))).sum::<f64>();
        }
        known.for_each(|(_, term)| terms.add(*term));
        // Rows without terms have 0.
        let between = terms.with_zeros(self.rows).deviations() * self.rows / (self.rows - 1.0);
        between + given + self.in_common()
    }

    /// What residuals of two judged pairs of one row have in common, summed over all pairs of pairs; at least 0.
    fn in_common(&self) -> f64 {
        let Items::Strata(rounds) = &self.completed.items else { return 0.0 };
        let (mut sum, mut count) = (0.0, 0);
        for round in rounds {
            let mut judged: Vec<(u32, usize, &Item)> = Vec::new();
            for (stratum, of) in round.strata.iter().enumerate() {
                judged.extend(of.items.iter().map(|item| (self.pairs[item.place as usize].0, stratum, item)));
            }
            judged.sort_by_key(|(row, _, item)| (*row, item.place));
            for of_row in judged.chunk_by(|a, b| a.0 == b.0).filter(|of_row| of_row.len() > 1) {
                for (at, (_, s, u)) in of_row.iter().enumerate() {
                    for (_, t, v) in &of_row[..at] {
                        let share = |stratum: usize, taken: f64| {
                            let of = &round.strata[stratum];
                            (of.items.len() as f64 - taken) / (of.size - taken).max(1.0)
                        };
                        let together = share(*s, 0.0) * share(*t, if s == t { 1.0 } else { 0.0 });
                        let residual = |item: &Item| {
                            let guess = self.completed.likely[item.place as usize];
                            self.gains[item.place as usize] * (item.y - guess)
                        };
                        sum += round.weight * 2.0 * residual(u) * residual(v) / together;
                        count += 1;
                    }
                }
            }
        }
        if count < LEAST_TOGETHER { 0.0 } else { f64::max(sum, 0.0) }
    }
}
