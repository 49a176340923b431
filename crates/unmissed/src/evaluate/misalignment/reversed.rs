//! Inverted scores: probabilities of the complement, distances or ranks.

use super::lists::{Lists, exchanged};
use crate::data::{Csr, Labels};
use crate::evaluate::findings::{Finding, U023};
use crate::top_k::Key;

/// How many times more often the label of the lowest score must be observed.
const MANIFOLD: f64 = 1.5;
/// Standard errors beyond which that is not chance.
const CLEAR: f64 = 6.0;

/// The labels of the highest and of the lowest score, where they differ.
fn ends(scores: &Csr<'_, f32>, row: usize) -> Option<[u32; 2]> {
    let (ids, values) = scores.row(row);
    let keys = || ids.iter().zip(values).map(|(id, value)| (Key::new(*value, *id), *value));
    let (first, highest) = keys().min_by_key(|(key, _)| *key)?;
    // Among equals the smaller label comes first, whichever end it is.
    let lowest = values.iter().copied().fold(f32::INFINITY, f32::min);
    let last = keys().filter(|(_, value)| *value == lowest).map(|(key, _)| key.label()).min()?;
    (highest > lowest).then_some([first.label(), last])
}

pub(super) fn finding(name: &str, truth: &Labels<'_>, scores: &Csr<'_, f32>, lists: &Lists<'_>) -> Option<Finding> {
    let rows: Vec<(usize, [u32; 2])> = lists.rows().iter().filter_map(|row| Some((*row, ends(scores, *row)?))).collect();
    let has = |row: usize, label: u32| truth.row_ids(row).contains(&label);
    let (mut first, mut last, mut differ) = (0.0, 0.0, 0.0);
    for (row, [highest, lowest]) in &rows {
        let (of_first, of_last) = (has(*row, *highest), has(*row, *lowest));
        first += f64::from(u8::from(of_first));
        last += f64::from(u8::from(of_last));
        differ += f64::from(u8::from(of_first != of_last));
    }
    let z = if differ > 0.0f64 { (last - first) / differ.sqrt() } else { 0.0 };
    if last < MANIFOLD * first || z < CLEAR {
        return None;
    }
    let chance = exchanged(rows.len(), |place, other| u32::from(has(rows[other].0, rows[place].1[1])));
    (last > MANIFOLD * chance.mean && last > chance.mean + CLEAR * chance.sd).then(|| {
        let rate = |hits: f64| 100.0 * hits / rows.len() as f64;
        let text = format!(
            "the label with the lowest score of {name} is observed in {:.1} % of {} rows, the label with the highest in {:.1} %: \
             its scores are probably probabilities of the complement, distances or ranks",
            rate(last),
            rows.len(),
            rate(first)
        );
        Finding::new(&U023, text)
    })
}
