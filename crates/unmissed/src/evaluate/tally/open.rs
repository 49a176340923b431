//! Tallies of streams: how many rows there will be is known only at the end.
//!
//! An open tally has everything that a tally of known rows has, and beside it what an evaluation in one piece finds out about all
//! rows before it looks at the first: test labels that do not occur in training, and estimates that would be numerically
//! meaningless. [`Tally::closed`] settles these.

use super::{Covered, Tally};
use crate::data::IgnoredDigest;
use crate::error::{Error, Result};
use crate::evaluate::findings::Finding;
use crate::evaluate::plan::meaningless::Cancelling;
use crate::evaluate::plan::settings::Settings;
use crate::evaluate::plan::settle::{ignored_note, unseen_finding};
use crate::metrics::Estimator;
use serde::{Deserialize, Serialize};

/// Row numbers are below this.
pub(in crate::evaluate) const MOST_NUMBERS: u64 = u32::MAX as u64;
/// Numbers of rows that were seen are kept as long as they are in so few ranges.
pub(in crate::evaluate) const MOST_RANGES: usize = 1 << 16;

/// See the module's page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::evaluate) struct Open {
    /// Whether the stream numbered all rows itself, from 0: then another one can be put behind it.
    pub(in crate::evaluate) automatic: bool,
    /// Rows whose numbers are not kept.
    pub(in crate::evaluate) scattered: u64,
    /// Rows whose terms cancel, of those that were looked at.
    pub(in crate::evaluate) cancelling: Cancelling,
    /// Pairs that were taken out of predictions, and how many of them are observed labels.
    pub(in crate::evaluate) ignored: Option<IgnoredDigest>,
    pub(in crate::evaluate) ignored_labels: u64,
    /// Labels that occur in these rows and not in training, ascending. Files have them as an array.
    #[serde(skip)]
    pub(in crate::evaluate) unseen: Vec<u32>,
}

impl Open {
    /// A stream without rows.
    pub(in crate::evaluate) fn new(settings: &Settings) -> Result<Open> {
        Ok(Open { automatic: true, cancelling: Cancelling::new(settings)?, ..Open::default() })
    }

    /// What is known of both parts.
    pub(in crate::evaluate) fn and(self, other: Open) -> Open {
        let mut unseen = [self.unseen, other.unseen].concat();
        unseen.sort_unstable();
        unseen.dedup();
        Open {
            automatic: self.automatic && other.automatic,
            scattered: self.scattered.saturating_add(other.scattered),
            cancelling: self.cancelling.and(&other.cancelling),
            ignored: match (self.ignored, other.ignored) {
                (Some(a), Some(b)) => Some(a.and(b)),
                (a, b) => a.or(b),
            },
            ignored_labels: self.ignored_labels.saturating_add(other.ignored_labels),
            unseen,
        }
    }

    /// Forgets numbers that are in too many ranges to be kept.
    pub(in crate::evaluate) fn bound(&mut self, covered: &mut Covered) {
        if covered.ranges() > MOST_RANGES {
            self.scattered = self.scattered.saturating_add(covered.rows());
            *covered = Covered::default();
        }
    }
}

impl Tally {
    /// The tally as if its rows had been known beforehand.
    pub(in crate::evaluate) fn closed(mut self) -> Result<Tally> {
        let Some(open) = self.open.take() else { return Ok(self) };
        self.settings.rows = self.covered.rows().saturating_add(open.scattered);
        if self.settings.rows == 0 {
            return Err(Error::value("no rows were evaluated").expected("at least one batch of rows"));
        }
        // Whatever the numbers were, no rows are missing.
        self.covered = Covered::new(0..self.settings.rows);
        let counted = self.positives.ids.iter().zip(&self.positives.counts);
        let unseen: Vec<u64> =
            counted.filter(|(label, _)| open.unseen.binary_search(label).is_ok()).map(|(_, count)| *count).collect();
        self.settings.findings.extend(unseen_finding(&unseen, self.positives.total()));
        let findings = open.cancelling.leave_out(&mut self.settings)?;
        let is_left = |settings: &Settings| {
            let of = |metric: usize| {
                let chosen = &settings.metrics[metric];
                let columns = settings.columns_of(Estimator::Unbiased);
                chosen.estimators.iter().any(|estimator| {
                    *estimator != Estimator::Unbiased || columns.iter().any(|column| !chosen.left_out.contains(column))
                })
            };
            (0..settings.metrics.len()).any(of)
        };
        if let Some(finding) = findings.first().filter(|_| !is_left(&self.settings)) {
            return Err(nothing_left(finding));
        }
        self.settings.findings.extend(findings);
        self.settings.ignored = open.ignored;
        self.settings.notes.extend(open.ignored.map(|ignored| ignored_note(ignored.pairs, open.ignored_labels)));
        Ok(self)
    }
}

/// Everything that was asked for is numerically meaningless.
pub(in crate::evaluate) fn nothing_left(finding: &Finding) -> Error {
    Error::value("nothing is left to compute").found(finding.message.clone())
}
