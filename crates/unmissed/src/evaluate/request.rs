//! [`Evaluation`]: what to evaluate, against what, and how.

use super::groups::Groups;
use super::interval::IntervalKind;
use super::label_tally::{LabelTally, Positives};
use super::layout::Layout;
use super::pass::{CHUNK, ChunkResult, Plan};
use super::report::EvaluationResult;
use super::settings::{Kind, Rate, Settings};
use super::table::Table;
use super::tally::{Entries, Tally};
use crate::data::{Csr, LabelStats, Labels};
use crate::error::{Error, Result};
use crate::metrics::{Estimator, Shape};
use crate::progress::{Progress, Silent};
use crate::propensity::Propensities;
use crate::spec::Spec;
use rayon::prelude::*;
use std::ops::Range;

/// The largest k: top lists are held for all rows.
const LARGEST_K: usize = 1_000_000;

/// An evaluation in the making. See the module's page.
#[derive(Clone)]
pub struct Evaluation<'a> {
    pub(super) truth: &'a Labels<'a>,
    pub(super) models: Vec<(String, &'a Csr<'a, f32>)>,
    pub(super) train: Option<&'a LabelStats>,
    pub(super) propensities: Vec<Propensities>,
    pub(super) metrics: Option<Vec<Spec>>,
    pub(super) estimators: Option<Vec<Estimator>>,
    pub(super) ks: Vec<usize>,
    pub(super) level: f64,
    pub(super) interval: IntervalKind,
    pub(super) bootstrap: usize,
    pub(super) seed: u64,
    pub(super) groups: Option<Groups>,
    pub(super) weights: Option<(String, Vec<f64>)>,
    pub(super) clip: Option<f64>,
    pub(super) rate: Option<Rate>,
    pub(super) shown: Option<&'a Labels<'a>>,
    shard: (usize, usize),
    progress: &'a dyn Progress,
}

impl<'a> Evaluation<'a> {
    /// Models by name, each with scores for the rows of `truth` in the same order.
    pub fn new(truth: &'a Labels<'a>, models: &[(&str, &'a Csr<'a, f32>)]) -> Result<Evaluation<'a>> {
        if models.is_empty() {
            return Err(Error::value("nothing to evaluate").expected("the predictions of at least one model"));
        }
        if truth.rows() == 0 {
            return Err(Error::value("the test labels have no rows").expected("at least one row"));
        }
        for (place, (name, scores)) in models.iter().enumerate() {
            if models[..place].iter().any(|(other, _)| other == name) {
                return Err(Error::value(format!("two models are called '{name}'")).hint("give each a name of its own: NAME=FILE"));
            }
            same(&format!("the predictions of '{name}'"), "rows", truth.rows(), scores.rows())?;
            same(&format!("the predictions of '{name}'"), "labels", truth.cols(), scores.cols())?;
            if scores.nnz() == 0 {
                return Err(Error::value(format!("the predictions of '{name}' are empty")).expected("at least one 'label:score'"));
            }
        }
        Ok(Evaluation {
            truth,
            models: models.iter().map(|(name, scores)| ((*name).to_owned(), *scores)).collect(),
            train: None,
            propensities: Vec::new(),
            metrics: None,
            estimators: None,
            ks: vec![1, 3, 5],
            level: 0.95,
            interval: IntervalKind::Population,
            bootstrap: 200,
            seed: 0,
            groups: None,
            weights: None,
            clip: None,
            rate: None,
            shown: None,
            shard: (0, 1),
            progress: &Silent,
        })
    }

    /// How often labels occur in training: for findings.
    #[must_use]
    pub fn train(mut self, stats: &'a LabelStats) -> Self {
        self.train = Some(stats);
        self
    }

    /// Adds a propensity model.
    #[must_use]
    pub fn propensity(mut self, propensities: Propensities) -> Self {
        self.propensities.push(propensities);
        self
    }

    /// Which metrics, as specs: `precision`, `macro-f:beta=2`, `recall:observed` (with its estimators). All unless given.
    pub fn metrics(mut self, specs: &[&str]) -> Result<Self> {
        self.metrics = Some(specs.iter().map(|text| text.parse()).collect::<Result<_>>()?);
        Ok(self)
    }

    /// Which estimators, for metrics that do not name their own. All that each metric has unless given.
    #[must_use]
    pub fn estimators(mut self, estimators: &[Estimator]) -> Self {
        self.estimators = Some(estimators.to_vec());
        self
    }

    /// Lengths of the top list; 1, 3 and 5 unless given.
    pub fn ks(mut self, ks: &[usize]) -> Result<Self> {
        if let Some(k) = ks.iter().find(|k| !(1..=LARGEST_K).contains(*k)) {
            return Err(Error::value("k is out of range").expected(format!("1 to {LARGEST_K}")).found(k.to_string()));
        }
        if ks.is_empty() {
            return Err(Error::value("no k is given").expected("at least one"));
        }
        self.ks = ks.to_vec();
        self.ks.sort_unstable();
        self.ks.dedup();
        Ok(self)
    }

    /// The level of the intervals; 0.95 unless given.
    pub fn level(mut self, level: f64) -> Result<Self> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::value("the level is out of range").expected("a number between 0 and 1").found(level.to_string()));
        }
        self.level = level;
        Ok(self)
    }

    /// Which question intervals answer.
    #[must_use]
    pub fn interval(mut self, kind: IntervalKind) -> Self {
        self.interval = kind;
        self
    }

    /// Bootstrap replicates for means over labels, and their seed; 0 replicates turn them off, 200 unless given.
    #[must_use]
    pub fn bootstrap(mut self, replicates: usize, seed: u64) -> Self {
        (self.bootstrap, self.seed) = (replicates, seed);
        self
    }

    /// Every metric by group of labels too.
    pub fn groups(mut self, groups: Groups) -> Result<Self> {
        same("the groups", "labels", self.truth.cols(), groups.labels())?;
        self.groups = Some(groups);
        Ok(self)
    }

    /// Gains of labels for `weighted-precision`, under a name.
    pub fn weights(mut self, name: impl Into<String>, weights: Vec<f64>) -> Result<Self> {
        same("the weights", "labels", self.truth.cols(), weights.len())?;
        if let Some(label) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
            return Err(Error::value(format!("the weight of label {label} is out of range"))
                .expected("a finite number of at least 0")
                .found(weights[label].to_string()));
        }
        self.weights = Some((name.into(), weights));
        Ok(self)
    }

    /// Also estimates with inverse propensities cut at `tau`, with a bound of their bias.
    pub fn clip(mut self, tau: f64) -> Result<Self> {
        if !(tau >= 1.0 && tau.is_finite()) {
            return Err(Error::value("the clip is out of range")
                .expected("an inverse propensity of at least 1")
                .found(tau.to_string()));
        }
        self.clip = Some(tau);
        Ok(self)
    }

    /// The test labels are a controlled set: labels were shown at this rate.
    pub fn rate(mut self, rate: Rate) -> Result<Self> {
        match &rate {
            Rate::Shown { shown, of } if !(1..=*of).contains(shown) || *of as usize != self.truth.cols() => {
                return Err(Error::value("the rate is off")
                    .expected(format!("r/m with 1 <= r <= m and m = {} labels", self.truth.cols()))
                    .found(format!("{shown}/{of}")));
            }
            Rate::Shown { .. } => {}
            Rate::PerLabel(rates) => same("the rates", "labels", self.truth.cols(), rates.len())?,
        }
        self.rate = Some(rate);
        Ok(self)
    }

    /// The pairs that were shown, relevant or not: for the self-normalised estimate.
    pub fn shown(mut self, shown: &'a Labels<'a>) -> Result<Self> {
        same("the shown pairs", "rows", self.truth.rows(), shown.rows())?;
        same("the shown pairs", "labels", self.truth.cols(), shown.cols())?;
        self.shown = Some(shown);
        Ok(self)
    }

    /// Only the rows of shard `index` of `of`, both counted from 1. Inputs are those of the whole; shards are made of whole chunks
    /// of [`CHUNK`] rows.
    pub fn shard(mut self, index: usize, of: usize) -> Result<Self> {
        if !(1..=of).contains(&index) {
            return Err(Error::value("the shard is out of range").expected("i/n with 1 <= i <= n").found(format!("{index}/{of}")));
        }
        self.shard = (index - 1, of);
        Ok(self)
    }

    /// Who watches.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// The pass and its finish. Runs in the current rayon pool.
    pub fn run(&self) -> Result<EvaluationResult> {
        if self.shard.1 > 1 {
            return Err(
                Error::value("a shard is not a whole evaluation").hint("tally the shards, merge them, and finish the whole")
            );
        }
        self.tally()?.finish()
    }

    /// The pass alone.
    pub fn tally(&self) -> Result<Tally> {
        let positives = Positives::count(self.truth.cols(), self.truth.ids());
        let (settings, table) = self.resolve(&positives)?;
        let terms = settings.terms()?;
        let layout = Layout::new(&settings, terms.len());
        let wants = |estimator| settings.asked.iter().any(|asked| asked.wants(estimator));
        let has_product = terms.iter().any(|term| matches!(term.kind, Kind::Product));
        let plan = Plan {
            settings: &settings,
            layout,
            table: &table,
            truth: self.truth,
            models: self.models.iter().map(|(_, scores)| *scores).collect(),
            shown: self.shown.filter(|_| settings.hajek),
            abandonment: settings.controlled.filter(|_| has_product).map(|(shown, of)| {
                let most = settings.depth.min(shown as usize);
                super::controlled::abandonment(shown, of, most)
            }),
            needs_best: wants(Estimator::Normalized),
            mask: settings.interval == IntervalKind::Mask,
            terms,
        };
        let chunks = self.truth.rows().div_ceil(CHUNK);
        let (index, of) = self.shard;
        let range = chunks * index / of..chunks * (index + 1) / of;
        self.progress.begin("evaluate", ((range.end - range.start) * CHUNK) as u64);
        let results: Vec<ChunkResult> = range
            .clone()
            .into_par_iter()
            .map(|chunk| {
                let result = plan.run(chunk);
                self.progress.advance(CHUNK as u64).map(|()| result)
            })
            .collect::<Result<_>>()?;
        let rows = range.start * CHUNK..(range.end * CHUNK).min(self.truth.rows());
        self.collect(settings, table, positives, rows, results)
    }

    /// Counts by label what the pass selected; `all` are the positives of all rows.
    fn collect(
        &self,
        settings: Settings,
        table: Table,
        all: Positives,
        rows: Range<usize>,
        results: Vec<ChunkResult>,
    ) -> Result<Tally> {
        let labels = self.truth.cols();
        let by_label = settings.by_label()?;
        let count = |model: usize| {
            if !by_label {
                return LabelTally::count(0, 1, &[], &[]);
            }
            let tops: Vec<&[u32]> = results.iter().map(|result| &*result.tops[model]).collect();
            let hits: Vec<&[u64]> = results.iter().map(|result| &*result.hits[model]).collect();
            LabelTally::count(labels, settings.depth, &tops, &hits)
        };
        let tallies: Vec<LabelTally> = (0..settings.models.len()).map(count).collect();
        let positives = if rows.len() == self.truth.rows() {
            all
        } else {
            let offsets = self.truth.offsets();
            Positives::count(labels, &self.truth.ids()[offsets[rows.start] as usize..offsets[rows.end] as usize])
        };
        let has_label_metrics = settings.asked.iter().any(|asked| matches!(asked.metric().map(|m| m.shape()), Ok(Shape::Label(_))));
        let entries = (settings.bootstrap > 0 && has_label_metrics && settings.interval == IntervalKind::Population)
            .then(|| self.entries(&settings, rows.clone(), &results));
        let first = (rows.start / CHUNK) as u64;
        let chunks = results.into_iter().enumerate().map(|(place, result)| (first + place as u64, result.sums)).collect();
        Ok(Tally { settings, table, chunks, labels: tallies, positives, entries })
    }

    /// What the bootstrap draws from.
    fn entries(&self, settings: &Settings, rows: Range<usize>, results: &[ChunkResult]) -> Entries {
        let (depth, words) = (settings.depth, settings.depth.div_ceil(64));
        let of_model = |model: usize| {
            let mut entries = Vec::new();
            for (chunk, result) in results.iter().enumerate() {
                for (local, top) in result.tops[model].chunks_exact(depth).enumerate() {
                    let row = (rows.start + chunk * CHUNK + local) as u32;
                    for (rank, label) in top.iter().enumerate().filter(|(_, label)| **label != super::select::NONE) {
                        let hit = result.hits[model][local * words + rank / 64] >> (rank % 64) & 1;
                        entries.push([*label, row, 2 * rank as u32 + hit as u32]);
                    }
                }
            }
            entries
        };
        let positives = rows.clone().flat_map(|row| self.truth.row_ids(row).iter().map(move |label| [*label, row as u32]));
        Entries { predicted: (0..settings.models.len()).map(of_model).collect(), positives: positives.collect() }
    }
}

/// Two things must have the same size.
pub(super) fn same(what: &str, unit: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::value(format!("{what} do not fit the test labels"))
        .expected(format!("{expected} {unit}"))
        .found(found.to_string())
        .hint(match unit {
            "rows" => "row i of one file must be row i of the other",
            _ => "labels are counted from 0 and their number stands in the header",
        }))
}
