//! `joint`: propensities that are learned from observed labels alone, by both methods, beside the true ones.

use super::ask::{log_correlation, log_error, precision};
use super::biased::{balls, generated, part};
use super::linear::{Method, marked, top};
use super::{Context, Experiment, Outcome};
use crate::cells;
use crate::data::{Dataset, LabelStats};
use crate::error::Result;
use crate::predict::Normalize;
use crate::propensity::Propensities;
use crate::report::plot::{Chart, Scale, Series};
use crate::report::{Column, Table};
use crate::spec::Named;
use crate::train::{Adam, Joint as Way, ROUNDS, Recipe, Solver, Trainer};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// See the module's page.
pub(super) struct Joint;

/// Labels with fewer observed positives tell nothing about how they were learned.
const LEAST: u64 = 10;

/// What a method learned, and what its model is worth on complete labels.
#[derive(Serialize, Deserialize)]
struct Line {
    method: String,
    propensities: Option<Vec<f64>>,
    precision: [f64; 3],
}

/// Biased training rows with complete test rows, and the true propensities.
struct Known {
    name: &'static str,
    train: Dataset<'static>,
    test: Dataset<'static>,
    truth: Propensities,
}

impl Named for Joint {
    fn name(&self) -> &'static str {
        "joint"
    }
    fn summary(&self) -> &'static str {
        "propensities that are learned jointly with the classifier, against the true ones"
    }
}

impl Experiment for Joint {
    fn reproduces(&self) -> &'static str {
        "section 4.3 and the appendix's alternative method (PEJL)"
    }

    fn needs(&self) -> &'static str {
        "hyper-balls and a survey"
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let words = ["data set", "propensities"].map(Column::new).into_iter();
        let errors = ["error of log 1/p", "correlation of log p"].map(|name| Column::new(name).fixed(3));
        let shown = ["P@1", "P@3", "P@5"].map(|name| Column::new(name).fixed(2));
        let mut table = Table::new("joint", words.chain(errors).chain(shown))
            .titled("Propensities learned from observed labels alone, and clean precision (%) of the models");
        for known in [survey(context)?, biased_balls(context)?] {
            let stats = LabelStats::of(known.train.labels());
            let seen: Vec<usize> = (0..known.truth.len()).filter(|label| stats.count(*label as u32) >= LEAST).collect();
            let of = |values: &[f64]| seen.iter().map(|label| values[*label]).collect::<Vec<f64>>();
            let truth = of(known.truth.values());
            let mut chart = Chart::new(format!("Learned against true propensities: {}", known.name))
                .x("true propensity", Scale::Log)
                .y("learned propensity", Scale::Log)
                .series(Series::line("equal", [(0.001, 0.001), (1.0, 1.0)]));
            for line in lines(context, &known)? {
                let learned = line.propensities.as_deref().map(of);
                let error = learned.as_deref().map(|learned| log_error(learned, &truth));
                let correlation = learned.as_deref().map(|learned| log_correlation(learned, &truth)).filter(|c| c.is_finite());
                let [a, b, c] = line.precision.map(|value| 100.0 * value);
                table.row(cells![known.name, line.method.clone(), error, correlation, a, b, c]);
                if let Some(learned) = learned.filter(|_| line.method.starts_with("joint")) {
                    let points = truth.iter().copied().zip(learned).take(500);
                    chart = chart.series(Series::points(line.method.clone(), points));
                    outcome.reports(
                        format!("{}: {} finds the true propensities", known.name, line.method),
                        format!("error of log 1/p {:.2}, P@1 {a:.2} %", error.unwrap_or(f64::NAN)),
                    );
                }
            }
            outcome.charts.push((format!("joint-{}", known.name), chart));
        }
        outcome.tables.push(table);
        outcome.notes.push(format!(
            "Errors are over labels with at least {LEAST} observed positives. From observed labels alone a low probability and a low propensity \
             cannot be told apart unless some rows carry a label nearly surely; the paper says so too."
        ));
        Ok(outcome)
    }
}

fn survey(context: &Context<'_>) -> Result<Known> {
    let [users, items] = context.size.pick(["1000", "60"], ["4000", "200"], ["10000", "1000"]).map(str::to_owned);
    let data = generated("survey", &[("users", users), ("items", items), ("test-users", "1500".into())], context.seed)?;
    let values = data.table("propensities").map(|table| table.rows.iter().map(|row| row[0]).collect()).unwrap_or_default();
    let (train, test) = (part(&data, "train")?.clone(), part(&data, "test_clean")?.clone());
    Ok(Known { name: "survey", train, test, truth: Propensities::new("true", values)? })
}

fn biased_balls(context: &Context<'_>) -> Result<Known> {
    let complete = balls(context.size, 6, "0.1,0.8", context.seed)?;
    let biased = complete.biased(1, context.seed)?;
    let [_, truth] = biased.propensities;
    Ok(Known { name: "hyper-balls", train: biased.train, test: complete.test, truth })
}

fn lines(context: &Context<'_>, known: &Known) -> Result<Vec<Line>> {
    let settings = json!([marked(&known.train)?, marked(&known.test)?]);
    context.part(&format!("joint learning on {}", known.name), &settings, || {
        let mut lines = Vec::new();
        for (name, p) in [("none (vanilla)", None), ("true", Some(&known.truth))] {
            let method = Method { name, propensities: p, normalize: Normalize::None };
            let tuning = method.tune(context, known.name, &known.train)?;
            let model = method.train(context, &tuning, &known.train, context.seed)?;
            let ranked = top(context, &model, &known.test)?;
            let precision = precision(known.test.labels(), &ranked, None)?.map(|(value, _)| value);
            lines.push(Line { method: name.into(), propensities: p.map(|p| p.values().to_vec()), precision });
        }
        let adam = Adam { epochs: context.size.pick(5, 10, 20), ..Adam::default() };
        let plugin = Trainer::new("plugin-logistic")?.solver(Solver::Adam(adam))?;
        let turns = Trainer::new("unbiased-logistic")?;
        for (name, trainer, way) in
            [("joint: plug-in", plugin, Way::Plugin), ("joint: alternating", turns, Way::Alternating { rounds: ROUNDS })]
        {
            let trainer = trainer.normalize(Normalize::None).seed(context.seed).progress(context.progress);
            let (model, trained) = Recipe::new(trainer).joint(way)?.train(&known.train)?;
            let ranked = top(context, &model, &known.test)?;
            let precision = precision(known.test.labels(), &ranked, None)?.map(|(value, _)| value);
            lines.push(Line { method: name.into(), propensities: trained.learned.map(|p| p.values().to_vec()), precision });
        }
        Ok(lines)
    })
}
