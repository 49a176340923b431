//! Which estimators of which metrics are computed, and why the others are not.
//!
//! Asking for everything is never an error: estimates that do not exist are left out, with a note if that may be surprising. An
//! estimate that is requested by name and cannot be computed is an error that says why.

use super::settings::{ChosenMetric, KnownPairs};
use crate::data::Rate;
use crate::error::{Error, Result};
use crate::evaluate::builder::Evaluation;
use crate::metrics::{self, Estimator, METRICS, Metric, Shape};

impl Evaluation<'_> {
    /// The metrics with their estimators.
    pub(super) fn chosen_metrics(&self, notes: &mut Vec<String>) -> Result<Vec<ChosenMetric>> {
        let mut all: Vec<ChosenMetric> = Vec::new();
        let by_name = self.request.metrics.is_some();
        let names: Vec<crate::spec::Spec> = match &self.request.metrics {
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
                if by_name {
                    return Err(Error::value(format!("{} needs the number of relevant labels per row", metric.name()))
                        .hint("give label counts, or ask for 'recall'"));
                }
                continue;
            }
            // Elsewhere recall is known row by row.
            let is_pooled = matches!(metric.shape(), Shape::Sum(term) if term.pooled());
            if is_pooled && self.request.rate.is_none() && self.judged.is_none() && !by_name {
                continue;
            }
            if matches!(metric.shape(), Shape::Sum(term) if term.weighted()) && self.weights.is_none() {
                let missing = format!("{} needs weights, from a file or from training frequencies", metric.name());
                if by_name {
                    return Err(Error::value(missing));
                }
                notes.push(format!("left out: {missing}"));
                continue;
            }
            let estimators = self.estimators_of(metric, spec.words(), notes)?;
            let one = ChosenMetric { metric: metric.name().into(), beta, estimators, left_out: Vec::new() };
            if all.iter().any(|other| other.name() == one.name()) {
                return Err(Error::value(format!("'{}' is requested twice", one.name())));
            }
            if !one.estimators.is_empty() {
                all.push(one);
            }
        }
        if all.is_empty() {
            return Err(Error::value("nothing is left to compute")
                .expected("a metric and an estimator that it has")
                .hint(notes.first().cloned().unwrap_or_else(|| "see the list of metrics".into())));
        }
        Ok(all)
    }

    fn estimators_of(&self, metric: &'static dyn Metric, words: &[String], notes: &mut Vec<String>) -> Result<Vec<Estimator>> {
        let own: Vec<Estimator> = words.iter().map(|word| Estimator::of_name(word)).collect::<Result<_>>()?;
        let named = if own.is_empty() { self.request.estimators.as_deref() } else { Some(&own[..]) };
        let insists = !own.is_empty() || self.request.metrics.is_some();
        let mut chosen = Vec::new();
        for estimator in Estimator::ALL {
            let by_name = named.is_some_and(|named| named.contains(&estimator));
            let Some(offer) = metric.offer(estimator) else {
                if by_name && insists {
                    return Err(Error::value(format!("there is no {estimator} {}", metric.name())).hint(metric.why_not(estimator)));
                }
                continue;
            };
            if !by_name && (named.is_some() || !offer.by_default) {
                continue;
            }
            // Row-dependent propensities alone are given for the metrics that are named.
            let only_by_row = self.propensities.is_empty() && !self.row_models.is_empty();
            let is_missed = estimator == Estimator::Unbiased && only_by_row && self.request.metrics.is_some();
            match self.available(metric, estimator) {
                Ok(()) => chosen.push(estimator),
                Err(error) if by_name || is_missed => return Err(error),
                Err(error) if self.request.rate.is_some() && estimator == Estimator::Unbiased => {
                    notes.push(format!("left out: {error}"));
                }
                Err(_) => {}
            }
        }
        Ok(chosen)
    }

    /// Whether the data at hand allow an estimator that the metric has.
    fn available(&self, metric: &'static dyn Metric, estimator: Estimator) -> Result<()> {
        let cannot = |why: &str| Error::value(format!("cannot compute {estimator} {}", metric.name())).found(why);
        let without = |hint: &str| Err(cannot("no propensities").hint(hint));
        let controlled = self.request.rate.is_some();
        match estimator {
            Estimator::Observed => Ok(()),
            Estimator::Unbiased if controlled => self.available_at_rate(metric, &cannot),
            Estimator::Unbiased if !self.propensities.is_empty() => Ok(()),
            Estimator::Unbiased if !self.row_models.is_empty() => self.check_row_dependent(metric),
            Estimator::Unbiased => without("give a propensity model, such as jpv, and the training labels"),
            Estimator::Normalized if controlled => {
                Err(cannot("a controlled set").hint("its unbiased value needs no normalisation"))
            }
            Estimator::Normalized if self.propensities.is_empty() && !self.row_models.is_empty() => without(
                "the best ranking of a row is known only under per-label propensities: give a propensity model, such as jpv",
            ),
            Estimator::Normalized if self.propensities.is_empty() => {
                without("give a propensity model, such as jpv, and the training labels")
            }
            Estimator::Clipped if self.request.clip.is_none() => {
                Err(cannot("no largest inverse propensity").hint("give one to clip at"))
            }
            Estimator::Clipped if self.propensities.is_empty() => without("give a propensity model"),
            Estimator::Hajek if self.shown.is_none() => {
                Err(cannot("no shown pairs").hint("it needs to know which pairs were shown, relevant or not"))
            }
            Estimator::Omega => match self.why_no_omega(metric.shape()) {
                None => Ok(()),
                Some(why) => Err(Error::value(format!("cannot compute {estimator} {}", metric.name())).hint(why)),
            },
            Estimator::Ratio if self.row_models.iter().all(|(_, model)| model.hits().is_none()) => {
                Err(cannot("no hits on rows with both snapshots")
                    .hint("it needs row-dependent propensities that were fitted to a later snapshot, with predictions"))
            }
            Estimator::DoublyRobust if self.known_pairs().is_empty() => Err(cannot("no pairs of known status")
                .hint("it needs the shown pairs of a controlled set at one rate, or later labels of some of the test rows")),
            Estimator::Judged if self.judged.is_none() => {
                Err(cannot("no judged pairs").hint("draw them with 'unmissed annotate plan', have them judged, and give the file"))
            }
            Estimator::Normalized
            | Estimator::Clipped
            | Estimator::Hajek
            | Estimator::Ratio
            | Estimator::DoublyRobust
            | Estimator::Judged => Ok(()),
        }
    }

    /// Whether a controlled set allows an unbiased estimate.
    fn available_at_rate(&self, metric: &'static dyn Metric, cannot: &dyn Fn(&str) -> Error) -> Result<()> {
        let ks = self.request.k.as_slice();
        match (metric.shape(), &self.request.rate) {
            (Shape::Set(_), _) => Err(cannot("a controlled set").hint(
                "labels that are shown without replacement do not go missing independently, and no row was shown all of most label \
                 sets; metrics that are sums over labels can be estimated, and so can 'recall-pooled', over all rows together",
            )),
            (Shape::Product, Some(Rate::Shown { shown, .. })) if ks.iter().any(|k| *k > *shown as usize) => {
                Err(cannot(&format!("k = {ks:?} with {shown} labels shown to each row"))
                    .expected("k at most the number of labels shown")
                    .hint("no row was shown a whole top list, so nothing is known about lists without a hit"))
            }
            _ => Ok(()),
        }
    }

    /// Where doubly robust estimates can come from.
    pub(super) fn known_pairs(&self) -> Vec<KnownPairs> {
        let rate = self.request.rate.as_ref().and_then(Rate::common);
        let shown = (self.shown.is_some() && rate.is_some()).then_some(KnownPairs::Shown);
        shown.into_iter().chain(self.later.is_some().then_some(KnownPairs::Later)).collect()
    }
}
