//! Estimates that are mostly noise: label by label from a few controlled positives, each propensity may be wrong by a large factor,
//! and the labels whose propensity is smallest by chance are ranked first everywhere.
//!
//! Only direct estimates are looked at, which their sources tell, also when they come from a file: others, `shrunken` above all, have taken
//! their noise into account.
//!
//! Whether propensities are like that can be seen from their intervals. With `x_j = ln(1/p_j)`, s_j the standard error that the
//! interval (taken for one of 95 %) stands for, and `m_j = a + b ln(n_j + 1/2)` fitted to the x_j, the variance of labels around m_j is
//! `tau^2 + s_j^2`, of which tau^2 (by DerSimonian and Laird's moments) is theirs. Where noise is most of it, on average over labels,
//! training takes the posterior means `m_j + tau^2 / (tau^2 + s_j^2) (x_j - m_j)`. A label without a controlled positive counts as complete here, with
//! all the uncertainty of its interval.
//!
//! # Reference
//! DerSimonian, Laird: *Meta-analysis in clinical trials*, Controlled Clinical Trials 1986.

use crate::error::Result;
use crate::propensity::{Propensities, ValueSource};

/// Half the width of an interval in standard errors.
const HALF_WIDTH: f64 = 1.96;
/// Above this share of noise, on average over labels, the noise is taken out.
const MOSTLY: f64 = 0.5;
/// Labels with an interval, at least.
const LEAST: usize = 10;

/// What one label's interval says.
struct Known {
    label: usize,
    /// `ln(n_j + 1/2)`.
    frequency: f64,
    x: f64,
    variance: f64,
}

/// Direct estimates with their noise taken out; `None` where they say more than it hides, nobody knows, or they are others.
pub(super) fn without_noise(given: &Propensities, counts: &[u64]) -> Result<Option<Propensities>> {
    if !given.sources().contains(&ValueSource::Direct) {
        return Ok(None);
    }
    let known: Vec<Known> = counts.iter().enumerate().filter_map(|(label, count)| known(given, label, *count)).collect();
    if known.len() < LEAST {
        return Ok(None);
    }
    let free = (known.len() - 2) as f64;
    // Moments at weights without tau^2, then the line at weights with it.
    let by_noise: Vec<f64> = known.iter().map(|label| 1.0 / label.variance).collect();
    let line = line(&known, &by_noise);
    let rest = |label: &Known, (a, b): (f64, f64)| label.x - a - b * label.frequency;
    let sum: f64 = known.iter().zip(&by_noise).map(|(label, w)| w * rest(label, line).powi(2)).sum();
    let own = ((sum - free) / weight_of_own(&known, &by_noise)).max(0.0);
    let share = |label: &Known| own / (own + label.variance);
    let noise = known.iter().map(|label| 1.0 - share(label)).sum::<f64>() / known.len() as f64;
    if noise <= MOSTLY {
        return Ok(None);
    }
    let with_own: Vec<f64> = known.iter().map(|label| 1.0 / (own + label.variance)).collect();
    let line = self::line(&known, &with_own);
    let (mut values, mut sources) = (given.values().to_vec(), given.sources().to_vec());
    for label in &known {
        let x = label.x - (1.0 - share(label)) * rest(label, line);
        values[label.label] = (-x).exp().clamp(f64::MIN_POSITIVE, 1.0);
        sources[label.label] = if share(label) < MOSTLY { ValueSource::Curve } else { ValueSource::Estimated };
    }
    Propensities::new(given.origin().clone(), values)?.with_sources(sources).map(Some)
}

fn known(given: &Propensities, label: usize, count: u64) -> Option<Known> {
    let interval = given.interval(u32::try_from(label).ok()?)?;
    let p = given.values()[label];
    // Where the interval was cut off at 1, its lower half tells.
    let width = if interval.high < 1.0 { (interval.high / interval.low).ln() / 2.0 } else { (p / interval.low).ln() };
    let se = width / HALF_WIDTH;
    let usable = count > 0 && se.is_finite() && se > 0.0;
    usable.then(|| Known { label, frequency: (count as f64 + 0.5).ln(), x: -p.ln(), variance: se * se })
}

/// By how much the expected weighted sum of squares around the line grows with tau^2: `sum w - tr((X'WX)^-1 X'W^2 X)`.
fn weight_of_own(known: &[Known], weights: &[f64]) -> f64 {
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 { known.iter().zip(weights).map(|(label, w)| of(*w, label.frequency)).sum() };
    let (w, wf, wff) = (sum(&|w, _| w), sum(&|w, f| w * f), sum(&|w, f| w * f * f));
    let (v, vf, vff) = (sum(&|w, _| w * w), sum(&|w, f| w * w * f), sum(&|w, f| w * w * f * f));
    let determinant = w * wff - wf * wf;
    // Labels of one frequency have no slope.
    let trace = if determinant > 1e-9 * w * wff { (wff * v - 2.0 * wf * vf + w * vff) / determinant } else { v / w };
    w - trace
}

/// The weighted least-squares line through the labels: constant and slope.
fn line(known: &[Known], weights: &[f64]) -> (f64, f64) {
    let mean = |of: &dyn Fn(&Known) -> f64| {
        let sum: f64 = known.iter().zip(weights).map(|(label, w)| w * of(label)).sum();
        sum / weights.iter().sum::<f64>()
    };
    let (f, x) = (mean(&|label| label.frequency), mean(&|label| label.x));
    let (both, square) = (mean(&|label| (label.frequency - f) * (label.x - x)), mean(&|label| (label.frequency - f).powi(2)));
    let slope = if square > 1e-12 { both / square } else { 0.0 };
    (x - slope * f, slope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propensity::Interval;
    use crate::rng::{Purpose, row_key, uniform_at};

    const LABELS: usize = 200;

    /// ln(1/p) = 2.5 - 0.3 ln n + a spread of labels + noise, all by the sum of twelve uniform numbers.
    fn estimates(own: f64, se: f64) -> (Propensities, Vec<f64>, Vec<u64>) {
        let normal = |label: usize, from: u32| {
            let key = row_key(3, Purpose::GenerateRows, label as u64);
            (0..12).map(|at| uniform_at(key, from + at)).sum::<f64>() - 6.0
        };
        let counts: Vec<u64> = (0..LABELS).map(|label| 5 + 7 * label as u64).collect();
        let truth: Vec<f64> = (0..LABELS).map(|j| (2.8 - 0.3 * (counts[j] as f64).ln() + own * normal(j, 0)).max(0.05)).collect();
        let x: Vec<f64> = (0..LABELS).map(|label| (truth[label] + se * normal(label, 20)).max(0.0)).collect();
        let interval = |x: &f64| {
            let at = |by: f64| (-x - by * HALF_WIDTH * se).exp().min(1.0);
            Some(Interval { low: at(1.0), high: at(-1.0) })
        };
        let p = Propensities::new("direct", x.iter().map(|x| (-x).exp()).collect()).unwrap();
        let p = p.with_sources(vec![ValueSource::Direct; LABELS]).unwrap();
        (p.with_intervals(x.iter().map(interval).collect()).unwrap(), truth, counts)
    }

    fn error(p: &Propensities, truth: &[f64]) -> f64 {
        let squares = p.values().iter().zip(truth).map(|(p, x)| (-p.ln() - x).powi(2)).sum::<f64>();
        (squares / LABELS as f64).sqrt()
    }

    #[test]
    fn noise_is_taken_out_where_it_is_most_of_what_is_seen() {
        for (own, se) in [(0.1, 0.8), (0.3, 0.6)] {
            let (noisy, truth, counts) = estimates(own, se);
            let found = without_noise(&noisy, &counts).unwrap().expect("mostly noise");
            let (before, after) = (error(&noisy, &truth), error(&found, &truth));
            assert!(after < 0.6 * before && after < 1.5 * own + 0.1, "{own} {se}: {before} and {after}");
        }
    }

    #[test]
    fn estimates_that_say_something_and_those_that_were_shrunken_stay() {
        let (precise, _, counts) = estimates(0.8, 0.3);
        assert_eq!(without_noise(&precise, &counts).unwrap(), None);
        let (noisy, _, counts) = estimates(0.1, 0.8);
        let shrunken = noisy.clone().with_sources(vec![ValueSource::Estimated; LABELS]).unwrap();
        assert_eq!(without_noise(&shrunken, &counts).unwrap(), None);
        // Without intervals nobody knows.
        let bare = Propensities::new("direct", noisy.values().to_vec()).unwrap();
        let bare = bare.with_sources(vec![ValueSource::Direct; LABELS]).unwrap();
        assert_eq!(without_noise(&bare, &counts).unwrap(), None);
    }
}
