//! How many of the relevant labels are missing, and how that is known.

use super::result::PropensityReport;
use super::wording::about;
use crate::data::{LabelStats, Labels, Rate};
use crate::evaluate::judged::Judged;
use crate::propensity::contradiction::EvidenceKind;
use serde::Serialize;

/// How the share of missing labels is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingSource {
    /// Measured on these data.
    Measured,
    /// Labels were shown at a rate that is known.
    ByDesign,
    /// What propensities that somebody assumed imply.
    Assumed,
    /// Not known.
    Unknown,
}

/// The share of the relevant labels that is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissingShare {
    /// The share; `None` when it is not known.
    pub share: Option<f64>,
    /// How it is known.
    pub source: MissingSource,
    /// What it comes from: complete labels, the evidence, or propensities.
    pub from: Option<String>,
    /// The same as a sentence.
    pub sentence: String,
}

/// What there is to know it from.
pub(super) struct MissingFacts<'a> {
    pub(super) test: &'a Labels<'a>,
    pub(super) truth: Option<&'a Labels<'a>>,
    pub(super) test_rate: Option<&'a Rate>,
    pub(super) propensities: &'a [PropensityReport],
    pub(super) stats: Option<&'a LabelStats>,
    pub(super) judged: Option<&'a Judged>,
}

impl MissingShare {
    /// From complete labels, else from evidence, else from what is assumed.
    pub(super) fn new(of: &MissingFacts<'_>) -> MissingShare {
        if let Some(truth) = of.truth.filter(|truth| truth.nnz() > 0) {
            let found = |row: usize| truth.row_ids(row).iter().filter(|label| of.test.row_ids(row).contains(label)).count();
            let kept: usize = (0..truth.rows()).map(found).sum();
            return MissingShare::measured(1.0 - kept as f64 / truth.nnz() as f64, "the complete labels of the test rows");
        }
        if let Some(rate) = of.test_rate {
            let sentence =
                format!("The test labels are a controlled set, shown at the rate {rate}: what is missing is known by design.");
            return MissingShare { share: None, source: MissingSource::ByDesign, from: Some(rate.to_string()), sentence };
        }
        if let Some(against) = of.propensities.iter().find_map(|report| report.against.as_ref()) {
            let from = match against.kind {
                EvidenceKind::ControlledSet => "the controlled set",
                EvidenceKind::LaterSnapshot => "the later snapshot of the training rows",
            };
            let mut found = MissingShare::measured(1.0 - against.all.observed_share, from);
            if found.share == Some(0.0) && against.kind == EvidenceKind::LaterSnapshot {
                found.sentence =
                    "The later snapshot has no label that the training rows lack, so it shows nothing about missing labels: is it \
                                  the right file?"
                        .into();
            }
            return found;
        }
        if let Some(share) = of.judged.and_then(Judged::missing_share) {
            let sentence =
                format!("{} of the relevant labels in the judged lists are missing (measured: judged pairs).", about(share));
            let (source, from) = (MissingSource::Measured, Some("judged pairs".into()));
            return MissingShare { share: Some(share), source, from, sentence };
        }
        MissingShare::assumed(of).unwrap_or(MissingShare {
            share: None,
            source: MissingSource::Unknown,
            from: None,
            sentence: "These files do not show how many relevant labels are missing.".into(),
        })
    }

    fn measured(share: f64, from: &str) -> MissingShare {
        // A later snapshot may have fewer labels of a kind, so that chance can bring more observed than relevant ones.
        let share = share.max(0.0);
        let sentence = format!("{} of the relevant labels are missing (measured: {from}).", about(share));
        MissingShare { share: Some(share), source: MissingSource::Measured, from: Some(from.into()), sentence }
    }

    /// What the user's propensities imply for the training rows, or the usual ones.
    fn assumed(of: &MissingFacts<'_>) -> Option<MissingShare> {
        let stats = of.stats.filter(|stats| stats.rows() > 0)?;
        let implied = |report: &&PropensityReport| report.labels_per_row.is_some_and(|labels| labels > 0.0);
        let reports = || of.propensities.iter().filter(implied);
        let report = reports().find(|report| !report.is_added).or_else(|| reports().next())?;
        let observed = stats.positives() as f64 / stats.rows() as f64;
        let share = (1.0 - observed / report.labels_per_row?).max(0.0);
        let percent = about(share).to_lowercase();
        let sentence = if report.is_added {
            format!(
                "These files do not show how many relevant labels are missing ({}, the usual assumption, implies {percent}).",
                report.name
            )
        } else {
            format!(
                "If {} were right, {percent} of the relevant labels would be missing (assumed: nothing in these files measures it).",
                report.name
            )
        };
        Some(MissingShare { share: Some(share), source: MissingSource::Assumed, from: Some(report.name.clone()), sentence })
    }
}
