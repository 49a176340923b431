//! Propensities by label frequency: a readable table, whatever the number of labels.
//!
//! The propensity of a band is pooled: observed positives over the relevant ones that they imply, `sum n_j / sum (n_j / p_j)`. For
//! two
//! snapshots, where `p_j = e_j / l_j`, that is the share of the band's later labels that were there before.

use super::Propensities;
use crate::data::LabelStats;
use crate::error::{Error, Result};
use serde::Serialize;

/// First counts of the bands; the last one has no end.
const STARTS: [u64; 10] = [0, 1, 2, 5, 10, 25, 50, 100, 250, 1000];

/// Labels of similar frequency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// Smallest count in the band.
    pub from: u64,
    /// Largest count in the band; `None` for the last one, which has no end.
    pub to: Option<u64>,
    /// Labels in the band.
    pub labels: u64,
    /// Share of all positives.
    pub share: f64,
    /// Pooled propensity; the plain mean for labels that never occur; `None` for an empty band.
    pub propensity: Option<f64>,
    /// Smallest propensity of a label.
    pub low: Option<f64>,
    /// Largest propensity of a label.
    pub high: Option<f64>,
}

impl Band {
    /// The counts as people write them: `5-9`, `1000+`.
    pub fn name(&self) -> String {
        match self.to {
            Some(to) if to == self.from => to.to_string(),
            Some(to) => format!("{}-{to}", self.from),
            None => format!("{}+", self.from),
        }
    }
}

/// The bands of the labels of `stats` (the training data).
///
/// ```
/// use unmissed::data::LabelStats;
/// use unmissed::propensity::{bands, Propensities};
/// let stats = LabelStats::from_counts(100, &[1, 3, 2, 60])?;
/// let p = Propensities::new("x", vec![0.1, 0.5, 0.25, 1.0])?;
/// let bands = bands::bands(&p, &stats)?;
/// assert_eq!((bands[2].name(), bands[2].labels), ("2-4".to_string(), 2));
/// // 5 observed positives stand for 3 / 0.5 + 2 / 0.25 = 14.
/// assert_eq!(bands[2].propensity, Some(5.0 / 14.0));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn bands(propensities: &Propensities, stats: &LabelStats) -> Result<Vec<Band>> {
    if propensities.len() as u64 != stats.labels() {
        return Err(Error::value("propensities and data have different numbers of labels")
            .expected(stats.labels().to_string())
            .found(propensities.len().to_string()));
    }
    #[derive(Clone, Copy, Default)]
    struct Sums {
        labels: u64,
        positives: f64,
        implied: f64,
        plain: f64,
        range: Option<(f64, f64)>,
    }
    let mut sums = [Sums::default(); STARTS.len()];
    let mut occurring = stats.occurring().iter().zip(stats.counts()).peekable();
    for (label, p) in propensities.values().iter().enumerate() {
        let count = occurring.next_if(|(id, _)| **id as usize == label).map_or(0, |(_, count)| *count);
        let band = &mut sums[STARTS.partition_point(|start| *start <= count) - 1];
        band.labels += 1;
        band.positives += count as f64;
        band.implied += count as f64 / p;
        band.plain += p;
        band.range = Some(band.range.map_or((*p, *p), |(low, high)| (low.min(*p), high.max(*p))));
    }
    let all = (stats.positives() as f64).max(1.0);
    let band = |(place, sums): (usize, &Sums)| Band {
        from: STARTS[place],
        to: STARTS.get(place + 1).map(|next| next - 1),
        labels: sums.labels,
        share: sums.positives / all,
        propensity: match sums.labels {
            0 => None,
            labels if sums.implied == 0.0 => Some(sums.plain / labels as f64),
            _ => Some(sums.positives / sums.implied),
        },
        low: sums.range.map(|range| range.0),
        high: sums.range.map(|range| range.1),
    };
    Ok(sums.iter().enumerate().map(band).collect())
}
