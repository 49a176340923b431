//! `greedy`: one pass over the rows, each of which is given the labels that are best with the rows before it.
//!
//! It is the first sweep of [`bca`] over rows without labels, as if they arrived one at a time, and costs one pass.
//!
//! # Assumes
//! Rows come in a random order, which is made here.
//!
//! # Reference
//! Schultheis, Wydmuch, Kotłowski, Babbar and Dembczyński, "Generalized test utilities for long-tail performance in extreme multi-label
//! classification", NeurIPS 2023.
//!
//! ```
//! use unmissed::{data::Scores, optimize::Optimization, request::OptimizeRequest};
//! // Two rows alike: by probability both would get label 0, but coverage wants each label once.
//! let scores = Scores::from_rows(2, [[(0, 0.9f32), (1, 0.8)], [(0, 0.9), (1, 0.8)]])?;
//! let request = OptimizeRequest { metric: "coverage".parse()?, method: "greedy".parse()?, k: 1, ..OptimizeRequest::default() };
//! let found = Optimization::new(&scores, OptimizeRequest { positives: "stored".parse()?, ..request })?.run()?;
//! let mut labels = [found.predictions.row(0).0[0], found.predictions.row(1).0[0]];
//! labels.sort_unstable();
//! assert_eq!(labels, [0, 1]);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Found, Method, Search, bca};
use crate::error::Result;
use crate::optimize::choices::Choices;
use crate::optimize::terms::Counts;
use crate::spec::{Named, Spec};

/// See the module's page.
pub(super) struct Greedy;

impl crate::sealed::Sealed for Greedy {}

impl Named for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }
    fn summary(&self) -> &'static str {
        "one pass: each row gets the labels that are best with the rows before it"
    }
}

#[allow(private_interfaces, reason = "sealed: nobody else calls or implements it")]
impl Method for Greedy {
    fn search(&self, search: &Search<'_>, spec: &Spec) -> Result<Found> {
        spec.allow(&[], &[])?;
        let found = bca::ascend(search, start(search), 1)?;
        Ok(Found { converged: true, ..found })
    }
}

/// Rows without labels, and the counts of that.
pub(super) fn start(search: &Search<'_>) -> (Choices, Vec<Counts>) {
    (Choices::none(search.candidates.rows(), search.k), vec![Counts::default(); search.terms.labels()])
}
