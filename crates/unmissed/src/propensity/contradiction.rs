//! Propensities against evidence that was not used to make them: is the difference more than chance, and how large is it?
//!
//! If p is right, `sum_{j observed in row i} 1/p_j` estimates without bias how many relevant labels the row has. A later snapshot
//! of the same rows says how many there are: with `u_i = sum_{j in earlier_i} 1/p_j - |later_i|` the mean of u is 0, and
//! `z = mean(u) / SE(mean(u))`. A controlled set says it for other rows: `x_i = sum_{j in train_i} c_j / p_j` and
//! `w_i = |controlled_i|` have the same mean, and `z = (mean(x) - mean(w)) / sqrt(SE(x)^2 + SE(w)^2)`. Standard errors are those of
//! means over rows, so labels of a row may depend on each other as they like.
//!
//! The same is done for bands of training counts, which finds curves that are right on the whole and wrong for rare labels.
//! A model is contradicted when, after Bonferroni's adjustment for the bands, a difference stands at the level that was asked
//! for and is larger than a factor of [`MATERIAL`] (in a band: [`MATERIAL_IN_BAND`]; bands go by counts that are noisy
//! themselves, and labels that came out high by chance regress).
//!
//! # Assumes
//! The evidence is the truth. A later snapshot is not: it lacks labels too, so real propensities may be lower than it says.
//! [`Contradiction::completeness`] is how complete it would have to be for the model to be right.
//!
//! # Reference
//! Horvitz and Thompson 1952 for the estimate; Liang and Zeger 1986 for standard errors by cluster. By hand: half of two labels a
//! row is missing, and `p = 1` is off by 1 in every row.
//!
//! ```
//! use unmissed::{data::Labels, propensity::{Propensities, contradiction::against_later}};
//! let earlier = Labels::from_ids(2, (0..100).map(|i| [i % 2]))?;
//! let later = Labels::from_ids(2, (0..100).map(|_| [0, 1]))?;
//! let complete = against_later(&Propensities::new("constant", vec![1.0; 2])?, &earlier, &later, 0.95)?;
//! assert_eq!((complete.all.model, complete.all.evidence), (1.0, 2.0));
//! assert!(complete.contradicted);
//! let half = against_later(&Propensities::new("half", vec![0.5; 2])?, &earlier, &later, 0.95)?;
//! assert!(!half.contradicted && half.all.model == 2.0);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::Propensities;
use crate::data::{LabelStats, Labels, Rate};
use crate::error::{Error, Result};
use crate::moments::Moments;
use crate::normal::two_sided;
use rayon::prelude::*;
use serde::Serialize;

/// Differences of labels per row by less than this factor are not held against a model.
pub const MATERIAL: f64 = 1.1;
/// The same within a band of counts.
pub const MATERIAL_IN_BAND: f64 = 1.25;
/// First counts of the bands after the one that starts at 0.
const STARTS: [u64; 2] = [10, 100];
/// Rows are summed in pieces of this size, so that threads do not change the sums.
const PIECE: usize = 4096;

/// What the evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// Pairs shown at a known rate.
    ControlledSet,
    /// The same rows, later.
    LaterSnapshot,
}

impl EvidenceKind {
    /// As sentences name it.
    pub fn name(self) -> &'static str {
        match self {
            EvidenceKind::ControlledSet => "the controlled set",
            EvidenceKind::LaterSnapshot => "the later snapshot",
        }
    }
}

/// Labels per row that a model implies, and those of the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// Smallest training count of the labels concerned.
    pub from: u64,
    /// Largest training count; `None` has no end.
    pub to: Option<u64>,
    /// Mean over rows of what the model implies.
    pub model: f64,
    /// Mean over rows of what the evidence has.
    pub evidence: f64,
    /// Share of what the evidence has that was observed: its own pooled propensity.
    pub observed_share: f64,
    /// Standard error of the difference.
    pub se: f64,
    /// `(model - evidence) / se`; `None` when nothing varies.
    pub z: Option<f64>,
    /// Two-sided probability of a difference at least as large if the model were right; not adjusted.
    pub p: f64,
}

impl Gap {
    /// By which factor the model is off, at least 1.
    pub fn factor(&self) -> f64 {
        let ratio = self.model / self.evidence;
        ratio.max(1.0 / ratio)
    }

    /// The pooled propensity that the model claims for these labels.
    pub fn claimed_share(&self) -> f64 {
        self.observed_share * self.evidence / self.model
    }
}

/// A model held against evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contradiction {
    /// What it was held against.
    pub kind: EvidenceKind,
    /// All labels together.
    pub all: Gap,
    /// By training count, those bands that have evidence.
    pub bands: Vec<Gap>,
    /// Whether the difference is more than chance and more than trifling.
    pub contradicted: bool,
}

impl Contradiction {
    /// The gap that decided: the largest factor among those that stand, or that of all labels.
    pub fn worst_band(&self) -> Option<&Gap> {
        self.bands.iter().max_by(|a, b| a.factor().total_cmp(&b.factor()))
    }

    /// If the model implies more than a later snapshot has: the share of the relevant labels that the snapshot would have to
    /// hold for the model to be right.
    pub fn completeness(&self) -> Option<f64> {
        (self.kind == EvidenceKind::LaterSnapshot && self.all.model > self.all.evidence).then(|| self.all.evidence / self.all.model)
    }
}

/// Of one row: its relevant labels by the model and by the evidence, and the observed ones among the latter.
#[derive(Clone, Copy, Default)]
struct OfRow {
    model: f64,
    evidence: f64,
    observed: f64,
}

/// The same over rows, with the difference of the first two.
#[derive(Clone, Copy, Default)]
struct OverRows {
    model: Moments,
    evidence: Moments,
    difference: Moments,
    observed: f64,
}

const CELLS: usize = STARTS.len() + 2;

/// Against a later snapshot of the same rows.
pub fn against_later(propensities: &Propensities, earlier: &Labels<'_>, later: &Labels<'_>, level: f64) -> Result<Contradiction> {
    if (earlier.rows(), earlier.cols()) != (later.rows(), later.cols()) {
        return Err(Error::value("the snapshots have different shapes")
            .expected(format!("{} rows and {} labels, as in the earlier one", earlier.rows(), earlier.cols()))
            .found(format!("{} rows and {} labels", later.rows(), later.cols()))
            .hint("both must be of the same rows in the same order"));
    }
    same_labels(propensities, earlier)?;
    let counts = LabelStats::of(earlier).dense_counts()?;
    let values = propensities.values();
    let sums = over_rows(earlier.rows(), &|row, cells| {
        for label in later.row_ids(row) {
            add(cells, counts[*label as usize], |cell| cell.evidence += 1.0);
        }
        for label in earlier.row_ids(row) {
            // A label that was withdrawn since was a mistake, and stands for nothing.
            if later.row_ids(row).contains(label) {
                add(cells, counts[*label as usize], |cell| {
                    cell.model += 1.0 / values[*label as usize];
                    cell.observed += 1.0;
                });
            }
        }
    });
    let n = earlier.rows() as f64;
    let gap = |(place, sums): (usize, &OverRows)| {
        let se = variance(&sums.difference).sqrt();
        let (model, evidence) = (sums.model.mean(), sums.evidence.mean());
        gap(place, model, evidence, sums.observed / n / evidence, se)
    };
    Ok(judge(EvidenceKind::LaterSnapshot, sums.iter().enumerate().map(gap).collect(), level))
}

/// Against a set whose pairs were shown at known rates.
pub fn against_controlled(
    propensities: &Propensities,
    train: &Labels<'_>,
    controlled: &Labels<'_>,
    rate: &Rate,
    level: f64,
) -> Result<Contradiction> {
    same_labels(propensities, train)?;
    same_labels(propensities, controlled)?;
    rate.check(train.cols() as u64)?;
    let counts = LabelStats::of(train).dense_counts()?;
    let values = propensities.values();
    let implied = over_rows(train.rows(), &|row, cells| {
        for label in train.row_ids(row) {
            let rate = rate.of(*label as usize);
            add(cells, counts[*label as usize], |cell| {
                cell.model += rate / values[*label as usize];
                cell.observed += rate;
            });
        }
    });
    let found = over_rows(controlled.rows(), &|row, cells| {
        for label in controlled.row_ids(row) {
            add(cells, counts[*label as usize], |cell| cell.evidence += 1.0);
        }
    });
    let n = train.rows() as f64;
    let gap = |(place, (a, b)): (usize, (&OverRows, &OverRows))| {
        let se = (variance(&a.model) + variance(&b.evidence)).sqrt();
        let (model, evidence) = (a.model.mean(), b.evidence.mean());
        gap(place, model, evidence, a.observed / n / evidence, se)
    };
    Ok(judge(EvidenceKind::ControlledSet, implied.iter().zip(&found).enumerate().map(gap).collect(), level))
}

fn same_labels(propensities: &Propensities, labels: &Labels<'_>) -> Result<()> {
    if propensities.len() == labels.cols() {
        return Ok(());
    }
    Err(Error::value("propensities and evidence have different numbers of labels")
        .expected(propensities.len().to_string())
        .found(labels.cols().to_string()))
}

/// Adds to all labels and to the band of the count.
fn add(cells: &mut [OfRow; CELLS], count: u64, put: impl Fn(&mut OfRow)) {
    put(&mut cells[0]);
    put(&mut cells[1 + STARTS.partition_point(|start| *start <= count)]);
}

/// Sums over rows in fixed pieces, added up in order.
fn over_rows(rows: usize, row: &(dyn Fn(usize, &mut [OfRow; CELLS]) + Sync)) -> [OverRows; CELLS] {
    let piece = |piece: usize| {
        let mut total = [OverRows::default(); CELLS];
        for place in piece * PIECE..((piece + 1) * PIECE).min(rows) {
            let mut cells = [OfRow::default(); CELLS];
            row(place, &mut cells);
            for (total, cell) in total.iter_mut().zip(&cells) {
                total.model.add(cell.model);
                total.evidence.add(cell.evidence);
                total.difference.add(cell.model - cell.evidence);
                total.observed += cell.observed;
            }
        }
        total
    };
    let pieces: Vec<_> = (0..rows.div_ceil(PIECE)).into_par_iter().map(piece).collect();
    pieces.iter().fold([OverRows::default(); CELLS], |mut all, piece| {
        for (all, piece) in all.iter_mut().zip(piece) {
            all.model.merge(&piece.model);
            all.evidence.merge(&piece.evidence);
            all.difference.merge(&piece.difference);
            all.observed += piece.observed;
        }
        all
    })
}

/// The variance of a mean over rows, which a single row does not tell.
fn variance(of: &Moments) -> f64 {
    of.variance_of_mean().unwrap_or(f64::INFINITY)
}

fn gap(place: usize, model: f64, evidence: f64, observed_share: f64, se: f64) -> Gap {
    let (from, to) = match place {
        0 => (0, None),
        1 => (0, STARTS.first().map(|next| next - 1)),
        _ => (STARTS[place - 2], STARTS.get(place - 1).map(|next| next - 1)),
    };
    let z = (se > 0.0 && se.is_finite()).then(|| (model - evidence) / se);
    let p = match z {
        Some(z) => two_sided(z),
        // Nothing varies: any difference at all is impossible, unless it is rounding.
        None if se == 0.0 && (model - evidence).abs() > 1e-9 * evidence.abs().max(1.0) => 0.0,
        None => 1.0,
    };
    Gap { from, to, model, evidence, observed_share, se, z, p }
}

fn judge(kind: EvidenceKind, mut gaps: Vec<Gap>, level: f64) -> Contradiction {
    let all = gaps.remove(0);
    let bands: Vec<Gap> = gaps.into_iter().filter(|gap| gap.evidence > 0.0 && gap.observed_share > 0.0).collect();
    let limit = (1.0 - level) / (bands.len() + 1) as f64;
    let stands = |gap: &Gap, factor: f64| gap.evidence > 0.0 && gap.p < limit && gap.factor() > factor;
    let contradicted = stands(&all, MATERIAL) || bands.iter().any(|band| stands(band, MATERIAL_IN_BAND));
    Contradiction { kind, all, bands, contradicted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::mask;

    /// 3 000 rows of 40 labels from rare to frequent.
    fn truth(seed: u32) -> Labels<'static> {
        let has = move |row: u32, label: u32| {
            let mixed = (row * 40 + label + seed).wrapping_mul(2_654_435_761) >> 8;
            f64::from(mixed % 10_007) / 10_007.0 < 0.02 + 0.01 * f64::from(label)
        };
        Labels::from_ids(40, (0..3000).map(|row| (0..40).filter(move |label| has(row, *label)))).unwrap()
    }

    fn rising(exponent: f64) -> Vec<f64> {
        (1..=40).map(|label| (f64::from(label) / 40.0).powf(exponent)).collect()
    }

    #[test]
    fn right_propensities_stand_and_wrong_ones_fall_under_both_kinds_of_evidence() {
        let (later, other) = (truth(1), truth(77));
        let earlier = mask(&later, &rising(0.5), 3).unwrap();
        let controlled = mask(&other, &[0.2; 40], 4).unwrap();
        let (right, wrong) = (Propensities::new("right", rising(0.5)).unwrap(), Propensities::new("wrong", rising(1.5)).unwrap());
        for (p, contradicted) in [(&right, false), (&wrong, true)] {
            let by_time = against_later(p, &earlier, &later, 0.99).unwrap();
            let by_sample = against_controlled(p, &earlier, &controlled, &Rate::Common(0.2), 0.99).unwrap();
            assert_eq!(by_time.contradicted, contradicted, "{by_time:?}");
            assert_eq!(by_sample.contradicted, contradicted, "{by_sample:?}");
            assert_eq!(by_time.all.z.unwrap().abs() > 4.0, contradicted);
        }
    }

    /// Under the right propensities z is a standard normal number: its square has mean 1.
    #[test]
    fn z_is_calibrated() {
        let later = truth(5);
        let right = Propensities::new("right", rising(0.5)).unwrap();
        let square =
            |seed| against_later(&right, &mask(&later, &rising(0.5), seed).unwrap(), &later, 0.95).unwrap().all.z.unwrap().powi(2);
        let mean = (0..200).map(square).sum::<f64>() / 200.0;
        // The mean of 200 squares has a standard deviation of 0.1.
        assert!((mean - 1.0).abs() < 0.4, "{mean}");
    }

    #[test]
    fn threads_do_not_matter_and_shapes_are_checked() {
        let later = truth(9);
        let earlier = mask(&later, &rising(0.5), 1).unwrap();
        let p = Propensities::new("x", rising(0.7)).unwrap();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| against_later(&p, &earlier, &later, 0.95).unwrap())
        };
        assert_eq!(on(1), on(4));
        let short = later.select_rows(&[0, 1]);
        assert!(against_later(&p, &earlier, &short, 0.95).is_err());
        assert!(against_later(&Propensities::new("x", vec![1.0]).unwrap(), &earlier, &later, 0.95).is_err());
    }
}
