//! Models on trees in files.
//!
//! The container is that of other models, with the format `unmissed-tree`. Tensors, in this order, which keeps each at a place where it
//! can be used in a mapped file:
//!
//! | tensor | type and shape | |
//! |---|---|---|
//! | `counts` | u64, labels | training positives of each label, when they are known |
//! | `inverse` | f64, labels | inverse propensities, when probabilities are divided by propensities |
//! | `blocks.slots`, `blocks.entries` | u64, blocks + 1 | the first slot and the first entry of each block |
//! | `trees.order` | u32, trees x labels | the labels in the order of each tree |
//! | `trees.nodes` | u32, trees | the number of nodes of each tree |
//! | `trees.lanes`, `trees.ends` | u32 | the arrays of each [`Tree`], one after the other |
//! | `lanes.bias` | f32, lanes | what is added to the score of each lane |
//! | `slots.features` | u32, slots | the feature of each slot |
//! | `entries.weights` | f16, entries | weights |
//! | `entries.lanes` | u8, entries | the lane of each weight in its block |
//! | `entries.counts` | u8, slots | how many entries each slot has |

use super::about::About;
use super::container::{Container, Tensor, contradiction, format_of, put_header};
use super::model::{Description, read_source};
use crate::data::{Bytes, Output, Source};
use crate::error::Result;
use crate::predict::tree::arrays::Array;
use crate::predict::tree::weights::Weights;
use crate::predict::{Model, TreeModel};
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
    let (features, labels, normalize) = (model.features(), model.labels(), model.normalize());
    let description = Description { features, labels, normalize, about: about.clone() };
    let json = description.to_json()?;
    let (trees, weights) = (model.trees(), model.weights());
    let joined = |part: fn(&Tree) -> &[u32]| trees.iter().flat_map(part).copied().collect::<Vec<u32>>();
    let (order, lanes, ends) = (joined(Tree::order), joined(Tree::lane_starts), joined(Tree::ends));
    let nodes: Vec<u32> = trees.iter().map(|tree| tree.nodes() as u32).collect();
    let mut tensors: Vec<Tensor<'_>> = description.counts().into_iter().collect();
    if let Some(inverse) = model.inverse_propensities() {
        tensors.push(Tensor::new("inverse".into(), Dtype::F64, vec![labels], inverse));
    }
    tensors.push(line("blocks.slots", Dtype::U64, &weights.slots));
    tensors.push(line("blocks.entries", Dtype::U64, &weights.entries));
    tensors.push(Tensor::new("trees.order".into(), Dtype::U32, vec![trees.len(), labels], &order));
    tensors.push(line("trees.nodes", Dtype::U32, &nodes));
    tensors.push(line("trees.lanes", Dtype::U32, &lanes));
    tensors.push(line("trees.ends", Dtype::U32, &ends));
    tensors.push(line("lanes.bias", Dtype::F32, &weights.bias));
    tensors.push(line("slots.features", Dtype::U32, &weights.features));
    tensors.push(line("entries.weights", Dtype::F16, &weights.values));
    tensors.push(line("entries.lanes", Dtype::U8, &weights.lanes));
    tensors.push(line("entries.counts", Dtype::U8, &weights.counts));
    let seals: Vec<_> = tensors.iter().map(Tensor::seal).collect();
    let mut output = Output::create(path)?;
    put_header(&mut output, TREE_FORMAT, &json, &seals)?;
    tensors.iter().try_for_each(|tensor| output.put(&tensor.bytes))?;
    output.finish()
}

fn line<'a, T: bytemuck::NoUninit>(name: &str, dtype: Dtype, values: &'a [T]) -> Tensor<'a> {
    Tensor::new(name.into(), dtype, vec![values.len()], values)
}

/// Reads a model on trees; `mmap` allows a memory map, in which the weights then stay.
pub fn read_tree(path: impl AsRef<Path>, mmap: bool) -> Result<(TreeModel, About)> {
    read_tree_source(Source::open(path, mmap)?)
}

/// Reads a model on trees from an opened source.
pub fn read_tree_source(source: Source) -> Result<(TreeModel, About)> {
    let path = source.path().to_path_buf();
    let bytes = Arc::new(source.into_bytes()?);
    parse(&bytes).map_err(|error| error.in_file(path))
}

/// Reads a model of either kind.
pub fn read_any(path: impl AsRef<Path>, mmap: bool) -> Result<(AnyModel, About)> {
    let source = Source::open(path, mmap)?;
    // The format is in the header, of which a look at the first bytes may not see the end.
    let path = source.path().to_path_buf();
    let bytes = source.into_bytes()?;
    if format_of(bytes.as_ref()).is_ok_and(|format| format == TREE_FORMAT) {
        let (model, about) = parse(&Arc::new(bytes)).map_err(|error| error.in_file(path))?;
        return Ok((AnyModel::Tree(Box::new(model)), about));
    }
    let (model, about) = read_source(Source::of_held(path, bytes))?;
    Ok((AnyModel::Linear(model), about))
}

/// The tensors of a file, one after the other.
struct Tensors<'a> {
    bytes: &'a Arc<Bytes>,
    container: &'a Container<'a>,
    next: usize,
}

impl Tensors<'_> {
    /// Whether the next tensor has this name.
    fn follows(&self, name: &str) -> bool {
        self.container.seals.get(self.next).is_some_and(|seal| seal.name == name)
    }

    /// The numbers of the next tensor, which must have this name, type and, where it is given, shape.
    fn take<T: Pod>(&mut self, name: &str, dtype: Dtype, shape: Option<&[usize]>) -> Result<Array<T>> {
        let seal = self.container.seals.get(self.next).filter(|seal| seal.name == name && seal.dtype == dtype);
        let fits = |seal: &&super::container::Seal| shape.map_or(seal.shape.len() == 1, |shape| seal.shape == shape);
        let part = self.container.tensors.get(self.next).filter(|_| seal.as_ref().is_some_and(fits));
        let part = part.ok_or_else(|| contradiction(&format!("its '{name}'")))?;
        self.next += 1;
        let start = part.as_ptr() as usize - self.bytes.as_ref().as_ref().as_ptr() as usize;
        Array::of(self.bytes, start..start + part.len())
    }
}

fn parse(bytes: &Arc<Bytes>) -> Result<(TreeModel, About)> {
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
    let starts = [tensors.take("blocks.slots", Dtype::U64, None)?, tensors.take("blocks.entries", Dtype::U64, None)?];
    let count = container.seals.get(tensors.next).and_then(|seal| seal.shape.first().copied()).unwrap_or(0);
    let order: Array<u32> = tensors.take("trees.order", Dtype::U32, Some(&[count, labels]))?;
    let nodes: Array<u32> = tensors.take("trees.nodes", Dtype::U32, Some(&[count]))?;
    let lanes: Array<u32> = tensors.take("trees.lanes", Dtype::U32, None)?;
    let ends: Array<u32> = tensors.take("trees.ends", Dtype::U32, None)?;
    let trees = trees_of(&order, labels, &nodes, &lanes, &ends)?;
    let bias = tensors.take("lanes.bias", Dtype::F32, None)?;
    let slots = tensors.take("slots.features", Dtype::U32, None)?;
    let values = tensors.take("entries.weights", Dtype::F16, None)?;
    let entry_lanes = tensors.take("entries.lanes", Dtype::U8, None)?;
    let counts = tensors.take("entries.counts", Dtype::U8, None)?;
    if tensors.next != container.seals.len() {
        return Err(contradiction("tensors that models on trees do not have"));
    }
    let weights = Weights::new(&trees, features, starts, (bias, slots), [counts, entry_lanes], values)
        .map_err(|error| contradiction(&error.to_string()))?;
    let model = TreeModel::new(features, normalize, trees, inverse, weights).map_err(|error| contradiction(&error.to_string()))?;
    Ok((model, about))
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
