//! The state of a stream so far, in a form that is cheap to add to.

use super::Context;
use super::batch::{Taken, row_twice};
use super::remembered::Remembered;
use crate::data::{Csr, Labels};
use crate::error::{Error, Result};
use crate::evaluate::builder::Evaluation;
use crate::evaluate::pass::{Lists, count_labels, pass};
use crate::evaluate::plan::Plan;
use crate::evaluate::plan::settings::Settings;
use crate::evaluate::tally::exact_layout::ExactLayout;
use crate::evaluate::tally::labels::{LabelTally, Positives};
use crate::evaluate::tally::layout::Layout;
use crate::evaluate::tally::open::Open;
use crate::evaluate::tally::row_sample::{MOST_ROWS, RowSample};
use crate::evaluate::tally::sums::Totals;
use crate::evaluate::tally::{Covered, Tally, check_bounds, check_parts, differ_at, twice};
use crate::progress::Progress;

/// Top lists are counted by label when they have so many entries.
const MOST_LISTED: usize = 1 << 22;

/// See the module's page.
pub(super) struct State {
    /// Length of the top lists that are held.
    depth: usize,
    covered: Covered,
    open: Open,
    /// Metrics whose columns were found to be meaningless need not be computed further.
    meaningless: Settings,
    totals: Totals,
    /// How often each label is positive.
    positives: Vec<u64>,
    /// By model: what was counted.
    labels: Vec<LabelTally>,
    /// What is still to be counted.
    lists: Vec<Lists>,
    listed: usize,
    /// Parts of the sample, the first of them without rows that have no place in it.
    samples: Vec<RowSample>,
    /// The largest hash that has a place in the sample.
    bar: Option<f64>,
    /// Rows of the sample, and those that may get into it; none if nothing needs a sample.
    remembered: Option<Remembered>,
}

impl State {
    /// No rows.
    pub(super) fn new(settings: &Settings) -> Result<State> {
        let terms = settings.terms()?;
        let exact = ExactLayout::new(settings, &terms).ok_or_else(|| {
            Error::value("this evaluation has more cells than memory can hold").hint("ask for fewer groups, models or values of k")
        })?;
        let models = settings.models.len();
        Ok(State {
            depth: settings.depth,
            covered: Covered::default(),
            open: Open::new(settings)?,
            meaningless: settings.clone(),
            totals: Totals::new(&Layout::new(settings, terms.len()), &exact, models),
            positives: vec![0; settings.labels as usize],
            labels: count_labels(settings, &[])?,
            lists: Vec::new(),
            listed: 0,
            samples: vec![RowSample::new(models)],
            bar: None,
            remembered: settings.has_sample()?.then(|| Remembered::new(settings.request.seed)),
        })
    }

    /// Rows that were taken, also those that wait.
    pub(super) fn rows(&self) -> u64 {
        self.covered.rows() + self.open.scattered
    }

    /// The number of the next row without a given number.
    pub(super) fn next(&self) -> u64 {
        self.covered.end()
    }

    /// The rows so far with those of a batch; `Err` has a row that occurs twice, as far as that is known.
    pub(super) fn with(&self, batch: &Covered, numbers: &[u32]) -> std::result::Result<Covered, u64> {
        let covered = self.covered.union(batch)?;
        // Ranges that have all numbers have told already.
        let is_known = self.open.scattered == 0 && batch.rows() == numbers.len() as u64;
        let remembered = self.remembered.as_ref().filter(|_| !is_known);
        remembered.and_then(|remembered| remembered.find(numbers)).map_or(Ok(covered), |row| Err(u64::from(row)))
    }

    /// Remembers that rows were taken.
    pub(super) fn take(&mut self, taken: Taken) {
        if let Some(remembered) = &mut self.remembered {
            remembered.add(&taken.numbers, self.bar);
        }
        self.covered = taken.covered;
        self.open.automatic &= taken.automatic;
        self.open.bound(&mut self.covered);
        if let Some((digest, labels)) = taken.ignored {
            self.open.ignored = Some(self.open.ignored.unwrap_or_default().and(digest));
            self.open.ignored_labels += labels;
        }
    }

    /// Adds the rows of a tally, in place: rows that wait still do. A tally that is rejected changes nothing.
    pub(super) fn merge(&mut self, context: &Context<'_>, mut other: Tally) -> Result<()> {
        let depth = self.depth.max(other.settings.depth);
        let from = std::mem::replace(&mut other.settings.depth, depth);
        check_parts((&Settings { depth, ..context.settings.clone() }, true), &other)?;
        if self.open.automatic {
            other.put_behind(self.covered.end())?;
        }
        let sampled = other.sample.as_ref().map_or(Vec::new(), |sample| sample.numbers().collect());
        let mut covered = self.with(&other.covered, &sampled).map_err(twice)?;
        if let Some(label) = context.table.differs_from(&other.table) {
            return Err(differ_at(label));
        }
        check_bounds(context.settings, &other.settings)?;
        self.widen(context.settings, depth)?;
        if let Some(mut sample) = other.sample {
            sample.widen(from, depth);
            let seed = context.settings.request.seed;
            let parts: Vec<&RowSample> = self.samples.iter().chain([&sample]).collect();
            let joined = RowSample::merge(&parts, seed, depth).map_err(|row| twice(u64::from(row)))?;
            self.settle(joined, seed);
        }
        self.totals.merge(&other.totals);
        for (label, count) in other.positives.ids.iter().zip(&other.positives.counts) {
            let total = &mut self.positives[*label as usize];
            *total = total.saturating_add(*count);
        }
        self.labels.iter_mut().zip(&other.labels).for_each(|(all, more)| all.add(more));
        self.open = std::mem::take(&mut self.open).and(other.open.unwrap_or_default());
        self.open.bound(&mut covered);
        self.covered = covered;
        self.leave_out()
    }

    /// Makes room for longer top lists.
    fn widen(&mut self, settings: &Settings, depth: usize) -> Result<()> {
        if depth > self.depth {
            self.count(settings)?;
            self.samples.iter_mut().for_each(|sample| sample.widen(self.depth, depth));
            self.depth = depth;
        }
        Ok(())
    }

    /// The pass over some rows. Nothing is changed when it is stopped.
    pub(super) fn pass(
        &mut self,
        context: &Context<'_>,
        truth: &Labels<'_>,
        models: &[&Csr<'_, f32>],
        numbers: &[u32],
        progress: &dyn Progress,
    ) -> Result<()> {
        let longest = |scores: &Csr<'_, f32>| scores.offsets().windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let stored = models.iter().map(|scores| longest(scores)).max().unwrap_or(0) as usize;
        let depth = self.depth.max(stored.min(context.settings.kmax()));
        let settings = Settings { depth, ..self.meaningless.clone() };
        let named = settings.models.iter().cloned().zip(models.iter().copied()).collect();
        let evaluation = Evaluation { models: named, progress, ..Evaluation::blank(truth) };
        let mut plan = Plan::new(&evaluation, &[], &settings, context.table)?;
        plan.groups = context.groups;
        let needs_lists = settings.by_label()? || settings.has_sample()?;
        let size = truth.rows().div_ceil(4 * rayon::current_num_threads());
        let (totals, lists) = pass(&plan, 0..truth.rows(), size, needs_lists)?;
        self.widen(&settings, depth)?;
        self.totals.merge(&totals);
        truth.ids().iter().for_each(|label| self.positives[*label as usize] += 1);
        let inverse = |label: u32, column: usize| context.table.inverse_at(context.table.place(label))[column];
        self.open.cancelling.look(context.settings, truth, numbers, inverse)?;
        self.leave_out()?;
        if settings.has_sample()? {
            self.sample(truth, numbers, &lists, settings.request.seed)?;
        }
        if settings.by_label()? {
            self.listed += truth.rows() * depth;
            self.lists.extend(lists);
            if self.listed >= MOST_LISTED {
                self.count(&settings)?;
            }
        }
        Ok(())
    }

    /// Columns that are known to be meaningless are not computed any more.
    fn leave_out(&mut self) -> Result<()> {
        self.open.cancelling.leave_out(&mut self.meaningless).map(drop)
    }

    /// Adds those rows to the sample that may have a place in it.
    fn sample(&mut self, truth: &Labels<'_>, numbers: &[u32], lists: &[Lists], seed: u64) -> Result<()> {
        let depth = self.depth;
        let has_place = |row: &usize| self.remembered.as_ref().is_none_or(|known| known.has_place(numbers[*row], self.bar));
        let mut rows: Vec<usize> = (0..numbers.len()).filter(has_place).collect();
        rows.sort_by_key(|row| numbers[*row]);
        let mut sample = RowSample::new(self.labels.len());
        for row in rows {
            let (list, local) = Lists::find(lists, row, depth);
            let tops = list.tops.iter().map(|tops| &tops[local * depth..(local + 1) * depth]);
            sample.push([numbers[row]; 2], truth.row_ids(row), tops);
        }
        self.samples.push(sample);
        if self.samples.iter().map(RowSample::len).sum::<usize>() > 2 * MOST_ROWS {
            self.join_samples(seed)?;
        }
        Ok(())
    }

    fn join_samples(&mut self, seed: u64) -> Result<()> {
        let parts: Vec<&RowSample> = self.samples.iter().collect();
        let sample = RowSample::merge(&parts, seed, self.depth).map_err(|row| row_twice(u64::from(row)))?;
        self.settle(sample, seed);
        Ok(())
    }

    /// Takes a sample of all parts in place of the parts.
    fn settle(&mut self, sample: RowSample, seed: u64) {
        self.bar = sample.bar(seed);
        if let Some(remembered) = &mut self.remembered {
            remembered.settle(&sample, self.bar);
        }
        self.samples = vec![sample];
    }

    /// Counts top lists by label.
    fn count(&mut self, settings: &Settings) -> Result<()> {
        let settings = Settings { depth: self.depth, ..settings.clone() };
        let counted = count_labels(&settings, &self.lists)?;
        self.labels.iter_mut().zip(&counted).for_each(|(all, more)| all.add(more));
        self.lists.clear();
        self.listed = 0;
        Ok(())
    }

    /// Everything as a tally.
    pub(super) fn tally(&mut self, context: &Context<'_>, seen: Option<&[bool]>) -> Result<Tally> {
        let settings = Settings { depth: self.depth, ..context.settings.clone() };
        if !self.lists.is_empty() {
            self.count(&settings)?;
        }
        if self.samples.len() > 1 {
            self.join_samples(settings.request.seed)?;
        }
        let present = self.positives.iter().zip(0u32..).filter(|(count, _)| **count > 0);
        let (counts, ids): (Vec<u64>, Vec<u32>) = present.map(|(count, label)| (*count, label)).unzip();
        let mut open = self.open.clone();
        if let Some(seen) = seen {
            let unseen = ids.iter().copied().filter(|label| !seen[*label as usize]).collect::<Vec<u32>>();
            open.unseen = unseen;
        }
        let sample = settings.has_sample()?.then(|| self.samples[0].clone());
        Ok(Tally {
            table: context.table.clone(),
            covered: self.covered.clone(),
            totals: self.totals.clone(),
            labels: self.labels.clone(),
            positives: Positives { ids, counts },
            entries: None,
            open: Some(open),
            settings,
            sample,
        })
    }
}
