//! Which estimate an audit reports. The order is fixed in advance, by what an estimate assumes and never by its value; [`Basis`] is
//! that order. The other estimates are shown too.

use super::result::{CandidateKind, PropensityReport};
use super::row_dependent::ROWS;
use super::standings::Standing;
use crate::metrics::Estimator;
use serde::Serialize;

/// The estimate of a controlled set that is pulled towards a curve.
const SHRUNKEN: &str = "shrunken";

/// What scores rest on, the most reliable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Complete labels: no estimate.
    Complete,
    /// Pairs of the lists themselves, drawn with known probabilities and judged.
    Judged,
    /// Pairs that were shown, known one by one.
    ShownPairs,
    /// Labels shown at a known rate.
    KnownRate,
    /// Labels missed on rows with two snapshots.
    Omega,
    /// Propensities that depend on the row, fitted to evidence.
    RowDependent,
    /// The ratio of later and observed hits.
    Ratio,
    /// One propensity per label, estimated from evidence.
    PerLabel,
    /// A curve in the label's frequency, fitted to evidence.
    FittedCurve,
    /// Propensities that somebody assumed.
    Assumed,
    /// Observed labels: a lower bound.
    Observed,
}

impl Basis {
    /// What an estimate rests on; `is_controlled`: whether the test labels are a controlled set.
    pub(super) fn of(
        estimator: Estimator,
        origin: Option<&str>,
        propensities: &[PropensityReport],
        is_controlled: bool,
    ) -> Option<Basis> {
        let kind = propensities.iter().find(|report| Some(report.origin.as_str()) == origin).map(|report| report.kind);
        match estimator {
            Estimator::Observed => Some(Basis::Observed),
            Estimator::Judged => Some(Basis::Judged),
            Estimator::Hajek => Some(Basis::ShownPairs),
            Estimator::Omega => Some(Basis::Omega),
            Estimator::Ratio => Some(Basis::Ratio),
            Estimator::Unbiased if is_controlled => Some(Basis::KnownRate),
            Estimator::Unbiased if origin == Some(ROWS) => Some(Basis::RowDependent),
            Estimator::Unbiased => Some(match kind {
                Some(CandidateKind::Estimated) => Basis::PerLabel,
                Some(CandidateKind::Fitted) => Basis::FittedCurve,
                Some(CandidateKind::Assumed) | None => Basis::Assumed,
            }),
            Estimator::Normalized | Estimator::Clipped | Estimator::DoublyRobust => None,
        }
    }

    /// Whether it was measured on these data.
    pub fn is_measured(self) -> bool {
        self < Basis::Assumed
    }

    /// Why a number is reported, as the end of a sentence.
    pub(super) fn why(self) -> &'static str {
        match self {
            Basis::Complete => "complete labels need no estimate",
            Basis::Judged => {
                "people judged pairs of these lists that were drawn with known probabilities, so nothing is assumed about missing labels"
            }
            Basis::ShownPairs => "it is known which pairs were shown, so it needs no propensities",
            Basis::KnownRate => "labels were shown at a known rate, so no propensity has to be assumed",
            Basis::Omega => "it uses the labels that were missed on rows with two snapshots and assumes no propensities",
            Basis::RowDependent => "its propensities depend on the row and were fitted to rows with known labels",
            Basis::Ratio => "it is observed hits times the ratio of later and observed ones on rows that have both",
            Basis::PerLabel => "its propensities were estimated label by label from evidence",
            Basis::FittedCurve => "its propensities are a curve that was fitted to evidence",
            Basis::Assumed => "its propensities are assumed",
            Basis::Observed => "nothing in these files measures what is missing, and missing labels can only raise them",
        }
    }
}

/// Standings that rest on something measured, in the order in which they are believed, then what is observed. Of several with one
/// basis the last is the most shrunken and comes first; only that of a controlled set comes after the direct one, because models list
/// labels that are frequent for their propensity, whose shrunken estimates are off in one direction.
pub(super) fn by_belief(standings: &[Standing]) -> Vec<&Standing> {
    let mut order: Vec<&Standing> =
        standings.iter().rev().filter(|one| one.basis < Basis::FittedCurve || one.basis == Basis::Observed).collect();
    let is_shrunken = |standing: &Standing| standing.propensity.as_deref().is_some_and(|name| name.starts_with(SHRUNKEN));
    order.sort_by_key(|standing| (standing.basis, is_shrunken(standing)));
    order
}

/// The standing that is reported, and those before it that cannot be, with the reason.
pub(super) fn headline(standings: &[Standing]) -> (Option<&Standing>, Vec<(&Standing, Unusable)>) {
    let mut passed = Vec::new();
    for standing in by_belief(standings) {
        match standing.unusable() {
            None => return (Some(standing), passed),
            Some(why) => passed.push((standing, why)),
        }
    }
    (None, passed)
}

/// Why a standing is not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// Not all models have a value.
    Incomplete,
    /// A value that no score can have, with all of its interval.
    BeyondRange,
}

impl Standing {
    /// Why it cannot be reported; `None` when it can.
    pub(super) fn unusable(&self) -> Option<Unusable> {
        if self.audited().any(|score| score.value.is_none()) || self.audited().count() < self.models {
            Some(Unusable::Incomplete)
        } else if self.audited().any(|score| score.is_clearly_beyond()) {
            Some(Unusable::BeyondRange)
        } else {
            None
        }
    }
}
