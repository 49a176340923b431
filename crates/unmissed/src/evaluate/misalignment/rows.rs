//! Rows in another order: lists that fit the labels of their rows no better than those of others.

use super::lists::{Alignment, DEPTH, Lists};
use crate::evaluate::findings::{Finding, U017};

/// How many times more hits the neighbouring row must give.
const MANIFOLD: f64 = 2.0;
/// Standard errors beyond which that is not chance.
const CLEAR: f64 = 5.0;
/// Rows without which chance decides.
const LEAST_ROWS: usize = 50;
/// Share of the lists that must differ from row to row.
const LEAST_TELLING: f64 = 0.2;
/// Hits on other rows must be this many standard deviations of theirs, so that a model with any use would show.
const LEAST_POWER: f64 = 6.0;
/// Hits beyond those of blind guesses, as a factor and in standard deviations: less, and the model has learned nothing in whatever order.
const LEARNED: (f64, f64) = (1.3, 4.0);
/// Hits beyond those on other rows that still count as none, in their standard deviations and as a factor.
const NO_BETTER: (f64, f64) = (2.0, 1.2);

pub(super) fn finding(name: &str, lists: &Lists<'_>) -> Option<Finding> {
    let chance = lists.chance(0);
    let rate = |hits: f64| 100.0 * hits / lists.places().max(1) as f64;
    for rows in [-1, 1] {
        let compared = lists.compare(Alignment { rows, ..Alignment::GIVEN });
        let manifold = compared.other >= MANIFOLD * compared.given && compared.z >= CLEAR;
        if manifold && compared.other > MANIFOLD * chance.mean {
            let which = if rows < 0 { "before" } else { "after" };
            let text = format!(
                "{:.1} % of the top {DEPTH} of {name} are labels of the row {which} it, {:.1} % of its own ({} rows): a line is \
                 missing or extra at the start of one of the files",
                rate(compared.other),
                rate(compared.given),
                lists.len()
            );
            return Some(Finding::new(&U017, text));
        }
    }
    let given = lists.given();
    let varies = lists.len() >= LEAST_ROWS && lists.telling() as f64 >= LEAST_TELLING * lists.places() as f64;
    let blind = lists.blind();
    let has_learned = chance.mean >= LEARNED.0 * blind && chance.mean >= blind + LEARNED.1 * chance.sd;
    let would_show = has_learned && chance.mean >= LEAST_POWER * chance.sd && chance.mean > 0.0;
    let no_better = given <= chance.mean + NO_BETTER.0 * chance.sd && given <= NO_BETTER.1 * chance.mean;
    (varies && would_show && no_better).then(|| {
        let text = format!(
            "{:.1} % of the top {DEPTH} of {name} are labels of their rows, {:.1} % are labels of any other row, although the lists differ \
             from row to row ({} rows): its rows are in another order, or the model ignores them",
            rate(given),
            rate(chance.mean),
            lists.len()
        );
        Finding::new(&U017, text)
    })
}
