//! The propensities that an audit compares: those that users assume, and those that the evidence of the audit gives.
//!
//! Without a choice: `jpv`, because readers know it (with the constants that the literature uses for the data set, if it is a known
//! one); then whatever the evidence allows: curves fitted to it, and the estimate of every propensity estimator that needs no other.
//! Propensities of 1 are what is observed, which is shown anyway.

use super::checked::Checked;
use super::result::{CandidateKind, DirectReport, PropensityReport};
use crate::data::{LabelStats, Labels, Rate};
use crate::error::{Error, Result};
use crate::propensity::bands::bands;
use crate::propensity::contradiction::{Contradiction, against_controlled, against_later};
use crate::propensity::estimators::{ControlledSet, Direct, EstimatedValues, PropensityEvidence, audited};
use crate::propensity::fit::{CurveEvidence, FitOptions, fit, mse_of};
use crate::propensity::models::{self, PropensitySpec};
use crate::propensity::points::{curve_points, direct_points, label_points};
use crate::propensity::{Phi, Propensities, checks};

/// Curves that are fitted to evidence.
const FAMILIES: [&str; 3] = ["jpv", "power", "richards"];
/// How often the data are copied for the scaling check.
const COPIES: f64 = 10.0;

/// Propensities with how they came about.
pub(super) struct Candidate {
    pub(super) propensities: Propensities,
    pub(super) name: String,
    pub(super) kind: CandidateKind,
    pub(super) is_added: bool,
    phi: Option<Phi>,
}

/// What is known about the missing labels of the training rows.
pub(super) enum Known<'a> {
    Controlled { labels: &'a Labels<'a>, rate: &'a Rate },
    Later { labels: &'a Labels<'a> },
}

impl<'a> Known<'a> {
    fn evidence(&self, train: &'a Labels<'a>) -> PropensityEvidence<'a> {
        let evidence = PropensityEvidence::new(train);
        match *self {
            Known::Controlled { labels, rate } => evidence.controlled(ControlledSet { labels, rate, shown: None }),
            Known::Later { labels } => evidence.later(labels),
        }
    }
}

/// All candidates, and what the evidence itself says.
pub(super) struct Candidates {
    pub(super) all: Vec<Candidate>,
    pub(super) direct: Option<Direct>,
    pub(super) left_out: Vec<String>,
    evidence: Option<CurveEvidence>,
}

/// The model that is looked at unless others are named, with the constants of a known data set.
pub(super) fn usual_model(data: &str) -> Result<PropensitySpec> {
    models::parse(&models::spec_for("jpv", data)?)
}

impl Candidates {
    /// The given models, then what the evidence allows.
    pub(super) fn new(
        checked: &Checked<'_>,
        given: &[Propensities],
        train: Option<(&Labels<'_>, &LabelStats)>,
        test_labels: u64,
    ) -> Result<Candidates> {
        let mut candidates = Candidates { all: Vec::new(), direct: None, left_out: Vec::new(), evidence: None };
        for model in &checked.models {
            let propensities = model.per_label(train.map(|(_, stats)| stats), test_labels)?;
            let name = propensities.origin().name();
            let (kind, is_added) = (CandidateKind::Assumed, checked.request.propensities.is_none());
            candidates.push(Candidate { name, kind, is_added, phi: model.curve().cloned(), propensities });
        }
        for propensities in given {
            let name = propensities.origin().to_string();
            let kind = CandidateKind::Assumed;
            candidates.push(Candidate { name, kind, is_added: false, phi: None, propensities: propensities.clone() });
        }
        let Some(known) = &checked.known else { return Ok(candidates) };
        let Some((labels, stats)) = train else {
            return Err(Error::value("evidence about missing labels needs the training labels that it is compared with")
                .hint("pass the training labels: --train on the command line, train= in Python"));
        };
        let options = FitOptions { seed: checked.request.seed, ..FitOptions::default() };
        let level = checked.request.level.get();
        let evidence = known.evidence(labels);
        evidence.check()?;
        let mut estimates = Vec::new();
        for spec in audited(&evidence, level, options.seed)? {
            match spec.estimate(&evidence) {
                Ok(estimate) => estimates.push(estimate),
                Err(error) => candidates.left_out.push(format!("{}: {error}", spec.name())),
            }
        }
        // The first is the plainest: what the evidence says label by label.
        if let Some(plain) = estimates.first() {
            let evidence = plain.curve_evidence(stats)?;
            candidates.fit(&evidence, stats, &options)?;
            candidates.evidence = Some(evidence);
        }
        for estimate in estimates {
            match estimate.values {
                EstimatedValues::All(propensities) => candidates.estimated(propensities),
                EstimatedValues::WithGaps(direct) => {
                    candidates.estimated(direct.propensities()?);
                    candidates.direct = Some(direct);
                }
            }
        }
        Ok(candidates)
    }

    /// Adds a candidate unless the same propensities already exist, or are all 1.
    fn push(&mut self, candidate: Candidate) {
        if candidate.kind == CandidateKind::Assumed && candidate.propensities.values().iter().all(|p| *p == 1.0) {
            self.left_out.push(format!("{}: propensities of 1 give the observed scores", candidate.name));
            return;
        }
        if self.all.iter().all(|other| other.propensities.origin() != candidate.propensities.origin()) {
            self.all.push(candidate);
        }
    }

    fn estimated(&mut self, propensities: Propensities) {
        let name = propensities.origin().name();
        let behind = propensities.origin().curve_behind().map(|curve| format!("the curve behind it: {}", curve.short()));
        let propensities = behind.into_iter().fold(propensities, Propensities::with_note);
        self.push(Candidate { name, kind: CandidateKind::Estimated, is_added: false, phi: None, propensities });
    }

    fn fit(&mut self, evidence: &CurveEvidence, stats: &LabelStats, options: &FitOptions) -> Result<()> {
        for family in FAMILIES {
            match fit(&models::family(family)?, evidence, options) {
                Ok(fit) => {
                    let mut propensities = fit.propensities(stats)?.with_note(format!("fitted constants: {}", fit.phi.short()));
                    for fault in &fit.degenerate {
                        propensities = propensities.with_note(fault.clone());
                    }
                    let name = format!("{family}, fitted");
                    let kind = CandidateKind::Fitted;
                    self.push(Candidate { propensities, name, kind, is_added: false, phi: Some(fit.phi) });
                }
                Err(error) => self.left_out.push(format!("a fitted {family} curve: {error}")),
            }
        }
        Ok(())
    }

    /// What there is to report of each candidate.
    pub(super) fn reports(
        &self,
        train: Option<(&Labels<'_>, &LabelStats)>,
        known: Option<&Known<'_>>,
        level: f64,
    ) -> Result<Vec<PropensityReport>> {
        self.all.iter().map(|candidate| self.report(candidate, train, known, level)).collect()
    }

    fn report(
        &self,
        candidate: &Candidate,
        train: Option<(&Labels<'_>, &LabelStats)>,
        known: Option<&Known<'_>>,
        level: f64,
    ) -> Result<PropensityReport> {
        let p = &candidate.propensities;
        let mut report = PropensityReport {
            origin: p.origin().to_string(),
            name: candidate.name.clone(),
            kind: candidate.kind,
            is_added: candidate.is_added,
            bound: p.bound(),
            notes: p.notes().to_vec(),
            rarest: None,
            most_frequent: None,
            labels_per_row: None,
            impossible: 0,
            worst: None,
            effective_share: None,
            change_by_copies: None,
            bands: Vec::new(),
            curve: Vec::new(),
            estimates: Vec::new(),
            mse: self.evidence.as_ref().map(|evidence| mse_of(p, evidence)).transpose()?,
            against: None,
        };
        let Some((labels, stats)) = train.filter(|(_, stats)| !stats.occurring().is_empty()) else { return Ok(report) };
        let implied = checks::implied_priors(p, stats)?;
        let size = checks::effective_sample_size(p, stats)?;
        let at = |place: Option<usize>| place.map(|place| p.get(stats.occurring()[place]));
        let places = 0..stats.counts().len();
        report.rarest = at(places.clone().min_by_key(|place| stats.counts()[*place]));
        report.most_frequent = at(places.max_by_key(|place| stats.counts()[*place]));
        report.labels_per_row = Some(implied.labels_per_row);
        report.impossible = implied.impossible.len() as u64;
        report.worst = implied.impossible.first().copied();
        report.effective_share = (size.positives > 0.0).then(|| size.effective / size.positives);
        report.bands = bands(p, stats)?;
        match &candidate.phi {
            Some(phi) => {
                report.change_by_copies = checks::copies(phi, stats, &[COPIES])?.first().map(|copied| copied.largest_change);
                report.curve = curve_points(phi, stats);
            }
            None => report.estimates = label_points(p, stats),
        }
        report.against = match known {
            Some(known) => Some(against(p, labels, known, level)?),
            None => None,
        };
        Ok(report)
    }

    /// What the controlled set says label by label.
    pub(super) fn direct_report(&self, stats: &LabelStats) -> Option<DirectReport> {
        let direct = self.direct.as_ref()?;
        Some(DirectReport {
            estimated: direct.estimated(),
            without_controlled_positive: direct.without_controlled_positive(),
            never_observed: direct.never_observed(),
            estimates: direct_points(direct, stats),
        })
    }
}

fn against(p: &Propensities, train: &Labels<'_>, known: &Known<'_>, level: f64) -> Result<Contradiction> {
    match known {
        Known::Controlled { labels, rate } => against_controlled(p, train, labels, rate, level),
        Known::Later { labels } => against_later(p, train, labels, level),
    }
}
