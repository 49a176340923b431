//! What the sum over labels loses with a row, from counts by label.

use crate::evaluate::tally::Tally;
use crate::metrics::{LabelCounts, LabelTerm};
use crate::prefetch::prefetch;
use rayon::prelude::*;

/// Up to this many labels have an index by label.
const MOST_INDEXED: u64 = 1 << 23;

/// Labels in a block; the sums of blocks are added in order.
const LABELS: usize = 1 << 14;

/// How a label is lost with a row.
#[derive(Clone, Copy)]
pub(super) enum Lost {
    Hit,
    Positive,
    Prediction,
}

impl Lost {
    /// The counts without the row.
    #[inline(always)]
    pub(super) fn from(self, counts: LabelCounts) -> LabelCounts {
        let LabelCounts { hits, predicted, positives } = counts;
        match self {
            Lost::Hit => LabelCounts { hits: hits - 1.0, predicted: predicted - 1.0, positives: positives - 1.0 },
            Lost::Positive => LabelCounts { hits, predicted, positives: positives - 1.0 },
            Lost::Prediction => LabelCounts { hits, predicted: predicted - 1.0, positives },
        }
    }
}

/// The counts of one label that has a hit: a cache line or less, since rows look for labels all over.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    /// Its place in the table, its positives, and for each k its hits and its predictions.
    numbers: &'a [u32],
}

impl Counted<'_> {
    #[inline(always)]
    pub(super) fn at(&self, ki: usize) -> LabelCounts {
        let [hits, predicted] = [self.numbers[2 + 2 * ki], self.numbers[3 + 2 * ki]].map(f64::from);
        LabelCounts { hits, predicted, positives: self.numbers[1].into() }
    }

    fn place(&self) -> usize {
        self.numbers[0] as usize
    }
}

/// Counts by label of one model, for the labels that have a hit.
#[derive(Default)]
pub(super) struct Counts {
    /// Ascending.
    labels: Vec<u32>,
    /// Places by label; empty when there are too many labels.
    index: Vec<u32>,
    numbers: Vec<u32>,
    /// How many numbers a label has.
    width: usize,
    /// The shares of all rows together, by cell.
    pub(super) drifts: Vec<f64>,
}

impl Counts {
    pub(super) fn new(parts: &LabelParts<'_>, model: usize) -> Counts {
        let tally = parts.tally;
        let labels = tally.labels[model].ids.len();
        let blocks: Vec<Counts> = (0..labels.div_ceil(LABELS))
            .into_par_iter()
            .map(|block| Counts::of_block(parts, model, block * LABELS..((block + 1) * LABELS).min(labels)))
            .collect();
        let mut all = Counts::empty(parts.cells);
        all.labels.reserve_exact(blocks.iter().map(|block| block.labels.len()).sum());
        all.numbers.reserve_exact(blocks.iter().map(|block| block.numbers.len()).sum());
        for block in blocks {
            all.labels.extend(block.labels);
            all.numbers.extend(block.numbers);
            all.drifts.iter_mut().zip(block.drifts).for_each(|(sum, part)| *sum += part);
        }
        if tally.settings.labels <= MOST_INDEXED {
            all.index = vec![u32::MAX; tally.settings.labels as usize];
            all.labels.iter().enumerate().for_each(|(place, label)| all.index[*label as usize] = place as u32);
        }
        all
    }

    fn empty(cells: Cells) -> Counts {
        Counts { width: 2 + 2 * cells.ks, drifts: vec![0.0; cells.len()], ..Counts::default() }
    }

    fn of_block(parts: &LabelParts<'_>, model: usize, places: std::ops::Range<usize>) -> Counts {
        let (tally, ks) = (parts.tally, parts.tally.settings.ks());
        let (counts, positives) = (&tally.labels[model], &tally.positives);
        let mut all = Counts::empty(parts.cells);
        all.labels.reserve(places.len());
        all.numbers.reserve(places.len() * all.width);
        let mut positive = positives.ids.partition_point(|id| *id < counts.ids[places.start]);
        for place in places {
            let label = counts.ids[place];
            while positives.ids.get(positive).is_some_and(|id| *id < label) {
                positive += 1;
            }
            if positives.ids.get(positive) != Some(&label) {
                continue;
            }
            let start = all.numbers.len();
            // Rows fit into 32 bits.
            let present = u32::try_from(positives.counts[positive]).unwrap_or(u32::MAX);
            all.numbers.extend([tally.table.place(label) as u32, present]);
            let mut entries = counts.entries(place).peekable();
            let (mut hits, mut predicted) = (0u32, 0u32);
            for k in ks {
                while let Some((_, p, h)) = entries.next_if(|(rank, _, _)| (*rank as usize) < *k) {
                    (predicted, hits) = (predicted.saturating_add(p), hits.saturating_add(h));
                }
                all.numbers.extend([hits, predicted]);
            }
            if hits == 0 {
                all.numbers.truncate(start);
                continue;
            }
            all.labels.push(label);
            parts.lose_all(Counted { numbers: &all.numbers[start..] }, &mut all.drifts);
        }
        all
    }

    /// Asks for what says where the counts of a label are: labels of a row are all over the memory.
    #[inline(always)]
    pub(super) fn prefetch_place(&self, label: u32) {
        self.index.get(label as usize).into_iter().for_each(prefetch);
    }

    /// Asks for the counts of a label whose place is at hand.
    #[inline(always)]
    pub(super) fn prefetch_counts(&self, label: u32) {
        if !self.index.is_empty() {
            self.of(label).into_iter().for_each(|counted| prefetch(&counted.numbers[0]));
        }
    }

    /// The counts of a label, when it has a hit.
    #[inline(always)]
    pub(super) fn of(&self, label: u32) -> Option<Counted<'_>> {
        let place = if self.index.is_empty() {
            self.labels.binary_search(&label).ok()?
        } else {
            self.index.get(label as usize).map(|place| *place as usize).filter(|place| *place < self.labels.len())?
        };
        Some(self.at(place))
    }

    fn at(&self, place: usize) -> Counted<'_> {
        Counted { numbers: &self.numbers[place * self.width..(place + 1) * self.width] }
    }

    /// The labels that have a hit, with their counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, Counted<'_>)> {
        self.labels.iter().enumerate().map(|(place, label)| (*label, self.at(place)))
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
    #[inline(always)]
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
    /// Whether it depends on hits alone.
    pub(super) is_of_hits: bool,
}

/// What labels add to the cells, and lose.
pub(super) struct LabelParts<'a> {
    pub(super) tally: &'a Tally,
    pub(super) functions: Vec<Function>,
    pub(super) cells: Cells,
}

impl LabelParts<'_> {
    /// All labels and the label's group, as far as there are groups.
    #[inline(always)]
    pub(super) fn groups(&self, label: Counted<'_>) -> impl Iterator<Item = usize> {
        let (groups, of_label) = (self.cells.groups, usize::from(self.tally.table.group(label.place())) + 1);
        [0, of_label].into_iter().filter(move |group| *group < groups)
    }

    /// Subtracts `times` what the label has without the row from what it has with it, for each term and column.
    #[inline(always)]
    pub(super) fn lose(&self, label: Counted<'_>, ki: usize, lost: Lost, times: f64, into: &mut [f64]) {
        let counts = label.at(ki);
        if counts.hits == 0.0 || times == 0.0 {
            return;
        }
        let inverse = self.tally.table.inverse_at(label.place());
        for (term, function) in self.functions.iter().enumerate() {
            if function.is_of_hits && !matches!(lost, Lost::Hit) {
                continue;
            }
            for group in self.groups(label) {
                let start = self.cells.at(group, term, ki, 0);
                let (inverse, into) = (&inverse[..function.columns], &mut into[start..start + function.columns]);
                function.term.add_difference([counts, lost.from(counts)], times, inverse, function.beta, into);
            }
        }
    }

    /// What the label loses with each of its rows.
    fn lose_all(&self, label: Counted<'_>, drifts: &mut [f64]) {
        for ki in 0..self.cells.ks {
            let LabelCounts { hits, predicted, positives } = label.at(ki);
            for (lost, times) in [(Lost::Hit, hits), (Lost::Positive, positives - hits), (Lost::Prediction, predicted - hits)] {
                self.lose(label, ki, lost, times, drifts);
            }
        }
    }

    /// Adds a number for each column of a cell of all labels and of the label's group.
    pub(super) fn put(&self, label: Counted<'_>, term: usize, ki: usize, values: &[f64], into: &mut [f64]) {
        for group in self.groups(label) {
            let start = self.cells.at(group, term, ki, 0);
            into[start..start + values.len()].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    /// What the label loses with a hit, for each column of a term.
    pub(super) fn hit_loss(&self, label: Counted<'_>, function: &Function, ki: usize) -> Vec<f64> {
        let (counts, mut values) = (label.at(ki), vec![0.0; function.columns]);
        let inverse = self.inverse(label, function);
        function.term.add_difference([counts, Lost::Hit.from(counts)], 1.0, inverse, function.beta, &mut values);
        values
    }

    /// Inverse propensities of a label, for each column of a term.
    pub(super) fn inverse(&self, label: Counted<'_>, function: &Function) -> &[f64] {
        &self.tally.table.inverse_at(label.place())[..function.columns]
    }

    /// The terms that are functions of a label's hits, with their places.
    pub(super) fn of_hits(&self) -> impl Iterator<Item = (usize, &Function)> {
        self.functions.iter().enumerate().filter(|(_, function)| function.is_of_hits)
    }
}
