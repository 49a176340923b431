//! Bounds of unbiased sums and of their differences when propensities per label are off.

use super::gains::{Cell, gains_of_hits};
use super::{Finish, Key, Source};
use crate::evaluate::plan::settings::{Kind, Term};
use crate::evaluate::report::{Comparison, Row};
use crate::evaluate::sensitivity::{SensitivityBounds, Slack};
use crate::evaluate::tally::exact_layout::slot;
use crate::metrics::Estimator;

/// Adds bounds to the rows and comparisons of unbiased sums of all labels, when they are asked for; gives notes.
pub(super) fn add(finish: &Finish<'_>, rows: &mut [Row], comparisons: &mut [Comparison]) -> Vec<String> {
    let Some(asked) = finish.settings.request.sensitivity else { return Vec::new() };
    let (settings, n, gamma) = (finish.settings, finish.n(), asked.gamma());
    let columns = settings.columns_of(Estimator::Unbiased);
    let is_sum = |term: &&Term| {
        let wants = settings.metrics[term.metric].wants(Estimator::Unbiased);
        wants && matches!(term.kind, Kind::Sum { by_relevant: false, pooled: false, .. })
    };
    for term in finish.terms.iter().filter(is_sum) {
        let name = settings.metrics[term.metric].name();
        for (ki, k) in settings.ks().iter().copied().enumerate() {
            let cell = Cell { term, ki, group: 0, column: 0 };
            let slack = |gains: &[(u32, f64)], column: usize| {
                let inverse = |label: u32| finish.tally.table.inverse_at(finish.tally.table.place(label))[column];
                Slack::of(gains.iter().map(|(label, gain)| (*gain, inverse(*label)))).scaled(n)
            };
            for (model, model_name) in settings.models.iter().enumerate() {
                let gains = gains_of_hits(finish.tally, cell, model, None);
                for column in &columns {
                    let origin = &settings.columns[*column].origin;
                    let is_it = |row: &&mut Row| {
                        (&row.metric, row.k, &row.propensity, &row.model) == (&name, k, origin, model_name)
                            && row.estimator == Estimator::Unbiased
                            && row.group == settings.groups[0].0
                    };
                    if let Some(row) = rows.iter_mut().find(is_it) {
                        row.sensitivity = Some(slack(&gains, *column).of_value(gamma));
                    }
                }
            }
            for (pair, (a, b)) in settings.pairs().into_iter().enumerate() {
                let gains = gains_of_hits(finish.tally, cell, a, Some(b));
                for column in &columns {
                    let key =
                        Key { metric: term.metric, ki, estimator: Estimator::Unbiased, source: Source::Column(*column), group: 0 };
                    let of_labels = slack(&gains, *column);
                    let slack = if asked.is_by_pair() { by_pair(finish, key, term, pair, of_labels) } else { of_labels };
                    let is_it = |c: &&mut Comparison| {
                        (&c.metric, c.k, &c.propensity) == (&name, k, &settings.columns[*column].origin)
                            && (&c.a, &c.b) == (&settings.models[a], &settings.models[b])
                            && c.estimator == Estimator::Unbiased
                            && c.group == settings.groups[0].0
                    };
                    if let Some(comparison) = comparisons.iter_mut().find(is_it) {
                        comparison.sensitivity = Some(slack.of_difference(gamma));
                    }
                }
            }
        }
    }
    notes(finish, gamma, asked.is_by_pair())
}

/// The slack of a difference when each pair has a factor of its own; what does not depend on the odds is the same.
fn by_pair(finish: &Finish<'_>, key: Key, term: &Term, pair: usize, of_labels: Slack) -> Slack {
    let place = finish.term(key).map_or(0, |(place, _)| place);
    let total = |slot: usize| finish.exact_total(finish.exact.slack_pair([pair, place, key.ki], slot, key.column())).value();
    let of_pairs = Slack { fixed: 0.0, up: total(slot::SLACK_UP), down: total(slot::SLACK_DOWN) };
    Slack { fixed: of_labels.fixed, ..of_pairs.scaled(finish.n() * term.scale(key.ki)) }
}

fn notes(finish: &Finish<'_>, gamma: f64, by_pair: bool) -> Vec<String> {
    let unit = if by_pair { "pair of a row and a label" } else { "label" };
    let mut notes = vec![format!(
        "sensitivity: bounds if the odds of being missed are off by at most a factor of {gamma} for each {unit}, without sampling error; \
         unbiased sums under propensities per label, all labels"
    )];
    let positives = &finish.tally.positives;
    for column in finish.settings.columns_of(Estimator::Unbiased) {
        let is_certain = |label: &&u32| finish.tally.table.inverse_at(finish.tally.table.place(**label))[column] <= 1.0;
        let certain = positives.ids.iter().filter(is_certain).count();
        if certain > 0 {
            let have = if certain == 1 { "has" } else { "have" };
            notes.push(format!(
                "sensitivity, {}: {certain} of {} observed labels {have} a propensity of 1, which no factor changes",
                finish.settings.columns[column].origin.as_deref().unwrap_or_default(),
                positives.ids.len()
            ));
        }
    }
    notes
}

/// The sensitivity of a lead, as words.
impl SensitivityBounds {
    /// At which factor another model may be first.
    pub fn flip(&self) -> String {
        self.flips_at.map_or("never".to_owned(), |gamma| format!("{gamma:.2}"))
    }
}
