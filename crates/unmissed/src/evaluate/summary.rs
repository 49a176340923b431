//! An evaluation in a few sentences.

use super::ROWS;
use super::findings::Severity;
use super::ranking::{ComparedScore, Ranking, listed};
use super::report::{EvaluationResult, Row};
use crate::metrics::Estimator;
use crate::numbers::four_digits;

/// Models that are named in the first sentence.
const NAMED: usize = 3;

/// Estimates that are named before what is observed, the one that assumes least first, with how they are called.
const BETTER: [(Estimator, Option<&str>, &str); 5] = [
    (Estimator::Judged, None, "by judged pairs"),
    (Estimator::Hajek, None, "by the pairs that were shown"),
    (Estimator::Omega, None, "by the labels that were missed on matched rows"),
    (Estimator::Unbiased, Some(ROWS), "with propensities by row"),
    (Estimator::Ratio, Some(ROWS), "by the ratio of later and observed labels"),
];

impl EvaluationResult {
    /// What there is to say first: the score, estimated where something was measured and observed otherwise, how the models compare in
    /// it, and which findings are worth a look. It claims no more than intervals of paired differences allow.
    pub fn summary(&self) -> Vec<String> {
        let Some(first) = self.rows.first().filter(|row| row.estimator == Estimator::Observed) else { return self.look_at() };
        let cell = |estimator, propensity| ComparedScore { metric: &first.metric, k: first.k, estimator, propensity };
        let observed = cell(Estimator::Observed, None);
        let of_observed = self.rows_of(&observed);
        let better = BETTER.iter().map(|(estimator, propensity, called)| (cell(*estimator, *propensity), *called));
        let is_whole = |(cell, _): &(ComparedScore<'_>, &str)| {
            self.rows_of(cell).iter().filter(|row| row.value.is_some()).count() == of_observed.len()
        };
        let at = format!("{}@{}", first.metric, first.k);
        let mut lines = Vec::new();
        let believed = better.into_iter().find(is_whole);
        if let Some((cell, called)) = &believed {
            lines.push(format!("{}{} {called}: {}.", at[..1].to_uppercase(), &at[1..], scores(&self.rows_of(cell))));
        }
        lines.push(format!("Observed {at}: {}.", scores(&of_observed)));
        let models: Vec<&str> = of_observed.iter().map(|row| row.model.as_str()).collect();
        let (cell, called) = believed.unwrap_or((observed, "as observed"));
        let ranking = Ranking::new(self, &cell, &models, self.level);
        // Without intervals nothing can be said, and nothing is.
        let ranking = ranking.filter(|ranking| ranking.leads.iter().any(|lead| lead.low.is_some()));
        lines.extend(ranking.map(|ranking| format!("{}{} {}.", called[..1].to_uppercase(), &called[1..], ranking.sentence())));
        lines.extend(self.look_at());
        lines
    }

    /// The values of a cell, of all labels.
    fn rows_of(&self, cell: &ComparedScore<'_>) -> Vec<&Row> {
        let is_here = |row: &&Row| {
            (row.metric.as_str(), row.k, row.estimator, row.propensity.as_deref())
                == (cell.metric, cell.k, cell.estimator, cell.propensity)
                && row.group == "all"
        };
        self.rows.iter().filter(is_here).collect()
    }

    fn look_at(&self) -> Vec<String> {
        let mut codes: Vec<&str> =
            self.findings.iter().filter(|finding| finding.severity > Severity::Info).map(|finding| finding.code.as_str()).collect();
        codes.dedup();
        match codes.len() {
            0 => Vec::new(),
            1 => vec![format!("Finding {} is worth a look.", codes[0])],
            _ => vec![format!("Findings {} are worth a look.", listed(&codes))],
        }
    }
}

/// Models with their values and intervals, the first of them.
fn scores(rows: &[&Row]) -> String {
    let percent = |value: f64| four_digits(100.0 * value, 1);
    let score = |row: &&&Row| {
        let interval = row.low.zip(row.high).map_or(String::new(), |(low, high)| {
            let [low, high] = [low, high].map(|end| percent(end.max(0.0)));
            format!(" ({low} to {high})")
        });
        format!("{} {} %{interval}", row.model, percent(row.value.unwrap_or(0.0)))
    };
    let more = if rows.len() > NAMED { format!(" and {} more", rows.len() - NAMED) } else { String::new() };
    let named: Vec<String> = rows.iter().filter(|row| row.value.is_some()).take(NAMED).map(|row| score(&row)).collect();
    format!("{}{more}", named.join(", "))
}
