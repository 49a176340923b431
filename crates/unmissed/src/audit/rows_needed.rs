//! How many rows useful intervals need; the formulas are in [`sample_size`].

use super::candidates::{Candidates, Known};
use super::checked::Checked;
use super::reference::{ModelRole, Reference, role_of};
use super::result::{CandidateKind, PropensityReport};
use super::standings::METRIC;
use super::wording::capital;
use crate::data::Rate;
use crate::evaluate::{EvaluationResult, Row};
use crate::metrics::Estimator;
use crate::propensity::estimators::Direct;
use crate::propensity::{Propensities, sample_size};
use serde::Serialize;

/// An interval of a propensity is useful when its ends are within this factor of it.
const USEFUL_FACTOR: f64 = 1.5;
/// An interval of a score is useful when it is at most this wide to either side.
const USEFUL_HALF_WIDTH: f64 = 0.02;

/// How many rows an interval would take to be useful.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowsNeeded {
    /// Which rows are meant: `controlled` or `test`.
    pub rows_of: &'static str,
    /// How many there are.
    pub have: u64,
    /// How many it takes; `None` when no number is enough.
    pub needed: Option<u64>,
    /// The same as a sentence.
    pub sentence: String,
}

/// The rows that the best intervals of an audit lack.
pub(super) fn rows_needed(
    checked: &Checked<'_>,
    candidates: &Candidates,
    evaluation: &EvaluationResult,
    reports: &[PropensityReport],
    references: &[Reference],
) -> Vec<RowsNeeded> {
    let mut needed = Vec::new();
    let best = candidates.all.iter().rfind(|candidate| candidate.kind == CandidateKind::Estimated);
    if let (Some(direct), Some(Known::Controlled { rate, .. }), Some(best)) = (&candidates.direct, &checked.known, best) {
        needed.extend(for_propensities(direct, rate, &best.propensities, checked.request.level.get()));
    }
    // The score that is nearest to the truth: estimated, else by a known rate, else as observed.
    let is_best = |row: &&Row| match (best, &checked.test_rate) {
        (Some(best), _) => {
            row.estimator == Estimator::Unbiased && row.propensity.as_deref() == Some(&best.propensities.origin().to_string())
        }
        (None, Some(_)) => row.estimator == Estimator::Unbiased,
        (None, None) => row.estimator == Estimator::Observed,
    };
    let k = checked.request.k.first();
    let rows = evaluation.rows.iter().filter(|row| row.metric == METRIC && row.k == k && row.group == "all").filter(is_best);
    let rows = rows.filter(|row| role_of(references, &row.model) == ModelRole::Audited);
    let name = |row: &Row| {
        let origin = row.propensity.as_deref()?;
        Some(reports.iter().find(|report| report.origin == origin).map_or(origin.to_owned(), |report| report.name.clone()))
    };
    needed.extend(rows.filter_map(|row| for_score(row, name(row).as_deref())));
    needed
}

/// Rows of a controlled set for useful intervals of most labels.
fn for_propensities(direct: &Direct, rate: &Rate, best: &Propensities, level: f64) -> Option<RowsNeeded> {
    let rows = direct.sample().rows as u64;
    let observed: Vec<usize> = (0..direct.len()).filter(|label| direct.count(*label) > 0).collect();
    let within = |label: &&usize| {
        let Some(interval) = direct.interval(**label) else { return false };
        interval.low > 0.0 && interval.high / interval.low <= USEFUL_FACTOR * USEFUL_FACTOR
    };
    let useful = observed.iter().filter(within).count();
    let needed = |label: &usize| {
        let p = best.get(*label as u32);
        sample_size::controlled_rows(direct.count(*label), rows, p, rate.of(*label), USEFUL_FACTOR, level)
    };
    let mut reachable: Vec<f64> = observed.iter().filter_map(needed).collect();
    reachable.sort_by(f64::total_cmp);
    let have = direct.controlled_rows();
    let too_rare = observed.len() - reachable.len();
    let half = observed.len().div_ceil(2);
    let start = format!(
        "With {have} controlled rows, {useful} of {} observed labels have a propensity whose {:.0} % interval stays within a \
         factor of {USEFUL_FACTOR}.",
        observed.len(),
        100.0 * level
    );
    let end = match too_rare {
        0 => String::new(),
        1 => " One label is too rare in training for any number of rows: only a curve through all labels helps.".into(),
        more => format!(" {more} labels are too rare in training for any number of rows: only a curve through all labels helps."),
    };
    let middle = half.checked_sub(1)?;
    let needed = reachable.get(middle).map(|rows| rows.ceil() as u64);
    let sentence = match (needed, reachable.last()) {
        (Some(rows), _) if rows > have => {
            format!("{start} Half of the labels need about {}, that is {} more.{end}", count(rows), count(rows - have))
        }
        (Some(_), _) => format!("{start} That is enough for half of the labels.{end}"),
        (None, Some(rows)) => format!(
            "{start} The {} labels that are frequent enough in training need about {}, that is {} more.{end}",
            reachable.len(),
            count(rows.ceil() as u64),
            count((rows.ceil() as u64).saturating_sub(have))
        ),
        (None, None) => format!("{start}{end}"),
    };
    let needed = needed.or(reachable.last().map(|rows| rows.ceil() as u64));
    Some(RowsNeeded { rows_of: "controlled", have, needed, sentence })
}

/// Test rows for a useful interval of a score; `None` when it is useful already.
fn for_score(row: &Row, name: Option<&str>) -> Option<RowsNeeded> {
    let half_width = (row.high? - row.low?) / 2.0;
    if half_width <= USEFUL_HALF_WIDTH {
        return None;
    }
    let needed = sample_size::rows_for(half_width, row.n as f64, USEFUL_HALF_WIDTH).ceil() as u64;
    let with = name.map_or(String::new(), |name| format!(" with {name}"));
    let sentence = format!(
        "{} {}@{} of {}{with} is {:.1} % ± {:.1} points with {} test rows; ± {:.0} points need about {}, as far as the interval \
         comes from the rows and not from the propensities.",
        capital(row.estimator.name()),
        row.metric,
        row.k,
        row.model,
        100.0 * row.value?,
        100.0 * half_width,
        row.n,
        100.0 * USEFUL_HALF_WIDTH,
        count(needed),
    );
    Some(RowsNeeded { rows_of: "test", have: row.n, needed: Some(needed), sentence })
}

/// Nobody has more rows than this; an interval that is wide enough asks for any number.
const MOST_ROWS: u64 = 1_000_000_000_000;

/// Two digits are all that such a number is worth.
fn count(rows: u64) -> String {
    if rows > MOST_ROWS {
        return format!("more than {}", count(MOST_ROWS));
    }
    let digits = rows.checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(1));
    let rounded = rows.div_ceil(unit) * unit;
    let text = rounded.to_string();
    let grouped: Vec<&str> = text.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    format!("{} rows", grouped.join("\u{202f}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::LabelStats;
    use crate::propensity::estimators::direct::direct;

    #[test]
    fn numbers_of_rows_are_rounded_up_to_two_digits() {
        assert_eq!([7, 101, 1524, 123_456].map(count), ["7 rows", "110 rows", "1\u{202f}600 rows", "130\u{202f}000 rows"]);
        let trillion = "1\u{202f}000\u{202f}000\u{202f}000\u{202f}000 rows";
        assert_eq!(
            [MOST_ROWS, MOST_ROWS + 1, u64::MAX].map(count),
            [trillion.into(), format!("more than {trillion}"), format!("more than {trillion}")]
        );
    }

    #[test]
    fn the_median_label_decides_and_rare_labels_are_counted() {
        let train = LabelStats::from_counts(1000, &[100, 100, 100, 5]).unwrap();
        let controlled = LabelStats::from_counts(50, &[1, 1, 1, 0]).unwrap();
        let rates = Rate::Common(0.1);
        let direct = direct(&train, &controlled, &rates, 0.95).unwrap();
        let best = Propensities::new("x", vec![0.5; 4]).unwrap();
        let need = for_propensities(&direct, &rates, &best, 0.95).unwrap();
        // The example of the formula's page.
        assert_eq!((need.have, need.needed), (50, Some(1525)));
        assert!(need.sentence.contains("0 of 4 observed labels") && need.sentence.contains("One label is too rare"), "{need:?}");
    }
}
