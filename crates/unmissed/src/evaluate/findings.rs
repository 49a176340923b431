//! Findings: coded observations that change how a number should be read.
//!
//! Each has a severity, an explanation with the numbers, what to do, and an anchor in `docs/checks.md`. [`CHECKS`] lists the codes;
//! the evaluation raises those that it can detect, and callers with more evidence (a controlled set, a later snapshot) add theirs.
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

impl Severity {
    /// All of them, the least first.
    pub const ALL: [Severity; 3] = [Severity::Info, Severity::Warning, Severity::Error];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
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
    advice: "the propensities are too small for these data, or labels do not go missing as assumed: estimate propensities, do not assume them",
};
/// Propensities that depend on how much data there is.
pub static U002: Check = Check {
    code: "U002",
    title: "propensity model changes with the amount of data",
    severity: Severity::Warning,
    advice: "values are not comparable between data sets or subsamples of different size: use a model that depends on the label's frequency, or a table",
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
    advice: "no complete labels are consistent with these propensities and counts: the propensities are too small for the labels named",
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
    advice: "terms that exceed their sum by 1e8 leave no accurate digits: use a metric that is a sum over labels, or clip",
};

/// A later snapshot that takes labels back.
pub static U010: Check = Check {
    code: "U010",
    title: "later snapshot retracts labels",
    severity: Severity::Info,
    advice: "estimates from it treat observed labels as relevant and ignore retractions; if there are many, the later snapshot is \
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
    title: "out-of-fold predictions are worse or better than those for the test rows",
    severity: Severity::Warning,
    advice: "use at least 10 folds ('unmissed crossfit --folds 10'), rows drawn in the same way, and models that were not trained on the rows",
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
    advice: "do not choose a model by it: use differences under estimates from the evidence, or observed ones",
};

/// Ids of predictions against those of labels.
pub static U016: Check = Check {
    code: "U016",
    title: "label ids are off by one",
    severity: Severity::Error,
    advice: "count the labels of both files from 0: write the predictions again with every id shifted by one",
};
/// Rows of predictions against those of labels.
pub static U017: Check = Check {
    code: "U017",
    title: "predictions do not fit their rows",
    severity: Severity::Warning,
    advice: "row i of the predictions must be row i of the test labels: write both in the same order, without a header line that is counted as a row",
};
/// Snapshots the wrong way round.
pub static U018: Check = Check {
    code: "U018",
    title: "training labels and later snapshot seem to be swapped",
    severity: Severity::Error,
    advice: "the training labels are the earlier ones: exchange --train and --later",
};
/// Test rows that were trained on.
pub static U019: Check = Check {
    code: "U019",
    title: "test rows are among the training rows",
    severity: Severity::Error,
    advice: "scores on rows that a model was trained on say nothing about new rows: pass the training labels as --train, and test rows that were not trained on",
};
/// Lists shorter than k.
pub static U020: Check = Check {
    code: "U020",
    title: "k goes beyond the stored predictions",
    severity: Severity::Warning,
    advice: "store at least k predictions per row, or ask for a smaller k",
};
/// Labels in the place of predictions.
pub static U021: Check = Check {
    code: "U021",
    title: "labels and predictions seem to be swapped",
    severity: Severity::Warning,
    advice: "labels come first, predictions second: (y_true, y_pred)",
};
/// A rate that cannot be.
pub static U022: Check = Check {
    code: "U022",
    title: "the rate contradicts the labels",
    severity: Severity::Error,
    advice: "the rate is the share of pairs that were shown, relevant or not: give the rate of this set, or rates per label",
};
/// Scores the wrong way up.
pub static U023: Check = Check {
    code: "U023",
    title: "scores are inverted",
    severity: Severity::Error,
    advice: "higher scores must mean more likely: pass 1 - p, or the negative distance or rank",
};
/// Lists whose pairs could not all be drawn.
pub static U024: Check = Check {
    code: "U024",
    title: "judged pairs do not cover a model",
    severity: Severity::Warning,
    advice: "draw another round with the predictions of all models ('unmissed annotate plan'), as deep as the largest k",
};
/// Judged pairs of other files.
pub static U025: Check = Check {
    code: "U025",
    title: "files changed since pairs were drawn for judging",
    severity: Severity::Warning,
    advice: "evaluate the files that the pairs were drawn for; labels observed since then count as relevant, and pairs of changed lists \
             that could not be drawn count one half",
};
/// Observed labels that judges reject.
pub static U026: Check = Check {
    code: "U026",
    title: "observed labels that judges call irrelevant",
    severity: Severity::Warning,
    advice: "all estimates count observed labels as relevant: look at the pairs, or check more of them (--check-observed)",
};

/// All checks, by code.
pub static CHECKS: &[&Check] = &[
    &U001, &U002, &U003, &U004, &U005, &U006, &U007, &U008, &U009, &U010, &U011, &U012, &U013, &U014, &U015, &U016, &U017, &U018,
    &U019, &U020, &U021, &U022, &U023, &U024, &U025, &U026,
];

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
    /// The propensities that it is about, when it is about some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propensity: Option<String>,
    /// The model that it is about, when it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it is about a curve that the audit added itself, not one that the user passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
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
            propensity: None,
            model: None,
            added: false,
        }
    }

    /// Says which propensities it is about.
    #[must_use]
    pub fn of_propensity(mut self, origin: impl Into<String>) -> Finding {
        self.propensity = Some(origin.into());
        self
    }

    /// Says which model it is about.
    #[must_use]
    pub fn of_model(mut self, model: impl Into<String>) -> Finding {
        self.model = Some(model.into());
        self
    }
}
