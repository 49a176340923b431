//! Training on trees into a file that survives an interruption.

use super::fit::check_memory;
use super::size::{estimate, sample, with_shapes};
use super::{Prepared, TreeTrainer, lanes, parts};
use crate::data::Dataset;
use crate::error::{Result, byte_count};
use crate::predict::file::{TreeManifest, TreeStore, fingerprint, read_tree, too_large, write_tree_within};
use crate::predict::tree::weights::Blocks;
use crate::predict::{About, TreeModel};
use crate::tree::Tree;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The division of trees into parts (`parts.rs`): work that is divided in another way cannot be resumed.
const PARTS: u32 = 2;

/// Where a model on trees goes that is trained part by part.
#[derive(Clone, Debug)]
pub struct TreeDestination {
    /// The file.
    pub path: PathBuf,
    /// Whether to resume a run that was interrupted.
    pub resume: bool,
    /// The most bytes that the file may have.
    pub max_size: Option<u64>,
}

/// About how large the file becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeEstimate {
    /// Bytes.
    pub bytes: u64,
    /// Whether it is known from finished parts of the model, which tell more than the tree that was tried on a part of the rows before.
    pub from_parts: bool,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct TreeTrained {
    /// The model, mapped from its file.
    pub model: TreeModel,
    /// How it came to be, as its file says it.
    pub about: About,
    /// Bytes of the file as they were estimated after the first parts.
    pub estimated_size: u64,
    /// Parts of the trees, and how many of them an earlier run had finished.
    pub parts: usize,
    /// See `parts`.
    pub resumed: usize,
}

impl TreeTrainer<'_> {
    /// Trains a model into a file. Finished parts are kept beside it until all are there, so a run that is interrupted, in whatever way,
    /// loses only the parts in work, and only those are in memory. `on_estimate` hears about how large the model becomes: from the tree
    /// that is tried before training, when one is, and from the first few parts. Where it is too large by these, training ends.
    pub fn train_to(&self, data: &Dataset<'_>, to: &TreeDestination, on_estimate: &dyn Fn(SizeEstimate)) -> Result<TreeTrained> {
        if let Some(later) = self.later {
            let replaced = later.replace(data)?;
            return self.of_replaced(&replaced).train_to(&replaced.data, to, on_estimate);
        }
        self.train_parts(data, to, self.memory, None, on_estimate)
    }

    /// The same if so much memory holds what is largest, with a tree that needs not be read.
    pub(super) fn train_parts(
        &self,
        data: &Dataset<'_>,
        to: &TreeDestination,
        memory: Option<u64>,
        given: Option<Tree>,
        on_estimate: &dyn Fn(SizeEstimate),
    ) -> Result<TreeTrained> {
        let prepared = self.prepare(data)?;
        let all = prepared.all()?;
        let given = self.given_tree(&all, given)?;
        let store = TreeStore::open(&to.path, &self.manifest(data, &prepared, given.as_ref()), to.resume)?;
        let trees = self.grow(&all, given.as_ref(), Some(&store))?;
        let parts = parts(&trees, &all);
        let shapes: Vec<(usize, usize)> = parts.iter().map(|part| (part.blocks(), part.lanes())).collect();
        let size = |part: usize, blocks: &Blocks| (part, blocks.bytes.len() as u64);
        let finished = |part: usize| store.part(part, shapes[part].0, shapes[part].1).ok().map(|blocks| size(part, &blocks));
        let known: Vec<Option<(usize, u64)>> = (0..parts.len()).map(finished).collect();
        let resumed = known.iter().flatten().count();
        let sampled = sample(&parts);
        let (first, rest): (Vec<usize>, Vec<usize>) =
            (0..parts.len()).filter(|part| known[*part].is_none()).partition(|part| sampled.binary_search(part).is_ok());
        check_memory(memory, &all, &parts, first.iter().chain(&rest).copied())?;
        let tried = self.tried(data, given.as_ref(), Some(&store))?;
        if let Some(tried) = tried {
            let bytes = with_shapes(tried.bytes * trees.len() as f64, &parts, data.labels().cols());
            on_estimate(SizeEstimate { bytes, from_parts: false });
        }
        let by_count = tried.map_or(0.0, |tried| tried.by_count);
        let about = About { logits_by_count: by_count, ..prepared.about.clone() };
        let fit = self.fit(&all, &trees, &parts, by_count);
        self.progress.begin("training", lanes(&parts, |part| known[part].is_none()));
        let sizes = Mutex::new(sampled.iter().filter_map(|part| known[*part]).collect::<Vec<_>>());
        fit.run(&first, &|part, blocks| {
            sizes.lock().unwrap_or_else(PoisonError::into_inner).push(size(part, &blocks));
            store.put_part(part, &blocks)
        })?;
        let estimated_size = estimate(&parts, data.labels().cols(), &sizes.into_inner().unwrap_or_else(PoisonError::into_inner));
        on_estimate(SizeEstimate { bytes: estimated_size, from_parts: true });
        if let Some(most) = to.max_size.filter(|most| estimated_size > *most) {
            return Err(too_large(most, format!("about {}", byte_count(estimated_size))));
        }
        fit.run(&rest, &|part, blocks| store.put_part(part, &blocks))?;
        let shape = (prepared.features.cols(), prepared.normalize);
        let divisor = prepared.divisor();
        let write = |path: &Path| store.write((path, to.max_size), shape, &trees, divisor.as_deref(), &about, &shapes);
        if self.request.controlled.is_some() {
            write(&store.plain_model())?;
            let (plain, about) = read_tree(store.plain_model(), true)?;
            let (model, about) = self.recalibrate(plain, about)?;
            write_tree_within(&model, &about, &to.path, to.max_size)?;
        } else {
            write(&to.path)?;
        }
        store.remove()?;
        let (model, about) = read_tree(&to.path, true)?;
        Ok(TreeTrained { model, about, estimated_size, parts: parts.len(), resumed })
    }

    /// Everything that the weights depend on.
    fn manifest(&self, data: &Dataset<'_>, prepared: &Prepared, given: Option<&Tree>) -> TreeManifest<'_> {
        let digest = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..16].to_owned();
        let of_tree = |tree: &Tree| digest(&[tree.order(), tree.lane_starts(), tree.ends()].map(bytemuck::cast_slice).concat());
        TreeManifest {
            rows: data.rows(),
            features: prepared.features.cols(),
            labels: data.labels().cols(),
            data: data.features().map(|features| fingerprint(features, data.labels())).unwrap_or_default(),
            normalize: prepared.normalize,
            tree: &self.request,
            calibrate: self.request.calibrate,
            propensities: prepared.inverse.as_ref().map(|inverse| digest(bytemuck::cast_slice(inverse))),
            given_tree: given.map(of_tree),
            parts: PARTS,
        }
    }
}
