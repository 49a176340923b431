//! What a curve is fitted to: counts and inverse propensities of labels.

use crate::data::LabelStats;
use crate::error::{Error, Result};
use crate::propensity::{Propensities, Sample, ValueSource};

/// Labels with an estimate `q^_j` of the inverse propensity, and the counts behind it where they are known.
#[derive(Clone, Debug)]
pub struct CurveEvidence {
    sample: Sample,
    /// Which labels have an estimate, ascending.
    labels: Vec<u32>,
    counts: Vec<f64>,
    inverse: Vec<f64>,
    controlled: Option<Controlled>,
    left_out: usize,
}

/// Controlled positives v_j and exposures `N c_j pi~_j`: v_j has mean exposure times q_j.
#[derive(Clone, Debug)]
pub(super) struct Controlled {
    pub(super) positives: Vec<u64>,
    pub(super) exposures: Vec<f64>,
}

impl CurveEvidence {
    /// From propensities of the labels of some training data. Labels that were never observed, and values that themselves
    /// come from a curve, are not evidence and are left out.
    pub fn from_propensities(propensities: &Propensities, stats: &LabelStats) -> Result<CurveEvidence> {
        if propensities.len() as u64 != stats.labels() {
            return Err(Error::value("propensities and data have different numbers of labels")
                .expected(stats.labels().to_string())
                .found(propensities.len().to_string()));
        }
        let all_curve = propensities.from_source(ValueSource::Curve) == propensities.len();
        let counts = stats.dense_counts()?;
        let usable = |label: &usize| counts[*label] > 0 && (all_curve || propensities.sources()[*label] != ValueSource::Curve);
        let (mut labels, mut kept, mut inverse) = (Vec::new(), Vec::new(), Vec::new());
        for label in (0..counts.len()).filter(usable) {
            labels.push(label as u32);
            kept.push(counts[label] as f64);
            inverse.push(1.0 / propensities.values()[label]);
        }
        let left_out = counts.len() - kept.len();
        Ok(CurveEvidence { sample: Sample::of(stats), labels, counts: kept, inverse, controlled: None, left_out })
    }

    /// From a controlled set: `(n_j, v_j, exposure_j)` of each label; those without exposure are left out.
    pub fn from_controlled(sample: Sample, labels: impl IntoIterator<Item = (u64, u64, f64)>) -> CurveEvidence {
        let (mut kept, mut counts, mut inverse, mut left_out) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let mut controlled = Controlled { positives: Vec::new(), exposures: Vec::new() };
        for (label, (count, positives, exposure)) in labels.into_iter().enumerate() {
            if count == 0 || exposure <= 0.0 {
                left_out += 1;
                continue;
            }
            kept.push(label as u32);
            counts.push(count as f64);
            inverse.push(positives as f64 / exposure);
            controlled.positives.push(positives);
            controlled.exposures.push(exposure);
        }
        CurveEvidence { sample, labels: kept, counts, inverse, controlled: Some(controlled), left_out }
    }

    /// From ratios: `q^_j` of the labels that have one, with their counts; `None` for the others.
    pub(crate) fn from_inverse(sample: Sample, ratios: impl IntoIterator<Item = Option<(u64, f64)>>) -> CurveEvidence {
        let (mut labels, mut counts, mut inverse, mut left_out) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (label, ratio) in ratios.into_iter().enumerate() {
            let Some((count, q)) = ratio else {
                left_out += 1;
                continue;
            };
            labels.push(label as u32);
            counts.push(count as f64);
            inverse.push(q);
        }
        CurveEvidence { sample, labels, counts, inverse, controlled: None, left_out }
    }

    /// The labels with an estimate, ascending.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Number of all labels, with an estimate or not.
    pub fn all_labels(&self) -> usize {
        self.labels.len() + self.left_out
    }

    /// Number of labels with an estimate.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether no label has one.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many labels have `q^ = 0`.
    pub fn zeros(&self) -> usize {
        self.inverse.iter().filter(|q| **q == 0.0).count()
    }

    /// How many labels are not evidence.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// The training data.
    pub fn sample(&self) -> Sample {
        self.sample
    }

    /// Smallest and largest count.
    pub fn range(&self) -> (f64, f64) {
        self.counts.iter().fold((f64::INFINITY, 0.0), |(low, high), c| (low.min(*c), high.max(*c)))
    }

    /// Counts `n_j` of the labels with an estimate.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Their `q^_j`, not clipped.
    pub fn inverse(&self) -> &[f64] {
        &self.inverse
    }

    pub(super) fn controlled(&self) -> Option<&Controlled> {
        self.controlled.as_ref()
    }

    /// Labels by count: `(count, places)`, ascending.
    pub(super) fn groups(&self) -> Vec<(f64, Vec<usize>)> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|a, b| self.counts[*a].total_cmp(&self.counts[*b]));
        order.chunk_by(|a, b| self.counts[*a] == self.counts[*b]).map(|run| (self.counts[run[0]], run.to_vec())).collect()
    }
}
