//! Which estimate an audit believes first. The order is fixed beforehand, by what an estimate has to assume, and never by what it
//! says: pairs of a controlled set that were shown (known one by one, then by their rate), missed labels of rows with two snapshots
//! (omega), propensities that depend on the row, the ratio of later and observed hits, one propensity per label estimated from evidence.
//! The others are shown beside it.

use super::result::{CandidateKind, PropensityReport};
use super::row_dependent::ROWS;
use super::standings::Standing;
use crate::metrics::Estimator;

/// The place of a standing in the order, the first first; `None` for what no evidence stands behind.
fn place(standing: &Standing, propensities: &[PropensityReport]) -> Option<usize> {
    let origin = standing.propensity.as_deref();
    let is_estimated =
        |report: &PropensityReport| Some(report.origin.as_str()) == origin && report.kind == CandidateKind::Estimated;
    match standing.estimator {
        Estimator::Hajek => Some(0),
        Estimator::Omega => Some(1),
        Estimator::Unbiased if origin == Some(ROWS) => Some(2),
        Estimator::Ratio => Some(3),
        Estimator::Unbiased if propensities.iter().any(is_estimated) => Some(4),
        _ => None,
    }
}

/// The standing that comes first in the order; of several with one place the last, which is the most shrunken.
pub(super) fn headline<'s>(standings: &'s [Standing], propensities: &[PropensityReport]) -> Option<&'s Standing> {
    let places = standings.iter().filter_map(|standing| Some((place(standing, propensities)?, standing)));
    places.rev().min_by_key(|(place, _)| *place).map(|(_, standing)| standing)
}
