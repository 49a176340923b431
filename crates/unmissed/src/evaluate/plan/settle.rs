//! From the request to settings: everything is checked here, once.

use super::bounds::bounds;
use super::omega::OmegaFit;
use super::settings::{KnownPairs, Settings};
use super::table::Table;
use super::{columns, meaningless};
use crate::data::Rate;
use crate::error::{Error, Result};
use crate::evaluate::builder::{Evaluation, same};
use crate::evaluate::findings::{Finding, U002, U004, U005};
use crate::evaluate::tally::labels::Positives;
use crate::metrics::{Assumption, Estimator};
use crate::propensity::checks;
use crate::request::{EMPTY_ROWS, EvaluateRequest, Shard};

/// A request for more cells than this is rejected: no report has so many numbers.
const MOST_CELLS: usize = 1 << 27;
/// Replicates, whatever they are of.
const MOST_REPLICATES: usize = 1_000_000;

impl Settings {
    /// Rejects results that would not fit into memory, also of tallies that come from files.
    pub(in crate::evaluate) fn check_size(&self) -> Result<()> {
        let sizes =
            [self.groups.len(), self.models.len().max(self.pair_count()), self.metrics.len(), self.ks().len(), self.columns.len()];
        let cells = sizes.iter().try_fold(1usize, |cells, size| cells.checked_mul(*size)).filter(|cells| *cells <= MOST_CELLS);
        let Some(cells) = cells else {
            return Err(Error::value("this evaluation has more cells than can be reported")
                .expected(format!("at most {MOST_CELLS} numbers"))
                .hint("ask for fewer groups, models, metrics or values of k"));
        };
        let most = (MOST_CELLS / cells.max(1)).min(MOST_REPLICATES);
        if self.request.bootstrap > most {
            return Err(Error::value("too many replicates of the bootstrap")
                .expected(format!("at most {most}"))
                .found(self.request.bootstrap.to_string()));
        }
        Ok(())
    }
}

impl Evaluation<'_> {
    /// Checks everything and settles what is computed.
    /// `positives` are those of all rows, `looked_up` the labels that may be looked up.
    pub(in crate::evaluate) fn settle(
        &self,
        positives: &Positives,
        looked_up: &Positives,
    ) -> Result<(Settings, Table, Vec<Option<OmegaFit>>)> {
        self.check()?;
        let mut notes = self.notes.clone();
        let mut metrics = self.chosen_metrics(&mut notes)?;
        let mut findings = self.early_findings(positives)?;
        findings.extend(self.given_findings.iter().cloned());
        findings.extend(self.misalignments());
        findings.extend(meaningless::leave_out(self, &mut metrics)?);
        let row_dependent = self.choose_row_dependent(&metrics, &mut notes)?;
        let wants = |estimator| metrics.iter().any(|chosen| chosen.wants(estimator));
        let robust = if wants(Estimator::DoublyRobust) { self.known_pairs() } else { Vec::new() };
        let (columns, table, extremes) = columns::table(self, looked_up)?;
        notes.extend(self.reading_notes(&robust));
        let longest = |offsets: &[u64]| offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize;
        let stored = self.models.iter().map(|(_, scores)| longest(scores.offsets())).max().unwrap_or(1);
        let mut settings = Settings {
            request: EvaluateRequest { shard: Shard::whole(), ignore: None, ..self.request.clone() },
            rows: self.truth.rows() as u64,
            labels: self.truth.cols() as u64,
            depth: self.request.k.largest().min(stored).max(1),
            models: self.models.iter().map(|(name, _)| name.clone()).collect(),
            columns,
            row_dependent,
            robust,
            omega: None,
            groups: self.group_sizes(),
            weighted: self.weights.is_some(),
            largest_weight: self.weights.as_ref().map_or(1.0, |(_, weights)| weights.iter().copied().fold(0.0, f64::max)),
            controlled: match self.request.rate {
                Some(Rate::Shown { shown, of }) => Some((shown, of)),
                _ => None,
            },
            is_controlled: self.request.rate.is_some(),
            relevant: self.label_counts.as_ref().map(|counts| counts.iter().map(|count| u64::from(*count)).sum()),
            hajek: wants(Estimator::Hajek),
            ignored: self.ignored.as_ref().map(|ignored| ignored.digest()),
            bounds: Vec::new(),
            findings,
            notes,
            metrics,
        };
        settings.check_size()?;
        let abandonment = super::controlled_abandonment(&settings, &settings.terms()?);
        settings.bounds = bounds(&settings, &extremes, abandonment.as_deref())?;
        let fits = self.fit_omega(&settings.metrics)?;
        settings.findings.extend(self.matched_findings(&settings.metrics)?);
        settings.omega = self.omega_residuals(&fits, &settings)?;
        settings.notes.extend(self.omega_notes(&fits));
        Ok((settings, table, fits))
    }

    /// That what was given fits together.
    fn check(&self) -> Result<()> {
        if u32::try_from(self.truth.rows()).is_err() {
            return Err(Error::value("too many rows for one evaluation")
                .expected(format!("at most {}", u32::MAX))
                .found(self.truth.rows().to_string())
                .hint("evaluate parts of the rows"));
        }
        for p in &self.propensities {
            same(&format!("the propensities '{}'", p.origin()), "labels", self.truth.cols(), p.len())?;
        }
        if self.request.groups.is_some() && self.groups.is_none() {
            return Err(Error::value("the request uses groups that were not passed"));
        }
        if self.request.weights.is_some() && self.weights.is_none() {
            return Err(Error::value("the request uses weights that were not passed"));
        }
        let Some(rate) = &self.request.rate else {
            return match self.shown {
                Some(_) => {
                    Err(Error::value("shown pairs without a rate").hint("give the rate at which pairs were shown, as in 16/300"))
                }
                None => Ok(()),
            };
        };
        if !self.propensities.is_empty() {
            return Err(Error::value("a controlled set has a known rate, so propensity models do not apply to it")
                .hint("leave out either the rate or the propensity models"));
        }
        if self.request.conventions.differs(&EMPTY_ROWS) {
            return Err(Error::value("rows without a positive stay in the mean of a controlled set")
                .hint("most rows were not shown their relevant labels; leaving those rows out inflates every estimate"));
        }
        rate.check_rows(self.truth)
    }

    fn group_sizes(&self) -> Vec<(String, u64)> {
        let mut groups = vec![("all".to_owned(), self.truth.cols() as u64)];
        if let Some(given) = &self.groups {
            let mut sizes = vec![0u64; given.names().len()];
            for code in given.codes() {
                if let Some(size) = sizes.get_mut(usize::from(*code)) {
                    *size += 1;
                }
            }
            groups.extend(given.names().iter().cloned().zip(sizes));
        }
        groups
    }

    /// How to read the numbers.
    fn reading_notes(&self, robust: &[KnownPairs]) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.groups.as_ref().map(|given| format!("groups: {}", given.about())));
        let changed = self.request.conventions.changed();
        if !changed.is_empty() {
            notes.push(format!("conventions: {}", changed.join(", ")));
        }
        notes.extend(self.weights.as_ref().map(|(name, _)| format!("weights: {name}")));
        if let Some(ignored) = &self.ignored {
            notes.push(ignored_note(ignored.digest().pairs, ignored.shared_with(self.truth)));
        }
        for kind in robust {
            let (from, assumption) = match kind {
                KnownPairs::Shown => ("shown pairs", Assumption::ShownPairs),
                KnownPairs::Later => ("later labels", Assumption::LaterRows),
            };
            notes.push(format!(
                "doubly-robust ({from}): {}; guesses by rank, from other parts of the rows; standard errors over rows",
                assumption.sentence()
            ));
        }
        notes
    }

    /// Findings that need only the training labels and the propensities.
    fn early_findings(&self, positives: &Positives) -> Result<Vec<Finding>> {
        let Some(stats) = self.train else { return Ok(Vec::new()) };
        same("the training labels", "labels", self.truth.cols(), stats.labels() as usize)?;
        let mut findings = Vec::new();
        for p in &self.propensities {
            if let Some(phi) = p.origin().curve()
                && let Some(copied) = checks::copies(phi, stats, &[10.0])?.first().filter(|c| (c.largest_change - 1.0).abs() > 0.01)
            {
                let change = copied.largest_change;
                let text = format!("{}: ten copies of the data change a propensity by a factor of {change:.2}", p.origin());
                findings.push(Finding::new(&U002, text).of_propensity(p.origin().to_string()));
            }
            let implied = checks::implied_priors(p, stats)?;
            if let Some((label, prior)) = implied.impossible.first() {
                let count = implied.impossible.len();
                let prior = if *prior < 1e6 { format!("{prior:.2}") } else { format!("{prior:.1e}") };
                let label = self.label_names.map_or_else(|| label.to_string(), |names| names.with_id(*label as usize));
                let text = format!("{}: {count} labels, worst label {label} with an implied prior of {prior}", p.origin());
                findings.push(Finding::new(&U004, text).of_propensity(p.origin().to_string()));
            }
        }
        let counted = positives.ids.iter().zip(&positives.counts);
        let unseen: Vec<u64> = counted.filter(|(label, _)| stats.count(**label) == 0).map(|(_, count)| *count).collect();
        findings.extend(unseen_finding(&unseen, positives.total()));
        Ok(findings)
    }
}

/// Test labels that do not occur in training, by how often they occur; `total` are all test positives.
pub(in crate::evaluate) fn unseen_finding(unseen: &[u64], total: u64) -> Option<Finding> {
    let count: u64 = unseen.iter().sum();
    let share = 100.0 * count as f64 / total as f64;
    let text = format!("{} labels, {count} test positives ({share:.1} %)", unseen.len());
    (!unseen.is_empty()).then(|| Finding::new(&U005, text))
}

/// What was taken out of the predictions, and what that does to test labels.
pub(in crate::evaluate) fn ignored_note(pairs: u64, relevant: u64) -> String {
    let start = format!("ignored: {pairs} pairs are removed from the predictions");
    match relevant {
        0 => start,
        _ => format!("{start}; {relevant} of them are observed labels of their rows, which no prediction can hit"),
    }
}
