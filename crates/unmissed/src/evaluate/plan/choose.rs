//! From what was asked for to what is computed: which estimators of which metrics, and why not the others.
//!
//! Nobody who asks for everything gets an error: what does not exist is left out, with a note where that may surprise. What is
//! asked for by name and cannot be is an error that explains.

use super::columns;
use super::settings::{ChosenMetric, Rate, Settings};
use super::table::Table;
use crate::error::{Error, Result};
use crate::evaluate::builder::{Evaluation, same};
use crate::evaluate::findings::{Finding, U002, U004, U005};
use crate::evaluate::tally::labels::Positives;
use crate::metrics::{self, Estimator, METRICS, Metric, Shape};
use crate::propensity::checks;
use crate::request::EMPTY_ROWS;

/// Numbers are kept for each replicate; nobody needs more.
const MOST_REPLICATES: usize = 1_000_000;

impl Settings {
    /// Whether anything needs counts by label.
    pub(in crate::evaluate) fn by_label(&self) -> Result<bool> {
        let mut by_label = self.columns.iter().any(|column| column.uncertain || column.clip.is_some());
        for chosen in &self.metrics {
            by_label |= matches!(chosen.metric()?.shape(), Shape::Label(_));
        }
        Ok(by_label)
    }
}

impl Evaluation<'_> {
    /// Checks everything and settles what is computed.
    pub(in crate::evaluate) fn choose(&self, positives: &Positives) -> Result<(Settings, Table)> {
        for p in &self.propensities {
            same(&format!("the propensities '{}'", p.origin()), "labels", self.truth.cols(), p.len())?;
        }
        if self.bootstrap > MOST_REPLICATES {
            return Err(Error::value("too many replicates of the bootstrap")
                .expected(format!("at most {MOST_REPLICATES}"))
                .found(self.bootstrap.to_string()));
        }
        if self.rate.is_some() && !self.propensities.is_empty() {
            return Err(Error::value("a controlled set has a known rate, and propensity models describe other data")
                .hint("leave out either the rate or the propensity models"));
        }
        if self.shown.is_some() && self.rate.is_none() {
            return Err(Error::value("shown pairs without a rate").hint("give the rate at which pairs were shown, as in 16/300"));
        }
        if self.rate.is_some() && self.conventions.differs(&EMPTY_ROWS) {
            return Err(Error::value("rows without a positive stay in the mean of a controlled set")
                .hint("most rows were not shown what is relevant to them; leaving those out inflates every estimate"));
        }
        let mut notes = Vec::new();
        let metrics = self.chosen_metrics(&mut notes)?;
        if metrics.is_empty() {
            return Err(Error::value("nothing is left to compute")
                .expected("a metric and an estimator that it has")
                .hint(notes.first().cloned().unwrap_or_else(|| "see the list of metrics".into())));
        }
        let (columns, table) = columns::table(self, positives)?;
        let mut groups = vec![("all".to_owned(), self.truth.cols() as u64)];
        if let Some(given) = &self.groups {
            let mut sizes = vec![0u64; given.names().len()];
            given.codes().iter().for_each(|code| {
                if let Some(size) = sizes.get_mut(usize::from(*code)) {
                    *size += 1;
                }
            });
            groups.extend(given.names().iter().cloned().zip(sizes));
            notes.push(format!("groups: {}", given.about()));
        }
        let changed = self.conventions.changed();
        if !changed.is_empty() {
            notes.push(format!("conventions: {}", changed.join(", ")));
        }
        if let Some((name, _)) = &self.weights {
            notes.push(format!("weights: {name}"));
        }
        let longest = |offsets: &[u64]| offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize;
        let stored = self.models.iter().map(|(_, scores)| longest(scores.offsets())).max().unwrap_or(1);
        let settings = Settings {
            rows: self.truth.rows() as u64,
            labels: self.truth.cols() as u64,
            depth: self.ks.last().copied().unwrap_or(1).min(stored).max(1),
            ks: self.ks.clone(),
            models: self.models.iter().map(|(name, _)| name.clone()).collect(),
            columns,
            groups,
            level: self.level,
            interval: self.interval,
            bootstrap: self.bootstrap,
            seed: self.seed,
            weighted: self.weights.is_some(),
            largest_weight: self.weights.as_ref().map_or(1.0, |(_, weights)| weights.iter().copied().fold(0.0, f64::max)),
            controlled: match self.rate {
                Some(Rate::Shown { shown, of }) => Some((shown, of)),
                _ => None,
            },
            is_controlled: self.rate.is_some(),
            relevant: self.label_counts.as_ref().map(|counts| counts.iter().map(|count| u64::from(*count)).sum()),
            conventions: self.conventions.clone(),
            hajek: metrics.iter().any(|chosen| chosen.wants(Estimator::Hajek)),
            findings: self.early_findings(positives)?,
            notes,
            metrics,
        };
        Ok((settings, table))
    }

    /// The metrics with their estimators.
    fn chosen_metrics(&self, notes: &mut Vec<String>) -> Result<Vec<ChosenMetric>> {
        let mut all: Vec<ChosenMetric> = Vec::new();
        let names: Vec<crate::spec::Spec> = match &self.metrics {
            Some(specs) => specs.clone(),
            None => METRICS.iter().map(|metric| metric.name().parse()).collect::<Result<_>>()?,
        };
        for spec in &names {
            let metric = metrics::find(spec.name())?;
            let words: Vec<&str> = Estimator::ALL.iter().map(|estimator| estimator.name()).collect();
            let has_beta = matches!(metric.shape(), Shape::Label(term) if term.has_beta());
            spec.allow(if has_beta { &["beta"] } else { &[] }, &words)?;
            let beta = spec.number("beta")?.unwrap_or(1.0);
            if beta <= 0.0 {
                return Err(Error::value(format!("'{spec}': beta is out of range")).expected("a number above 0"));
            }
            if matches!(metric.shape(), Shape::Sum(term) if term.by_relevant()) && self.label_counts.is_none() {
                if self.metrics.is_some() {
                    return Err(Error::value(format!("{} needs the number of relevant labels of each row", metric.name()))
                        .hint("give label counts, or ask for 'recall'"));
                }
                continue;
            }
            if matches!(metric.shape(), Shape::Sum(term) if term.weighted()) && self.weights.is_none() {
                let missing = format!("{} needs weights: from a file, or from training frequencies", metric.name());
                if self.metrics.is_some() {
                    return Err(Error::value(missing));
                }
                notes.push(format!("left out: {missing}"));
                continue;
            }
            let estimators = self.estimators_of(metric, spec.words(), notes)?;
            let one = ChosenMetric { metric: metric.name().into(), beta, estimators };
            if all.iter().any(|other| other.name() == one.name()) {
                return Err(Error::value(format!("'{}' is asked for twice", one.name())));
            }
            if !one.estimators.is_empty() {
                all.push(one);
            }
        }
        Ok(all)
    }

    fn estimators_of(&self, metric: &'static dyn Metric, words: &[String], notes: &mut Vec<String>) -> Result<Vec<Estimator>> {
        let own: Vec<Estimator> = words.iter().map(|word| Estimator::of_name(word)).collect::<Result<_>>()?;
        let named = if own.is_empty() { self.estimators.as_deref() } else { Some(&own[..]) };
        let insists = !own.is_empty() || self.metrics.is_some();
        let mut chosen = Vec::new();
        for estimator in Estimator::ALL {
            let by_name = named.is_some_and(|named| named.contains(&estimator));
            let Some(offer) = metric.offer(estimator) else {
                if by_name && insists {
                    return Err(Error::value(format!("there is no {estimator} {}", metric.name())).found(metric.why_not(estimator)));
                }
                continue;
            };
            if !by_name && (named.is_some() || !offer.by_default) {
                continue;
            }
            match self.available(metric, estimator) {
                Ok(()) => chosen.push(estimator),
                Err(error) if by_name => return Err(error),
                Err(error) if self.rate.is_some() && estimator == Estimator::Unbiased => notes.push(format!("left out: {error}")),
                Err(_) => {}
            }
        }
        Ok(chosen)
    }

    /// Whether the data at hand allow an estimator that the metric has.
    fn available(&self, metric: &'static dyn Metric, estimator: Estimator) -> Result<()> {
        let cannot = |why: &str| Error::value(format!("cannot compute {estimator} {}", metric.name())).found(why);
        let controlled = self.rate.is_some();
        match estimator {
            Estimator::Observed => Ok(()),
            Estimator::Unbiased if !controlled && self.propensities.is_empty() && !self.row_models.is_empty() => Ok(()),
            Estimator::Unbiased if !controlled && self.propensities.is_empty() => {
                Err(cannot("no propensities").hint("give a propensity model, such as jpv, and the training labels"))
            }
            Estimator::Unbiased if controlled => match (metric.shape(), &self.rate) {
                (Shape::Set(_), _) => Err(cannot("a controlled set").hint(
                    "labels that are shown without replacement do not go missing independently, and of most label sets no row \
                     was shown all; metrics that are sums over labels can be estimated",
                )),
                (Shape::Product, Some(Rate::Shown { shown, .. })) if self.ks.iter().any(|k| *k > *shown as usize) => {
                    Err(cannot(&format!("k = {:?} with {shown} labels shown a row", self.ks))
                        .expected("k at most the number of labels shown")
                        .hint("no row was shown a whole top list, so nothing is known about lists without a hit"))
                }
                _ => Ok(()),
            },
            Estimator::Unbiased => Ok(()),
            Estimator::Normalized if controlled => {
                Err(cannot("a controlled set").hint("its unbiased value needs no best value to compare with"))
            }
            Estimator::Normalized if self.propensities.is_empty() => {
                Err(cannot("no propensities").hint("give a propensity model, such as jpv, and the training labels"))
            }
            Estimator::Normalized => Ok(()),
            Estimator::Clipped if self.clip.is_none() => Err(cannot("no largest inverse propensity").hint("give one to clip at")),
            Estimator::Clipped if self.propensities.is_empty() => Err(cannot("no propensities").hint("give a propensity model")),
            Estimator::Clipped => Ok(()),
            Estimator::Hajek if self.shown.is_none() => {
                Err(cannot("no shown pairs").hint("it needs to know which pairs were shown, relevant or not"))
            }
            Estimator::Hajek => Ok(()),
            Estimator::Ratio if self.row_models.iter().all(|(_, model)| model.hits().is_none()) => {
                Err(cannot("no hits of rows with both snapshots")
                    .hint("it needs row-dependent propensities that were fitted to a later snapshot, with predictions"))
            }
            Estimator::Ratio => Ok(()),
            Estimator::DoublyRobust if self.later.is_none() && (self.shown.is_none() || !controlled) => {
                Err(cannot("no pairs of known status")
                    .hint("it needs the shown pairs of a controlled set with its rate, or later labels of some of the test rows"))
            }
            Estimator::DoublyRobust => Ok(()),
        }
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
                findings.push(Finding::new(
                    &U002,
                    format!("{}: ten copies of the data change a propensity by a factor of {change:.2}", p.origin()),
                ));
            }
            let implied = checks::implied_priors(p, stats)?;
            if let Some((label, prior)) = implied.impossible.first() {
                let count = implied.impossible.len();
                let text = format!("{}: {count} labels, worst label {label} with an implied prior of {prior:.2}", p.origin());
                findings.push(Finding::new(&U004, text));
            }
        }
        let counted = positives.ids.iter().zip(&positives.counts);
        let unseen: Vec<u64> = counted.filter(|(label, _)| stats.count(**label) == 0).map(|(_, count)| *count).collect();
        if !unseen.is_empty() {
            let count: u64 = unseen.iter().sum();
            let share = 100.0 * count as f64 / positives.total() as f64;
            let text = format!("{} labels, {count} test positives ({share:.1} %)", unseen.len());
            findings.push(Finding::new(&U005, text));
        }
        Ok(findings)
    }
}
