//! The jackknife over rows for metrics that are means over labels: what each row adds, from counts by label.
//!
//! A label with TP hits, P positives and Pred predictions adds f(TP, P, Pred) to the sum over labels. Without row i it adds less by
//! `f - f(TP-1, P-1, Pred-1)` if the row has a hit, `f - f(TP, P-1, Pred)` if it has the label unpredicted, and
//! `f - f(TP, P, Pred-1)` if it predicts the label in vain. The sum of these over labels is the row's share psi_i, and
//! `Var = (n-1)/n sum_i (psi_i - mean)^2`; of a difference of models the same with `psi_i^a - psi_i^b`. Where the tally has a sample of
//! the rows, the sum over rows is estimated from it.
//!
//! Coverage is the number of labels with a hit. Its jackknife is too large by what several hits of a label share, and 0 where no label has
//! exactly one; `hit_parts.rs` has the variance of single labels. The larger of two estimates is taken: the jackknife with the
//! shares of single labels multiplied by a factor below 1, and the variance summed over all labels with what pairs of labels add.
//! To that of one model `min(Var, 1) / 2` is added: as with any count of rare events, the variance is estimated too low where few happen
//! to be missed.
//!
//! # Assumes
//! Rows are independent. The interval is about the expected value at this number of rows; [`Jackknife::drift`] says how far that is
//! from the value of many more rows.
//!
//! # Reference
//! Efron and Stein, "The jackknife estimate of variance", 1981.

use super::hit_parts::{HitPart, HitParts, ModelRates};
use super::label_loss::{Cells, Counts, Function, LabelParts, Lost};
use super::label_sums::label_terms;
use crate::error::Result;
use crate::evaluate::tally::Tally;
use crate::evaluate::tally::exact::ExactSum;
use crate::evaluate::tally::precise::Precise;
use crate::evaluate::tally::row_sample::RowSample;
use crate::metrics::LabelTerm;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Rows in a block.
const ROWS: usize = 1 << 10;

/// Sums over rows of the shares of rows, by cell.
pub(super) struct Jackknife {
    cells: Cells,
    /// Rows of the sample, and of the whole.
    rows: (f64, f64),
    /// By model: shares and their squares over the rows of the sample.
    sums: Vec<Vec<Precise>>,
    squares: Vec<Vec<Precise>>,
    /// By pair of models: their products.
    products: Vec<Vec<Precise>>,
    /// Which terms are functions of hits; by model, then by pair: what single labels add to them.
    of_hits: Vec<bool>,
    hits: Vec<HitParts>,
    hit_products: Vec<HitParts>,
    /// By model: shares over all rows.
    drifts: Vec<Vec<f64>>,
}

/// A cell: (group, place among the means over labels, k, column).
pub(super) type Cell = (usize, usize, usize, usize);

impl Jackknife {
    /// The jackknife of a tally that has a sample of rows and means over labels.
    pub(super) fn new(tally: &Tally) -> Result<Option<Jackknife>> {
        let settings = &tally.settings;
        let terms = label_terms(settings)?;
        let is_needed = !terms.is_empty() && !settings.is_mask() && settings.request.bootstrap == 0;
        let Some(sample) = tally.sample.as_ref().filter(|sample| sample.len() > 1 && is_needed) else {
            return Ok(None);
        };
        let columns = settings.columns.len();
        let cells = Cells { groups: settings.groups.len(), terms: terms.len(), ks: settings.ks().len(), columns };
        let function = |(metric, term, beta): &(usize, &'static dyn LabelTerm, f64)| Function {
            term: *term,
            beta: *beta,
            columns: settings.columns_needed(*metric),
        };
        let parts = LabelParts { tally, functions: terms.iter().map(function).collect(), cells };
        let models = 0..settings.models.len();
        let counts: Vec<Counts> = models.clone().into_par_iter().map(|model| Counts::new(tally, model)).collect();
        let pairs = settings.pairs();
        let rows = |block: usize| block * ROWS..((block + 1) * ROWS).min(sample.len());
        // Totals do not depend on the order in which blocks are added.
        let all = Mutex::new(Shares::new(cells, counts.len(), pairs.len()));
        (0..sample.len().div_ceil(ROWS)).into_par_iter().for_each(|block| {
            let of_block = Shares::of_rows(&parts, &counts, &pairs, sample, rows(block));
            all.lock().unwrap_or_else(PoisonError::into_inner).merge(&of_block);
        });
        let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let rates: Vec<ModelRates> = counts.par_iter().map(|counts| ModelRates::new(&parts, counts)).collect();
        let hit_product = |pair: &(usize, usize)| HitParts::of_pair(&parts, &counts, &rates, sample, *pair);
        Ok(Some(Jackknife {
            cells,
            rows: (sample.len() as f64, settings.rows as f64),
            sums: values(&all.sums),
            squares: values(&all.squares),
            products: values(&all.products),
            of_hits: parts.functions.iter().map(|function| function.term.is_of_hits()).collect(),
            hits: counts.par_iter().zip(&rates).map(|(counts, rates)| HitParts::of_model(&parts, counts, rates)).collect(),
            hit_products: pairs.par_iter().map(hit_product).collect(),
            drifts: counts.par_iter().map(|counts| drifts(&parts, counts)).collect(),
        }))
    }

    fn at(&self, (group, term, ki, column): Cell) -> usize {
        self.cells.at(group, term, ki, column)
    }

    /// The jackknife's variance from the sum of shares and of their squares.
    fn spread(&self, sum: Precise, squares: Precise) -> f64 {
        let (sampled, all) = self.rows;
        (all - 1.0) / sampled * (squares - sum * sum / sampled.into()).value().max(0.0)
    }

    /// The variance of the sum over labels of a model.
    pub(super) fn variance(&self, model: usize, cell: Cell) -> f64 {
        let at = self.at(cell);
        let plain = self.spread(self.sums[model][at], self.squares[model][at]);
        if !self.of_hits[cell.1] {
            return plain;
        }
        let variance = of_hits(plain, self.hits[model].at(at));
        variance + variance.min(1.0) / 2.0
    }

    /// The variance of the difference of the sums over labels of two models.
    pub(super) fn difference_variance(&self, pair: usize, (a, b): (usize, usize), cell: Cell) -> f64 {
        let at = self.at(cell);
        let product = self.products[pair][at];
        let squares = self.squares[a][at] + self.squares[b][at] - product - product;
        let plain = self.spread(self.sums[a][at] - self.sums[b][at], squares);
        if !self.of_hits[cell.1] {
            return plain;
        }
        of_hits(plain, HitPart::difference(self.hits[a].at(at), self.hits[b].at(at), self.hit_products[pair].at(at)))
    }

    /// How much larger the sum over labels of a model would be with many more rows, as far as the jackknife can tell.
    pub(super) fn drift(&self, model: usize, cell: Cell) -> f64 {
        (self.rows.1 - 1.0) / self.rows.1 * self.drifts[model][self.at(cell)]
    }
}

/// The variance of a sum of functions of hits, from that of the jackknife and what single labels have in it.
fn of_hits(plain: f64, labels: HitPart) -> f64 {
    // What labels have in common: negative where rows have few hits. It may take off three quarters of one estimate, and half of the other.
    let common = plain - labels.plain;
    (labels.thinned + common).max(plain / 4.0).max((labels.mixed + common).max(labels.mixed / 2.0))
}

fn values(sums: &[Vec<ExactSum>]) -> Vec<Vec<Precise>> {
    sums.iter().map(|sums| sums.iter().map(ExactSum::value).collect()).collect()
}

/// Sums of the shares of some rows; see [`Jackknife`]. They are exact, so that the order of rows does not matter.
struct Shares {
    sums: Vec<Vec<ExactSum>>,
    squares: Vec<Vec<ExactSum>>,
    products: Vec<Vec<ExactSum>>,
}

impl Shares {
    fn new(cells: Cells, models: usize, pairs: usize) -> Shares {
        let zeros = |count: usize| vec![vec![ExactSum::default(); cells.len()]; count];
        Shares { sums: zeros(models), squares: zeros(models), products: zeros(pairs) }
    }

    fn merge(&mut self, other: &Shares) {
        let ours = [&mut self.sums, &mut self.squares, &mut self.products];
        for (ours, others) in ours.into_iter().zip([&other.sums, &other.squares, &other.products]) {
            let (ours, others) = (ours.iter_mut().flatten(), others.iter().flatten());
            ours.zip(others).for_each(|(sum, other)| sum.merge(other));
        }
    }

    fn of_rows(
        parts: &LabelParts<'_>,
        counts: &[Counts],
        pairs: &[(usize, usize)],
        sample: &RowSample,
        rows: Range<usize>,
    ) -> Shares {
        let cells = parts.cells;
        let mut all = Shares::new(cells, counts.len(), pairs.len());
        let mut shares = vec![vec![0.0; cells.len()]; counts.len()];
        let mut values = Vec::new();
        for row in rows {
            for (model, (counts, shares)) in counts.iter().zip(&mut shares).enumerate() {
                shares.fill(0.0);
                share(parts, counts, sample, model, row, &mut values, shares);
                let sums = all.sums[model].iter_mut().zip(&mut all.squares[model]);
                for ((sum, square), share) in sums.zip(&*shares) {
                    sum.add(*share);
                    square.add_product(*share, *share);
                }
            }
            for ((a, b), products) in pairs.iter().zip(&mut all.products) {
                let both = shares[*a].iter().zip(&shares[*b]);
                products.iter_mut().zip(both).for_each(|(product, (a, b))| product.add_product(*a, *b));
            }
        }
        all
    }
}

/// Adds the share of a row of the sample.
fn share(
    parts: &LabelParts<'_>,
    counts: &Counts,
    sample: &RowSample,
    model: usize,
    row: usize,
    values: &mut Vec<f64>,
    shares: &mut [f64],
) {
    let (labels, ks) = (sample.labels(row), parts.tally.settings.ks());
    let top = sample.top(model, row, parts.tally.settings.depth);
    for (rank, label) in top.iter().enumerate() {
        let Some(counts) = counts.of(*label) else { continue };
        let is_positive = labels.binary_search(label).is_ok();
        for (ki, counts) in counts.iter().enumerate() {
            let lost = match (rank < ks[ki], is_positive) {
                (true, true) => Lost::Hit,
                (true, false) => Lost::Prediction,
                (false, true) => Lost::Positive,
                (false, false) => continue,
            };
            parts.lose((*label, *counts, ki), lost, 1.0, values, shares);
        }
    }
    for label in labels.iter().filter(|label| !top.contains(label)) {
        for (ki, counts) in counts.of(*label).unwrap_or_default().iter().enumerate() {
            parts.lose((*label, *counts, ki), Lost::Positive, 1.0, values, shares);
        }
    }
}

/// The shares of all rows together.
fn drifts(parts: &LabelParts<'_>, counts: &Counts) -> Vec<f64> {
    let mut sums = vec![0.0; parts.cells.len()];
    let mut values = Vec::new();
    for (place, label) in counts.labels.iter().enumerate() {
        for (ki, of) in counts.at(place).iter().enumerate() {
            let times =
                [(Lost::Hit, of.hits), (Lost::Positive, of.positives - of.hits), (Lost::Prediction, of.predicted - of.hits)];
            for (lost, times) in times {
                parts.lose((*label, *of, ki), lost, times, &mut values, &mut sums);
            }
        }
    }
    sums
}
