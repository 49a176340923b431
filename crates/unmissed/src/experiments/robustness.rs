//! `robustness`: the error of each estimate if its assumption fails.
//!
//! Labels of a survey go missing in five ways: independently with one propensity per label; together within a row; less often from some
//! rows than from others; by groups of rows; and less often where a model would rank them first. A model is trained on what is left. Its
//! scores on complete test labels are known, and so is the error of every estimate.

use super::linear_models::top;
use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::data::generators::generate;
use crate::data::{Csr, Dataset, Folds, Judgement, Judgements, LabelStats, Labels, MaskBy, MaskShape, Relevance};
use crate::error::Result;
use crate::evaluate::judged::{AnnotationPlan, Judged, PlanData, PlannedPair};
use crate::evaluate::{Evaluation, IntervalKind, Row};
use crate::metrics::Estimator;
use crate::propensity::estimators::timelapse::timelapse;
use crate::propensity::rows::MatchedRows;
use crate::propensity::{Propensities, Ratio, models};
use crate::report::{Column, Table};
use crate::request::{AnnotateRequest, EvaluateRequest, KList, TrainRequest};
use crate::spec::Named;
use crate::train::Trainer;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// See the module's page.
pub(super) struct Robustness;

const MODEL: &str = "model";
const FOLDS: u32 = 5;
/// Judged pairs.
const BUDGET: u64 = 500;
/// Metrics with their k, as columns.
const CELLS: [(&str, usize); 4] = [("precision", 1), ("precision", 5), ("recall", 5), ("abandonment", 5)];
/// Errors beyond this many standard errors over repetitions are no chance.
const CLEAR: f64 = 4.0;
/// Errors below this, in points, do not matter.
const SMALL: f64 = 0.5;

/// How labels go missing.
const WAYS: [&str; 5] = ["independently", "together in a row", "by row", "by group of rows", "by rank"];
/// Estimates, as they are called in the table.
const ESTIMATES: [&str; 7] = [
    "observed",
    "one propensity per label, known",
    "one propensity per label, measured",
    "propensities by row, measured",
    "ratio of later and observed",
    "missed labels (omega)",
    "judged pairs",
];

/// The error of one estimate in one repetition, and whether its interval holds the truth.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    estimate: usize,
    cell: usize,
    error: f64,
    holds: Option<bool>,
}

impl crate::sealed::Sealed for Robustness {}

impl Named for Robustness {
    fn name(&self) -> &'static str {
        "robustness"
    }
    fn summary(&self) -> &'static str {
        "errors of each estimate if labels do not go missing as it assumes"
    }
}

impl Experiment for Robustness {
    fn reproduces(&self) -> &'static str {
        "the assumptions of section 2, each violated in turn"
    }

    fn data_needed(&self) -> &'static str {
        "a survey"
    }

    fn duration(&self) -> Took {
        Took { quick: "1 min", full: "10 min" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let words = ["labels go missing", "estimate"].map(Column::new).into_iter();
        let numbers = CELLS.iter().map(|(metric, k)| Column::new(format!("{metric}@{k}")));
        let last = Column::new("intervals that hold").percent(0);
        let mut table = Table::new("robustness", words.chain(numbers).chain([last]))
            .titled("Mean error in points, with its standard error over repetitions, and how often 95 % intervals cover the truth");
        for (way, name) in WAYS.iter().enumerate() {
            let mut seen = Vec::new();
            for repetition in 0..context.size.pick(2, 8, 40) {
                let seed = context.seed + repetition;
                let settings = json!([name, seed, sizes(context)]);
                seen.extend(context.part(&format!("labels missing {name}, {repetition}"), &settings, || one(context, way, seed))?);
            }
            add_lines(&mut table, &mut outcome, way, &seen);
        }
        outcome.tables.push(table);
        outcome.notes.push(
            "Known per-label propensities are the means over the rows that have the label: no estimate with one number per label \
             can do better. Judged pairs and omega estimate sums over labels only."
                .into(),
        );
        Ok(outcome)
    }
}

fn sizes(context: &Context<'_>) -> [(&'static str, &'static str); 4] {
    let [users, items, test] = context.size.pick(["600", "60", "400"], ["3000", "100", "1500"], ["5000", "200", "2500"]);
    [("users", users), ("items", items), ("test-users", test), ("controlled-users", "10")]
}

/// Lines of one way, and what must hold of it.
fn add_lines(table: &mut Table, outcome: &mut Outcome, way: usize, seen: &[Seen]) {
    for (estimate, name) in ESTIMATES.iter().enumerate() {
        let mut row = cells![WAYS[way], *name].to_vec();
        let of_estimate: Vec<&Seen> = seen.iter().filter(|seen| seen.estimate == estimate).collect();
        for (cell, (metric, k)) in CELLS.iter().enumerate() {
            let errors: Vec<f64> = of_estimate.iter().filter(|seen| seen.cell == cell).map(|seen| 100.0 * seen.error).collect();
            let Some((mean, se)) = mean(&errors) else {
                row.extend(cells![Option::<String>::None]);
                continue;
            };
            row.extend(cells![format!("{mean:+.2} ({se:.2})")]);
            let what = format!("{metric}@{k}, labels missing {}: {name}", WAYS[way]);
            let found = format!("mean error {mean:+.2} points (SE {se:.2})");
            let is_right = mean.abs() < CLEAR * se || mean.abs() < SMALL;
            let [sums, known, judged] = [*metric == "precision", estimate == 1, estimate >= 5];
            if judged || (known && (way == 0 || (sums && way == 1))) {
                outcome.must(format!("{what} is right"), is_right, found);
            } else if !is_right && estimate > 0 {
                outcome.reports(format!("{what} is off"), found);
            }
        }
        let held: Vec<bool> = of_estimate.iter().filter_map(|seen| seen.holds).collect();
        let share = held.iter().filter(|holds| **holds).count() as f64 / held.len().max(1) as f64;
        row.extend(cells![(!held.is_empty()).then_some(share)]);
        table.row(row);
    }
}

/// Mean and its standard error.
fn mean(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (mean, (squares / (n - 1.0) / n).sqrt()))
}

/// One repetition.
fn one(context: &Context<'_>, way: usize, seed: u64) -> Result<Vec<Seen>> {
    let data = generate("survey", &sizes(context), seed)?;
    let (train, test) = (data.part("train_clean")?, data.part("test_clean")?);
    let p: Vec<f64> = data.table("propensities")?.rows.iter().map(|row| row[0]).collect();
    // What is plain to see: the ranks of a model of complete labels.
    let plain = train_model(train)?;
    let of_train = all_scores(context, &plain, train)?;
    let of_test = all_scores(context, &plain, test)?;
    let mask = |labels: &Labels<'_>, scores: &Csr<'_, f32>, seed: u64| {
        let shape = match way {
            1 => MaskShape { correlation: 0.5, ..MaskShape::default() },
            2 => MaskShape { by: Some(MaskBy::Row), ..MaskShape::default() },
            3 => MaskShape { by: Some(MaskBy::Group(10)), ..MaskShape::default() },
            4 => MaskShape { by: Some(MaskBy::Rank(scores)), ..MaskShape::default() },
            _ => MaskShape::default(),
        };
        shape.mask(labels, &p, seed)
    };
    let observed_train = mask(train.labels(), &of_train, 2 * seed)?.labels;
    let masked = mask(test.labels(), &of_test, 2 * seed + 1)?;
    let observed = Dataset::new(train.features().cloned(), observed_train.clone())?;
    let scores = top(context, &train_model(&observed)?, test)?;
    let folds = Folds::new(train.rows(), FOLDS, seed)?;
    let out_of_fold = folds.predict(&observed, |_, seen, other| top(context, &train_model(seen)?, other))?;

    let stats = LabelStats::of(observed.labels());
    let known = Propensities::new("known", masked.propensities)?;
    let measured = timelapse(observed.labels(), train.labels(), &Ratio::new(models::family("constant")?))?.propensities;
    let matched = MatchedRows::new(observed.labels(), train.labels())?.predictions(MODEL, &out_of_fold)?;
    let request = EvaluateRequest {
        k: KList::new(&[1, 5])?,
        metrics: Some(["precision", "recall", "abandonment"].iter().map(|name| name.parse()).collect::<Result<_>>()?),
        interval: IntervalKind::Mask,
        seed,
        ..EvaluateRequest::default()
    };
    let named = [(MODEL, &scores)];
    let result = Evaluation::new(&masked.labels, &named)?
        .train(&stats)
        .request(request.clone())?
        .propensity(known)
        .propensity(measured)
        .later_snapshot(matched)?
        .judged(judge(&masked.labels, test.labels(), &named, &stats, seed)?)
        .run()?;
    let truth = Evaluation::new(test.labels(), &named)?.request(request)?.estimators(&[Estimator::Observed]).run()?;
    Ok(result.rows.iter().filter_map(|row| error_of(row, &truth.rows)).collect())
}

fn train_model(data: &Dataset<'_>) -> Result<crate::predict::Model> {
    Ok(Trainer::new(TrainRequest::default()).train(data)?.0)
}

/// Scores of all labels.
fn all_scores(context: &Context<'_>, model: &crate::predict::Model, data: &Dataset<'_>) -> Result<Csr<'static, f32>> {
    let options = crate::predict::PredictOptions { k: data.labels().cols(), progress: context.progress, ..Default::default() };
    model.predict(data.require_features()?, &options)
}

/// The error of a line of a result.
fn error_of(row: &Row, truth: &[Row]) -> Option<Seen> {
    let cell = CELLS.iter().position(|(metric, k)| row.metric == *metric && row.k == *k)?;
    let estimate = match (row.estimator, row.propensity.as_deref()) {
        (Estimator::Observed, _) => 0,
        (Estimator::Unbiased, Some("known")) => 1,
        (Estimator::Unbiased, Some(name)) if name.starts_with("timelapse") => 2,
        (Estimator::Unbiased, Some(_)) => 3,
        (Estimator::Ratio, _) => 4,
        (Estimator::Omega, _) => 5,
        (Estimator::Judged, _) => 6,
        _ => return None,
    };
    let right = truth.iter().find(|other| other.metric == row.metric && other.k == row.k)?.value?;
    // What is observed estimates no complete score, and its interval is no claim about one.
    let holds = row.low.zip(row.high).filter(|_| estimate > 0).map(|(low, high)| low <= right && right <= high);
    Some(Seen { estimate, cell, error: row.value? - right, holds })
}

/// Judges who know the complete labels.
fn judge(
    observed: &Labels<'_>,
    complete: &Labels<'_>,
    models: &[(&str, &Csr<'_, f32>)],
    train: &LabelStats,
    seed: u64,
) -> Result<Judged> {
    let request = AnnotateRequest { budget: BUDGET, seed, ..AnnotateRequest::default() };
    let plan = AnnotationPlan::new(&PlanData { truth: observed, models, train: Some(train) }, &request)?;
    let judged = |pair: PlannedPair<'_>| Judgement {
        round: pair.round,
        row: pair.row,
        label: pair.label,
        probability: pair.probability,
        stratum: Some(pair.stratum.to_owned()),
        relevance: Some(match complete.row_ids(pair.row as usize).contains(&pair.label) {
            true => Relevance::Relevant,
            false => Relevance::Irrelevant,
        }),
        place: (0, 0),
    };
    let judgements = Judgements::new(plan.pairs().into_iter().map(judged).collect(), observed.rows(), observed.cols())?;
    Ok(Judged::new(judgements).plan(plan))
}
