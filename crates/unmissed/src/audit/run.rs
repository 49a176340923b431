//! The audit itself: from what there is to what it says.

use super::by_row::ROWS;
use super::flips::FlipMap;
use super::lanes::{About, Lanes, defaults};
use super::needs::{self, Need};
use super::request::Audit;
use super::result::{AuditResult, DataPart, Kind, PropensityReport};
use super::said::{assumptions, findings};
use super::verdict::{METRIC, Verdict};
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
        let about = self.about()?;
        let given = match &self.given {
            Some(given) => given.clone(),
            None if stats.is_some() && self.rate.is_none() => defaults(&self.name)?,
            None => Vec::new(),
        };
        if self.rate.is_some() && !(given.is_empty() && self.known.is_empty() && about.is_none()) {
            return Err(Error::value("a controlled test set has a known rate, and propensity models describe other data")
                .hint("leave out either the rate of the test labels or the propensity models and the evidence for them"));
        }
        self.progress.begin("propensities", 0);
        let labels = self.test.labels().cols() as u64;
        let lanes = Lanes::new(&given, &self.known, train, labels, about.as_ref(), (self.level, self.provenance.seed))?;
        let tests = lanes.lanes.iter().filter(|lane| lane.kind == Kind::Assumed).count().max(1) as f64;
        let propensities = lanes.reports(train, about.as_ref(), 1.0 - (1.0 - LEVEL_OF_CONTRADICTION) / tests)?;

        let by_row = self.fit_by_row()?;
        let all: Vec<Propensities> = lanes.lanes.iter().map(|lane| lane.propensities.clone()).collect();
        let (evaluation, tallies) =
            self.evaluate(self.test.labels(), (all, &by_row.models), self.rate.clone(), stats.as_ref(), true)?;
        let truth = match self.truth {
            Some(truth) => Some(self.evaluate(truth.labels(), (Vec::new(), &[]), None, stats.as_ref(), false)?.0),
            None => None,
        };
        let k = self.ks.first().copied().unwrap_or(1);
        let verdict = Verdict::new(&evaluation, truth.as_ref(), &propensities, k);
        let flips = self.flips(tallies.as_ref(), stats.as_ref(), &verdict)?;
        let direct = stats.as_ref().and_then(|stats| lanes.direct_report(stats));
        Ok(AuditResult {
            name: self.name.clone(),
            ks: self.ks.clone(),
            level: self.level,
            findings: findings(&evaluation, &propensities),
            data: self.parts(),
            sample: stats.as_ref().map(|stats| Sample::of(stats).into()),
            needs: self.needs(&lanes, &evaluation, &propensities, k),
            assumptions: assumptions(&evaluation),
            direct,
            left_out: lanes.left_out,
            left_out_by_row: by_row.left_out,
            by_row: by_row.reports,
            propensities,
            verdict,
            evaluation,
            truth,
            tallies,
            flips,
            provenance: self.provenance.clone(),
        })
    }

    fn about(&self) -> Result<Option<About<'_>>> {
        match (&self.controlled, self.later) {
            (Some(_), Some(_)) => {
                Err(Error::value("a controlled set and a later snapshot at once").hint("audit with one of the two"))
            }
            (Some((data, rates)), None) => Ok(Some(About::Controlled { labels: data.labels(), rates })),
            (None, Some(data)) => Ok(Some(About::Later { labels: data.labels() })),
            (None, None) => Ok(None),
        }
    }

    /// All metrics; for the truth only as they are.
    fn evaluate(
        &self,
        labels: &Labels<'_>,
        (propensities, by_row): (Vec<Propensities>, &[RowModel]),
        rate: Option<Rate>,
        stats: Option<&LabelStats>,
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
        let groups = match (&self.groups, stats) {
            (Some(groups), _) => Some(groups.clone()),
            (None, Some(stats)) if stats.positives() > 0 => Some(Groups::by_share(stats, &[0.8, 0.95])?),
            (None, _) => None,
        };
        if let Some(groups) = groups {
            evaluation = evaluation.groups(groups)?;
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
    fn flips(&self, hits: Option<&HitsByCount>, stats: Option<&LabelStats>, verdict: &Verdict) -> Result<Option<FlipMap>> {
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
            [first, second, ..] => Ok(Some(FlipMap::new(hits, stats, verdict.k, first, second)?)),
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

    fn needs(&self, lanes: &Lanes, evaluation: &EvaluationResult, reports: &[PropensityReport], k: usize) -> Vec<Need> {
        let mut needs = Vec::new();
        let best = lanes.lanes.iter().rfind(|lane| lane.kind == Kind::Estimated);
        if let (Some(direct), Some((_, rates)), Some(best)) = (&lanes.direct, &self.controlled, best) {
            needs.extend(needs::of_controlled(direct, rates, &best.propensities, self.level));
        }
        // The score that is nearest to the truth: estimated, else a known rate, else as observed.
        let lane = best.map(|lane| lane.propensities.origin().to_string()).or(self.rate.as_ref().map(Rate::name));
        let estimator = if lane.is_some() { Estimator::Unbiased } else { Estimator::Observed };
        let rows = evaluation.rows.iter().filter(|row| {
            row.metric == METRIC && row.k == k && row.group == "all" && row.estimator == estimator && row.propensity == lane
        });
        let name =
            lane.as_deref().map(|lane| reports.iter().find(|report| report.origin == lane).map_or(lane, |report| &report.name));
        needs.extend(rows.filter_map(|row| needs::of_score(row, name)));
        needs
    }
}
