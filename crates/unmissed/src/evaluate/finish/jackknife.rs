//! The jackknife over rows for metrics that are means over labels: the contribution of each row, from counts by label.
//!
//! A label with TP hits, P positives and Pred predictions adds f(TP, P, Pred) to the sum over labels. Without row i it adds less by
//! `f - f(TP-1, P-1, Pred-1)` if the row has a hit, `f - f(TP, P-1, Pred)` if it has the label unpredicted, and
//! `f - f(TP, P, Pred-1)` if it predicts the label wrongly. The sum of these over labels is the row's share psi_i, and
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

/// Rows in a block.
const ROWS: usize = 1 << 10;

/// How many rows ahead counts are asked for, and twice as many their places.
const AHEAD: usize = 8;

/// Sums over rows of the shares of rows, by cell.
pub(super) struct Jackknife {
    cells: Cells,
    /// Rows of the sample, and of the whole.
    rows: (f64, f64),
    shares: Shares,
    counts: Vec<Counts>,
    /// Which terms are functions of hits; by model, then by pair: what single labels add to them.
    of_hits: Vec<bool>,
    hits: Vec<HitParts>,
    hit_products: Vec<HitParts>,
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
            is_of_hits: term.is_of_hits(),
        };
        let parts = LabelParts { tally, functions: terms.iter().map(function).collect(), cells };
        let counts: Vec<Counts> = (0..settings.models.len()).map(|model| Counts::new(&parts, model)).collect();
        let pairs = settings.pairs();
        let rows = |block: usize| block * ROWS..((block + 1) * ROWS).min(sample.len());
        let nothing = || Shares::new(cells, counts.len(), pairs.len());
        let shares = (0..sample.len().div_ceil(ROWS))
            .into_par_iter()
            .fold(nothing, |shares, block| shares.with_rows(&parts, &counts, &pairs, sample, rows(block)))
            .reduce(nothing, Shares::merge);
        let rates: Vec<ModelRates> = counts.par_iter().map(|counts| ModelRates::new(&parts, counts)).collect();
        let hits = counts.par_iter().zip(&rates).map(|(counts, rates)| HitParts::of_model(&parts, counts, rates)).collect();
        let hit_product = |pair: &(usize, usize)| HitParts::of_pair(&parts, &counts, &rates, sample, *pair);
        let hit_products = pairs.par_iter().map(hit_product).collect();
        let of_hits = parts.functions.iter().map(|function| function.is_of_hits).collect();
        let rows = (sample.len() as f64, settings.rows as f64);
        Ok(Some(Jackknife { cells, rows, shares, counts, of_hits, hits, hit_products }))
    }

    fn at(&self, (group, term, ki, column): Cell) -> usize {
        self.cells.at(group, term, ki, column)
    }

    /// The jackknife's variance from the sum of shares and of their squares. Not a number where shares were too large to be squared.
    fn spread(&self, sum: Precise, squares: Precise) -> f64 {
        let (sampled, all) = self.rows;
        let around_mean = (squares - sum * sum / sampled.into()).value();
        (all - 1.0) / sampled * if around_mean < 0.0 { 0.0 } else { around_mean }
    }

    /// The variance of the sum over labels of a model.
    pub(super) fn variance(&self, model: usize, cell: Cell) -> f64 {
        let at = self.at(cell);
        let Shares { sums, squares, .. } = &self.shares;
        let plain = self.spread(sums[model][at].value(), squares[model][at].value());
        if !self.of_hits[cell.1] {
            return plain;
        }
        let variance = of_hits(plain, self.hits[model].at(at));
        variance + variance.min(1.0) / 2.0
    }

    /// The variance of the difference of the sums over labels of two models.
    pub(super) fn difference_variance(&self, pair: usize, (a, b): (usize, usize), cell: Cell) -> f64 {
        let at = self.at(cell);
        let [of_a, of_b] = [a, b].map(|model| self.shares.sums[model][at].value());
        let plain = self.spread(of_a - of_b, self.shares.differences[pair][at].value());
        if !self.of_hits[cell.1] {
            return plain;
        }
        of_hits(plain, HitPart::difference(self.hits[a].at(at), self.hits[b].at(at), self.hit_products[pair].at(at)))
    }

    /// How much larger the sum over labels of a model would be with many more rows, as far as the jackknife can tell.
    pub(super) fn drift(&self, model: usize, cell: Cell) -> f64 {
        (self.rows.1 - 1.0) / self.rows.1 * self.counts[model].drifts[self.at(cell)]
    }
}

/// The variance of a sum of functions of hits, from that of the jackknife and what single labels have in it.
fn of_hits(plain: f64, labels: HitPart) -> f64 {
    // What labels have in common: negative where rows have few hits. It may take off three quarters of one estimate, and half of the other.
    let common = plain - labels.plain;
    (labels.thinned + common).max(plain / 4.0).max((labels.mixed + common).max(labels.mixed / 2.0))
}

/// Sums of the shares of some rows; see [`Jackknife`]. They are exact, so that the order of rows does not matter.
struct Shares {
    /// By model: shares, and their squares.
    sums: Vec<Vec<ExactSum>>,
    squares: Vec<Vec<ExactSum>>,
    /// By pair of models: squares of their differences.
    differences: Vec<Vec<ExactSum>>,
}

impl Shares {
    fn new(cells: Cells, models: usize, pairs: usize) -> Shares {
        let zeros = |count: usize| vec![vec![ExactSum::default(); cells.len()]; count];
        Shares { sums: zeros(models), squares: zeros(models), differences: zeros(pairs) }
    }

    fn merge(mut self, other: Shares) -> Shares {
        let ours = [&mut self.sums, &mut self.squares, &mut self.differences];
        for (ours, others) in ours.into_iter().zip([&other.sums, &other.squares, &other.differences]) {
            let (ours, others) = (ours.iter_mut().flatten(), others.iter().flatten());
            ours.zip(others).for_each(|(sum, other)| sum.merge(other));
        }
        self
    }

    fn with_rows(
        mut self,
        parts: &LabelParts<'_>,
        counts: &[Counts],
        pairs: &[(usize, usize)],
        sample: &RowSample,
        rows: Range<usize>,
    ) -> Shares {
        let mut shares = vec![vec![0.0; parts.cells.len()]; counts.len()];
        let last = rows.end;
        for row in rows {
            for (model, counts) in counts.iter().enumerate() {
                let labels = |ahead: usize| {
                    let row = (row + ahead).min(last - 1);
                    sample.labels(row).iter().chain(sample.top(model, row, parts.tally.settings.depth))
                };
                labels(2 * AHEAD).for_each(|label| counts.prefetch_place(*label));
                labels(AHEAD).for_each(|label| counts.prefetch_counts(*label));
            }
            for (model, (counts, shares)) in counts.iter().zip(&mut shares).enumerate() {
                shares.fill(0.0);
                add_share(parts, counts, sample, model, row, shares);
                let sums = self.sums[model].iter_mut().zip(&mut self.squares[model]);
                for ((sum, square), share) in sums.zip(&*shares) {
                    sum.add(*share);
                    square.add_product(*share, *share);
                }
            }
            for ((a, b), differences) in pairs.iter().zip(&mut self.differences) {
                let both = shares[*a].iter().zip(&shares[*b]);
                differences.iter_mut().zip(both).for_each(|(sum, (a, b))| sum.add_product(a - b, a - b));
            }
        }
        self
    }
}

/// Adds the share of a row of the sample.
fn add_share(parts: &LabelParts<'_>, counts: &Counts, sample: &RowSample, model: usize, row: usize, shares: &mut [f64]) {
    let (labels, ks) = (sample.labels(row), parts.tally.settings.ks());
    let top = sample.top(model, row, parts.tally.settings.depth);
    for (rank, label) in top.iter().enumerate() {
        let Some(counted) = counts.of(*label) else { continue };
        let is_positive = labels.binary_search(label).is_ok();
        for (ki, k) in ks.iter().enumerate() {
            let lost = match (rank < *k, is_positive) {
                (true, true) => Lost::Hit,
                (true, false) => Lost::Prediction,
                (false, true) => Lost::Positive,
                (false, false) => continue,
            };
            parts.lose(counted, ki, lost, 1.0, shares);
        }
    }
    for label in labels.iter().filter(|label| !top.contains(label)) {
        let Some(counted) = counts.of(*label) else { continue };
        (0..ks.len()).for_each(|ki| parts.lose(counted, ki, Lost::Positive, 1.0, shares));
    }
}
