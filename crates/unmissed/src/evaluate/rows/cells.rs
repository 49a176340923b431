//! What is summed over rows: each metric at each k, for the fit and for every refit.

use crate::evaluate::Groups;
use crate::metrics::{Metric, Shape};

/// A group of labels.
#[derive(Clone, Copy)]
pub(in crate::evaluate) struct Part<'g> {
    groups: &'g Groups,
    code: u16,
}

impl<'g> Part<'g> {
    /// All groups.
    pub(in crate::evaluate) fn all(groups: &'g Groups) -> impl Iterator<Item = Part<'g>> {
        (0..groups.names().len()).map(|code| Part { groups, code: code as u16 })
    }

    pub(in crate::evaluate) fn name(&self) -> &'g str {
        &self.groups.names()[self.code as usize]
    }
}

/// A metric at one k, of all labels or of a group.
pub(in crate::evaluate) struct Cell<'w> {
    pub(in crate::evaluate) metric: String,
    pub(in crate::evaluate) k: usize,
    /// What a relevant label at each rank adds.
    pub(in crate::evaluate) gains: Vec<f64>,
    pub(in crate::evaluate) weights: Option<&'w [f64]>,
    /// `1 - prod (1 - y)` instead of a sum.
    pub(in crate::evaluate) product: bool,
    pub(in crate::evaluate) part: Option<Part<'w>>,
}

impl<'w> Cell<'w> {
    pub(in crate::evaluate) fn new(metric: &dyn Metric, k: usize, weights: Option<&'w [f64]>, part: Option<Part<'w>>) -> Cell<'w> {
        let (gains, weighted, product) = match metric.shape() {
            Shape::Sum(term) => ((0..k).map(|rank| term.discount(rank) / term.scale(k)).collect(), term.weighted(), false),
            _ => (vec![1.0; k], false, true),
        };
        Cell { metric: metric.name().to_owned(), k, gains, weights: weights.filter(|_| weighted), product, part }
    }

    fn takes(&self, label: u32) -> bool {
        self.part.is_none_or(|part| part.groups.of(label) == Some(part.code))
    }

    fn gain(&self, rank: usize, label: u32) -> f64 {
        self.gains[rank] * self.weights.map_or(1.0, |weights| weights[label as usize])
    }
}

/// Rank, label, and inverse propensities of the fit and of every refit.
pub(in crate::evaluate) type Hit = (usize, u32, Vec<f64>);

/// Sums over rows, by cell.
pub(in crate::evaluate) struct Sums {
    columns: usize,
    values: Vec<f64>,
    pub(in crate::evaluate) squares: Vec<f64>,
    /// Estimated mask variances if labels go missing independently.
    pub(in crate::evaluate) masks: Vec<f64>,
    pub(in crate::evaluate) observed: Vec<f64>,
    pub(in crate::evaluate) observed_squares: Vec<f64>,
    pub(in crate::evaluate) observed_masks: Vec<f64>,
}

impl Sums {
    pub(in crate::evaluate) fn new(cells: usize, columns: usize) -> Sums {
        let zeros = || vec![0.0; cells];
        Sums {
            columns,
            values: vec![0.0; cells * columns],
            squares: zeros(),
            masks: zeros(),
            observed: zeros(),
            observed_squares: zeros(),
            observed_masks: zeros(),
        }
    }

    /// The sums of the fit and of every refit.
    pub(in crate::evaluate) fn values(&self, cell: usize) -> &[f64] {
        &self.values[cell * self.columns..(cell + 1) * self.columns]
    }

    /// Adds the observed hits of a row, ascending by rank.
    pub(in crate::evaluate) fn add_row(&mut self, cells: &[Cell<'_>], hits: &[Hit]) {
        for (at, cell) in cells.iter().enumerate() {
            let hits: Vec<&Hit> = hits.iter().take_while(|hit| hit.0 < cell.k).filter(|hit| cell.takes(hit.1)).collect();
            let into = &mut self.values[at * self.columns..(at + 1) * self.columns];
            if cell.product {
                let mut value = 0.0;
                for (column, into) in into.iter_mut().enumerate() {
                    let term = 1.0 - hits.iter().map(|(_, _, q)| 1.0 - q[column]).product::<f64>();
                    *into += term;
                    if column == 0 {
                        value = term;
                    }
                }
                self.squares[at] += value * value;
                // The true value is 0 or 1, its own square: f~^2 - (f^2)~.
                self.masks[at] += value * value - value;
                continue;
            }
            let (mut first, mut observed) = (0.0, 0.0);
            for (rank, label, q) in hits {
                let gain = cell.gain(*rank, *label);
                into.iter_mut().zip(q).for_each(|(into, q)| *into += gain * q);
                first += gain * q[0];
                observed += gain;
                self.masks[at] += gain * gain * q[0] * (q[0] - 1.0);
                self.observed_masks[at] += gain * gain * (1.0 - 1.0 / q[0]);
            }
            self.squares[at] += first * first;
            self.observed[at] += observed;
            self.observed_squares[at] += observed * observed;
        }
    }

    pub(in crate::evaluate) fn merge(&mut self, other: &Sums) {
        let add = |into: &mut [f64], from: &[f64]| into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
        add(&mut self.values, &other.values);
        add(&mut self.squares, &other.squares);
        add(&mut self.masks, &other.masks);
        add(&mut self.observed, &other.observed);
        add(&mut self.observed_squares, &other.observed_squares);
        add(&mut self.observed_masks, &other.observed_masks);
    }
}
