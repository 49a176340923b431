//! The audit itself: from what there is to what it says.

use super::assumptions::assumptions;
use super::builder::Audit;
use super::candidates::{Candidates, Known, defaults};
use super::findings::findings;
use super::order_map::OrderMap;
use super::recall_by_frequency::recall_by_frequency;
use super::result::{AuditResult, CandidateKind, DataPart, PropensityReport};
use super::row_dependent::ROWS;
use super::rows_needed::{self, RowsNeeded};
use super::standings::METRIC;
use super::verdict::Verdict;
use crate::data::{Csr, DataStats, Dataset, LabelStats, Labels, rank_frequency};
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, EvaluationResult, Groups, HitsByCount, Rate};
use crate::metrics::Estimator;
use crate::propensity::rows::RowModel;
use crate::propensity::{Propensities, Sample};

/// Points of a rank-frequency plot.
const POINTS: usize = 300;
/// Level at which a propensity model counts as contradicted, all models together.
const LEVEL_OF_CONTRADICTION: f64 = 0.99;

impl Audit<'_> {
    /// Looks at everything. Runs in the current rayon pool.
    pub fn run(&self) -> Result<AuditResult> {
        let stats = self.train.map(|train| LabelStats::of(train.labels()));
        let train = self.train.map(Dataset::labels).zip(stats.as_ref());
        let known = self.known_labels()?;
        let given = match &self.given {
            Some(given) => given.clone(),
            None if stats.is_some() && self.rate.is_none() => defaults(&self.name)?,
            None => Vec::new(),
        };
        if self.rate.is_some() && !(given.is_empty() && self.known.is_empty() && known.is_none()) {
            return Err(Error::value("a controlled test set has a known rate, and propensity models describe other data")
                .hint("leave out either the rate of the test labels or the propensity models and the evidence for them"));
        }
        self.progress.begin("propensities", 0);
        let labels = self.test.labels().cols() as u64;
        let candidates = Candidates::new(&given, &self.known, train, labels, known.as_ref(), (self.level, self.provenance.seed))?;
        let tests = candidates.all.iter().filter(|candidate| candidate.kind == CandidateKind::Assumed).count().max(1) as f64;
        let propensities = candidates.reports(train, known.as_ref(), 1.0 - (1.0 - LEVEL_OF_CONTRADICTION) / tests)?;

        let by_row = self.fit_row_dependent()?;
        let groups = self.grouped(stats.as_ref())?;
        let grouped = (stats.as_ref(), groups.as_ref());
        let all: Vec<Propensities> = candidates.all.iter().map(|candidate| candidate.propensities.clone()).collect();
        let (evaluation, tallies) = self.evaluate(self.test.labels(), (all, &by_row.models), self.rate.clone(), grouped, true)?;
        let truth = match self.truth {
            Some(truth) => Some(self.evaluate(truth.labels(), (Vec::new(), &[]), None, grouped, false)?.0),
            None => None,
        };
        let k = self.ks.first().copied().unwrap_or(1);
        let verdict = Verdict::new(&evaluation, truth.as_ref(), &propensities, k);
        let order_map = self.order_map(tallies.as_ref(), stats.as_ref(), &verdict)?;
        let direct = stats.as_ref().and_then(|stats| candidates.direct_report(stats));
        Ok(AuditResult {
            name: self.name.clone(),
            ks: self.ks.clone(),
            level: self.level,
            findings: findings(&evaluation, &propensities),
            data: self.parts(),
            sample: stats.as_ref().map(|stats| Sample::of(stats).into()),
            rows_needed: self.rows_needed(&candidates, &evaluation, &propensities, k),
            assumptions: assumptions(&evaluation),
            direct,
            left_out: candidates.left_out,
            left_out_by_row: by_row.left_out,
            by_row: by_row.reports,
            grouping: groups.map(|groups| groups.about().to_owned()),
            recall_by_frequency: tallies.as_ref().map_or(Vec::new(), |hits| recall_by_frequency(hits, self.level)),
            propensities,
            verdict,
            evaluation,
            truth,
            tallies,
            order_map,
            provenance: self.provenance.clone(),
        })
    }

    /// The groups of labels: those given, else by share of the training positives.
    fn grouped(&self, stats: Option<&LabelStats>) -> Result<Option<Groups>> {
        match (&self.groups, stats) {
            (Some(groups), _) => Ok(Some(groups.clone())),
            (None, Some(stats)) if stats.positives() > 0 => Groups::by_share(stats, &[0.8, 0.95]).map(Some),
            (None, _) => Ok(None),
        }
    }

    fn known_labels(&self) -> Result<Option<Known<'_>>> {
        match (&self.controlled, self.later) {
            (Some(_), Some(_)) => {
                Err(Error::value("a controlled set and a later snapshot at once").hint("audit with one of the two"))
            }
            (Some((data, rates)), None) => Ok(Some(Known::Controlled { labels: data.labels(), rates })),
            (None, Some(data)) => Ok(Some(Known::Later { labels: data.labels() })),
            (None, None) => Ok(None),
        }
    }

    /// All metrics; for the truth only as they are.
    fn evaluate(
        &self,
        labels: &Labels<'_>,
        (propensities, by_row): (Vec<Propensities>, &[RowModel]),
        rate: Option<Rate>,
        (stats, groups): (Option<&LabelStats>, Option<&Groups>),
        is_test: bool,
    ) -> Result<(EvaluationResult, Option<HitsByCount>)> {
        let models: Vec<(&str, &Csr<'_, f32>)> = self.models.iter().map(|(name, scores)| (name.as_str(), *scores)).collect();
        let mut evaluation = Evaluation::new(labels, &models)?
            .ks(&self.ks)?
            .level(self.level)?
            .bootstrap(self.provenance.bootstrap, self.provenance.seed)
            .progress(self.progress);
        evaluation = propensities.into_iter().fold(evaluation, Evaluation::propensity);
        if !is_test {
            evaluation = evaluation.estimators(&[Estimator::Observed]);
        }
        if let Some(stats) = stats {
            evaluation = evaluation.train(stats);
        }
        if let Some((name, weights)) = &self.weights {
            evaluation = evaluation.weights(name.clone(), weights.clone())?;
        }
        let plain_rate = rate.is_none();
        if let Some(rate) = rate {
            evaluation = evaluation.rate(rate)?;
        }
        if let Some(groups) = groups {
            evaluation = evaluation.groups(groups.clone())?;
        }
        let tally = evaluation.tally()?;
        let hits = stats.filter(|_| is_test && plain_rate).map(|stats| tally.by_count(stats)).transpose()?;
        let mut result = tally.finish_watched(self.progress)?;
        let evaluation = by_row.iter().fold(evaluation, |evaluation, model| evaluation.row_propensity(ROWS, model.clone()));
        let (rows, notes) = evaluation.by_row()?;
        result.rows.extend(rows);
        result.notes.extend(notes);
        Ok((result, hits))
    }

    /// Where the order of the two models that are ahead as observed flips.
    fn order_map(&self, hits: Option<&HitsByCount>, stats: Option<&LabelStats>, verdict: &Verdict) -> Result<Option<OrderMap>> {
        let (Some(hits), Some(stats)) = (hits, stats) else { return Ok(None) };
        let value = |name: &str| {
            let scores = &verdict.standings.first()?.scores;
            scores.iter().find(|score| score.model == name)?.value
        };
        let mut order: Vec<usize> = (0..hits.models.len()).collect();
        order.sort_by(|a, b| {
            let [a, b] = [a, b].map(|place| value(&hits.models[*place].name).unwrap_or(0.0));
            b.total_cmp(&a)
        });
        // The curve does not exist for so few rows.
        if (stats.rows() as f64) <= std::f64::consts::E {
            return Ok(None);
        }
        match order[..] {
            [first, second, ..] => Ok(Some(OrderMap::new(hits, stats, verdict.k, first, second)?)),
            _ => Ok(None),
        }
    }

    fn parts(&self) -> Vec<DataPart> {
        let controlled = self.controlled.as_ref().map(|(data, _)| *data);
        let all = [
            ("train", self.train),
            ("test", Some(self.test)),
            ("controlled", controlled),
            ("later", self.later),
            ("truth", self.truth),
        ];
        all.into_iter()
            .filter_map(|(role, data)| {
                let data = data?;
                Some(DataPart {
                    role,
                    statistics: DataStats::of(data, self.provenance.seed),
                    frequencies: rank_frequency(&LabelStats::of(data.labels()), POINTS),
                })
            })
            .collect()
    }

    fn rows_needed(
        &self,
        candidates: &Candidates,
        evaluation: &EvaluationResult,
        reports: &[PropensityReport],
        k: usize,
    ) -> Vec<RowsNeeded> {
        let mut needs = Vec::new();
        let best = candidates.all.iter().rfind(|candidate| candidate.kind == CandidateKind::Estimated);
        if let (Some(direct), Some((_, rates)), Some(best)) = (&candidates.direct, &self.controlled, best) {
            needs.extend(rows_needed::for_propensities(direct, rates, &best.propensities, self.level));
        }
        // The score that is nearest to the truth: estimated, else a known rate, else as observed.
        let origin = best.map(|candidate| candidate.propensities.origin().to_string()).or(self.rate.as_ref().map(Rate::name));
        let estimator = if origin.is_some() { Estimator::Unbiased } else { Estimator::Observed };
        let rows = evaluation.rows.iter().filter(|row| {
            row.metric == METRIC && row.k == k && row.group == "all" && row.estimator == estimator && row.propensity == origin
        });
        let name = origin
            .as_deref()
            .map(|origin| reports.iter().find(|report| report.origin == origin).map_or(origin, |report| &report.name));
        needs.extend(rows.filter_map(|row| rows_needed::for_score(row, name)));
        needs
    }
}
