//! The finished work of a training run on trees that is not finished yet: the trees, and parts of their blocks.
//!
//! The folder is that of other runs ([`BlockStore`](super::BlockStore)); its files are `tree-N.block` for each tree and `part-N.block` for
//! parts, which are blocks of weights that follow each other. A file appears whole or not at all, and one that is broken counts as not there.

use super::About;
use super::container::{Container, Tensor, contradiction, put_header};
use super::run_folder::RunFolder;
use super::tree::{TreeParts, line};
use crate::data::{Output, Source};
use crate::error::{Error, Result};
use crate::predict::Normalize;
use crate::predict::tree::weights::{Blocks, DIGEST, starts_of};
use crate::request::TreeRequest;
use crate::tree::Tree;
use bytemuck::Pod;
use safetensors::Dtype;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What the metadata of these files call the format.
const PART: &str = "unmissed-tree-part";

/// The file of what the tried model said.
const TRIED: &str = "tried";

/// What a run trains, and on what: two runs can share their work when these agree.
#[derive(Serialize)]
pub(crate) struct TreeManifest<'a> {
    pub(crate) rows: usize,
    pub(crate) features: usize,
    pub(crate) labels: usize,
    /// The data, by [`fingerprint`](super::fingerprint).
    pub(crate) data: String,
    pub(crate) normalize: Normalize,
    /// What training was asked for.
    pub(crate) tree: &'a TreeRequest,
    /// Whether labels are calibrated, which the request does not say when they are.
    pub(crate) calibrate: bool,
    /// What tells the propensities apart.
    pub(crate) propensities: Option<String>,
    /// What tells the tree apart that a file has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) given_tree: Option<String>,
    /// How trees are divided into parts.
    pub(crate) parts: u32,
}

/// What the tree said that was tried on a part of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tried {
    /// What is added to logits for each doubling of the rows of a lane.
    pub(crate) by_count: f64,
    /// Bytes that the weights of one tree take on all rows, about.
    pub(crate) bytes: f64,
}

/// A folder of finished work. See the module's page.
pub(crate) struct TreeStore {
    run: RunFolder,
}

impl TreeStore {
    /// Starts a run that writes `model`, or resumes one.
    pub(crate) fn open(model: &Path, manifest: &TreeManifest<'_>, resume: bool) -> Result<TreeStore> {
        let run = RunFolder::open(model)?;
        let json = serde_json::to_value(manifest).map_err(|cause| Error::value(format!("cannot write the settings ({cause})")))?;
        if resume {
            run.resume(&json)?
        } else {
            run.create(&json)?
        }
        Ok(TreeStore { run })
    }

    /// Keeps a tree.
    pub(crate) fn put_tree(&self, number: usize, tree: &Tree) -> Result<()> {
        self.put(
            &tree_name(number),
            &[
                line("order", Dtype::U32, tree.order()),
                line("lanes", Dtype::U32, tree.lane_starts()),
                line("ends", Dtype::U32, tree.ends()),
            ],
        )
    }

    /// A tree that an earlier run made.
    pub(crate) fn tree(&self, number: usize) -> Option<Tree> {
        let read = |container: &Container<'_>| {
            let [order, lanes, ends] = [(0, "order"), (1, "lanes"), (2, "ends")];
            let numbers = |(place, name): (usize, &str)| take(container, place, name, Dtype::U32);
            Tree::new(numbers(order)?, numbers(lanes)?, numbers(ends)?)
        };
        self.with(&tree_name(number), read).ok()
    }

    /// Keeps a finished part. Parts may come in any order and from any thread.
    pub(crate) fn put_part(&self, number: usize, blocks: &Blocks) -> Result<()> {
        self.put(
            &part_name(number),
            &[
                line("lengths", Dtype::U64, &blocks.lengths),
                line("bias", Dtype::F32, &blocks.bias),
                line("nonzeros", Dtype::U32, &blocks.nonzeros),
                line("digests", Dtype::U8, &blocks.digests),
                line("bytes", Dtype::U8, &blocks.bytes),
            ],
        )
    }

    /// The part of so many blocks and lanes, if it is finished.
    pub(crate) fn part(&self, number: usize, blocks: usize, lanes: usize) -> Result<Blocks> {
        self.with(&part_name(number), |container| {
            let part = Blocks {
                lengths: take(container, 0, "lengths", Dtype::U64)?,
                bias: take(container, 1, "bias", Dtype::F32)?,
                nonzeros: take(container, 2, "nonzeros", Dtype::U32)?,
                digests: take(container, 3, "digests", Dtype::U8)?,
                bytes: take(container, 4, "bytes", Dtype::U8)?,
            };
            let sizes = [part.lengths.len(), part.nonzeros.len(), part.digests.len() / DIGEST];
            if sizes != [blocks; 3] || part.bias.len() != lanes || part.lengths.iter().sum::<u64>() != part.bytes.len() as u64 {
                return Err(contradiction("its blocks"));
            }
            Ok(part)
        })
    }

    fn put(&self, name: &str, tensors: &[Tensor<'_>]) -> Result<()> {
        let mut output = Output::create(self.run.file(name))?;
        put_header(&mut output, PART, "{}", &tensors.iter().map(Tensor::seal).collect::<Vec<_>>())?;
        tensors.iter().try_for_each(|tensor| output.put(&tensor.bytes))?;
        output.finish()
    }

    fn with<T>(&self, name: &str, show: impl FnOnce(&Container<'_>) -> Result<T>) -> Result<T> {
        let path = self.run.file(name);
        let bytes = Source::open(&path, true)?.into_bytes()?;
        Container::open(bytes.as_ref(), PART).and_then(|container| show(&container)).map_err(|error| error.in_file(&path))
    }

    /// Where the model lies that is tried on a part of the rows, and in the folder beside it what is finished of it.
    pub(crate) fn tried_model(&self) -> PathBuf {
        self.run.file("tried-model")
    }

    /// Keeps what the tried model said, and removes it.
    pub(crate) fn put_tried(&self, tried: Tried) -> Result<()> {
        self.put(TRIED, &[line("tried", Dtype::F64, &[tried.by_count, tried.bytes])])?;
        // Should it resist, it goes with the folder.
        drop(std::fs::remove_file(self.tried_model()));
        Ok(())
    }

    /// What the tried model said, if that is known.
    pub(crate) fn tried(&self) -> Option<Tried> {
        let numbers: Vec<f64> = self.with(TRIED, |container| take(container, 0, "tried", Dtype::F64)).ok()?;
        let &[by_count, bytes] = numbers.as_slice() else { return None };
        Some(Tried { by_count, bytes })
    }

    /// Where a model lies before it is recalibrated.
    pub(crate) fn plain_model(&self) -> PathBuf {
        self.run.file("plain-model")
    }

    /// Removes everything: the model is there.
    pub(crate) fn remove(self) -> Result<()> {
        self.run.remove()
    }

    /// Makes the model out of parts of so many blocks and lanes each, which must all be there, if it has at most so many bytes. The weights
    /// of one part at a time are in memory.
    pub(crate) fn write(
        &self,
        (path, max_size): (&Path, Option<u64>),
        (features, normalize): (usize, Normalize),
        trees: &[Tree],
        inverse: Option<&[f64]>,
        about: &About,
        parts: &[(usize, usize)],
    ) -> Result<()> {
        let part = |(number, &(blocks, lanes)): (usize, &(usize, usize))| self.part(number, blocks, lanes);
        let mut all = Blocks::default();
        for numbered in parts.iter().enumerate() {
            let blocks = part(numbered)?;
            all.append(&Blocks { bytes: Vec::new(), ..blocks });
        }
        let starts = starts_of(&all.lengths);
        let (bias, nonzeros, digests) = (&all.bias, &all.nonzeros, &all.digests);
        let starts = &starts;
        let model = TreeParts { features, normalize, trees, inverse, recalibration: None, bias, starts, nonzeros, digests };
        model.write(about, path, max_size, |output| {
            parts.iter().enumerate().try_for_each(|numbered| output.put(&part(numbered)?.bytes))
        })
    }
}

fn tree_name(number: usize) -> String {
    format!("tree-{number}")
}

fn part_name(number: usize) -> String {
    format!("part-{number:06}")
}

/// A tensor of a part.
fn take<T: Pod>(container: &Container<'_>, place: usize, name: &str, dtype: Dtype) -> Result<Vec<T>> {
    let fits = container.seals.get(place).is_some_and(|seal| (seal.name.as_str(), seal.dtype) == (name, dtype));
    let bytes = container.tensors.get(place).filter(|_| fits).ok_or_else(|| contradiction(&format!("its '{name}'")))?;
    Ok(bytemuck::pod_collect_to_vec(bytes))
}
