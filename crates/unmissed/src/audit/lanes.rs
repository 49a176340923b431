//! Which propensity models an audit looks at, and what it has to say about each.
//!
//! Without a choice: `constant`, `jpv` (with the constants that the literature uses for the data set, if it is a known one) and
//! `power`; then whatever the evidence allows. A controlled set gives curves fitted to it and the shrunken estimate; a later
//! snapshot gives fitted curves, the time-lapse estimate and its shrunken form.

use super::result::{DirectReport, Kind, PropensityReport};
use crate::data::{LabelStats, Labels};
use crate::error::{Error, Result};
use crate::propensity::bands::bands;
use crate::propensity::contradiction::{Contradiction, against_controlled, against_later};
use crate::propensity::estimators::{Direct, Rates, direct, shrunken, timelapse};
use crate::propensity::fit::{Evidence, Options, fit, mse_of};
use crate::propensity::models::{self, PropensitySpec};
use crate::propensity::points::{curve_points, direct_points, label_points};
use crate::propensity::{Phi, Propensities, Ratio, checks};

/// Curves that are fitted to evidence.
const FAMILIES: [&str; 3] = ["jpv", "power", "richards"];
/// The curve that estimates are shrunken towards.
const TOWARDS: &str = "power";
/// How often the data are copied for the scaling check.
const COPIES: f64 = 10.0;

/// Propensities with how they came about.
pub(super) struct Lane {
    pub(super) propensities: Propensities,
    pub(super) name: String,
    pub(super) kind: Kind,
    phi: Option<Phi>,
}

/// What is known about the missing labels.
pub(super) enum About<'a> {
    Controlled { labels: &'a Labels<'a>, rates: &'a Rates },
    Later { labels: &'a Labels<'a> },
}

/// All lanes and what the evidence itself says.
pub(super) struct Lanes {
    pub(super) lanes: Vec<Lane>,
    pub(super) direct: Option<Direct>,
    pub(super) left_out: Vec<String>,
    evidence: Option<Evidence>,
}

/// The models that are looked at unless others are named.
pub(super) fn defaults(data: &str) -> Result<Vec<PropensitySpec>> {
    ["constant".to_owned(), models::spec_for("jpv", data)?, "power".to_owned()].iter().map(|spec| models::parse(spec)).collect()
}

impl Lanes {
    /// The given models, then what the evidence allows.
    pub(super) fn new(
        given: &[PropensitySpec],
        known: &[Propensities],
        train: Option<(&Labels<'_>, &LabelStats)>,
        test_labels: u64,
        about: Option<&About<'_>>,
        (level, seed): (f64, u64),
    ) -> Result<Lanes> {
        let mut all = Lanes { lanes: Vec::new(), direct: None, left_out: Vec::new(), evidence: None };
        for model in given {
            let propensities = model.per_label(train.map(|(_, stats)| stats), test_labels)?;
            let name = propensities.origin().name();
            all.push(Lane { name, kind: Kind::Assumed, phi: model.curve().cloned(), propensities });
        }
        for propensities in known {
            let name = propensities.origin().to_string();
            all.push(Lane { name, kind: Kind::Assumed, phi: None, propensities: propensities.clone() });
        }
        let Some(about) = about else { return Ok(all) };
        let Some((labels, stats)) = train else {
            return Err(Error::value("evidence about missing labels needs the training labels that it is compared with")
                .hint("pass the training labels"));
        };
        let options = Options { seed, ..Options::default() };
        match about {
            About::Controlled { labels: controlled, rates } => {
                let direct = direct::direct(stats, &LabelStats::of(controlled), rates, level)?;
                all.fit(&direct.evidence(), stats, &options)?;
                match shrunken::shrunken(&direct, &models::family(TOWARDS)?, &options, level) {
                    Ok(found) => all.estimated(found.propensities),
                    Err(error) => all.left_out.push(format!("shrunken: {error}")),
                }
                all.evidence = Some(direct.evidence());
                all.direct = Some(direct);
            }
            About::Later { labels: later } => {
                let how = Ratio { level, options: options.clone(), ..Ratio::new(models::family(TOWARDS)?) };
                let plain = timelapse::timelapse(labels, later, &how)?;
                let evidence = Evidence::from_propensities(&plain.propensities, stats)?;
                all.fit(&evidence, stats, &options)?;
                all.estimated(plain.propensities);
                all.estimated(timelapse::timelapse(labels, later, &how.shrunken())?.propensities);
                all.evidence = Some(evidence);
            }
        }
        Ok(all)
    }

    /// Adds a lane unless the same propensities are there already.
    fn push(&mut self, lane: Lane) {
        if self.lanes.iter().all(|other| other.propensities.origin() != lane.propensities.origin()) {
            self.lanes.push(lane);
        }
    }

    fn estimated(&mut self, propensities: Propensities) {
        let name = propensities.origin().name();
        let behind = propensities.origin().curve_behind().map(|curve| format!("the curve behind it: {}", curve.short()));
        let propensities = behind.into_iter().fold(propensities, Propensities::with_note);
        self.push(Lane { name, kind: Kind::Estimated, phi: None, propensities });
    }

    fn fit(&mut self, evidence: &Evidence, stats: &LabelStats, options: &Options) -> Result<()> {
        for family in FAMILIES {
            match fit(&models::family(family)?, evidence, options) {
                Ok(fit) => {
                    let mut propensities = fit.phi.propensities(stats)?.with_note(format!("fitted constants: {}", fit.phi.short()));
                    for fault in &fit.degenerate {
                        propensities = propensities.with_note(fault.clone());
                    }
                    let name = format!("{family}, fitted");
                    self.push(Lane { propensities, name, kind: Kind::Fitted, phi: Some(fit.phi) });
                }
                Err(error) => self.left_out.push(format!("a fitted {family} curve: {error}")),
            }
        }
        Ok(())
    }

    /// What there is to say about each lane.
    pub(super) fn reports(
        &self,
        train: Option<(&Labels<'_>, &LabelStats)>,
        about: Option<&About<'_>>,
        level: f64,
    ) -> Result<Vec<PropensityReport>> {
        self.lanes.iter().map(|lane| self.report(lane, train, about, level)).collect()
    }

    fn report(
        &self,
        lane: &Lane,
        train: Option<(&Labels<'_>, &LabelStats)>,
        about: Option<&About<'_>>,
        level: f64,
    ) -> Result<PropensityReport> {
        let p = &lane.propensities;
        let mut report = PropensityReport {
            origin: p.origin().to_string(),
            name: lane.name.clone(),
            kind: lane.kind,
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
        match &lane.phi {
            Some(phi) => {
                report.change_by_copies = checks::copies(phi, stats, &[COPIES])?.first().map(|copied| copied.largest_change);
                report.curve = curve_points(phi, stats);
            }
            None => report.estimates = label_points(p, stats),
        }
        report.against = match about {
            Some(about) => Some(against(p, labels, about, level)?),
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

fn against(p: &Propensities, train: &Labels<'_>, about: &About<'_>, level: f64) -> Result<Contradiction> {
    match about {
        About::Controlled { labels, rates } => against_controlled(p, train, labels, rates, level),
        About::Later { labels } => against_later(p, train, labels, level),
    }
}
