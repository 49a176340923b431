//! `robustness`: the error of each estimate if its assumption fails.
//!
//! Labels of a survey go missing in five ways: independently with one propensity per label; together within a row; less often from some
//! rows than from others; by groups of rows; and less often where a model would rank them first. In three more worlds they go missing
//! independently, and the evidence is not what estimates assume: later labels are incomplete, judges err, or what is shown depends on a
//! model's ranks. A model is trained on what is left. Its scores on complete test labels are known, and so is the error of every
//! estimate.

mod repetition;

use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::error::Result;
use crate::report::{Column, Table};
use crate::spec::Named;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// See the module's page.
pub(super) struct Robustness;

/// Metrics with their k, as columns.
const CELLS: [(&str, usize); 4] = [("precision", 1), ("precision", 5), ("recall", 5), ("abandonment", 5)];
/// Errors beyond this many standard errors over repetitions are no chance.
const CLEAR: f64 = 4.0;
/// Errors below this, in points, do not matter.
const SMALL: f64 = 0.5;

/// How labels go missing, and what else is not as estimates assume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Independently,
    Together,
    ByRow,
    ByGroup,
    ByRank,
    LaterIncomplete,
    JudgesErr,
    ShownByRank,
}

/// The estimates, as lines of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Line {
    Observed,
    Known,
    Clipped,
    Normalized,
    Measured,
    Rows,
    Ratio,
    Omega,
    Judged,
    Hajek,
    DoublyRobust,
}

impl Way {
    const ALL: [Way; 8] = [
        Way::Independently,
        Way::Together,
        Way::ByRow,
        Way::ByGroup,
        Way::ByRank,
        Way::LaterIncomplete,
        Way::JudgesErr,
        Way::ShownByRank,
    ];

    fn name(self) -> &'static str {
        match self {
            Way::Independently => "independently",
            Way::Together => "together in a row",
            Way::ByRow => "by row",
            Way::ByGroup => "by group of rows",
            Way::ByRank => "by rank",
            Way::LaterIncomplete => "independently; later labels are incomplete",
            Way::JudgesErr => "independently; judges err",
            Way::ShownByRank => "independently; pairs are shown by rank",
        }
    }

    /// The estimates that are tried. Where the evidence is at fault, the others are those of independent labels.
    fn lines(self) -> &'static [Line] {
        match self {
            Way::LaterIncomplete => &[Line::Measured, Line::Rows, Line::Ratio, Line::Omega],
            Way::JudgesErr => &[Line::Judged],
            Way::ShownByRank => &[Line::Hajek, Line::DoublyRobust],
            _ => &Line::ALL,
        }
    }
}

impl Line {
    const ALL: [Line; 11] = [
        Line::Observed,
        Line::Known,
        Line::Clipped,
        Line::Normalized,
        Line::Measured,
        Line::Rows,
        Line::Ratio,
        Line::Omega,
        Line::Judged,
        Line::Hajek,
        Line::DoublyRobust,
    ];

    fn name(self) -> &'static str {
        match self {
            Line::Observed => "observed",
            Line::Known => "one propensity per label, known",
            Line::Clipped => "the same, inverses clipped at 3",
            Line::Normalized => "the same, normalized",
            Line::Measured => "one propensity per label, measured",
            Line::Rows => "propensities by row, measured",
            Line::Ratio => "ratio of later and observed",
            Line::Omega => "missed labels (omega)",
            Line::Judged => "judged pairs",
            Line::Hajek => "shown pairs, self-normalised (hajek)",
            Line::DoublyRobust => "shown pairs, doubly robust",
        }
    }

    /// Whether it estimates the score on complete labels, so that its intervals are a claim about that.
    fn claims(self) -> bool {
        !matches!(self, Line::Observed | Line::Clipped | Line::Normalized)
    }

    /// Whether what it assumes holds, and its errors have to be small.
    fn holds(self, way: Way, metric: &str) -> bool {
        match self {
            Line::Known => way == Way::Independently || (way == Way::Together && metric == "precision"),
            Line::Omega => way != Way::LaterIncomplete,
            Line::Judged => way != Way::JudgesErr,
            Line::Hajek | Line::DoublyRobust => way != Way::ShownByRank,
            _ => false,
        }
    }
}

/// The error of one estimate in one repetition, and whether its interval covers the truth.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    line: Line,
    cell: usize,
    error: f64,
    covers: Option<bool>,
}

impl crate::sealed::Sealed for Robustness {}

impl Named for Robustness {
    fn name(&self) -> &'static str {
        "robustness"
    }
    fn summary(&self) -> &'static str {
        "errors of each estimate if labels do not go missing as it assumes, or its evidence is at fault"
    }
}

impl Experiment for Robustness {
    fn reproduces(&self) -> &'static str {
        "the assumptions of section 2, each violated in turn"
    }

    fn data_needed(&self) -> &'static str {
        "a survey"
    }

    fn duration(&self) -> Took {
        Took { quick: "2 min", full: "13 min" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let words = ["labels go missing", "estimate"].map(Column::new).into_iter();
        let numbers = CELLS.iter().map(|(metric, k)| Column::new(format!("{metric}@{k}")));
        let last = Column::new("intervals that hold").percent(0);
        let mut table = Table::new("robustness", words.chain(numbers).chain([last]))
            .titled("Mean error in points, with its standard error over repetitions, and how often 95 % intervals cover the truth");
        for way in Way::ALL {
            let (name, mut seen) = (way.name(), Vec::new());
            for repetition in 0..context.size.pick(2, 8, 40) {
                let seed = context.seed + repetition;
                let settings = json!([name, seed, repetition::sizes(context)]);
                let what = format!("labels missing {name}, {repetition}");
                seen.extend(context.part(&what, &settings, || repetition::run(context, way, seed))?);
            }
            add_lines(&mut table, &mut outcome, way, &seen);
        }
        outcome.tables.push(table);
        outcome.notes.push(
            "Known per-label propensities are the means over the rows that have the label: no estimate with one number per label \
             can do better. Clipped and normalized values do not estimate the score on complete labels. Judged pairs, omega, the \
             ratio and shown pairs estimate sums over labels only. Later labels are incomplete: a label is in them with probability 0.9; \
             judges err on 5 % of the pairs; a tenth of the pairs is shown."
                .into(),
        );
        Ok(outcome)
    }
}

/// Lines of one way, and what must hold of it.
fn add_lines(table: &mut Table, outcome: &mut Outcome, way: Way, seen: &[Seen]) {
    for line in way.lines() {
        let mut row = cells![way.name(), line.name()].to_vec();
        let of_line: Vec<&Seen> = seen.iter().filter(|seen| seen.line == *line).collect();
        for (cell, (metric, k)) in CELLS.iter().enumerate() {
            let errors: Vec<f64> = of_line.iter().filter(|seen| seen.cell == cell).map(|seen| 100.0 * seen.error).collect();
            let Some((mean, se)) = mean(&errors) else {
                row.extend(cells![Option::<String>::None]);
                continue;
            };
            row.extend(cells![format!("{mean:+.2} ({se:.2})")]);
            let what = format!("{metric}@{k}, labels missing {}: {}", way.name(), line.name());
            let found = format!("mean error {mean:+.2} points (SE {se:.2})");
            let is_right = mean.abs() < CLEAR * se || mean.abs() < SMALL;
            if line.holds(way, metric) {
                outcome.must(format!("{what} is right"), is_right, found);
            } else if !is_right && line.claims() {
                outcome.reports(format!("{what} is off"), found);
            }
        }
        let held: Vec<bool> = of_line.iter().filter_map(|seen| seen.covers).collect();
        let share = held.iter().filter(|holds| **holds).count() as f64 / held.len().max(1) as f64;
        row.extend(cells![(!held.is_empty()).then_some(share)]);
        table.row(row);
    }
}

/// Mean and its standard error.
fn mean(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (mean, (squares / (n - 1.0) / n).sqrt()))
}
