//! The plan of an evaluation: what is computed, settled before any row is looked at.
//!
//! [`choose`] decides which estimators of which metrics there are, and explains why not the others; [`settings`] is what it settled
//! on. [`columns`] fills the [`table`] of inverse propensities by label that the pass looks up. [`Plan`] has all that a pass over rows
//! needs.

mod choose;
mod classes;
mod columns;
pub mod controlled;
pub(in crate::evaluate) mod groups;
pub(in crate::evaluate) mod settings;
pub(in crate::evaluate) mod table;

use self::settings::{Kind, Settings, Term};
use self::table::Table;
use crate::data::{Csr, Labels};
use crate::error::Result;
use crate::evaluate::builder::Evaluation;
use crate::evaluate::tally::layout::Layout;
use crate::metrics::Estimator;
use crate::request::IntervalKind;

/// What the pass needs to know.
pub(in crate::evaluate) struct Plan<'a> {
    pub(in crate::evaluate) settings: &'a Settings,
    pub(in crate::evaluate) terms: Vec<Term>,
    pub(in crate::evaluate) layout: Layout,
    pub(in crate::evaluate) table: &'a Table,
    pub(in crate::evaluate) truth: &'a Labels<'a>,
    pub(in crate::evaluate) models: Vec<&'a Csr<'a, f32>>,
    pub(in crate::evaluate) shown: Option<&'a Labels<'a>>,
    /// How many relevant labels each row has, when that is given.
    pub(in crate::evaluate) label_counts: Option<&'a [u32]>,
    /// For a set shown without replacement: the estimate of abandonment by the number of hits.
    pub(in crate::evaluate) abandonment: Option<Vec<f64>>,
    pub(in crate::evaluate) needs_best: bool,
    pub(in crate::evaluate) mask: bool,
    /// The column of the propensities when there is one set of them.
    pub(in crate::evaluate) only_column: Option<usize>,
}

impl<'a> Plan<'a> {
    /// The plan of an evaluation with its settings and table.
    pub(in crate::evaluate) fn new(evaluation: &'a Evaluation<'a>, settings: &'a Settings, table: &'a Table) -> Result<Plan<'a>> {
        let terms = settings.terms()?;
        let layout = Layout::new(settings, terms.len());
        let wants = |estimator| settings.metrics.iter().any(|chosen| chosen.wants(estimator));
        let has_product = terms.iter().any(|term| matches!(term.kind, Kind::Product));
        Ok(Plan {
            settings,
            layout,
            table,
            truth: evaluation.truth,
            models: evaluation.models.iter().map(|(_, scores)| *scores).collect(),
            shown: evaluation.shown.filter(|_| settings.hajek),
            label_counts: evaluation.label_counts.as_deref(),
            abandonment: settings.controlled.filter(|_| has_product).map(|(shown, of)| {
                let most = settings.depth.min(shown as usize);
                controlled::abandonment(shown, of, most)
            }),
            needs_best: wants(Estimator::Normalized),
            only_column: settings.only_column(),
            mask: settings.interval == IntervalKind::Mask,
            terms,
        })
    }

    /// Words that hold the hits of one row.
    pub(in crate::evaluate) fn words(&self) -> usize {
        self.settings.depth.div_ceil(64)
    }

    /// Where the row terms of (model, term, k) are among those of the row.
    #[inline(always)]
    pub(in crate::evaluate) fn term_at(&self, model: usize, term: usize, k: usize) -> usize {
        ((model * self.terms.len() + term) * self.settings.ks.len() + k) * self.layout.width
    }
}
