//! What the sum over labels loses with a row, from counts by label.

use crate::evaluate::tally::Tally;
use crate::metrics::{LabelCounts, LabelTerm};

/// Up to this many labels have an index by label.
const MOST_INDEXED: u64 = 1 << 23;

/// How a label is lost with a row.
#[derive(Clone, Copy)]
pub(super) enum Lost {
    Hit,
    Positive,
    Prediction,
}

impl Lost {
    /// The counts without the row.
    pub(super) fn from(self, counts: LabelCounts) -> LabelCounts {
        let LabelCounts { hits, predicted, positives } = counts;
        match self {
            Lost::Hit => LabelCounts { hits: hits - 1.0, predicted: predicted - 1.0, positives: positives - 1.0 },
            Lost::Positive => LabelCounts { hits, predicted, positives: positives - 1.0 },
            Lost::Prediction => LabelCounts { hits, predicted: predicted - 1.0, positives },
        }
    }
}

/// Counts by label of one model, for the labels that have a hit.
pub(super) struct Counts {
    /// Ascending.
    pub(super) labels: Vec<u32>,
    /// Places by label; empty when there are too many labels.
    index: Vec<u32>,
    /// By place and k.
    of: Vec<LabelCounts>,
    ks: usize,
}

impl Counts {
    pub(super) fn new(tally: &Tally, model: usize) -> Counts {
        let (ks, counts, positives) = (tally.settings.ks(), &tally.labels[model], &tally.positives);
        let mut all = Counts { labels: Vec::new(), index: Vec::new(), of: Vec::new(), ks: ks.len() };
        let mut positive = 0;
        for (place, label) in counts.ids.iter().enumerate() {
            while positives.ids.get(positive).is_some_and(|id| id < label) {
                positive += 1;
            }
            if positives.ids.get(positive) != Some(label) || counts.entries(place).all(|(_, _, hits)| hits == 0) {
                continue;
            }
            let mut entries = counts.entries(place).peekable();
            let (mut hits, mut predicted) = (0.0, 0.0);
            for k in ks {
                while let Some((_, p, h)) = entries.next_if(|(rank, _, _)| (*rank as usize) < *k) {
                    predicted += f64::from(p);
                    hits += f64::from(h);
                }
                all.of.push(LabelCounts { hits, predicted, positives: positives.counts[positive] as f64 });
            }
            all.labels.push(*label);
        }
        if tally.settings.labels <= MOST_INDEXED {
            all.index = vec![u32::MAX; tally.settings.labels as usize];
            all.labels.iter().enumerate().for_each(|(place, label)| all.index[*label as usize] = place as u32);
        }
        all
    }

    /// The counts of a label by k, when it has a hit.
    pub(super) fn of(&self, label: u32) -> Option<&[LabelCounts]> {
        let place = if self.index.is_empty() {
            self.labels.binary_search(&label).ok()?
        } else {
            self.index.get(label as usize).map(|place| *place as usize).filter(|place| *place < self.labels.len())?
        };
        Some(self.at(place))
    }

    pub(super) fn at(&self, place: usize) -> &[LabelCounts] {
        &self.of[place * self.ks..(place + 1) * self.ks]
    }
}

/// Where cells are: (group, term, k, column), column last.
#[derive(Clone, Copy)]
pub(super) struct Cells {
    pub(super) groups: usize,
    pub(super) terms: usize,
    pub(super) ks: usize,
    pub(super) columns: usize,
}

impl Cells {
    pub(super) fn at(&self, group: usize, term: usize, k: usize, column: usize) -> usize {
        ((group * self.terms + term) * self.ks + k) * self.columns + column
    }

    pub(super) fn len(&self) -> usize {
        self.groups * self.terms * self.ks * self.columns
    }
}

/// A metric with how it is computed.
pub(super) struct Function {
    pub(super) term: &'static dyn LabelTerm,
    pub(super) beta: f64,
    /// How many columns it needs, from the first.
    pub(super) columns: usize,
}

/// What labels add to the cells, and lose.
pub(super) struct LabelParts<'a> {
    pub(super) tally: &'a Tally,
    pub(super) functions: Vec<Function>,
    pub(super) cells: Cells,
}

impl LabelParts<'_> {
    /// All labels and the label's group.
    pub(super) fn groups_of(&self, label: u32) -> impl Iterator<Item = usize> {
        let (group, groups) = (usize::from(self.tally.table.group(self.tally.table.place(label))) + 1, self.cells.groups);
        [0, group].into_iter().filter(move |group| *group < groups)
    }

    /// Adds a number for each column of a cell of all labels and of the label's group.
    pub(super) fn put(&self, label: u32, term: usize, ki: usize, values: &[f64], into: &mut [f64]) {
        for group in self.groups_of(label) {
            let start = self.cells.at(group, term, ki, 0);
            into[start..start + values.len()].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    /// What the label adds to the sum over labels under each column, times a factor.
    fn add(&self, label: u32, function: &Function, counts: LabelCounts, factor: f64, values: &mut [f64]) {
        if counts.hits <= 0.0 {
            return;
        }
        let inverse = self.inverse(label, function);
        let mut out = [0.0; 64];
        for (inverse, values) in inverse.chunks(out.len()).zip(values.chunks_mut(out.len())) {
            out[..inverse.len()].fill(0.0);
            function.term.add(counts, inverse, function.beta, &mut out[..inverse.len()]);
            values.iter_mut().zip(out).for_each(|(value, out)| *value += factor * out);
        }
    }

    /// What the label loses with a row, for each term and column, at the k whose counts these are.
    pub(super) fn lose(
        &self,
        (label, counts, ki): (u32, LabelCounts, usize),
        lost: Lost,
        times: f64,
        values: &mut Vec<f64>,
        into: &mut [f64],
    ) {
        if counts.hits == 0.0 || times == 0.0 {
            return;
        }
        for (term, function) in self.functions.iter().enumerate() {
            values.clear();
            values.resize(function.columns, 0.0);
            self.add(label, function, counts, times, values);
            self.add(label, function, lost.from(counts), -times, values);
            self.put(label, term, ki, values, into);
        }
    }

    /// What the label loses with a hit, for each column of a term.
    pub(super) fn hit_loss(&self, label: u32, function: &Function, counts: LabelCounts) -> Vec<f64> {
        let mut values = vec![0.0; function.columns];
        self.add(label, function, counts, 1.0, &mut values);
        self.add(label, function, Lost::Hit.from(counts), -1.0, &mut values);
        values
    }

    /// Inverse propensities of a label, for each column of a term.
    pub(super) fn inverse(&self, label: u32, function: &Function) -> &[f64] {
        &self.tally.table.inverse_at(self.tally.table.place(label))[..function.columns]
    }

    /// The terms that are functions of a label's hits, with their places.
    pub(super) fn of_hits(&self) -> impl Iterator<Item = (usize, &Function)> {
        self.functions.iter().enumerate().filter(|(_, function)| function.term.is_of_hits())
    }
}
