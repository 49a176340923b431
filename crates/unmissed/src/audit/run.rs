//! The audit itself: from a request and its data to a result.

use super::assumptions::assumptions;
use super::baseline::TestRows;
use super::builder::Audit;
use super::candidates::Candidates;
use super::checked::Checked;
use super::findings::findings;
use super::gates;
use super::label_table::{self, LabelPropensities, LabelTable};
use super::look_at::look_at;
use super::missing::{MissingFacts, MissingShare};
use super::order_map::OrderMap;
use super::recall_by_frequency::recall_by_frequency;
use super::reference::{ModelRole, References, role_of};
use super::result::{AuditResult, CandidateKind, DataPart, PropensityReport};
use super::row_dependent::ROWS;
use super::rows_needed::rows_needed;
use super::rows_to_check::{Look, RowsToCheck};
use super::standings::{Scores, is_contradicted};
use super::verdict::Verdict;
use crate::data::{Csr, DataStats, Dataset, LabelStats, Labels, rank_frequency};
use crate::error::Result;
use crate::evaluate::judged::Judged;
use crate::evaluate::misalignment::{contradicted_rate, test_in_training};
use crate::evaluate::{Evaluation, EvaluationResult, Finding, HitsByCount};
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

        let references = self.references(stats, request.k.largest(), checked.ignored.as_deref())?;
        let by_row = self.fit_row_dependent(request.seed)?;
        let label_propensities = by_label(&candidates, &propensities, &checked);
        let (evaluation, tallies, all_labels) =
            self.evaluate_test(&checked, &candidates, &by_row.models, &references, stats, label_propensities)?;
        self.progress.begin("rows worth a look", 0);
        let rows_to_check = self.rows_to_check(&checked, stats, &all_labels)?;
        let truth = self.truth.map(|truth| self.evaluate_truth(&checked, truth.labels(), &references, stats)).transpose()?;
        let findings = findings(&evaluation, &propensities, &references.list, k);
        let missing = MissingShare::new(&MissingFacts {
            test: self.test.labels(),
            truth: self.truth.map(Dataset::labels),
            test_rate: checked.test_rate.as_ref(),
            propensities: &propensities,
            stats,
            judged: self.judged.as_ref(),
        });
        let scores = Scores {
            evaluation: &evaluation,
            truth: truth.as_ref(),
            propensities: &propensities,
            references: &references.list,
            k,
            level,
            is_controlled: checked.test_rate.is_some(),
        };
        let mut verdict = Verdict::new(&scores, missing, &findings, look_at(&findings, &rows_to_check));
        let doubt = self.truth.and_then(|truth| incomplete_truth(self.test.labels(), truth.labels()));
        verdict.sentences.splice(0..0, doubt);
        let order_map = tallies.as_ref().zip(stats).map(|(hits, stats)| OrderMap::of_leaders(hits, stats, &verdict)).transpose()?;
        let mut result = AuditResult {
            name: request.name.clone(),
            ks: request.k.as_slice().to_vec(),
            level,
            findings,
            gates: Vec::new(),
            data: self.parts(request.seed),
            sample: stats.map(|stats| Sample::of(stats).into()),
            rows_needed: rows_needed(&checked, &candidates, &evaluation, &propensities, &references.list),
            assumptions: assumptions(&evaluation),
            direct: stats.and_then(|stats| candidates.direct_report(stats)),
            left_out: candidates.left_out,
            left_out_by_row: by_row.left_out,
            by_row: by_row.reports,
            grouping: checked.groups.as_ref().map(|groups| groups.about().to_owned()),
            recall_by_frequency: tallies.as_ref().map_or(Vec::new(), |hits| recall_by_frequency(hits, level)),
            labels: all_labels.leading(label_table::LISTED),
            all_labels,
            rows_to_check,
            propensities,
            verdict,
            evaluation,
            truth,
            tallies,
            order_map: order_map.flatten(),
            references: references.list,
            test_rows: TestRows::of(self.test.labels()),
            top_lists: None,
            provenance: self.provenance(checked.request),
        };
        result.gates = gates::results(&self.request.gates, &result);
        Ok(result)
    }

    /// Predictions of the audited models that count as errors and are worth a look.
    fn rows_to_check(&self, checked: &Checked<'_>, stats: Option<&LabelStats>, labels: &LabelTable) -> Result<RowsToCheck> {
        let kept = match &checked.ignored {
            Some(ignored) => Some(self.models.iter().map(|(_, scores)| ignored.remove_from(scores)).collect::<Result<Vec<_>>>()?),
            None => None,
        };
        let models: Vec<(String, &Csr<'_, f32>)> = match &kept {
            Some(kept) => self.models.iter().map(|(name, _)| name.clone()).zip(kept).collect(),
            None => self.models.iter().map(|(name, scores)| (name.clone(), *scores)).collect(),
        };
        let (truth, seed, matched) = (self.test.labels(), checked.request.seed, self.matched_rows()?);
        let lists: Vec<&Csr<'_, f32>> = models.iter().map(|(_, scores)| *scores).collect();
        let likely = |judged: &Judged| judged.likely_pairs(truth, &lists, stats, labels.k, seed);
        let judged = self.judged.as_ref().map(likely).transpose()?;
        let look = Look {
            truth,
            k: labels.k,
            // What somebody assumed does not tell missing labels from errors.
            propensities: labels.propensities.as_ref().filter(|p| p.kind != CandidateKind::Assumed),
            judged: judged.as_ref(),
            matched: matched.as_ref(),
            seed,
            naming: self.naming,
        };
        RowsToCheck::new(&models, &look)
    }

    /// What both evaluations share.
    fn evaluation<'a>(
        &'a self,
        checked: &Checked<'_>,
        labels: &'a Labels<'a>,
        references: &'a References<'_>,
        stats: Option<&'a LabelStats>,
    ) -> Result<Evaluation<'a>> {
        let mut models: Vec<(&str, &Csr<'_, f32>)> = self.models.iter().map(|(name, scores)| (name.as_str(), *scores)).collect();
        models.extend(references.models().map(|(name, scores)| (name, scores as &Csr<'_, f32>)));
        let AuditRequest { k, level, bootstrap, seed, .. } = checked.request.clone();
        let request = EvaluateRequest { k, level, bootstrap, seed, ..EvaluateRequest::default() };
        let mut evaluation = Evaluation::new(labels, &models)?.request(request)?.progress(self.progress);
        evaluation = evaluation.only_compared(references.list.iter().map(|reference| reference.name.clone()));
        if let Some(stats) = stats {
            evaluation = evaluation.train(stats);
        }
        if let Some(ignored) = &checked.ignored {
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
        references: &References<'_>,
        stats: Option<&LabelStats>,
        propensities: Option<LabelPropensities>,
    ) -> Result<(EvaluationResult, Option<HitsByCount>, LabelTable)> {
        let mut evaluation = self.evaluation(checked, self.test.labels(), references, stats)?.sensitivity(Sensitivity::default());
        if let Some(names) = self.naming.labels {
            evaluation = evaluation.label_names(names)?;
        }
        evaluation = self.findings_about_data().into_iter().fold(evaluation, Evaluation::finding);
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
        if let Some(judged) = &self.judged {
            evaluation = evaluation.judged(judged.clone());
        }
        let (tally, result) = evaluation.run_with_tally()?;
        let is_audited = |model: &str| role_of(&references.list, model) == ModelRole::Audited;
        let mut hits = stats.filter(|_| checked.test_rate.is_none()).map(|stats| tally.by_count(stats)).transpose()?;
        if let Some(hits) = &mut hits {
            hits.models.retain(|model| is_audited(&model.name));
            for candidate in candidates.all.iter().filter(|candidate| candidate.kind == CandidateKind::Estimated) {
                for model in &mut hits.models {
                    let gains = tally.gains_by_rank(&model.name, |label| candidate.propensities.score_inverse(label));
                    model.measured.push((candidate.name.clone(), gains));
                }
            }
        }
        let labels = LabelTable::new(&tally, is_audited, checked.request.level.get(), stats, propensities, self.naming)?;
        Ok((result, hits, labels))
    }

    /// Whether the data belong together, as far as the evaluation cannot see it.
    fn findings_about_data(&self) -> Vec<Finding> {
        let trained = self.train.and_then(|train| test_in_training(train, self.test));
        let rate = self.controlled.zip(self.request.rate.as_ref()).and_then(|(set, rate)| contradicted_rate(set.labels(), rate));
        trained.into_iter().chain(rate).collect()
    }

    /// All metrics on complete labels.
    fn evaluate_truth(
        &self,
        checked: &Checked<'_>,
        truth: &Labels<'_>,
        references: &References<'_>,
        stats: Option<&LabelStats>,
    ) -> Result<EvaluationResult> {
        self.evaluation(checked, truth, references, stats)?
            .estimators(&[Estimator::Observed])
            .tally()?
            .finish_watched(self.progress)
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

/// The propensities of the table by label: measured before fitted before assumed, and nothing that the evidence contradicts while
/// there is another. A controlled test set has its rate.
fn by_label(candidates: &Candidates, reports: &[PropensityReport], checked: &Checked<'_>) -> Option<LabelPropensities> {
    if checked.test_rate.is_some() {
        return None;
    }
    let rank = |kind| match kind {
        CandidateKind::Estimated => 0,
        CandidateKind::Fitted => 1,
        CandidateKind::Assumed => 2,
    };
    let all = candidates.all.iter().zip(reports);
    // A constant 1 says that nothing is missing, which nobody would look for rows with.
    let useful = all.filter(|(candidate, _)| candidate.propensities.values().iter().any(|p| *p < 1.0));
    let (best, _) = useful.min_by_key(|(candidate, report)| (is_contradicted(report), rank(candidate.kind)))?;
    Some(LabelPropensities { source: best.name.clone(), kind: best.kind, values: best.propensities.clone() })
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
