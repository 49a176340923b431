//! An evaluation in a few sentences.

use super::findings::Severity;
use super::ranking::{Cell, Ranking, listed};
use super::report::{EvaluationResult, Row};
use crate::metrics::Estimator;
use crate::numbers::four_digits;

/// Models that are named in the first sentence.
const NAMED: usize = 3;

impl EvaluationResult {
    /// What there is to say first: the observed score, how the models compare in it, and which findings are worth a look. It claims no more
    /// than intervals of paired differences allow.
    pub fn summary(&self) -> Vec<String> {
        let Some(first) = self.rows.first().filter(|row| row.estimator == Estimator::Observed) else { return self.look_at() };
        let is_here =
            |row: &&Row| (&row.metric, row.k, row.estimator) == (&first.metric, first.k, Estimator::Observed) && row.group == "all";
        let rows: Vec<&Row> = self.rows.iter().filter(is_here).collect();
        let score = |row: &&Row| {
            let percent = |value: f64| four_digits(100.0 * value, 1);
            let interval = row.low.zip(row.high).map_or(String::new(), |(low, high)| {
                let [low, high] = [low, high].map(|end| percent(end.max(0.0)));
                format!(" ({low} to {high})")
            });
            format!("{} {} %{interval}", row.model, percent(row.value.unwrap_or(0.0)))
        };
        let more = if rows.len() > NAMED { format!(" and {} more", rows.len() - NAMED) } else { String::new() };
        let named: Vec<String> = rows.iter().filter(|row| row.value.is_some()).take(NAMED).map(score).collect();
        let at = format!("{}@{}", first.metric, first.k);
        let mut lines = vec![format!("Observed {at}: {}{more}.", named.join(", "))];
        let models: Vec<&str> = rows.iter().map(|row| row.model.as_str()).collect();
        let level = self.level;
        let cell = Cell { metric: &first.metric, k: first.k, estimator: Estimator::Observed, propensity: None };
        lines.extend(Ranking::new(self, &cell, &models, level).map(|ranking| format!("As observed {}.", ranking.sentence())));
        lines.extend(self.look_at());
        lines
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
