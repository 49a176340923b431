//! `bca`: block coordinate ascent. Each row in turn is given the labels that are best while all other rows stay fixed.
//!
//! Without row i, label j has the line `a_j p + b_j` ([`Terms`](crate::optimize::Terms)); the k labels with the highest `a_j p_ij + b_j`
//! are the best choice for row i. No step lowers the objective. Rows come in a random order, another one in each sweep (of many rows, in blocks of 32); the search ends when a
//! sweep improves the objective by less than the tolerance, or changes no row. `bca:start=top` starts from the most probable labels
//! (default), `bca:start=greedy` from a first sweep over rows without labels. One step depends on the one before, so there are no threads
//! here.
//!
//! # Assumes
//! Nothing; what it finds is a local optimum: no other choice for any single row is better.
//!
//! # Reference
//! Schultheis, Wydmuch, Kotłowski, Babbar and Dembczyński, "Generalized test utilities for long-tail performance in extreme multi-label
//! classification", NeurIPS 2023.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! // Two rows alike: by probability both would get label 0, but coverage wants each label once.
//! let scores = Scores::from_rows(2, [[(0, 0.9f32), (1, 0.8)], [(0, 0.9), (1, 0.8)]])?;
//! let request = OptimizeRequest { metric: "coverage".parse()?, method: "bca".parse()?, k: 1, ..OptimizeRequest::default() };
//! let found = Optimization::new(&scores, OptimizeRequest { positives: "stored".parse()?, ..request })?.run()?;
//! let mut labels = [found.predictions.row(0).0[0], found.predictions.row(1).0[0]];
//! labels.sort_unstable();
//! assert_eq!(labels, [0, 1]);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::step::{Work, step};
use super::{Found, Method, Search, greedy};
use crate::error::{Error, Result};
use crate::optimize::choices::{Choices, State};
use crate::optimize::terms::Counts;
use crate::rng::{Purpose, below, stream};
use crate::spec::{Named, Spec};

/// See the module's page.
pub(super) struct BlockCoordinateAscent;

impl crate::sealed::Sealed for BlockCoordinateAscent {}

impl Named for BlockCoordinateAscent {
    fn name(&self) -> &'static str {
        "bca"
    }
    fn summary(&self) -> &'static str {
        "block coordinate ascent: each row in turn gets its best labels until nothing improves; bca:start=top or greedy"
    }
}

#[allow(private_interfaces, reason = "sealed: nobody else calls or implements it")]
impl Method for BlockCoordinateAscent {
    fn search(&self, search: &Search<'_>, spec: &Spec) -> Result<Found> {
        spec.allow(&["start"], &[])?;
        let start = match spec.get("start") {
            None | Some("top") => (search.start.clone(), search.counts.to_vec()),
            Some("greedy") => greedy::start(search),
            Some(other) => {
                return Err(Error::value(format!("unknown start of '{spec}'"))
                    .expected("top or greedy")
                    .found(format!("'{other}'")));
            }
        };
        ascend(search, start, search.sweeps)
    }
}

/// Rows between two checks whether to stop the search.
const BETWEEN: usize = 1 << 12;
/// Of more rows than this, neighbours stay together when rows are shuffled: the scores of rows in any order would all have to be waited for.
const MANY: usize = 1 << 16;
const TOGETHER: usize = 32;

/// Searches from choices with these counts.
pub(super) fn ascend(search: &Search<'_>, (mut choices, counts): (Choices, Vec<Counts>), sweeps: usize) -> Result<Found> {
    let rows = search.candidates.rows();
    let together = if rows > MANY { TOGETHER } else { 1 };
    let mut order: Vec<u32> = (0..rows.div_ceil(together) as u32).collect();
    let (mut work, mut values, mut converged) = (Work::default(), Vec::new(), false);
    let mut state = State::new(counts, search.terms);
    let mut before = state.value(&choices, search.candidates);
    for sweep in 0..sweeps {
        search.progress.begin(&format!("sweep {}", sweep + 1), rows as u64);
        shuffle(&mut order, search.seed, sweep as u64);
        let mut is_changed = false;
        for part in order.chunks(BETWEEN) {
            let mut done = 0;
            for (block, at) in part.iter().zip(1..) {
                if let Some(next) = part.get(at) {
                    search.candidates.prefetch(*next as usize * together);
                }
                let first = *block as usize * together;
                let block = first..rows.min(first + together);
                done += block.len() as u64;
                block.for_each(|row| is_changed |= step(search, &mut state, &mut choices, row, &mut work));
            }
            search.progress.advance(done)?;
        }
        let value = state.value(&choices, search.candidates);
        values.push(value);
        // Counted anew, so that rounding does not add up.
        state = State::new(choices.counts(search.candidates, search.terms), search.terms);
        if !is_changed || value - before < search.tolerance {
            converged = true;
            break;
        }
        before = value;
    }
    let (lines, value) = (state.lines(), state.value(&choices, search.candidates));
    Ok(Found { choices, lines, value, values, converged })
}

fn shuffle(order: &mut [u32], seed: u64, sweep: u64) {
    let mut rng = stream(seed, Purpose::OptimizeOrder, sweep);
    for last in (1..order.len()).rev() {
        order.swap(last, below(&mut rng, last as u64 + 1) as usize);
    }
}
