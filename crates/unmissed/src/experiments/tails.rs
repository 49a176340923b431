//! `tails`: what each objective buys. Missing labels and long tails are different problems; correcting for one is no cure of the other.

use super::biased_data::true_propensities;
use super::linear_models::{Correction, DEPTH, Method, marked};
use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::data::generators::generate;
use crate::data::{Dataset, LabelStats};
use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::metrics::{Estimator, weights};
use crate::predict::PredictOptions;
use crate::propensity::Propensities;
use crate::report::plot::{Chart, Scale, Series};
use crate::report::{Column, Table};
use crate::spec::Named;
use serde_json::json;

/// See the module's page.
pub(super) struct Tails;

const METRICS: [&str; 5] = ["precision", "weighted-precision", "macro-f", "coverage", "abandonment"];

impl crate::sealed::Sealed for Tails {}

impl Named for Tails {
    fn name(&self) -> &'static str {
        "tails"
    }
    fn summary(&self) -> &'static str {
        "macro-F, coverage, abandonment and weighted precision of vanilla, corrected and tail-weighted models"
    }
}

impl Experiment for Tails {
    fn reproduces(&self) -> &'static str {
        "section 4.4, which argues it without numbers"
    }

    fn needs(&self) -> &'static str {
        "a survey"
    }

    fn duration(&self) -> Took {
        Took { quick: "1 s", full: "6 s" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let shown = METRICS.map(|name| Column::new(format!("{name}@{DEPTH}")).fixed(2));
        let mut table = Table::new("tails", std::iter::once(Column::new("model")).chain(shown))
            .titled("What each objective buys (%), on complete test labels of a survey");
        let mut chart = Chart::new("Precision and coverage of the same data under four objectives")
            .x(format!("precision@{DEPTH} (%)"), Scale::Linear)
            .y(format!("coverage@{DEPTH} (%)"), Scale::Linear);
        let [users, items] = context.size.pick(["1000", "60"], ["4000", "300"], ["10000", "1000"]).map(str::to_owned);
        let data = generate("survey", &[("users", users), ("items", items)], context.seed)?;
        let (train, test) = (data.part("train")?, data.part("test_clean")?);
        let lines = lines(context, train, test, &true_propensities(&data)?)?;
        for (name, values) in &lines {
            let cells = values.iter().map(|value| crate::report::Cell::from(100.0 * value));
            table.row(cells![name.clone()].into_iter().chain(cells));
            chart = chart.series(Series::points(name.clone(), [(100.0 * values[0], 100.0 * values[3])]));
        }
        let best = |metric: usize| {
            let better = |a: &&(String, Vec<f64>), b: &&(String, Vec<f64>)| a.1[metric].total_cmp(&b.1[metric]);
            lines.iter().max_by(better).map_or_else(String::new, |line| line.0.clone())
        };
        for (place, metric) in METRICS.iter().enumerate().take(4) {
            outcome.reports(format!("which model is best in {metric}@{DEPTH}"), best(place));
        }
        outcome.tables.push(table);
        outcome.charts.push(("tails".into(), chart));
        outcome.notes.push(
            "Tail-weighted models rank labels by probability times weight. The weight of the vanilla model is the inverse of a label's \
             observed frequency, that of the corrected model the inverse of its complete frequency, p_j / n_j: what the propensities \
             corrected is not corrected again. The gain in weighted precision is the inverse of the complete frequency for all. Lower is \
             better for abandonment."
                .into(),
        );
        Ok(outcome)
    }
}

/// The weights that fit a model: a corrected one gives probabilities of complete labels, so its tail is that of complete frequencies.
fn tail_scheme(corrected_by: Option<&Propensities>) -> &'static str {
    if corrected_by.is_some() { "inverse-complete" } else { "inverse" }
}

/// The values of all metrics by model.
fn lines(context: &Context<'_>, train: &Dataset<'_>, test: &Dataset<'_>, truth: &Propensities) -> Result<Vec<(String, Vec<f64>)>> {
    let schemes = [tail_scheme(None), tail_scheme(Some(truth))];
    context.part("tails", &json!([marked(train)?, marked(test)?, schemes]), || {
        let stats = LabelStats::of(train.labels());
        let gains = weights::from_spec(tail_scheme(Some(truth)), &stats, Some(truth))?;
        let features = test.features().ok_or_else(|| Error::value("the test rows have no features"))?;
        let mut lines = Vec::new();
        for (name, p) in [("vanilla", None), ("corrected", Some(truth))] {
            let method = Method { name, propensities: p, correction: Correction::Default };
            let tuning = method.tune(context, "tails", train)?;
            let model = method.train(context, &tuning, train, context.seed)?;
            let tail = weights::from_spec(tail_scheme(p), &stats, p)?;
            for (weighted, weights) in [("", None), (", tail-weighted", Some(tail.as_slice()))] {
                let options = PredictOptions { k: DEPTH, weights, progress: context.progress, ..PredictOptions::default() };
                let ranked = model.predict(features, &options)?;
                let result = Evaluation::new(test.labels(), &[("model", &ranked)])?
                    .metrics(&METRICS)?
                    .estimators(&[Estimator::Observed])
                    .ks(&[DEPTH])?
                    .weights("inverse complete frequency", gains.clone())?
                    .bootstrap(0, 0)
                    .run()?;
                let value = |metric: &&str| {
                    let value = result.find(metric, DEPTH, Estimator::Observed)?.value;
                    value.ok_or_else(|| Error::value(format!("{metric}@{DEPTH} has no value")))
                };
                lines.push((format!("{name}{weighted}"), METRICS.iter().map(value).collect::<Result<_>>()?));
            }
        }
        Ok(lines)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A corrected model scores s / p where a vanilla one scores s. Weighted for the tail both must rank alike, or one of them
    /// corrects twice.
    #[test]
    fn weights_of_the_corrected_model_do_not_correct_again() {
        let stats = LabelStats::from_counts(100, &[60, 12, 3, 1]).unwrap();
        let p = Propensities::new("p", vec![0.9, 0.5, 0.3, 0.1]).unwrap();
        let [vanilla, corrected] = [None, Some(&p)].map(|p| weights::from_spec(tail_scheme(p), &stats, p).unwrap());
        let ratios: Vec<f64> = (0..4).map(|label| corrected[label] / p.values()[label] / vanilla[label]).collect();
        assert!(ratios.iter().all(|ratio| (ratio / ratios[0] - 1.0).abs() < 1e-12), "{ratios:?}");
    }
}
