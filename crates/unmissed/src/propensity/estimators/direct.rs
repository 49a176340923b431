//! `direct`: propensities from a bias-controlled sample, label by label.
//!
//! `q^_j = pi^val_j / (c_j pi~_j) = (v_j / N) / (c_j n_j / n)`: v_j positives among N controlled rows, n_j among n training
//! rows, c_j the rate at which a (row, label) pair was shown in the controlled set; `p^ = 1/q^`. Given `n_j + v_j`, v_j is
//! binomial with odds `N c_j q_j / n`, so a Clopper-Pearson interval for it gives one for p.
//!
//! # Assumes
//! What was shown was chosen at random, with known rates, from rows like the training rows. A label without a controlled
//! positive has `q^ = 0`: information for a curve, but no propensity. Its cell stays empty, and such labels are counted.
//! Where counts are small the estimate is wild: `shrunken` is this estimate with the noise taken into account.
//!
//! For scores ([`Direct::propensities`]) wild is fine and biased is not: sums over labels average the noise out. There q is not
//! floored at 1, labels without a controlled positive have `q = 0`, and n_j + 1 takes the place of n_j: the mean of `1/(n_j + 1)` is
//! nearly `1/E n_j`, that of `1/n_j` is far above it where counts are small.
//!
//! # Reference
//! Schultheis et al., KDD 2022, the phi_direct of the Yahoo experiment. Twice as frequent in the sample as observed:
//!
//! ```
//! use unmissed::data::LabelStats;
//! use unmissed::propensity::estimators::direct::direct;
//! let train = LabelStats::from_counts(100, &[20, 10, 0])?;
//! let controlled = LabelStats::from_counts(50, &[2, 0, 1])?;
//! let estimate = direct(&train, &controlled, &"1/10".parse()?, 0.95)?;
//! assert_eq!(estimate.inverse(0), Some(2.0)); // (2/50) / (0.1 * 20/100)
//! assert_eq!(estimate.propensity(0), Some(0.5));
//! assert_eq!((estimate.inverse(1), estimate.propensity(1)), (Some(0.0), None));
//! assert_eq!((estimate.without_controlled_positive(), estimate.never_observed()), (1, 1));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::evidence::same_labels;
use super::{Estimate, EstimatorInput, EstimatorOption, LEVEL, PropensityEstimator, PropensityEstimatorSpec, PropensityEvidence};
use crate::data::{LabelStats, Output, Rate};
use crate::error::{Error, Result, digits};
use crate::propensity::distinct::for_each_distinct;
use crate::propensity::fit::CurveEvidence;
use crate::propensity::quantiles::clopper_pearson;
use crate::propensity::table_file::{self, Cells, ScoreCells};
use crate::propensity::{Bound, Interval, Propensities, Sample, ValueSource};
use crate::spec::Named;
use serde::Serialize;
use std::path::Path;

/// The entry in the list of estimators.
pub(super) struct Entry;

impl crate::sealed::Sealed for Entry {}

impl Named for Entry {
    fn name(&self) -> &'static str {
        "direct"
    }
    fn summary(&self) -> &'static str {
        "from a bias-controlled sample, label by label; labels without a controlled positive get no value"
    }
}

impl PropensityEstimator for Entry {
    fn bound(&self) -> Bound {
        Bound::Exact
    }
    fn inputs(&self) -> &'static [EstimatorInput] {
        &[EstimatorInput::Controlled]
    }
    fn options(&self) -> &'static [EstimatorOption] {
        &[LEVEL]
    }
    fn estimate(&self, evidence: &PropensityEvidence<'_>, spec: &PropensityEstimatorSpec) -> Result<Estimate> {
        let found = of_evidence(self.name(), evidence, spec)?;
        let known: Vec<f64> = (0..found.len()).filter_map(|label| found.propensity(label)).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let remark = format!(
            "Mean propensity of the labels with an estimate: {mean:.4}. The others have no value; 'shrunken' has one for all."
        );
        let (clipped, alone, never) = (found.clipped(), found.without_controlled_positive(), found.never_observed());
        Ok(Estimate::with_gaps(found)
            .count("estimated", known.len() as u64)
            .count("clipped", clipped as u64)
            .count("without_controlled_positive", alone as u64)
            .count("never_observed", never as u64)
            .remark(remark))
    }
}

/// The direct estimate from the controlled set of some evidence.
pub(super) fn of_evidence(name: &str, evidence: &PropensityEvidence<'_>, spec: &PropensityEstimatorSpec) -> Result<Direct> {
    let controlled = evidence.controlled_of(name)?;
    direct(evidence.stats(), &LabelStats::of(controlled.labels), controlled.rate, spec.level()?)
}

/// What a controlled set says about each label. Unlike [`Propensities`] it may lack values.
#[derive(Clone, Debug)]
pub struct Direct {
    rows: f64,
    largest: f64,
    /// Rows of the controlled set, N.
    controlled_rows: u64,
    counts: Vec<u64>,
    positives: Vec<u64>,
    exposures: Vec<f64>,
    /// Exposures of one training positive, `N c_j / n`.
    units: Vec<f64>,
    intervals: Vec<Interval>,
}

/// What is known about one label.
#[derive(Serialize)]
pub(super) struct DirectRow {
    label: usize,
    observed: u64,
    controlled: u64,
    propensity: Option<f64>,
    inverse: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

/// Estimates from the counts of a training set and of a controlled set.
pub fn direct(train: &LabelStats, controlled: &LabelStats, rate: &Rate, level: f64) -> Result<Direct> {
    same_labels(train, controlled)?;
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::value("the level of the intervals is out of range").expected("between 0 and 1").found(digits(level)));
    }
    rate.check(train.labels())?;
    let (counts, positives) = (train.dense_counts()?, controlled.dense_counts()?);
    let share = controlled.rows() as f64 / train.rows() as f64;
    let exposure = |label: usize| share * rate.of(label) * counts[label] as f64;
    let pairs: Vec<(u64, u64)> = positives.iter().copied().zip(counts.iter().copied()).collect();
    let binomial = for_each_distinct(&pairs, |(v, count)| clopper_pearson(v, v + count, level));
    let interval = |(label, rho): (usize, &Interval)| {
        let inverse = |rho: f64| rho / (1.0 - rho) / (share * rate.of(label));
        Interval { low: (1.0 / inverse(rho.high)).min(1.0), high: (1.0 / inverse(rho.low)).min(1.0) }
    };
    Ok(Direct {
        rows: train.rows() as f64,
        largest: train.largest() as f64,
        controlled_rows: controlled.rows(),
        exposures: (0..counts.len()).map(exposure).collect(),
        units: (0..counts.len()).map(|label| share * rate.of(label)).collect(),
        intervals: binomial.iter().enumerate().map(interval).collect(),
        counts,
        positives,
    })
}

impl Direct {
    /// Number of labels.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are no labels at all.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Rows of the controlled set, N.
    pub fn controlled_rows(&self) -> u64 {
        self.controlled_rows
    }

    /// Positives of a label in training, n_j.
    pub fn count(&self, label: usize) -> u64 {
        self.counts[label]
    }

    /// Controlled positives of a label, v_j.
    pub fn positives(&self, label: usize) -> u64 {
        self.positives[label]
    }

    /// Expected controlled positives of a label if nothing were missing, `N c_j pi~_j`.
    pub fn exposure(&self, label: usize) -> f64 {
        self.exposures[label]
    }

    /// The estimate of 1/p, not clipped; 0 without a controlled positive, `None` for a label that was never observed.
    pub fn inverse(&self, label: usize) -> Option<f64> {
        (self.counts[label] > 0).then(|| self.positives[label] as f64 / self.exposures[label])
    }

    /// The estimate of p, at most 1; `None` where there is none.
    pub fn propensity(&self, label: usize) -> Option<f64> {
        self.inverse(label).filter(|q| *q > 0.0).map(|q| (1.0 / q).min(1.0))
    }

    /// The variance of the estimate of 1/p, by the delta method: both counts are noisy. `None` without a positive in both.
    pub fn inverse_variance(&self, label: usize) -> Option<f64> {
        let (q, v) = (self.inverse(label)?, self.positives[label]);
        (v > 0).then(|| q * q * (1.0 / v as f64 + 1.0 / self.counts[label] as f64))
    }

    /// The inverse propensity for scores, with n_j + 1 for n_j: 0 without a controlled positive, and a number also for labels that
    /// were never observed. With it its variance, from the noise of both counts.
    fn score(&self, label: usize) -> (f64, f64) {
        let (v, count) = (self.positives[label] as f64, self.counts[label] as f64);
        let exposure = self.units[label] * (count + 1.0);
        let q = v / exposure;
        (q, v / (exposure * exposure) + q * q / (count + 1.0))
    }

    /// Propensities of all labels, for the estimation of metrics: `q` without a floor as their score inverses, with variances. The
    /// propensity itself is at most 1, and 1 for labels without a controlled positive.
    pub fn propensities(&self) -> Result<Propensities> {
        let (inverses, variances): (Vec<f64>, Vec<f64>) = (0..self.len()).map(|label| self.score(label)).unzip();
        let values: Vec<f64> = (0..self.len()).map(|label| self.propensity(label).unwrap_or(1.0)).collect();
        let source = |label: usize| match self.inverse(label) {
            Some(q) if q >= 1.0 => ValueSource::Direct,
            _ => ValueSource::Clipped,
        };
        let sources = (0..self.len()).map(source).collect();
        let note = "inverse propensities for metrics are not floored at 1: labels without a controlled positive have 0";
        Propensities::new("direct", values)?
            .with_sources(sources)?
            .with_intervals((0..self.len()).map(|label| self.interval(label)).collect())?
            .with_inverse_variances(variances)?
            .with_score_inverses(inverses)
            .map(|propensities| propensities.with_note(note))
    }

    /// The interval of p, for labels that were observed: without a controlled positive it reaches up to 1.
    pub fn interval(&self, label: usize) -> Option<Interval> {
        (self.counts[label] > 0).then(|| self.intervals[label])
    }

    /// How many labels have an estimate. With none, the controlled set says nothing that a curve could be fitted to.
    pub fn estimated(&self) -> usize {
        self.counts.iter().zip(&self.positives).filter(|(count, v)| **count > 0 && **v > 0).count()
    }

    /// How many observed labels have no controlled positive.
    pub fn without_controlled_positive(&self) -> usize {
        self.counts.iter().zip(&self.positives).filter(|(count, v)| **count > 0 && **v == 0).count()
    }

    /// How many labels were never observed in training.
    pub fn never_observed(&self) -> usize {
        self.counts.iter().filter(|count| **count == 0).count()
    }

    /// How many estimates came out above 1.
    pub fn clipped(&self) -> usize {
        (0..self.len()).filter(|label| self.inverse(*label).is_some_and(|q| q > 0.0 && q < 1.0)).count()
    }

    /// What curves are fitted to: labels without a controlled positive included, nothing clipped.
    pub fn evidence(&self) -> CurveEvidence {
        let labels = (0..self.len()).map(|label| (self.counts[label], self.positives[label], self.exposures[label]));
        CurveEvidence::from_controlled(self.sample(), labels)
    }

    /// The training data.
    pub fn sample(&self) -> Sample {
        Sample { rows: self.rows, largest: self.largest }
    }

    /// What is known about each label.
    pub(super) fn rows(&self) -> Vec<DirectRow> {
        let row = |label: usize| DirectRow {
            label,
            observed: self.count(label),
            controlled: self.positives(label),
            propensity: self.propensity(label),
            inverse: self.inverse(label),
            low: self.interval(label).map(|interval| interval.low),
            high: self.interval(label).map(|interval| interval.high),
        };
        (0..self.len()).map(row).collect()
    }

    /// Writes the csv of propensities, with empty cells where there is no estimate.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut output = Output::create(path)?;
        self.write_to(|text| output.put(text.as_bytes()))?;
        output.finish()
    }

    /// The csv text, handed over in pieces.
    pub fn write_to(&self, put: impl FnMut(&str) -> Result<()>) -> Result<()> {
        let cells = (0..self.len()).map(|label| {
            let clipped = self.inverse(label).is_some_and(|q| q < 1.0);
            let source = self.propensity(label).map(|_| if clipped { ValueSource::Clipped } else { ValueSource::Direct });
            let (inverse, variance) = self.score(label);
            let score = Some(ScoreCells { inverse, variance: Some(variance), errors: Vec::new() });
            Cells { propensity: self.propensity(label), interval: self.interval(label), source, score }
        });
        table_file::write_cells(cells, Some(0), put)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_estimate_and_what_is_written_is_read_for_scores() {
        let train = LabelStats::from_counts(100, &[20, 10, 5]).unwrap();
        let controlled = LabelStats::from_counts(50, &[6, 0, 9]).unwrap();
        let estimate = direct(&train, &controlled, &Rate::Common(0.5), 0.95).unwrap();
        let interval = estimate.interval(0).unwrap();
        let p = estimate.propensity(0).unwrap();
        assert!(interval.low < p && p <= interval.high, "{interval:?} {p}");
        assert_eq!(estimate.interval(1).unwrap().high, 1.0);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("direct.csv");
        estimate.write(&path).unwrap();
        let (read, made) = (table_file::read(&path, Some(3)).unwrap(), estimate.propensities().unwrap());
        // 6 of 50 controlled rows, at a rate of one half, and 20 + 1 of 100 training rows.
        assert!((made.score_inverse(0) - 6.0 / (50.0 * 0.5 * 21.0 / 100.0)).abs() < 1e-12);
        assert_eq!((made.score_inverse(1), made.get(1), made.source(1)), (0.0, 1.0, ValueSource::Clipped));
        for label in 0..3 {
            assert_eq!((read.get(label), read.score_inverse(label)), (made.get(label), made.score_inverse(label)));
            assert_eq!(read.inverse_variance(label), made.inverse_variance(label));
            assert_eq!(read.source(label), made.source(label), "training asks for it");
        }
    }
}
