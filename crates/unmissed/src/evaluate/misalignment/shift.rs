//! Ids that are off by one: predictions counted from 1 and labels from 0, or the other way round.

use super::lists::{Alignment, DEPTH, Lists};
use crate::evaluate::findings::{Finding, U016};

/// How many times more hits another id must give.
const MANIFOLD: f64 = 3.0;
/// Standard errors beyond which that is not chance.
const CLEAR: f64 = 5.0;
/// How many times more hits than on other rows: frequent labels are found anywhere.
const BEYOND_OTHER_ROWS: f64 = 1.5;

pub(super) fn finding(name: &str, lists: &Lists<'_>) -> Option<Finding> {
    [-1, 1].into_iter().find_map(|ids| {
        let compared = lists.compare(Alignment { ids, ..Alignment::GIVEN });
        if compared.other < MANIFOLD * compared.given || compared.z < CLEAR {
            return None;
        }
        let chance = lists.chance(ids);
        let beyond = compared.other > BEYOND_OTHER_ROWS * chance.mean && compared.other > chance.mean + CLEAR * chance.sd;
        beyond.then(|| {
            let rate = |hits: f64| 100.0 * hits / lists.places().max(1) as f64;
            let (how, cause) = if ids < 0 { ("smaller", "from 1") } else { ("larger", "from a later id") };
            let text = format!(
                "if every label of {name} were one {how}, {:.1} % of its top {DEPTH} would be observed instead of {:.1} % ({} rows): its \
                 ids are probably counted {cause}",
                rate(compared.other),
                rate(compared.given),
                lists.len()
            );
            Finding::new(&U016, text)
        })
    })
}
