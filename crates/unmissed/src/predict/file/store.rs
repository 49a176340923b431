//! The finished blocks of a training run that is not finished yet.
//!
//! A run that writes `MODEL` keeps a folder `MODEL.partial` with a manifest (what is being trained, on which data) and a file for
//! each finished block, which appears whole or not at all. A run that was interrupted, in whatever way, is resumed from them;
//! [`BlockStore::finish`] puts them together into the model, gives it its name in one step and removes the folder. So at any
//! time there is the old model, the new model, or what is needed to complete it.

use super::About;
use super::block::{Stored, find};
use super::container::{Container, Seal, Tensor, contradiction, put_header};
use super::model::{Description, FORMAT};
use super::run_folder::RunFolder;
use crate::data::{Output, Source};
use crate::error::{Error, Result};
use crate::predict::model::check_prune;
use crate::predict::packed::WIDTH;
use crate::predict::{Block, Normalize};
use crate::request::{Solver, TrainRequest};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What the metadata of a finished block call the format.
const PART: &str = "unmissed-part";

/// What a run trains, and on what: two runs can share blocks when these agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Rows of the data.
    pub rows: u64,
    /// Number of features.
    pub features: usize,
    /// Number of labels.
    pub labels: usize,
    /// The data, by [`fingerprint`](super::fingerprint).
    pub data: String,
    /// How rows are scaled.
    pub normalize: Normalize,
    /// Labels of a block; the last one may have fewer.
    pub width: usize,
    /// Weights of at most this size are dropped.
    pub prune: Option<f32>,
    /// Whether weights are stored in half precision.
    #[serde(default)]
    pub half: bool,
    /// What training was asked for, as far as the weights depend on it.
    pub request: TrainRequest,
    /// The solver before any search for settings.
    pub solver: Solver,
    /// The decay before any search for settings.
    pub decay: f64,
    /// What was passed along with the request.
    pub inputs: InputDigests,
}

/// What tells apart what a request does not hold itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputDigests {
    /// The propensities of labels.
    pub propensities: Option<String>,
    /// The factors of the loss.
    pub weights: Option<String>,
    /// The validation set, by [`fingerprint`](super::fingerprint).
    pub validation: Option<String>,
}

/// What a run has to remember about a finished block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockNote {
    /// The propensities of its labels, when they were learned along.
    pub propensities: Option<Vec<f64>>,
    /// Labels on which Newton's method did not converge within its steps.
    pub unconverged: usize,
    /// The most steps of Newton's method that a label took, or the epochs of Adam; runs of earlier versions did not note them.
    #[serde(default)]
    pub iterations: usize,
}

impl Manifest {
    /// The labels of each block.
    pub fn blocks(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        // Labels beyond 32 bits are rejected when a store is opened.
        let labels = u32::try_from(self.labels).unwrap_or(u32::MAX);
        let width = u32::try_from(self.width.max(1)).unwrap_or(u32::MAX);
        (0..labels).step_by(self.width.max(1)).map(move |first| first..labels.min(first.saturating_add(width)))
    }
}

/// The JSON text of a finished block.
#[derive(Serialize, Deserialize)]
struct Part {
    first: u32,
    note: BlockNote,
}

/// A folder of finished blocks. See the module's page.
///
/// ```
/// use unmissed::predict::file::{self, BlockNote, InputDigests, Manifest};
/// use unmissed::predict::{About, Block, BlockStore, Normalize};
/// use unmissed::request::{Newton, Solver, TrainRequest};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model");
/// let manifest = Manifest {
///     rows: 9, features: 1, labels: 3, data: "0af1".into(), normalize: Normalize::None, width: 2, prune: None, half: false,
///     request: TrainRequest::default(), solver: Solver::Newton(Newton::default()), decay: 1e-4, inputs: InputDigests::default(),
/// };
/// let store = BlockStore::create(&path, manifest.clone())?;
/// store.put(&Block { first: 2, bias: vec![0.0], weights: vec![3.0] }, BlockNote { unconverged: 1, ..BlockNote::default() })?;
/// drop(store); // The run ends here, and the next one has a block to go.
/// let store = BlockStore::resume(&path, manifest)?;
/// assert_eq!(store.missing()?, [0..2]);
/// store.put(&Block { first: 0, bias: vec![0.0, 0.5], weights: vec![1.0, 2.0] }, BlockNote::default())?;
/// assert_eq!(store.notes()?.iter().map(|note| note.unconverged).collect::<Vec<_>>(), [0, 1]);
/// store.finish(&About::new("logistic", 7))?;
/// assert_eq!(file::read(&path, true)?.0.weight(0, 2), 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BlockStore {
    run: RunFolder,
    manifest: Manifest,
}

impl BlockStore {
    /// Where the finished blocks of a model are kept.
    pub fn folder(model: impl AsRef<Path>) -> PathBuf {
        RunFolder::of(model.as_ref())
    }

    /// Starts a new run. Finished blocks of another one are not thrown away: that is for the user to decide.
    pub fn create(model: impl AsRef<Path>, manifest: Manifest) -> Result<BlockStore> {
        let store = BlockStore::open(model.as_ref(), manifest)?;
        store.run.create(&store.manifest_json()?)?;
        Ok(store)
    }

    /// Resumes a run that was interrupted, or starts one when there is none. Settings and data must be the same.
    pub fn resume(model: impl AsRef<Path>, manifest: Manifest) -> Result<BlockStore> {
        let store = BlockStore::open(model.as_ref(), manifest)?;
        store.run.resume(&store.manifest_json()?)?;
        Ok(store)
    }

    fn open(model: &Path, manifest: Manifest) -> Result<BlockStore> {
        if manifest.width == 0 || u32::try_from(manifest.labels).is_err() {
            return Err(Error::value("blocks cannot be numbered").expected("blocks of at least 1 label, labels of 32 bits"));
        }
        if manifest.half && manifest.width > WIDTH {
            return Err(Error::value("blocks in half precision are too wide")
                .expected(format!("at most {WIDTH} labels"))
                .found(manifest.width.to_string()));
        }
        manifest.prune.map_or(Ok(()), check_prune)?;
        Ok(BlockStore { run: RunFolder::open(model)?, manifest })
    }

    fn manifest_json(&self) -> Result<Value> {
        serde_json::to_value(&self.manifest).map_err(|cause| Error::value(format!("cannot write the settings ({cause})")))
    }

    /// What is trained.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn part(&self, first: u32) -> PathBuf {
        self.run.file(&format!("{first:010}"))
    }

    /// The labels of the blocks that are still to be trained. A file that is broken counts as not there.
    pub fn missing(&self) -> Result<Vec<Range<u32>>> {
        let blocks: Vec<Range<u32>> = self.manifest.blocks().collect();
        Ok(blocks.into_par_iter().filter(|labels| self.with_part(labels, |_, _| Ok(())).is_err()).collect())
    }

    /// Keeps a finished block, with a note about it. Blocks may come in any order and from any thread.
    pub fn put(&self, block: &Block, note: BlockNote) -> Result<()> {
        let width = u32::try_from(block.width()).unwrap_or(u32::MAX);
        let labels = block.first..block.first.saturating_add(width);
        if !self.manifest.blocks().any(|range| range == labels) {
            return Err(Error::value("the block is none of the run's").found(format!("labels {labels:?}")));
        }
        block.check(self.manifest.features)?;
        let Manifest { features, prune, half, .. } = self.manifest;
        let stored = if half { Stored::of_block_in_half(block, prune)? } else { Stored::of_block(block, features, prune) };
        let tensors = stored.tensors(self.manifest.features);
        let part = serde_json::to_string(&Part { first: block.first, note });
        let part = part.map_err(|cause| Error::value(format!("cannot write the note ({cause})")))?;
        let mut output = Output::create(self.part(block.first))?;
        put_header(&mut output, PART, &part, &tensors.iter().map(Tensor::seal).collect::<Vec<_>>())?;
        for tensor in &tensors {
            output.put(&tensor.bytes)?;
        }
        output.finish()
    }

    /// The notes of all blocks, by label; all must be there.
    pub fn notes(&self) -> Result<Vec<BlockNote>> {
        self.manifest.blocks().map(|labels| self.with_part(&labels, |part, _| Ok(part.note))).collect()
    }

    /// Shows a finished block that was checked.
    fn with_part<T>(&self, labels: &Range<u32>, show: impl FnOnce(Part, &Container<'_>) -> Result<T>) -> Result<T> {
        let path = self.part(labels.start);
        let bytes = Source::open(&path, true)?.into_bytes()?;
        let checked = || {
            let container = Container::open(bytes.as_ref(), PART)?;
            let part: Part = container.about()?;
            let (found, tensors) = find(&container, 0, labels.start, self.manifest.features)?;
            if part.first != labels.start || found.bias.len() != labels.len() || tensors != container.seals.len() {
                return Err(contradiction("its labels"));
            }
            show(part, &container)
        };
        checked().map_err(|error| error.in_file(&path))
    }

    /// Makes the model out of the blocks, which must all be there, and removes the folder. One block at a time is in memory.
    pub fn finish(self, about: &About) -> Result<()> {
        let Manifest { features, labels, normalize, .. } = self.manifest;
        let description = Description { features, labels, normalize, about: about.clone() };
        let json = description.to_json()?;
        let mut seals: Vec<Seal> = description.counts().iter().map(Tensor::seal).collect();
        for labels in self.manifest.blocks() {
            seals.extend(self.with_part(&labels, |_, container| Ok(container.seals.clone()))?);
        }
        let mut output = Output::create(&self.run.model)?;
        put_header(&mut output, FORMAT, &json, &seals)?;
        if let Some(counts) = description.counts() {
            output.put(&counts.bytes)?;
        }
        for labels in self.manifest.blocks() {
            self.with_part(&labels, |_, container| container.tensors.iter().try_for_each(|bytes| output.put(bytes)))?;
        }
        output.finish()?;
        self.run.remove()
    }
}
