//! Weights of labels from training frequencies, for `weighted-precision`.
//!
//! With n_j training positives of label j (at least 1 is assumed): `uniform` `w_j = 1`; `inverse` `w_j = 1 / n_j`; `log`
//! `w_j = ln(1 + n / n_j)`; `effective` `w_j = (1 - beta) / (1 - beta^n_j)`, beta = 0.9999 unless given. Each is scaled so that the
//! mean weight of a training positive is 1: then the value has the scale of precision, and a ranking that is equally good for
//! every label keeps its value. Labels that were never seen in training get the weight of one positive.
//!
//! # Assumes
//! Nothing about missing labels: weights say what matters, propensities what is missing.
//!
//! # Reference
//! Effective number: Cui, Jia, Lin, Song and Belongie, "Class-balanced loss based on effective number of samples", CVPR 2019.
//! By hand: counts 1 and 3, inverse: each label's positives weigh 2 in total, so w = (2, 2/3).
//!
//! ```
//! use unmissed::{data::LabelStats, metrics::weights};
//! let stats = LabelStats::from_counts(10, &[1, 3])?;
//! let w = weights::from_spec("inverse", &stats)?;
//! assert!((w[0] - 2.0).abs() < 1e-15 && (w[1] - 2.0 / 3.0).abs() < 1e-15);
//! # Ok::<(), unmissed::Error>(())
//! ```

use crate::data::LabelStats;
use crate::error::{Error, Result};
use crate::spec::{self, Named, Spec};

/// A way to weigh labels: name, summary, and the weight from (n_j, n, beta).
struct Scheme {
    name: &'static str,
    summary: &'static str,
    keys: &'static [&'static str],
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
    &Scheme { name: "uniform", summary: "every label counts alike", keys: &[], weight: |_, _, _| 1.0 },
    &Scheme { name: "inverse", summary: "1 / n_j", keys: &[], weight: |count, _, _| 1.0 / count },
    &Scheme { name: "log", summary: "ln(1 + n / n_j)", keys: &[], weight: |count, rows, _| (rows / count).ln_1p() },
    &Scheme {
        name: "effective",
        summary: "(1 - beta) / (1 - beta^n_j); effective:beta=0.9999",
        keys: &["beta"],
        weight: |count, _, beta| (1.0 - beta) / (1.0 - beta.powf(count)),
    },
];

/// Names and summaries of the schemes, for help.
pub fn schemes() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMES.iter().map(|scheme| (scheme.name, scheme.summary))
}

/// A weight for each label of the training data, by a spec such as `inverse` or `effective:beta=0.999`.
pub fn from_spec(text: &str, stats: &LabelStats) -> Result<Vec<f64>> {
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
    let counts = stats.dense_counts()?;
    let of = |count: u64| (scheme.weight)(count.max(1) as f64, stats.rows() as f64, beta);
    let mean = stats.counts().iter().map(|count| *count as f64 * of(*count)).sum::<f64>() / stats.positives() as f64;
    Ok(counts.iter().map(|count| of(*count) / mean).collect())
}
