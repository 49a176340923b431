//! The same table with the paper's own training: Adam, stopped at the epoch that does best on held-out rows.
//!
//! Stopping early keeps weights near their start, so a loss that falls without end under too small propensities has not fallen far when
//! training ends. The table shows whether wrong propensities then cost less than at the optimum.

use super::cells::{BALLS, METHODS};
use crate::cells;
use crate::error::{Error, Result};
use crate::experiments::biased_data::{Complete, NOISES, balls, benchmark, mean_se};
use crate::experiments::linear_models::{Correction, Method, marked, top};
use crate::experiments::measures::{Seen, precision};
use crate::experiments::{Context, Outcome};
use crate::report::{Cell, Column, Table};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Precision at 1, 3 and 5 on complete labels of one repetition, by noise and method.
#[derive(Serialize, Deserialize)]
struct Repetition(Vec<Vec<[f64; 3]>>);

/// Adds the table, and what wrong propensities cost.
pub(super) fn add(context: &Context<'_>, outcome: &mut Outcome) -> Result<()> {
    let words = ["data set", "labels missing by", "trained with"].map(Column::new);
    let numbers = ["P@1", "SE", "P@3", "P@5"].map(|name| Column::new(name).fixed(2));
    let mut table = Table::new("mismatch_early", words.into_iter().chain(numbers))
        .titled("The same with Adam, stopped early as in the paper: precision on complete labels (%)");
    for (dim, radius) in BALLS.into_iter().take(context.size.pick(1, 2, 2)) {
        let make = |seed| balls(context.size, dim, radius, seed).map(Some);
        set(context, outcome, &mut table, &format!("hyper-balls, {dim} dimensions"), context.size.pick(1, 2, 3), &make)?;
    }
    for given in &context.data {
        set(context, outcome, &mut table, &given.name, 1, &|seed| benchmark(given, seed))?;
    }
    outcome.tables.push(table);
    Ok(())
}

fn set(
    context: &Context<'_>,
    outcome: &mut Outcome,
    table: &mut Table,
    name: &str,
    count: u64,
    make: &dyn Fn(u64) -> Result<Option<Complete>>,
) -> Result<()> {
    let Some(first) = make(context.seed)? else { return Ok(()) };
    let settings = json!([marked(&first.train)?, marked(&first.test)?]);
    let mut found = Vec::new();
    for repetition in 0..count {
        let what = format!("mismatch with early stopping on {name}, repetition {repetition}");
        found.push(context.part(&what, &settings, || one(context, name, make, context.seed + repetition))?);
    }
    for (noise, by) in NOISES.into_iter().enumerate() {
        let at = |method: usize, k: usize| found.iter().map(|all| 100.0 * all.0[noise][method][k]).collect::<Vec<f64>>();
        for (method, with) in METHODS.into_iter().enumerate() {
            let (first, se) = mean_se(&at(method, 0));
            let rest = [1, 2].map(|k| Cell::from(mean_se(&at(method, k)).0));
            let words = cells![name.to_owned(), by, with];
            table.row(words.into_iter().chain([Cell::from(first), Cell::from(se)]).chain(rest));
        }
        let [right, wrong, none] = [noise, 1 - noise, 2].map(|method| mean_se(&at(method, 0)).0);
        outcome.reports(
            format!("{name}, labels missing by {by}, Adam stopped early: what the wrong propensities cost"),
            format!("P@1 {right:.2} with the right ones, {wrong:.2} with the wrong ones, {none:.2} with none"),
        );
    }
    Ok(())
}

fn one(context: &Context<'_>, name: &str, make: &dyn Fn(u64) -> Result<Option<Complete>>, seed: u64) -> Result<Repetition> {
    let complete = make(seed)?.ok_or_else(|| Error::value("the data set no longer exists"))?;
    let mut found = Vec::new();
    for (noise, by) in NOISES.into_iter().enumerate() {
        let biased = complete.biased(noise, seed)?;
        let mut of_noise = Vec::new();
        for (method, with) in METHODS.into_iter().enumerate() {
            let correction = Correction::EarlyStopping;
            let method = Method { name: with, propensities: biased.propensities.get(method), correction };
            let tuning = method.tune(context, &format!("{name} by {by}, seed {seed}"), &biased.train)?;
            let ranked = top(context, &method.train(context, &tuning, &biased.train, seed)?, &biased.test)?;
            of_noise.push(precision(complete.test.labels(), &ranked, &Seen::Complete)?.map(|(value, _)| value));
        }
        found.push(of_noise);
    }
    Ok(Repetition(found))
}
