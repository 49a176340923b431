//! `training`: does a correction lose to no correction?
//!
//! Fourteen worlds, each with several seeds: observed labels to train on, a controlled set, and complete labels to test on. In each,
//! models are trained without a correction, with propensities of every origin by several losses, by joint learning, and as the
//! stack of `train --controlled`, all with the defaults of training, and compared with the uncorrected model, paired by seed.
//!
//! What must hold, with a tolerance of two standard errors or 0.3 points, whichever is larger: the stack is below the uncorrected
//! model in no world and above it in at least half of them; the default correction with the true propensities is below it in none;
//! with shrunken and fitted estimates it is at most a point below it. The uncorrected model is what `train` makes by default, and what the
//! logistic loss makes with its usual decay: the claims hold against both.

mod claims;
mod methods;
mod worlds;

use super::biased_data::mean_se;
use super::{Context, Experiment, Outcome, Size, Took};
use crate::error::Result;
use crate::report::{Cell, Column, Table};
use crate::spec::Named;
use methods::{Tried, UNCORRECTED, tried};
use serde_json::json;
use worlds::{Plan, WORLDS};

/// The worlds of the smallest size, which is for tests.
const TINY: [&str; 2] = ["small survey", "balls, power"];

/// See the module's page.
pub(super) struct Training;

impl crate::sealed::Sealed for Training {}

impl Named for Training {
    fn name(&self) -> &'static str {
        "training"
    }
    fn summary(&self) -> &'static str {
        "corrected training against no correction, in fourteen worlds"
    }
}

/// All that was tried in a world, by seed.
struct Seeds {
    plan: &'static Plan,
    seeds: Vec<Vec<Tried>>,
}

impl Experiment for Training {
    fn reproduces(&self) -> &'static str {
        "nothing: the value of the paper's correction, world by world"
    }

    fn data_needed(&self) -> &'static str {
        "generated data; bibtex and delicious when they are given (--data)"
    }

    fn duration(&self) -> Took {
        Took { quick: "11 min", full: "35 min" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let plans = WORLDS.iter().filter(|plan| context.size != Size::Tiny || TINY.contains(&plan.name));
        let mut found: Vec<Seeds> = plans.map(|plan| Seeds { plan, seeds: Vec::new() }).collect();
        // All worlds of one seed before the next: a run that is interrupted has seen each.
        for seed in 1..=context.size.pick(2, 3, 10) {
            for Seeds { plan, seeds } in found.iter_mut().filter(|world| seed <= most_seeds(world.plan, context.size)) {
                let seed = context.seed + seed;
                let part = format!("training in {}, seed {seed}", plan.name);
                let of_seed = context.part(&part, &json!([plan.name, seed]), || match plan.world(context, seed)? {
                    Some(world) => tried(context, &world, seed).map(Some),
                    None => Ok(None),
                })?;
                seeds.extend(of_seed);
            }
        }
        let (found, without): (Vec<Seeds>, Vec<Seeds>) = found.into_iter().partition(|world| !world.seeds.is_empty());
        without.iter().for_each(|world| outcome.not_run(world.plan.name, "its data set (--data)"));
        outcome.tables.push(worlds(&found));
        outcome.tables.push(differences(&found));
        claims::claims(&mut outcome, &found);
        outcome.notes.push(
            "Precision on complete labels of other rows. Differences are to the model without a correction ('none', whose loss and decay are \
             chosen on held-out rows as `train` does it by default), paired by seed. 'true' are the propensities by which labels went missing (their means by label where they depend on the row)."
                .into(),
        );
        Ok(outcome)
    }
}

/// How many seeds a world has.
fn most_seeds(plan: &Plan, size: Size) -> u64 {
    size.pick(2, if plan.slow { 2 } else { 3 }, if plan.slow { 5 } else { 10 })
}

impl Seeds {
    /// Precision of a method at one of 1, 3 and 5, by seed.
    fn precision(&self, method: &str, loss: Option<&str>, at: usize) -> Vec<f64> {
        let of = |tried: &Vec<Tried>| {
            let found = tried.iter().find(|tried| tried.method == method && tried.loss.as_deref() == loss);
            found.map_or(f64::NAN, |tried| tried.precision[at])
        };
        self.seeds.iter().map(of).collect()
    }

    /// Mean difference to an uncorrected model, and its standard error over seeds.
    fn difference(&self, method: &str, loss: Option<&str>, plain: &str, at: usize) -> (f64, Option<f64>) {
        let (of, plain) = (self.precision(method, loss, at), self.precision(plain, None, at));
        mean_se(&of.iter().zip(&plain).map(|(of, plain)| of - plain).collect::<Vec<_>>())
    }
}

fn worlds(found: &[Seeds]) -> Table {
    let mut table = Table::new("worlds", ["world", "what it is", "seeds"].map(Column::new)).titled("The worlds");
    for world in found {
        table.row(crate::cells![world.plan.name, world.plan.about, world.seeds.len()]);
    }
    table
}

fn differences(found: &[Seeds]) -> Table {
    let words = ["world", "propensities", "loss"].map(Column::new);
    let at = |k: u32| [format!("P@{k}"), format!("difference @{k}"), format!("SE @{k}")];
    let numbers = [1, 3, 5].into_iter().flat_map(at).map(|name| Column::new(name).fixed(2));
    let mut table = Table::new("training", words.into_iter().chain([Column::new("seeds")]).chain(numbers))
        .titled("Precision (%) on complete labels, and the difference to training without a correction");
    for world in found {
        for tried in world.seeds.first().into_iter().flatten() {
            let loss = tried.loss.as_deref();
            let words = crate::cells![world.plan.name, tried.method.clone(), loss.unwrap_or("").to_owned(), world.seeds.len()];
            let numbers = (0..3).flat_map(|at| {
                let (difference, se) = world.difference(&tried.method, loss, UNCORRECTED, at);
                let mean = mean_se(&world.precision(&tried.method, loss, at)).0;
                [Cell::from(mean), Cell::from(difference), Cell::from(se)]
            });
            table.row(words.into_iter().chain(numbers));
        }
    }
    table
}
