//! What labels rank by, and what those below a node can reach at most.
//!
//! A label to which the trees give `e` has the probability `P = e f_j` with the inverse propensity `f_j`, or `g_j(e) f_j` where a controlled set recalibrates. It
//! ranks by `P`, by `w_j P` with weights, or by `a_j min(P, 1) + b_j` with a line for each label. All of these go one way in `e`, so what is below a
//! node follows from the node's `e` and from what is largest below it: inverse propensities times weights, offsets of `g_j`, and the slopes (those below
//! 0 count as 0, which is where their lines are highest) and constants of lines.

use super::{Recalibration, TreeModel, TreeSearch};
use crate::data::IgnoredPairs;
use crate::error::{Error, Result};
use crate::predict::PredictOptions;
use crate::predict::given::{by_probability, told_apart};
use crate::predict::options::check_options;
use crate::propensity::Propensities;
use crate::top_k::FineKey;

/// By how much bounds are raised where numbers that are equal by their formulas are not rounded alike.
const ROUNDING: f64 = 1.0 + 1e-12;

/// Checked options.
pub(super) struct Ranking<'a> {
    pub(super) k: usize,
    threshold: f64,
    /// What makes probabilities of what the trees say, and scores of probabilities, when anything does.
    inverse: Option<Vec<f64>>,
    weights: Option<&'a [f64]>,
    lines: Option<&'a [[f64; 2]]>,
    recalibration: Option<&'a Recalibration>,
    pub(super) ignored: Option<&'a IgnoredPairs>,
    pub(super) search: TreeSearch,
    /// No label with a lower value is given.
    least: f64,
}

/// What is largest of the labels below each lane of a tree; empty where labels do not differ.
#[derive(Default)]
pub(super) struct Largest {
    factors: Vec<f64>,
    offsets: Vec<f64>,
    slopes: Vec<f64>,
    constants: Vec<f64>,
}

impl<'a> Ranking<'a> {
    pub(super) fn new(model: &'a TreeModel, options: &PredictOptions<'a>, search: TreeSearch) -> Result<Ranking<'a>> {
        check_options(options, model.labels())?;
        if options.logits {
            return Err(Error::value("a model on trees has no logits").hint("its scores are products of probabilities"));
        }
        if search.beam == Some(0) || search.max_nodes == Some(0) {
            return Err(Error::value("the number of nodes to open is out of range").expected("at least 1").found("0"));
        }
        let given = options.propensities.map(Propensities::inverse);
        let inverse = match (&model.inverse, given) {
            (Some(own), Some(given)) => Some(own.iter().zip(given).map(|(own, given)| own * given).collect()),
            (own, given) => given.or_else(|| own.clone()),
        };
        Ok(Ranking {
            k: options.k.min(model.labels()),
            threshold: options.threshold.unwrap_or(0.0),
            inverse,
            weights: options.weights,
            lines: options.weighting.map(|weighting| weighting.lines()),
            recalibration: model.recalibration.as_ref(),
            ignored: options.ignored,
            search,
            least: options.least(),
        })
    }

    fn inverse(&self, label: u32) -> f64 {
        self.inverse.as_ref().map_or(1.0, |inverse| inverse[label as usize])
    }

    fn factor(&self, label: u32) -> f64 {
        self.inverse(label) * self.weights.map_or(1.0, |weights| weights[label as usize])
    }

    /// The probability of a label to which the trees give `chance`, before it is divided by propensities.
    fn chance(&self, chance: f64, label: u32) -> f64 {
        self.recalibration.map_or(chance, |recalibration| recalibration.at(chance, label))
    }

    /// What a label ranks by.
    fn value(&self, chance: f64, label: u32) -> f64 {
        let score = self.chance(chance, label) * self.factor(label);
        match self.lines {
            Some(lines) => on_line(lines[label as usize], score),
            None => score,
        }
    }

    /// What a label ranks by, unless its probability is below the threshold, or it is worth nothing where it has to be.
    pub(super) fn key(&self, chance: f64, label: u32) -> Option<FineKey> {
        let admitted = self.threshold == 0.0 || self.chance(chance, label) * self.inverse(label) >= self.threshold;
        let value = self.value(chance, label);
        (admitted && value >= self.least).then(|| {
            // Lines rank labels, but what is given for them is their probability.
            let fine = if self.lines.is_some() { (self.chance(chance, label) * self.inverse(label)).min(1.0) } else { chance };
            FineKey::new(value, fine as f32, label)
        })
    }

    /// What one tree of several says: that is not the probability yet, so no label is left out for it. The value is the most that
    /// the mean of several trees can rank by if this one gives the label the most, or the least, of them.
    pub(super) fn key_of_one(&self, chance: f64, label: u32) -> FineKey {
        let [below, above] = [chance / ROUNDING, (chance * ROUNDING).min(1.0)].map(|chance| self.value(chance, label));
        FineKey::new(below.max(above), chance as f32, label)
    }

    /// The most that a label below a lane ranks by if the trees give the lane `chance`.
    #[inline]
    pub(super) fn bound(&self, chance: f64, lane: usize, largest: &Largest) -> f64 {
        let chance = match (self.recalibration, largest.offsets.get(lane)) {
            (Some(recalibration), Some(offset)) => recalibration.moved(chance, *offset) * ROUNDING,
            _ => chance,
        };
        let score = chance * largest.factors.get(lane).copied().unwrap_or(1.0);
        match (largest.slopes.get(lane), largest.constants.get(lane)) {
            (Some(slope), Some(constant)) => on_line([*slope, *constant], score),
            _ => score,
        }
    }

    /// The most that a label below a lane can rank by in the mean of several trees, if all of them give what leads to it at most `chance`.
    #[inline]
    pub(super) fn bound_of_one(&self, chance: f64, lane: usize, largest: &Largest) -> f64 {
        self.bound((chance * ROUNDING).min(1.0), lane, largest)
    }

    /// Whether no label can reach the threshold to which the trees, or one of several, give at most `chance`. Where labels differ in what is made of
    /// it, only their own keys say so.
    #[inline]
    pub(super) fn is_below_threshold(&self, chance: f64) -> bool {
        self.inverse.is_none() && self.recalibration.is_none() && chance * ROUNDING < self.threshold
    }

    /// The value below which no label is given, of those that are not among the k best found.
    pub(super) fn floor(&self, found: &[FineKey]) -> f64 {
        match found.get(self.k - 1) {
            Some(worst) => worst.value(),
            // Labels with a value of at least their probability, which reaches the threshold.
            None if self.weights.is_none() && self.lines.is_none() => self.threshold,
            None => self.least,
        }
    }

    /// The best labels of a row with the scores that are given for them, highest first.
    pub(super) fn given(&self, row: &[FineKey]) -> Vec<(u32, f32)> {
        if self.lines.is_some() {
            return by_probability(row, FineKey::logit);
        }
        // A probability is at most 1.
        let score = |key: FineKey| if self.weights.is_some() { key.value() as f32 } else { key.value().min(1.0) as f32 };
        row.iter().map(|key| key.label()).zip(told_apart(row, score)).collect()
    }

    /// What is largest below each lane of a tree.
    pub(super) fn largest(&self, model: &TreeModel, tree: usize) -> Largest {
        let weighted = self.inverse.is_some() || self.weights.is_some();
        let below = |wanted: bool, of: &dyn Fn(u32) -> f64| if wanted { largest_below(model, tree, of) } else { Vec::new() };
        let offset = |label: u32| self.recalibration.map_or(0.0, |recalibration| recalibration.offsets()[label as usize]);
        let line = |label: u32| self.lines.map_or([0.0; 2], |lines| lines[label as usize]);
        Largest {
            factors: below(weighted, &|label| self.factor(label)),
            offsets: below(self.recalibration.is_some(), &offset),
            slopes: below(self.lines.is_some(), &|label| line(label)[0].max(0.0)),
            constants: below(self.lines.is_some(), &|label| line(label)[1]),
        }
    }
}

/// The value on a line of a probability that is corrected: at most 1, and in the precision in which it is given, as
/// [`Weighting::apply`](crate::predict::Weighting::apply) sees it. Every step keeps what is larger larger, whatever is rounded.
#[inline]
fn on_line([slope, constant]: [f64; 2], score: f64) -> f64 {
    slope * f64::from(score.min(1.0) as f32) + constant
}

fn largest_below(model: &TreeModel, tree: usize, of: &dyn Fn(u32) -> f64) -> Vec<f64> {
    let tree = &model.trees[tree];
    let mut largest = vec![f64::NEG_INFINITY; tree.ends().len()];
    // Nodes come after those above them.
    for node in (0..tree.nodes()).rev() {
        for lane in tree.lanes(node) {
            largest[lane] = match (tree.child(lane), tree.label(lane)) {
                (Some(child), _) => largest[tree.lanes(child)].iter().copied().fold(f64::NEG_INFINITY, f64::max),
                (None, Some(label)) => of(label),
                (None, None) => f64::NEG_INFINITY,
            };
        }
    }
    largest
}
