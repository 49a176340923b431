//! One repetition: a world, a model of what is observed in it, and the errors of all estimates of its scores.

use super::{CELLS, Line, Seen, Way};
use crate::data::generators::generate;
use crate::data::{
    Csr, Dataset, Folds, Judgement, Judgements, LabelStats, Labels, MaskBy, MaskShape, Masked, Rate, Relevance, mask,
};
use crate::error::Result;
use crate::evaluate::judged::{AnnotationPlan, Judged, PlanData, PlannedPair};
use crate::evaluate::{Evaluation, IntervalKind, Row};
use crate::experiments::Context;
use crate::experiments::linear_models::top;
use crate::metrics::Estimator;
use crate::predict::{Model, PredictOptions};
use crate::propensity::estimators::timelapse::timelapse;
use crate::propensity::rows::MatchedRows;
use crate::propensity::{Propensities, Ratio, models};
use crate::request::{AnnotateRequest, EvaluateRequest, KList, TrainRequest};
use crate::rng::{Purpose, row_key, uniform_at};
use crate::spec::Spec;
use crate::train::Trainer;

const MODEL: &str = "model";
const FOLDS: u32 = 5;
/// Judged pairs.
const BUDGET: u64 = 500;
/// How often judges are wrong when they err.
const WRONG: f64 = 0.05;
/// How likely a label is in an incomplete later snapshot.
const LATER: f64 = 0.9;
/// The largest inverse propensity of clipped values, which some labels of every world exceed.
const CLIP: f64 = 3.0;
/// The share of pairs that are shown.
const SHOWN: f64 = 0.1;

pub(super) fn sizes(context: &Context<'_>) -> [(&'static str, &'static str); 4] {
    let [users, items, test] = context.size.pick(["600", "60", "400"], ["3000", "100", "1500"], ["5000", "200", "2500"]);
    [("users", users), ("items", items), ("test-users", test), ("controlled-users", "10")]
}

/// The errors in a world in which labels go missing in a way.
pub(super) fn run(context: &Context<'_>, way: Way, seed: u64) -> Result<Vec<Seen>> {
    let data = generate("survey", &sizes(context), seed)?;
    let (train, test) = (data.part("train_clean")?, data.part("test_clean")?);
    let p: Vec<f64> = data.table("propensities")?.rows.iter().map(|row| row[0]).collect();
    // What is plain to see: the ranks of a model of complete labels.
    let plain = train_model(train)?;
    let ranks = all_scores(context, &plain, test)?;
    let masked_train = hide(way, train.labels(), &all_scores(context, &plain, train)?, &p, 2 * seed)?;
    let masked = hide(way, test.labels(), &ranks, &p, 2 * seed + 1)?;
    let observed = Dataset::new(train.features().cloned(), masked_train.labels.clone())?;
    let scores = top(context, &train_model(&observed)?, test)?;
    let named = [(MODEL, &scores)];
    let stats = LabelStats::of(observed.labels());
    let request = EvaluateRequest {
        k: KList::new(&[1, 5])?,
        metrics: Some(specs(&["precision", "recall", "abandonment"])?),
        interval: IntervalKind::Mask,
        clip: Some(CLIP),
        seed,
        ..EvaluateRequest::default()
    };
    let truth = Evaluation::new(test.labels(), &named)?.request(request.clone())?.estimators(&[Estimator::Observed]).run()?;

    let is_tried = |line: Line| way.lines().contains(&line);
    let evidence = match is_tried(Line::Measured) {
        true => Some((later(way, train.labels(), &p, 2 * seed)?, out_of_fold(context, &observed, seed)?)),
        false => None,
    };
    let mut evaluation = Evaluation::new(&masked.labels, &named)?.train(&stats).request(request.clone())?;
    if is_tried(Line::Known) {
        evaluation = evaluation.propensity(Propensities::new("known", masked.propensities)?);
    }
    if let Some((later, out_of_fold)) = &evidence {
        let measured = timelapse(observed.labels(), later, &Ratio::new(models::family("constant")?))?.propensities;
        let matched = MatchedRows::new(observed.labels(), later)?.predictions(MODEL, out_of_fold)?;
        evaluation = evaluation.propensity(measured).later_snapshot(matched)?;
    }
    if is_tried(Line::Judged) {
        let wrong = if way == Way::JudgesErr { WRONG } else { 0.0 };
        evaluation = evaluation.judged(judge(&masked.labels, test.labels(), &named, &stats, wrong, seed)?);
    }
    let mut rows = evaluation.run()?.rows;
    if is_tried(Line::Hajek) {
        let shown = shown(way, test.labels(), &ranks, seed)?;
        let positives = test
            .labels()
            .filter_map(test.labels().cols() as u64, |row, label, ()| shown.row_ids(row).contains(&label).then_some(label))?;
        let request = EvaluateRequest { metrics: Some(specs(&["precision:hajek,doubly-robust"])?), ..request };
        rows.extend(Evaluation::new(&positives, &named)?.request(request)?.rate(Rate::Common(SHOWN))?.shown(&shown)?.run()?.rows);
    }
    Ok(rows.iter().filter_map(|row| error_of(row, &truth.rows)).filter(|seen| is_tried(seen.line)).collect())
}

fn specs(names: &[&str]) -> Result<Vec<Spec>> {
    names.iter().map(|name| name.parse()).collect()
}

/// What is left of labels, by the ranks of a model where those matter.
fn hide(way: Way, labels: &Labels<'_>, ranks: &Csr<'_, f32>, p: &[f64], seed: u64) -> Result<Masked> {
    let shape = match way {
        Way::Together => MaskShape { correlation: 0.5, ..MaskShape::default() },
        Way::ByRow => MaskShape { by: Some(MaskBy::Row), ..MaskShape::default() },
        Way::ByGroup => MaskShape { by: Some(MaskBy::Group(10)), ..MaskShape::default() },
        Way::ByRank => MaskShape { by: Some(MaskBy::Rank(ranks)), ..MaskShape::default() },
        Way::Independently | Way::LaterIncomplete | Way::JudgesErr | Way::ShownByRank => MaskShape::default(),
    };
    shape.mask(labels, p, seed)
}

/// The later labels of the training rows; with the seed of what was observed they have all of that.
fn later(way: Way, complete: &Labels<'_>, p: &[f64], seed: u64) -> Result<Labels<'static>> {
    let p: Vec<f64> = p.iter().map(|p| if way == Way::LaterIncomplete { p.max(LATER) } else { 1.0 }).collect();
    mask(complete, &p, seed)
}

/// Scores of training rows by models of the others.
fn out_of_fold(context: &Context<'_>, observed: &Dataset<'_>, seed: u64) -> Result<Csr<'static, f32>> {
    let folds = Folds::new(observed.rows(), FOLDS, seed)?;
    folds.predict(observed, |_, seen, other| top(context, &train_model(seen)?, other))
}

/// The pairs that are shown: any with the same probability, or rather those that a model ranks first.
fn shown(way: Way, labels: &Labels<'_>, ranks: &Csr<'_, f32>, seed: u64) -> Result<Labels<'static>> {
    let all = Labels::from_ids(labels.cols() as u64, (0..labels.rows()).map(|_| 0..labels.cols() as u32))?;
    let by = (way == Way::ShownByRank).then_some(MaskBy::Rank(ranks));
    Ok(MaskShape { by, ..MaskShape::default() }.mask(&all, &vec![SHOWN; labels.cols()], u64::MAX - seed)?.labels)
}

fn train_model(data: &Dataset<'_>) -> Result<Model> {
    Ok(Trainer::new(TrainRequest::default()).train(data)?.0)
}

/// Scores of all labels.
fn all_scores(context: &Context<'_>, model: &Model, data: &Dataset<'_>) -> Result<Csr<'static, f32>> {
    let options = PredictOptions { k: data.labels().cols(), progress: context.progress, ..Default::default() };
    model.predict(data.require_features()?, &options)
}

/// The error of a line of a result.
fn error_of(row: &Row, truth: &[Row]) -> Option<Seen> {
    let cell = CELLS.iter().position(|(metric, k)| row.metric == *metric && row.k == *k)?;
    let line = match (row.estimator, row.propensity.as_deref()) {
        (Estimator::Observed, _) => Line::Observed,
        (Estimator::Unbiased, Some("known")) => Line::Known,
        (Estimator::Clipped, Some("known")) => Line::Clipped,
        (Estimator::Normalized, Some("known")) => Line::Normalized,
        (Estimator::Unbiased, Some(name)) if name.starts_with("timelapse") => Line::Measured,
        (Estimator::Unbiased, Some(_)) => Line::Rows,
        (Estimator::Ratio, _) => Line::Ratio,
        (Estimator::Omega, _) => Line::Omega,
        (Estimator::Judged, _) => Line::Judged,
        (Estimator::Hajek, _) => Line::Hajek,
        (Estimator::DoublyRobust, _) => Line::DoublyRobust,
        _ => return None,
    };
    let right = truth.iter().find(|other| other.metric == row.metric && other.k == row.k)?.value?;
    let covers = row.low.zip(row.high).filter(|_| line.claims()).map(|(low, high)| low <= right && right <= high);
    Some(Seen { line, cell, error: row.value? - right, covers })
}

/// Judges who know the complete labels, and are wrong about a share of the pairs.
fn judge(
    observed: &Labels<'_>,
    complete: &Labels<'_>,
    models: &[(&str, &Csr<'_, f32>)],
    train: &LabelStats,
    wrong: f64,
    seed: u64,
) -> Result<Judged> {
    let request = AnnotateRequest { budget: BUDGET, seed, ..AnnotateRequest::default() };
    let plan = AnnotationPlan::new(&PlanData { truth: observed, models, train: Some(train) }, &request)?;
    let judged = |pair: PlannedPair<'_>| {
        let is_wrong = uniform_at(row_key(seed, Purpose::JudgeErrors, pair.row.into()), pair.label) < wrong;
        let is_relevant = complete.row_ids(pair.row as usize).contains(&pair.label) != is_wrong;
        Judgement {
            round: pair.round,
            row: pair.row,
            label: pair.label,
            probability: pair.probability,
            stratum: Some(pair.stratum.to_owned()),
            relevance: Some(if is_relevant { Relevance::Relevant } else { Relevance::Irrelevant }),
            place: (0, 0),
        }
    };
    let judgements = Judgements::new(plan.pairs().into_iter().map(judged).collect(), observed.rows(), observed.cols())?;
    Ok(Judged::new(judgements).plan(plan))
}
