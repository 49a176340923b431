//! Held-out rows: how well does the model do on them after each round of training?
//!
//! Blocks of labels are trained one after the other, each through all its rounds, so a round's result on the held-out rows is
//! put together over the blocks: the loss as a sum, and the best labels of each row as they come.

use super::batches::Batches;
use super::lines::{Line, Lines, Weights, add_products};
use super::problem::{Pairs, Part};
use crate::data::Csr;
use crate::error::{Error, Result};
use crate::losses::Loss;
use crate::top_k::Key;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was seen after one round.
struct Round {
    /// The sum of losses of each block of labels, by its first label.
    losses: Vec<(u32, f64)>,
    /// `depth` keys of logit and label per row, the best first.
    tops: Vec<Key>,
}

/// Held-out rows and what was seen on them. See the module's page.
pub(super) struct HeldOut<'a> {
    batches: Batches,
    loss: &'static dyn Loss,
    depth: usize,
    labels: usize,
    rounds: Vec<Mutex<Round>>,
    chances: Chances<'a>,
}

/// Which propensities the loss of held-out rows takes.
pub(super) enum Chances<'a> {
    /// Those of the training.
    AsTrained,
    /// One for each label: the rates of a controlled set.
    PerLabel(Vec<f64>),
    /// One for each pair.
    PerPair(Pairs<'a>),
}

impl<'a> HeldOut<'a> {
    /// Room for so many rounds, with the best `depth` labels of each row.
    pub(super) fn new(
        batches: Batches,
        loss: &'static dyn Loss,
        chances: Chances<'a>,
        labels: usize,
        depth: usize,
        rounds: usize,
    ) -> HeldOut<'a> {
        let depth = depth.min(labels);
        let round = || Mutex::new(Round { losses: Vec::new(), tops: Vec::new() });
        let rounds = (0..rounds).map(|_| round()).collect();
        HeldOut { batches, loss, depth, labels, rounds, chances }
    }

    /// Number of rounds.
    pub(super) fn rounds(&self) -> usize {
        self.rounds.len()
    }

    fn round(&self, round: usize) -> MutexGuard<'_, Round> {
        self.rounds[round].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scores the rows with the weights of a block.
    pub(super) fn record<const W: usize>(
        &self,
        round: usize,
        part: &Part<'_, W>,
        weights: &(impl Weights<W> + ?Sized),
        bias: &Line<W>,
    ) -> Result<()> {
        let mut logits = Lines::<W>::zeros(self.batches.rows());
        let mut rest = logits.get_mut();
        let exact = match &self.chances {
            Chances::AsTrained => part.exact_propensities(),
            Chances::PerLabel(p) => std::array::from_fn(|column| p.get(part.first as usize + column).copied().unwrap_or(1.0)),
            Chances::PerPair(_) => [1.0; W],
        };
        let by_label = exact.map(|p| p as f32);
        let by_pair = match &self.chances {
            Chances::PerPair(pairs) => Some((pairs, pairs.lines(part))),
            _ => None,
        };
        // Weights of labels are for training; on other rows all labels count the same.
        let factors = if let Chances::AsTrained = self.chances { part.weights } else { [1.0; W] };
        // Sums as if all pairs were unobserved, and what observed ones add to that.
        let (mut sums, mut more, mut start) = ([0.0; W], [0.0; W], 0);
        for batch in self.batches.iter() {
            let lines;
            (lines, rest) = rest.split_at_mut(batch.rows());
            lines.fill(*bias);
            add_products(batch, weights, lines);
            let p =
                by_pair.as_ref().map_or(&by_label[..], |(_, by_pair)| by_pair.get()[start..start + batch.rows()].as_flattened());
            self.loss.values(lines.as_flattened(), p, &mut sums);
            for (place, column) in part.positives(batch) {
                let logit = f64::from(lines[place][column]);
                let [observed, unobserved] = match &by_pair {
                    Some((pairs, by_pair)) => {
                        [pairs.observed(start + place, part.first, column), by_pair.get()[start + place][column].into()]
                    }
                    None => [exact[column]; 2],
                };
                let irrelevant = self.loss.irrelevant(logit, true, observed).map(|part| part.value);
                let value = self.loss.at(logit, true, observed).value;
                more[column] += value - irrelevant.unwrap_or(value);
                sums[column] += irrelevant.unwrap_or(value) - self.loss.at(logit, false, unobserved).value;
            }
            start += batch.rows();
        }
        let has_floor = self.loss.irrelevant(0.0, false, 1.0).is_some();
        let of_column = |column: usize| more[column] + if has_floor { sums[column].max(0.0) } else { sums[column] };
        let sum = (0..part.width).map(|column| f64::from(factors[column]) * of_column(column)).sum::<f64>();
        if !sum.is_finite() {
            return Err(Error::value("training diverged: the loss is not finite")
                .hint("use a smaller learning rate, a larger decay, or clip inverse propensities"));
        }
        let mut round = self.round(round);
        round.losses.push((part.first, sum));
        // Rounds take memory when they come: most of many may never do.
        round.tops.resize(self.depth * self.batches.rows(), Key::LAST);
        for (line, tops) in logits.get().iter().zip(round.tops.chunks_exact_mut(self.depth.max(1))) {
            keep_best(&line[..part.width], part.first, tops);
        }
        Ok(())
    }

    /// The mean loss over rows (the sum over labels) after a round.
    pub(super) fn loss(&self, round: usize) -> f64 {
        let mut round = self.round(round);
        round.losses.sort_unstable_by_key(|entry| entry.0);
        round.losses.iter().map(|entry| entry.1).sum::<f64>() / self.batches.rows().max(1) as f64
    }

    /// The best labels of each row after a round, with their logits.
    pub(super) fn predictions(&self, round: usize) -> Result<Csr<'static, f32>> {
        let round = self.round(round);
        let rows = round.tops.chunks_exact(self.depth.max(1)).map(|tops| tops.iter().map(|key| (key.label(), key.score())));
        Csr::from_rows(self.labels as u64, rows)
    }
}

/// Puts those of a row's new logits that belong there among its best; ties go to the smaller label.
fn keep_best(logits: &[f32], first: u32, tops: &mut [Key]) {
    let Some(&(mut worst)) = tops.last() else { return };
    for (column, &logit) in logits.iter().enumerate() {
        let key = Key::new(logit, first + column as u32);
        if key >= worst {
            continue;
        }
        let place = tops.partition_point(|top| *top < key);
        tops[place..].rotate_right(1);
        tops[place] = key;
        worst = tops[tops.len() - 1];
    }
}
