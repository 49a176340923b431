//! Training with evidence about missing labels: a controlled set, or later labels of the training rows.
//!
//! With a controlled set two models are trained on the training rows, without a correction and by joint learning, and combined on
//! the controlled rows if that is an improvement (`stack/`). Judged pairs of other rows, with the observed ones of the same lists,
//! take the place of shown pairs, weighted by how many each stands for.
//!
//! Later labels take the place of the observed ones on the rows that have them. If that is every row, training is as ever. If not,
//! the propensities of the others are fitted to the rows with both (row-dependent: by label, by how many labels the row has), and
//! the likelihood of what is observed is trained, in which rows with later labels have nothing missing.

use super::run::{Destination, Trained};
use super::stack::{Stack, Stacked};
use super::trainer::Trainer;
use crate::data::{Dataset, KnownPair, LabelStats, Labels, Rate};
use crate::error::{Error, Result};
use crate::predict::file::LaterOutcome;
use crate::predict::{Model, file};
use crate::propensity::rows::{RowEvidence, RowFit};
use crate::request::{JointLearning, LossChoice, SolverChoice, TrainControlled, TrainRequest};
use std::collections::HashMap;

/// A controlled set that lies in memory.
#[derive(Clone, Copy)]
pub(super) struct ControlledRows<'a> {
    pub(super) data: &'a Dataset<'a>,
    /// The pairs that were shown, when they are known.
    pub(super) shown: Option<&'a Labels<'a>>,
    /// Pairs of these rows that are observed or judged, in place of shown ones.
    pub(super) known: Option<&'a [KnownPair]>,
}

/// Later labels that lie in memory.
#[derive(Clone, Copy)]
pub(super) struct LaterLabels<'a> {
    /// Of all training rows, in the same order.
    pub(super) labels: &'a Labels<'a>,
    /// Which rows have them; all when `None`.
    pub(super) rows: Option<&'a [bool]>,
}

/// Judged rows as a controlled set: only those with a known pair.
struct JudgedRows {
    data: Dataset<'static>,
    pairs: Labels<'static>,
    /// By row and label; of mean 1, so that there are no more pairs than were judged or observed.
    weights: HashMap<(u32, u32), f64>,
}

impl JudgedRows {
    fn new(data: &Dataset<'_>, known: &[KnownPair]) -> Result<JudgedRows> {
        let mut rows: Vec<usize> = known.iter().map(|pair| pair.row as usize).collect();
        rows.sort_unstable();
        rows.dedup();
        if let Some(row) = rows.last().filter(|row| **row >= data.rows()) {
            return Err(Error::value("a judged pair has a row that is not in the data")
                .expected(format!("a row below {}", data.rows()))
                .found(row.to_string())
                .hint("give the data whose rows were judged"));
        }
        // Places among distinct row numbers of 32 bits fit into 32 bits.
        let place = |row: u32| rows.binary_search(&(row as usize)).unwrap_or(0);
        let labels = data.labels().cols() as u64;
        let of = |wanted: fn(&&KnownPair) -> bool| {
            Labels::from_pairs(rows.len(), labels, known.iter().filter(wanted).map(|pair| (place(pair.row), pair.label)))
        };
        let (positives, pairs) = (of(|pair| pair.relevant)?, of(|_| true)?);
        let mean = known.iter().map(|pair| pair.weight).sum::<f64>() / known.len().max(1) as f64;
        let weights = known.iter().map(|pair| ((place(pair.row) as u32, pair.label), pair.weight / mean)).collect();
        let features = data.features().map(|features| features.select_rows(&rows));
        Ok(JudgedRows { data: Dataset::new(features, positives)?, pairs, weights })
    }
}

/// A controlled set with its rate, judged pairs as one.
pub(super) struct SettledRows<'a> {
    rows: ControlledRows<'a>,
    judged: Option<JudgedRows>,
    pub(super) rate: Rate,
}

impl<'a> SettledRows<'a> {
    pub(super) fn new(rows: Option<ControlledRows<'a>>, asked: Option<&TrainControlled>) -> Result<SettledRows<'a>> {
        let missing = || Error::value("the request uses a controlled set that was not passed");
        let rows = rows.ok_or_else(missing)?;
        let judged = rows.known.map(|known| JudgedRows::new(rows.data, known)).transpose()?;
        let rate = asked.and_then(|controlled| controlled.rate.clone());
        // Judged pairs are known one by one.
        let rate = rate.or(judged.as_ref().map(|_| Rate::Common(1.0)));
        let rate = rate.ok_or_else(|| Error::value("the rate of the controlled set is not known"))?;
        Ok(SettledRows { rows, judged, rate })
    }

    /// Its rows, with what is relevant of what was shown.
    pub(super) fn data(&self) -> &Dataset<'_> {
        self.judged.as_ref().map_or(self.rows.data, |judged| &judged.data)
    }

    /// What was shown, when that is known.
    pub(super) fn shown(&self) -> Option<&Labels<'_>> {
        self.judged.as_ref().map(|judged| &judged.pairs).or(self.rows.shown)
    }

    /// How many pairs each stands for, where not all stand for as many.
    pub(super) fn weights(&self) -> Option<&HashMap<(u32, u32), f64>> {
        self.judged.as_ref().map(|judged| &judged.weights)
    }
}

/// Training data whose observed labels are replaced by later ones.
pub(super) struct Replaced<'a> {
    pub(super) data: Dataset<'a>,
    pub(super) outcome: LaterOutcome,
    /// Which rows have later labels, and of these the labels of both snapshots.
    known: Vec<bool>,
    early: Labels<'static>,
    late: Labels<'static>,
}

impl LaterLabels<'_> {
    /// Checks that the later labels are those of the rows, and puts them in place of the observed ones.
    pub(super) fn replace<'d>(self, data: &Dataset<'d>) -> Result<Replaced<'d>> {
        let LaterLabels { labels: later, rows } = self;
        let observed = data.labels();
        if (later.rows(), later.cols()) != (observed.rows(), observed.cols()) {
            return Err(Error::value("the later labels are not those of the training rows")
                .expected(format!("{} rows and {} labels", observed.rows(), observed.cols()))
                .found(format!("{} and {}", later.rows(), later.cols()))
                .hint("both must be of the same rows in the same order"));
        }
        let known: Vec<bool> = rows.map_or_else(|| vec![true; data.rows()], <[bool]>::to_vec);
        let matched: Vec<usize> = (0..data.rows()).filter(|row| known.get(*row) == Some(&true)).collect();
        if known.len() != data.rows() || matched.is_empty() {
            return Err(Error::value("no training row has later labels").expected(format!("some of {} rows", data.rows())));
        }
        let (early, late) = (observed.select_rows(&matched), later.select_rows(&matched));
        let both: usize =
            (0..matched.len()).map(|row| late.row_ids(row).iter().filter(|label| early.row_ids(row).contains(label)).count()).sum();
        let outcome = LaterOutcome {
            rows: matched.len() as u64,
            of: data.rows() as u64,
            added: (late.nnz() - both) as u64,
            withdrawn: (early.nnz() - both) as u64,
        };
        let ids = (0..data.rows()).map(|row| if known[row] { later.row_ids(row) } else { observed.row_ids(row) }.to_vec());
        let data = Dataset::new(data.features().cloned(), Labels::from_ids(observed.cols() as u64, ids)?)?;
        Ok(Replaced { data, outcome, known, early, late })
    }
}

impl Trainer<'_> {
    /// Two models and the stack of them.
    pub(super) fn train_stack(&self, data: &Dataset<'_>) -> Result<(Model, Trained)> {
        let settled = SettledRows::new(self.controlled, self.request.controlled.as_ref())?;
        let (controlled, rate, shown, weights) = (settled.data(), &settled.rate, settled.shown(), settled.weights());
        let without = |request: TrainRequest| Trainer { request, controlled: None, ..self.clone() };
        let (uncorrected, trained) = without(TrainRequest { controlled: None, ..self.request.clone() }).train(data)?;
        let (joint, _) = without(self.joint_request()).train(data)?;
        let counts = LabelStats::of(data.labels()).dense_counts()?;
        let (rows, seed) = (data.rows(), self.request.seed);
        let stack =
            Stack { uncorrected: &uncorrected, joint: &joint, counts: &counts, rows, controlled, rate, shown, weights, seed };
        let Stacked { model, table } = stack.fit()?;
        let mut trained = Trained { stack: Some(table.clone()), ..trained };
        trained.about.request = Some(self.request.recorded());
        trained.outcome.stack = Some(table);
        trained.about.outcome = Some(trained.outcome.clone());
        Ok((model, trained))
    }

    /// The same into a file. There are no blocks to keep: what takes time comes before them.
    pub(super) fn train_stack_to(&self, data: &Dataset<'_>, to: &Destination) -> Result<Trained> {
        let (model, trained) = self.train_stack(data)?;
        let model = to.prune.map_or(Ok(model.clone()), |least| model.prune(least))?;
        let write = if to.half { file::write_half } else { file::write };
        write(&model, &trained.about, &to.path)?;
        Ok(trained)
    }

    /// Joint learning on the same rows, scaled alike.
    fn joint_request(&self) -> TrainRequest {
        TrainRequest {
            joint: Some(JointLearning::Plugin),
            normalize: self.request.normalize,
            memory: self.request.memory,
            seed: self.request.seed,
            ..TrainRequest::default()
        }
    }

    /// Goes on with later labels in place of the observed ones.
    pub(super) fn with_later<T>(
        &self,
        data: &Dataset<'_>,
        go_on: impl FnOnce(&Trainer<'_>, &Dataset<'_>) -> Result<T>,
    ) -> Result<T> {
        let missing = || Error::value("the request uses later labels that were not passed");
        let Replaced { data: replaced, outcome, known, early, late } = self.later.ok_or_else(missing)?.replace(data)?;
        let mut request = TrainRequest { later: None, ..self.request.clone() };
        let asked = Some(Box::new(self.request.clone()));
        let trainer = Trainer { later: None, later_outcome: Some(outcome), asked, ..self.clone() };
        if outcome.rows == outcome.of {
            return go_on(&Trainer { request, ..trainer }, &replaced);
        }
        let fitted = RowFit::new(&early, &late, RowEvidence::Later)?.replicates(0, self.request.seed).run()?;
        let pairs = fitted
            .pair_propensities(data.labels(), None, &[])?
            .with_origin("later labels, row-dependent")
            .with_complete_rows(known);
        if request.loss == LossChoice::Auto {
            request.loss = LossChoice::Named(super::plan::PLUGIN.to_owned());
        }
        if request.solver == SolverChoice::Auto {
            request.solver = SolverChoice::Newton;
        }
        go_on(&Trainer { request, ..trainer }.row_propensity(pairs), &replaced)
    }
}
