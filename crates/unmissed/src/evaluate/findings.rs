//! Findings: coded observations that change how a number should be read.
//!
//! Each has a severity, an explanation with the numbers, what to do, and an anchor in `docs/checks.md`. [`CHECKS`] lists the codes;
//! the evaluation raises those that it can see, and whoever knows more (a controlled set, a later snapshot) adds to them.
//!
//! ```
//! use unmissed::evaluate::findings::{CHECKS, Finding, U008};
//! assert!(CHECKS.iter().map(|check| check.code).is_sorted());
//! let finding = Finding::new(&U008, "jpv predicts 120 positives, the controlled set has 40");
//! assert_eq!((finding.code.as_str(), finding.anchor.as_str()), ("U008", "docs/checks.md#u008"));
//! ```

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Read the numbers with care.
    Warning,
    /// Do not report the numbers.
    Error,
}

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// `U` and three digits; never reused.
    pub code: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What to do about it.
    pub advice: &'static str,
}

/// An unbiased estimate outside its range, beyond its interval.
pub static U001: Check = Check {
    code: "U001",
    title: "unbiased estimate outside its range",
    severity: Severity::Error,
    advice: "the propensities are too small for these data, or more than labels is missing: estimate propensities, do not assume them",
};
/// Propensities that depend on how much data there is.
pub static U002: Check = Check {
    code: "U002",
    title: "propensity model changes with the amount of data",
    severity: Severity::Warning,
    advice: "values are not comparable between data sets or subsamples of different size: use a model in the prior, or a table",
};
/// An estimate that few rows carry.
pub static U003: Check = Check {
    code: "U003",
    title: "few effective rows carry the estimate",
    severity: Severity::Warning,
    advice: "the standard error itself is unreliable here: use more rows, or a clipped estimate with its bound",
};
/// Propensities that imply priors above 1.
pub static U004: Check = Check {
    code: "U004",
    title: "implied prior above 1",
    severity: Severity::Error,
    advice: "no truth fits these propensities and counts: they are too small for the labels named",
};
/// Labels that training never saw.
pub static U005: Check = Check {
    code: "U005",
    title: "test labels unseen in training",
    severity: Severity::Info,
    advice: "their propensities are extrapolated and no model can have learned them: look at the split",
};
/// An order of models that hangs on the propensity model.
pub static U006: Check = Check {
    code: "U006",
    title: "order of models depends on the propensity model",
    severity: Severity::Warning,
    advice: "do not name a winner before the propensities are checked against data",
};
/// Rows or labels that say nothing.
pub static U007: Check = Check {
    code: "U007",
    title: "rows or labels without information",
    severity: Severity::Info,
    advice: "rows without labels count 0 (abandonment: 1) and stay in the mean; labels without positives count 0 in means over labels",
};
/// Propensities against evidence.
pub static U008: Check = Check {
    code: "U008",
    title: "propensity model contradicted by a controlled set or a later snapshot",
    severity: Severity::Error,
    advice: "use the propensities that were estimated from that evidence instead",
};
/// Numbers without meaning.
pub static U009: Check = Check {
    code: "U009",
    title: "estimate numerically meaningless",
    severity: Severity::Warning,
    advice: "terms that are larger than their sum by 1e8 leave no digits: use a metric that is a sum over labels, or clip",
};

/// A later snapshot that takes labels back.
pub static U010: Check = Check {
    code: "U010",
    title: "later snapshot retracts labels",
    severity: Severity::Info,
    advice: "estimates from it take observed labels for relevant and ignore what was retracted; if that is much, the later snapshot is \
             not the truth of these rows",
};
/// Test rows that differ from the rows with a later snapshot.
pub static U011: Check = Check {
    code: "U011",
    title: "test rows differ from the rows with a later snapshot",
    severity: Severity::Warning,
    advice: "estimates from a later snapshot assume that labels are missing from both in the same way: use test rows of the same age, or \
             a later snapshot of rows like them",
};
/// Out-of-fold predictions that differ from those of the audited model.
pub static U012: Check = Check {
    code: "U012",
    title: "out-of-fold predictions are not as good as those for the test rows, or better",
    severity: Severity::Warning,
    advice: "use at least 10 folds ('unmissed crossfit --folds 10'), rows that were drawn alike, and models that did not see the rows",
};
/// Labels that go missing together.
pub static U013: Check = Check {
    code: "U013",
    title: "labels of a row go missing together",
    severity: Severity::Warning,
    advice: "unbiased recall, ndcg-min and abandonment assume that they do not: use sums over labels (precision, ndcg)",
};
/// One propensity per label from a later snapshot.
pub static U014: Check = Check {
    code: "U014",
    title: "a later snapshot without out-of-fold predictions",
    severity: Severity::Warning,
    advice: "run 'unmissed crossfit --train TRAIN --folds 10 -o OOF -- COMMAND {train} {test} {out}' (without COMMAND: our own training; \
             in Python um.cross_val_top_k) and pass --train-predictions NAME=OOF: the estimates then need no propensity per label",
};
/// A difference that rests on contradicted propensities.
pub static U015: Check = Check {
    code: "U015",
    title: "difference of models under a contradicted propensity model",
    severity: Severity::Warning,
    advice: "do not choose a model by it: use the differences of estimates that were made from the evidence, or observed ones",
};

/// Lists whose pairs could not all be drawn.
pub static U020: Check = Check {
    code: "U020",
    title: "judged pairs do not cover a model",
    severity: Severity::Warning,
    advice: "draw another round with the predictions of all models ('unmissed annotate plan'), as deep as the largest k",
};
/// Judged pairs of other files.
pub static U021: Check = Check {
    code: "U021",
    title: "files changed since pairs were drawn for judging",
    severity: Severity::Warning,
    advice: "evaluate the files that the pairs were drawn for; labels observed since then count as relevant, and pairs of changed lists \
             that could not be drawn count one half",
};
/// Observed labels that judges reject.
pub static U022: Check = Check {
    code: "U022",
    title: "observed labels that judges call irrelevant",
    severity: Severity::Warning,
    advice: "all estimates count observed labels as relevant: look at the pairs, or check more of them (--check-observed)",
};

/// All checks, by code.
pub static CHECKS: &[&Check] =
    &[&U001, &U002, &U003, &U004, &U005, &U006, &U007, &U008, &U009, &U010, &U011, &U012, &U013, &U014, &U015, &U020, &U021, &U022];

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The code of the check.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, with the numbers.
    pub message: String,
    /// What to do about it.
    pub advice: String,
    /// Where to read more.
    pub anchor: String,
}

impl Finding {
    /// A finding of this check.
    pub fn new(check: &Check, message: impl Into<String>) -> Finding {
        Finding {
            code: check.code.into(),
            severity: check.severity,
            message: message.into(),
            advice: check.advice.into(),
            anchor: format!("docs/checks.md#{}", check.code.to_lowercase()),
        }
    }
}
