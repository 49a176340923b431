//! `frank-wolfe`: a line `a_j p + b_j` for each label, and every row gets the k labels that are highest by it.
//!
//! Labels of a row no longer depend on the other rows, so the lines are good for new rows, one at a time. The objective is seen as a
//! function of the labels' counts; in each step the lines at the present counts C give labels to all rows, whose counts are H, and
//! C moves to the best point between C and H. Every set of lines on the way is a rule of its own: the one whose own labels have the highest
//! value is kept.
//!
//! # Assumes
//! New rows that are like these, and about as many: counts are sums over rows. It is a worse optimum than [`bca`](super::bca) on the rows
//! themselves, since rows with equal probabilities cannot be treated differently. Abandonment is no function of the labels' counts, so it
//! is refused.
//!
//! # Reference
//! Schultheis, Kotłowski, Wydmuch, Babbar, Borman and Dembczyński, "Consistent algorithms for multi-label classification with macro-at-k
//! metrics", ICLR 2024.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! // By probability all rows would get label 0.
//! let scores = Scores::from_rows(6, (0..100).map(|i| [(0u32, 0.6f32), (1 + i % 4, 0.4), (5, 0.05)]))?;
//! let request = OptimizeRequest { metric: "macro-f".parse()?, method: "frank-wolfe".parse()?, k: 1, ..OptimizeRequest::default() };
//! let found = Optimization::new(&scores, OptimizeRequest { positives: "stored".parse()?, ..request })?.run()?;
//! assert_eq!(found.predictions.row(6).0, [3]);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Found, Method, Search};
use crate::error::{Error, Result};
use crate::optimize::choices::Choices;
use crate::optimize::terms::Counts;
use crate::predict::weighting::best_places;
use crate::spec::{Named, Spec};
use rayon::prelude::*;

/// See the module's page.
pub(super) struct FrankWolfe;

impl crate::sealed::Sealed for FrankWolfe {}

impl Named for FrankWolfe {
    fn name(&self) -> &'static str {
        "frank-wolfe"
    }
    fn summary(&self) -> &'static str {
        "a line a_j p + b_j for each label, which also chooses labels for single new rows"
    }
}

/// Points between two counts that are looked at, dense near the present ones.
const SHARES: [f64; 12] = [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85, 1.0];
/// Steps in a row that find no better lines.
const PATIENCE: usize = 5;

#[allow(private_interfaces, reason = "sealed: nobody else calls or implements it")]
impl Method for FrankWolfe {
    fn search(&self, search: &Search<'_>, spec: &Spec) -> Result<Found> {
        spec.allow(&[], &[])?;
        let Search { candidates, terms, .. } = *search;
        if terms.of_abandonment() != 0.0 {
            return Err(Error::value("'frank-wolfe' cannot optimise abandonment")
                .expected("objectives that are functions of the labels' counts")
                .hint("use the method 'bca'"));
        }
        let mut counts = search.counts.to_vec();
        let mut best = (search.start.clone(), vec![[1.0, 0.0]; terms.labels()], terms.of_labels(&counts));
        let (mut values, mut since, mut converged) = (Vec::new(), 0, false);
        for step in 0..search.sweeps {
            search.progress.begin(&format!("step {}", step + 1), candidates.rows() as u64);
            let lines: Vec<[f64; 2]> = counts.iter().enumerate().map(|(label, counts)| terms.line(label, *counts)).collect();
            let choices = by_lines(search, &lines)?;
            let of_lines = choices.counts(candidates, terms);
            let value = terms.of_labels(&of_lines);
            since = if value > best.2 + search.tolerance { 0 } else { since + 1 };
            if value > best.2 {
                best = (choices, lines, value);
            }
            values.push(best.2);
            let present = terms.of_labels(&counts);
            let moved = SHARES.map(|share| (terms.of_labels(&between(&counts, &of_lines, share)), share));
            let furthest = moved.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(value, _)| *value > present);
            let Some((_, share)) = furthest.filter(|_| since < PATIENCE) else {
                converged = true;
                break;
            };
            counts = between(&counts, &of_lines, share);
        }
        let (choices, lines, value) = best;
        Ok(Found { choices, lines, value, values, converged })
    }
}

fn between(from: &[Counts], to: &[Counts], share: f64) -> Vec<Counts> {
    let mix = |a: f64, b: f64| (1.0 - share) * a + share * b;
    let mixed = |(a, b): (&Counts, &Counts)| Counts {
        hits: mix(a.hits, b.hits),
        predicted: mix(a.predicted, b.predicted),
        missed: mix(a.missed, b.missed),
    };
    from.iter().zip(to).map(mixed).collect()
}

/// The labels that are highest by their lines, for all rows.
fn by_lines(search: &Search<'_>, lines: &[[f64; 2]]) -> Result<Choices> {
    const ROWS: usize = 1 << 11;
    let (candidates, rows) = (search.candidates, search.candidates.rows());
    let parts = (0..rows.div_ceil(ROWS)).into_par_iter().map_init(Default::default, |(scratch, best), part| {
        let rows = part * ROWS..rows.min((part + 1) * ROWS);
        let mut choices = Choices::none(rows.len(), search.k);
        for row in rows.clone() {
            let (ids, p) = candidates.row(row, scratch);
            best_places(ids, p, lines, search.k, search.at_most, best);
            let slots = choices.row_mut(row - rows.start).iter_mut();
            slots.zip(&*best).for_each(|(slot, (_, place))| *slot = *place);
        }
        search.progress.advance(rows.len() as u64)?;
        Ok(choices)
    });
    Ok(Choices::concatenated(search.k, parts.collect::<Result<Vec<Choices>>>()?))
}
