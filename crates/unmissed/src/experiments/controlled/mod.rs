//! `controlled`: the protocol of the Yahoo R3 survey, end to end.
//!
//! Controlled users are halved at random: one half estimates propensities, models are trained with them on the biased rows, and the
//! other half, on which `shown` of the items were shown at random, tells their precision without bias. Repetitions draw other
//! halves. Their spread leaves out that the controlled rows are a sample themselves. With R repetitions on halves of N rows, whose
//! precision has the standard error s_r over rows, `SE with test rows = sqrt(SE of repetitions^2 + mean(s_r^2) / 2)`: the mean
//! over halves is that of all N rows, whose variance is half of that of N/2 rows.

mod claims;
mod estimates;
mod few_rows;
mod repeat;
mod source;

use super::biased_data::mean_se;
use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::data::LabelStats;
use crate::error::Result;
use crate::report::charts::propensity_chart;
use crate::report::plot::{Chart, Series};
use crate::report::{Cell, Column, Table};
use crate::spec::Named;
use claims::claims;
use estimates::{STACK, VANILLA, assumed, directly, estimated};
use repeat::{Line, repetitions};
use source::{Source, sources};

/// See the module's page.
pub(super) struct Controlled;

/// The paper's Yahoo R3: method, precision at 1, 3 and 5, MSE of inverse propensities.
const PAPER: &[(&str, [f64; 3], Option<f64>)] = &[
    (VANILLA, [60.83, 54.30, 51.20], Some(1663.94)),
    ("jpv", [66.03, 56.17, 52.02], Some(1557.04)),
    ("jpv, fitted", [48.58, 43.26, 40.47], Some(1259.78)),
    ("power, fitted", [63.53, 54.53, 50.50], Some(512.94)),
    ("richards, fitted", [71.23, 61.02, 54.03], Some(516.85)),
    ("direct", [73.72, 66.14, 59.59], None),
    ("joint", [68.09, 58.15, 53.62], Some(1236.0)),
];
/// The order of tables.
const ORDER: [&str; 10] =
    [VANILLA, "jpv", "jpv, fitted", "power, fitted", "richards, fitted", "direct", "shrunken", "joint", STACK, "true"];

impl crate::sealed::Sealed for Controlled {}

impl Named for Controlled {
    fn name(&self) -> &'static str {
        "controlled"
    }
    fn summary(&self) -> &'static str {
        "propensities from a controlled set: direct, fitted, shrunken and joint, the models trained with them, and the stack"
    }
}

impl Experiment for Controlled {
    fn reproduces(&self) -> &'static str {
        "the figure of propensities on Yahoo R3, the table of actual precision, the table of estimation errors"
    }

    fn data_needed(&self) -> &'static str {
        "a generated survey and generated ratings; coat when it is given (--data); your own copy of Yahoo R3 (--yahoo-r3)"
    }

    fn duration(&self) -> Took {
        Took { quick: "6 s", full: "4 min" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let (mut actual, mut complete, mut errors) = tables();
        for source in sources(context)? {
            let lines = repetitions(context, &source)?;
            for method in ORDER {
                let of: Vec<&Line> = lines.iter().filter(|line| line.method == method).collect();
                if !of.is_empty() {
                    rows(&source, method, &of, [&mut actual, &mut complete, &mut errors]);
                }
            }
            outcome.charts.push((format!("controlled-{}", source.name.replace(' ', "-")), figure(context, &source)?));
            claims(&mut outcome, context.size, &source, &lines);
        }
        outcome.tables.extend([actual, complete, errors]);
        few_rows::add(context, &mut outcome)?;
        if context.yahoo_r3.is_none() {
            outcome.not_run("Yahoo R3 itself", "your own copy (--yahoo-r3 DIR): the data need a signed agreement");
        }
        outcome.notes.push(
            "Settings are searched once for each method, on the first repetition. The paper's standard errors are over repetitions only; \
             'SE with test rows' also accounts for the controlled rows being a sample. The paper's numbers are for Yahoo R3, which \
             a generated survey resembles only in size (the paper does not state how often items are relevant and observed): \
             compare the order, not the values. Its models stop Adam early, ours go to the optimum with decay."
                .into(),
        );
        outcome.notes.push(
            "A label without a controlled positive counts as complete in the direct estimate; the paper does not say how it handles this. MSE is \
             against the direct estimate of all controlled rows, as in the paper, so that even the true propensities have one; the error of \
             log 1/p and the rank correlation are against the true propensities."
                .into(),
        );
        outcome.notes.push(
            "Curves are fitted by least squares of 1/p here, as in the paper. Rare labels dominate these squares, so a curve can \
             be close by that measure and still train a model that loses, as the power law does on the ratings. 'propensity fit' \
             maximises a likelihood by default. Direct estimates are used as they are, as in the paper; outside of this experiment \
             training shrinks those that are mostly noise."
                .into(),
        );
        Ok(outcome)
    }
}

/// Actual precision, precision on complete labels, and errors of propensities.
fn tables() -> (Table, Table, Table) {
    let words = ["data set", "propensities"].map(Column::new);
    let at = |k: u32| [format!("P@{k}"), format!("SE of repetitions @{k}"), format!("SE with test rows @{k}")];
    let paper = [1, 3, 5].map(|k| format!("paper: P@{k}"));
    let columns = [1, 3, 5].into_iter().flat_map(at).chain(paper).map(|name| Column::new(name).fixed(2));
    let actual = Table::new("controlled", words.clone().into_iter().chain(columns)).titled(
        "Actual precision (%) of models trained with these propensities, on items shown at random; the paper's is Yahoo R3",
    );
    let at = |k: u32| [format!("P@{k}"), format!("SE of repetitions @{k}")];
    let columns = [1, 3, 5].into_iter().flat_map(at).map(|name| Column::new(name).fixed(2));
    let complete = Table::new("controlled_clean", words.clone().into_iter().chain(columns))
        .titled("Precision (%) of the same models on complete labels of other users");
    let columns = ["MSE of 1/p", "error of log 1/p", "rank correlation with the truth", "paper: MSE of 1/p"];
    let errors = Table::new("controlled_errors", words.into_iter().chain(columns.map(|name| Column::new(name).significant(4))))
        .titled("Errors of estimated propensities");
    (actual, complete, errors)
}

fn rows(source: &Source, method: &'static str, of: &[&Line], [actual, complete, errors]: [&mut Table; 3]) {
    let mean = |value: &dyn Fn(&Line) -> f64| mean_se(&of.iter().map(|line| value(line)).collect::<Vec<_>>());
    let paper = PAPER.iter().find(|line| line.0 == method);
    let words = || cells![source.name.clone(), method].into_iter();
    let at = |k: usize| {
        let (value, se) = mean(&|line| 100.0 * line.controlled[k].0);
        let rows = mean(&|line| (100.0 * line.controlled[k].1).powi(2)).0 / 2.0;
        [Cell::from(value), Cell::from(se), Cell::from(se.map(|se| (se * se + rows).sqrt()))]
    };
    let printed = (0..3).map(|k| Cell::from(paper.map(|line| line.1[k])));
    actual.row(words().chain((0..3).flat_map(at)).chain(printed));
    if of.iter().all(|line| line.complete.is_some()) {
        let at = |k: usize| {
            let (value, se) = mean(&|line| line.complete.map_or(f64::NAN, |complete| 100.0 * complete[k]));
            // Models that need no controlled rows are the same in all repetitions.
            [Cell::from(value), Cell::from(se.filter(|se| *se > 1e-9))]
        };
        complete.row(words().chain((0..3).flat_map(at)));
    }
    if method == STACK {
        return;
    }
    let known = |value: &dyn Fn(&Line) -> Option<f64>| {
        let all: Option<Vec<f64>> = of.iter().map(|line| value(line)).collect();
        Cell::from(all.map(|all| mean_se(&all).0))
    };
    let mse = Cell::from(mean(&|line| line.mse).0);
    let printed = Cell::from(paper.and_then(|line| line.2));
    errors.row(words().chain([mse, known(&|line| line.error), known(&|line| line.rank), printed]));
}

/// Direct estimates from all controlled rows against how often labels are observed, and the curves.
fn figure(context: &Context<'_>, source: &Source) -> Result<Chart> {
    let stats = LabelStats::of(source.train.labels());
    let all: Vec<usize> = (0..source.controlled.rows()).collect();
    let found = directly(source, &all)?;
    let direct = (0..found.len()).filter_map(|label| Some((found.count(label) as f64, found.propensity(label)?)));
    let mut chart = propensity_chart(&format!("Propensities: {}", source.name))
        .caption("Direct estimates from all controlled rows, where a label has a controlled positive; curves fitted to them.")
        .series(Series::points("direct", direct));
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
