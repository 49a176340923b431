//! Checks of propensities against the data.
//!
//! - [`copies`]: how p changes when the data are copied k times, which adds no information. A curve in the prior does not change;
//!   JPV tends to 1.
//! - [`implied_priors`]: `pi~_j / p_j` is the true prior; above 1 the propensity is impossible.
//! - [`effective_sample_size`]: `(sum w)^2 / sum w^2` of the weights 1/p over all observed positives.
//! - [`distance`]: controlled positives that the propensities predict, against those that were found.
//! - [`extrapolated`]: the share of label occurrences whose propensity comes from a curve outside its data.
//!
//! They return data; the report interprets them.

use super::estimators::Direct;
use super::fit::Fit;
use super::quantiles::gamma_quantile;
use super::{Interval, Phi, Propensities, Sample, ValueSource};
use crate::data::LabelStats;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How the propensities of a curve look on k copies of the data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Copied {
    /// Number of copies.
    pub k: f64,
    /// Mean propensity over observed positives.
    pub mean: f64,
    /// Propensity of the rarest label that occurs.
    pub rarest: f64,
    /// Propensity of the most frequent label.
    pub most_frequent: f64,
    /// The largest factor by which a label's propensity differs from that on one copy.
    pub largest_change: f64,
}

/// The curve over k.
///
/// ```
/// use unmissed::data::LabelStats;
/// use unmissed::propensity::{checks, models};
/// let stats = LabelStats::from_counts(50, &[1, 25])?;
/// let power = checks::copies(models::parse("power")?.curve().unwrap(), &stats, &[1.0, 1000.0])?;
/// assert_eq!(power[1].largest_change, 1.0);
/// // JPV with n = 50 and n_j = 1 is 1/ln 50; a thousand copies make it nearly 0.79.
/// let jpv = checks::copies(models::parse("jpv")?.curve().unwrap(), &stats, &[1.0, 1000.0])?;
/// assert!((jpv[0].rarest - 1.0 / 50f64.ln()).abs() < 1e-12);
/// let a_thousand = 1.0 / (1.0 + (50_000f64.ln() - 1.0) * (2.5 / 1001.5f64).powf(0.55));
/// assert!((jpv[1].rarest - a_thousand).abs() < 1e-12);
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn copies(phi: &Phi, stats: &LabelStats, ks: &[f64]) -> Result<Vec<Copied>> {
    let sample = Sample::of(stats);
    phi.curve().check(sample)?;
    let mut counts = stats.counts().to_vec();
    counts.sort_unstable();
    let groups: Vec<(f64, f64)> = counts.chunk_by(|a, b| a == b).map(|run| (run[0] as f64, run.len() as f64)).collect();
    let (Some(first), Some(last)) = (groups.first(), groups.last()) else {
        return Err(Error::value("no label occurs").expected("observed labels"));
    };
    let at = |count: f64, k: f64| phi.at(sample.copied(k), count * k);
    let one = |&k: &f64| {
        let (mut sum, mut mass, mut change) = (0.0, 0.0, 1.0f64);
        for (count, labels) in &groups {
            let p = at(*count, k);
            sum += p * count * labels;
            mass += count * labels;
            let factor = p / at(*count, 1.0);
            change = change.max(factor).max(1.0 / factor);
        }
        Copied { k, mean: sum / mass, rarest: at(first.0, k), most_frequent: at(last.0, k), largest_change: change }
    };
    if let Some(k) = ks.iter().find(|k| !(**k > 0.0 && k.is_finite())) {
        return Err(Error::value("the number of copies is out of range").expected("a positive number").found(k.to_string()));
    }
    Ok(ks.iter().map(one).collect())
}

/// Labels whose propensity is too small for how often they are observed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImpliedPriors {
    /// Labels with `pi~/p > 1`, worst first, with that number.
    pub impossible: Vec<(u32, f64)>,
    /// The largest implied prior of all labels.
    pub largest: f64,
    /// Mean number of relevant labels per row that the propensities imply, `sum_j pi~_j / p_j`.
    pub labels_per_row: f64,
}

/// True priors that the propensities imply.
pub fn implied_priors(propensities: &Propensities, stats: &LabelStats) -> Result<ImpliedPriors> {
    same_labels(propensities, stats)?;
    let mut result = ImpliedPriors { impossible: Vec::new(), largest: 0.0, labels_per_row: 0.0 };
    for (label, count) in stats.occurring().iter().zip(stats.counts()) {
        let prior = *count as f64 / stats.rows() as f64 / propensities.get(*label);
        result.labels_per_row += prior;
        result.largest = result.largest.max(prior);
        if prior > 1.0 + 1e-12 {
            result.impossible.push((*label, prior));
        }
    }
    result.impossible.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(result)
}

/// How much the weights cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectiveSampleSize {
    /// Observed positives.
    pub positives: f64,
    /// `(sum w)^2 / sum w^2`, as many equally weighted positives would tell as much.
    pub effective: f64,
    /// The largest weight 1/p of a label that occurs.
    pub largest_weight: f64,
}

/// The effective number of observed positives under the weights 1/p.
///
/// ```
/// use unmissed::data::LabelStats;
/// use unmissed::propensity::{checks, Propensities};
/// let stats = LabelStats::from_counts(10, &[9, 1])?;
/// let p = Propensities::new("x", vec![1.0, 1.0 / 9.0])?;
/// // Weights: nine ones and a nine. (9 + 9)^2 / (9 + 81) = 3.6.
/// assert!((checks::effective_sample_size(&p, &stats)?.effective - 3.6).abs() < 1e-12);
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn effective_sample_size(propensities: &Propensities, stats: &LabelStats) -> Result<EffectiveSampleSize> {
    same_labels(propensities, stats)?;
    let (mut sum, mut squares, mut largest) = (0.0, 0.0, 0.0f64);
    for (label, count) in stats.occurring().iter().zip(stats.counts()) {
        let weight = 1.0 / propensities.get(*label);
        sum += *count as f64 * weight;
        squares += *count as f64 * weight * weight;
        largest = largest.max(weight);
    }
    let effective = if squares > 0.0 { sum * sum / squares } else { 0.0 };
    Ok(EffectiveSampleSize { positives: stats.positives() as f64, effective, largest_weight: largest })
}

/// How far propensities are from what a controlled set found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// Controlled positives found.
    pub found: f64,
    /// Controlled positives that the propensities predict, `sum_j N c_j pi~_j / p_j`.
    pub predicted: f64,
    /// `found / predicted`: above 1 more is missing than the propensities say.
    pub ratio: f64,
    /// Exact Poisson interval of the ratio.
    pub interval: Interval,
    /// Mean squared difference of inverse propensities from the direct estimate, over observed labels.
    pub mse: f64,
    /// Labels with a propensity outside the interval of the direct estimate, and labels that have one.
    pub outside: (usize, usize),
}

/// Compares propensities with a controlled set that was not used to make them.
pub fn distance(propensities: &Propensities, direct: &Direct, level: f64) -> Result<Distance> {
    if propensities.len() != direct.len() {
        return Err(Error::value("propensities and controlled set have different numbers of labels")
            .expected(direct.len().to_string())
            .found(propensities.len().to_string()));
    }
    let (mut found, mut predicted, mut squares, mut outside, mut labels) = (0.0, 0.0, 0.0, 0, 0);
    for label in 0..direct.len() {
        let (Some(inverse), Some(interval)) = (direct.inverse(label), direct.interval(label)) else { continue };
        let p = propensities.get(label as u32);
        found += direct.positives(label) as f64;
        predicted += direct.exposure(label) / p;
        squares += (inverse - 1.0 / p).powi(2);
        labels += 1;
        outside += usize::from(p < interval.low || p > interval.high);
    }
    let tail = (1.0 - level) / 2.0;
    // Garwood: the exact interval of a Poisson mean.
    let low = if found > 0.0 { gamma_quantile(found, tail) } else { 0.0 };
    let high = gamma_quantile(found + 1.0, 1.0 - tail);
    Ok(Distance {
        found,
        predicted,
        ratio: found / predicted,
        interval: Interval { low: low / predicted, high: high / predicted },
        mse: squares / labels.max(1) as f64,
        outside: (outside, labels),
    })
}

/// How much rests on a curve where there were no data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Extrapolated {
    /// Labels concerned, of those that occur.
    pub labels: usize,
    /// Their share of all label occurrences in `stats`.
    pub share: f64,
}

/// Occurrences (in `stats`, which may be those of a test set) of labels whose value comes from a curve; with `fit`, only those
/// whose training count the fit never saw.
pub fn extrapolated(
    propensities: &Propensities,
    train: &LabelStats,
    stats: &LabelStats,
    fit: Option<&Fit>,
) -> Result<Extrapolated> {
    same_labels(propensities, stats)?;
    same_labels(propensities, train)?;
    let (mut labels, mut mass) = (0, 0u64);
    for (label, occurrences) in stats.occurring().iter().zip(stats.counts()) {
        let count = train.count(*label) as f64;
        let beyond = fit.is_none_or(|fit| count < fit.range.0 || count > fit.range.1);
        if propensities.source(*label) == ValueSource::Curve && beyond {
            labels += 1;
            mass += occurrences;
        }
    }
    let all = stats.positives();
    Ok(Extrapolated { labels, share: if all == 0 { 0.0 } else { mass as f64 / all as f64 } })
}

fn same_labels(propensities: &Propensities, stats: &LabelStats) -> Result<()> {
    if propensities.len() as u64 == stats.labels() {
        return Ok(());
    }
    Err(Error::value("propensities and data have different numbers of labels")
        .expected(stats.labels().to_string())
        .found(propensities.len().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rate;
    use crate::propensity::estimators::direct::direct;

    #[test]
    fn impossible_priors_are_listed_worst_first() {
        let stats = LabelStats::from_counts(100, &[50, 40, 10]).unwrap();
        let p = Propensities::new("x", vec![0.25, 0.1, 0.5]).unwrap();
        let result = implied_priors(&p, &stats).unwrap();
        assert_eq!(result.impossible, [(1, 4.0), (0, 2.0)]);
        assert!((result.labels_per_row - 6.2).abs() < 1e-12);
        assert!(implied_priors(&p, &LabelStats::from_counts(1, &[1]).unwrap()).is_err());
    }

    /// Garwood's interval for 10 events is 4.7954 to 18.3904 (scipy 1.17.1: half the chi-square quantiles).
    #[test]
    fn distance_has_the_exact_poisson_interval() {
        let train = LabelStats::from_counts(100, &[50, 50, 0]).unwrap();
        let controlled = LabelStats::from_counts(100, &[6, 4, 3]).unwrap();
        let direct = direct(&train, &controlled, &Rate::Common(0.1), 0.95).unwrap();
        // Exposures are 5 each: p = 1/2 predicts 20 where 10 were found.
        let p = Propensities::new("x", vec![0.5, 0.5, 0.5]).unwrap();
        let result = distance(&p, &direct, 0.95).unwrap();
        assert_eq!((result.found, result.predicted, result.ratio), (10.0, 20.0, 0.5));
        assert!((20.0 * result.interval.low - 4.7953886961324335).abs() < 1e-9);
        assert!((20.0 * result.interval.high - 18.39035604201778).abs() < 1e-9);
        assert_eq!(result.outside.1, 2);
        assert!((result.mse - ((1.2f64 - 2.0).powi(2) + (0.8f64 - 2.0).powi(2)) / 2.0).abs() < 1e-12);
    }

    #[test]
    fn extrapolated_mass_is_that_of_curve_values() {
        let train = LabelStats::from_counts(10, &[5, 0, 1]).unwrap();
        let test = LabelStats::from_counts(10, &[6, 3, 1]).unwrap();
        let sources = vec![ValueSource::Estimated, ValueSource::Curve, ValueSource::Estimated];
        let p = Propensities::new("x", vec![0.5; 3]).unwrap().with_sources(sources).unwrap();
        assert_eq!(extrapolated(&p, &train, &test, None).unwrap(), Extrapolated { labels: 1, share: 0.3 });
    }
}
