//! The plan of an evaluation: what is computed, settled before the pass looks at any row.
//!
//! `choose.rs` decides which estimators of which metrics there are, and explains why not the others; [`settings`] is what it settled
//! on. `columns.rs` fills the [`table`] of inverse propensities by label that the pass looks up, `bounds.rs` knows how large row terms
//! can get, `meaningless.rs` which estimates would have no digits. [`row_dependent`], [`guesses`] and [`omega`] prepare what row-dependent
//! propensities, doubly robust and omega estimates need. [`Plan`] has
//! all that a pass over rows needs.

mod bounds;
mod choose;
mod classes;
mod columns;
pub mod controlled;
pub(in crate::evaluate) mod groups;
pub(in crate::evaluate) mod guesses;
pub(in crate::evaluate) mod matched_findings;
pub(in crate::evaluate) mod meaningless;
pub(in crate::evaluate) mod omega;
pub(in crate::evaluate) mod row_dependent;
pub(in crate::evaluate) mod settings;
pub(in crate::evaluate) mod settle;
pub(in crate::evaluate) mod table;

use self::guesses::Robust;
use self::omega::OmegaFit;
use self::row_dependent::RowFitPlan;
use self::settings::{Kind, Settings, Term};
use self::table::Table;
use crate::data::{Csr, Labels};
use crate::error::{Error, Result};
use crate::evaluate::Groups;
use crate::evaluate::builder::Evaluation;
use crate::evaluate::tally::exact_layout::ExactLayout;
use crate::evaluate::tally::fixed::{BLOCK, Magic, Scale};
use crate::evaluate::tally::layout::Layout;

/// What the pass needs to know.
pub(in crate::evaluate) struct Plan<'a> {
    pub(in crate::evaluate) settings: &'a Settings,
    pub(in crate::evaluate) evaluation: &'a Evaluation<'a>,
    pub(in crate::evaluate) terms: Vec<Term>,
    pub(in crate::evaluate) layout: Layout,
    pub(in crate::evaluate) exact: ExactLayout,
    pub(in crate::evaluate) table: &'a Table,
    pub(in crate::evaluate) truth: &'a Labels<'a>,
    pub(in crate::evaluate) models: Vec<&'a Csr<'a, f32>>,
    pub(in crate::evaluate) groups: Option<&'a Groups>,
    pub(in crate::evaluate) shown: Option<&'a Labels<'a>>,
    /// How many relevant labels each row has, when that is given.
    pub(in crate::evaluate) label_counts: Option<&'a [u32]>,
    /// For a set shown without replacement: the estimate of abandonment by the number of hits.
    pub(in crate::evaluate) abandonment: Option<Vec<f64>>,
    pub(in crate::evaluate) needs_best: bool,
    pub(in crate::evaluate) mask: bool,
    pub(in crate::evaluate) propensity_columns: Vec<usize>,
    /// Pairs of models that are compared.
    pub(in crate::evaluate) pairs: Vec<(usize, usize)>,
    /// Row-dependent propensities, by name and model.
    pub(in crate::evaluate) row_dependent: Vec<Vec<Option<RowFitPlan<'a>>>>,
    /// Doubly robust estimates.
    pub(in crate::evaluate) robust: Vec<Robust<'a>>,
    /// Regressions of missed labels, by model; empty when nothing is computed with them.
    pub(in crate::evaluate) omega: &'a [Option<OmegaFit>],
    /// Constants of fixed point, by (term, k, block of columns).
    magic: Vec<Magic>,
}

impl<'a> Plan<'a> {
    /// The plan of an evaluation with its settings and table.
    pub(in crate::evaluate) fn new(
        evaluation: &'a Evaluation<'a>,
        omega: &'a [Option<OmegaFit>],
        settings: &'a Settings,
        table: &'a Table,
    ) -> Result<Plan<'a>> {
        let terms = settings.terms()?;
        let exact = ExactLayout::new(settings, &terms).ok_or_else(|| {
            Error::value("this evaluation has more cells than memory can hold").hint("ask for fewer groups, models or values of k")
        })?;
        Ok(Plan {
            settings,
            evaluation,
            layout: Layout::new(settings, terms.len()),
            exact,
            table,
            truth: evaluation.truth,
            models: evaluation.models.iter().map(|(_, scores)| *scores).collect(),
            groups: evaluation.groups.as_ref(),
            shown: evaluation.shown.filter(|_| settings.hajek),
            label_counts: evaluation.label_counts.as_deref(),
            abandonment: controlled_abandonment(settings, &terms),
            needs_best: settings.has_best(),
            propensity_columns: settings.propensity_columns(),
            mask: settings.is_mask(),
            pairs: settings.pairs(),
            row_dependent: evaluation.plan_row_dependent()?,
            robust: settings.robust.iter().filter_map(|kind| Robust::new(evaluation, *kind, settings.depth)).collect(),
            omega,
            magic: terms.iter().flat_map(|term| constants(term, settings)).collect(),
            terms,
        })
    }

    /// Whether rows add to more than the sums of columns.
    pub(in crate::evaluate) fn has_more(&self) -> bool {
        let by_pair = self.settings.request.sensitivity.is_some_and(|asked| asked.is_by_pair());
        let by_row = !self.row_dependent.is_empty() || !self.robust.is_empty() || !self.omega.is_empty();
        self.shown.is_some() || by_row || by_pair
    }

    /// Words that hold the hits of one row.
    pub(in crate::evaluate) fn words(&self) -> usize {
        self.settings.depth.div_ceil(64)
    }

    /// Where the row terms of (model, term, k) are among those of the row.
    #[inline(always)]
    pub(in crate::evaluate) fn term_at(&self, model: usize, term: usize, k: usize) -> usize {
        ((model * self.terms.len() + term) * self.settings.ks().len() + k) * self.layout.width
    }

    /// The constants of a block of columns.
    #[inline(always)]
    pub(in crate::evaluate) fn magic(&self, term: usize, k: usize, block: usize) -> &Magic {
        &self.magic[(term * self.settings.ks().len() + k) * (self.layout.width / BLOCK) + block]
    }
}

/// The estimates of abandonment by number of hits, for a set that was shown without replacement.
fn controlled_abandonment(settings: &Settings, terms: &[Term]) -> Option<Vec<f64>> {
    let has_product = terms.iter().any(|term| matches!(term.kind, Kind::Product));
    let (shown, of) = settings.controlled.filter(|_| has_product)?;
    // By the largest k, not by the longest list: bounds that follow from it must not depend on the rows.
    Some(controlled::abandonment(shown, of, settings.kmax().min(shown as usize)))
}

/// Constants by k and block of columns; columns that are not summed in fixed point have any.
fn constants(term: &Term, settings: &Settings) -> Vec<Magic> {
    let columns = settings.columns.len();
    let scale = |ki: usize, column: usize| {
        let is_bounded = term.bounded(columns).contains(&column);
        Scale::new(if is_bounded { term.bound(ki, column, columns) } else { 0 })
    };
    let blocks = (0..settings.ks().len()).flat_map(|ki| (0..settings.width() / BLOCK).map(move |block| (ki, block)));
    blocks.map(|(ki, block)| Magic::new(std::array::from_fn(|at| scale(ki, block * BLOCK + at)))).collect()
}
