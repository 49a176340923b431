//! Models on trees in files.
//!
//! The container is that of other models, with the format `unmissed-tree`. Tensors, in this order, which keeps each at a place where it
//! can be used in a mapped file:
//!
//! | tensor | type and shape | |
//! |---|---|---|
//! | `counts` | u64, labels | training positives of each label, when they are known |
//! | `inverse` | f64, labels | inverse propensities, when probabilities are divided by propensities |
//! | `leaf.slope`, `leaf.offsets` | f64, 1 and labels | the [`Recalibration`], when there is one |
//! | `blocks.starts` | u64, blocks + 1 | where the bytes of each block start |
//! | `trees.order` | u32, trees x labels | the labels in the order of each tree |
//! | `trees.nodes` | u32, trees | the number of nodes of each tree |
//! | `trees.lanes`, `trees.ends` | u32 | the arrays of each [`Tree`], one after the other |
//! | `lanes.bias` | f32, lanes | what is added to the score of each lane |
//! | `blocks.nonzeros` | u32, blocks | the number of weights of each block |
//! | `blocks.digests` | u8, blocks x 16 | the first half of the BLAKE3 of each block's bytes |
//! | `blocks.bytes` | u8 | the blocks, as `predict/packed.rs` says |
//!
//! The checksum of the container leaves `blocks.bytes` out, so that opening a file does not read it: blocks are checked one by one, when they are
//! used for the first time ([`TreeModel::verify`] checks all). Version 3 had other tensors (`tree_of_version_3.rs`).

use super::about::About;
use super::container::{Container, PARTS, Seal, Tensor, contradiction, format_of, put_header};
use super::model::{Description, read_source};
use super::tree_of_version_3;
use crate::data::{Bytes, Output, Source};
use crate::error::{Error, Result, byte_count};
use crate::predict::tree::arrays::Array;
use crate::predict::tree::weights::{DIGEST, Weights};
use crate::predict::{Model, Normalize, Recalibration, TreeModel};
use crate::tree::Tree;
use bytemuck::Pod;
use safetensors::Dtype;
use std::path::Path;
use std::sync::Arc;

/// What the metadata call the format.
const TREE_FORMAT: &str = "unmissed-tree";

/// A model of either kind.
#[derive(Clone, Debug)]
pub enum AnyModel {
    /// A linear scorer for each label.
    Linear(Model),
    /// Classifiers on the nodes of trees.
    Tree(Box<TreeModel>),
}

/// Writes a model on trees. A name that ends in `.gz` or `.zst` is compressed.
pub fn write_tree(model: &TreeModel, about: &About, path: impl AsRef<Path>) -> Result<()> {
    write_tree_within(model, about, path, None)
}

/// The same if the file has at most so many bytes.
pub(crate) fn write_tree_within(model: &TreeModel, about: &About, path: impl AsRef<Path>, max_size: Option<u64>) -> Result<()> {
    let weights = model.weights();
    let parts = TreeParts {
        features: model.features(),
        normalize: model.normalize(),
        trees: model.trees(),
        inverse: model.inverse_propensities(),
        recalibration: model.recalibration(),
        bias: &weights.bias,
        starts: &weights.starts,
        nonzeros: &weights.nonzeros,
        digests: &weights.digests,
    };
    parts.write(about, path.as_ref(), max_size, |output| output.put(&weights.bytes))
}

/// That a model has more bytes than its file may have.
pub(crate) fn too_large(most: u64, found: String) -> Error {
    Error::value("the model would become too large")
        .expected(format!("at most {}", byte_count(most)))
        .found(found)
        .hint("drop larger weights (--prune), train fewer trees, or allow more; what is finished is kept for --resume")
}

/// All of a model but the bytes of its blocks.
pub(super) struct TreeParts<'a> {
    pub(super) features: usize,
    pub(super) normalize: Normalize,
    pub(super) trees: &'a [Tree],
    pub(super) inverse: Option<&'a [f64]>,
    pub(super) recalibration: Option<&'a Recalibration>,
    pub(super) bias: &'a [f32],
    pub(super) starts: &'a [u64],
    pub(super) nonzeros: &'a [u32],
    pub(super) digests: &'a [u8],
}

impl TreeParts<'_> {
    /// Writes a model whose blocks `put_blocks` writes, if the file has at most so many bytes before it is compressed.
    pub(super) fn write(
        &self,
        about: &About,
        path: &Path,
        max_size: Option<u64>,
        put_blocks: impl FnOnce(&mut Output) -> Result<()>,
    ) -> Result<()> {
        let trees = self.trees;
        let (features, labels, normalize) = (self.features, trees.first().map_or(0, Tree::labels), self.normalize);
        let description = Description { features, labels, normalize, about: about.clone() };
        let json = description.to_json()?;
        let joined = |part: fn(&Tree) -> &[u32]| trees.iter().flat_map(part).copied().collect::<Vec<u32>>();
        let (order, lanes, ends) = (joined(Tree::order), joined(Tree::lane_starts), joined(Tree::ends));
        let nodes: Vec<u32> = trees.iter().map(|tree| tree.nodes() as u32).collect();
        let mut tensors: Vec<Tensor<'_>> = description.counts().into_iter().collect();
        if let Some(inverse) = self.inverse {
            tensors.push(Tensor::new("inverse".into(), Dtype::F64, vec![labels], inverse));
        }
        let slope = self.recalibration.map(|recalibration| [recalibration.slope()]);
        if let (Some(slope), Some(recalibration)) = (&slope, self.recalibration) {
            tensors.push(line("leaf.slope", Dtype::F64, slope));
            tensors.push(line("leaf.offsets", Dtype::F64, recalibration.offsets()));
        }
        tensors.push(line("blocks.starts", Dtype::U64, self.starts));
        tensors.push(Tensor::new("trees.order".into(), Dtype::U32, vec![trees.len(), labels], &order));
        tensors.push(line("trees.nodes", Dtype::U32, &nodes));
        tensors.push(line("trees.lanes", Dtype::U32, &lanes));
        tensors.push(line("trees.ends", Dtype::U32, &ends));
        tensors.push(line("lanes.bias", Dtype::F32, self.bias));
        tensors.push(line("blocks.nonzeros", Dtype::U32, self.nonzeros));
        tensors.push(Tensor::new("blocks.digests".into(), Dtype::U8, vec![self.nonzeros.len(), DIGEST], self.digests));
        let mut seals: Vec<_> = tensors.iter().map(Tensor::seal).collect();
        seals.push(Seal::of_parts(self.starts.last().map_or(0, |end| *end as usize)));
        let mut output = Output::create(path)?;
        let header = put_header(&mut output, TREE_FORMAT, &json, &seals)?;
        let size = (header + seals.iter().map(|seal| seal.bytes).sum::<usize>()) as u64;
        if let Some(most) = max_size.filter(|most| size > *most) {
            return Err(too_large(most, byte_count(size)));
        }
        tensors.iter().try_for_each(|tensor| output.put(&tensor.bytes))?;
        put_blocks(&mut output)?;
        output.finish()
    }
}

pub(super) fn line<'a, T: bytemuck::NoUninit>(name: &str, dtype: Dtype, values: &'a [T]) -> Tensor<'a> {
    Tensor::new(name.into(), dtype, vec![values.len()], values)
}

/// Reads a model on trees; `mmap` allows a memory map, in which the weights then stay and are checked as they are used.
pub fn read_tree(path: impl AsRef<Path>, mmap: bool) -> Result<(TreeModel, About)> {
    read_tree_source(Source::open(path, mmap)?)
}

/// Reads a model on trees from an opened source.
pub fn read_tree_source(source: Source) -> Result<(TreeModel, About)> {
    let path = source.path().to_path_buf();
    let bytes = Arc::new(source.into_bytes()?);
    parse(&bytes, &path).map_err(|error| error.in_file(path))
}

/// Reads a model of either kind.
pub fn read_any(path: impl AsRef<Path>, mmap: bool) -> Result<(AnyModel, About)> {
    let source = Source::open(path, mmap)?;
    // The format is in the header, of which a look at the first bytes may not see the end.
    let path = source.path().to_path_buf();
    let bytes = source.into_bytes()?;
    if format_of(bytes.as_ref()).is_ok_and(|format| format == TREE_FORMAT) {
        let (model, about) = parse(&Arc::new(bytes), &path).map_err(|error| error.in_file(path))?;
        return Ok((AnyModel::Tree(Box::new(model)), about));
    }
    let (model, about) = read_source(Source::of_held(path, bytes))?;
    Ok((AnyModel::Linear(model), about))
}

/// The tensors of a file, one after the other.
pub(super) struct Tensors<'a> {
    pub(super) bytes: &'a Arc<Bytes>,
    pub(super) container: &'a Container<'a>,
    pub(super) next: usize,
}

impl Tensors<'_> {
    /// Whether the next tensor has this name.
    fn follows(&self, name: &str) -> bool {
        self.container.seals.get(self.next).is_some_and(|seal| seal.name == name)
    }

    /// The numbers of the next tensor, which must have this name, type and, where it is given, shape.
    pub(super) fn take<T: Pod>(&mut self, name: &str, dtype: Dtype, shape: Option<&[usize]>) -> Result<Array<T>> {
        let seal = self.container.seals.get(self.next).filter(|seal| seal.name == name && seal.dtype == dtype);
        let fits = |seal: &&Seal| shape.map_or(seal.shape.len() == 1, |shape| seal.shape == shape);
        let part = self.container.tensors.get(self.next).filter(|_| seal.as_ref().is_some_and(fits));
        let part = part.ok_or_else(|| contradiction(&format!("its '{name}'")))?;
        self.next += 1;
        let start = part.as_ptr() as usize - self.bytes.as_ref().as_ref().as_ptr() as usize;
        Array::of(self.bytes, start..start + part.len())
    }
}

fn parse(bytes: &Arc<Bytes>, path: &Path) -> Result<(TreeModel, About)> {
    let container = Container::open(bytes.as_ref().as_ref(), TREE_FORMAT)?;
    let Description::<About> { features, labels, normalize, mut about } = container.about()?;
    if u32::try_from(features).is_err() || u32::try_from(labels).is_err() {
        return Err(contradiction("ids of features and labels have 32 bits"));
    }
    let mut tensors = Tensors { bytes, container: &container, next: 0 };
    if tensors.follows("counts") {
        about.label_counts = Some(tensors.take("counts", Dtype::U64, Some(&[labels]))?.to_vec());
    }
    let inverse = match tensors.follows("inverse") {
        true => Some(tensors.take("inverse", Dtype::F64, Some(&[labels]))?.to_vec()),
        false => None,
    };
    let recalibration = match tensors.follows("leaf.slope") {
        true => {
            let slope: Array<f64> = tensors.take("leaf.slope", Dtype::F64, Some(&[1]))?;
            Some(Recalibration::new(slope[0], tensors.take("leaf.offsets", Dtype::F64, Some(&[labels]))?.to_vec()))
        }
        false => None,
    };
    let (trees, weights) = if container.version < 4 {
        tree_of_version_3::take(&mut tensors, labels, features)?
    } else {
        let starts: Array<u64> = tensors.take("blocks.starts", Dtype::U64, None)?;
        let trees = tensors.trees(labels)?;
        let bias = tensors.take("lanes.bias", Dtype::F32, None)?;
        let nonzeros = tensors.take("blocks.nonzeros", Dtype::U32, None)?;
        let digests = tensors.take("blocks.digests", Dtype::U8, Some(&[nonzeros.len(), DIGEST]))?;
        let blocks = tensors.take(PARTS, Dtype::U8, None)?;
        let weights = Weights::new(&trees, features, bias, (starts, nonzeros), (digests, blocks), Some(path.to_path_buf()))
            .map_err(|error| contradiction(&error.to_string()))?;
        (trees, weights)
    };
    if tensors.next != container.seals.len() {
        return Err(contradiction("tensors that models on trees do not have"));
    }
    let model = TreeModel::new(features, normalize, trees, inverse, weights).and_then(|model| match recalibration {
        Some(recalibration) => model.recalibrated(recalibration?),
        None => Ok(model),
    });
    Ok((model.map_err(|error| contradiction(&error.to_string()))?, about))
}

impl Tensors<'_> {
    /// The trees, from `trees.order` on.
    pub(super) fn trees(&mut self, labels: usize) -> Result<Vec<Tree>> {
        let count = self.container.seals.get(self.next).and_then(|seal| seal.shape.first().copied()).unwrap_or(0);
        let order: Array<u32> = self.take("trees.order", Dtype::U32, Some(&[count, labels]))?;
        let nodes: Array<u32> = self.take("trees.nodes", Dtype::U32, Some(&[count]))?;
        let lanes: Array<u32> = self.take("trees.lanes", Dtype::U32, None)?;
        let ends: Array<u32> = self.take("trees.ends", Dtype::U32, None)?;
        trees_of(&order, labels, &nodes, &lanes, &ends)
    }
}

/// Takes the arrays of trees apart.
fn trees_of(order: &[u32], labels: usize, nodes: &[u32], lanes: &[u32], ends: &[u32]) -> Result<Vec<Tree>> {
    let cut_off = || contradiction("its trees");
    let (mut lanes, mut ends) = (lanes, ends);
    let mut trees = Vec::new();
    for (order, &nodes) in order.chunks_exact(labels.max(1)).zip(nodes) {
        let (own, rest) = lanes.split_at_checked(nodes as usize + 1).ok_or_else(cut_off)?;
        let total = own.last().map_or(0, |last| *last as usize);
        let (own_ends, rest_ends) = ends.split_at_checked(total).ok_or_else(cut_off)?;
        trees.push(Tree::new(order.to_vec(), own.to_vec(), own_ends.to_vec()).map_err(|error| contradiction(&error.to_string()))?);
        (lanes, ends) = (rest, rest_ends);
    }
    if trees.len() != nodes.len() || !lanes.is_empty() || !ends.is_empty() {
        return Err(cut_off());
    }
    Ok(trees)
}
