//! Propensities as ratios of counts: e_j observed of l_j that should have been; the rest from a curve.
//!
//! `p^_j = e_j / l_j`; shrunken, `p_j ~ Beta(kappa phi_j, kappa (1 - phi_j))` gives the posterior mean
//! `(e_j + kappa phi_j) / (l_j + kappa)`, with the constants of phi and kappa by maximum likelihood. Both need the curve for
//! labels that have no l_j.
//!
//! Estimates of metrics use `q_j = (l_j + 1) / (e_j + 1)`, whose mean is `(1 - (1 - p)^(l_j + 1)) / p`: nearly `1/p`, where that of
//! `l_j / e_j` is far above it for small counts; its variance is estimated by `(l_j + 1)(l_j - e_j) / ((e_j + 1)^2 (e_j + 2))`. Shrunken,
//! `1/p_j` as it is. Errors of the curve are common to all labels, by the weight that the curve has in each.

use crate::error::{Error, Result};
use crate::propensity::distinct::for_each_distinct;
use crate::propensity::estimators::PropensityEstimatorSpec;
use crate::propensity::fit::{BetaBinomial, CurveEvidence, Fit, FitOptions, common_errors, maximise};
use crate::propensity::quantiles::{beta_quantile, clopper_pearson};
use crate::propensity::{Bound, Interval, Origin, Phi, Propensities, Sample, ValueSource};

/// How to turn ratios into propensities.
#[derive(Clone, Debug)]
pub struct Ratio {
    /// The curve for labels without data, and towards which the others are shrunken.
    pub family: Phi,
    /// Whether to shrink; otherwise labels with data get the plain ratio.
    pub shrink: bool,
    /// Level of the intervals.
    pub level: f64,
    /// How to fit the curve.
    pub options: FitOptions,
}

impl Ratio {
    /// With intervals at 95 % and without shrinking.
    pub fn new(family: Phi) -> Ratio {
        Ratio { family, shrink: false, level: 0.95, options: FitOptions::default() }
    }

    /// The same, shrunken.
    #[must_use]
    pub fn shrunken(mut self) -> Ratio {
        self.shrink = true;
        self
    }
}

/// Counts of the ratio of one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Counts {
    /// Observed positives in training: where on the curve the label is.
    pub(super) count: u64,
    /// e and l.
    pub(super) part: u64,
    pub(super) whole: u64,
    /// Whether the label's ratio may be used.
    pub(super) usable: bool,
}

impl Counts {
    /// Whether the label gets an estimate of its own; the others get the value of the curve.
    pub(super) fn has_data(&self, how: &Ratio) -> bool {
        self.usable && self.whole > 0 && (how.shrink || self.part > 0)
    }
}

/// Propensities from ratios, and the curve.
pub(super) fn estimate(
    spec: PropensityEstimatorSpec,
    bound: Bound,
    sample: Sample,
    labels: &[Counts],
    how: &Ratio,
) -> Result<(Propensities, Fit)> {
    // A label with count 0 has e = 0 whatever its propensity: it would pull the curve to 0.
    let known = |c: &&Counts| c.usable && c.whole > 0 && c.count > 0;
    if labels.iter().all(|c| !known(&c)) {
        return Err(Error::value(format!("'{}' found no label with data to estimate from", spec.name()))
            .expected("labels with positives in both parts of the ratio"));
    }
    let family = &how.family;
    let likelihood = BetaBinomial::of(sample, family.alpha(), labels.iter().filter(known).map(|c| (c.count, c.part, c.whole)));
    let inverse = |c: &Counts| (known(&c) && c.part > 0).then(|| (c.count, c.whole as f64 / c.part as f64));
    let evidence = CurveEvidence::from_inverse(sample, labels.iter().map(inverse));
    family.curve().check(sample)?;
    let fit = maximise(&likelihood, family, &evidence, &how.options)?;
    let estimates = for_each_distinct(labels, |c| one(&c, &fit, how));
    let values = estimates.iter().map(|e| e.p).collect();
    let counts: Vec<u64> = labels.iter().map(|c| c.count).collect();
    let propensities =
        Propensities::clipping(Origin::estimate(spec, &fit.phi), values, estimates.iter().map(|e| e.source).collect())?
            .with_bound(bound)
            .with_intervals(estimates.iter().map(|e| e.interval).collect())?
            .with_inverse_variances(estimates.iter().map(|e| e.variance).collect())?
            .with_score_inverses(estimates.iter().map(|e| e.inverse).collect())?
            .with_common_errors(common_errors(&fit, &counts, |label| estimates[label].of_curve))?;
    let filled = propensities.from_source(ValueSource::Curve);
    let propensities = match bound {
        Bound::Exact => propensities,
        Bound::Upper => propensities.with_note("an upper bound: labels that neither source recorded stay invisible"),
        Bound::Lower => propensities.with_note("a lower bound: labels that are never certain have a larger propensity"),
        Bound::None => propensities.with_note("neither an upper nor a lower bound of the propensity"),
    };
    Ok((
        match filled {
            0 => propensities,
            _ => propensities.with_note(format!("{filled} labels have no data: they get the value of the fitted curve")),
        },
        fit,
    ))
}

/// The estimate of one label.
#[derive(Clone)]
struct OfLabel {
    p: f64,
    interval: Option<Interval>,
    /// The inverse propensity for scores, and its variance given the curve.
    inverse: f64,
    variance: f64,
    /// By how much it changes with 1/p of the curve.
    of_curve: f64,
    source: ValueSource,
}

fn one(c: &Counts, fit: &Fit, how: &Ratio) -> OfLabel {
    let phi = fit.at(fit.phi.seen(c.count));
    let (part, whole) = (c.part as f64, c.whole as f64);
    // What the label's own counts say, for scores.
    let plain = (c.usable && c.whole > 0).then(|| {
        let variance = (whole + 1.0) * (whole - part).max(0.0) / ((part + 1.0).powi(2) * (part + 2.0));
        ((whole + 1.0) / (part + 1.0), variance)
    });
    let scatter = fit.kappa.map_or(0.0, |kappa| (1.0 - phi) / (phi.powi(3) * (kappa + 1.0)));
    let of_curve =
        OfLabel { p: phi, interval: None, inverse: 1.0 / phi, variance: scatter, of_curve: 1.0, source: ValueSource::Curve };
    let with_plain = |of: OfLabel| match plain {
        Some((inverse, variance)) if !how.shrink => OfLabel { inverse, variance, of_curve: 0.0, ..of },
        _ => of,
    };
    if !c.has_data(how) {
        return with_plain(of_curve);
    }
    if !how.shrink {
        let interval = Some(clopper_pearson(c.part, c.whole, how.level));
        return with_plain(OfLabel { p: part / whole, interval, source: ValueSource::Estimated, ..of_curve });
    }
    let Some(kappa) = fit.kappa else { return of_curve };
    let (a, b) = (part + kappa * phi, whole - part + kappa * (1.0 - phi));
    let p = a / (a + b);
    let tail = (1.0 - how.level) / 2.0;
    // With phi at 1 and nothing missing the posterior is a point.
    let interval = (b > 0.0).then(|| Interval { low: beta_quantile(a, b, tail), high: beta_quantile(a, b, 1.0 - tail) });
    let variance = a * b / ((a + b).powi(2) * (a + b + 1.0)) / p.powi(4);
    // p moves with phi by kappa / (a + b), and both inverses by the square of their own.
    let weight = kappa / (a + b) * (phi / p).powi(2);
    OfLabel { p, interval, inverse: 1.0 / p, variance, of_curve: weight, source: ValueSource::Estimated }
}
