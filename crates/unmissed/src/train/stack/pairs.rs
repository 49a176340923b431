//! The pairs of a controlled set, with the covariates of the regression.

use super::regression::WIDTH;
use super::{Evidence, Stack};
use crate::data::{Features, Labels};
use crate::error::{Error, Result};
use crate::rng::{Purpose, below, stream};
use std::collections::BTreeSet;

/// Above this many pairs, those that were not seen to be positive are sampled.
const MOST_PAIRS: usize = 2_000_000;

/// A variance below this share of the squared mean is none.
const ROUNDING: f64 = 1e-12;

/// Logits that are held at a time.
const LOGITS: usize = 1 << 24;

/// Where the logits of pairs come from.
pub(super) trait Logits {
    /// Two logits for each pair of a row and a label of it, rows ascending.
    fn of_pairs(&self, features: &Features<'_>, pairs: &[(u32, u32)]) -> Result<Vec<[f64; 2]>>;
}

impl Logits for Stack<'_> {
    fn of_pairs(&self, features: &Features<'_>, pairs: &[(u32, u32)]) -> Result<Vec<[f64; 2]>> {
        let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return Ok(Vec::new()) };
        let rows = first.0 as usize..last.0 as usize + 1;
        let labels = self.uncorrected.labels();
        let (plain, joint) = (self.uncorrected.logits(features, rows.clone())?, self.joint.logits(features, rows.clone())?);
        let of = |&(row, label): &(u32, u32)| {
            let place = (row as usize - rows.start) * labels + label as usize;
            [plain[place].into(), joint[place].into()]
        };
        Ok(pairs.iter().map(of).collect())
    }
}

/// Pairs, row after row.
pub(super) struct Pairs {
    /// A constant, both logits and the log frequency, scaled.
    pub(super) x: Vec<[f64; WIDTH]>,
    pub(super) labels: Vec<u32>,
    pub(super) rows: Vec<u32>,
    pub(super) positive: Vec<bool>,
    /// How many pairs each stands for: more than 1 in a sample.
    pub(super) weights: Vec<f64>,
    /// The probability that a relevant pair is positive, by label: 1 when all pairs were shown.
    pub(super) rates: Vec<f64>,
    /// What columns were divided by.
    pub(super) scales: [f64; WIDTH],
    /// `ln((n_j + 1/2) / n)` of all labels.
    pub(super) frequencies: Vec<f64>,
    /// Number of controlled rows.
    pub(super) row_count: usize,
}

impl Pairs {
    pub(super) fn collect(stack: &Evidence<'_>, logits: &dyn Logits) -> Result<Pairs> {
        let positives = stack.controlled.labels();
        let features = stack.controlled.features().ok_or_else(|| Error::value("the controlled set has no features"))?;
        let (rows, labels) = (positives.rows(), positives.cols());
        // Rows are numbered with 32 bits here, labels everywhere.
        if u32::try_from(rows).is_err() {
            return Err(Error::value("the controlled set has too many rows")
                .expected(format!("at most {}", u32::MAX))
                .found(rows.to_string()));
        }
        let n = stack.rows.max(1) as f64;
        let frequencies: Vec<f64> = stack.counts.iter().map(|count| ((*count as f64 + 0.5) / n).ln()).collect();
        let rates = match stack.shown {
            Some(_) => vec![1.0; labels],
            None => (0..labels).map(|label| stack.rate.of(label)).collect(),
        };
        let mut pairs = Pairs {
            x: Vec::new(),
            labels: Vec::new(),
            rows: Vec::new(),
            positive: Vec::new(),
            weights: Vec::new(),
            rates,
            scales: [1.0; WIDTH],
            frequencies,
            row_count: rows,
        };
        let each = (MOST_PAIRS / rows.max(1)).max(1);
        let mut marks = vec![usize::MAX; labels];
        for first in (0..rows).step_by((LOGITS / labels.max(1)).max(1)) {
            let chunk = first..rows.min(first + (LOGITS / labels.max(1)).max(1));
            let mut chosen: Vec<(u32, u32)> = Vec::new();
            for row in chunk {
                positives.row_ids(row).iter().for_each(|label| marks[*label as usize] = row);
                let known = |label: u32| marks[label as usize] == row;
                let mut add = |label: u32, weight: f64| {
                    chosen.push((row as u32, label));
                    pairs.labels.push(label);
                    pairs.rows.push(row as u32);
                    pairs.positive.push(known(label));
                    pairs.weights.push(weight);
                };
                match stack.shown {
                    Some(shown) => {
                        check_shown(positives, shown, row)?;
                        let weight = |label: u32| stack.weights.and_then(|of| of.get(&(row as u32, label))).copied().unwrap_or(1.0);
                        shown.row_ids(row).iter().for_each(|label| add(*label, weight(*label)));
                    }
                    None => {
                        let seen = positives.row_ids(row);
                        seen.iter().for_each(|label| add(*label, 1.0));
                        let others = sample(stack.seed, row, each, labels, known);
                        let weight = (labels - seen.len()) as f64 / others.len().max(1) as f64;
                        others.into_iter().for_each(|label| add(label, weight));
                    }
                }
            }
            for ((_, label), [plain, joint]) in chosen.iter().zip(logits.of_pairs(features, &chosen)?) {
                pairs.x.push([1.0, plain, joint, pairs.frequencies[*label as usize]]);
            }
        }
        pairs.check()?;
        pairs.scale();
        Ok(pairs)
    }

    pub(super) fn len(&self) -> usize {
        self.x.len()
    }

    pub(super) fn positives(&self) -> usize {
        self.positive.iter().filter(|positive| **positive).count()
    }

    /// There must be something to learn from in all but one of the folds.
    fn check(&self) -> Result<()> {
        let mut rows: Vec<u32> =
            self.rows.iter().zip(&self.positive).filter(|(_, positive)| **positive).map(|(row, _)| *row).collect();
        rows.dedup();
        let others = self.positive.iter().any(|positive| !positive);
        if rows.len() >= 2 && others {
            return Ok(());
        }
        Err(Error::value("the controlled set has too little data to train on")
            .expected("positives on at least 2 rows, and pairs that are not positive")
            .found(format!("{} rows with positives among {} pairs", rows.len(), self.len())))
    }

    /// Divides columns by their standard deviations, so that one weak penalty suits all; the constant stays.
    fn scale(&mut self) {
        let n: f64 = self.weights.iter().sum();
        for column in 1..WIDTH {
            let mean = self.x.iter().zip(&self.weights).map(|(x, w)| w * x[column]).sum::<f64>() / n;
            let square = self.x.iter().zip(&self.weights).map(|(x, w)| w * (x[column] - mean).powi(2)).sum::<f64>() / n;
            // A column that does not vary but by rounding has nothing to say: dividing by that would blow the rounding up.
            self.scales[column] = if square > ROUNDING * (1.0 + mean * mean) { square.sqrt() } else { 1.0 };
        }
        let scales = self.scales;
        self.x.iter_mut().for_each(|x| x.iter_mut().zip(scales).for_each(|(x, scale)| *x /= scale));
    }
}

/// What is positive must have been shown.
fn check_shown(positives: &Labels<'_>, shown: &Labels<'_>, row: usize) -> Result<()> {
    let shown = shown.row_ids(row);
    match positives.row_ids(row).iter().find(|label| !shown.contains(label)) {
        None => Ok(()),
        Some(label) => Err(Error::value(format!("label {label} of controlled row {row} is positive, but was not shown"))
            .hint("the file of shown pairs belongs to other rows, or lacks some")),
    }
}

/// `count` labels of a row that are not known to be positive, all of them when there are no more (Floyd's algorithm).
fn sample(seed: u64, row: usize, count: usize, labels: usize, known: impl Fn(u32) -> bool) -> Vec<u32> {
    if count >= labels {
        return (0..labels as u32).filter(|label| !known(*label)).collect();
    }
    let mut rng = stream(seed, Purpose::PairSample, row as u64);
    let mut drawn = BTreeSet::new();
    for last in (labels - count) as u32..labels as u32 {
        let label = below(&mut rng, u64::from(last) + 1) as u32;
        if !drawn.insert(label) {
            drawn.insert(last);
        }
    }
    drawn.into_iter().filter(|label| !known(*label)).collect()
}
