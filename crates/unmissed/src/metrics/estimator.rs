//! How a number is estimated from incomplete labels, and what the estimate assumes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A way to get the value of a metric from what was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// Pretends that nothing is missing.
    Observed,
    /// Weighs what is observed by inverse propensities.
    Unbiased,
    /// The unbiased sum divided by the best that any prediction could have had on the same data.
    Normalized,
    /// Unbiased with inverse propensities cut at a largest value.
    Clipped,
    /// Self-normalised over pairs that are known to have been shown.
    Hajek,
    /// What is observed, and what a regression on rows with two snapshots expects to be missed: no propensities.
    Omega,
    /// What is observed times later over observed hits on rows that have both: no model of propensities.
    Ratio,
    /// Guesses for every pair, corrected by the pairs whose status is known.
    DoublyRobust,
    /// What people said about pairs of the top lists that were drawn with known probabilities.
    Judged,
}

impl Estimator {
    /// All of them, in the order of reports.
    pub const ALL: [Estimator; 9] = [
        Estimator::Observed,
        Estimator::Unbiased,
        Estimator::Normalized,
        Estimator::Clipped,
        Estimator::Hajek,
        Estimator::Omega,
        Estimator::Ratio,
        Estimator::DoublyRobust,
        Estimator::Judged,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Estimator::Observed => "observed",
            Estimator::Unbiased => "unbiased",
            Estimator::Normalized => "normalized",
            Estimator::Clipped => "clipped",
            Estimator::Hajek => "hajek",
            Estimator::Omega => "omega",
            Estimator::Ratio => "ratio",
            Estimator::DoublyRobust => "doubly-robust",
            Estimator::Judged => "judged",
        }
    }

    /// What it does, in one line.
    pub fn summary(self) -> &'static str {
        match self {
            Estimator::Observed => "as if nothing were missing",
            Estimator::Unbiased => "observed labels weighted by inverse propensities, per label or row-dependent (rows:FILE)",
            Estimator::Normalized => "unbiased, divided by the best value of any ranking on the same observed labels",
            Estimator::Clipped => "unbiased with inverse propensities clipped at --clip, with a bound on its bias",
            Estimator::Hajek => "self-normalised over the pairs of a controlled set that were shown (--shown)",
            Estimator::Omega => {
                "observed plus the missed hits that a regression on training rows with a later snapshot expects (--later)"
            }
            Estimator::Ratio => {
                "the observed value times the ratio of later to observed hits, from the fit of row-dependent propensities (rows:FILE)"
            }
            Estimator::DoublyRobust => "guesses by rank, corrected by pairs of known status (--shown with --rate, or --later)",
            Estimator::Judged => "observed labels, and judged pairs that were drawn with known probabilities (--judged)",
        }
    }

    /// The estimator called `name`, or an error that suggests near names.
    ///
    /// ```
    /// use unmissed::metrics::Estimator;
    /// assert_eq!(Estimator::of_name("unbiased")?, Estimator::Unbiased);
    /// assert!(Estimator::of_name("unbaised").unwrap_err().to_string().contains("did you mean 'unbiased'?"));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn of_name(name: &str) -> crate::Result<Estimator> {
        Self::ALL.into_iter().find(|estimator| estimator.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|estimator| estimator.name()).collect();
            crate::spec::unknown("estimator", name, &names)
        })
    }
}

impl std::str::FromStr for Estimator {
    type Err = crate::Error;

    fn from_str(name: &str) -> crate::Result<Estimator> {
        Estimator::of_name(name)
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What must hold for a number to mean what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Assumption {
    /// Nothing beyond the data, and nothing about labels that are missing.
    Complete,
    /// A per-label propensity: true for sums over labels.
    LabelWise,
    /// Label-wise, and divided by a best value that is computed from the same observed labels.
    LabelWiseRelative,
    /// Label-wise, and the number of relevant labels of each row is given.
    LabelWiseCounts,
    /// Labels of a row go missing independently of each other.
    Independent,
    /// Labels go missing independently across rows.
    IndependentRows,
    /// Label-wise, and enough rows: a ratio of unbiased sums.
    Consistent,
    /// Each missing label can only add to it.
    LowerBound,
    /// Cut inverse propensities: too low by at most the stated bound.
    Biased,
    /// Pairs shown at a known rate.
    KnownRate,
    /// Pairs shown at a known rate: a ratio of sums over all rows.
    KnownRatePooled,
    /// A fixed number of labels shown without replacement.
    WithoutReplacement,
    /// Pairs shown at a known rate, and known one by one.
    KnownPairs,
    /// Row-dependent propensities: true for sums over labels.
    RowDependent,
    /// Row-dependent propensities, and labels of a row that go missing independently given the covariates.
    RowDependentIndependent,
    /// What is missed is the same on other rows, given what is observed of them.
    SameMissed,
    /// The same ratio of later to observed hits on other rows.
    SameRatio,
    /// Pairs shown at a known rate, and guesses from other rows.
    ShownPairs,
    /// Later labels on some rows, and guesses from other rows.
    LaterRows,
    /// Pairs drawn with known probabilities, and judged.
    JudgedPairs,
    /// The same for a ratio of totals over the judged lists.
    JudgedPairsPooled,
}

impl Assumption {
    /// The assumption as a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Assumption::Complete => "complete labels: every label that is not observed is irrelevant",
            Assumption::LabelWise => "per-label propensities: unbiased if they are right",
            Assumption::LabelWiseRelative => {
                "per-label propensities; relative to the best ranking of the observed labels, so not the value on complete labels"
            }
            Assumption::LabelWiseCounts => {
                "per-label propensities and the given numbers of relevant labels: unbiased if they are right"
            }
            Assumption::Independent => "right propensities, and labels of a row go missing independently of each other",
            Assumption::IndependentRows => "right propensities, and labels go missing independently across rows; high variance",
            Assumption::Consistent => "per-label propensities; a ratio of unbiased sums: consistent, not unbiased",
            Assumption::LowerBound => "none: a lower bound, since missing labels can only add to it",
            Assumption::Biased => "per-label propensities, clipped: too low by at most the stated bound",
            Assumption::KnownRate => "pairs shown at the given rate, whatever the label",
            Assumption::KnownRatePooled => {
                "pairs shown at the given rate, whatever the label; a ratio of sums over all rows: consistent, not unbiased"
            }
            Assumption::WithoutReplacement => "a fixed number of labels shown to each row, drawn without replacement",
            Assumption::KnownPairs => "pairs shown at the given rate, each of them known: consistent, stays in range",
            Assumption::RowDependent => {
                "propensities that depend on the given covariates: unbiased if their model is right; intervals include its refits"
            }
            Assumption::RowDependentIndependent => {
                "propensities that depend on the given covariates, and labels of a row go missing independently given these; \
                 intervals include refits of the model"
            }
            Assumption::SameMissed => {
                "rows with both snapshots are like these rows, and later labels are the truth; no propensities, and guesses of \
                 missed labels may be bad"
            }
            Assumption::SameRatio => {
                "the ratio of later to observed hits is the same on these rows as on those with both snapshots; no propensity model"
            }
            Assumption::ShownPairs => "pairs shown at the given rate; guesses fitted to other rows: unbiased for any guesses",
            Assumption::LaterRows => {
                "which rows have later labels does not depend on which labels are missing; later labels are the truth; right if either the \
                 probabilities of missed labels or those of having later labels are right"
            }
            Assumption::JudgedPairs => {
                "judges are right, and pairs were drawn with the stated probabilities; observed labels are relevant; nothing about \
                 missing labels"
            }
            Assumption::JudgedPairsPooled => {
                "judges are right, and pairs were drawn with the stated probabilities; an upper bound of recall, since relevant labels \
                 outside all judged lists are not counted"
            }
        }
    }
}

/// An estimator that a metric has, and the assumption under which it holds.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The estimator.
    pub estimator: Estimator,
    /// What it assumes.
    pub assumption: Assumption,
    /// Whether it is computed when nobody asks for estimators by name.
    pub by_default: bool,
}

impl Offer {
    /// An offer that is computed by default.
    pub(super) const fn of(estimator: Estimator, assumption: Assumption) -> Offer {
        Offer { estimator, assumption, by_default: true }
    }

    /// An offer for those who ask for it.
    pub(super) const fn on_request(estimator: Estimator, assumption: Assumption) -> Offer {
        Offer { estimator, assumption, by_default: false }
    }
}

/// What every sum over labels has, then what sums without weights have, then what precision has.
static SUMS: [Offer; 9] = [
    Offer::of(Estimator::Observed, Assumption::Complete),
    Offer::of(Estimator::Unbiased, Assumption::LabelWise),
    Offer::of(Estimator::Normalized, Assumption::LabelWiseRelative),
    Offer::of(Estimator::Clipped, Assumption::Biased),
    Offer::of(Estimator::Hajek, Assumption::KnownPairs),
    Offer::of(Estimator::Omega, Assumption::SameMissed),
    Offer::of(Estimator::Judged, Assumption::JudgedPairs),
    Offer::of(Estimator::Ratio, Assumption::SameRatio),
    Offer::of(Estimator::DoublyRobust, Assumption::ShownPairs),
];

/// What every sum over labels has.
pub(super) fn of_sums() -> &'static [Offer] {
    &SUMS[..7]
}

/// What a sum over labels has where every label counts equally.
pub(super) fn of_unweighted_sums() -> &'static [Offer] {
    &SUMS[..8]
}

/// What precision has.
pub(super) fn of_precision() -> &'static [Offer] {
    &SUMS
}
