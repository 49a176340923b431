//! Training on trees over labels: [`TreeTrainer`].
//!
//! The problem of a node is that of its rows alone (`node.rs`), and all its lanes are solved together (`solve.rs`), in blocks whose weights
//! fit the nearer caches. Nodes do not depend on each other, so threads take them as they come; what is kept of one are its
//! weights without the small ones. Rows without any label stay: at the root they have labels below no lane.

mod node;
mod solve;

use crate::data::{Csr, Dataset, Features, LabelStats};
use crate::error::{Error, Result};
use crate::predict::tree::weights::{BlockWeights, Weights, blocks_of};
use crate::predict::{About, Normalize, TreeModel};
use crate::progress::{Progress, Silent};
use crate::propensity::Propensities;
use crate::request::{NormalizeChoice, TrainPropensity, TreeCorrection, TreeRequest};
use crate::tree::{LabelRows, Tree, TreeData};
use node::{AllRows, NodeRows, Numbers};
use rayon::prelude::*;
use solve::{Settings, solve};

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
    progress: &'a dyn Progress,
}

impl<'a> TreeTrainer<'a> {
    /// Training as the request says.
    pub fn new(request: TreeRequest) -> TreeTrainer<'a> {
        TreeTrainer { request, propensities: None, progress: &Silent }
    }

    /// The propensities of labels; if the request names a model, they are taken for its values.
    #[must_use]
    pub fn propensities(mut self, propensities: &'a Propensities) -> Self {
        self.propensities = Some(propensities);
        self.request.propensity.get_or_insert(TrainPropensity::Given);
        self
    }

    /// Where progress is shown.
    #[must_use]
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Trains a model.
    pub fn train(&self, data: &Dataset<'_>) -> Result<(TreeModel, About)> {
        let request = &self.request;
        request.check()?;
        let features = data.features().ok_or_else(|| {
            Error::value("there is nothing to train on").expected("features for each row").hint("labels alone make no model")
        })?;
        if data.rows() == 0 || data.labels().cols() == 0 {
            return Err(Error::value("there is nothing to train on").expected("at least one row and one label"));
        }
        let stats = LabelStats::of(data.labels());
        let propensities = self.used_propensities(&stats)?;
        let inverse = propensities.as_ref().map(|propensities| self.inverse(propensities));
        let normalize = match request.normalize {
            NormalizeChoice::Auto => Normalize::usual(features),
            NormalizeChoice::L2 => Normalize::L2,
            NormalizeChoice::None => Normalize::None,
        };
        let scaled = scaled(features, normalize)?;
        let label_rows = LabelRows::of(data.labels())?;
        let counted = request.correction == TreeCorrection::Count;
        let counts = inverse.as_ref().filter(|_| counted).map(|inverse| inverse.iter().map(|factor| *factor as f32).collect());
        let squares = (0..scaled.rows()).map(|row| scaled.row(row).1.iter().map(|value| value * value).sum()).collect();
        let all = AllRows { features: &scaled, squares, label_rows: &label_rows, counts };
        let (trees, weights) = self.fit(&all)?;
        let model = TreeModel::new(scaled.cols(), normalize, trees, inverse.filter(|_| !counted), weights)?;
        let mut about = About::new("logistic", request.seed);
        about.propensity = propensities.map(|propensities| propensities.origin().clone());
        about.rows = Some(data.rows() as u64);
        about.label_counts = Some(stats.dense_counts()?);
        about.tree = Some(request.clone());
        Ok((model, about))
    }

    /// Trees, and the weights on their nodes.
    fn fit(&self, all: &AllRows<'_>) -> Result<(Vec<Tree>, Weights)> {
        let request = &self.request;
        self.progress.begin("making trees", request.trees as u64);
        let mut trees = Vec::with_capacity(request.trees);
        for number in (0u8..).take(request.trees) {
            let data = TreeData { features: all.features, label_rows: all.label_rows, seed: request.seed, number };
            trees.push(request.tree.build(&data)?);
            self.progress.advance(1)?;
        }
        let square = all.squares.iter().map(|square| f64::from(*square)).sum::<f64>() / all.squares.len() as f64;
        let square = if square > 0.0 { square } else { 1.0 };
        let settings = Settings {
            cost: (request.cost / square) as f32,
            passes: request.passes,
            tolerance: request.tolerance as f32,
            prune: (request.prune / square.sqrt()) as f32,
            square,
            seed: request.seed,
        };
        self.progress.begin("training", trees.iter().map(|tree| tree.ends().len() as u64).sum());
        let mut blocks = Vec::new();
        for (number, tree) in (0u64..).zip(&trees) {
            let solved = |numbers: &mut Numbers, node: usize| -> Result<Vec<BlockWeights>> {
                let rows = NodeRows::of(all, tree, node, numbers);
                let lanes = tree.lanes(node);
                let in_blocks: Vec<_> = blocks_of(lanes.len()).collect();
                let solved = |block: std::ops::Range<usize>| {
                    let width = block.len();
                    let first = (lanes.start + block.start) as u64;
                    let block = solve(&rows, block, &settings, number << 48 ^ first)?;
                    self.progress.advance(width as u64)?;
                    Ok(block)
                };
                in_blocks.into_par_iter().with_max_len(1).map(solved).collect()
            };
            let new = || Numbers::new(all.features.cols());
            let of_nodes = (0..tree.nodes()).into_par_iter().with_max_len(1).map_init(new, solved);
            blocks.extend(of_nodes.collect::<Result<Vec<_>>>()?.into_iter().flatten());
        }
        let weights = Weights::of_blocks(&trees, all.features.cols(), blocks)?;
        Ok((trees, weights))
    }

    /// The propensities of all labels, when there are any.
    fn used_propensities(&self, stats: &LabelStats) -> Result<Option<Propensities>> {
        let labels = stats.labels();
        let propensities = match (self.propensities, &self.request.propensity) {
            (Some(given), _) => given.clone(),
            (None, None) => return Ok(None),
            (None, Some(TrainPropensity::Given)) => {
                return Err(Error::value("the request takes propensities that were not passed along"));
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
