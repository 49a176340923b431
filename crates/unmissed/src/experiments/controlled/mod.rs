//! `controlled`: the protocol of the Yahoo R3 survey, end to end.
//!
//! Controlled users are halved at random: one half estimates propensities, models are trained with them on the biased rows, and the
//! other half, on which `shown` of the items were shown at random, tells their precision without bias. Repetitions draw other
//! halves. Their spread leaves out that the controlled rows are a sample themselves; the standard error over rows has that.

mod estimates;
mod source;

use super::ask::{log_error, precision};
use super::biased::mean_se;
use super::linear::{Method, marked, top};
use super::{Context, Experiment, Outcome};
use crate::cells;
use crate::data::{Csr, Features, LabelStats, split_rows};
use crate::error::Result;
use crate::predict::Normalize;
use crate::propensity::Propensities;
use crate::propensity::fit::mse_of;
use crate::report::charts::propensity_chart;
use crate::report::plot::Series;
use crate::report::{Column, Table};
use crate::spec::Named;
use crate::train::{Adam, Joint, Recipe, Solver, Trainer};
use estimates::{Estimate, assumed, directly, estimated};
use serde::{Deserialize, Serialize};
use serde_json::json;
use source::{Source, sources};

/// See the module's page.
pub(super) struct Controlled;

/// The paper's Yahoo R3: method, precision at 1, 3 and 5, MSE of inverse propensities.
const PAPER: &[(&str, [f64; 3], Option<f64>)] = &[
    ("constant", [60.83, 54.30, 51.20], Some(1663.94)),
    ("jpv", [66.03, 56.17, 52.02], Some(1557.04)),
    ("jpv, fitted", [48.58, 43.26, 40.47], Some(1259.78)),
    ("power, fitted", [63.53, 54.53, 50.50], Some(512.94)),
    ("richards, fitted", [71.23, 61.02, 54.03], Some(516.85)),
    ("direct", [73.72, 66.14, 59.59], None),
    ("joint", [68.09, 58.15, 53.62], Some(1236.0)),
];
/// The order of tables.
const ORDER: [&str; 9] =
    ["constant", "jpv", "jpv, fitted", "power, fitted", "richards, fitted", "direct", "shrunken", "joint", "true"];
/// Shrunken may be worse than the better of curve and direct by this share.
const WORSE: f64 = 0.02;
/// The share of controlled rows at which shrunken must train the better model.
const FEW: f64 = 0.1;

/// A method in one repetition.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    method: String,
    /// Precision at 1, 3 and 5 on the other controlled half, with standard errors over rows.
    controlled: [(f64, f64); 3],
    /// Precision on complete labels, when there are some.
    clean: Option<[f64; 3]>,
    /// Error of log inverse propensities, when the true ones are known.
    error: Option<f64>,
    /// MSE against the direct estimate of all controlled rows.
    mse: f64,
}

impl Named for Controlled {
    fn name(&self) -> &'static str {
        "controlled"
    }
    fn summary(&self) -> &'static str {
        "propensities from a controlled set: direct, fitted, shrunken and joint, and the models trained with them"
    }
}

impl Experiment for Controlled {
    fn reproduces(&self) -> &'static str {
        "the figure of propensities on Yahoo R3, the table of actual precision, the table of estimation errors"
    }

    fn needs(&self) -> &'static str {
        "a generated survey; coat when it is given (--data); your own copy of Yahoo R3 (--yahoo-r3)"
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let words = ["data set", "propensities"].map(Column::new);
        let real =
            ["P@1", "SE of repetitions", "SE with test rows", "P@3", "P@5", "clean P@1", "paper: P@1", "paper: P@3", "paper: P@5"];
        let mut table = Table::new("controlled", words.clone().into_iter().chain(real.map(|name| Column::new(name).fixed(2))))
            .titled("Actual precision (%) of models trained with these propensities; the paper's column is Yahoo R3");
        let errors = ["MSE of 1/p", "error of log 1/p", "paper: MSE of 1/p"].map(|name| Column::new(name).significant(4));
        let mut mses = Table::new("controlled_errors", words.into_iter().chain(errors)).titled("Errors of estimated propensities");
        for source in sources(context)? {
            let repetitions = repetitions(context, &source)?;
            for method in ORDER {
                let of: Vec<&Line> = repetitions.iter().flatten().filter(|line| line.method == method).collect();
                if of.is_empty() {
                    continue;
                }
                let mean = |value: &dyn Fn(&Line) -> f64| mean_se(&of.iter().map(|line| value(line)).collect::<Vec<_>>());
                let at = |k: usize| mean(&|line| 100.0 * line.controlled[k].0);
                let paper = PAPER.iter().find(|line| line.0 == method);
                let clean = of[0].clean.map(|_| mean(&|line| line.clean.map_or(f64::NAN, |clean| 100.0 * clean[0])).0);
                let rows = mean(&|line| 100.0 * line.controlled[0].1).0;
                table.row(cells![
                    source.name.clone(),
                    method,
                    at(0).0,
                    at(0).1,
                    rows,
                    at(1).0,
                    at(2).0,
                    clean,
                    paper.map(|line| line.1[0]),
                    paper.map(|line| line.1[1]),
                    paper.map(|line| line.1[2]),
                ]);
                let error = of[0].error.map(|_| mean(&|line| line.error.unwrap_or(f64::NAN)).0);
                mses.row(cells![source.name.clone(), method, mean(&|line| line.mse).0, error, paper.and_then(|line| line.2)]);
            }
            outcome.charts.push((format!("controlled-{}", source.name), figure(context, &source)?));
            claims(context, &mut outcome, &source, &repetitions)?;
        }
        outcome.tables.extend([table, mses]);
        if context.yahoo_r3.is_none() {
            outcome.not_run("Yahoo R3 itself", "your own copy (--yahoo-r3 DIR): the data need a signed agreement");
        }
        outcome.notes.push(
            "Settings are searched once for each method, on the first repetition. The paper's standard errors are over repetitions only; \
             'SE with test rows' is that of one controlled half. The paper's numbers are of Yahoo R3, which a generated survey resembles in \
             its sizes only: compare the order, not the values."
                .into(),
        );
        Ok(outcome)
    }
}

/// Halves of the controlled rows: to estimate from, to test on.
fn halves(context: &Context<'_>, source: &Source, repetition: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    split_rows(source.controlled.rows(), 0.5, context.seed + repetition)
}

fn repetitions(context: &Context<'_>, source: &Source) -> Result<Vec<Vec<Line>>> {
    let all: Vec<usize> = (0..source.controlled.rows()).collect();
    let direct = directly(source, &all)?;
    let evidence = direct.evidence();
    let once = assumed(source)?;
    let settings = json!([marked(&source.train)?, marked(&source.controlled)?]);
    let mut found = Vec::new();
    let mut kept: Vec<(Estimate, Csr<'static, f32>, Option<[f64; 3]>)> = Vec::new();
    for repetition in 0..context.size.pick(2, 4, 25) {
        let what = format!("controlled on {}, repetition {repetition}", source.name);
        found.push(context.part(&what, &settings, || {
            let (estimation, test) = halves(context, source, repetition)?;
            if kept.is_empty() {
                // These do not depend on the halves.
                for estimate in &once {
                    let (ranked, clean) = trained(context, source, estimate, estimate)?;
                    kept.push((estimate.clone(), ranked, clean));
                }
                kept.push(joint(context, source)?);
            }
            let first = estimated(source, &halves(context, source, 0)?.0, context.seed)?;
            let mut lines = Vec::new();
            let mut add = |(name, p): &Estimate, ranked: &Csr<'_, f32>, clean: Option<[f64; 3]>| -> Result<()> {
                let labels = source.controlled.labels().select_rows(&test);
                let controlled = precision(&labels, &ranked.select_rows(&test), Some(&source.rate()))?;
                let ones = vec![1.0; source.train.labels().cols()];
                let p = p.as_ref().map_or_else(|| Propensities::new("constant", ones), |p| Ok(p.clone()))?;
                let error = source.truth.as_ref().map(|(_, truth)| log_error(p.values(), truth.values()));
                lines.push(Line { method: (*name).to_owned(), controlled, clean, error, mse: mse_of(&p, &evidence)? });
                Ok(())
            };
            for (estimate, ranked, clean) in &kept {
                add(estimate, ranked, *clean)?;
            }
            for (estimate, tuned) in estimated(source, &estimation, context.seed)?.iter().zip(&first) {
                let (ranked, clean) = trained(context, source, estimate, tuned)?;
                add(estimate, &ranked, clean)?;
            }
            Ok(lines)
        })?);
    }
    Ok(found)
}

/// What a model ranks first on controlled rows, and its precision on complete ones; settings are those found with `tuned`.
fn trained(
    context: &Context<'_>,
    source: &Source,
    (name, p): &Estimate,
    tuned: &Estimate,
) -> Result<(Csr<'static, f32>, Option<[f64; 3]>)> {
    let normalize = scaling(source);
    let tuning = Method { name, propensities: tuned.1.as_ref(), normalize }.tune(context, &source.name, &source.train)?;
    let model = Method { name, propensities: p.as_ref(), normalize }.train(context, &tuning, &source.train, context.seed)?;
    ranks(context, source, &model)
}

fn ranks(context: &Context<'_>, source: &Source, model: &crate::predict::Model) -> Result<(Csr<'static, f32>, Option<[f64; 3]>)> {
    let clean = match &source.truth {
        Some((test, _)) => Some(precision(test.labels(), &top(context, model, test)?, None)?.map(|(value, _)| value)),
        None => None,
    };
    Ok((top(context, model, &source.controlled)?, clean))
}

fn joint(context: &Context<'_>, source: &Source) -> Result<(Estimate, Csr<'static, f32>, Option<[f64; 3]>)> {
    let adam = Adam { epochs: context.size.pick(5, 10, 20), ..Adam::default() };
    let trainer = Trainer::new("plugin-logistic")?.solver(Solver::Adam(adam))?.normalize(scaling(source));
    let recipe = Recipe::new(trainer.seed(context.seed).progress(context.progress)).joint(Joint::Plugin)?;
    let (model, trained) = recipe.train(&source.train)?;
    let (ranked, clean) = ranks(context, source, &model)?;
    Ok((("joint", trained.learned), ranked, clean))
}

fn scaling(source: &Source) -> Normalize {
    if matches!(source.train.features(), Some(Features::Sparse(_))) { Normalize::L2 } else { Normalize::None }
}

fn figure(context: &Context<'_>, source: &Source) -> Result<crate::report::plot::Chart> {
    let stats = LabelStats::of(source.train.labels());
    let all: Vec<usize> = (0..source.controlled.rows()).collect();
    let found = directly(source, &all)?;
    let direct = (0..found.len()).filter_map(|label| Some((found.count(label) as f64, found.propensity(label)?)));
    let mut chart = propensity_chart(&format!("Propensities: {}", source.name)).series(Series::points("direct", direct));
    for (name, p) in estimated(source, &all, context.seed)?.into_iter().chain(assumed(source)?) {
        let Some(p) = p.filter(|_| name.contains("jpv") || name.contains("fitted")) else { continue };
        let mut points: Vec<(f64, f64)> =
            stats.occurring().iter().map(|label| (stats.count(*label) as f64, p.get(*label))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|a, b| a.0 == b.0);
        chart = chart.series(Series::line(name, points));
    }
    Ok(chart)
}

fn claims(context: &Context<'_>, outcome: &mut Outcome, source: &Source, repetitions: &[Vec<Line>]) -> Result<()> {
    let of = |method: &str, value: &dyn Fn(&Line) -> f64| -> Vec<f64> {
        repetitions.iter().flatten().filter(|line| line.method == method).map(value).collect()
    };
    let mean = |method: &str, value: &dyn Fn(&Line) -> f64| mean_se(&of(method, value)).0;
    let mse = |method: &str| mean(method, &|line| line.mse);
    let (power, richards) = (mse("power, fitted"), mse("richards, fitted"));
    let (jpv, constant) = (mse("jpv"), mse("constant"));
    let found = format!("power {power:.1}, Richards {richards:.1}, JPV {jpv:.1}, constant {constant:.1}");
    let what = format!("{}: the MSE of fitted power and Richards is far below that of JPV and constant", source.name);
    let far = power.max(richards) < 0.75 * jpv.min(constant);
    match source.truth {
        Some(_) => outcome.must(what, far, found),
        None => outcome.reports(what, found),
    }
    let precision = |method: &str| mean(method, &|line| 100.0 * line.controlled[0].0);
    outcome.reports(
        format!("{}: direct > Richards >= power > vanilla in actual P@1, as in the paper", source.name),
        ["direct", "richards, fitted", "power, fitted", "constant", "shrunken", "true"]
            .map(|method| format!("{method} {:.1}", precision(method)))
            .join(", "),
    );
    let Some((test, truth)) = &source.truth else { return Ok(()) };
    let error = |line: &Line| line.error.unwrap_or(f64::NAN);
    let (shrunken, curve, direct) = (of("shrunken", &error), of("power, fitted", &error), of("direct", &error));
    let better: Vec<f64> = if mean_se(&curve).0 < mean_se(&direct).0 { curve } else { direct };
    let (difference, se) = mean_se(&shrunken.iter().zip(&better).map(|(a, b)| a - b).collect::<Vec<_>>());
    let (ours, theirs) = (mean_se(&shrunken).0, mean_se(&better).0);
    outcome.must(
        format!("{}: shrunken's error of log 1/p is not worse than the better of curve and direct", source.name),
        ours <= (1.0 + WORSE) * theirs || difference <= 2.0 * se.unwrap_or(0.0),
        format!("{ours:.3} against {theirs:.3}, over {} repetitions", repetitions.len()),
    );
    // A tenth of the controlled set: the first rows, which are as random as any.
    let few: Vec<usize> = (0..(source.controlled.rows() as f64 * FEW) as usize).collect();
    let settings = json!([marked(&source.train)?, marked(&source.controlled)?, marked(test)?, few.len()]);
    let found: Vec<(String, f64, f64)> = context.part(&format!("a tenth of {}", source.name), &settings, || {
        let estimates = estimated(source, &few, context.seed)?;
        let chosen = estimates.iter().filter(|estimate| ["direct", "shrunken"].contains(&estimate.0));
        let one = |(name, p): &Estimate| -> Result<(String, f64, f64)> {
            let (_, clean) = trained(context, source, &(name, p.clone()), &(name, p.clone()))?;
            let error = p.as_ref().map_or(f64::NAN, |p| log_error(p.values(), truth.values()));
            Ok(((*name).to_owned(), clean.map_or(f64::NAN, |clean| clean[0]), error))
        };
        chosen.map(one).collect()
    })?;
    if let [direct, shrunken] = found.as_slice() {
        outcome.must(
            format!("{}: at a tenth of the controlled set, shrunken trains a clearly better model than direct", source.name),
            shrunken.1 > direct.1 + 0.01,
            format!(
                "clean P@1 {:.2} % against {:.2} %, errors of log 1/p {:.2} and {:.2}, {} controlled rows",
                100.0 * shrunken.1,
                100.0 * direct.1,
                shrunken.2,
                direct.2,
                few.len()
            ),
        );
    }
    Ok(())
}
