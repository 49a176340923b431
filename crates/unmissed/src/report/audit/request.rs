//! [`Audit`]: what there is, put together.

use super::flips::FlipMap;
use super::lanes::{About, Lanes, defaults};
use super::needs::{self, Need};
use super::provenance::{InputFile, Provenance};
use super::result::{Assumed, AuditResult, DataPart, Kind, PropensityReport};
use super::verdict::{METRIC, Verdict, is_contradicted};
use crate::data::{Csr, DataStats, Dataset, LabelStats, Labels, rank_frequency};
use crate::error::{Error, Result};
use crate::evaluate::findings::{Finding, U008};
use crate::evaluate::{Evaluation, EvaluationResult, Groups, HitsByCount, Rate};
use crate::metrics::Estimator;
use crate::progress::{Progress, Silent};
use crate::propensity::contradiction::{Contradiction, EvidenceKind};
use crate::propensity::estimators::Rates;
use crate::propensity::models::Parsed;
use crate::propensity::{Propensities, Sample};

/// Points of a rank-frequency plot.
const POINTS: usize = 300;
/// Level at which a propensity model counts as contradicted, all models together.
const LEVEL_OF_CONTRADICTION: f64 = 0.99;

/// An audit in the making. See the module's page.
#[derive(Clone)]
pub struct Audit<'a> {
    name: String,
    test: &'a Dataset<'a>,
    models: Vec<(String, &'a Csr<'a, f32>)>,
    train: Option<&'a Dataset<'a>>,
    given: Option<Vec<Parsed>>,
    known: Vec<Propensities>,
    controlled: Option<(&'a Dataset<'a>, Rates)>,
    later: Option<&'a Dataset<'a>>,
    truth: Option<&'a Dataset<'a>>,
    rate: Option<Rate>,
    groups: Option<Groups>,
    weights: Option<(String, Vec<f64>)>,
    ks: Vec<usize>,
    level: f64,
    provenance: Provenance,
    progress: &'a dyn Progress,
}

impl<'a> Audit<'a> {
    /// Models by name, each with scores for the rows of `test` in the same order.
    pub fn new(test: &'a Dataset<'a>, models: &[(&str, &'a Csr<'a, f32>)]) -> Result<Audit<'a>> {
        // Checks shapes and names.
        Evaluation::new(test.labels(), models)?;
        Ok(Audit {
            name: String::new(),
            test,
            models: models.iter().map(|(name, scores)| ((*name).to_owned(), *scores)).collect(),
            train: None,
            given: None,
            known: Vec::new(),
            controlled: None,
            later: None,
            truth: None,
            rate: None,
            groups: None,
            weights: None,
            ks: vec![1, 3, 5],
            level: 0.95,
            provenance: Provenance {
                bootstrap: 200,
                version: env!("CARGO_PKG_VERSION").into(),
                target: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
                ..Provenance::default()
            },
            progress: &Silent,
        })
    }

    /// What the data are called; a known name decides about the constants of models that have several.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The training data: what curves, groups and evidence are compared with.
    #[must_use]
    pub fn train(mut self, train: &'a Dataset<'a>) -> Self {
        self.train = Some(train);
        self
    }

    /// Looks at these propensity models instead of the usual ones; estimates from evidence are added all the same.
    #[must_use]
    pub fn propensities(mut self, models: Vec<Parsed>) -> Self {
        self.given = Some(models);
        self
    }

    /// Adds propensities that are known by label.
    #[must_use]
    pub fn known(mut self, propensities: Propensities) -> Self {
        self.known.push(propensities);
        self
    }

    /// A set whose pairs were shown at known rates; propensities are estimated from it.
    #[must_use]
    pub fn controlled(mut self, controlled: &'a Dataset<'a>, rates: Rates) -> Self {
        self.controlled = Some((controlled, rates));
        self
    }

    /// A later snapshot of the training rows, in the same order.
    #[must_use]
    pub fn later(mut self, later: &'a Dataset<'a>) -> Self {
        self.later = Some(later);
        self
    }

    /// The test rows with complete labels: shown beside the estimates.
    #[must_use]
    pub fn truth(mut self, truth: &'a Dataset<'a>) -> Self {
        self.truth = Some(truth);
        self
    }

    /// The test labels themselves are a controlled set, shown at this rate.
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }

    /// Groups of labels; head, torso and tail by share of the training positives unless given.
    #[must_use]
    pub fn groups(mut self, groups: Groups) -> Self {
        self.groups = Some(groups);
        self
    }

    /// Gains of labels, under a name.
    #[must_use]
    pub fn weights(mut self, name: impl Into<String>, weights: Vec<f64>) -> Self {
        self.weights = Some((name.into(), weights));
        self
    }

    /// Lengths of the top list; 1, 3 and 5 unless given.
    #[must_use]
    pub fn ks(mut self, ks: &[usize]) -> Self {
        self.ks = ks.to_vec();
        self.ks.sort_unstable();
        self.ks.dedup();
        self
    }

    /// Level of intervals; 0.95 unless given.
    #[must_use]
    pub fn level(mut self, level: f64) -> Self {
        self.level = level;
        self
    }

    /// Seed of everything random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.provenance.seed = seed;
        self
    }

    /// Bootstrap replicates for means over labels; 200 unless given.
    #[must_use]
    pub fn bootstrap(mut self, replicates: usize) -> Self {
        self.provenance.bootstrap = replicates;
        self
    }

    /// The command and the files, for those who want to repeat the run.
    #[must_use]
    pub fn from_files(mut self, command: impl Into<String>, files: Vec<InputFile>) -> Self {
        (self.provenance.command, self.provenance.files) = (Some(command.into()), files);
        self
    }

    /// Who watches.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

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

        let all: Vec<Propensities> = lanes.lanes.iter().map(|lane| lane.propensities.clone()).collect();
        let (evaluation, tallies) = self.evaluate(self.test.labels(), all, self.rate.clone(), stats.as_ref(), true)?;
        let truth = match self.truth {
            Some(truth) => Some(self.evaluate(truth.labels(), Vec::new(), None, stats.as_ref(), false)?.0),
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
        propensities: Vec<Propensities>,
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
        Ok((tally.finish()?, hits))
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
        let lane = best.map(|lane| lane.propensities.origin().to_owned()).or(self.rate.as_ref().map(Rate::name));
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

/// Findings of the evaluation and of the evidence, by code.
fn findings(evaluation: &EvaluationResult, propensities: &[PropensityReport]) -> Vec<Finding> {
    let mut findings = evaluation.findings.clone();
    for report in propensities.iter().filter(|report| is_contradicted(report)) {
        if let Some(against) = &report.against {
            findings.push(Finding::new(&U008, contradiction(&report.name, against)));
        }
    }
    findings.sort_by(|a, b| a.code.cmp(&b.code));
    findings
}

/// By how much, with the numbers.
fn contradiction(name: &str, found: &Contradiction) -> String {
    let all = &found.all;
    let unit = match found.kind {
        EvidenceKind::ControlledSet => "positives a controlled row",
        EvidenceKind::LaterSnapshot => "labels a row",
    };
    let z = all.z.map_or("no variance".into(), |z| format!("z = {z:.1}"));
    let share = |value: f64| format!("{:.0} %", 100.0 * value);
    let mut text = format!(
        "{name} implies {:.3} {unit} where {} has {:.3} ± {:.3} ({z}): it takes {} of the relevant labels for observed, the \
         evidence says {}",
        all.model,
        found.kind.name(),
        all.evidence,
        all.se,
        share(all.claimed_share()),
        share(all.observed_share),
    );
    if let Some(band) = found.worst_band() {
        let counts = match band.to {
            Some(to) => format!("{} to {to}", band.from),
            None => format!("{} or more", band.from),
        };
        text += &format!(
            "; worst for labels with {counts} training rows, {} against {}",
            share(band.claimed_share()),
            share(band.observed_share)
        );
    }
    if let Some(completeness) = found.completeness() {
        text +=
            &format!("; it can only be right if the later snapshot holds no more than {} of what is relevant", share(completeness));
    }
    text
}

/// What each kind of number rests on, each assumption once.
fn assumptions(evaluation: &EvaluationResult) -> Vec<Assumed> {
    let mut all: Vec<Assumed> = Vec::new();
    for row in &evaluation.rows {
        let same = |other: &&mut Assumed| other.estimator == row.estimator.name() && other.assumption == row.assumption;
        match all.iter_mut().find(same) {
            Some(known) if known.metrics.contains(&row.metric) => {}
            Some(known) => known.metrics.push(row.metric.clone()),
            None => all.push(Assumed {
                estimator: row.estimator.name().into(),
                metrics: vec![row.metric.clone()],
                assumption: row.assumption.clone(),
            }),
        }
    }
    all
}
