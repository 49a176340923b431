//! `joint`: propensities that are learned from observed labels alone, by both methods, beside the true ones.

use super::biased_data::{balls, true_propensities};
use super::linear_models::{Correction, Method, joint_plugin, marked, top};
use super::measures::{Seen, log_error, precision};
use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::data::generators::generate;
use crate::data::{Dataset, LabelStats};
use crate::error::Result;
use crate::predict::Model;
use crate::propensity::Propensities;
use crate::ranks::rank_correlation;
use crate::report::plot::{Chart, Scale, Series};
use crate::report::{Column, Table};
use crate::request::TrainRequest;
use crate::spec::Named;
use crate::train::Trainer;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// See the module's page.
pub(super) struct Joint;

/// Labels with fewer observed positives tell nothing about how they were learned.
const LEAST: u64 = 10;

/// Labels that a chart shows.
const POINTS: usize = 500;

/// What a method learned, and what its model is worth on complete labels.
#[derive(Serialize, Deserialize)]
struct Line {
    method: String,
    /// Whether the method learned the propensities.
    is_learned: bool,
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

impl crate::sealed::Sealed for Joint {}

impl Named for Joint {
    fn name(&self) -> &'static str {
        "joint"
    }
    fn summary(&self) -> &'static str {
        "propensities learned jointly with the classifier, against the true ones"
    }
}

impl Experiment for Joint {
    fn reproduces(&self) -> &'static str {
        "section 4.3 and the appendix's alternative method (PEJL)"
    }

    fn data_needed(&self) -> &'static str {
        "hyper-balls and a survey"
    }

    fn duration(&self) -> Took {
        Took { quick: "4 s", full: "30 s" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let words = ["data set", "propensities"].map(Column::new).into_iter();
        let errors = ["error of log 1/p", "rank correlation"].map(|name| Column::new(name).fixed(3));
        let shown = ["P@1", "P@3", "P@5"].map(|name| Column::new(name).fixed(2));
        let mut table = Table::new("joint", words.chain(errors).chain(shown))
            .titled("Propensities learned from observed labels alone, and precision on complete labels (%) of the models");
        for known in [survey(context)?, biased_balls(context)?] {
            let stats = LabelStats::of(known.train.labels());
            let seen: Vec<u32> = known.train.labels().col_ids().filter(|label| stats.count(*label) >= LEAST).collect();
            let of = |values: &[f64]| seen.iter().map(|label| values[*label as usize]).collect::<Vec<f64>>();
            let truth = of(known.truth.values());
            let mut chart = Chart::new(format!("Learned against true propensities: {}", known.name))
                .x("true propensity", Scale::Log)
                .y("learned propensity", Scale::Log);
            let mut lowest = truth.iter().copied().fold(1.0, f64::min);
            for line in lines(context, &known)? {
                let learned = line.propensities.as_deref().map(of);
                let error = learned.as_deref().map(|learned| log_error(learned, &truth));
                let correlation = learned.as_deref().and_then(|learned| rank_correlation(learned, &truth));
                let [a, b, c] = line.precision.map(|value| 100.0 * value);
                table.row(cells![known.name, line.method.clone(), error, correlation, a, b, c]);
                if let Some(learned) = learned.filter(|_| line.is_learned) {
                    lowest = learned.iter().copied().fold(lowest, f64::min);
                    let points = truth.iter().copied().zip(learned).take(POINTS);
                    chart = chart.series(Series::points(line.method.clone(), points));
                    outcome.reports(
                        format!("{}: how near {} comes to the true propensities", known.name, line.method),
                        format!(
                            "error of log 1/p {:.2}, rank correlation {:.2}, P@1 {a:.2} %",
                            error.unwrap_or(f64::NAN),
                            correlation.unwrap_or(f64::NAN)
                        ),
                    );
                }
            }
            let chart = chart.series(Series::line("equal", [(lowest, lowest), (1.0, 1.0)]));
            outcome.charts.push((format!("joint-{}", known.name), chart));
        }
        outcome.tables.push(table);
        outcome.notes.push(format!(
            "Errors are over labels with at least {LEAST} observed positives. From observed labels alone, a low probability and a \
             low propensity cannot be told apart unless a label is nearly certain on some rows; the paper says so too."
        ));
        Ok(outcome)
    }
}

fn survey(context: &Context<'_>) -> Result<Known> {
    let [users, items] = context.size.pick(["1000", "60"], ["4000", "200"], ["10000", "1000"]).map(str::to_owned);
    let data = generate("survey", &[("users", users), ("items", items), ("test-users", "1500".into())], context.seed)?;
    let (train, test) = (data.part("train")?.clone(), data.part("test_clean")?.clone());
    Ok(Known { name: "survey", train, test, truth: true_propensities(&data)? })
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
        let mut add = |method: &str, is_learned: bool, model: &Model, propensities: Option<&Propensities>| -> Result<()> {
            let ranked = top(context, model, &known.test)?;
            let precision = precision(known.test.labels(), &ranked, &Seen::Complete)?.map(|(value, _)| value);
            let propensities = propensities.map(|p| p.values().to_vec());
            lines.push(Line { method: method.into(), is_learned, propensities, precision });
            Ok(())
        };
        for (name, p) in [("none (vanilla)", None), ("true", Some(&known.truth))] {
            let method = Method { name, propensities: p, correction: Correction::Default };
            let tuning = method.tune(context, known.name, &known.train)?;
            add(name, false, &method.train(context, &tuning, &known.train, context.seed)?, p)?;
        }
        let (model, learned) = joint_plugin(context, &known.train)?;
        add("joint: plug-in", true, &model, learned.as_ref())?;
        let joint = Some("alternating".parse()?);
        let request = TrainRequest { joint, seed: context.seed, ..TrainRequest::default() };
        let (model, trained) = Trainer::new(request).progress(context.progress).train(&known.train)?;
        add("joint: alternating", true, &model, trained.learned.as_ref())?;
        Ok(lines)
    })
}
