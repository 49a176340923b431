//! The result of an experiment: tables, charts, claims and notes.

use crate::report::plot::Chart;
use crate::report::{Column, Table};
use serde::Serialize;

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// It must hold, and does.
    Holds,
    /// It must hold, and does not.
    Fails,
    /// It need not hold: this is what came out.
    Reported,
}

impl ClaimVerdict {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            ClaimVerdict::Holds => "holds",
            ClaimVerdict::Fails => "FAILS",
            ClaimVerdict::Reported => "reported",
        }
    }
}

/// A claim, and what came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The claim.
    pub what: String,
    /// Whether it was.
    pub verdict: ClaimVerdict,
    /// What came out, with numbers.
    pub found: String,
}

/// What an experiment leaves.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Tables; their names are those of their files.
    pub tables: Vec<Table>,
    /// Charts, each with the name of its file.
    pub charts: Vec<(String, Chart)>,
    /// The claim.
    pub claims: Vec<Claim>,
    /// What readers should know: where numbers differ from the paper's and why, what was not run.
    pub notes: Vec<String>,
}

impl Outcome {
    /// An outcome without anything.
    pub fn new() -> Outcome {
        Outcome::default()
    }

    /// Says what was not run because data are missing.
    pub(super) fn not_run(&mut self, what: &str, needs: &str) {
        self.notes.push(format!("Not run: {what} needs {needs}."));
    }

    /// Adds something that must hold.
    pub(super) fn must(&mut self, what: impl Into<String>, holds: bool, found: impl Into<String>) {
        let verdict = if holds { ClaimVerdict::Holds } else { ClaimVerdict::Fails };
        self.claims.push(Claim { what: what.into(), verdict, found: found.into() });
    }

    /// Adds something that need not hold.
    pub(super) fn reports(&mut self, what: impl Into<String>, found: impl Into<String>) {
        self.claims.push(Claim { what: what.into(), verdict: ClaimVerdict::Reported, found: found.into() });
    }

    /// The claims as a table; `None` when there are none.
    pub fn claims_table(&self, name: &str) -> Option<Table> {
        let columns = ["claim", "verdict", "result"].map(Column::new);
        let mut table = Table::new(format!("{name}_claims"), columns).titled("Claims");
        for claim in &self.claims {
            table.row(crate::cells![claim.what.clone(), claim.verdict.name(), claim.found.clone()]);
        }
        (!self.claims.is_empty()).then_some(table)
    }

    /// Claims that must hold and do not.
    pub fn failures(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Fails)
    }
}
