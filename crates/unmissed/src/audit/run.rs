//! The audit itself: from a request and its data to a result.

use super::assumptions::assumptions;
use super::builder::Audit;
use super::candidates::Candidates;
use super::checked::Checked;
use super::findings::findings;
use super::order_map::OrderMap;
use super::recall_by_frequency::recall_by_frequency;
use super::result::{AuditResult, CandidateKind, DataPart};
use super::row_dependent::ROWS;
use super::rows_needed::rows_needed;
use super::verdict::Verdict;
use crate::data::{Csr, DataStats, Dataset, LabelStats, Labels, rank_frequency};
use crate::error::Result;
use crate::evaluate::{Evaluation, EvaluationResult, HitsByCount};
use crate::metrics::Estimator;
use crate::propensity::Sample;
use crate::propensity::rows::RowModel;
use crate::request::{AuditRequest, EvaluateRequest, Sensitivity};

/// Points of a rank-frequency plot.
const POINTS: usize = 300;
/// Level at which a propensity model counts as contradicted, all models together.
const LEVEL_OF_CONTRADICTION: f64 = 0.99;

impl Audit<'_> {
    /// Carries the request out. Runs in the current rayon pool.
    pub fn run(&self) -> Result<AuditResult> {
        let stats = self.train.map(|train| LabelStats::of(train.labels()));
        let stats = stats.as_ref();
        let checked = self.check(stats)?;
        let (request, known) = (&checked.request, checked.known.as_ref());
        let (level, k) = (request.level.get(), request.k.first());
        self.progress.begin("propensities", 0);
        let train = self.train.map(Dataset::labels).zip(stats);
        let candidates = Candidates::new(&checked, &self.propensities, train, self.test.labels().cols() as u64)?;
        let tests = candidates.all.iter().filter(|candidate| candidate.kind == CandidateKind::Assumed).count().max(1) as f64;
        let propensities = candidates.reports(train, known, 1.0 - (1.0 - LEVEL_OF_CONTRADICTION) / tests)?;

        let by_row = self.fit_row_dependent(request.seed)?;
        let (evaluation, tallies) = self.evaluate_test(&checked, &candidates, &by_row.models, stats)?;
        let truth = self.truth.map(|truth| self.evaluate_truth(&checked, truth.labels(), stats)).transpose()?;
        let mut verdict = Verdict::new(&evaluation, truth.as_ref(), &propensities, k);
        verdict.sentences.extend(self.truth.and_then(|truth| incomplete_truth(self.test.labels(), truth.labels())));
        let order_map = tallies.as_ref().zip(stats).map(|(hits, stats)| OrderMap::of_leaders(hits, stats, &verdict)).transpose()?;
        Ok(AuditResult {
            name: request.name.clone(),
            ks: request.k.as_slice().to_vec(),
            level,
            findings: findings(&evaluation, &propensities, k),
            data: self.parts(request.seed),
            sample: stats.map(|stats| Sample::of(stats).into()),
            rows_needed: rows_needed(&checked, &candidates, &evaluation, &propensities),
            assumptions: assumptions(&evaluation),
            direct: stats.and_then(|stats| candidates.direct_report(stats)),
            left_out: candidates.left_out,
            left_out_by_row: by_row.left_out,
            by_row: by_row.reports,
            grouping: checked.groups.as_ref().map(|groups| groups.about().to_owned()),
            recall_by_frequency: tallies.as_ref().map_or(Vec::new(), |hits| recall_by_frequency(hits, level)),
            propensities,
            verdict,
            evaluation,
            truth,
            tallies,
            order_map: order_map.flatten(),
            provenance: self.provenance(checked.request),
        })
    }

    /// What both evaluations share.
    fn evaluation<'a>(
        &'a self,
        checked: &Checked<'_>,
        labels: &'a Labels<'a>,
        stats: Option<&'a LabelStats>,
    ) -> Result<Evaluation<'a>> {
        let models: Vec<(&str, &Csr<'_, f32>)> = self.models.iter().map(|(name, scores)| (name.as_str(), *scores)).collect();
        let AuditRequest { k, level, bootstrap, seed, ignore, .. } = checked.request.clone();
        let request = EvaluateRequest { k, level, bootstrap, seed, ignore, ..EvaluateRequest::default() };
        let mut evaluation = Evaluation::new(labels, &models)?.request(request)?.progress(self.progress);
        if let Some(stats) = stats {
            evaluation = evaluation.train(stats);
        }
        if let Some(ignored) = &self.ignored {
            evaluation = evaluation.ignore(ignored.clone())?;
        }
        if let Some((name, weights)) = &checked.weights {
            evaluation = evaluation.weights(name.clone(), weights.clone())?;
        }
        match &checked.groups {
            Some(groups) => evaluation.groups(groups.clone()),
            None => Ok(evaluation),
        }
    }

    /// All metrics under all candidates, and hits by training count.
    fn evaluate_test(
        &self,
        checked: &Checked<'_>,
        candidates: &Candidates,
        by_row: &[RowModel],
        stats: Option<&LabelStats>,
    ) -> Result<(EvaluationResult, Option<HitsByCount>)> {
        let mut evaluation = self.evaluation(checked, self.test.labels(), stats)?.sensitivity(Sensitivity::default());
        for candidate in &candidates.all {
            evaluation = evaluation.propensity(candidate.propensities.clone());
        }
        evaluation = by_row.iter().fold(evaluation, |evaluation, model| evaluation.row_propensity(ROWS, model.clone()));
        if let Some(matched) = self.matched_rows()? {
            evaluation = evaluation.matched(matched)?;
        }
        if let Some(rate) = &checked.test_rate {
            evaluation = evaluation.rate(rate.clone())?;
        }
        let tally = evaluation.tally()?;
        let hits = stats.filter(|_| checked.test_rate.is_none()).map(|stats| tally.by_count(stats)).transpose()?;
        Ok((tally.finish_watched(self.progress)?, hits))
    }

    /// All metrics on complete labels.
    fn evaluate_truth(&self, checked: &Checked<'_>, truth: &Labels<'_>, stats: Option<&LabelStats>) -> Result<EvaluationResult> {
        self.evaluation(checked, truth, stats)?.estimators(&[Estimator::Observed]).tally()?.finish_watched(self.progress)
    }

    fn parts(&self, seed: u64) -> Vec<DataPart> {
        let all = [
            ("train", self.train),
            ("test", Some(self.test)),
            ("controlled", self.controlled),
            ("later", self.later),
            ("truth", self.truth),
        ];
        let part = |(role, data): (&'static str, Option<&Dataset<'_>>)| {
            let data = data?;
            Some(DataPart {
                role,
                statistics: DataStats::of(data, seed),
                frequencies: rank_frequency(&LabelStats::of(data.labels()), POINTS),
            })
        };
        all.into_iter().filter_map(part).collect()
    }
}

/// Complete labels have all observed ones. Where they do not, labels were withdrawn or the file is another one: only its owner can tell.
fn incomplete_truth(observed: &Labels<'_>, complete: &Labels<'_>) -> Option<String> {
    let lacks = |row: usize| observed.row_ids(row).iter().filter(|label| !complete.row_ids(row).contains(label)).count();
    let lacking: usize = (0..observed.rows()).map(lacks).sum();
    (lacking > 0).then(|| {
        let share = 100.0 * lacking as f64 / observed.nnz() as f64;
        format!(
            "The complete labels lack {lacking} of {} observed labels ({share:.1} %): they were withdrawn, or these are not the \
             complete labels of the test rows.",
            observed.nnz()
        )
    })
}
