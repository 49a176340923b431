//! `greedy`: one pass over the rows, each of which is given the labels that are best with the rows before it.
//!
//! It is the first sweep of [`bca`] over rows without labels, as if they arrived one at a time, and costs one pass.
//!
//! # Assumes
//! Rows come in a random order, which is made here.
//!
//! # Reference
//! Schultheis, Wydmuch, Kotłowski, Babbar and Dembczyński, NeurIPS 2023.

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
