//! Training on trees into a file that survives an interruption.

use super::fit::check_memory;
use super::size::{estimate, sample};
use super::{Prepared, TreeTrainer, lanes, parts};
use crate::data::Dataset;
use crate::error::{Error, Result, megabytes};
use crate::predict::file::{TreeManifest, TreeStore, fingerprint, read_tree, write_tree};
use crate::predict::tree::weights::Blocks;
use crate::predict::{About, TreeModel};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where a model on trees goes that is trained part by part.
#[derive(Clone, Debug)]
pub struct TreeDestination {
    /// The file.
    pub path: PathBuf,
    /// Whether to resume a run that was interrupted.
    pub resume: bool,
    /// The most bytes that the file may have, by the estimate.
    pub max_size: Option<u64>,
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
    /// loses only the parts in work, and only those are in memory. After the first few parts it is known about how large the model becomes:
    /// `on_estimate` hears of it, and where it is too large, training ends.
    pub fn train_to(&self, data: &Dataset<'_>, to: &TreeDestination, on_estimate: &dyn Fn(u64)) -> Result<TreeTrained> {
        let prepared = self.prepare(data)?;
        let all = prepared.all();
        let store = TreeStore::open(&to.path, &self.manifest(data, &prepared), to.resume)?;
        let trees = self.grow(&all, Some(&store))?;
        let parts = parts(&trees, &all);
        let shapes: Vec<(usize, usize)> = parts.iter().map(|part| (part.blocks(), part.lanes())).collect();
        let size = |part: usize, blocks: &Blocks| (part, blocks.bytes.len() as u64);
        let finished = |part: usize| store.part(part, shapes[part].0, shapes[part].1).ok().map(|blocks| size(part, &blocks));
        let known: Vec<Option<(usize, u64)>> = (0..parts.len()).map(finished).collect();
        let resumed = known.iter().flatten().count();
        let sampled = sample(&parts);
        let (first, rest): (Vec<usize>, Vec<usize>) =
            (0..parts.len()).filter(|part| known[*part].is_none()).partition(|part| sampled.binary_search(part).is_ok());
        check_memory(self.memory, &parts, first.iter().chain(&rest).copied())?;
        let by_count = self.shift(data)?;
        let about = About { logits_by_count: by_count, ..prepared.about.clone() };
        let fit = self.fit(&all, &trees, &parts, by_count);
        self.progress.begin("training", lanes(&parts, |part| known[part].is_none()));
        let sizes = Mutex::new(sampled.iter().filter_map(|part| known[*part]).collect::<Vec<_>>());
        fit.run(&first, &|part, blocks| {
            sizes.lock().unwrap_or_else(PoisonError::into_inner).push(size(part, &blocks));
            store.put_part(part, &blocks)
        })?;
        let estimated_size = estimate(&parts, data.labels().cols(), &sizes.into_inner().unwrap_or_else(PoisonError::into_inner));
        on_estimate(estimated_size);
        if let Some(most) = to.max_size.filter(|most| estimated_size > *most) {
            return Err(Error::value("the model would become too large")
                .expected(format!("at most {}", megabytes(most)))
                .found(format!("about {}", megabytes(estimated_size)))
                .hint("drop larger weights (--prune), train fewer trees, or allow more; what is finished is kept for --resume"));
        }
        fit.run(&rest, &|part, blocks| store.put_part(part, &blocks))?;
        let shape = (prepared.features.cols(), prepared.normalize);
        let divisor = prepared.divisor();
        let write = |path: &Path| store.write(path, shape, &trees, divisor.as_deref(), &about, &shapes);
        if self.request.controlled.is_some() {
            write(&store.plain_model())?;
            let (plain, about) = read_tree(store.plain_model(), true)?;
            let (model, about) = self.recalibrate(plain, about)?;
            write_tree(&model, &about, &to.path)?;
        } else {
            write(&to.path)?;
        }
        store.remove()?;
        let (model, about) = read_tree(&to.path, true)?;
        Ok(TreeTrained { model, about, estimated_size, parts: parts.len(), resumed })
    }

    /// Everything that the weights depend on.
    fn manifest(&self, data: &Dataset<'_>, prepared: &Prepared) -> TreeManifest<'_> {
        let numbers = |numbers: &Vec<f64>| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            blake3::hash(&bytes).to_hex()[..16].to_owned()
        };
        TreeManifest {
            rows: data.rows(),
            features: prepared.features.cols(),
            labels: data.labels().cols(),
            data: data.features().map(|features| fingerprint(features, data.labels())).unwrap_or_default(),
            normalize: prepared.normalize,
            tree: &self.request,
            calibrate: self.request.calibrate,
            propensities: prepared.inverse.as_ref().map(numbers),
        }
    }
}
