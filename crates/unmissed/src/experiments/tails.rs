//! `tails`: the effect of each objective. Missing labels and long tails are different problems; correcting for one does not solve
//! the other.

use super::biased_data::true_propensities;
use super::linear_models::{Correction, DEPTH, Method, marked};
use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::data::generators::generate;
use crate::data::{Dataset, LabelStats, Scores};
use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::metrics::{Estimator, weights};
use crate::optimize::Optimization;
use crate::predict::PredictOptions;
use crate::propensity::Propensities;
use crate::report::plot::{Chart, Scale, Series};
use crate::report::{Column, Table};
use crate::request::OptimizeRequest;
use crate::spec::Named;
use serde::{Deserialize, Serialize};
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
        "macro-F, coverage, abandonment and weighted precision of models whose labels are ranked, tail-weighted or optimised"
    }
}

impl Experiment for Tails {
    fn reproduces(&self) -> &'static str {
        "section 4.4, which argues without numbers"
    }

    fn data_needed(&self) -> &'static str {
        "a survey"
    }

    fn duration(&self) -> Took {
        Took { quick: "2 s", full: "10 s" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let [users, items] = context.size.pick(["1000", "60"], ["4000", "300"], ["10000", "1000"]).map(str::to_owned);
        let data = generate("survey", &[("users", users), ("items", items)], context.seed)?;
        let (train, test) = (data.part("train")?, data.part("test_clean")?);
        let lines = lines(context, train, test, &true_propensities(&data)?)?;
        outcome.tables.push(table(&lines));
        outcome.charts.push(("tails".into(), coverage_chart(&lines)));
        outcome.charts.push(("tails_frontier".into(), frontier_chart(&lines)));
        for (place, metric) in METRICS.iter().enumerate().take(4) {
            let better = |a: &&Line, b: &&Line| a.values[place].total_cmp(&b.values[place]);
            let best = lines.iter().max_by(better).map_or_else(String::new, Line::name);
            outcome.reports(format!("which labels are best in {metric}@{DEPTH}"), best);
        }
        for model in MODELS {
            claims(&mut outcome, &lines, model);
        }
        outcome.notes.push(
            "Tail-weighted models rank labels by probability times weight. The weight of the vanilla model is the inverse of a label's \
             observed frequency, that of the corrected model the inverse of its complete frequency, p_j / n_j, so that nothing is \
             corrected twice. The gain in weighted precision is the inverse of the complete frequency for all. Lower is \
             better for abandonment. Optimised lists are chosen for all test rows together from the model's probabilities and training counts; \
             test labels take no part. The vanilla model's are optimised as if nothing were missing, and 'vanilla, divided' has its \
             probabilities divided by the true propensities. A mixture of share s is s macro-F and 1 - s precision."
                .into(),
        );
        Ok(outcome)
    }
}

/// Models, by what is done about missing labels: nothing, probabilities divided by propensities, training with propensities.
const MODELS: [&str; 3] = ["vanilla", "vanilla, divided", "corrected"];
/// Shares of macro-F in the mixtures of the frontier, the rest being precision.
const SHARES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];
/// How many labels of a row can be chosen.
const CANDIDATES: usize = 200;

/// How the labels of a list were chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Choice {
    MostProbable,
    TailWeighted,
    Optimised(String),
    /// By a mixture with this share of macro-F.
    Mixture(f64),
}

/// A model, a choice, and the metrics of its lists.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    model: String,
    choice: Choice,
    values: Vec<f64>,
}

impl Line {
    fn name(&self) -> String {
        match &self.choice {
            Choice::MostProbable => self.model.clone(),
            Choice::TailWeighted => format!("{}, tail-weighted", self.model),
            Choice::Optimised(metric) => format!("{}, optimised for {metric}", self.model),
            Choice::Mixture(share) => format!("{}, mixture {share}", self.model),
        }
    }
}

fn table(lines: &[Line]) -> Table {
    let shown = METRICS.map(|name| Column::new(format!("{name}@{DEPTH}")).fixed(2));
    let mut table = Table::new("tails", std::iter::once(Column::new("labels")).chain(shown))
        .titled("Metrics by objective (%), on complete test labels of a survey");
    for line in lines {
        let cells = line.values.iter().map(|value| crate::report::Cell::from(100.0 * value));
        table.row(cells![line.name()].into_iter().chain(cells));
    }
    table
}

fn coverage_chart(lines: &[Line]) -> Chart {
    let chart = Chart::new("Precision and coverage of the same data under several objectives")
        .x(format!("precision@{DEPTH} (%)"), Scale::Linear)
        .y(format!("coverage@{DEPTH} (%)"), Scale::Linear);
    let is_shown = |line: &&Line| !matches!(line.choice, Choice::Mixture(_));
    lines
        .iter()
        .filter(is_shown)
        .fold(chart, |chart, line| chart.series(Series::points(line.name(), [(100.0 * line.values[0], 100.0 * line.values[3])])))
}

/// From precision to macro-F, by mixtures.
fn frontier_chart(lines: &[Line]) -> Chart {
    let mut chart = Chart::new("From precision to macro-F: mixtures of both objectives")
        .x(format!("precision@{DEPTH} (%)"), Scale::Linear)
        .y(format!("macro-f@{DEPTH} (%)"), Scale::Linear)
        .caption("From right to left: the most probable labels, mixtures with more and more macro-F, macro-F alone.");
    for model in MODELS {
        let share = |line: &Line| match &line.choice {
            Choice::MostProbable => Some(0.0),
            Choice::Mixture(share) => Some(*share),
            Choice::Optimised(metric) if metric == "macro-f" => Some(1.0),
            Choice::Optimised(_) | Choice::TailWeighted => None,
        };
        let mut points: Vec<(f64, (f64, f64))> = lines
            .iter()
            .filter(|line| line.model == model)
            .filter_map(|line| Some((share(line)?, (100.0 * line.values[0], 100.0 * line.values[2]))))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        chart = chart.series(Series::line(model, points.into_iter().map(|(_, point)| point)));
    }
    let weighted = lines.iter().filter(|line| line.choice == Choice::TailWeighted);
    weighted
        .fold(chart, |chart, line| chart.series(Series::points(line.name(), [(100.0 * line.values[0], 100.0 * line.values[2])])))
}

/// Optimising for macro-F must be worth it in macro-F; coverage may be complete without. What either costs in precision is reported.
fn claims(outcome: &mut Outcome, lines: &[Line], model: &str) {
    let of = |choice: Choice| lines.iter().find(|line| line.model == model && line.choice == choice);
    let Some(plain) = of(Choice::MostProbable) else { return };
    for (metric, place) in [("macro-f", 2), ("coverage", 3)] {
        let Some(optimised) = of(Choice::Optimised(metric.to_owned())) else { continue };
        let [gain, price] = [place, 0].map(|place| 100.0 * (optimised.values[place] - plain.values[place]));
        let found = format!("{gain:+.2} points of {metric}@{DEPTH}, {price:+.2} of precision@{DEPTH}");
        if metric == "macro-f" {
            outcome.must(
                format!("{model}: labels optimised for macro-f score higher on it than the most probable ones"),
                gain > 0.0,
                found,
            );
        } else {
            outcome.reports(format!("{model}: gain of labels optimised for {metric}"), found);
        }
    }
}

/// The weights that fit a model: a corrected one gives probabilities of complete labels, so its tail is that of complete frequencies.
fn tail_scheme(corrected_by: Option<&Propensities>) -> &'static str {
    if corrected_by.is_some() { "inverse-complete" } else { "inverse" }
}

/// The values of all metrics by model and choice.
fn lines(context: &Context<'_>, train: &Dataset<'_>, test: &Dataset<'_>, truth: &Propensities) -> Result<Vec<Line>> {
    let schemes = [tail_scheme(None), tail_scheme(Some(truth))];
    context.part("tails", &json!([marked(train)?, marked(test)?, schemes, MODELS, SHARES, CANDIDATES]), || {
        let stats = LabelStats::of(train.labels());
        let gains = weights::from_spec(tail_scheme(Some(truth)), &stats, Some(truth))?;
        let features = test.features().ok_or_else(|| Error::value("the test rows have no features"))?;
        let mut lines = Vec::new();
        for (name, p) in [("vanilla", None), ("corrected", Some(truth))] {
            let method = Method { name, propensities: p, correction: Correction::Default };
            let tuning = method.tune(context, "tails", train)?;
            let model = method.train(context, &tuning, train, context.seed)?;
            let tail = weights::from_spec(tail_scheme(p), &stats, p)?;
            let options =
                PredictOptions { k: DEPTH, weights: Some(&tail), progress: context.progress, ..PredictOptions::default() };
            let weighted = model.predict(features, &options)?;
            lines.push(Line { model: name.into(), choice: Choice::TailWeighted, values: values(test, &weighted, &gains)? });
            let candidates = CANDIDATES.min(model.labels());
            let scores = model.predict(features, &PredictOptions { k: candidates, weights: None, ..options })?;
            lines.extend(optimised(&scores, test, &gains, &stats, (name, p.map(|p| (p, true))))?);
            if p.is_none() {
                lines.extend(optimised(&scores, test, &gains, &stats, (MODELS[1], Some((truth, false))))?);
            }
        }
        // Models together, the plain choice first.
        let place = |line: &Line| (MODELS.iter().position(|model| *model == line.model), line.choice != Choice::MostProbable);
        lines.sort_by_key(place);
        Ok(lines)
    })
}

/// Lists of a model's scores by all objectives; propensities come with whether the scores are corrected already.
fn optimised(
    scores: &Scores<'_>,
    test: &Dataset<'_>,
    gains: &[f64],
    stats: &LabelStats,
    (model, propensities): (&str, Option<(&Propensities, bool)>),
) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let single = ["macro-f", "coverage", "balanced-accuracy"].map(|metric| Choice::Optimised(metric.to_owned()));
    for choice in single.into_iter().chain(SHARES.map(Choice::Mixture)) {
        let metric = match &choice {
            Choice::Optimised(metric) => metric.clone(),
            Choice::Mixture(share) => format!("{}*precision+{share}*macro-f", 1.0 - share),
            Choice::MostProbable | Choice::TailWeighted => continue,
        };
        let corrected = propensities.is_some_and(|(_, corrected)| corrected);
        let request = OptimizeRequest { metric: metric.parse()?, k: DEPTH, corrected, draws: 0, ..OptimizeRequest::default() };
        let optimization = Optimization::new(scores, request)?.train(stats);
        let found = propensities.into_iter().fold(optimization, |optimization, (p, _)| optimization.propensity(p.clone())).run()?;
        if lines.is_empty() {
            let values = values(test, &found.most_probable, gains)?;
            lines.push(Line { model: model.into(), choice: Choice::MostProbable, values });
        }
        lines.push(Line { model: model.into(), choice, values: values(test, &found.predictions, gains)? });
    }
    Ok(lines)
}

/// All metrics of a list.
fn values(test: &Dataset<'_>, list: &Scores<'_>, gains: &[f64]) -> Result<Vec<f64>> {
    let result = Evaluation::new(test.labels(), &[("model", list)])?
        .metrics(&METRICS)?
        .estimators(&[Estimator::Observed])
        .ks(&[DEPTH])?
        .weights("inverse complete frequency", gains.to_vec())?
        .bootstrap(0, 0)
        .run()?;
    let value = |metric: &&str| {
        let value = result.find(metric, DEPTH, Estimator::Observed)?.value;
        value.ok_or_else(|| Error::value(format!("{metric}@{DEPTH} has no value")))
    };
    METRICS.iter().map(value).collect()
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
