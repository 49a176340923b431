//! Designs of judged pairs on data whose complete labels are known.

use rayon::prelude::*;
use unmissed::data::generators::generate;
use unmissed::data::{Csr, Judgement, Judgements, LabelStats, Labels, MachineJudgements, Relevance};
use unmissed::evaluate::judged::{AnnotationPlan, Judged, PlanData};
use unmissed::evaluate::{Evaluation, EvaluationResult, IntervalKind};
use unmissed::metrics::Estimator;
use unmissed::predict::PredictOptions;
use unmissed::request::{AnnotateRequest, EvaluateRequest, JudgedMethod, TrainRequest};
use unmissed::train::Trainer;
use unmissed::{Error, Result};

/// Labels that predictions have per row.
const LISTED: usize = 10;

/// Observed and complete labels of the same rows, and three models.
pub struct World {
    pub observed: Labels<'static>,
    pub complete: Labels<'static>,
    pub train: LabelStats,
    pub models: Vec<(String, Csr<'static, f32>)>,
}

impl World {
    /// A generated survey: a plain model, one that corrects with the true propensities, and one that ranks by training counts.
    pub fn survey(sizes: &[(&str, &str)], seed: u64) -> Result<World> {
        let data = generate("survey", sizes, seed)?;
        let (train, test) = (data.part("train")?, data.part("test")?);
        let p = data.table("propensities")?.rows.iter().map(|row| row[0]).collect();
        let p = unmissed::propensity::Propensities::new("true", p)?;
        let features = test.require_features()?;
        let top = PredictOptions { k: LISTED, logits: true, ..PredictOptions::default() };
        let plain = Trainer::new(TrainRequest::default()).train(train)?.0.predict(features, &top)?;
        let corrected = Trainer::by_loss("plugin-logistic").propensity(&p).train(train)?.0.predict(features, &top)?;
        let stats = LabelStats::of(train.labels());
        let mut counts: Vec<(u32, f32)> =
            stats.occurring().iter().zip(stats.counts()).map(|(label, count)| (*label, *count as f32)).collect();
        counts.sort_by(|a, b| b.1.total_cmp(&a.1));
        counts.truncate(LISTED);
        counts.sort_by_key(|(label, _)| *label);
        let frequent = Csr::from_rows(stats.labels(), (0..test.rows()).map(|_| counts.clone()))?;
        Ok(World {
            observed: test.labels().clone(),
            complete: data.part("test_clean")?.labels().clone(),
            train: stats,
            models: vec![("plain".into(), plain), ("corrected".into(), corrected), ("frequent".into(), frequent)],
        })
    }

    pub fn named(&self) -> Vec<(&str, &Csr<'static, f32>)> {
        self.models.iter().map(|(name, scores)| (name.as_str(), scores)).collect()
    }

    /// Judges who know the complete labels.
    pub fn judge(&self, plan: &AnnotationPlan) -> Result<Judgements> {
        let judged = |pair: unmissed::evaluate::judged::PlannedPair<'_>| Judgement {
            round: pair.round,
            row: pair.row,
            label: pair.label,
            probability: pair.probability,
            stratum: Some(pair.stratum.to_owned()),
            relevance: Some(if self.is_relevant(pair.row, pair.label) { Relevance::Relevant } else { Relevance::Irrelevant }),
            place: (0, 0),
        };
        Judgements::new(plan.pairs().into_iter().map(judged).collect(), self.observed.rows(), self.observed.cols())
    }

    pub fn is_relevant(&self, row: u32, label: u32) -> bool {
        self.complete.row_ids(row as usize).contains(&label)
    }

    /// The values on complete labels.
    pub fn truth(&self) -> Result<Vec<f64>> {
        let result =
            Evaluation::new(&self.complete, &self.named())?.metrics(&["precision"])?.estimators(&[Estimator::Observed]).run()?;
        Ok(cells(&result, Estimator::Observed)?.into_iter().map(|cell| cell.value).collect())
    }

    /// A machine that is right about each unobserved pair of the pool with this probability; at 0.5 it knows nothing.
    pub fn machine(&self, plan: &AnnotationPlan, accuracy: f64, seed: u64) -> Result<MachineJudgements> {
        let says = |(row, label): (u32, u32)| {
            let is_right = uniform(seed, row, label) < accuracy;
            ((row, label), f64::from(u8::from(self.is_relevant(row, label) == is_right)))
        };
        MachineJudgements::new(plan.pool().map(says), self.observed.rows(), self.observed.cols())
    }
}

/// A number between 0 and 1 for each pair: SplitMix64's mixing.
fn uniform(seed: u64, row: u32, label: u32) -> f64 {
    let mut z = seed ^ (u64::from(row) << 32 | u64::from(label)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for _ in 0..2 {
        z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
    }
    (z >> 11) as f64 / (1u64 << 53) as f64
}

/// One number of a result: a value, or a difference of two models.
#[derive(Clone, Debug)]
pub struct Cell {
    pub k: usize,
    pub is_difference: bool,
    pub value: f64,
    pub ends: Option<(f64, f64)>,
}

/// Values, then differences.
pub fn cells(result: &EvaluationResult, estimator: Estimator) -> Result<Vec<Cell>> {
    let missing = || Error::value("a number is missing");
    let mut all = Vec::new();
    for row in result.rows.iter().filter(|row| row.estimator == estimator) {
        all.push(Cell { k: row.k, is_difference: false, value: row.value.ok_or_else(missing)?, ends: row.low.zip(row.high) });
    }
    for c in result.comparisons.iter().filter(|c| c.estimator == estimator) {
        all.push(Cell { k: c.k, is_difference: true, value: c.difference.ok_or_else(missing)?, ends: c.low.zip(c.high) });
    }
    Ok(all)
}

/// How a design is evaluated.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    pub method: JudgedMethod,
    /// The accuracy of a machine judge, when there is one.
    pub machine: Option<f64>,
    /// Half of the budget in a second round.
    pub two_rounds: bool,
}

/// What one design of many gave.
pub fn one_design(world: &World, budget: u64, seed: u64, how: How) -> Result<Vec<Cell>> {
    let named = world.named();
    let data = PlanData { truth: &world.observed, models: &named, train: Some(&world.train) };
    let first = if how.two_rounds { budget / 2 } else { budget };
    let mut request = AnnotateRequest { budget: first, seed, ..AnnotateRequest::default() };
    let mut plan = AnnotationPlan::new(&data, &request)?;
    let mut judgements = world.judge(&plan)?;
    if how.two_rounds {
        request.budget = budget - first;
        plan = plan.next_round(&data, &judgements, &request)?;
        let both = judgements.pairs().iter().chain(world.judge(&plan)?.pairs()).cloned().collect();
        judgements = Judgements::new(both, world.observed.rows(), world.observed.cols())?;
    }
    let mut judged = Judged::new(judgements).plan(plan.clone());
    if let Some(accuracy) = how.machine {
        judged = judged.machine(world.machine(&plan, accuracy, seed)?);
    }
    let request = EvaluateRequest {
        interval: IntervalKind::Mask,
        estimators: Some(vec![Estimator::Judged]),
        metrics: Some(vec!["precision".parse()?]),
        judged_method: how.method,
        seed: seed.wrapping_add(1 << 40),
        ..EvaluateRequest::default()
    };
    let result = Evaluation::new(&world.observed, &named)?.train(&world.train).request(request)?.judged(judged).run()?;
    cells(&result, Estimator::Judged)
}

/// What many designs gave for one number.
#[derive(Clone, Debug)]
pub struct Summary {
    pub k: usize,
    pub is_difference: bool,
    /// Mean error, and its standard error.
    pub bias: f64,
    pub bias_se: f64,
    /// Standard deviation of the estimate over designs.
    pub sd: f64,
    /// Share of intervals that hold the truth.
    pub coverage: f64,
    /// Mean of half the width of the intervals.
    pub half_width: f64,
}

/// Many designs with consecutive seeds.
pub fn simulate(world: &World, budget: u64, designs: u64, how: How) -> Result<Vec<Summary>> {
    let truth = world.truth()?;
    let all: Vec<Vec<Cell>> =
        (0..designs).into_par_iter().map(|seed| one_design(world, budget, seed, how)).collect::<Result<_>>()?;
    let n = designs as f64;
    let of_cell = |(at, truth): (usize, &f64)| {
        let column = || all.iter().map(move |cells| &cells[at]);
        let bias = column().map(|cell| cell.value - truth).sum::<f64>() / n;
        let variance = column().map(|cell| (cell.value - truth - bias).powi(2)).sum::<f64>() / (n - 1.0);
        let holds = |cell: &&Cell| cell.ends.is_some_and(|(low, high)| low <= truth + 1e-12 && *truth <= high + 1e-12);
        let first = &all[0][at];
        Summary {
            k: first.k,
            is_difference: first.is_difference,
            bias,
            bias_se: (variance / n).sqrt(),
            sd: variance.sqrt(),
            coverage: column().filter(holds).count() as f64 / n,
            half_width: column().filter_map(|cell| cell.ends).map(|(low, high)| (high - low) / 2.0).sum::<f64>() / n,
        }
    };
    Ok(truth.iter().enumerate().map(of_cell).collect())
}
