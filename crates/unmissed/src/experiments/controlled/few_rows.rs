//! A tenth of the controlled set, on several surveys: the error of each estimate, and the precision of models trained with it.

use super::claims::not_worse;
use super::estimates::{Estimate, assumed, estimated};
use super::repeat::{complete, tune};
use super::source::{Source, artificial};
use crate::cells;
use crate::error::{Error, Result};
use crate::experiments::biased_data::mean_se;
use crate::experiments::linear_models::marked;
use crate::experiments::measures::log_error;
use crate::experiments::{Context, Outcome};
use crate::report::{Cell, Column, Table};
use crate::train::Tuning;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The share of controlled rows.
const FEW: f64 = 0.1;
/// A loss of precision that is none.
const NO_WORSE: f64 = 0.003;
/// Points (of 1) by which a model is clearly better at 5, where precision is measured best.
const CLEARLY: f64 = 0.01;
/// What is trained with, in the order of the table.
const METHODS: [&str; 5] = [super::VANILLA, "power, fitted", "direct", "shrunken", "true"];

/// A method on one survey.
#[derive(Serialize, Deserialize)]
struct Line {
    method: String,
    complete: [f64; 3],
    error: Option<f64>,
}

/// Adds the table and what it must show.
pub(super) fn add(context: &Context<'_>, outcome: &mut Outcome) -> Result<()> {
    let first = artificial(context, context.seed)?;
    let mut tunings: Vec<Tuning> = Vec::new();
    for estimate in estimates(context, &first)? {
        tunings.push(tune(context, &first, &estimate)?);
    }
    let mut surveys: Vec<Vec<Line>> = Vec::new();
    for number in 0..context.size.pick(3, 4, 10) {
        let seed = context.seed + number;
        let settings = json!([marked(&first.train)?, marked(&first.controlled)?, FEW]);
        surveys.push(context.part(&format!("a tenth of the controlled set, survey {number}"), &settings, || {
            let survey = artificial(context, seed)?;
            let truth = survey.truth.as_ref().ok_or_else(|| Error::value("a generated survey has no truth"))?;
            let one = |(estimate, tuning): (&Estimate, &Tuning)| {
                let precision = complete(context, &survey, estimate, tuning)?;
                Ok(Line {
                    method: estimate.0.to_owned(),
                    complete: precision.unwrap_or([f64::NAN; 3]),
                    error: estimate.1.as_ref().map(|p| log_error(p.values(), truth.propensities.values())),
                })
            };
            estimates(context, &survey)?.iter().zip(&tunings).map(one).collect()
        })?);
    }
    let of = |method: &str, value: &dyn Fn(&Line) -> f64| values(&surveys, method, value);
    outcome.tables.push(table(&surveys));

    let error = |method| of(method, &|line| line.error.unwrap_or(f64::NAN));
    not_worse(outcome, "a tenth of the controlled set", [&error("shrunken"), &error("power, fitted"), &error("direct")]);
    // By how much a method differs from another, at each k, with its paired standard error, and the same in words.
    let differs = |ours: &str, theirs: &str| {
        let at = |k: usize| {
            let (ours, theirs) = (of(ours, &|line| line.complete[k]), of(theirs, &|line| line.complete[k]));
            mean_se(&ours.iter().zip(&theirs).map(|(a, b)| a - b).collect::<Vec<_>>())
        };
        let found = [0, 1, 2].map(at);
        let shown = [1, 3, 5]
            .into_iter()
            .zip(found)
            .map(|(k, (mean, se))| format!("P@{k} {:+.2} points (paired SE {:.2})", 100.0 * mean, 100.0 * se.unwrap_or(f64::NAN)));
        let shown = format!("{}, on complete labels of {} surveys", shown.collect::<Vec<_>>().join(", "), surveys.len());
        (found.map(|(mean, se)| (mean, se.unwrap_or(f64::INFINITY))), shown)
    };
    // A direct estimate that is mostly noise is shrunken before training, so the two need not differ.
    let (_, shown) = differs("shrunken", "direct");
    outcome.reports("at a tenth of the controlled set: training with shrunken against training with direct", shown);
    let (found, shown) = differs("shrunken", super::VANILLA);
    let is_no_worse = found.iter().all(|(mean, se)| *mean > -f64::max(NO_WORSE, 2.0 * se));
    outcome.must("at a tenth of the controlled set, training with shrunken is no worse than vanilla", is_no_worse, shown);
    let (found, shown) = differs("true", super::VANILLA);
    let (fifth, se) = found[2];
    let is_better = found.iter().all(|(mean, _)| *mean > 0.0) && fifth > CLEARLY && fifth > 2.0 * se;
    outcome.must("training with the true propensities is clearly better than vanilla", is_better, shown);
    Ok(())
}

/// The estimates from a tenth of a survey's controlled rows (the first, which are as random as any), and those that need none.
fn estimates(context: &Context<'_>, survey: &Source) -> Result<Vec<Estimate>> {
    let few: Vec<usize> = (0..(survey.controlled.rows() as f64 * FEW) as usize).collect();
    let all: Vec<Estimate> = assumed(survey)?.into_iter().chain(estimated(survey, &few, context.seed)?).collect();
    Ok(METHODS.iter().filter_map(|method| all.iter().find(|estimate| estimate.0 == *method).cloned()).collect())
}

/// A value of a method, survey by survey.
fn values(surveys: &[Vec<Line>], method: &str, value: &dyn Fn(&Line) -> f64) -> Vec<f64> {
    surveys.iter().flatten().filter(|line| line.method == method).map(value).collect()
}

fn table(surveys: &[Vec<Line>]) -> Table {
    let of = |method: &str, value: &dyn Fn(&Line) -> f64| values(surveys, method, value);
    let at = |k: u32| [format!("P@{k}"), format!("SE @{k}")];
    let columns = [1, 3, 5].into_iter().flat_map(at).map(|name| Column::new(name).fixed(2));
    let columns = [Column::new("propensities"), Column::new("error of log 1/p").significant(4)].into_iter().chain(columns);
    let mut table = Table::new("controlled_few", columns)
        .titled("A tenth of the controlled set: precision on complete labels (%), over several generated surveys");
    for method in METHODS {
        let error = mean_se(&of(method, &|line| line.error.unwrap_or(f64::NAN))).0;
        let at = |k: usize| {
            let (value, se) = mean_se(&of(method, &|line| 100.0 * line.complete[k]));
            [Cell::from(value), Cell::from(se)]
        };
        let words = cells![method, Some(error).filter(|error| error.is_finite())];
        table.row(words.into_iter().chain((0..3).flat_map(at)));
    }
    table
}
