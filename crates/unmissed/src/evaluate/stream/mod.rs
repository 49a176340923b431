//! Rows that arrive batch by batch: [`Evaluator`] takes any number of them and gives the result of one [`Evaluation`] of all rows,
//! to the last bit.
//!
//! Everything that does not depend on rows is settled when the evaluator is made: metrics, the table of inverse propensities of
//! all labels, bounds. A [`Batch`] is checked whole before any of it is taken. Small batches wait in a buffer (`pending.rs`) until there is
//! enough for all threads; then the pass goes over them (`state.rs`), and what it leaves is added to an open [`Tally`]. How many rows there are, which
//! test labels do not occur in training, and which estimates are numerically meaningless is settled at the end (`tally/open.rs`). Memory grows
//! with the labels, not with the rows.
//!
//! ```
//! use unmissed::data::{Labels, Scores};
//! use unmissed::evaluate::{Batch, Evaluation, StreamShape};
//! let shape = StreamShape::new(3, &["mine"])?;
//! let mut evaluator = Evaluation::of_stream(&shape)?.ks(&[1])?.evaluator()?;
//! let test = Labels::from_ids(3, [vec![0, 1], vec![2]])?;
//! let scores = Scores::from_rows(3, [[(0, 0.9f32), (1, 0.2)], [(0, 0.6), (2, 0.5)]])?;
//! for row in [1, 0] {
//!     let (labels, scores) = (test.select_rows(&[row]), scores.select_rows(&[row]));
//!     evaluator.update(&Batch::new(&labels, &[&scores])?.numbers(&[row as u64])?)?;
//! }
//! assert_eq!(evaluator.compute()?, Evaluation::new(&test, &[("mine", &scores)])?.ks(&[1])?.run()?);
//! # Ok::<(), unmissed::Error>(())
//! ```

mod batch;
mod pending;
mod remembered;
mod state;

pub use self::batch::Batch;

use self::pending::Pending;
use self::state::State;
use super::builder::Evaluation;
use super::plan::groups::Groups;
use super::plan::settings::Settings;
use super::plan::table::Table;
use super::report::EvaluationResult;
use super::tally::Tally;
use super::tally::labels::Positives;
use crate::data::{Csr, LabelStats, Labels};
use crate::error::{Error, Result};
use crate::progress::{Progress, Silent};

/// How many labels there are and what models are called: all that is known of a stream beforehand.
#[derive(Clone, Debug)]
pub struct StreamShape {
    truth: Labels<'static>,
    models: Vec<(String, Csr<'static, f32>)>,
}

impl StreamShape {
    /// So many labels, and models by name.
    pub fn new(labels: u64, models: &[&str]) -> Result<StreamShape> {
        let none = || Csr::from_arrays(labels, vec![0], Vec::new(), Vec::new());
        let models = models.iter().map(|name| Ok(((*name).to_owned(), none()?))).collect::<Result<_>>()?;
        Ok(StreamShape { truth: Labels::new(labels, vec![0], Vec::new())?, models })
    }
}

/// See the module's page.
pub struct Evaluator {
    /// As an evaluation of no rows has them.
    settings: Settings,
    table: Table,
    groups: Option<Groups>,
    /// Labels that occur in training, when that is known.
    seen: Option<Vec<bool>>,
    pending: Pending,
    state: State,
}

impl<'a> Evaluation<'a> {
    /// An evaluation of rows that are still to come, for [`Evaluation::evaluator`].
    pub fn of_stream(shape: &'a StreamShape) -> Result<Evaluation<'a>> {
        let models: Vec<(&str, &Csr<'_, f32>)> = shape.models.iter().map(|(name, scores)| (name.as_str(), scores)).collect();
        Evaluation::checked(&shape.truth, &models)
    }

    /// The evaluator of a stream. Inputs about single rows cannot be given in advance.
    pub fn evaluator(self) -> Result<Evaluator> {
        self.check_stream()?;
        let labels = self.truth.cols();
        let all = Positives { ids: (0..labels as u32).collect(), counts: vec![1; labels] };
        let (settings, table, _) = self.settle(&Positives::default(), &all)?;
        let seen = |stats: &LabelStats| {
            let mut seen = vec![false; labels];
            stats.occurring().iter().for_each(|label| seen[*label as usize] = true);
            seen
        };
        let seen = self.train.map(seen);
        Ok(Evaluator {
            pending: Pending::new(settings.models.len()),
            state: State::new(&settings)?,
            groups: self.groups,
            settings,
            table,
            seen,
        })
    }

    fn check_stream(&self) -> Result<()> {
        let cannot = |what: &str, hint: &str| Err(Error::value(format!("a stream cannot have {what}")).hint(hint));
        let whole = "evaluate all rows at once for that";
        if self.truth.rows() > 0 {
            return cannot("rows before it starts", "make the evaluation with 'of_stream'");
        }
        if self.request.bootstrap > 0 {
            return cannot("bootstrap replicates: they need all rows at once", "leave them out: the jackknife covers better");
        }
        if !self.request.shard.is_whole() {
            return cannot("shards", "give each part its own rows and merge the tallies");
        }
        if self.ignored.is_some() {
            return cannot("ignored pairs of rows that are still to come", "give each batch its own");
        }
        if !self.row_models.is_empty() || self.matched.is_some() || self.later.is_some() {
            return cannot("propensities or estimates that depend on rows", whole);
        }
        if self.shown.is_some() || self.label_counts.is_some() {
            return cannot("shown pairs or label counts", whole);
        }
        Ok(())
    }
}

impl Evaluator {
    /// The number of labels.
    pub fn labels(&self) -> usize {
        self.settings.labels as usize
    }

    /// Number of rows so far.
    pub fn rows(&self) -> u64 {
        self.state.rows()
    }

    /// Takes a batch. It is checked first: a rejected batch changes nothing. Runs in the current rayon pool.
    ///
    /// A row number that occurs twice is an error as long as the numbers form at most 65 536 ranges. Beyond that they are forgotten,
    /// and only rows are found again that came since, or that are in the sample of 65 536 rows, which macro-F and coverage need.
    pub fn update(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.update_watched(batch, &Silent)
    }

    /// The same; `progress` can stop the work, and then the batch was not taken.
    pub fn update_watched(&mut self, batch: &Batch<'_>, progress: &dyn Progress) -> Result<()> {
        let taken = self.check(batch)?;
        if Pending::is_large(batch) {
            self.flush(progress)?;
            let context = Context { settings: &self.settings, table: &self.table, groups: self.groups.as_ref() };
            self.state.pass(&context, batch.truth(), &batch.models(), &taken.numbers, progress)?;
            self.state.take(taken);
            return Ok(());
        }
        if self.pending.is_full_with(batch) {
            self.flush(progress)?;
        }
        self.pending.push(batch, &taken.numbers);
        self.state.take(taken);
        Ok(())
    }

    /// Whether the next small batch only waits: it then takes no threads.
    pub fn waits(&self, batch: &Batch<'_>) -> bool {
        !Pending::is_large(batch) && !self.pending.is_full_with(batch)
    }

    /// Everything so far as a tally, which merges with others of the same stream's settings.
    pub fn tally(&mut self) -> Result<Tally> {
        self.flush(&Silent)?;
        let context = Context { settings: &self.settings, table: &self.table, groups: self.groups.as_ref() };
        self.state.tally(&context, self.seen.as_deref())
    }

    /// Adds the rows of another stream with the same settings. Streams that numbered their rows themselves are put behind this one; other
    /// rows must have other numbers. A rejected tally changes nothing.
    pub fn merge(&mut self, other: Tally) -> Result<()> {
        let context = Context { settings: &self.settings, table: &self.table, groups: self.groups.as_ref() };
        self.state.merge(&context, other)
    }

    /// The report for all rows so far. More batches may follow.
    pub fn compute(&mut self) -> Result<EvaluationResult> {
        self.compute_watched(&Silent)
    }

    /// The same with progress.
    pub fn compute_watched(&mut self, progress: &dyn Progress) -> Result<EvaluationResult> {
        self.tally()?.closed()?.finish_watched(progress)
    }

    /// Forgets all rows.
    pub fn reset(&mut self) -> Result<()> {
        self.pending = Pending::new(self.settings.models.len());
        self.state = State::new(&self.settings)?;
        Ok(())
    }

    /// The pass over the rows that wait.
    fn flush(&mut self, progress: &dyn Progress) -> Result<()> {
        if self.pending.rows() == 0 {
            return Ok(());
        }
        let context = Context { settings: &self.settings, table: &self.table, groups: self.groups.as_ref() };
        let waiting = self.pending.matrices(self.settings.labels)?;
        let models: Vec<&Csr<'_, f32>> = waiting.models.iter().collect();
        self.state.pass(&context, &waiting.truth, &models, &waiting.numbers, progress)?;
        self.pending.clear();
        Ok(())
    }
}

/// What a pass over rows needs of the evaluator.
struct Context<'a> {
    settings: &'a Settings,
    table: &'a Table,
    groups: Option<&'a Groups>,
}
