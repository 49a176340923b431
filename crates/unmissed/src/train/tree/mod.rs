//! Training on trees over labels: [`TreeTrainer`].
//!
//! The problem of a node is that of its rows alone (`node.rs`), and all its lanes are solved together (`solve.rs`), in blocks whose weights
//! fit the nearer caches. Nodes do not depend on each other, so threads take parts of the trees (`parts.rs`) as they come (`fit.rs`); what
//! is kept of one are its weights without the small ones, in memory or, by [`TreeTrainer::train_to`] (`run.rs`), in files from which an
//! interrupted run is resumed; `size.rs` says from the first parts how large the model becomes. Rows without any label stay: at the root they
//! have labels below no lane.

mod fit;
mod node;
mod parts;
mod run;
mod shift;
mod size;
mod solve;

pub use run::{SizeEstimate, TreeDestination, TreeTrained};

use crate::data::{Csr, Dataset, Features, KnownPair, LabelStats, Labels};
use crate::error::{Error, Result};
use crate::predict::file::{LaterOutcome, TreeStore};
use crate::predict::tree::weights::{Blocks, Weights};
use crate::predict::{About, AdjustedPropensities, Normalize, TreeModel};
use crate::progress::{Progress, Silent};
use crate::propensity::Propensities;
use crate::request::{NormalizeChoice, TrainPropensity, TreeCorrection, TreeRequest};
use crate::train::evidence::{ControlledRows, LaterLabels, Replaced, SettledRows};
use crate::train::lines::check_room;
use crate::train::noisy::without_noise;
use crate::train::stack::{Evidence, recalibrate};
use crate::tree::{LabelRows, Tree, TreeData};
use fit::{Fit, check_memory};
use node::AllRows;
use parts::{Part, parts_of};
use rayon::prelude::*;
use shift::lane_shifts;
use solve::Settings;
use std::sync::{Mutex, PoisonError};

/// A builder of trainings on trees: a request, and what it needs that lies in memory.
///
/// ```
/// use unmissed::data::{Dataset, Dense, Features, Labels};
/// use unmissed::predict::{PredictOptions, TreeSearch};
/// use unmissed::{request::TreeRequest, train::TreeTrainer};
/// let features = Features::Dense(Dense::new(6, 2, vec![1.0, 0.0, 1.0, 0.1, 0.1, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.9])?);
/// let labels = Labels::from_ids(4, [vec![0], vec![0], vec![1], vec![1], vec![2], vec![2, 3]])?;
/// let data = Dataset::new(Some(features.clone()), labels)?;
/// let request = TreeRequest { tree: "kmeans:branch=2,leaf=2".parse()?, cost: 100.0, ..TreeRequest::default() };
/// let (model, about) = TreeTrainer::new(request).train(&data)?;
/// assert_eq!((model.labels(), model.trees()[0].nodes(), about.rows), (4, 3, Some(6)));
/// let top = model.predict(&features, &PredictOptions { k: 1, ..Default::default() }, TreeSearch::default())?.scores;
/// assert_eq!((top.row_ids(0), top.row_ids(3), top.row_ids(5)), (&[0][..], &[1][..], &[2][..]));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone)]
pub struct TreeTrainer<'a> {
    request: TreeRequest,
    propensities: Option<&'a Propensities>,
    controlled: Option<ControlledRows<'a>>,
    later: Option<LaterLabels<'a>>,
    /// What became of the later labels, once they are in place of the observed ones.
    later_outcome: Option<LaterOutcome>,
    memory: Option<u64>,
    progress: &'a dyn Progress,
}

impl<'a> TreeTrainer<'a> {
    /// Training as the request says.
    pub fn new(request: TreeRequest) -> TreeTrainer<'a> {
        TreeTrainer {
            request,
            propensities: None,
            controlled: None,
            later: None,
            later_outcome: None,
            memory: None,
            progress: &Silent,
        }
    }

    /// The propensities of labels; if the request names a model, they are taken for its values.
    #[must_use]
    pub fn propensity(mut self, propensities: &'a Propensities) -> Self {
        self.propensities = Some(propensities);
        self.request.propensity.get_or_insert(TrainPropensity::Given);
        self
    }

    /// A controlled set, at the rate that the request says, and the pairs that were shown, when they are known: probabilities are
    /// recalibrated on them, unless that is no improvement.
    #[must_use]
    pub fn controlled(mut self, data: &'a Dataset<'a>, shown: Option<&'a Labels<'a>>) -> Self {
        self.controlled = Some(ControlledRows { data, shown, known: None });
        self.request.controlled.get_or_insert_default();
        self
    }

    /// Rows that were not trained on, with pairs of theirs that are observed or judged
    /// ([`Judged::known_pairs`](crate::evaluate::judged::Judged::known_pairs)), as a controlled set.
    #[must_use]
    pub fn judged(mut self, data: &'a Dataset<'a>, known: &'a [KnownPair]) -> Self {
        self.controlled = Some(ControlledRows { data, shown: None, known: Some(known) });
        self.request.controlled.get_or_insert_default();
        self
    }

    /// Later labels of all training rows, in the same order: they replace the observed ones.
    #[must_use]
    pub fn later(mut self, labels: &'a Labels<'a>) -> Self {
        self.later = Some(LaterLabels { labels, rows: None });
        self.request.later.get_or_insert_default();
        self
    }

    /// Where progress is shown.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// The most bytes that nodes in work may take on top of the data; without a bound each thread works on one.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Trains a model in memory.
    pub fn train(&self, data: &Dataset<'_>) -> Result<(TreeModel, About)> {
        if let Some(later) = self.later {
            let replaced = later.replace(data)?;
            return self.of_replaced(&replaced).train(&replaced.data);
        }
        self.train_in(self.memory, data, None)
    }

    /// The trainer for data whose labels were replaced.
    fn of_replaced(&self, replaced: &Replaced<'_>) -> TreeTrainer<'a> {
        TreeTrainer { later: None, later_outcome: Some(replaced.outcome), ..self.clone() }
    }

    /// Trains in memory, if so much of it holds what is largest; how much is done at a time follows from the trainer's own limit. A tree
    /// that is given needs not be read.
    fn train_in(&self, memory: Option<u64>, data: &Dataset<'_>, given: Option<Tree>) -> Result<(TreeModel, About)> {
        let prepared = self.prepare(data)?;
        let all = prepared.all()?;
        let given = self.given_tree(&all, given)?;
        let trees = self.grow(&all, given.as_ref(), None)?;
        let parts = parts(&trees, &all);
        let finished = Mutex::new(vec![Blocks::default(); parts.len()]);
        check_memory(memory, &all, &parts, 0..parts.len())?;
        let by_count = self.tried(data, given.as_ref(), None)?.map_or(0.0, |tried| tried.by_count);
        let fit = self.fit(&all, &trees, &parts, by_count);
        self.progress.begin("training", lanes(&parts, |_| true));
        let wanted: Vec<usize> = (0..parts.len()).collect();
        fit.run(&wanted, &|part, blocks| {
            finished.lock().unwrap_or_else(PoisonError::into_inner)[part] = blocks;
            Ok(())
        })?;
        let mut blocks = Blocks::default();
        finished.into_inner().unwrap_or_else(PoisonError::into_inner).iter().for_each(|part| blocks.append(part));
        let weights = Weights::of_blocks(&trees, all.features.cols(), blocks)?;
        let model = TreeModel::new(all.features.cols(), prepared.normalize, trees, prepared.divisor(), weights)?;
        let about = About { logits_by_count: by_count, ..prepared.about };
        match self.request.controlled.is_some() {
            true => self.recalibrate(model, about),
            false => Ok((model, about)),
        }
    }

    /// Recalibrates a model on the controlled set, unless that is no improvement.
    fn recalibrate(&self, model: TreeModel, mut about: About) -> Result<(TreeModel, About)> {
        let settled = SettledRows::new(self.controlled, self.request.controlled.as_ref())?;
        let (recalibration, table) = recalibrate(
            &model,
            &Evidence {
                counts: about.label_counts.as_deref().unwrap_or_default(),
                rows: about.rows.unwrap_or_default() as usize,
                controlled: settled.data(),
                rate: &settled.rate,
                shown: settled.shown(),
                weights: settled.weights(),
                seed: self.request.seed,
            },
        )?;
        about.recalibration = Some(table);
        let model = match recalibration {
            Some(recalibration) => model.recalibrated(recalibration)?,
            None => model,
        };
        Ok((model, about))
    }

    /// Checks request and data, and makes what training reads.
    fn prepare(&self, data: &Dataset<'_>) -> Result<Prepared> {
        let request = &self.request;
        request.check()?;
        if request.controlled.is_some() {
            // What is missing is found before hours of training.
            SettledRows::new(self.controlled, request.controlled.as_ref())?;
        }
        if request.later.is_some() && self.later_outcome.is_none() {
            return Err(Error::value("the request uses later labels that were not passed"));
        }
        let features = data.features().ok_or_else(|| {
            Error::value("there is nothing to train on").expected("features for each row").hint("labels alone make no model")
        })?;
        if data.rows() == 0 || data.labels().cols() == 0 {
            return Err(Error::value("there is nothing to train on").expected("at least one row and one label"));
        }
        check_room(features.cols(), 1)?;
        let stats = LabelStats::of(data.labels());
        let counts = stats.dense_counts()?;
        let given = self.given_propensities(&stats)?;
        let (propensities, adjusted) = given.map(|given| adjusted(given, &counts, data.rows())).transpose()?.unzip();
        let inverse = propensities.as_ref().map(|propensities| self.inverse(propensities));
        let normalize = match request.normalize {
            NormalizeChoice::Auto => Normalize::usual(features),
            NormalizeChoice::L2 => Normalize::L2,
            NormalizeChoice::None => Normalize::None,
        };
        let mut about = About::new("logistic", request.seed);
        about.propensity = propensities.map(|propensities| propensities.origin().clone());
        about.rows = Some(data.rows() as u64);
        about.adjusted = adjusted.flatten();
        about.later = self.later_outcome;
        about.label_counts = Some(counts);
        let prune = request.prune.unwrap_or(TreeRequest::usual_prune(data.labels().cols()));
        about.tree = Some(TreeRequest { prune: Some(prune), ..request.clone() });
        let (features, label_rows) = (scaled(features, normalize)?, LabelRows::of(data.labels())?);
        Ok(Prepared { features, label_rows, normalize, inverse, counted: request.correction == TreeCorrection::Count, about })
    }

    /// The tree of a file, unless it is known. It is read once: the file may be a pipe.
    fn given_tree(&self, all: &AllRows<'_>, known: Option<Tree>) -> Result<Option<Tree>> {
        match (known, self.request.tree.file()) {
            (None, Some(_)) => self.make_tree(all, 0).map(Some),
            (known, _) => Ok(known),
        }
    }

    fn make_tree(&self, all: &AllRows<'_>, number: u8) -> Result<Tree> {
        let (features, label_rows, seed) = (all.features, all.label_rows, self.request.seed);
        self.request.tree.build(&TreeData { features, label_rows, seed, number })
    }

    /// Makes the trees, one after the other. Those that an earlier run made are taken from the store, and new ones are kept there.
    fn grow(&self, all: &AllRows<'_>, given: Option<&Tree>, store: Option<&TreeStore>) -> Result<Vec<Tree>> {
        let labels = all.label_rows.labels();
        self.progress.begin("making trees", self.request.trees as u64);
        let mut trees = Vec::with_capacity(self.request.trees);
        for number in (0u8..).take(self.request.trees) {
            let kept = store.and_then(|store| store.tree(number.into())).filter(|tree| tree.labels() == labels);
            let tree = match kept {
                Some(tree) => tree,
                None => {
                    let tree = given.cloned().map_or_else(|| self.make_tree(all, number), Ok)?;
                    store.map_or(Ok(()), |store| store.put_tree(number.into(), &tree))?;
                    tree
                }
            };
            trees.push(tree);
            self.progress.advance(1)?;
        }
        Ok(trees)
    }

    /// Training of parts.
    fn fit<'t>(&'t self, all: &'t AllRows<'t>, trees: &'t [Tree], parts: &'t [Part], by_count: f64) -> Fit<'t> {
        let request = &self.request;
        let square = all.squares.iter().map(|square| f64::from(*square)).sum::<f64>() / all.squares.len() as f64;
        let square = if square > 0.0 { square } else { 1.0 };
        let settings = Settings {
            cost: (request.cost / square) as f32,
            passes: request.passes,
            tolerance: request.tolerance as f32,
            prune: (request.prune.unwrap_or(TreeRequest::usual_prune(all.label_rows.labels())) / square.sqrt()) as f32,
            square,
            seed: request.seed,
        };
        let shifts = trees.iter().map(|tree| lane_shifts(tree, all.label_rows, by_count)).collect();
        Fit { all, trees, parts, settings, shifts, memory: self.memory, progress: self.progress }
    }

    /// The propensities of all labels, when there are any.
    fn given_propensities(&self, stats: &LabelStats) -> Result<Option<Propensities>> {
        let labels = stats.labels();
        let propensities = match (self.propensities, &self.request.propensity) {
            (Some(given), _) => given.clone(),
            (None, None) => return Ok(None),
            (None, Some(TrainPropensity::Given)) => {
                return Err(Error::value("the request takes propensities that were not passed"));
            }
            (None, Some(TrainPropensity::Model(spec))) if spec.is_row_dependent() => {
                return Err(Error::value("trees are corrected by the propensities of labels").found("row-dependent propensities"));
            }
            (None, Some(TrainPropensity::Model(spec))) => spec.propensities(stats)?,
        };
        if propensities.len() as u64 != labels {
            return Err(Error::value("the propensities are not those of the data's labels")
                .expected(labels.to_string())
                .found(propensities.len().to_string()));
        }
        Ok(Some(propensities))
    }

    fn inverse(&self, propensities: &Propensities) -> Vec<f64> {
        let most = self.request.clip.unwrap_or(f64::INFINITY);
        propensities.inverse().into_iter().map(|inverse| inverse.min(most)).collect()
    }
}

/// Propensities as trees use them, and what was changed about them: estimates that are mostly noise are shrunken, and no label is observed more
/// often than its propensity allows.
fn adjusted(given: Propensities, counts: &[u64], rows: usize) -> Result<(Propensities, Option<AdjustedPropensities>)> {
    let calm = without_noise(&given, counts)?;
    let shrunken = calm.is_some();
    let propensities = calm.unwrap_or(given);
    let least: Vec<f64> = counts.iter().map(|count| *count as f64 / rows as f64).collect();
    let raised = propensities.values().iter().zip(&least).filter(|(p, least)| p < least).count();
    let adjusted = AdjustedPropensities { raised, shrunken };
    Ok((propensities.raised(&least)?, (raised > 0 || shrunken).then_some(adjusted)))
}

/// What training reads, checked.
struct Prepared {
    features: Csr<'static, f32>,
    label_rows: LabelRows,
    normalize: Normalize,
    inverse: Option<Vec<f64>>,
    /// Whether labels are counted by their inverse propensities.
    counted: bool,
    about: About,
}

impl Prepared {
    fn all(&self) -> Result<AllRows<'_>> {
        let features = &self.features;
        let squares = (0..features.rows()).map(|row| features.row(row).1.iter().map(|value| value * value).sum());
        let squares: Vec<f32> = squares.collect();
        if let Some(row) = squares.iter().position(|square| !square.is_finite()) {
            return Err(Error::value(format!("the features of row {row} overflow: their squares have no finite sum"))
                .expected("features of moderate size")
                .hint("scale the features, or divide rows by their norm (normalize l2)"));
        }
        let counts = self.inverse.as_ref().filter(|_| self.counted);
        let counts = counts.map(|inverse| inverse.iter().map(|factor| *factor as f32).collect());
        Ok(AllRows { features, squares, label_rows: &self.label_rows, counts })
    }

    /// What probabilities are multiplied with.
    fn divisor(&self) -> Option<Vec<f64>> {
        self.inverse.clone().filter(|_| !self.counted)
    }
}

/// The parts of all trees.
fn parts(trees: &[Tree], all: &AllRows<'_>) -> Vec<Part> {
    trees.iter().enumerate().flat_map(|(number, tree)| parts_of(tree, number, all)).collect()
}

/// Lanes of some parts.
fn lanes(parts: &[Part], wanted: impl Fn(usize) -> bool) -> u64 {
    parts.iter().enumerate().filter(|(number, _)| wanted(*number)).map(|(_, part)| part.lanes() as u64).sum()
}

/// Rows as training takes them: sparse, features ascending, scaled.
fn scaled(features: &Features<'_>, normalize: Normalize) -> Result<Csr<'static, f32>> {
    let sparse = features.to_sparse()?;
    let rows: Vec<f32> = (0..sparse.rows()).into_par_iter().map(|row| normalize.factor(sparse.row(row).1)).collect();
    let mut values = Vec::with_capacity(sparse.nnz());
    for (row, factor) in rows.iter().enumerate() {
        values.extend(sparse.row(row).1.iter().map(|value| factor * value));
    }
    let scaled = Csr::from_arrays(sparse.cols() as u64, sparse.offsets().to_vec(), sparse.ids().to_vec(), values)?;
    Ok(scaled.into_sorted())
}
