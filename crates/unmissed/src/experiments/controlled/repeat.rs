//! Models trained with each estimate, over halves of the controlled rows.

use super::estimates::{Estimate, STACK, VANILLA, assumed, directly, estimated};
use super::source::Source;
use crate::data::{Csr, LabelStats, split_rows};
use crate::error::Result;
use crate::experiments::Context;
use crate::experiments::linear_models::{Correction, Method, joint_plugin, marked, top};
use crate::experiments::measures::{Seen, log_error, precision};
use crate::predict::Model;
use crate::propensity::Propensities;
use crate::propensity::fit::{CurveEvidence, mse_of};
use crate::ranks::rank_correlation;
use crate::request::TrainRequest;
use crate::train::{Stack, Trainer, Tuning};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A method in one repetition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) method: String,
    /// Precision at 1, 3 and 5 on the other controlled half, with standard errors over rows.
    pub(super) controlled: [(f64, f64); 3],
    /// Precision on complete labels, when there are some.
    pub(super) complete: Option<[f64; 3]>,
    /// Error of log inverse propensities and rank correlation with them, when the true ones are known.
    pub(super) error: Option<f64>,
    pub(super) rank: Option<f64>,
    /// MSE against the direct estimate of all controlled rows.
    pub(super) mse: f64,
}

/// What a model puts first on controlled rows, and its precision on complete ones.
struct Ranked {
    controlled: Csr<'static, f32>,
    complete: Option<[f64; 3]>,
}

/// All lines of all repetitions.
pub(super) fn repetitions(context: &Context<'_>, source: &Source) -> Result<Vec<Line>> {
    let count: u64 = context.size.pick(2, 4, 25);
    let all: Vec<usize> = (0..source.controlled.rows()).collect();
    let direct = directly(source, &all)?;
    let judge = Judged { source, evidence: direct.evidence() };
    let settings = json!([marked(&source.train)?, marked(&source.controlled)?]);

    // What does not depend on the halves is trained once.
    let mut lines: Vec<Line> = context.part(&format!("controlled on {}, whole", source.name), &settings, || {
        let mut trained = Vec::new();
        for estimate in assumed(source)? {
            let tuning = tune(context, source, &estimate)?;
            let ranked = train(context, source, &estimate, &tuning)?;
            trained.push((estimate, ranked));
        }
        let (joint, learned) = joint_plugin(context, &source.train)?;
        trained.push((("joint", learned), ranks(context, source, &joint)?));
        let (uncorrected, _) = Trainer::new(TrainRequest { seed: context.seed, ..TrainRequest::default() }).train(&source.train)?;
        let mut lines = Vec::new();
        for repetition in 0..count {
            let (estimation, test) = halves(context, source, repetition)?;
            for (estimate, ranked) in &trained {
                lines.push(judge.line(estimate, ranked, &test)?);
            }
            let model = stacked(context, source, [&uncorrected, &joint], &estimation)?;
            lines.push(judge.line(&(STACK, None), &ranks(context, source, &model)?, &test)?);
        }
        Ok(lines)
    })?;

    let first = estimated(source, &halves(context, source, 0)?.0, context.seed)?;
    let tunings: Vec<Tuning> = first.iter().map(|estimate| tune(context, source, estimate)).collect::<Result<_>>()?;
    for repetition in 0..count {
        let what = format!("controlled on {}, repetition {repetition}", source.name);
        let found: Vec<Line> = context.part(&what, &settings, || {
            let (estimation, test) = halves(context, source, repetition)?;
            let estimates = estimated(source, &estimation, context.seed)?;
            let one = |(estimate, tuning)| judge.line(estimate, &train(context, source, estimate, tuning)?, &test);
            estimates.iter().zip(&tunings).map(one).collect()
        })?;
        lines.extend(found);
    }
    Ok(lines)
}

/// The stack of two models on some controlled rows, as `train --controlled` makes it.
fn stacked(context: &Context<'_>, source: &Source, [uncorrected, joint]: [&Model; 2], rows: &[usize]) -> Result<Model> {
    let counts = LabelStats::of(source.train.labels()).dense_counts()?;
    let shown = source.shown_pairs.as_ref().map(|shown| shown.select_rows(rows));
    let stack = Stack {
        uncorrected,
        joint,
        counts: &counts,
        rows: source.train.rows(),
        controlled: &source.controlled.select_rows(rows),
        rate: &source.rate(),
        shown: shown.as_ref(),
        weights: None,
        seed: context.seed,
    };
    Ok(stack.fit()?.model)
}

/// Halves of the controlled rows: to estimate from, to test on.
fn halves(context: &Context<'_>, source: &Source, repetition: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    split_rows(source.controlled.rows(), 0.5, context.seed + repetition)
}

/// What lines are made with.
struct Judged<'a> {
    source: &'a Source,
    evidence: CurveEvidence,
}

impl Judged<'_> {
    fn line(&self, (name, p): &Estimate, ranked: &Ranked, test: &[usize]) -> Result<Line> {
        let source = self.source;
        let labels = source.controlled.labels().select_rows(test);
        let controlled = precision(&labels, &ranked.controlled.select_rows(test), &Seen::Controlled(&source.rate()))?;
        let ones = vec![1.0; source.train.labels().cols()];
        let p = p.as_ref().map_or_else(|| Propensities::new(VANILLA, ones), |p| Ok(p.clone()))?;
        let truth = source.truth.as_ref().map(|truth| truth.propensities.values());
        Ok(Line {
            method: (*name).to_owned(),
            controlled,
            complete: ranked.complete,
            error: truth.map(|truth| log_error(p.values(), truth)),
            rank: truth.and_then(|truth| rank_correlation(p.values(), truth)),
            mse: mse_of(&p, &self.evidence)?,
        })
    }
}

fn method((name, p): &Estimate) -> Method<'_> {
    Method { name, propensities: p.as_ref(), correction: Correction::Default }
}

/// The settings for an estimate.
pub(super) fn tune(context: &Context<'_>, source: &Source, estimate: &Estimate) -> Result<Tuning> {
    method(estimate).tune(context, &source.name, &source.train)
}

/// The precision on complete labels of a model that was trained with an estimate.
pub(super) fn complete(context: &Context<'_>, source: &Source, estimate: &Estimate, tuning: &Tuning) -> Result<Option<[f64; 3]>> {
    Ok(train(context, source, estimate, tuning)?.complete)
}

fn train(context: &Context<'_>, source: &Source, estimate: &Estimate, tuning: &Tuning) -> Result<Ranked> {
    let model = method(estimate).train(context, tuning, &source.train, context.seed)?;
    ranks(context, source, &model)
}

fn ranks(context: &Context<'_>, source: &Source, model: &Model) -> Result<Ranked> {
    let complete = match &source.truth {
        Some(truth) => {
            let ranked = top(context, model, &truth.test)?;
            Some(precision(truth.test.labels(), &ranked, &Seen::Complete)?.map(|(value, _)| value))
        }
        None => None,
    };
    Ok(Ranked { controlled: top(context, model, &source.controlled)?, complete })
}
