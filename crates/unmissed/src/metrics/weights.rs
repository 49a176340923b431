//! Weights of labels from training frequencies, for `weighted-precision`.
//!
//! With n_j training positives of label j (at least 1 is assumed): `uniform` `w_j = 1`; `inverse` `w_j = 1 / n_j`;
//! `inverse-complete` `w_j = p_j / n_j` with propensities p_j; `log` `w_j = ln(1 + n / n_j)`; `effective`
//! `w_j = (1 - beta) / (1 - beta^n_j)`, beta = 0.9999 unless given. Each is scaled so that the mean weight of a training positive is
//! 1 (of a relevant one, n_j / p_j of each label, for `inverse-complete`): then the value has the scale of precision, and a ranking
//! that is equally good for every label keeps its value. Labels that were never seen in training get the weight of one positive.
//!
//! # Assumes
//! Weights express what matters, propensities what is missing. `inverse` and the others are functions of observed frequencies: a
//! label
//! that is rare because it is rarely observed gets a large weight, and together with propensities it is corrected twice.
//! `inverse-complete` uses the frequency that the complete labels would have, n_j / p_j, and so assumes right propensities.
//!
//! # Reference
//! Effective number: Cui, Jia, Lin, Song and Belongie, "Class-balanced loss based on effective number of samples", CVPR 2019.
//! By hand: counts 1 and 3, inverse: each label's positives weigh 2 in total, so w = (2, 2/3).
//!
//! ```
//! use unmissed::{data::LabelStats, metrics::weights, propensity::Propensities};
//! let stats = LabelStats::from_counts(10, &[1, 3])?;
//! let w = weights::from_spec("inverse", &stats, None)?;
//! assert!((w[0] - 2.0).abs() < 1e-15 && (w[1] - 2.0 / 3.0).abs() < 1e-15);
//! // With p = (1/4, 3/4) both labels have 4 relevant rows, so they weigh the same.
//! let p = Propensities::new("mine", vec![0.25, 0.75])?;
//! assert_eq!(weights::from_spec("inverse-complete", &stats, Some(&p))?, [1.0, 1.0]);
//! # Ok::<(), unmissed::Error>(())
//! ```

use crate::data::LabelStats;
use crate::error::{Error, Result, digits};
use crate::propensity::Propensities;
use crate::spec::{self, Named, Spec};

/// A way to weigh labels: name, summary, and the weight from (n_j, n, beta).
struct Scheme {
    name: &'static str,
    summary: &'static str,
    keys: &'static [&'static str],
    /// Whether n_j is the number of relevant rows, n_j / p_j, instead of observed ones.
    complete: bool,
    weight: fn(f64, f64, f64) -> f64,
}

impl Named for Scheme {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
}

static SCHEMES: &[&Scheme] = &[
    &Scheme { name: "uniform", summary: "every label counts equally", keys: &[], complete: false, weight: |_, _, _| 1.0 },
    &Scheme { name: "inverse", summary: "1 / n_j", keys: &[], complete: false, weight: |count, _, _| 1.0 / count },
    &Scheme {
        name: "inverse-complete",
        summary: "p_j / n_j, the inverse of complete frequencies; needs propensities",
        keys: &[],
        complete: true,
        weight: |count, _, _| 1.0 / count,
    },
    &Scheme {
        name: "log",
        summary: "ln(1 + n / n_j)",
        keys: &[],
        complete: false,
        weight: |count, rows, _| (rows / count).ln_1p(),
    },
    &Scheme {
        name: "effective",
        summary: "(1 - beta) / (1 - beta^n_j); effective:beta=0.9999",
        keys: &["beta"],
        complete: false,
        weight: |count, _, beta| (1.0 - beta) / (1.0 - beta.powf(count)),
    },
];

/// Names and summaries of the schemes, for help.
pub fn schemes() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMES.iter().map(|scheme| (scheme.name, scheme.summary))
}

/// A weight for each label of the training data, by a spec such as `inverse` or `effective:beta=0.999`. `inverse-complete` needs
/// `propensities`; the others leave them aside.
pub fn from_spec(text: &str, stats: &LabelStats, propensities: Option<&Propensities>) -> Result<Vec<f64>> {
    let parsed: Spec = text.parse()?;
    let scheme = spec::find(SCHEMES, "weights", parsed.name())?;
    parsed.allow(scheme.keys, &[])?;
    let beta = parsed.number("beta")?.unwrap_or(0.9999);
    if !(0.0..1.0).contains(&beta) {
        return Err(Error::value("beta of the weights is out of range").expected("a number in [0, 1)").found(beta.to_string()));
    }
    if stats.positives() == 0 {
        return Err(Error::value("weights need training labels").found("no positives"));
    }
    let counts = relevant(stats, scheme, propensities)?;
    let of = |count: f64| (scheme.weight)(count, stats.rows() as f64, beta);
    let seen = || stats.occurring().iter().map(|label| counts[*label as usize]);
    let mean = seen().map(|count| count * of(count)).sum::<f64>() / seen().sum::<f64>();
    Ok(counts.iter().map(|count| of(*count) / mean).collect())
}

/// Weights are finite and not negative.
pub(crate) fn check_values(weights: &[f64]) -> Result<()> {
    match weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
        Some(label) => Err(Error::value(format!("the weight of label {label} is out of range"))
            .expected("a finite number of at least 0")
            .found(digits(weights[label]))),
        None => Ok(()),
    }
}

/// Rejects a name that no scheme has.
pub(crate) fn check_name(name: &str) -> Result<()> {
    spec::find(SCHEMES, "weights", name).map(|_| ())
}

/// Whether a scheme follows from observed frequencies, so that rarely observed labels have larger weights.
pub(crate) fn follows_observed(name: &str) -> bool {
    SCHEMES.iter().any(|scheme| scheme.name == name && !scheme.complete && scheme.name != "uniform")
}

/// How many positives each label is taken to have: the observed ones, at least 1, and divided by its propensity when the complete
/// ones are wanted.
fn relevant(stats: &LabelStats, scheme: &Scheme, propensities: Option<&Propensities>) -> Result<Vec<f64>> {
    let observed = stats.dense_counts()?.into_iter().map(|count| count.max(1) as f64);
    if !scheme.complete {
        return Ok(observed.collect());
    }
    let Some(propensities) = propensities else {
        return Err(Error::value(format!("the weights '{}' need propensities", scheme.name))
            .expected("one propensity for each label")
            .hint("name one propensity model, or use 'inverse' for a model that was not corrected"));
    };
    if propensities.len() as u64 != stats.labels() {
        return Err(Error::value("the number of propensities does not match the labels")
            .expected(stats.labels().to_string())
            .found(propensities.len().to_string()));
    }
    Ok(observed.zip(propensities.values()).map(|(count, p)| count / p).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_frequencies_need_propensities_of_these_labels() {
        let stats = LabelStats::from_counts(10, &[1, 3, 0]).unwrap();
        let message = |p: Option<&Propensities>| from_spec("inverse-complete", &stats, p).unwrap_err().to_string();
        assert!(
            message(None).starts_with("the weights 'inverse-complete' need propensities: expected one propensity for each label")
        );
        let two = Propensities::new("two", vec![0.5, 0.5]).unwrap();
        assert!(message(Some(&two)).contains("expected 3, found 2"));
    }

    /// Counts 1, 3, 0 with p = 1/2, 1, 1/4: 2, 3 and (as if there were one) 4 relevant rows; the 5 relevant pairs of seen labels
    /// weigh 5 in total, so w = 5/2 (1/2, 1/3, 1/4).
    #[test]
    fn relevant_pairs_have_a_mean_weight_of_one() {
        let stats = LabelStats::from_counts(10, &[1, 3, 0]).unwrap();
        let p = Propensities::new("p", vec![0.5, 1.0, 0.25]).unwrap();
        let found = from_spec("inverse-complete", &stats, Some(&p)).unwrap();
        for (found, expected) in found.iter().zip([1.25, 2.5 / 3.0, 0.625]) {
            assert!((found - expected).abs() < 1e-15, "{found} instead of {expected}");
        }
    }
}
